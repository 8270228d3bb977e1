/*--- ncuview
schema = 1
name = "workersContiguous"
family = "divergence"
step_number = 40
document = "CUDA Performance (course notes)"
section = "Warp Partitioning: Definitions"
teaches = "The same number of workers in each pass, side by side: complete warps run out of work and retire early."
oracle = "squarings_of_contiguous_workers"

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

[step]
after = "workersScattered"
applies = "divergence_removal"

[expect]
verdict = "near-peak"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void workersContiguous(const unsigned *in, unsigned *out, int passes, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    // ncuview: begin workers
    for (int pass = 0; pass < passes && threadIdx.x < blockDim.x >> pass; pass++)
    // ncuview: end workers
        for (int r = 0; r < rounds; r++)
            value = value * value + 1013904223u;

    out[i] = value;
}
// ncuview: end kernel
