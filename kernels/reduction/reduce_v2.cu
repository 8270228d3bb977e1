/*--- ncuview
schema = 1
name = "reduce_v2"
family = "reduction"
step_number = 20
document = "CUDA Performance (course notes)"
section = "GPU V2: Removing divergence branching"
teaches = "The adding threads are numbered without gaps, so complete warps add or rest and the modulo is removed; but their stride in shared memory is a power of two, and they conflict in the same banks."
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
after = "reduce_v1"
applies = "divergence_removal"
not_first = "Eight elements per thread, added while they are loaded, come first."

[expect]
first = "thread_coarsening"
quiet = ["divergence_removal", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void reduce_v2(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * blockDim.x + threadIdx.x;

    smem[threadIdx.x] = d_idata[idx];
    // ncuview: end load
    __syncthreads();

    // ncuview: begin loop
    for (unsigned c = 1; c < blockDim.x; c *= 2) {
        unsigned index = threadIdx.x * 2 * c;
        if (index < blockDim.x)
            smem[index] += smem[index + c];
        __syncthreads();
    }
    // ncuview: end loop

    if (threadIdx.x == 0)
        d_odata[blockIdx.x] = smem[0];
}
// ncuview: end kernel
