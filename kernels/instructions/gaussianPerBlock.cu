/*--- ncuview
schema = 1
name = "gaussianPerBlock"
family = "instructions"
step_number = 39
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "The same filter; each block computes the weights once, in shared memory."
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

[step]
after = "gaussianPerThread"
applies = "strength_reduction"

[expect]
first = "register_tiling"
quiet = ["strength_reduction"]
---*/

// ncuview: begin kernel
constexpr int MOST_WEIGHTS = 256;

__global__ void gaussianPerBlock(const float *in, float *out, float sigma, int radius)
{
    __shared__ float weight[MOST_WEIGHTS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // ncuview: begin weight
    for (int k = (int)threadIdx.x - radius; k <= radius; k += blockDim.x)
        weight[k + radius] = expf(-(k * k) / (2 * sigma * sigma));
    __syncthreads();
    // ncuview: end weight
    float sum = 0, weights = 0;
    for (int k = -radius; k <= radius; k++) {
        sum += weight[k + radius] * in[i + radius + k];
        weights += weight[k + radius];
    }
    out[i] = sum / weights;
}
// ncuview: end kernel
