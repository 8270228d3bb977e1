/*--- ncuview
schema = 1
name = "rowSums_block"
family = "reduction"
step_number = 200
document = "ncuview"
section = "Rows"
teaches = "A block of 1024 threads sums a row of 1024 numbers: every warp shuffles five times and waits twice for one number per lane."
better = "rowSums_quarter"
oracle = "sums_of_rows"

[sizes]
rows = 65536
width = 1024

# ncuview: begin launch
[launch]
grid = ["rows"]
block = ["1024"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[rows, width] below 256"

[[args]]
name = "out"
kind = "out float32[rows]"

[useful]
bytes = "4 * rows * width + 4 * rows"

[expect]
first = "thread_coarsening"
quiet = ["coalescing"]
---*/

__device__ float sum_of_block(float sum, float *partial, int warps)
{
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < warps ? partial[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(~0u, sum, step);
    return sum;
}

// ncuview: begin kernel
__global__ void rowSums_block(const float *in, float *out)
{
    __shared__ float partial[32];
    float sum = in[blockIdx.x * 1024 + threadIdx.x];

    sum = sum_of_block(sum, partial, 32);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
// ncuview: end kernel
