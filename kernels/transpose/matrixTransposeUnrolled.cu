/*--- ncuview
schema = 1
name = "matrixTransposeUnrolled"
family = "transpose"
step_number = 43
document = "CUDA Performance (course notes)"
section = "Example Matrix Transpose: GPU V4"
teaches = "Four elements per thread in an unrolled loop over a padded tile: the loads of a thread are in flight together."
oracle = "transpose_CPU"

[sizes]
sizeX = 8192
sizeY = 4096

# ncuview: begin launch
[launch]
grid = ["sizeX / 32", "sizeY / 32"]
block = ["32", "8"]
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
after = "matrixTransposeSharedPad"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding", "unrolling"]
---*/

// ncuview: begin kernel
template <int TILE, int SIDE>
__global__ void matrixTransposeUnrolled(const float *a, float *b, int sizeX, int sizeY)
{
    // ncuview: begin tile
    __shared__ float mat[TILE][TILE + 1];
    // ncuview: end tile

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;

    #pragma unroll
    for (int k = 0; k < TILE; k += SIDE)
        if (x < sizeX && y + k < sizeY)
            mat[threadIdx.y + k][threadIdx.x] = a[(y + k) * sizeX + x];

    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;

    #pragma unroll
    for (int k = 0; k < TILE; k += SIDE)
        if (x < sizeY && y + k < sizeX)
            b[(y + k) * sizeY + x] = mat[threadIdx.x][threadIdx.y + k];
}
// ncuview: end kernel

template __global__ void matrixTransposeUnrolled<32, 8>(const float *, float *, int, int);
