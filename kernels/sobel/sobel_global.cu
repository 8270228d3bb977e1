/*--- ncuview
schema = 1
name = "sobel_global"
family = "sobel"
step_number = 10
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Assignment 2: Memory Hierarchy Optimization"
teaches = "One thread per pixel, its eight neighbours from global memory: consecutive threads read consecutive pixels, but every pixel is loaded eight times."
better = "sobel_more_work"
oracle = "sobel_edges"

# ncuview: begin sizes
[sizes]
w = 8192
h = 4096
threshold = 96000
bx = 32
threads = 256
# ncuview: end sizes

# ncuview: begin launch
[launch]
grid = ["w / bx", "h * bx / threads"]
block = ["bx", "threads / bx"]
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
after = "sobel_global[bx=8]"
applies = "coalescing"

[expect]
first = "thread_coarsening"
quiet = ["divergence_removal", "launch_configuration"]

[[variant]]
step_number = 1
sizes = { bx = 1 }
teaches = "Blocks of one column: the 32 threads of a warp read 32 rows of the image, one sector each."
better = "sobel_global"

[variant.expect]
first = "coalescing"

[[variant]]
step_number = 2
sizes = { bx = 8 }
teaches = "Blocks of 8 x 32: a warp covers four rows of 32 bytes, and its loads to the left and right take two sectors of each."
better = "sobel_global"

[variant.step]
after = "sobel_global[bx=1]"
applies = "coalescing"

[variant.expect]
first = "coalescing"

[[variant]]
step_number = 3
sizes = { bx = 16 }
teaches = "Blocks of 16 x 16: a warp covers two rows of 64 bytes."
better = "sobel_more_work"

[variant.step]
after = "sobel_global[bx=8]"
applies = "coalescing"

[variant.expect]
first = "thread_coarsening"
quiet = ["divergence_removal"]

[[variant]]
step_number = 5
# ncuview: begin short
sizes = { threads = 32 }
# ncuview: end short
teaches = "Many blocks of one warp: a multiprocessor holds 32 blocks, so half of its warp slots stay empty."
better = "sobel_global"

[variant.expect]
first = "launch_configuration"

[[variant]]
step_number = 6
sizes = { threads = 64 }
teaches = "Blocks of two warps are the smallest with which 32 blocks fill a multiprocessor."
better = "sobel_more_work"

[variant.step]
after = "sobel_global[threads=32]"
applies = "launch_configuration"

[variant.expect]
first = "launch_configuration"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 11
sizes = { bx = 64 }
teaches = "Blocks of 64 x 4: a warp still covers one row of the image."
better = "sobel_more_work"

[variant.step]
after = "sobel_global"
applies = "launch_configuration"
not_first = "Rows of 32 threads are coalesced already; several rows per thread come first."

[variant.expect]
first = "thread_coarsening"
quiet = ["divergence_removal", "launch_configuration"]

[[variant]]
step_number = 12
sizes = { bx = 256 }
teaches = "Blocks of 256 x 1: no row of the image is read by two warps of a block, so the L1 cache shares less."
better = "sobel_more_work"

[variant.step]
after = "sobel_global"
applies = "launch_configuration"
not_first = "Rows of 32 threads are coalesced already; several rows per thread come first."

[variant.expect]
first = "thread_coarsening"
quiet = ["divergence_removal"]

[[variant]]
step_number = 13
sizes = { threads = 1024 }
teaches = "More threads in fewer blocks: 32 x 32, as many threads on a multiprocessor as with smaller blocks."
better = "sobel_more_work"

[variant.step]
after = "sobel_global"
applies = "launch_configuration"
not_first = "All threads of a block of 1024 start and end together."

[variant.expect]
first = "thread_coarsening"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void sobel_global(const int *__restrict__ u, int *__restrict__ e, int rows, int cols, int threshold)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int edge = 0;

    if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1) {
        // ncuview: begin stencil
        const int *above = u + (i - 1) * cols + j;
        const int *here = above + cols;
        const int *below = here + cols;

        int sum1 = above[1] - above[-1] + 2 * (here[1] - here[-1]) + below[1] - below[-1];
        int sum2 = above[-1] + 2 * above[0] + above[1] - below[-1] - 2 * below[0] - below[1];
        // ncuview: end stencil

        edge = sum1 * sum1 + sum2 * sum2 > threshold ? 255 : 0;
    }
    e[i * cols + j] = edge;
}
// ncuview: end kernel
