/*--- ncuview
schema = 1
name = "overlappedCopies"
family = "transfers"
step_number = 40
document = "CUDA Performance (course notes)"
section = "Minimise CPU-GPU data transfer"
teaches = "Double buffering: sixteen pieces on two streams, so that one piece is copied while another is computed."
oracle = "lcg_rounds"

[sizes]
n = 16777216
rounds = 1024
pieces = 16
streams = 2

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

# ncuview: begin transfers
[transfers]
memory = "pinned"
pieces = "pieces"
streams = "streams"
# ncuview: end transfers

[[args]]
name = "out"
kind = "out uint32[n]"

[[args]]
name = "in"
kind = "in uint32[n]"

[[args]]
name = "factor"
kind = "uint32 = 1664525"

[[args]]
name = "addend"
kind = "uint32 = 1013904223"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[step]
after = "pinnedCopies"
applies = "async_copy"

[expect]
verdict = "unclear"

[[variant]]
step_number = 41
sizes = { streams = 3 }
[variant.expect]
verdict = "near-peak"

[[variant]]
step_number = 42
sizes = { streams = 4 }
[variant.expect]
verdict = "near-peak"

[[variant]]
step_number = 43
sizes = { pieces = 8, streams = 3 }
[variant.expect]
verdict = "near-peak"

[[variant]]
step_number = 44
sizes = { pieces = 32, streams = 3 }
[variant.expect]
verdict = "near-peak"
---*/

// ncuview: begin kernel
__global__ void overlappedCopies(unsigned *out, const unsigned *in, unsigned factor, unsigned addend, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 16
    for (int r = 0; r < rounds; r++)
        value = value * factor + addend;

    out[i] = value;
}
// ncuview: end kernel
