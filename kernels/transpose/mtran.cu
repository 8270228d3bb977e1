/*--- ncuview
schema = 1
name = "mtran"
family = "transpose"
step_number = 50
document = "GPU Hardware Performance II (Filipovič)"
section = "Matrix Transposition: trivial parallelization"
teaches = "One thread per element without a tile: the store to odata is interleaved."
better = "mtran_matrix_padding"
oracle = "transpose_CPU"

[sizes]
n = 8192

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 8"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, n]"

[[args]]
name = "idata"
kind = "in float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n * n"

[reported]
rate = 5.3
unit = "GB/s"
gpu = "GeForce GTX 280"

[expect]
first = "shared_memory_tiling"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void mtran(float *odata, const float *idata, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    odata[x * n + y] = idata[y * n + x];
}
// ncuview: end kernel
