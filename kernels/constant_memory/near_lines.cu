/*--- ncuview
schema = 1
name = "near_lines"
family = "constant_memory"
step_number = 100
document = "ncuview"
section = "Lines"
teaches = "The weights of lines at the points of a plane, less with the distance: a loop that reads four constants for each line, and computes one point with them."
better = "near_lines_eight"
oracle = "near_lines"
tolerance = 1e-5

[sizes]
n = 524288
m = 256

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "lines"
kind = "constant float32[m, 4] below 16"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "m"
kind = "int32 = m"

[useful]
flops = "9 * n * m"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "constant_cache"]
---*/

#define WIDTH 1024
#define SPACING (1.0f / 64)

__constant__ float lines[256 * 4];

// ncuview: begin kernel
__global__ void near_lines(float *out, int m)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    float x = point % WIDTH * SPACING;
    float y = point / WIDTH * SPACING;
    float sum = 0;

    for (int k = 0; k < 4 * m; k += 4) {
        float distance = lines[k] * x + lines[k + 1] * y + lines[k + 2];
        sum += lines[k + 3] * rsqrtf(distance * distance + 1);
    }

    out[point] = sum;
}
// ncuview: end kernel
