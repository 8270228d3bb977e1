/*--- ncuview
schema = 1
name = "gaussianPerThread"
family = "instructions"
step_number = 38
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "Each thread computes the 129 weights of a filter, although they are the same for all."
better = "gaussianPerBlock"
oracle = "gaussian_of_rows"
tolerance = 3e-5

[sizes]
n = 4194304
radius = 64
sigma = 20

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n + 2 * radius] below 1024"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "sigma"
kind = "float32 = sigma"

[[args]]
name = "radius"
kind = "int32 = radius"

[useful]
bytes = "2 * 4 * n"

[expect]
first = "strength_reduction"
---*/

// ncuview: begin kernel
__global__ void gaussianPerThread(const float *in, float *out, float sigma, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, weights = 0;
    for (int k = -radius; k <= radius; k++) {
        // ncuview: begin weight
        float weight = expf(-(k * k) / (2 * sigma * sigma));
        // ncuview: end weight
        sum += weight * in[i + radius + k];
        weights += weight;
    }
    out[i] = sum / weights;
}
// ncuview: end kernel
