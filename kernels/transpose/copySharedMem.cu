/*--- ncuview
schema = 1
name = "copySharedMem"
family = "transpose"
step_number = 2
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Coalesced Transpose 11"
teaches = "A copy through a shared-memory tile and a barrier: neither has a measurable cost, so a slower transpose has another reason."
oracle = "copy_CPU"

[sizes]
n = 8192

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, n]"

[[args]]
name = "idata"
kind = "in float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n * n"

[step]
after = "copy"
applies = "unrolling"

[reported]
rate = 152.3
unit = "GB/s"
gpu = "Tesla K20c"

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding", "fewer_barriers"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void copySharedMem(float *odata, const float *idata, int n)
{
    __shared__ float tile[TILE_DIM * TILE_DIM];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[(threadIdx.y + j) * TILE_DIM + threadIdx.x] = idata[(y + j) * n + x];

    __syncthreads();

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * n + x] = tile[(threadIdx.y + j) * TILE_DIM + threadIdx.x];
}
// ncuview: end kernel
