/*--- ncuview
schema = 1
name = "bank_strided64"
family = "bank_patterns"
step_number = 130
document = "CUDA Performance (course notes)"
section = "Fermi vs Kepler & Newer"
teaches = "64-bit words two apart: 16 of 32 banks hold them, so that four wavefronts serve what two could. Kepler's banks were 64 bits wide; since Maxwell they are 32 bits wide again."
better = "bank_linear64"
oracle = "rounds_of_strided_words"

[sizes]
threads = 270336
rounds = 2048
stride = 2

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

[[args]]
name = "stride"
kind = "int32 = stride"

[useful]
bytes = "8 * rounds * threads"

[predicts]
shared_bank_conflict_ways = 2.0

[expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void bank_strided64(double *odata, const double *idata, int rounds, int stride)
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
    volatile double *word = &tile[tid * stride % 512];
    // ncuview: end load
    double sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *word;

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
