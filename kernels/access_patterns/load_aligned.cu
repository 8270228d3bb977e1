/*--- ncuview
schema = 1
name = "load_aligned"
family = "access_patterns"
step_number = 110
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "Each lane reads its own float, all in order in one aligned line: 128 bytes move for 128 used, four sectors per request."
oracle = "sums_of_elements"

[sizes]
n = 33554432

# ncuview: begin launch
[launch]
grid = ["n / 8 / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n / 8]"

[[args]]
name = "idata"
kind = "in float32[n] below 256"

[useful]
bytes = "4 * n + 4 * n / 8"

[predicts]
gld_transactions_per_request = 4.0

[step]
after = "load_strided"
applies = "coalescing"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_aligned(float *odata, const float *idata)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += idata[i];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
