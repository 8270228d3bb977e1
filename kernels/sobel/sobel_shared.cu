/*--- ncuview
schema = 1
name = "sobel_shared"
family = "sobel"
step_number = 20
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Assignment 2: Memory Hierarchy Optimization"
teaches = "A tile with a border of one pixel in shared memory: a pixel is loaded 1.3 times from global memory instead of eight, but eight loads from shared memory replace those that the L1 cache served."
better = "sobel_shared_more_work"
oracle = "sobel_edges"

[sizes]
w = 8192
h = 4096
threshold = 96000

# ncuview: begin launch
[launch]
grid = ["w / 32", "h / 8"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "u"
kind = "in int32[h, w] below 256"

[[args]]
name = "e"
kind = "out int32[h, w]"

[[args]]
name = "rows"
kind = "int32 = h"

[[args]]
name = "cols"
kind = "int32 = w"

[[args]]
name = "threshold"
kind = "int32 = threshold"

[useful]
bytes = "2 * 4 * h * w"

[step]
after = "sobel_global"
applies = "shared_memory_tiling"
not_first = "L1 serves most of the loads already, and the tile adds a barrier, border tests and half as many instructions again."

[expect]
first = "thread_coarsening"
quiet = ["shared_memory_padding", "divergence_removal"]
---*/

#define TX 32
#define TY 8

// ncuview: begin kernel
__global__ void sobel_shared(const int *__restrict__ u, int *__restrict__ e, int rows, int cols, int threshold)
{
    // ncuview: begin tile
    __shared__ int tile[TY + 2][TX + 2];

    for (int t = threadIdx.y * TX + threadIdx.x; t < (TY + 2) * (TX + 2); t += TY * TX) {
        int y = t / (TX + 2), x = t % (TX + 2);
        // Clamped, because the tiles at the image's border reach beyond it; nothing uses those pixels.
        int i = min(max((int)blockIdx.y * TY + y - 1, 0), rows - 1);
        int j = min(max((int)blockIdx.x * TX + x - 1, 0), cols - 1);
        tile[y][x] = u[i * cols + j];
    }

    __syncthreads();
    // ncuview: end tile

    int j = blockIdx.x * TX + threadIdx.x;
    int i = blockIdx.y * TY + threadIdx.y;
    int edge = 0;

    if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1) {
        // ncuview: begin stencil
        const int *above = &tile[threadIdx.y][threadIdx.x + 1];
        const int *here = above + TX + 2;
        const int *below = here + TX + 2;

        int sum1 = above[1] - above[-1] + 2 * (here[1] - here[-1]) + below[1] - below[-1];
        int sum2 = above[-1] + 2 * above[0] + above[1] - below[-1] - 2 * below[0] - below[1];
        // ncuview: end stencil

        edge = sum1 * sum1 + sum2 * sum2 > threshold ? 255 : 0;
    }
    e[i * cols + j] = edge;
}
// ncuview: end kernel
