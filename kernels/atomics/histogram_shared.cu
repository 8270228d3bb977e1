/*--- ncuview
schema = 1
name = "histogram_shared"
family = "atomics"
step_number = 30
document = "ncuview"
section = "atomics"
teaches = "Each block counts into a histogram of its own in shared memory and adds it to the global one at the end: 256 global atomics a block instead of one per element."
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
after = "histogram_global"
applies = "atomic_privatization"

[expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "shared_memory_padding"]

[[variant]]
step_number = 35
sizes = { values = 4 }
teaches = "Only four values occur, and the warps of a block meet in four banks of shared memory."

[variant.step]
after = "histogram_global[values=4]"
applies = "atomic_privatization"

[variant.expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "shared_memory_padding"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void histogram_shared(const unsigned *in, unsigned *histogram, int n)
{
    // ncuview: begin bins
    __shared__ unsigned bin[256];
    // ncuview: end bins
    bin[threadIdx.x] = 0;
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
            atomicAdd(&bin[value[k]], 1);
            // ncuview: end add
        }
    }

    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], bin[threadIdx.x]);
}
// ncuview: end kernel
