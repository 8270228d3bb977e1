/*--- ncuview
schema = 1
name = "tailFree"
family = "occupancy"
step_number = 51
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Granularity of Parallelism"
teaches = "The same work in blocks of a sixteenth of the size: 17 waves, of which the last is almost full."
oracle = "ring_of_sums"

[sizes]
n = 2293760
rounds = 48

# ncuview: begin launch
[launch]
grid = ["n / 1024"]
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

[step]
after = "tailEffect"
applies = "launch_configuration"

[expect]
verdict = "near-peak"
quiet = ["launch_configuration"]
---*/

#define SUMS 48

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
__global__ void __launch_bounds__(1024) tailFree(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ring_of_sums(in[i], rounds);
}
// ncuview: end kernel
