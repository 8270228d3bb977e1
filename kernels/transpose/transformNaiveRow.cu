/*--- ncuview
schema = 1
name = "transformNaiveRow"
family = "transpose"
step_number = 31
document = "5.4 Coalesced Global Memory Access (CUDAFreshman)"
section = "Baseline Transposition Kernel: lower bound"
teaches = "The conventional transpose of a rectangular matrix: reads by row, writes by column."
better = "matrixTransposeUnrolled"
oracle = "transpose_CPU"

[sizes]
nx = 8192
ny = 4096

# ncuview: begin launch
[launch]
grid = ["nx / 32", "ny / 16"]
block = ["32", "16"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[ny, nx]"

[[args]]
name = "out"
kind = "out float32[nx, ny]"

[[args]]
name = "nx"
kind = "int32 = nx"

[[args]]
name = "ny"
kind = "int32 = ny"

[useful]
bytes = "2 * 4 * nx * ny"

[reported]
rate = 3.964
unit = "ms"
gpu = "not named by the article"

[expect]
first = "shared_memory_tiling"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void transformNaiveRow(const float *in, float *out, int nx, int ny)
{
    int ix = threadIdx.x + blockDim.x * blockIdx.x;
    int iy = threadIdx.y + blockDim.y * blockIdx.y;

    if (ix < nx && iy < ny)
        out[ix * ny + iy] = in[iy * nx + ix];
}
// ncuview: end kernel
