/*--- ncuview
schema = 1
name = "matrixTransposeSharedPad"
family = "transpose"
step_number = 42
document = "CUDA Performance (course notes)"
section = "Example Matrix Transpose: GPU V3"
teaches = "An unused element at the end of each row of the tile removes the bank conflict."
better = "matrixTransposeUnrolled"
oracle = "transpose_CPU"

[sizes]
sizeX = 8192
sizeY = 4096

# ncuview: begin launch
[launch]
grid = ["sizeX / 32", "sizeY / 32"]
block = ["32", "32"]
# ncuview: end launch

[[args]]
name = "a"
kind = "in float32[sizeY, sizeX]"

[[args]]
name = "b"
kind = "out float32[sizeX, sizeY]"

[[args]]
name = "sizeX"
kind = "int32 = sizeX"

[[args]]
name = "sizeY"
kind = "int32 = sizeY"

[useful]
bytes = "2 * 4 * sizeX * sizeY"

[step]
after = "matrixTransposeShared"
applies = "shared_memory_padding"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define BLOCK_SIZE 32

// ncuview: begin kernel
__global__ void matrixTransposeSharedPad(const float *a, float *b, int sizeX, int sizeY)
{
    // ncuview: begin tile
    __shared__ float mat[BLOCK_SIZE][BLOCK_SIZE + 1];
    // ncuview: end tile

    int bx = blockIdx.x * BLOCK_SIZE, by = blockIdx.y * BLOCK_SIZE;

    int i = bx + threadIdx.x, j = by + threadIdx.y;     // where this thread reads
    int ti = by + threadIdx.x, tj = bx + threadIdx.y;   // where it writes

    if (i < sizeX && j < sizeY)
        mat[threadIdx.y][threadIdx.x] = a[j * sizeX + i];

    __syncthreads();

    if (ti < sizeY && tj < sizeX)
        b[tj * sizeY + ti] = mat[threadIdx.x][threadIdx.y];
}
// ncuview: end kernel
