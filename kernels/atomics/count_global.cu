/*--- ncuview
schema = 1
name = "count_global"
family = "atomics"
step_number = 110
document = "ncuview"
section = "atomics"
teaches = "Every thread adds the bits of its word to one counter: all lanes of the GPU queue at one address. The counter has 64 bits because nvcc itself adds up a warp's 32-bit addends."
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

[expect]
first = "atomic_privatization"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void count_global(unsigned long long *count, const unsigned *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // ncuview: begin add
    unsigned long long bits = __popc(in[i]);
    atomicAdd(count, bits);
    // ncuview: end add
}
// ncuview: end kernel
