/*--- ncuview
schema = 1
name = "rows_read_thrice"
family = "access_patterns"
step_number = 400
document = "ncuview"
section = "Rows"
teaches = "A block needs its row for the largest element, for a sum and for the result, and reads it three times; in between other rows have evicted it from the L1 cache."
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
__global__ void rows_read_thrice(const float *in, float *out, int width)
{
    __shared__ float partial[8];
    const float *row = in + (size_t)blockIdx.x * width;

    float largest = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        largest = fmaxf(largest, row[i]);
    largest = combined(largest, partial, true);

    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += largest - row[i];
    sum = combined(sum, partial, false);

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[(size_t)blockIdx.x * width + i] = sum - (largest - row[i]);
}
// ncuview: end kernel
