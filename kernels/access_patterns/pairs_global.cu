/*--- ncuview
schema = 1
name = "pairs_global"
family = "access_patterns"
step_number = 500
document = "ncuview"
section = "Pairs"
teaches = "Each thread compares its element with all others and reads them one after the other, all lanes the same one: the caches have them, but each load is followed by a wait."
better = "pairs_tiled"
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

[expect]
first = "shared_memory_tiling"
quiet = ["coalescing"]
---*/

// ncuview: begin kernel
__global__ void pairs_global(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own = in[i], sum = 0;

    for (int j = 0; j < n; j++)
        sum += fabsf(in[j] - own);

    out[i] = sum;
}
// ncuview: end kernel
