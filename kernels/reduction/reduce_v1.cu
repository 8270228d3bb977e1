/*--- ncuview
schema = 1
name = "reduce_v1"
family = "reduction"
step_number = 10
document = "CUDA Performance (course notes)"
section = "GPU V1: Interleaved Addressing"
teaches = "In each round the threads whose index is a multiple of a growing power of two add: every warp diverges and idles more from round to round, and every thread pays for a modulo."
better = "reduce_v4_2"
oracle = "block_sums"

[sizes]
n = 67108864
threads = 256

# ncuview: begin launch
[launch]
grid = ["n / threads"]
block = ["threads"]
shared = "4 * threads"
# ncuview: end launch

[[args]]
name = "d_idata"
kind = "in float32[n] below 8"

[[args]]
name = "d_odata"
kind = "out float32[n / threads]"

[useful]
bytes = "4 * n + 4 * n / threads"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

// ncuview: begin kernel
__global__ void reduce_v1(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * blockDim.x + threadIdx.x;

    smem[threadIdx.x] = d_idata[idx];
    // ncuview: end load
    __syncthreads();

    // ncuview: begin loop
    for (unsigned c = 1; c < blockDim.x; c *= 2) {
        if (threadIdx.x % (2 * c) == 0)
            smem[threadIdx.x] += smem[threadIdx.x + c];
        __syncthreads();
    }
    // ncuview: end loop

    if (threadIdx.x == 0)
        d_odata[blockIdx.x] = smem[0];
}
// ncuview: end kernel
