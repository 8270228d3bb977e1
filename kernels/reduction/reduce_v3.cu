/*--- ncuview
schema = 1
name = "reduce_v3"
family = "reduction"
step_number = 30
document = "CUDA Performance (course notes)"
section = "GPU V3: Sequential Addressing"
teaches = "Threads add the word half a block away, so the lanes of a warp touch neighbouring words and no bank conflicts are left; half of the threads never add at all."
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

[step]
after = "reduce_v2"
applies = "data_layout"
not_first = "Eight elements per thread, added while they are loaded, come first."

[expect]
first = "thread_coarsening"
quiet = ["divergence_removal", "shared_memory_padding", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void reduce_v3(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * blockDim.x + threadIdx.x;

    smem[threadIdx.x] = d_idata[idx];
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
