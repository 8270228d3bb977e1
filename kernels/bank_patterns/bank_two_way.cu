/*--- ncuview
schema = 1
name = "bank_two_way"
family = "bank_patterns"
step_number = 60
document = "CUDA Performance (course notes)"
section = "Bank Conflict: examples"
teaches = "Odd lanes read a word 31 further on, in the bank of the even lane before them: half the banks serve two words each, half serve none."
better = "bank_linear"
oracle = "rounds_of_two_way_words"

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
kind = "out float32[threads]"

[[args]]
name = "idata"
kind = "in float32[1024] below 256"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "4 * rounds * threads"

[predicts]
shared_bank_conflict_ways = 2.0

[expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void bank_two_way(float *odata, const float *idata, int rounds)
{
    // ncuview: begin tile
    __shared__ float tile[1024];
    // ncuview: end tile
    int tid = threadIdx.x;

    for (int i = tid; i < 1024; i += blockDim.x)
        tile[i] = idata[i];
    __syncthreads();

    // Volatile, so that every round loads again.
    // ncuview: begin load
    volatile float *word = &tile[tid + tid % 2 * 31];
    // ncuview: end load
    float sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *word;

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
