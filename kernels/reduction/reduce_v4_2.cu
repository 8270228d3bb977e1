/*--- ncuview
schema = 1
name = "reduce_v4_2"
family = "reduction"
step_number = 50
document = "CUDA Performance (course notes)"
section = "GPU V4.2: Multiple adds on load"
teaches = "TILE elements per thread in a loop that the compiler unrolls: 32 bytes in flight per thread, and one tree of barriers for eight times as many elements."
better = "reduce_v5_1"
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
after = "reduce_v4_1"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "shared_memory_padding", "unrolling"]
---*/

#define TILE 8

// ncuview: begin kernel
__global__ void reduce_v4_2(const float *d_idata, float *d_odata)
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
