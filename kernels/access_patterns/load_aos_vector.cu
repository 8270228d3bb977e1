/*--- ncuview
schema = 1
name = "load_aos_vector"
family = "access_patterns"
step_number = 230
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Coalesced Transpose 2"
teaches = "The structure is one aligned element of 16 bytes, the largest that a lane can load at once: a request brings 16 sectors and uses all of them."
oracle = "sums_of_structures"

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
bytes = "16 * particles + 4 * particles / 8"

[predicts]
gld_transactions_per_request = 16.0

[step]
after = "load_aos_all_fields"
applies = "vectorized_access"
not_first = "L1 keeps what the load of the first field brought, and device memory is the bottleneck of both."

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

#define LOADS 8

struct __align__(16) Particle {
    float x, y, z, mass;
};

// ncuview: begin kernel
__global__ void load_aos_vector(float *odata, const Particle *particles)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float sum = 0;

    #pragma unroll
    for (int r = 0; r < LOADS; r++) {
        int i = t + r * threads;
        // ncuview: begin load
        Particle p = particles[i];
        sum += p.x + p.y + p.z + p.mass;
        // ncuview: end load
    }

    odata[t] = sum;
}
// ncuview: end kernel
