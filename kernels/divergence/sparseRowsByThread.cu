/*--- ncuview
schema = 1
name = "sparseRowsByThread"
family = "divergence"
step_number = 230
document = "GPU Hardware Performance II (Filipovič)"
section = "Divergent Optimisation"
teaches = "A thread for each row, with the entries of neighbouring rows side by side: a warp works on 32 rows, many loads are under way at once, and nothing is left to add up between lanes."
oracle = "sparse_columns"

[sizes]
rows = 2097152
width = 27
columns = 256

# ncuview: begin launch
[launch]
grid = ["rows / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "values"
kind = "in float32[width, rows] below 256"

[[args]]
name = "places"
kind = "in int32[width, rows] below columns"

[[args]]
name = "x"
kind = "in float32[columns] below 256"

[[args]]
name = "out"
kind = "out float32[rows]"

[[args]]
name = "rows"
kind = "int32 = rows"

[[args]]
name = "width"
kind = "int32 = width"

[useful]
bytes = "8 * rows * width + 4 * rows"

[step]
after = "sparseRowsByWarp"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "thread_coarsening"]
---*/

// ncuview: begin kernel
__global__ void sparseRowsByThread(const float *values, const int *places, const float *x, float *out, int rows,
                                   int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;

    #pragma unroll 4
    for (int i = 0; i < width; i++)
        sum += values[i * rows + row] * x[places[i * rows + row]];
    out[row] = sum;
}
// ncuview: end kernel
