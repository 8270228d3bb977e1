/*--- ncuview
schema = 1
name = "load_aos"
family = "access_patterns"
step_number = 200
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Coalesced Transpose 2"
teaches = "Array of structures: each lane reads one field of its 16-byte structure. The words of a warp are no contiguous block, so 16 sectors move where 4 would hold them."
better = "load_soa"
oracle = "sums_of_structure_field"

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
kind = "in float32[particles, 4] below 256"

[useful]
bytes = "4 * particles + 4 * particles / 8"

[predicts]
gld_transactions_per_request = 16.0

[expect]
first = "data_layout"
quiet = ["divergence_removal"]
---*/

#define LOADS 8

struct Particle {
    float x, y, z, mass;
};

// ncuview: begin kernel
__global__ void load_aos(float *odata, const Particle *particles)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        sum += particles[i].mass;
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
