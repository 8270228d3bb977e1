/*--- ncuview
schema = 1
name = "loopRolled"
family = "instructions"
step_number = 1
document = "CUDA Performance (course notes)"
section = "Furthere improvements: Loop unrolling"
teaches = "A loop of two useful instructions: counting, comparing and jumping cost as much again."
better = "loopUnrolled"
oracle = "xor_shift_rounds"

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
first = "unrolling"
---*/

// ncuview: begin kernel
__global__ void loopRolled(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 1
    for (int r = 0; r < rounds; r++)
        value ^= value << 1;

    out[i] = value;
}
// ncuview: end kernel
