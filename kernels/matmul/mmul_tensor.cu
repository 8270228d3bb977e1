/*--- ncuview
schema = 1
name = "mmul_tensor"
family = "matmul"
step_number = 130
document = "ncuview"
section = "Tensor cores"
teaches = "Tensor cores multiply tiles of 16 x 16; a warp that fetches both operands of each operation from global memory keeps the load units busy and the tensor cores idle."
better = "mmul_tensor_tiled"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 16"]
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

[expect]
first = "shared_memory_tiling"
quiet = ["coalescing"]
---*/

#include <mma.h>

using namespace nvcuda;

// ncuview: begin kernel
__global__ void mmul_tensor(const float *A, const float *B, float *C, int n)
{
    int x = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
    int y = blockIdx.y * 16;

    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0);

    // ncuview: begin loop
    for (int k = 0; k < n; k += 8) {
        wmma::load_matrix_sync(a, &A[y * n + k], n);
        wmma::load_matrix_sync(b, &B[k * n + x], n);
        wmma::mma_sync(sum, a, b, sum);
    }
    // ncuview: end loop

    wmma::store_matrix_sync(&C[y * n + x], sum, n, wmma::mem_row_major);
}
// ncuview: end kernel
