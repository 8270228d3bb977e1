/*--- ncuview
schema = 1
name = "momentumScalar"
family = "instructions"
step_number = 80
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Introduction to Global Memory Bandwidth: Understanding Global Memory Accesses"
teaches = "Three arrays are read and two written, a float per thread and array: three loads before the first use put 12 bytes in flight, so that vectors gain little."
better = "momentumVector"
oracle = "momentum_step"

[sizes]
n = 33554432

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "weights"
kind = "in float32[n] below 1024"

[[args]]
name = "velocities"
kind = "in float32[n] below 1024"

[[args]]
name = "gradients"
kind = "in float32[n] below 1024"

[[args]]
name = "out"
kind = "out float32[2 * n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "5 * 4 * n"

[expect]
verdict = "near-peak"
quiet = ["vectorized_access", "thread_coarsening"]
---*/

// ncuview: begin kernel
__global__ void momentumScalar(const float *weights, const float *velocities, const float *gradients, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float velocity = 0.5f * velocities[i] + gradients[i];
    out[i] = weights[i] - 0.25f * velocity;
    out[n + i] = velocity;
}
// ncuview: end kernel
