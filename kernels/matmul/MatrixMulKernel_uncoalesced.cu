/*--- ncuview
schema = 1
name = "MatrixMulKernel_uncoalesced"
family = "matmul"
step_number = 80
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Coalescing in Matrix Multiply"
teaches = "The tiled kernel with the thread indices exchanged where the tiles are loaded: neighbouring threads read down a column of Md and Nd, one word from each of 32 rows."
better = "MatrixMulKernel"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "32"]
# ncuview: end launch

[[args]]
name = "Md"
kind = "in float32[n, n] below 4"

[[args]]
name = "Nd"
kind = "in float32[n, n] below 4"

[[args]]
name = "Pd"
kind = "out float32[n, n]"

[[args]]
name = "Width"
kind = "int32 = n"

[useful]
bytes = "3 * 4 * n * n"
flops = "2 * n * n * n"

[expect]
first = "coalescing"
quiet = ["shared_memory_tiling", "divergence_removal"]
---*/

#define TILE_WIDTH 32

// ncuview: begin kernel
__global__ void MatrixMulKernel_uncoalesced(const float *Md, const float *Nd, float *Pd, int Width)
{
    // Padded, so that the exchanged indices cost little here; by four, so that rows still begin at 16 bytes.
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH + 4];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH + 4];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH;
    int Col = blockIdx.x * TILE_WIDTH;

    float Pvalue = 0;
    for (int m = 0; m < Width; m += TILE_WIDTH) {
        // ncuview: begin load
        Mds[tx][ty] = Md[(Row + tx) * Width + m + ty];
        Nds[tx][ty] = Nd[(m + tx) * Width + Col + ty];
        // ncuview: end load
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }

    Pd[(Row + ty) * Width + Col + tx] = Pvalue;
}
// ncuview: end kernel
