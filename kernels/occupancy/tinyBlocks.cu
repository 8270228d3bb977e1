/*--- ncuview
schema = 1
name = "tinyBlocks"
family = "occupancy"
step_number = 30
document = "GPU Hardware Performance II (Filipovič)"
section = "Revision: all memories"
teaches = "Blocks of one warp: a multiprocessor takes 32 blocks, which fill half of its 64 warp slots."
better = "occupancyFull"
oracle = "chained_records"

[sizes]
n = 2097152
records = 131072
steps = 96

# ncuview: begin launch
[launch]
grid = ["n / 32"]
block = ["32"]
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
__global__ void tinyBlocks(const unsigned *table, unsigned *out, int records, int steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32, warp = i / 32;
    unsigned at = warp, power = 1, sum = 0;

    #pragma unroll 4
    for (int s = 0; s < steps; s++) {
        unsigned word = table[(at & (records - 1)) * 32 + lane];
        sum += word * power;
        power *= 31;
        // The first word of a record names the next one, so each load waits for the one before.
        at = __shfl_sync(~0u, word, 0) + warp;
    }
    out[i] = sum;
}
// ncuview: end kernel
