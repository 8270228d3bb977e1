/*--- ncuview
schema = 1
name = "applyGenerated"
family = "constant_memory"
step_number = 70
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The signal in constant memory: a uniform load of two elements takes the place of two loads by all 32 lanes, and the multiplications read it like a register."
better = "applyGenerated_global"
oracle = "apply_generated"

[sizes]
rows = 4194304
m = 256

# ncuview: begin launch
[launch]
grid = ["rows / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "d_signalVector"
kind = "constant float32[m] below 16"

[[args]]
name = "R"
kind = "out float32[rows]"

[[args]]
name = "m"
kind = "int32 = m"

[useful]
flops = "2 * rows * m"

[step]
after = "applyGenerated_global"
applies = "constant_cache"
not_first = "A loop over constant memory repeatedly misses its small first level, while L1 holds the signal."

[expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal", "constant_cache"]

[[variant]]
step_number = 72
sizes = { rows = 262144, m = 16384 }
better = "applyGenerated_global[rows=262144,m=16384]"
teaches = "A signal of 64 KB fills constant memory and overflows the first level of the constant cache, so each warp fetches it anew."

[variant.step]
after = "applyGenerated_global[rows=262144,m=16384]"
applies = "constant_cache"
not_first = "64 KB of constants overflow the first levels of their cache, and still fit in L1."

[variant.expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal"]
---*/

__constant__ float d_signalVector[16384];

// ncuview: begin kernel
__global__ void applyGenerated(float *R, int m)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    // A row of the matrix repeats four coefficients, taken from the bits of its number.
    float coefficient[4];
    for (int i = 0; i < 4; i++)
        coefficient[i] = row >> 6 * i & 63;

    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j += 4)
        #pragma unroll
        for (int i = 0; i < 4; i++)
            result += coefficient[i] * d_signalVector[j + i];
    // ncuview: end loop

    R[row] = result;
}
// ncuview: end kernel
