/*--- ncuview
schema = 1
name = "reduce_v5_2"
family = "reduction"
step_number = 70
document = "CUDA Performance (course notes)"
section = "GPU V5.2: Complete unroll"
teaches = "The block size is a template argument, so every round is unrolled and no loop counter or condition on it is left."
better = "reduce_shuffle"
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
template = ["threads"]
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
after = "reduce_v5_1"
applies = "unrolling"
not_first = "The tree is no longer the cost, and device memory is near its peak."

[expect]
verdict = "near-peak"
quiet = ["coalescing", "shared_memory_padding", "unrolling", "fewer_barriers"]

[[variant]]
step_number = 72
sizes = { n = 32768 }
better = "reduce_shuffle[n=32768]"
teaches = "The recursive second pass (Further improvements: recursive reduction): the same kernel over the 32768 block sums of the first, which stay on the device. Sixteen blocks keep sixteen of 132 multiprocessors busy."

[variant.expect]
verdict = "near-peak"
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

template <int THREADS>
__global__ void reduce_v5_2(const float *d_idata, float *d_odata)
{
    extern __shared__ float smem[];

    // ncuview: begin load
    int idx = blockIdx.x * (TILE * THREADS) + threadIdx.x;

    float sum = 0;
    for (int c = 0; c < TILE; c++)
        sum += d_idata[idx + c * THREADS];
    smem[threadIdx.x] = sum;
    // ncuview: end load
    __syncthreads();

    // ncuview: begin loop
    #pragma unroll
    for (unsigned c = THREADS / 2; c > 32; c >>= 1) {
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

template __global__ void reduce_v5_2<256>(const float *, float *);
