/*--- ncuview
schema = 1
name = "sums_in_place"
family = "pairs"
step_number = 1
document = "none"
section = "none"
teaches = "Two pointers into one array alias: the second load must see the store between them."
oracle = "none"

[sizes]
n = 1048576

[launch]
grid = ["n / 256"]
block = ["256"]

[[args]]
name = "in"
kind = "in float32[n]"

[[args]]
name = "out"
kind = "out float32[2 * n]"

[useful]
bytes = "12 * n"

[expect]
verdict = "unclear"
---*/

__device__ void add(float *first, float *second, float x)
{
    *second = x;
    float before = first[1];
    *second = before * before;
    *first = first[1] + before;
}

__global__ void sums_in_place(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    add(out + 2 * i, out + 2 * i + 1, in[i]);
}
