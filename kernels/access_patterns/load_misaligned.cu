/*--- ncuview
schema = 1
name = "load_misaligned"
family = "access_patterns"
step_number = 70
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "All lanes shifted by one element past the 128-byte line: two lines of Fermi's L1 (256 bytes, 50 % used) or five segments of L2 (160 bytes, 80 % used); five sectors per request today, one of which the next warp needs too."
better = "load_aligned"
oracle = "sums_of_elements"

[sizes]
n = 33554432
offset = 1

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
kind = "in float32[n + 32] below 256"

[[args]]
name = "offset"
kind = "int32 = offset"

[useful]
bytes = "4 * n + 4 * n / 8"

[predicts]
gld_transactions_per_request = 5.0

[expect]
verdict = "near-peak"
quiet = ["divergence_removal"]

[[variant]]
step_number = 80
sizes = { offset = 8 }
teaches = "Shifted by 32 bytes: a warp's words lie in two 128-byte lines, but fill four complete sectors."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 4.0

[variant.expect]
verdict = "near-peak"
quiet = ["coalescing"]

[[variant]]
step_number = 90
sizes = { offset = 16 }
teaches = "Shifted by 64 bytes, half a line: two lines of two complete sectors each."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 4.0

[variant.expect]
verdict = "near-peak"
quiet = ["coalescing"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_misaligned(float *odata, const float *idata, int offset)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += idata[i + offset];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
