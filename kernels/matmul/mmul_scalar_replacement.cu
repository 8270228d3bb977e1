/*--- ncuview
schema = 1
name = "mmul_scalar_replacement"
family = "matmul"
step_number = 120
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Scalar Replacement (beyond sum)"
teaches = "Four rows and four columns per thread, with the operands of a step in scalars: eight words from shared memory feed sixteen multiplications. The compiler would find the scalars itself; the gain comes from the larger tile."
better = "mmul_eight_by_eight"
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 64", "n / 64"]
block = ["16", "16"]
# ncuview: end launch

[[args]]
name = "Md"
kind = "in float32[n, n] below 4"

[[args]]
name = "Nd"
kind = "in float32[n, n] below 4"

[[args]]
name = "Pd"
kind = "out float32[n, n]"

[[args]]
name = "Width"
kind = "int32 = n"

[useful]
bytes = "3 * 4 * n * n"
flops = "2 * n * n * n"

[step]
after = "mmul_jam_ij"
applies = "register_tiling"

[expect]
first = "register_tiling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define TILE_WIDTH 16

// ncuview: begin kernel
__global__ void mmul_scalar_replacement(const float *Md, const float *Nd, float *Pd, int Width)
{
    __shared__ float Mds[4 * TILE_WIDTH][TILE_WIDTH];
    __shared__ float4 Nds[TILE_WIDTH][TILE_WIDTH];

    const float4 *Nd4 = reinterpret_cast<const float4 *>(Nd);
    float4 *Pd4 = reinterpret_cast<float4 *>(Pd);

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * 4 * TILE_WIDTH + ty;
    int Col4 = blockIdx.x * TILE_WIDTH + tx;    // of four columns each
    int Width4 = Width / 4;

    float4 sum[4] = {};
    for (int m = 0; m < Width; m += TILE_WIDTH) {
        for (int i = 0; i < 4; i++)
            Mds[ty + i * TILE_WIDTH][tx] = Md[(Row + i * TILE_WIDTH) * Width + m + tx];
        Nds[ty][tx] = Nd4[(m + ty) * Width4 + Col4];
        __syncthreads();

        // ncuview: begin loop
        #pragma unroll
        for (int k = 0; k < TILE_WIDTH; k++) {
            float4 tmpn = Nds[k][tx];
            for (int i = 0; i < 4; i++) {
                float tmpm = Mds[ty + i * TILE_WIDTH][k];
                sum[i].x += tmpm * tmpn.x;
                sum[i].y += tmpm * tmpn.y;
                sum[i].z += tmpm * tmpn.z;
                sum[i].w += tmpm * tmpn.w;
            }
        }
        // ncuview: end loop
        __syncthreads();
    }

    for (int i = 0; i < 4; i++)
        Pd4[(Row + i * TILE_WIDTH) * Width4 + Col4] = sum[i];
}
// ncuview: end kernel
