/*--- ncuview
schema = 1
name = "sparseRowsByWarp"
family = "divergence"
step_number = 220
document = "GPU Hardware Performance II (Filipovič)"
section = "Divergent Optimisation"
teaches = "Not in the documents: a warp for each row of a sparse matrix. With 27 entries nearly every lane has one to load; then the warp adds up in five steps, stores one number and ends."
better = "sparseRowsByThread"
oracle = "sparse_rows"

[sizes]
rows = 2097152
width = 27
columns = 256

# ncuview: begin launch
[launch]
grid = ["rows / 8"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "values"
kind = "in float32[rows, width] below 256"

[[args]]
name = "places"
kind = "in int32[rows, width] below columns"

[[args]]
name = "x"
kind = "in float32[columns] below 256"

[[args]]
name = "out"
kind = "out float32[rows]"

[[args]]
name = "width"
kind = "int32 = width"

[useful]
bytes = "8 * rows * width + 4 * rows"

[expect]
first = "thread_coarsening"
quiet = ["vectorized_access"]
---*/

// ncuview: begin kernel
__global__ void sparseRowsByWarp(const float *values, const int *places, const float *x, float *out, int width)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;

    for (int i = lane; i < width; i += 32)
        sum += values[row * width + i] * x[places[row * width + i]];

    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0)
        out[row] = sum;
}
// ncuview: end kernel
