/*--- ncuview
schema = 1
name = "tailEffect"
family = "occupancy"
step_number = 50
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Granularity of Parallelism"
teaches = "140 long blocks where 132 fit at once: eight blocks run alone, for as long as the 132 before them."
better = "tailFree"
oracle = "ring_of_sums"

[sizes]
n = 2293760
rounds = 48

# ncuview: begin launch
[launch]
grid = ["n / 1024 / 16"]
block = ["1024"]
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
#define EACH 16

__device__ unsigned ring_of_sums(unsigned value, int rounds)
{
    unsigned sum[SUMS];

    for (int s = 0; s < SUMS; s++)
        sum[s] = value + s;

    #pragma unroll 1
    for (int r = 0; r < rounds; r++)
        for (int s = 0; s < SUMS; s++)
            sum[s] += sum[(s + 1) % SUMS] + sum[(s + 2) % SUMS];

    return sum[0];
}

// ncuview: begin kernel
__global__ void __launch_bounds__(1024) tailEffect(const unsigned *in, unsigned *out, int rounds)
{
    int first = blockIdx.x * EACH * blockDim.x + threadIdx.x;

    #pragma unroll 1
    for (int e = 0; e < EACH; e++) {
        int i = first + e * blockDim.x;
        out[i] = ring_of_sums(in[i], rounds);
    }
}
// ncuview: end kernel
