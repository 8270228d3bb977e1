/*--- ncuview
schema = 1
name = "multiplyDoubles"
family = "instructions"
step_number = 35
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "One division in double precision before the loop gives the reciprocal; every other one is a multiplication."
oracle = "sum_divided"
tolerance = 1e-12

[sizes]
n = 4194304
rounds = 256
d = 3

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float64[n] below 1024"

[[args]]
name = "out"
kind = "out float64[n]"

[[args]]
name = "d"
kind = "float64 = d"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 8 * n"

[step]
after = "divideDoubles"
applies = "strength_reduction"

[expect]
verdict = "near-peak"
quiet = ["strength_reduction", "unrolling"]
---*/

// ncuview: begin kernel
__global__ void multiplyDoubles(const double *in, double *out, double d, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double reciprocal = 1 / d, x = in[i], sum = 0;

    #pragma unroll 16
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += x * reciprocal;
        // ncuview: end function
        x += 1;
    }
    out[i] = sum;
}
// ncuview: end kernel
