/*--- ncuview
schema = 1
name = "mmul_tensor_tiled"
family = "matmul"
step_number = 140
document = "ncuview"
section = "Tensor cores"
teaches = "Four warps share tiles of A and B in shared memory, and each warp multiplies two by two fragments: every operand is fetched once for sixteen tensor operations."
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 64"]
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
after = "mmul_tensor"
applies = "shared_memory_tiling"

[expect]
first = "launch_configuration"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#include <mma.h>

using namespace nvcuda;

#define DEEP 16
#define WIDE 64
#define ROW_A (DEEP + 4)
#define ROW_B (WIDE + 4)

// ncuview: begin kernel
__global__ void mmul_tensor_tiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[WIDE * ROW_A];
    __shared__ float Bs[DEEP * ROW_B];

    int tid = threadIdx.x, warp = tid / 32;
    int x = blockIdx.x * WIDE, y = blockIdx.y * WIDE;
    int warp_x = warp % 2 * 32, warp_y = warp / 2 * 32;

    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b[2];
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::fill_fragment(sum[i][j], 0);

    for (int k = 0; k < n; k += DEEP) {
        for (int i = 4 * tid; i < WIDE * DEEP; i += 4 * 128) {
            int row = i / DEEP, column = i % DEEP;
            *(float4 *)&As[row * ROW_A + column] = *(const float4 *)&A[(y + row) * n + k + column];
        }
        for (int i = 4 * tid; i < DEEP * WIDE; i += 4 * 128) {
            int row = i / WIDE, column = i % WIDE;
            *(float4 *)&Bs[row * ROW_B + column] = *(const float4 *)&B[(k + row) * n + x + column];
        }
        __syncthreads();

        // ncuview: begin loop
        for (int deep = 0; deep < DEEP; deep += 8) {
            for (int i = 0; i < 2; i++)
                wmma::load_matrix_sync(a[i], &As[(warp_y + 16 * i) * ROW_A + deep], ROW_A);
            for (int j = 0; j < 2; j++)
                wmma::load_matrix_sync(b[j], &Bs[deep * ROW_B + warp_x + 16 * j], ROW_B);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
        }
        // ncuview: end loop
        __syncthreads();
    }

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(&C[(y + warp_y + 16 * i) * n + x + warp_x + 16 * j], sum[i][j], n,
                                    wmma::mem_row_major);
}
// ncuview: end kernel
