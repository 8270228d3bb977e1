/*--- ncuview
schema = 1
name = "load_strided"
family = "access_patterns"
step_number = 20
document = "CUDA C++ Best Practices Guide"
section = "Strided Accesses"
teaches = "Lanes read elements that lie a stride apart: the sectors per request grow with the stride up to one per lane, of which 4 of 32 bytes are used."
better = "load_aligned"
oracle = "sums_of_strided"

[sizes]
n = 33554432
stride = 32

# ncuview: begin launch
[launch]
grid = ["n / stride / 8 / 256", "stride"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n / 8]"

[[args]]
name = "idata"
kind = "in float32[n] below 256"

[[args]]
name = "stride"
kind = "int32 = stride"

[useful]
bytes = "4 * n + 4 * n / 8"

[predicts]
gld_transactions_per_request = 32.0

[expect]
first = "coalescing"
quiet = ["divergence_removal"]

[[variant]]
step_number = 30
sizes = { stride = 16 }
teaches = "A stride of 16 elements: still a sector for every lane, in half as many 128-byte lines as a stride of 32."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 32.0

[variant.expect]
first = "coalescing"
quiet = ["divergence_removal"]

[[variant]]
step_number = 40
sizes = { stride = 8 }
teaches = "A stride of 8 elements, one sector: the smallest at which every lane brings a sector of its own."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 32.0

[variant.expect]
first = "coalescing"
quiet = ["divergence_removal"]

[[variant]]
step_number = 50
sizes = { stride = 4 }
teaches = "A stride of 4 elements: two lanes share a sector."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 16.0

[variant.expect]
first = "coalescing"
quiet = ["divergence_removal"]

[[variant]]
step_number = 60
sizes = { stride = 2 }
teaches = "A stride of 2 elements: every second word of each sector is loaded and not used."
better = "load_aligned"

[variant.predicts]
gld_transactions_per_request = 8.0

[variant.expect]
first = "coalescing"
quiet = ["divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_strided(float *odata, const float *idata, int stride)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += idata[i * stride + blockIdx.y];
        // ncuview: end load
    }

    odata[blockIdx.y * threads + t] = sum;
}
// ncuview: end kernel
