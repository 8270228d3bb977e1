/*--- ncuview
schema = 1
name = "mmul_tiled"
family = "matmul"
step_number = 30
document = "GPU Hardware Performance II (Filipovič)"
section = "Tiled Algorithm"
teaches = "Tiles of A and B go through shared memory, where each word is read sixteen times: global memory is no longer the bottleneck, and each multiplication loads its operands from shared memory."
better = "mmul_scalar_replacement"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 16", "n / 16"]
block = ["16", "16"]
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
after = "mmul"
applies = "shared_memory_tiling"

[reported]
rate = 198.0
unit = "GFLOP/s"
gpu = "GeForce GTX 280"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define BLOCK 16

// ncuview: begin kernel
__global__ void mmul_tiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[BLOCK][BLOCK];
    __shared__ float Bs[BLOCK][BLOCK];

    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * BLOCK + tx;
    int y = blockIdx.y * BLOCK + ty;

    float Csub = 0;
    for (int b = 0; b < n; b += BLOCK) {
        As[ty][tx] = A[y * n + b + tx];
        Bs[ty][tx] = B[(b + ty) * n + x];
        __syncthreads();

        // ncuview: begin loop
        for (int k = 0; k < BLOCK; k++)
            Csub += As[ty][k] * Bs[k][tx];
        // ncuview: end loop
        __syncthreads();
    }

    C[y * n + x] = Csub;
}
// ncuview: end kernel
