/*--- ncuview
schema = 1
name = "mmul_1x128"
family = "matmul"
step_number = 10
document = "GPU Hardware Performance II (Filipovič)"
section = "Recapitulation"
teaches = "Blocks one thread wide and 128 high: the lanes of a warp work on 32 rows, so every load from A and every store to C touches 32 rows for one word each."
better = "mmul"
oracle = "matrix_product"

[sizes]
n = 1024  # half the other steps': this kernel is slow

# ncuview: begin launch
[launch]
grid = ["n", "n / 128"]
block = ["1", "128"]
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

[reported]
rate = 3.9
unit = "GFLOP/s"
gpu = "GeForce GTX 280"

[expect]
first = "coalescing"
quiet = ["shared_memory_padding", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void mmul_1x128(const float *A, const float *B, float *C, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    float tmp = 0;
    for (int k = 0; k < n; k++)
        tmp += A[y * n + k] * B[k * n + x];

    C[y * n + x] = tmp;
}
// ncuview: end kernel
