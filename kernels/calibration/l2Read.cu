/*--- ncuview
schema = 1
name = "l2Read"
family = "calibration"
step_number = 2
document = "ncuview"
section = "attainable share of l2"
teaches = "A buffer that fits in the L2 cache, read again and again past L1: what the L2 slices and the crossbar deliver."
oracle = "sum_of_rounds"

[sizes]
threads = 262144
words = 2097152
rounds = 1024

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[words]"

[[args]]
name = "out"
kind = "out uint32[threads]"

[[args]]
name = "words"
kind = "int32 = words"

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
__global__ void l2Read(const uint4 *in, unsigned *out, int words, int rounds, int threads)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int quads = words / 4;
    unsigned sum = 0;

    #pragma unroll 8
    for (int r = 0; r < rounds; r++) {
        uint4 word;
        // cg: cached in L2 only. volatile: the same word is read again on purpose.
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                     : "l"(in + (t + r * threads) % quads));
        sum += word.x + word.y + word.z + word.w;
    }
    out[t] = sum;
}
// ncuview: end kernel
