/*--- ncuview
schema = 1
name = "MatrixMulKernel"
family = "matmul"
step_number = 90
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Final Code (from text, p. 87)"
teaches = "Both tiles are loaded row by row, so every access to global memory is coalesced; the loop is left with two operands from shared memory for each multiplication."
better = "mmul_scalar_replacement"
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

[step]
after = "MatrixMulKernel_uncoalesced"
applies = "coalescing"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define TILE_WIDTH 32

// ncuview: begin kernel
__global__ void MatrixMulKernel(const float *Md, const float *Nd, float *Pd, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH;
    int Col = blockIdx.x * TILE_WIDTH;

    float Pvalue = 0;
    for (int m = 0; m < Width; m += TILE_WIDTH) {
        // ncuview: begin load
        Mds[ty][tx] = Md[(Row + ty) * Width + m + tx];
        Nds[ty][tx] = Nd[(m + ty) * Width + Col + tx];
        // ncuview: end load
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < TILE_WIDTH; k++)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        // ncuview: end loop
        __syncthreads();
    }

    Pd[(Row + ty) * Width + Col + tx] = Pvalue;
}
// ncuview: end kernel
