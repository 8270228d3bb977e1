/*--- ncuview
schema = 1
name = "count_warp"
family = "atomics"
step_number = 120
document = "ncuview"
section = "atomics"
teaches = "A warp adds up its words first, in one instruction, and one lane adds the sum: an atomic for 32 words."
better = "count_block"
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
after = "count_global"
applies = "warp_shuffle"
not_first = "The step leaves one atomic for each warp; a sum per block, with one atomic for 256 words, comes first."

[expect]
first = "atomic_privatization"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void count_warp(unsigned long long *count, const unsigned *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // ncuview: begin add
    unsigned long long bits = __reduce_add_sync(~0u, __popc(in[i]));
    if (threadIdx.x % 32 == 0)
        atomicAdd(count, bits);
    // ncuview: end add
}
// ncuview: end kernel
