/*--- ncuview
schema = 1
name = "count_coarsened"
family = "atomics"
step_number = 140
document = "ncuview"
section = "atomics"
teaches = "Each thread counts 64 words in a register before the block adds up: 1024 atomics and as many block reductions for 16 million words."
oracle = "count_of_bits"

[sizes]
n = 16777216
blocks = 1024

# ncuview: begin launch
[launch]
grid = ["blocks"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "count"
kind = "zeroed uint32[2]"

[[args]]
name = "in"
kind = "in uint32[n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * n"

[step]
after = "count_block"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "atomic_privatization"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void count_coarsened(unsigned long long *count, const unsigned *in, int n)
{
    int threads = gridDim.x * blockDim.x;
    unsigned bits = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * threads)
        #pragma unroll
        for (int k = 0; k < LOADS; k++)
            bits += __popc(in[i + k * threads]);

    // ncuview: begin add
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();

    bits = __reduce_add_sync(~0u, bits);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sum, bits);
    __syncthreads();

    if (threadIdx.x == 0)
        atomicAdd(count, (unsigned long long)sum);
    // ncuview: end add
}
// ncuview: end kernel
