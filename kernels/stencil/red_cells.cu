/*--- ncuview
schema = 1
name = "red_cells"
family = "stencil"
step_number = 50
document = "ncuview"
section = "Stencil"
teaches = "Half a sweep over a grid that is coloured like a chessboard: every other lane has a red cell, the others end at once."
better = "red_cells_apart"
oracle = "red_cells_relaxed"
tolerance = 1e-5

[sizes]
w = 4096
h = 4096

# ncuview: begin launch
[launch]
grid = ["w / 32", "h / 8"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[h, w]"

[[args]]
name = "out"
kind = "zeroed float32[h, w]"

[[args]]
name = "rows"
kind = "int32 = h"

[[args]]
name = "cols"
kind = "int32 = w"

[useful]
bytes = "3 * 2 * h * w"

[expect]
first = "data_layout"
---*/

// ncuview: begin kernel
__global__ void red_cells(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if ((x + y) % 2 != 0)
        return;

    int above = y > 0 ? y - 1 : rows - 1, below = y + 1 < rows ? y + 1 : 0;
    int before = x > 0 ? x - 1 : cols - 1, behind = x + 1 < cols ? x + 1 : 0;
    float around = in[above * cols + x] + in[below * cols + x] + in[y * cols + before] + in[y * cols + behind];

    out[y * cols + x] = 0.5f * in[y * cols + x] + 0.125f * around;
}
// ncuview: end kernel
