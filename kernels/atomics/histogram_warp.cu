/*--- ncuview
schema = 1
name = "histogram_warp"
family = "atomics"
step_number = 40
document = "ncuview"
section = "atomics"
teaches = "Each warp counts into a histogram of its own in shared memory: no two warps meet in a bin before the end."
oracle = "histogram_CPU"

[sizes]
n = 16777216
values = 256
blocks = 1024

# ncuview: begin launch
[launch]
grid = ["blocks"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n] below values"

[[args]]
name = "histogram"
kind = "zeroed uint32[256]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * n"

[step]
after = "histogram_shared"
applies = "atomic_privatization"
not_first = "The histogram of each block no longer limits."

[expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "atomic_privatization"]

[[variant]]
step_number = 45
sizes = { values = 4 }
teaches = "Only four values occur, and only the lanes of one warp meet in a bin."

[variant.step]
after = "histogram_shared[values=4]"
applies = "atomic_privatization"
not_first = "The histogram of each block no longer limits, even with 4 values."

[variant.expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "atomic_privatization"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void histogram_warp(const unsigned *in, unsigned *histogram, int n)
{
    // ncuview: begin bins
    __shared__ unsigned bin[8][256];
    // ncuview: end bins
    int warp = threadIdx.x / 32;
    for (int w = 0; w < 8; w++)
        bin[w][threadIdx.x] = 0;
    __syncthreads();

    int threads = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * threads) {
        unsigned value[LOADS];

        #pragma unroll
        for (int k = 0; k < LOADS; k++)
            value[k] = in[i + k * threads];

        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            // ncuview: begin add
            atomicAdd(&bin[warp][value[k]], 1);
            // ncuview: end add
        }
    }

    __syncthreads();
    unsigned sum = 0;
    for (int w = 0; w < 8; w++)
        sum += bin[w][threadIdx.x];
    atomicAdd(&histogram[threadIdx.x], sum);
}
// ncuview: end kernel
