/*--- ncuview
schema = 1
name = "mmul_transposedBs"
family = "matmul"
step_number = 50
document = "GPU Hardware Performance II (Filipovič)"
section = "Removing the ADD instruction"
teaches = "Bs is stored transposed, so that the loop reads it at constant offsets; that saved an addition per step on a GTX 280. In return the lanes of a warp conflict in the same banks."
better = "mmul_transposedBs_padded"
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
after = "mmul_32x16"
applies = "strength_reduction"
not_first = "Each column of the transposed tile lies in one bank; the kernel shows the conflict that padding removes."

[expect]
first = "shared_memory_padding"
quiet = ["coalescing", "shared_memory_tiling", "strength_reduction"]
---*/

#define BLOCK 32
#define HALF 16

// ncuview: begin kernel
__global__ void mmul_transposedBs(const float *A, const float *B, float *C, int n)
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
        Bs[tx][ty] = B[(b + ty) * n + x];
        Bs[tx][ty + HALF] = B[(b + ty + HALF) * n + x];
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < BLOCK; k++) {
            Csub1 += As[ty][k] * Bs[tx][k];
            Csub2 += As[ty + HALF][k] * Bs[tx][k];
        }
        // ncuview: end loop
        __syncthreads();
    }

    C[y * n + x] = Csub1;
    C[(y + HALF) * n + x] = Csub2;
}
// ncuview: end kernel
