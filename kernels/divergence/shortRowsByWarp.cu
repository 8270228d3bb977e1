/*--- ncuview
schema = 1
name = "shortRowsByWarp"
family = "divergence"
step_number = 200
document = "GPU Hardware Performance II (Filipovič)"
section = "Divergent Optimisation"
teaches = "A warp for each row of eight numbers: 24 lanes have nothing to load, and wait with the others."
better = "shortRowsByEight"
oracle = "sums_of_rows"

[sizes]
rows = 4194304
width = 8

# ncuview: begin launch
[launch]
grid = ["rows / 8"]
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

[expect]
first = "thread_coarsening"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void shortRowsByWarp(const float *in, float *out, int width)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;

    for (int i = lane; i < width; i += 32)
        sum += in[row * width + i];

    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
        out[row] = sum;
}
// ncuview: end kernel
