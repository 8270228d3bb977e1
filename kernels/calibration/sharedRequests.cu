/*--- ncuview
schema = 1
name = "sharedRequests"
family = "calibration"
step_number = 5
document = "ncuview"
section = "attainable share of lsu"
teaches = "Conflict-free shared-memory loads, one wavefront each: as many requests as the load/store unit takes."
oracle = "sum_of_lanes"

[sizes]
threads = 270336
rounds = 8192

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
verdict = "near-peak"
---*/

// ncuview: begin kernel
__global__ void sharedRequests(unsigned *out, int rounds)
{
    __shared__ unsigned tile[32];
    int lane = threadIdx.x % 32;

    if (threadIdx.x < 32)
        tile[lane] = lane;
    __syncthreads();

    unsigned sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *(volatile unsigned *)&tile[lane];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// ncuview: end kernel
