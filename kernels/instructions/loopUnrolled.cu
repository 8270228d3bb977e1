/*--- ncuview
schema = 1
name = "loopUnrolled"
family = "instructions"
step_number = 2
document = "CUDA Performance (course notes)"
section = "Furthere improvements: Loop unrolling"
teaches = "Sixteen rounds per iteration of the loop: counting costs once for all of them."
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
verdict = "near-peak"
quiet = ["unrolling"]
---*/

// ncuview: begin kernel
__global__ void loopUnrolled(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 16
    for (int r = 0; r < rounds; r++)
        value ^= value << 1;

    out[i] = value;
}
// ncuview: end kernel
