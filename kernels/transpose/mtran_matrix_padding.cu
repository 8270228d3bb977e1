/*--- ncuview
schema = 1
name = "mtran_matrix_padding"
family = "transpose"
step_number = 52
document = "GPU Hardware Performance II (Filipovič)"
section = "How to Remove Partition Camping?: padded matrices"
teaches = "The padded tile on matrices whose rows are padded too, so that no column of tiles falls into one memory partition."
oracle = "transpose_padded_CPU"

[sizes]
n = 8192
pitch = 8224

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, pitch]"

[[args]]
name = "idata"
kind = "in float32[n, pitch]"

[[args]]
name = "pitch"
kind = "int32 = pitch"

[useful]
bytes = "2 * 4 * n * n"

[step]
after = "transposeNoBankConflicts"
applies = "diagonal_mapping"
not_first = "An H200 spreads addresses over its memory by itself, so there is no partition camping to fix."

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding", "diagonal_mapping"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void mtran_matrix_padding(float *odata, const float *idata, int pitch)
{
    // ncuview: begin tile
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    // ncuview: end tile

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * pitch + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * pitch + x] = tile[threadIdx.x][threadIdx.y + j];
}
// ncuview: end kernel
