/*--- ncuview
schema = 1
name = "transposeGranularity"
family = "transpose"
step_number = 63
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Granularity of Parallelism"
teaches = "32 x 8 threads on a 32 x 32 tile, the document's choice: four elements per thread, 256 threads at the barrier, and rows of 128 bytes."
oracle = "transpose_CPU"

# ncuview: begin sizes
[sizes]
n = 8192
tile = 32
rows = 8
# ncuview: end sizes

# ncuview: begin launch
[launch]
grid = ["n / tile", "n / tile"]
block = ["tile", "rows"]
template = ["tile", "rows"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, n]"

[[args]]
name = "idata"
kind = "in float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n * n"

[step]
after = "transposeGranularity[rows=32]"
applies = "thread_coarsening"

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding", "fewer_barriers", "thread_coarsening"]

[[variant]]
step_number = 60
# ncuview: begin large
sizes = { rows = 32 }
# ncuview: end large
better = "transposeGranularity"
teaches = "32 x 32 threads on a 32 x 32 tile: most threads, but all 1024 of a block wait at its barrier, with one load each in flight."

[variant.expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]

[[variant]]
step_number = 61
sizes = { tile = 16, rows = 16 }
better = "transposeGranularity"
teaches = "16 x 16 threads on a 16 x 16 tile: only 256 threads wait at a barrier, and more blocks alternate; still one element per thread."

[variant.step]
after = "transposeGranularity[rows=32]"
applies = "launch_configuration"
not_first = "Several elements per thread keep more bytes in flight, and come first."

[variant.expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]

[[variant]]
step_number = 62
sizes = { tile = 8, rows = 8 }
better = "transposeGranularity[tile=16,rows=16]"
teaches = "8 x 8 threads on an 8 x 8 tile, a step too far: two warps per block, and a row of the tile is one sector, so a warp touches four cache lines."

[variant.step]
after = "transposeGranularity[tile=16,rows=16]"
applies = "launch_configuration"
not_first = "Blocks of 64 threads start as fast as the GPU can start them, and that is the bottleneck after the step."

[variant.expect]
first = "launch_configuration"
---*/

// ncuview: begin kernel
template <int TILE, int ROWS>
__global__ void transposeGranularity(float *odata, const float *idata, int n)
{
    // ncuview: begin tile
    __shared__ float tile[TILE][TILE + 1];
    // ncuview: end tile

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;

    #pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * n + x];

    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;

    #pragma unroll
    for (int j = 0; j < TILE; j += ROWS)
        odata[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
// ncuview: end kernel

template __global__ void transposeGranularity<32, 8>(float *, const float *, int);
template __global__ void transposeGranularity<32, 32>(float *, const float *, int);
template __global__ void transposeGranularity<16, 16>(float *, const float *, int);
template __global__ void transposeGranularity<8, 8>(float *, const float *, int);
