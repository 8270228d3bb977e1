/*--- ncuview
schema = 1
name = "levels_by_blocks"
family = "access_patterns"
step_number = 600
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "\"Tiling\" for Registers"
teaches = "A row of blocks for each of eight levels counts the samples above it: each of them reads the 32 samples of each signal."
better = "levels_in_registers"
oracle = "samples_above_levels"

[sizes]
n = 2097152

# ncuview: begin launch
[launch]
grid = ["n / 256", "8"]
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

[expect]
first = "register_tiling"
---*/

// ncuview: begin kernel
__global__ void levels_by_blocks(const float *in, unsigned *out, int n)
{
    int signal = blockIdx.x * blockDim.x + threadIdx.x, level = blockIdx.y;
    unsigned above = 0;

    for (int k = 0; k < 32; k++) {
        float sample = in[(size_t)k * n + signal];
        above += sample > 32 * level;
    }
    out[(size_t)level * n + signal] = above;
}
// ncuview: end kernel
