/*--- ncuview
schema = 1
name = "dramRead"
family = "calibration"
step_number = 1
document = "ncuview"
section = "attainable share of dram"
teaches = "Sixteen bytes per thread and load, eight loads in flight: what a kernel that only reads can draw from device memory."
oracle = "sum_of_strided_words"

[sizes]
threads = 262144
rounds = 128

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[rounds * threads * 4]"

[[args]]
name = "out"
kind = "out uint32[threads]"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[[args]]
name = "threads"
kind = "int32 = threads"

[useful]
bytes = "16 * rounds * threads"

[expect]
verdict = "near-peak"
---*/

// ncuview: begin kernel
__global__ void dramRead(const uint4 *in, unsigned *out, int rounds, int threads)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;

    #pragma unroll 8
    for (int r = 0; r < rounds; r++) {
        uint4 word = in[r * threads + t];
        sum += word.x + word.y + word.z + word.w;
    }
    out[t] = sum;
}
// ncuview: end kernel
