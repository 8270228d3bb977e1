/*--- ncuview
schema = 1
name = "transformSmemPad2"
family = "transpose"
step_number = 34
document = "5.4 Coalesced Global Memory Access (CUDAFreshman)"
section = "Matrix Transposition with Padded Shared Memory: IPAD 2"
teaches = "Two padding columns make the 32x16 tile free of conflicts. The document measures no gain from it, and an H200 gives none either."
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

[step]
after = "transformSmemPad1"
applies = "shared_memory_padding"
not_first = "One column of padding has removed the conflicts, and a second one has none left to remove."

[expect]
first = "thread_coarsening"
quiet = ["shared_memory_padding"]
---*/

#define BDIMX 32
#define BDIMY 16
#define IPAD 2

// ncuview: begin kernel
__global__ void transformSmemPad2(const float *in, float *out, int nx, int ny)
{
    // ncuview: begin tile
    __shared__ float tile[BDIMY][BDIMX + IPAD];
    // ncuview: end tile

    int ix = blockDim.x * blockIdx.x + threadIdx.x;
    int iy = blockDim.y * blockIdx.y + threadIdx.y;

    // Number the threads of the block by columns of the tile.
    int bidx = threadIdx.y * blockDim.x + threadIdx.x;
    int irow = bidx / blockDim.y;
    int icol = bidx % blockDim.y;

    int outCol = blockIdx.y * blockDim.y + icol;
    int outRow = blockIdx.x * blockDim.x + irow;

    if (ix < nx && iy < ny)
        tile[threadIdx.y][threadIdx.x] = in[iy * nx + ix];

    __syncthreads();

    if (outCol < ny && outRow < nx)
        out[outRow * ny + outCol] = tile[icol][irow];
}
// ncuview: end kernel
