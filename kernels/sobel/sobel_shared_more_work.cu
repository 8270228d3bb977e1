/*--- ncuview
schema = 1
name = "sobel_shared_more_work"
family = "sobel"
step_number = 50
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Assignment 2: Memory Hierarchy Optimization"
teaches = "Both at once: a tile of 32 x 64 pixels with its border in shared memory, and eight pixels of a column per thread whose rows stay in registers."
oracle = "sobel_edges"

[sizes]
w = 8192
h = 4096
threshold = 96000

# ncuview: begin launch
[launch]
grid = ["w / 32", "h / 64"]
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
after = "sobel_shared"
applies = "thread_coarsening"

[expect]
first = "coalescing"
quiet = ["shared_memory_padding", "divergence_removal"]
---*/

#define TX 32
#define TY 8
#define WORK 8

// ncuview: begin kernel
__global__ void sobel_shared_more_work(const int *__restrict__ u, int *__restrict__ e, int rows, int cols,
                                       int threshold)
{
    // ncuview: begin tile
    __shared__ int tile[TY * WORK + 2][TX + 2];

    for (int t = threadIdx.y * TX + threadIdx.x; t < (TY * WORK + 2) * (TX + 2); t += TY * TX) {
        int y = t / (TX + 2), x = t % (TX + 2);
        // Clamped, because the tiles at the image's border reach beyond it; nothing uses those pixels.
        int i = min(max((int)blockIdx.y * TY * WORK + y - 1, 0), rows - 1);
        int j = min(max((int)blockIdx.x * TX + x - 1, 0), cols - 1);
        tile[y][x] = u[i * cols + j];
    }

    __syncthreads();
    // ncuview: end tile

    int j = blockIdx.x * TX + threadIdx.x;
    int first = threadIdx.y * WORK;
    int top = blockIdx.y * TY * WORK + first;
    bool inside = j > 0 && j < cols - 1;

    // ncuview: begin stencil
    int west[WORK + 2], here[WORK + 2], east[WORK + 2];

    #pragma unroll
    for (int k = 0; k < WORK + 2; k++) {
        west[k] = tile[first + k][threadIdx.x];
        here[k] = tile[first + k][threadIdx.x + 1];
        east[k] = tile[first + k][threadIdx.x + 2];
    }

    #pragma unroll
    for (int k = 0; k < WORK; k++) {
        int sum1 = east[k] - west[k] + 2 * (east[k + 1] - west[k + 1]) + east[k + 2] - west[k + 2];
        int sum2 = west[k] + 2 * here[k] + east[k] - west[k + 2] - 2 * here[k + 2] - east[k + 2];
        bool border = k == 0 && top == 0 || k == WORK - 1 && top + WORK == rows;
        e[(top + k) * cols + j] = inside && !border && sum1 * sum1 + sum2 * sum2 > threshold ? 255 : 0;
    }
    // ncuview: end stencil
}
// ncuview: end kernel
