/*--- ncuview
schema = 1
name = "mmul_jam_ij"
family = "matmul"
step_number = 110
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Unroll I and J Loops and Fuse J, K Loop Copies"
teaches = "Two rows and two columns per thread: an element of N is reused as well, so four words from shared memory feed four multiplications; without jamming each took two."
better = "mmul_scalar_replacement"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 64"]
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
after = "mmul_jam_j"
applies = "register_tiling"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define TILE_WIDTH 32

// ncuview: begin kernel
__global__ void mmul_jam_ij(const float *Md, const float *Nd, float *Pd, int Width)
{
    __shared__ float Mds[2 * TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][2 * TILE_WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * 2 * TILE_WIDTH + ty;
    int Col = blockIdx.x * 2 * TILE_WIDTH + tx;

    float sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0;
    for (int m = 0; m < Width; m += TILE_WIDTH) {
        Mds[ty][tx] = Md[Row * Width + m + tx];
        Mds[ty + TILE_WIDTH][tx] = Md[(Row + TILE_WIDTH) * Width + m + tx];
        Nds[ty][tx] = Nd[(m + ty) * Width + Col];
        Nds[ty][tx + TILE_WIDTH] = Nd[(m + ty) * Width + Col + TILE_WIDTH];
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < TILE_WIDTH; k++) {
            sum1 += Mds[ty][k] * Nds[k][tx];
            sum2 += Mds[ty][k] * Nds[k][tx + TILE_WIDTH];
            sum3 += Mds[ty + TILE_WIDTH][k] * Nds[k][tx];
            sum4 += Mds[ty + TILE_WIDTH][k] * Nds[k][tx + TILE_WIDTH];
        }
        // ncuview: end loop
        __syncthreads();
    }

    Pd[Row * Width + Col] = sum1;
    Pd[Row * Width + Col + TILE_WIDTH] = sum2;
    Pd[(Row + TILE_WIDTH) * Width + Col] = sum3;
    Pd[(Row + TILE_WIDTH) * Width + Col + TILE_WIDTH] = sum4;
}
// ncuview: end kernel
