/*--- ncuview
schema = 1
name = "rows_kept"
family = "access_patterns"
step_number = 410
document = "ncuview"
section = "Rows"
teaches = "Each thread keeps its 32 elements of the row in registers when it first reads them, so that each is loaded once."
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
applies = "register_tiling"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "register_tiling"]
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

#define EACH 32

// ncuview: begin kernel
__global__ void rows_kept(const float *in, float *out, int width)
{
    __shared__ float partial[8];
    const float *row = in + (size_t)blockIdx.x * width;
    float kept[EACH];

    for (int i = 0; i < EACH; i++)
        kept[i] = row[threadIdx.x + i * blockDim.x];

    float largest = 0;
    for (int i = 0; i < EACH; i++)
        largest = fmaxf(largest, kept[i]);
    largest = combined(largest, partial, true);

    float sum = 0;
    for (int i = 0; i < EACH; i++)
        sum += largest - kept[i];
    sum = combined(sum, partial, false);

    for (int i = 0; i < EACH; i++)
        out[(size_t)blockIdx.x * width + threadIdx.x + i * blockDim.x] = sum - (largest - kept[i]);
}
// ncuview: end kernel
