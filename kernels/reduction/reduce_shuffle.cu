/*--- ncuview
schema = 1
name = "reduce_shuffle"
family = "reduction"
step_number = 80
document = "ncuview"
section = "the step after GPU V5.2 of the course notes: warp shuffles"
teaches = "Lanes hand their sums to each other through registers: shared memory holds one word per warp, and one barrier is left of three."
oracle = "block_sums"

[sizes]
n = 67108864
threads = 256
tile = 8

# ncuview: begin launch
[launch]
grid = ["n / (tile * threads)"]
block = ["threads"]
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
after = "reduce_v5_2"
applies = "warp_shuffle"
not_first = "The tree is no longer the cost, and device memory is near its peak."

[expect]
verdict = "near-peak"
quiet = ["coalescing", "shared_memory_padding", "fewer_barriers", "warp_shuffle"]

[[variant]]
step_number = 82
sizes = { n = 32768 }
teaches = "The recursive second pass with shuffles: a launch this small consists of latency, of which barriers were a part."

[variant.step]
after = "reduce_v5_2[n=32768]"
applies = "warp_shuffle"
not_first = "The second pass takes the time of an empty launch and one access to memory."

[variant.expect]
verdict = "near-peak"
---*/

#define TILE 8

// ncuview: begin kernel
__device__ float warpReduce(float sum)
{
    #pragma unroll
    for (int c = 16; c > 0; c >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, c);
    return sum;
}

template <int THREADS>
__global__ void reduce_shuffle(const float *d_idata, float *d_odata)
{
    __shared__ float smem[THREADS / 32];

    // ncuview: begin load
    int idx = blockIdx.x * (TILE * THREADS) + threadIdx.x;

    float sum = 0;
    for (int c = 0; c < TILE; c++)
        sum += d_idata[idx + c * THREADS];
    // ncuview: end load

    // ncuview: begin loop
    sum = warpReduce(sum);
    if (threadIdx.x % 32 == 0)
        smem[threadIdx.x / 32] = sum;
    __syncthreads();

    if (threadIdx.x < 32)
        sum = warpReduce(threadIdx.x < THREADS / 32 ? smem[threadIdx.x] : 0);
    // ncuview: end loop

    if (threadIdx.x == 0)
        d_odata[blockIdx.x] = sum;
}
// ncuview: end kernel

template __global__ void reduce_shuffle<256>(const float *, float *);
