/*--- ncuview
schema = 1
name = "transposeDiagonal"
family = "transpose"
step_number = 23
document = "GPU Hardware Performance II (Filipovič)"
section = "How to Remove Partition Camping?"
teaches = "Diagonal block order against partition camping. GPUs that hash addresses over their memory slices have none, so here it changes nothing."
oracle = "transpose_CPU"

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
after = "transposeNoBankConflicts"
applies = "diagonal_mapping"
not_first = "An H200 spreads addresses over its memory by itself, so there is no partition camping to fix."

[reported]
rate = 80.0
unit = "GB/s"
gpu = "GeForce GTX 280"

[expect]
verdict = "near-peak"
quiet = ["diagonal_mapping"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void transposeDiagonal(float *odata, const float *idata, int n)
{
    // ncuview: begin tile
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    // ncuview: end tile

    // Order the tiles along diagonals, so that neighbouring blocks write to different memory partitions.
    int blockIdx_y = blockIdx.x;
    int blockIdx_x = (blockIdx.x + blockIdx.y) % gridDim.x;

    int x = blockIdx_x * TILE_DIM + threadIdx.x;
    int y = blockIdx_y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * n + x];

    __syncthreads();

    x = blockIdx_y * TILE_DIM + threadIdx.x;
    y = blockIdx_x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
// ncuview: end kernel
