/*--- ncuview
schema = 1
name = "bank_linear64"
family = "bank_patterns"
step_number = 140
document = "CUDA Performance (course notes)"
section = "Fermi vs Kepler & Newer"
teaches = "64-bit words side by side: 256 bytes a warp, two wavefronts by nature and no conflict."
oracle = "rounds_of_linear_words"

[sizes]
threads = 270336
rounds = 2048

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float64[threads]"

[[args]]
name = "idata"
kind = "in float64[512] below 256"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "8 * rounds * threads"

[predicts]
shared_bank_conflict_ways = 1.0

[step]
after = "bank_strided64"
applies = "data_layout"
not_first = "Padding, which comes first, undoes the same conflict as a linear layout."

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void bank_linear64(double *odata, const double *idata, int rounds)
{
    // ncuview: begin tile
    __shared__ double tile[512];
    // ncuview: end tile
    int tid = threadIdx.x;

    for (int i = tid; i < 512; i += blockDim.x)
        tile[i] = idata[i];
    __syncthreads();

    // Volatile, so that every round loads again.
    // ncuview: begin load
    volatile double *word = &tile[tid];
    // ncuview: end load
    double sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *word;

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
