/*--- ncuview
schema = 1
name = "sharedWavefronts"
family = "calibration"
step_number = 4
document = "ncuview"
section = "attainable share of l1_data"
teaches = "Loads of a column of a 32x32 tile: each request is replayed 32 times, so the data stage of L1 is never idle."
oracle = "sum_of_lanes"

[sizes]
threads = 270336
rounds = 512

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "out"
kind = "out uint32[threads]"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "4 * rounds * threads"

[expect]
first = "shared_memory_padding"
---*/

// ncuview: begin kernel
__global__ void sharedWavefronts(unsigned *out, int rounds)
{
    __shared__ unsigned tile[32][32];
    int lane = threadIdx.x % 32;

    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x)
        tile[i / 32][i % 32] = i / 32;
    __syncthreads();

    unsigned sum = 0;
    #pragma unroll 8
    for (int r = 0; r < rounds; r++)
        sum += *(volatile unsigned *)&tile[lane][r % 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// ncuview: end kernel
