/*--- ncuview
schema = 1
name = "reduce_v5_1"
family = "reduction"
step_number = 60
document = "CUDA Performance (course notes)"
section = "GPU V5.1: Last warp unroll"
teaches = "The last six rounds concern one warp, which needs no barrier of the block. The document leaves them to lock step and volatile; since Volta the lanes of a warp are scheduled independently, so __syncwarp stands between read and write."
better = "reduce_v5_2"
oracle = "block_sums"

[sizes]
n = 67108864
threads = 256
tile = 8

# ncuview: begin launch
[launch]
grid = ["n / (tile * threads)"]
block = ["threads"]
shared = "4 * threads"
# ncuview: end launch

[[args]]
name = "d_idata"
kind = "in float32[n] below 8"

[[args]]
name = "d_odata"
kind = "out float32[n / (tile * threads)]"

[useful]
bytes = "4 * n + 4 * n / (tile * threads)"

[step]
after = "reduce_v4_2"
applies = "warp_unrolling"
not_first = "Eight loads per thread have made the tree cheap, and device memory is near its peak."

[expect]
verdict = "near-peak"
quiet = ["coalescing", "shared_memory_padding", "fewer_barriers"]
---*/

#define TILE 8

// ncuview: begin kernel
// Every lane adds, needed or not, which costs nothing. A lane's read must come before its neighbour's write and that
// write before the next read, which only __syncwarp ensures.
__device__ void warpReduce(float *smem, int tid)
{
    float sum = smem[tid];

    #pragma unroll
    for (int c = 32; c > 0; c >>= 1) {
        sum += smem[tid + c];
        __syncwarp();
        smem[tid] = sum;
        __syncwarp();
    }
}

__global__ void reduce_v5_1(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * (TILE * blockDim.x) + threadIdx.x;

    float sum = 0;
    for (int c = 0; c < TILE; c++)
        sum += d_idata[idx + c * blockDim.x];
    smem[threadIdx.x] = sum;
    // ncuview: end load
    __syncthreads();

    // ncuview: begin loop
    for (unsigned c = blockDim.x / 2; c > 32; c >>= 1) {
        if (threadIdx.x < c)
            smem[threadIdx.x] += smem[threadIdx.x + c];
        __syncthreads();
    }

    if (threadIdx.x < 32)
        warpReduce(smem, threadIdx.x);
    // ncuview: end loop

    if (threadIdx.x == 0)
        d_odata[blockIdx.x] = smem[0];
}
// ncuview: end kernel
