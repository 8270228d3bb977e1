/*--- ncuview
schema = 1
name = "reduce_v4_1"
family = "reduction"
step_number = 40
document = "CUDA Performance (course notes)"
section = "GPU V4.1: Single add on load"
teaches = "Half the blocks: each thread adds two elements while it loads them, so every thread adds at least once. Two loads per thread are still too few bytes in flight."
better = "reduce_v4_2"
oracle = "block_sums"

[sizes]
n = 67108864
threads = 256

# ncuview: begin launch
[launch]
grid = ["n / (2 * threads)"]
block = ["threads"]
shared = "4 * threads"
# ncuview: end launch

[[args]]
name = "d_idata"
kind = "in float32[n] below 8"

[[args]]
name = "d_odata"
kind = "out float32[n / (2 * threads)]"

[useful]
bytes = "4 * n + 4 * n / (2 * threads)"

[step]
after = "reduce_v3"
applies = "thread_coarsening"

[expect]
first = "thread_coarsening"
quiet = ["divergence_removal", "shared_memory_padding", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void reduce_v4_1(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * (2 * blockDim.x) + threadIdx.x;

    smem[threadIdx.x] = d_idata[idx] + d_idata[idx + blockDim.x];
    // ncuview: end load
    __syncthreads();

    // ncuview: begin loop
    for (unsigned c = blockDim.x / 2; c > 0; c >>= 1) {
        if (threadIdx.x < c)
            smem[threadIdx.x] += smem[threadIdx.x + c];
        __syncthreads();
    }
    // ncuview: end loop

    if (threadIdx.x == 0)
        d_odata[blockIdx.x] = smem[0];
}
// ncuview: end kernel
