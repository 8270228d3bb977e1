/*--- ncuview
schema = 1
name = "load_broadcast"
family = "access_patterns"
step_number = 120
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "All lanes read the same float: one line of Fermi's L1 (128 bytes, 3.125 % used) or one segment of L2 (32 bytes, 12.5 % used); one sector per request."
oracle = "sums_of_broadcast"

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
bytes = "4 * n / 32 + 4 * n / 8"

[predicts]
gld_transactions_per_request = 1.0

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_broadcast(float *odata, const float *idata)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    int lane = threadIdx.x % 32;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += idata[i - lane];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
