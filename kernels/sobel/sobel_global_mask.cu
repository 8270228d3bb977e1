/*--- ncuview
schema = 1
name = "sobel_global_mask"
family = "sobel"
step_number = 30
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Assignment 2: Memory Hierarchy Optimization"
teaches = "The two 3 x 3 masks as data in global memory: every thread of a warp loads the same coefficient, 18 loads in addition to the nine of the pixels."
better = "sobel_constant"
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

[expect]
first = "constant_cache"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin masks
__device__ int masks[2][3][3] = {{{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}}, {{1, 2, 1}, {0, 0, 0}, {-1, -2, -1}}};
// ncuview: end masks

// ncuview: begin kernel
__global__ void sobel_global_mask(const int *__restrict__ u, int *__restrict__ e, int rows, int cols, int threshold)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int edge = 0;

    if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1) {
        int sum1 = 0, sum2 = 0;

        #pragma unroll
        for (int y = 0; y < 3; y++)
            #pragma unroll
            for (int x = 0; x < 3; x++) {
                int pixel = u[(i + y - 1) * cols + j + x - 1];
                sum1 += masks[0][y][x] * pixel;
                sum2 += masks[1][y][x] * pixel;
            }

        edge = sum1 * sum1 + sum2 * sum2 > threshold ? 255 : 0;
    }
    e[i * cols + j] = edge;
}
// ncuview: end kernel
