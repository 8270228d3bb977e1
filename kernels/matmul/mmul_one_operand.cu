/*--- ncuview
schema = 1
name = "mmul_one_operand"
family = "matmul"
step_number = 70
document = "GPU Hardware Performance II (Filipovič)"
section = "New Tiled Algorithm"
teaches = "Rank-1 updates of a 64 x 16 tile of C in registers: a column of A comes from shared memory, an element of B's row from a register, and each loaded word serves sixteen multiplications."
better = "mmul_scalar_replacement"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 16"]
block = ["64"]
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
after = "mmul_transposedBs_padded"
applies = "register_tiling"

[reported]
rate = 375.0
unit = "GFLOP/s"
gpu = "GeForce GTX 280"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define ROWS 16
#define COLS 64

// ncuview: begin kernel
__global__ void mmul_one_operand(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[ROWS][ROWS];

    int x = blockIdx.x * COLS + threadIdx.x;
    int y = blockIdx.y * ROWS;
    int ax = threadIdx.x % ROWS, ay = threadIdx.x / ROWS;   // which element of each four rows of A it loads

    float Csub[ROWS] = {};
    for (int b = 0; b < n; b += ROWS) {
        for (int i = 0; i < ROWS; i += COLS / ROWS)
            As[i + ay][ax] = A[(y + i + ay) * n + b + ax];
        __syncthreads();

        // ncuview: begin loop
        #pragma unroll
        for (int k = 0; k < ROWS; k++) {
            float row = B[(b + k) * n + x];
            for (int i = 0; i < ROWS; i++)
                Csub[i] += As[i][k] * row;
        }
        // ncuview: end loop
        __syncthreads();
    }

    for (int i = 0; i < ROWS; i++)
        C[(y + i) * n + x] = Csub[i];
}
// ncuview: end kernel
