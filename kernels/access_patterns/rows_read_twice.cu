/*--- ncuview
schema = 1
name = "rows_read_twice"
family = "access_patterns"
step_number = 405
document = "ncuview"
section = "Rows"
teaches = "The sum of the distances below the largest element follows from the sum of all elements, so that one pass finds both and the second writes the result."
better = "rows_kept"
oracle = "places_below_largest"

[sizes]
rows = 8192
width = 8192

# ncuview: begin launch
[launch]
grid = ["rows"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[rows, width] below 256"

[[args]]
name = "out"
kind = "out float32[rows, width]"

[[args]]
name = "width"
kind = "int32 = width"

[useful]
bytes = "8 * rows * width"

[step]
after = "rows_read_thrice"
applies = "algorithmic"
not_first = "The step saves one pass over the row; the row kept in registers (rows_kept) needs no change of the algorithm, and comes first."

[expect]
first = "register_tiling"
quiet = ["coalescing"]
---*/

__device__ float combined(float value, float *partial, bool largest)
{
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, value, step);
        value = largest ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < 8; warp++)
        value = largest ? fmaxf(value, partial[warp]) : value + partial[warp];
    __syncthreads();
    return value;
}

// ncuview: begin kernel
__global__ void rows_read_twice(const float *in, float *out, int width)
{
    __shared__ float partial[8];
    const float *row = in + (size_t)blockIdx.x * width;

    float largest = 0, sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float value = row[i];
        largest = fmaxf(largest, value);
        sum += value;
    }
    largest = combined(largest, partial, true);
    sum = width * largest - combined(sum, partial, false);

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[(size_t)blockIdx.x * width + i] = sum - (largest - row[i]);
}
// ncuview: end kernel
