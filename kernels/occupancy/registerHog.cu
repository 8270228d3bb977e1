/*--- ncuview
schema = 1
name = "registerHog"
family = "occupancy"
step_number = 20
document = "GPU Hardware Performance II (Filipovič)"
section = "Revision: all memories"
teaches = "Every thread keeps the words that it read in registers until the end: two blocks take all of them, and three quarters of the warp slots stay empty."
better = "occupancyFull"
oracle = "chained_records"

[sizes]
n = 2097152
records = 131072
steps = 96

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
template = ["steps"]
# ncuview: end launch

[[args]]
name = "table"
kind = "in uint32[records, 32]"

[[args]]
name = "out"
kind = "out uint32[n]"

[[args]]
name = "records"
kind = "int32 = records"

[useful]
bytes = "4 * 32 * records + 4 * n"

[expect]
first = "launch_configuration"
---*/

// ncuview: begin kernel
template <int STEPS>
__global__ void __launch_bounds__(256, 1) registerHog(const unsigned *table, unsigned *out, int records)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32, warp = i / 32;
    unsigned words[STEPS], at = warp, sum = 0;

    #pragma unroll
    for (int s = 0; s < STEPS; s++) {
        unsigned word = table[(at & (records - 1)) * 32 + lane];
        words[s] = word;
        // The first word of a record names the next one, so each load waits for the one before.
        at = __shfl_sync(~0u, word, 0) + warp;
    }

    #pragma unroll
    for (int s = STEPS - 1; s >= 0; s--)
        sum = sum * 31 + words[s];
    out[i] = sum;
}
// ncuview: end kernel

template __global__ void registerHog<96>(const unsigned *, unsigned *, int);
