/*--- ncuview
schema = 1
name = "mtran_coalesced"
family = "transpose"
step_number = 51
document = "GPU Hardware Performance II (Filipovič)"
section = "Tiled Transposition"
teaches = "Row-wise on both sides through a 32x32 tile with 32x8 threads; the column read of the tile conflicts."
better = "mtran_matrix_padding"
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
after = "mtran"
applies = "shared_memory_tiling"

[reported]
rate = 75.1
unit = "GB/s"
gpu = "GeForce GTX 280"

[expect]
first = "shared_memory_padding"
quiet = ["coalescing", "shared_memory_tiling", "diagonal_mapping"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void mtran_coalesced(float *odata, const float *idata, int n)
{
    // ncuview: begin tile
    __shared__ float tile[TILE_DIM][TILE_DIM];
    // ncuview: end tile

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * n + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
// ncuview: end kernel
