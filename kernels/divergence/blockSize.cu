/*--- ncuview
schema = 1
name = "blockSize"
family = "divergence"
step_number = 90
document = "CUDA Performance (course notes)"
section = "Rule"
teaches = "256 threads per block, a multiple of the warp and the document's starting point: no lane is empty."
oracle = "squarings"

# ncuview: begin sizes
[sizes]
n = 4224000
block = 256
rounds = 256
# ncuview: end sizes

# ncuview: begin launch
[launch]
grid = ["n / block"]
block = ["block"]
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
after = "blockSize[block=33]"
applies = "launch_configuration"

[expect]
verdict = "near-peak"
quiet = ["launch_configuration", "divergence_removal"]

[[variant]]
step_number = 50
# ncuview: begin partial
sizes = { block = 33 }
# ncuview: end partial
teaches = "One thread more than a warp: the second warp of each block has one active lane of 32."
better = "blockSize"

[variant.expect]
first = "launch_configuration"

[[variant]]
step_number = 60
sizes = { block = 48 }
teaches = "A warp and a half: every second warp is half empty."
better = "blockSize"

[variant.expect]
first = "launch_configuration"

[[variant]]
step_number = 70
sizes = { block = 100 }
teaches = "Three warps and four threads: four warps run with 100 of 128 lanes."
better = "blockSize"

[variant.expect]
first = "launch_configuration"

[[variant]]
step_number = 80
sizes = { block = 250 }
teaches = "Six threads short of eight warps: one lane in 43 is empty."
better = "blockSize"

[variant.expect]
verdict = "near-peak"
---*/

// ncuview: begin kernel
__global__ void blockSize(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    for (int r = 0; r < rounds; r++)
        value = value * value + 1013904223u;

    out[i] = value;
}
// ncuview: end kernel
