/*--- ncuview
schema = 1
name = "histogram_match"
family = "atomics"
step_number = 20
document = "ncuview"
section = "atomics"
teaches = "The lanes that hold the same value are matched, and one of them adds for all. Among 256 equally likely values there are few matches: the search costs time and saves no atomics."
better = "histogram_shared"
oracle = "histogram_CPU"

[sizes]
n = 16777216
values = 256
blocks = 1024

# ncuview: begin launch
[launch]
grid = ["blocks"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n] below values"

[[args]]
name = "histogram"
kind = "zeroed uint32[256]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * n"

[step]
after = "histogram_global"
applies = "warp_shuffle"
not_first = "With 256 values the lanes of a warp seldom meet; a histogram per block comes first."

[expect]
first = "atomic_privatization"

[[variant]]
step_number = 25
sizes = { values = 4 }
teaches = "Where only four values occur, one lane in eight is left to add: an eighth of the atomics."
better = "histogram_shared[values=4]"

[variant.step]
after = "histogram_global[values=4]"
applies = "warp_shuffle"
not_first = "With 4 values the lanes of a warp often meet, but a histogram per block comes first."

[variant.expect]
first = "atomic_privatization"
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void histogram_match(const unsigned *in, unsigned *histogram, int n)
{
    int threads = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * threads) {
        unsigned value[LOADS];

        #pragma unroll
        for (int k = 0; k < LOADS; k++)
            value[k] = in[i + k * threads];

        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            // ncuview: begin add
            unsigned same = __match_any_sync(~0u, value[k]);
            if (threadIdx.x % 32 == __ffs(same) - 1)
                atomicAdd(&histogram[value[k]], __popc(same));
            // ncuview: end add
        }
    }
}
// ncuview: end kernel
