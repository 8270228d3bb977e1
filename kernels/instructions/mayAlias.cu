/*--- ncuview
schema = 1
name = "mayAlias"
family = "instructions"
step_number = 60
document = "CUDA Performance (course notes)"
section = "Further improvements"
teaches = "The compiler must assume that each store changes the coefficients: every element loads all of them again."
better = "constRestrict"
oracle = "polynomial"
tolerance = 1e-5

[sizes]
n = 16777216
terms = 32

# ncuview: begin launch
[launch]
grid = ["n / 4096"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "c"
kind = "in float32[terms]"

[[args]]
name = "in"
kind = "in float32[n]"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n"
flops = "2 * terms * n"

[expect]
first = "read_only_cache"
---*/

#define TERMS 32

// ncuview: begin kernel
// ncuview: begin signature
__global__ void mayAlias(const float *c, const float *in, float *out, int n)
// ncuview: end signature
{
    int threads = gridDim.x * blockDim.x;

    #pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        float x = in[i], y = 0;
        for (int t = 0; t < TERMS; t++)
            y = y * x + c[t];
        out[i] = y;
    }
}
// ncuview: end kernel
