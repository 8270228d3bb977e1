/*--- ncuview
schema = 1
name = "xuPipe"
family = "calibration"
step_number = 8
document = "ncuview"
section = "attainable share of xu"
teaches = "Independent chains of reciprocal square roots of one in the special-function unit."
oracle = "copy_CPU"

[sizes]
threads = 270336
rounds = 8192

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
name = "one"
kind = "float32 = 1"

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
__global__ void xuPipe(const float *in, float *out, float one, int rounds)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float value[CHAINS];

    for (int c = 0; c < CHAINS; c++)
        value[c] = one;

    // volatile: each operation returns its input, and must still be executed.
    #pragma unroll 4
    for (int r = 0; r < rounds; r += CHAINS)
        for (int c = 0; c < CHAINS; c++)
            asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(value[c]));

    bool same = true;
    for (int c = 1; c < CHAINS; c++)
        same = same && value[c] == value[0];
    out[t] = same ? in[t] * value[0] : -1.0f;
}
// ncuview: end kernel
