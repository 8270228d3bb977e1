/*--- ncuview
schema = 1
name = "load_permuted"
family = "access_patterns"
step_number = 100
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "The lanes of a warp are permuted within their 128 bytes: still one line of Fermi's L1, 100 % used, and four sectors per request today."
oracle = "sums_of_permuted"

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

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_permuted(float *odata, const float *idata)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    int lane = threadIdx.x % 32;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += idata[i - lane + lane * 5 % 32];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
