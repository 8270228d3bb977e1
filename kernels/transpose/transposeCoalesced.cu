/*--- ncuview
schema = 1
name = "transposeCoalesced"
family = "transpose"
step_number = 21
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Coalesced Transpose 8"
teaches = "A shared-memory tile makes both sides coalesced; what remains is a 32-way bank conflict on the column read of the tile."
better = "transposeNoBankConflicts"
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
after = "transposeNaive"
applies = "shared_memory_tiling"

[reported]
rate = 97.6
unit = "GB/s"
gpu = "Tesla K20c"

[expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing", "shared_memory_tiling", "diagonal_mapping"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void transposeCoalesced(float *odata, const float *idata, int n)
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
