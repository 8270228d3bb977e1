/*--- ncuview
schema = 1
name = "add_half2"
family = "atomics"
step_number = 220
document = "ncuview"
section = "atomics"
teaches = "Two halves at once: the L2 cache adds a pair in one instruction, and no thread waits for the old value."
oracle = "sums_by_target_row"

[sizes]
n = 16777216
width = 256
rows = 4096

# ncuview: begin launch
[launch]
grid = ["n / 512"]
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

[step]
after = "add_half"
applies = "vectorized_access"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "divergence_removal"]
---*/

#include <cuda_fp16.h>

#define WIDTH 256

// ncuview: begin kernel
__global__ void add_half2(const __half2 *in, const unsigned *to, __half2 *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // ncuview: begin add
    atomicAdd(&table[to[i / (WIDTH / 2)] * (WIDTH / 2) + i % (WIDTH / 2)], in[i]);
    // ncuview: end add
}
// ncuview: end kernel
