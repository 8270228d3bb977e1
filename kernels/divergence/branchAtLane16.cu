/*--- ncuview
schema = 1
name = "branchAtLane16"
family = "divergence"
step_number = 10
document = "CUDA Performance (course notes)"
section = "Warp Partitioning: examples"
teaches = "The path changes after the first 16 threads of a block, inside its first warp: that warp executes both paths, and a block of two warps executes three."
better = "branchAtWarpSize"
oracle = "two_squarings_at_lane_16"

[sizes]
n = 4194304
rounds = 256

# ncuview: begin launch
[launch]
grid = ["n / 64"]
block = ["64"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n]"

[[args]]
name = "out"
kind = "out uint32[n]"

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
__global__ void branchAtLane16(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    // ncuview: begin branch
    if (threadIdx.x > 15)
    // ncuview: end branch
        for (int r = 0; r < rounds; r++)
            value = value * value + 0x9e3779b9u;
    else
        for (int r = 0; r < rounds; r++)
            value = value * value + 1013904223u;

    out[i] = value;
}
// ncuview: end kernel
