/*--- ncuview
schema = 1
name = "pageableCopies"
family = "transfers"
step_number = 10
document = "CUDA Performance (course notes)"
section = "Minimise CPU-GPU data transfer"
teaches = "Copies from and to ordinary host memory: the driver passes every byte through a page-locked buffer of its own, and the copy runs at its speed."
better = "pinnedCopies"
oracle = "lcg_rounds"

[sizes]
n = 16777216
rounds = 1024

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

# ncuview: begin transfers
[transfers]
memory = "pageable"
pieces = "1"
streams = "1"
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

[expect]
first = "transfer_reduction"
---*/

// ncuview: begin kernel
__global__ void pageableCopies(unsigned *out, const unsigned *in, unsigned factor, unsigned addend, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 16
    for (int r = 0; r < rounds; r++)
        value = value * factor + addend;

    out[i] = value;
}
// ncuview: end kernel
