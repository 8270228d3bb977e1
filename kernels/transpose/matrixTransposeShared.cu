/*--- ncuview
schema = 1
name = "matrixTransposeShared"
family = "transpose"
step_number = 41
document = "CUDA Performance (course notes)"
section = "Example Matrix Transpose: GPU V2"
teaches = "Coalesced on both sides through shared memory, one element per thread, with a 32-way bank conflict on the way out."
better = "matrixTransposeSharedPad"
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
after = "matrixTranspose"
applies = "coalescing"

[expect]
first = "shared_memory_padding"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define BLOCK_SIZE 32

// ncuview: begin kernel
__global__ void matrixTransposeShared(const float *a, float *b, int sizeX, int sizeY)
{
    // ncuview: begin tile
    __shared__ float mat[BLOCK_SIZE][BLOCK_SIZE];
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
