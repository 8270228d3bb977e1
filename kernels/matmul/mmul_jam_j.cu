/*--- ncuview
schema = 1
name = "mmul_jam_j"
family = "matmul"
step_number = 100
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Unroll J Loop and Fuse K Loop Copies"
teaches = "Two columns per thread: an element of M is reused from a register, and the two sums do not wait for each other."
better = "mmul_scalar_replacement"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 32"]
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
after = "MatrixMulKernel"
applies = "register_tiling"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define TILE_WIDTH 32

// ncuview: begin kernel
__global__ void mmul_jam_j(const float *Md, const float *Nd, float *Pd, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][2 * TILE_WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * 2 * TILE_WIDTH + tx;

    float sum1 = 0, sum2 = 0;
    for (int m = 0; m < Width; m += TILE_WIDTH) {
        Mds[ty][tx] = Md[Row * Width + m + tx];
        Nds[ty][tx] = Nd[(m + ty) * Width + Col];
        Nds[ty][tx + TILE_WIDTH] = Nd[(m + ty) * Width + Col + TILE_WIDTH];
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < TILE_WIDTH; k++) {
            sum1 += Mds[ty][k] * Nds[k][tx];
            sum2 += Mds[ty][k] * Nds[k][tx + TILE_WIDTH];
        }
        // ncuview: end loop
        __syncthreads();
    }

    Pd[Row * Width + Col] = sum1;
    Pd[Row * Width + Col + TILE_WIDTH] = sum2;
}
// ncuview: end kernel
