/*--- ncuview
schema = 1
name = "add_half"
family = "atomics"
step_number = 210
document = "ncuview"
section = "atomics"
teaches = "Rows of halves are added to rows of a table. A single half has no atomic addition: the compiler writes a loop of compare-and-swap on the word around it, and neighbours make each other's attempts fail."
better = "add_half2"
oracle = "sums_by_target_row"

[sizes]
n = 16777216
width = 256
rows = 4096

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float16[n] below 4"

[[args]]
name = "to"
kind = "in uint32[n / width] below rows"

[[args]]
name = "table"
kind = "zeroed float16[rows * width]"

[useful]
bytes = "2 * n"

[expect]
first = "vectorized_access"
quiet = ["coalescing", "divergence_removal"]
---*/

#include <cuda_fp16.h>

#define WIDTH 256

// ncuview: begin kernel
__global__ void add_half(const __half *in, const unsigned *to, __half *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // ncuview: begin add
    atomicAdd(&table[to[i / WIDTH] * WIDTH + i % WIDTH], in[i]);
    // ncuview: end add
}
// ncuview: end kernel
