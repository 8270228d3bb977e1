/*--- ncuview
schema = 1
name = "divergentOnWarpBorder"
family = "divergence"
step_number = 2
document = "CUDA Performance (course notes)"
section = "Divergent Optimisation"
teaches = "The same two paths, chosen by warp: no warp executes both."
oracle = "two_generators_by_warp"

[sizes]
n = 4194304
rounds = 256

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
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[expect]
verdict = "near-peak"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void divergentOnWarpBorder(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    if (threadIdx.x / 32 % 2 == 0)
        for (int r = 0; r < rounds; r++)
            value = value * 1664525u + 1013904223u;
    else
        for (int r = 0; r < rounds; r++)
            value = (value ^ (value << 13)) + 0x9e3779b9u;

    out[i] = value;
}
// ncuview: end kernel
