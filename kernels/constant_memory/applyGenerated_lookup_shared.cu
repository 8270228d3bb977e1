/*--- ncuview
schema = 1
name = "applyGenerated_lookup_shared"
family = "constant_memory"
step_number = 86
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Additional Detail"
teaches = "The same accesses from a copy in shared memory, where 32 lanes that read 32 neighbouring elements in any order meet no bank conflict."
oracle = "apply_generated"

[sizes]
rows = 4194304
m = 256
ways = 32

# ncuview: begin launch
[launch]
grid = ["rows / 256"]
block = ["256"]
shared = "4 * m"
# ncuview: end launch

[[args]]
name = "d_signalVector"
kind = "in float32[m] below 16"

[[args]]
name = "R"
kind = "out float32[rows]"

[[args]]
name = "m"
kind = "int32 = m"

[[args]]
name = "ways"
kind = "int32 = ways"

[useful]
flops = "2 * rows * m"

[step]
after = "applyGenerated_lookup_global"
applies = "shared_memory_tiling"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal", "shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void applyGenerated_lookup_shared(const float *d_signalVector, float *R, int m, int ways)
{
    // ncuview: begin tile
    extern __shared__ float signal[];

    for (int j = threadIdx.x; j < m; j += blockDim.x)
        signal[j] = d_signalVector[j];

    __syncthreads();
    // ncuview: end tile

    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % ways;
    // A row of the matrix repeats four coefficients, taken from the bits of its number.
    float coefficient[4];
    for (int i = 0; i < 4; i++)
        coefficient[i] = row >> 6 * ((i ^ lane) & 3) & 63;

    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j += 4)
        #pragma unroll
        for (int i = 0; i < 4; i++)
            result += coefficient[i] * signal[(j + i) ^ lane];
    // ncuview: end loop

    R[row] = result;
}
// ncuview: end kernel
