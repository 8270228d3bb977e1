/*--- ncuview
schema = 1
name = "column_smooth"
family = "stencil"
step_number = 10
document = "ncuview"
section = "Stencil"
teaches = "The mean of nine numbers above each other on a grid that repeats: one result per thread, which computes the addresses of nine rows."
better = "column_smooth_four"
oracle = "smooth_columns"
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
kind = "out float32[h, w]"

[[args]]
name = "rows"
kind = "int32 = h"

[[args]]
name = "cols"
kind = "int32 = w"

[useful]
bytes = "2 * 4 * h * w"

[expect]
first = "thread_coarsening"
---*/

#define REACH 4

// ncuview: begin kernel
__global__ void column_smooth(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;

    #pragma unroll
    for (int d = -REACH; d <= REACH; d++) {
        int row = y + d < 0 ? y + d + rows : y + d >= rows ? y + d - rows : y + d;
        sum += in[row * cols + x];
    }

    out[y * cols + x] = sum * (1.0f / (2 * REACH + 1));
}
// ncuview: end kernel
