/*--- ncuview
schema = 1
name = "registersFit"
family = "instructions"
step_number = 51
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Scalar Replacement (beyond sum)"
teaches = "Half the warps and twice the registers: all sums stay in registers."
oracle = "ring_of_sums"

[sizes]
n = 1048576
rounds = 32

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

[step]
after = "registerSpill"
applies = "launch_configuration"

[expect]
verdict = "near-peak"
quiet = ["launch_configuration", "unrolling"]
---*/

#define SUMS 48

// ncuview: begin kernel
// ncuview: begin bounds
__global__ void __launch_bounds__(256) registersFit(const unsigned *in, unsigned *out, int rounds)
// ncuview: end bounds
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum[SUMS];

    for (int s = 0; s < SUMS; s++)
        sum[s] = in[i] + s;

    #pragma unroll 1
    for (int r = 0; r < rounds; r++)
        for (int s = 0; s < SUMS; s++)
            sum[s] += sum[(s + 1) % SUMS] + sum[(s + 2) % SUMS];

    out[i] = sum[0];
}
// ncuview: end kernel
