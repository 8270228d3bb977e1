/*--- ncuview
schema = 1
name = "rowSums_quarter"
family = "reduction"
step_number = 210
document = "ncuview"
section = "Rows"
teaches = "128 threads take eight numbers each, in two wide loads, and exchange one sum: an eighth of the shuffles and barriers."
oracle = "sums_of_rows"

[sizes]
rows = 65536
width = 1024

# ncuview: begin launch
[launch]
grid = ["rows"]
block = ["128"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[rows, width] below 256"

[[args]]
name = "out"
kind = "out float32[rows]"

[useful]
bytes = "4 * rows * width + 4 * rows"

[step]
after = "rowSums_block"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
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
__global__ void rowSums_quarter(const float *in, float *out)
{
    __shared__ float partial[32];
    const float4 *row = (const float4 *)&in[blockIdx.x * 1024];
    float4 a = row[threadIdx.x], b = row[threadIdx.x + 128];
    float sum = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));

    sum = sum_of_block(sum, partial, 4);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
// ncuview: end kernel
