/*--- ncuview
schema = 1
name = "near_lines_eight"
family = "constant_memory"
step_number = 110
document = "ncuview"
section = "Lines"
teaches = "Each thread computes eight points of a row: what it reads of a line serves all eight, and so does the part of the distance that is the row's. Its 65,536 threads are fewer than the GPU holds."
oracle = "near_lines"
tolerance = 1e-5

[sizes]
n = 524288
m = 256

# ncuview: begin launch
[launch]
grid = ["n / 1024"]
block = ["128"]
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

[step]
after = "near_lines"
applies = "thread_coarsening"

[expect]
first = "launch_configuration"
quiet = ["thread_coarsening", "constant_cache"]
---*/

#define WIDTH 1024
#define SPACING (1.0f / 64)
#define POINTS 8

__constant__ float lines[256 * 4];

// ncuview: begin kernel
__global__ void near_lines_eight(float *out, int m)
{
    int first = blockIdx.x * WIDTH + threadIdx.x;
    float y = blockIdx.x * SPACING;
    float sum[POINTS] = {};

    for (int k = 0; k < 4 * m; k += 4) {
        float slope = lines[k];
        float along = lines[k + 1] * y + lines[k + 2];
        float weight = lines[k + 3];
        #pragma unroll
        for (int p = 0; p < POINTS; p++) {
            float distance = slope * ((threadIdx.x + p * (WIDTH / POINTS)) * SPACING) + along;
            sum[p] += weight * rsqrtf(distance * distance + 1);
        }
    }

    for (int p = 0; p < POINTS; p++)
        out[first + p * (WIDTH / POINTS)] = sum[p];
}
// ncuview: end kernel
