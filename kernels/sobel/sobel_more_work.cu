/*--- ncuview
schema = 1
name = "sobel_more_work"
family = "sobel"
step_number = 40
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Assignment 2: Memory Hierarchy Optimization"
teaches = "Eight pixels of a column per thread: the rows that they share stay in registers, so a pixel costs less than four loads instead of eight, and half of a thread's loads are in flight at once."
oracle = "sobel_edges"

[sizes]
w = 8192
h = 4096
threshold = 96000
work = 8

# ncuview: begin launch
[launch]
grid = ["w / 32", "h / (8 * work)"]
block = ["32", "8"]
template = ["work"]
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
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal", "thread_coarsening"]

[[variant]]
step_number = 38
sizes = { work = 2 }
teaches = "Two pixels of a column per thread: six loads for each instead of eight."
better = "sobel_more_work"

[variant.step]
after = "sobel_global"
applies = "thread_coarsening"

[variant.expect]
first = "thread_coarsening"
quiet = ["divergence_removal"]

[[variant]]
step_number = 39
sizes = { work = 4 }
teaches = "Four pixels of a column per thread: four and a half loads for each."

[variant.step]
after = "sobel_more_work[work=2]"
applies = "thread_coarsening"

[variant.expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 42
sizes = { work = 16 }
teaches = "Sixteen pixels of a column per thread: hardly fewer loads for each than with eight."

[variant.step]
after = "sobel_more_work"
applies = "thread_coarsening"
not_first = "With eight rows per thread device memory is the bottleneck already."

[variant.expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
template <int WORK>
__global__ void sobel_more_work(const int *__restrict__ u, int *__restrict__ e, int rows, int cols, int threshold)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int top = (blockIdx.y * blockDim.y + threadIdx.y) * WORK;
    // The image's border has no neighbours: its threads read inside the image, and do not use the result.
    int column = min(max(j, 1), cols - 2);
    bool inside = j > 0 && j < cols - 1;

    // ncuview: begin stencil
    int west[WORK + 2], here[WORK + 2], east[WORK + 2];

    #pragma unroll
    for (int k = 0; k < WORK + 2; k++) {
        int i = k == 0 ? max(top - 1, 0) : k == WORK + 1 ? min(top + WORK, rows - 1) : top + k - 1;
        const int *pixel = u + i * cols + column;
        west[k] = pixel[-1];
        here[k] = pixel[0];
        east[k] = pixel[1];
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

template __global__ void sobel_more_work<2>(const int *, int *, int, int, int);
template __global__ void sobel_more_work<4>(const int *, int *, int, int, int);
template __global__ void sobel_more_work<8>(const int *, int *, int, int, int);
template __global__ void sobel_more_work<16>(const int *, int *, int, int, int);
