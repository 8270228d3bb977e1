/*--- ncuview
schema = 1
name = "pinnedCopies"
family = "transfers"
step_number = 30
document = "CUDA Performance (course notes)"
section = "Minimise CPU-GPU data transfer"
teaches = "One copy each way between page-locked host memory and the device, then the kernel, then the copy back: the bus is fast, and idle while the kernel runs."
better = "overlappedCopies[streams=3]"
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
memory = "pinned"
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

[step]
after = "pageableCopies"
applies = "transfer_reduction"

[expect]
first = "async_copy"
---*/

// ncuview: begin kernel
__global__ void pinnedCopies(unsigned *out, const unsigned *in, unsigned factor, unsigned addend, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 16
    for (int r = 0; r < rounds; r++)
        value = value * factor + addend;

    out[i] = value;
}
// ncuview: end kernel
