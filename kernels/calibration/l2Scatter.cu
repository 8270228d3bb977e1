/*--- ncuview
schema = 1
name = "l2Scatter"
family = "calibration"
step_number = 3
document = "ncuview"
section = "attainable share of l2"
teaches = "Every lane of a warp stores into a sector of its own, in a buffer that fits in the L2 cache: requests, not bytes, fill the crossbar and the tags."
oracle = "last_round_per_sector"

[sizes]
threads = 262144
rounds = 128

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "out"
kind = "out uint32[8 * threads]"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "4 * rounds * threads"

[expect]
first = "shared_memory_tiling"
---*/

// ncuview: begin kernel
__global__ void l2Scatter(unsigned *out, int rounds)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;

    for (int r = 0; r < rounds; r++)
        out[t * 8 + r % 8] = t + r;
}
// ncuview: end kernel
