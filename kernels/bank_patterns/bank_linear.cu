/*--- ncuview
schema = 1
name = "bank_linear"
family = "bank_patterns"
step_number = 70
document = "CUDA Performance (course notes)"
section = "Bank Conflict: examples"
teaches = "Each lane reads its own word, the next lane the next: 32 banks, 32 words, one wavefront."
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
shared_bank_conflict_ways = 1.0

[step]
after = "bank_strided"
applies = "data_layout"
not_first = "Padding, which comes first, undoes the same conflict as a linear layout."

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void bank_linear(float *odata, const float *idata, int rounds)
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
    volatile float *word = &tile[tid];
    // ncuview: end load
    float sum = 0;
    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        sum += *word;

    odata[blockIdx.x * blockDim.x + tid] = sum;
}
// ncuview: end kernel
