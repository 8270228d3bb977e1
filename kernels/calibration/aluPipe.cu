/*--- ncuview
schema = 1
name = "aluPipe"
family = "calibration"
step_number = 7
document = "ncuview"
section = "attainable share of alu"
teaches = "Independent chains of 32-bit rotations, which only the integer pipe executes."
oracle = "copy_CPU"

[sizes]
threads = 270336
rounds = 16384

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[threads]"

[[args]]
name = "out"
kind = "out float32[threads]"

[[args]]
name = "zero"
kind = "int32 = 0"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
flops = "1 * rounds * threads"

[expect]
verdict = "near-peak"
---*/

#define CHAINS 8

// ncuview: begin kernel
__global__ void aluPipe(const float *in, float *out, int zero, int rounds)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value[CHAINS];

    for (int c = 0; c < CHAINS; c++)
        value[c] = __float_as_uint(in[t]);

    // volatile: each operation returns its input, and must still be executed.
    #pragma unroll 4
    for (int r = 0; r < rounds; r += CHAINS)
        for (int c = 0; c < CHAINS; c++)
            asm volatile("shf.l.wrap.b32 %0, %0, %0, %1;" : "+r"(value[c]) : "r"(zero));

    bool same = true;
    for (int c = 1; c < CHAINS; c++)
        same = same && value[c] == value[0];
    out[t] = same ? __uint_as_float(value[0]) : -1.0f;
}
// ncuview: end kernel
