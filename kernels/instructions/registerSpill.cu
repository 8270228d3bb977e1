/*--- ncuview
schema = 1
name = "registerSpill"
family = "instructions"
step_number = 50
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Scalar Replacement (beyond sum)"
teaches = "48 running sums where the launch bounds leave 32 registers: what does not fit is stored to local memory and loaded back in every round."
better = "registersFit"
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

[expect]
first = "launch_configuration"
---*/

#define SUMS 48

// ncuview: begin kernel
// ncuview: begin bounds
__global__ void __launch_bounds__(256, 8) registerSpill(const unsigned *in, unsigned *out, int rounds)
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
