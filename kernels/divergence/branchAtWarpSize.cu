/*--- ncuview
schema = 1
name = "branchAtWarpSize"
family = "divergence"
step_number = 20
document = "CUDA Performance (course notes)"
section = "Warp Partitioning: examples"
teaches = "The path changes at the border between two warps: each warp executes one path, and a block of two warps executes two."
oracle = "two_squarings_at_warp_size"

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

[step]
after = "branchAtLane16"
applies = "divergence_removal"

[expect]
verdict = "near-peak"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void branchAtWarpSize(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    // ncuview: begin branch
    if (threadIdx.x > warpSize - 1)
    // ncuview: end branch
        for (int r = 0; r < rounds; r++)
            value = value * value + 0x9e3779b9u;
    else
        for (int r = 0; r < rounds; r++)
            value = value * value + 1013904223u;

    out[i] = value;
}
// ncuview: end kernel
