/*--- ncuview
schema = 1
name = "count_block"
family = "atomics"
step_number = 130
document = "ncuview"
section = "atomics"
teaches = "The warps of a block meet at a counter in shared memory, and one thread adds it to the global one: an atomic for 256 words."
better = "count_coarsened"
oracle = "count_of_bits"

[sizes]
n = 16777216

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "count"
kind = "zeroed uint32[2]"

[[args]]
name = "in"
kind = "in uint32[n]"

[useful]
bytes = "4 * n"

[step]
after = "count_warp"
applies = "atomic_privatization"

[expect]
first = "thread_coarsening"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void count_block(unsigned long long *count, const unsigned *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // ncuview: begin add
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();

    unsigned bits = __reduce_add_sync(~0u, __popc(in[i]));
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sum, bits);
    __syncthreads();

    if (threadIdx.x == 0)
        atomicAdd(count, (unsigned long long)sum);
    // ncuview: end add
}
// ncuview: end kernel
