/*--- ncuview
schema = 1
name = "matrixTranspose"
family = "transpose"
step_number = 40
document = "CUDA Performance (course notes)"
section = "Example Matrix Transpose: GPU V1"
teaches = "Writes by row, reads by column: the scattered side is the load."
better = "matrixTransposeUnrolled"
oracle = "transpose_CPU"

[sizes]
sizeX = 8192
sizeY = 4096

# ncuview: begin launch
[launch]
grid = ["sizeX / 32", "sizeY / 16"]
block = ["32", "16"]
# ncuview: end launch

[[args]]
name = "a"
kind = "in float32[sizeX, sizeY]"

[[args]]
name = "b"
kind = "out float32[sizeY, sizeX]"

[[args]]
name = "sizeX"
kind = "int32 = sizeX"

[[args]]
name = "sizeY"
kind = "int32 = sizeY"

[useful]
bytes = "2 * 4 * sizeX * sizeY"

[expect]
first = "coalescing"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void matrixTranspose(const float *a, float *b, int sizeX, int sizeY)
{
    int row = blockDim.y * blockIdx.y + threadIdx.y;
    int col = blockDim.x * blockIdx.x + threadIdx.x;

    b[row * sizeX + col] = a[col * sizeY + row];
}
// ncuview: end kernel
