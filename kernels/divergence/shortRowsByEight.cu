/*--- ncuview
schema = 1
name = "shortRowsByEight"
family = "divergence"
step_number = 210
document = "GPU Hardware Performance II (Filipovič)"
section = "Divergent Optimisation"
teaches = "Eight lanes for each row, four rows for each warp: every lane loads, and a quarter of the warps is enough."
oracle = "sums_of_rows"

[sizes]
rows = 4194304
width = 8

# ncuview: begin launch
[launch]
grid = ["rows / 32"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[rows, width] below 256"

[[args]]
name = "out"
kind = "out float32[rows]"

[[args]]
name = "width"
kind = "int32 = width"

[useful]
bytes = "4 * rows * width + 4 * rows"

[step]
after = "shortRowsByWarp"
applies = "thread_coarsening"

[expect]
first = "thread_coarsening"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void shortRowsByEight(const float *in, float *out, int width)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = 0;

    for (int i = lane; i < width; i += 8)
        sum += in[row * width + i];

    for (int step = 4; step > 0; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step, 8);
    if (lane == 0)
        out[row] = sum;
}
// ncuview: end kernel
