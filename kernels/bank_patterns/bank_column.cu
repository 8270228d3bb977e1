/*--- ncuview
schema = 1
name = "bank_column"
family = "bank_patterns"
step_number = 110
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Shared memory bank conflicts 6"
teaches = "A warp reads the columns of a 32x32 tile: all elements of a column lie in one bank, the worst case of a 32-way conflict."
better = "bank_column_padded"
oracle = "rounds_of_columns"

[sizes]
threads = 270336
rounds = 2048

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[threads]"

[[args]]
name = "idata"
kind = "in float32[1024] below 256"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "4 * rounds * threads"

[predicts]
shared_bank_conflict_ways = 32.0

[expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void bank_column(float *odata, const float *idata, int rounds)
{
    // ncuview: begin tile
    __shared__ float tile[32][32];
    // ncuview: end tile
    int tid = threadIdx.x;

    for (int i = tid; i < 32 * 32; i += blockDim.x)
        tile[i / 32][i % 32] = idata[i];
    __syncthreads();

    // Volatile, so that every round loads again, and word by word.
    // ncuview: begin load
    volatile float *row = tile[tid % 32];
    // ncuview: end load
    float sum = 0;
    for (int r = 0; r < rounds; r += 32)
        #pragma unroll
        for (int column = 0; column < 32; column++)
            sum += row[column];

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
