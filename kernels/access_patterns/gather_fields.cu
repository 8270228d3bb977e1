/*--- ncuview
schema = 1
name = "gather_fields"
family = "access_patterns"
step_number = 300
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "Four arrays read through one index: each lane loads four sectors, and uses one word of each."
better = "gather_records"
oracle = "sums_of_gathered_arrays"

[sizes]
n = 4194304

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n]"

[[args]]
name = "fields"
kind = "in float32[4, n] below 256"

[[args]]
name = "index"
kind = "in int32[n] below n"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * 4 * n + 8 * n"

[expect]
first = "data_layout"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void gather_fields(float *odata, const float *fields, const int *index, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = index[t];
    // ncuview: begin load
    odata[t] = fields[i] + fields[i + n] + fields[i + 2 * n] + fields[i + 3 * n];
    // ncuview: end load
}
// ncuview: end kernel
