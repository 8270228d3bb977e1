/*--- ncuview
schema = 1
name = "load_scattered"
family = "access_patterns"
step_number = 10
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "Each lane reads an element of its own somewhere in the array: N lanes bring N segments, 128 bytes of use in N times 128 (Fermi's L1) or N times 32 (L2); 32 sectors per request today."
better = "load_aligned"
oracle = "sums_of_scattered"

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

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * n + 4 * n / 8"

[predicts]
gld_transactions_per_request = 32.0

[expect]
first = "coalescing"
quiet = ["divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_scattered(float *odata, const float *idata, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        // An odd multiplier and a power of two: every element is read once.
        sum += idata[i * 2654435761u & (n - 1)];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
