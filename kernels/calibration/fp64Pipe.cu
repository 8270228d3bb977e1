/*--- ncuview
schema = 1
name = "fp64Pipe"
family = "calibration"
step_number = 9
document = "ncuview"
section = "attainable share of fp64"
teaches = "Independent chains of double-precision fused multiply-adds."
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
name = "one"
kind = "float64 = 1"

[[args]]
name = "zero"
kind = "float64 = 0"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
flops = "2 * rounds * threads"

[expect]
verdict = "near-peak"
---*/

#define CHAINS 8

// ncuview: begin kernel
__global__ void fp64Pipe(const float *in, float *out, double one, double zero, int rounds)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double value[CHAINS];

    for (int c = 0; c < CHAINS; c++)
        value[c] = in[t];

    // volatile: each operation returns its input, and must still be executed.
    #pragma unroll 4
    for (int r = 0; r < rounds; r += CHAINS)
        for (int c = 0; c < CHAINS; c++)
            asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(value[c]) : "d"(one), "d"(zero));

    bool same = true;
    for (int c = 1; c < CHAINS; c++)
        same = same && value[c] == value[0];
    out[t] = same ? (float)value[0] : -1.0f;
}
// ncuview: end kernel
