/*--- ncuview
schema = 1
name = "gather_records"
family = "access_patterns"
step_number = 310
document = "CUDA Performance (course notes)"
section = "Memory Coalescing (caching or non-caching): conditions"
teaches = "The four fields of an element side by side: each lane brings one sector for all of them."
oracle = "sums_of_gathered_records"

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
kind = "in float32[n, 4] below 256"

[[args]]
name = "index"
kind = "in int32[n] below n"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "4 * 4 * n + 8 * n"

[step]
after = "gather_fields"
applies = "data_layout"

[expect]
verdict = "unclear"
quiet = ["coalescing", "data_layout", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void gather_records(float *odata, const float4 *fields, const int *index, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = index[t];
    // ncuview: begin load
    float4 field = fields[i];
    odata[t] = field.x + field.y + field.z + field.w;
    // ncuview: end load
}
// ncuview: end kernel
