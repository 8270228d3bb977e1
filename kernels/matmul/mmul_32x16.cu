/*--- ncuview
schema = 1
name = "mmul_32x16"
family = "matmul"
step_number = 40
document = "GPU Hardware Performance II (Filipovič)"
section = "Searching for Better Implementation"
teaches = "32 x 16 threads on 32 x 32 tiles: each thread computes two elements, so a word of B that is loaded from shared memory serves two multiplications."
better = "mmul_scalar_replacement"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "16"]
# ncuview: end launch

[[args]]
name = "A"
kind = "in float32[n, n] below 4"

[[args]]
name = "B"
kind = "in float32[n, n] below 4"

[[args]]
name = "C"
kind = "out float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "3 * 4 * n * n"
flops = "2 * n * n * n"

[step]
after = "mmul_tiled"
applies = "register_tiling"

[reported]
rate = 235.0
unit = "GFLOP/s"
gpu = "GeForce GTX 280"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define BLOCK 32
#define HALF 16

// ncuview: begin kernel
__global__ void mmul_32x16(const float *A, const float *B, float *C, int n)
{
    // ncuview: begin tile
    __shared__ float As[BLOCK][BLOCK];
    __shared__ float Bs[BLOCK][BLOCK];
    // ncuview: end tile

    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * BLOCK + tx;
    int y = blockIdx.y * BLOCK + ty;

    float Csub1 = 0, Csub2 = 0;
    for (int b = 0; b < n; b += BLOCK) {
        As[ty][tx] = A[y * n + b + tx];
        As[ty + HALF][tx] = A[(y + HALF) * n + b + tx];
        Bs[ty][tx] = B[(b + ty) * n + x];
        Bs[ty + HALF][tx] = B[(b + ty + HALF) * n + x];
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < BLOCK; k++) {
            Csub1 += As[ty][k] * Bs[k][tx];
            Csub2 += As[ty + HALF][k] * Bs[k][tx];
        }
        // ncuview: end loop
        __syncthreads();
    }

    C[y * n + x] = Csub1;
    C[(y + HALF) * n + x] = Csub2;
}
// ncuview: end kernel
