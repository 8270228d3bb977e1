/*--- ncuview
schema = 1
name = "mmul_eight_by_eight"
family = "matmul"
step_number = 125
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Scalar Replacement (beyond sum)"
teaches = "Not in the documents: the same step again. Eight rows and eight columns per thread need sixteen words of shared memory for sixty-four multiplications, where four and four need eight for sixteen."
oracle = "matrix_product"

[sizes]
n = 2048

# ncuview: begin launch
[launch]
grid = ["n / 128", "n / 128"]
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
after = "mmul_scalar_replacement"
applies = "register_tiling"

[expect]
verdict = "unclear"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding", "register_tiling"]
---*/

#define TILE_WIDTH 16
#define TILE_ROWS (8 * TILE_WIDTH)
#define TILE_DEPTH 8
#define PADDING 4   // the four words of a thread go to columns of Mds in banks of their own

// ncuview: begin kernel
__global__ void mmul_eight_by_eight(const float *Md, const float *Nd, float *Pd, int Width)
{
    __shared__ float Mds[TILE_DEPTH][TILE_ROWS + PADDING];   // transposed: rows of a thread lie side by side
    __shared__ float4 Nds[TILE_DEPTH][TILE_ROWS / 4];

    const float4 *Md4 = reinterpret_cast<const float4 *>(Md);
    const float4 *Nd4 = reinterpret_cast<const float4 *>(Nd);
    float4 *Pd4 = reinterpret_cast<float4 *>(Pd);

    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int Row = blockIdx.y * TILE_ROWS, Col4 = blockIdx.x * TILE_ROWS / 4;
    int Width4 = Width / 4;

    float sum[8][8] = {};
    for (int m = 0; m < Width; m += TILE_DEPTH) {
        float4 rows = Md4[(Row + t / 2) * Width4 + m / 4 + t % 2];
        Mds[t % 2 * 4 + 0][t / 2] = rows.x;
        Mds[t % 2 * 4 + 1][t / 2] = rows.y;
        Mds[t % 2 * 4 + 2][t / 2] = rows.z;
        Mds[t % 2 * 4 + 3][t / 2] = rows.w;
        Nds[t / 32][t % 32] = Nd4[(m + t / 32) * Width4 + Col4 + t % 32];
        __syncthreads();

        // ncuview: begin loop
        #pragma unroll
        for (int k = 0; k < TILE_DEPTH; k++) {
            const float4 *column = reinterpret_cast<const float4 *>(Mds[k]);
            float4 tmpm[2] = {column[ty], column[ty + TILE_WIDTH]};
            float4 tmpn[2] = {Nds[k][tx], Nds[k][tx + TILE_WIDTH]};
            const float *a = &tmpm[0].x, *b = &tmpn[0].x;
            #pragma unroll
            for (int i = 0; i < 8; i++)
                #pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] += a[i] * b[j];
        }
        // ncuview: end loop
        __syncthreads();
    }

    for (int i = 0; i < 8; i++) {
        int row = Row + i / 4 * 4 * TILE_WIDTH + ty * 4 + i % 4;
        for (int j = 0; j < 2; j++)
            Pd4[row * Width4 + Col4 + j * TILE_WIDTH + tx] =
                make_float4(sum[i][4 * j], sum[i][4 * j + 1], sum[i][4 * j + 2], sum[i][4 * j + 3]);
    }
}
// ncuview: end kernel
