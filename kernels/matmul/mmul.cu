/*--- ncuview
schema = 1
name = "mmul"
family = "matmul"
step_number = 20
document = "GPU Hardware Performance II (Filipovič)"
section = "Naive Implementation"
teaches = "One thread per element, blocks 128 wide: B and C are coalesced and A is broadcast, but each multiplication still fetches both its operands from global memory."
better = "mmul_tiled"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 128", "n"]
block = ["128"]
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
after = "mmul_1x128"
applies = "coalescing"

[reported]
rate = 36.6
unit = "GFLOP/s"
gpu = "GeForce GTX 280"

[expect]
first = "shared_memory_tiling"
quiet = ["coalescing", "shared_memory_padding", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void mmul(const float *A, const float *B, float *C, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    float tmp = 0;
    for (int k = 0; k < n; k++)
        tmp += A[y * n + k] * B[k * n + x];

    C[y * n + x] = tmp;
}
// ncuview: end kernel
