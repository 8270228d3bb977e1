/*--- ncuview
schema = 1
name = "histogram_global"
family = "atomics"
step_number = 10
document = "ncuview"
section = "atomics"
teaches = "One atomic per element on a histogram of 256 bins in global memory: the lanes of all multiprocessors meet in a kilobyte of L2."
better = "histogram_shared"
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

[expect]
first = "atomic_privatization"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 15
sizes = { values = 4 }
teaches = "Only four values occur: eight lanes of each warp meet in one bin, and all of the GPU in one sector."
better = "histogram_shared[values=4]"

[variant.expect]
first = "atomic_privatization"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void histogram_global(const unsigned *in, unsigned *histogram, int n)
{
    int threads = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * threads) {
        unsigned value[LOADS];

        #pragma unroll
        for (int k = 0; k < LOADS; k++)
            value[k] = in[i + k * threads];

        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            // ncuview: begin add
            atomicAdd(&histogram[value[k]], 1);
            // ncuview: end add
        }
    }
}
// ncuview: end kernel
