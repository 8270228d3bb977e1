/*--- ncuview
schema = 1
name = "pairs_tiled"
family = "access_patterns"
step_number = 510
document = "ncuview"
section = "Pairs"
teaches = "A block copies 128 elements into shared memory and reads them there; the loop has a fixed length, so that it is unrolled and reads four elements at once."
oracle = "distances_to_all"

[sizes]
n = 65536

# ncuview: begin launch
[launch]
grid = ["n / 128"]
block = ["128"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n] below 64"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "8 * n"
flops = "2 * n * n"

[step]
after = "pairs_global"
applies = "shared_memory_tiling"

[expect]
first = "launch_configuration"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define TILE 128

// ncuview: begin kernel
__global__ void pairs_tiled(const float *in, float *out, int n)
{
    __shared__ float tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own = in[i], sum = 0;

    for (int start = 0; start < n; start += TILE) {
        tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            sum += fabsf(tile[j] - own);
        __syncthreads();
    }

    out[i] = sum;
}
// ncuview: end kernel
