/*--- ncuview
schema = 1
name = "column_smooth_four"
family = "stencil"
step_number = 20
document = "ncuview"
section = "Stencil"
teaches = "Four results below each other per thread: they share eight of their nine rows, and each result follows from the one before by one addition."
oracle = "smooth_columns"
tolerance = 1e-5

[sizes]
w = 4096
h = 4096

# ncuview: begin launch
[launch]
grid = ["w / 32", "h / 32"]
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

[step]
after = "column_smooth"
applies = "thread_coarsening"

[expect]
verdict = "unclear"
---*/

#define REACH 4
#define RESULTS 4

// ncuview: begin kernel
__global__ void column_smooth_four(const float *in, float *out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * RESULTS;
    float column[RESULTS + 2 * REACH];

    #pragma unroll
    for (int k = 0; k < RESULTS + 2 * REACH; k++) {
        int row = y + k - REACH;
        row = row < 0 ? row + rows : row >= rows ? row - rows : row;
        column[k] = in[row * cols + x];
    }

    #pragma unroll
    for (int r = 0; r < RESULTS; r++) {
        float sum = 0;

        #pragma unroll
        for (int d = 0; d <= 2 * REACH; d++)
            sum += column[r + d];

        out[(y + r) * cols + x] = sum * (1.0f / (2 * REACH + 1));
    }
}
// ncuview: end kernel
