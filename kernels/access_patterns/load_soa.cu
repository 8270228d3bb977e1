/*--- ncuview
schema = 1
name = "load_soa"
family = "access_patterns"
step_number = 210
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Coalesced Transpose 2"
teaches = "Structure of arrays: the same field of neighbouring particles lies side by side, and only the field that is read moves."
oracle = "sums_of_array_field"

[sizes]
particles = 15728640

# ncuview: begin launch
[launch]
grid = ["particles / 8 / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[particles / 8]"

[[args]]
name = "particles"
kind = "in float32[4, particles] below 256"

[[args]]
name = "n"
kind = "int32 = particles"

[useful]
bytes = "4 * particles + 4 * particles / 8"

[predicts]
gld_transactions_per_request = 4.0

[step]
after = "load_aos"
applies = "data_layout"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

// ncuview: begin kernel
__global__ void load_soa(float *odata, const float *particles, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    const float *mass = particles + 3 * n;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += mass[i];
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
