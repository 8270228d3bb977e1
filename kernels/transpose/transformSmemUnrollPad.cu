/*--- ncuview
schema = 1
name = "transformSmemUnrollPad"
family = "transpose"
step_number = 35
document = "5.4 Coalesced Global Memory Access (CUDAFreshman)"
section = "Matrix Transposition with Unrolling"
teaches = "Each block transposes two tiles: more independent loads in flight per thread and half the blocks."
better = "matrixTransposeUnrolled"
oracle = "transpose_CPU"

[sizes]
nx = 8192
ny = 4096

# ncuview: begin launch
[launch]
grid = ["nx / 64", "ny / 16"]
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

[step]
after = "transformSmemPad2"
applies = "thread_coarsening"

[expect]
first = "thread_coarsening"
quiet = ["shared_memory_padding"]
---*/

#define BDIMX 32
#define BDIMY 16
#define IPAD 2

// ncuview: begin kernel
__global__ void transformSmemUnrollPad(const float *in, float *out, int nx, int ny)
{
    // ncuview: begin tile
    __shared__ float tile[BDIMY][2 * BDIMX + IPAD];
    // ncuview: end tile

    int ix = 2 * blockDim.x * blockIdx.x + threadIdx.x;
    int iy = blockDim.y * blockIdx.y + threadIdx.y;

    int bidx = threadIdx.y * blockDim.x + threadIdx.x;
    int irow = bidx / blockDim.y;
    int icol = bidx % blockDim.y;

    int outCol = blockIdx.y * blockDim.y + icol;
    int outRow = 2 * blockIdx.x * blockDim.x + irow;

    if (ix + BDIMX < nx && iy < ny) {
        tile[threadIdx.y][threadIdx.x] = in[iy * nx + ix];
        tile[threadIdx.y][threadIdx.x + BDIMX] = in[iy * nx + ix + BDIMX];
    }

    __syncthreads();

    if (outCol < ny && outRow + BDIMX < nx) {
        out[outRow * ny + outCol] = tile[icol][irow];
        out[(outRow + BDIMX) * ny + outCol] = tile[icol][irow + BDIMX];
    }
}
// ncuview: end kernel
