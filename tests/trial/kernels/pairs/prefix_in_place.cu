/*--- ncuview
schema = 1
name = "prefix_in_place"
family = "pairs"
step_number = 2
document = "none"
section = "none"
teaches = "Input and output of the function are one array: each load must see the store of the iteration before."
oracle = "none"

[sizes]
n = 262144

[launch]
grid = ["n / 256"]
block = ["256"]

[[args]]
name = "in"
kind = "in float32[4 * n]"

[[args]]
name = "out"
kind = "out float32[4 * n]"

[[args]]
name = "shift"
kind = "int32 = 0"

[useful]
bytes = "32 * n"

[expect]
verdict = "unclear"
---*/

__device__ void sums(const float *from, float *to)
{
    to[1] = from[0] + from[1];
    to[2] = from[1] + from[2];
    to[3] = from[2] + from[3];
}

__global__ void prefix_in_place(const float *in, float *out, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++)
        out[4 * i + k] = in[4 * i + k];
    sums(out + 4 * i + shift, out + 4 * i);
}
