/*--- ncuview
schema = 1
name = "momentumVector"
family = "instructions"
step_number = 81
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Introduction to Global Memory Bandwidth: Understanding Global Memory Accesses"
teaches = "Four floats of each array per thread: vectors gain much for a copy of one array, and 8 % where three arrays are read."
oracle = "momentum_step"

[sizes]
n = 33554432

# ncuview: begin launch
[launch]
grid = ["n / 1024"]
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

[step]
after = "momentumScalar"
applies = "vectorized_access"
not_first = "With three loads in flight, device memory is near its peak before and after the step."

[expect]
verdict = "near-peak"
quiet = ["vectorized_access"]
---*/

// ncuview: begin kernel
__global__ void momentumVector(const float4 *weights, const float4 *velocities, const float4 *gradients, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = velocities[i], g = gradients[i], w = weights[i];
    v = make_float4(0.5f * v.x + g.x, 0.5f * v.y + g.y, 0.5f * v.z + g.z, 0.5f * v.w + g.w);
    out[i] = make_float4(w.x - 0.25f * v.x, w.y - 0.25f * v.y, w.z - 0.25f * v.z, w.w - 0.25f * v.w);
    out[n / 4 + i] = v;
}
// ncuview: end kernel
