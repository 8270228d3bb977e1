/*--- ncuview
schema = 1
name = "red_cells_apart"
family = "stencil"
step_number = 60
document = "ncuview"
section = "Stencil"
teaches = "Red and black cells in arrays of their own: all lanes have a red cell, and half as many warps are enough."
oracle = "red_cells_relaxed_apart"
tolerance = 1e-5

[sizes]
w = 4096
h = 4096

# ncuview: begin launch
[launch]
grid = ["w / 64", "h / 8"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[2, h, w / 2]"

[[args]]
name = "out"
kind = "out float32[h, w / 2]"

[[args]]
name = "rows"
kind = "int32 = h"

[[args]]
name = "half"
kind = "int32 = w / 2"

[useful]
bytes = "3 * 2 * h * w"

[step]
after = "red_cells"
applies = "data_layout"

[expect]
first = "thread_coarsening"
---*/

// ncuview: begin kernel
__global__ void red_cells_apart(const float *in, float *out, int rows, int half)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    const float *red = in, *black = in + rows * half;

    int above = y > 0 ? y - 1 : rows - 1, below = y + 1 < rows ? y + 1 : 0;
    int before = k > 0 ? k - 1 : half - 1, behind = k + 1 < half ? k + 1 : 0;
    int beside = y % 2 == 0 ? before : behind;
    float around = black[above * half + k] + black[below * half + k] + black[y * half + k] + black[y * half + beside];

    out[y * half + k] = 0.5f * red[y * half + k] + 0.125f * around;
}
// ncuview: end kernel
