/*--- ncuview
schema = 1
name = "levels_in_registers"
family = "access_patterns"
step_number = 610
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "\"Tiling\" for Registers"
teaches = "A thread keeps the eight counts of a signal in registers, and each sample is loaded once."
oracle = "samples_above_levels"

[sizes]
n = 2097152

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[32 * n] below 256"

[[args]]
name = "out"
kind = "out uint32[8 * n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "(32 + 8) * 4 * n"

[step]
after = "levels_by_blocks"
applies = "register_tiling"

[expect]
verdict = "near-peak"
quiet = ["register_tiling"]
---*/

// ncuview: begin kernel
__global__ void levels_in_registers(const float *in, unsigned *out, int n)
{
    int signal = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned above[8] = {};

    #pragma unroll
    for (int k = 0; k < 32; k++) {
        float sample = in[(size_t)k * n + signal];
        #pragma unroll
        for (int level = 0; level < 8; level++)
            above[level] += sample > 32 * level;
    }
    #pragma unroll
    for (int level = 0; level < 8; level++)
        out[(size_t)level * n + signal] = above[level];
}
// ncuview: end kernel
