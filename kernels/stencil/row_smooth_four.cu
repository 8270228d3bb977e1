/*--- ncuview
schema = 1
name = "row_smooth_four"
family = "stencil"
step_number = 40
document = "ncuview"
section = "Stencil"
teaches = "Four results in a row per thread: their common window of 36 numbers comes from shared memory once, four numbers at a time."
oracle = "smooth_rows"
tolerance = 1e-5

[sizes]
w = 4096
h = 4096

# ncuview: begin launch
[launch]
grid = ["w / 256", "h"]
block = ["64"]
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

[step]
after = "row_smooth"
applies = "register_tiling"

[expect]
verdict = "near-peak"
---*/

#define REACH 16
#define BLOCK 64
#define RESULTS 4
#define WINDOW (RESULTS + 2 * REACH)

// ncuview: begin kernel
__global__ void row_smooth_four(const float *in, float *out, int cols)
{
    __shared__ float4 tile[(RESULTS * BLOCK + 2 * REACH) / 4];
    const float *row = in + blockIdx.y * cols;
    int first = blockIdx.x * RESULTS * BLOCK;

    for (int i = threadIdx.x; i < RESULTS * BLOCK + 2 * REACH; i += BLOCK) {
        int x = first + i - REACH;
        x = x < 0 ? x + cols : x >= cols ? x - cols : x;
        ((float *)tile)[i] = row[x];
    }
    __syncthreads();

    float window[WINDOW];

    #pragma unroll
    for (int k = 0; k < WINDOW / 4; k++) {
        float4 four = tile[threadIdx.x + k];
        window[4 * k] = four.x;
        window[4 * k + 1] = four.y;
        window[4 * k + 2] = four.z;
        window[4 * k + 3] = four.w;
    }

    float4 result;
    float *results = (float *)&result;

    #pragma unroll
    for (int r = 0; r < RESULTS; r++) {
        float sum = 0;

        #pragma unroll
        for (int d = 0; d <= 2 * REACH; d++)
            sum += window[r + d];

        results[r] = sum * (1.0f / (2 * REACH + 1));
    }
    ((float4 *)(out + blockIdx.y * cols + first))[threadIdx.x] = result;
}
// ncuview: end kernel
