/*--- ncuview
schema = 1
name = "workersScattered"
family = "divergence"
step_number = 30
document = "CUDA Performance (course notes)"
section = "Warp Partitioning: Definitions"
teaches = "As in a tree, half of the threads stop after each pass, every other one: each warp keeps a worker through all passes, and none can retire."
better = "workersContiguous"
oracle = "squarings_of_scattered_workers"

[sizes]
n = 4194304
passes = 5
rounds = 128

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n]"

[[args]]
name = "out"
kind = "out uint32[n]"

[[args]]
name = "passes"
kind = "int32 = passes"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[expect]
first = "divergence_removal"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void workersScattered(const unsigned *in, unsigned *out, int passes, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    // ncuview: begin workers
    for (int pass = 0; pass < passes && threadIdx.x % (1u << pass) == 0; pass++)
    // ncuview: end workers
        for (int r = 0; r < rounds; r++)
            value = value * value + 1013904223u;

    out[i] = value;
}
// ncuview: end kernel
