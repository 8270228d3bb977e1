/*--- ncuview
schema = 1
name = "sharedMemoryHog"
family = "occupancy"
step_number = 10
document = "GPU Hardware Performance II (Filipovič)"
section = "Revision: all memories"
teaches = "Every thread keeps the words that it read in shared memory until the end: two blocks fill it, and three quarters of the warp slots stay empty."
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
shared = "4 * steps * 256"
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

[[args]]
name = "steps"
kind = "int32 = steps"

[useful]
bytes = "4 * 32 * records + 4 * n"

[expect]
first = "launch_configuration"
---*/

// ncuview: begin kernel
__global__ void sharedMemoryHog(const unsigned *table, unsigned *out, int records, int steps)
{
    extern __shared__ unsigned words[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32, warp = i / 32;
    unsigned at = warp, sum = 0;

    #pragma unroll 4
    for (int s = 0; s < steps; s++) {
        unsigned word = table[(at & (records - 1)) * 32 + lane];
        words[s * blockDim.x + threadIdx.x] = word;
        // The first word of a record names the next one, so each load waits for the one before.
        at = __shfl_sync(~0u, word, 0) + warp;
    }

    for (int s = steps - 1; s >= 0; s--)
        sum = sum * 31 + words[s * blockDim.x + threadIdx.x];
    out[i] = sum;
}
// ncuview: end kernel
