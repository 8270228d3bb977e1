/*--- ncuview
schema = 1
name = "copyRow"
family = "transpose"
step_number = 30
document = "5.4 Coalesced Global Memory Access (CUDAFreshman)"
section = "Baseline Transposition Kernel: upper bound"
teaches = "The upper bound of the rectangular transposes: one element per thread, read and written by rows."
better = "copySharedMem"
oracle = "copy_CPU"

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
kind = "out float32[ny, nx]"

[[args]]
name = "nx"
kind = "int32 = nx"

[[args]]
name = "ny"
kind = "int32 = ny"

[useful]
bytes = "2 * 4 * nx * ny"

[reported]
rate = 1.4859
unit = "ms"
gpu = "not named by the article"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

// ncuview: begin kernel
__global__ void copyRow(const float *in, float *out, int nx, int ny)
{
    int ix = threadIdx.x + blockDim.x * blockIdx.x;
    int iy = threadIdx.y + blockDim.y * blockIdx.y;

    if (ix < nx && iy < ny)
        out[iy * nx + ix] = in[iy * nx + ix];
}
// ncuview: end kernel
