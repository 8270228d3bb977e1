/*--- ncuview
schema = 1
name = "row_smooth"
family = "stencil"
step_number = 30
document = "ncuview"
section = "Stencil"
teaches = "Each thread adds up 33 numbers of a tile in shared memory, of which its neighbour adds up 32 as well."
better = "row_smooth_four"
oracle = "smooth_rows"
tolerance = 1e-5

[sizes]
w = 4096
h = 4096

# ncuview: begin launch
[launch]
grid = ["w / 256", "h"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[h, w]"

[[args]]
name = "out"
kind = "out float32[h, w]"

[[args]]
name = "cols"
kind = "int32 = w"

[useful]
bytes = "2 * 4 * h * w"

[expect]
first = "register_tiling"
---*/

#define REACH 16
#define BLOCK 256

// ncuview: begin kernel
__global__ void row_smooth(const float *in, float *out, int cols)
{
    __shared__ float tile[BLOCK + 2 * REACH];
    const float *row = in + blockIdx.y * cols;
    int first = blockIdx.x * BLOCK;

    for (int i = threadIdx.x; i < BLOCK + 2 * REACH; i += BLOCK) {
        int x = first + i - REACH;
        x = x < 0 ? x + cols : x >= cols ? x - cols : x;
        tile[i] = row[x];
    }
    __syncthreads();

    float sum = 0;

    #pragma unroll
    for (int d = 0; d <= 2 * REACH; d++)
        sum += tile[threadIdx.x + d];

    out[blockIdx.y * cols + first + threadIdx.x] = sum * (1.0f / (2 * REACH + 1));
}
// ncuview: end kernel
