/*--- ncuview
schema = 1
name = "bank_strided"
family = "bank_patterns"
step_number = 10
document = "CUDA Performance (course notes)"
section = "Bank Conflict"
teaches = "Lanes read words 32 apart: one bank holds them all and serves them one after the other. A stride of 2, 4, 8 or 16 makes as many ways of conflict."
better = "bank_linear"
oracle = "rounds_of_strided_words"

[sizes]
threads = 270336
rounds = 2048
stride = 32

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

[[args]]
name = "stride"
kind = "int32 = stride"

[useful]
bytes = "4 * rounds * threads"

[predicts]
shared_bank_conflict_ways = 32.0

[expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]

[[variant]]
step_number = 20
sizes = { stride = 16 }
teaches = "A stride of 16 words: 2 banks serve all lanes, 16 each."
better = "bank_linear"

[variant.predicts]
shared_bank_conflict_ways = 16.0

[variant.expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]

[[variant]]
step_number = 30
sizes = { stride = 8 }
teaches = "A stride of 8 words: 4 banks serve all lanes, 8 each."
better = "bank_linear"

[variant.predicts]
shared_bank_conflict_ways = 8.0

[variant.expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]

[[variant]]
step_number = 40
sizes = { stride = 4 }
teaches = "A stride of 4 words: 8 banks serve all lanes, 4 each."
better = "bank_linear"

[variant.predicts]
shared_bank_conflict_ways = 4.0

[variant.expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]

[[variant]]
step_number = 50
sizes = { stride = 2 }
teaches = "A stride of 2 words: 16 banks serve all lanes, 2 each."
better = "bank_linear"

[variant.predicts]
shared_bank_conflict_ways = 2.0

[variant.expect]
first = "shared_memory_padding"
quiet = ["divergence_removal", "coalescing"]
---*/

// ncuview: begin kernel
__global__ void bank_strided(float *odata, const float *idata, int rounds, int stride)
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
    volatile float *word = &tile[tid * stride % 1024];
    // ncuview: end load
    float sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *word;

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
