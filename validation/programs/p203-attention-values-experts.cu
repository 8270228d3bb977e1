// Attention: the values weighted with given probabilities for every head; and the end of a mixture-of-experts layer,
// where each token gets the weighted sum of the rows that its four experts made.
#include "../harness.h"

#include <functional>

const int HEADS = 32, LENGTH = 1024, DIM = 128;
const int TOKENS = 12288, EXPERTS = 4, HIDDEN = 4096;

// out[head][t][d] = sum over s of prob[head][t][s] * value[head][s][d]; one thread for each number.
__global__ void k203a(float *out, const float *prob, const float *value, int length, int dim)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
    if (at >= length * dim)
        return;
    int t = at / dim, d = at % dim;
    const float *p = prob + ((size_t)head * length + t) * length;
    const float *v = value + (size_t)head * length * dim + d;
    float sum = 0.0f;
    for (int s = 0; s < length; s++)
        sum += p[s] * v[s * dim];
    out[(size_t)head * length * dim + at] = sum;
}

const int SIDE = 32;

__global__ void k203b(float *out, const float *prob, const float *value, int length, int dim)
{
    __shared__ __align__(16) float ps[SIDE][SIDE], vs[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y, head = blockIdx.z;
    int t = blockIdx.y * SIDE + ty, d = blockIdx.x * SIDE + tx;
    const float *p = prob + (size_t)head * length * length;
    const float *v = value + (size_t)head * length * dim;
    float sum = 0.0f;
    for (int s0 = 0; s0 < length; s0 += SIDE) {
        ps[ty][tx] = p[t * length + s0 + tx];
        vs[ty][tx] = v[(s0 + ty) * dim + d];
        __syncthreads();
        for (int s = 0; s < SIDE; s++)
            sum += ps[ty][s] * vs[s][tx];
        __syncthreads();
    }
    out[((size_t)head * length + t) * dim + d] = sum;
}

const int BLOCK = 64, DEPTH = 16, ROWS = 8;

// A tile of 64 x 64 by 512 threads, each with eight rows of a column.
__global__ void __launch_bounds__(512) k203c(float *out, const float *prob, const float *value, int length, int dim)
{
    __shared__ __align__(16) float ps[BLOCK][DEPTH], vs[DEPTH][BLOCK];
    int tid = threadIdx.x, column = tid % BLOCK, row = tid / BLOCK * ROWS, head = blockIdx.z;
    const float *p = prob + ((size_t)head * length + blockIdx.y * BLOCK) * length;
    const float *v = value + (size_t)head * length * dim + blockIdx.x * BLOCK;
    float sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        sum[r] = 0.0f;
    for (int s0 = 0; s0 < length; s0 += DEPTH) {
        for (int i = tid; i < BLOCK * DEPTH; i += 512) {
            ps[i / DEPTH][i % DEPTH] = p[i / DEPTH * length + s0 + i % DEPTH];
            vs[i / BLOCK][i % BLOCK] = v[(s0 + i / BLOCK) * dim + i % BLOCK];
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < DEPTH; s++) {
            float w = vs[s][column];
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r] += ps[row + r][s] * w;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        out[((size_t)head * length + blockIdx.y * BLOCK + row + r) * dim + blockIdx.x * BLOCK + column] = sum[r];
}

const int LARGE = 128, THIN = 8;

// A tile of 128 x 128 by 256 threads, each with 8 x 8 numbers; the next slice is loaded while this one is used.
__global__ void __launch_bounds__(256, 2) k203d(float *__restrict__ out, const float *__restrict__ prob,
                                                const float *__restrict__ value, int length, int dim)
{
    __shared__ __align__(16) float ps[2][THIN][LARGE + 4], vs[2][THIN][LARGE];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, head = blockIdx.z;
    int row = warp / 2 * 32 + lane / 8 * 4, column = warp % 2 * 64 + lane % 8 * 4;
    int p_row = tid / 2, p_at = tid % 2 * 4, v_row = tid / 32, v_at = lane * 4;
    const float *p = prob + ((size_t)head * length + blockIdx.y * LARGE + p_row) * length + p_at;
    const float *v = value + ((size_t)head * length + v_row) * dim + blockIdx.x * LARGE + v_at;

    float sum[8][8];
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
            sum[m][n] = 0.0f;

    float4 next_p = *reinterpret_cast<const float4 *>(p), next_v = *reinterpret_cast<const float4 *>(v);
    int now = 0;
    for (int s0 = 0; s0 < length; s0 += THIN) {
        ps[now][p_at][p_row] = next_p.x;
        ps[now][p_at + 1][p_row] = next_p.y;
        ps[now][p_at + 2][p_row] = next_p.z;
        ps[now][p_at + 3][p_row] = next_p.w;
        *reinterpret_cast<float4 *>(&vs[now][v_row][v_at]) = next_v;
        __syncthreads();
        if (s0 + THIN < length) {
            next_p = *reinterpret_cast<const float4 *>(p + s0 + THIN);
            next_v = *reinterpret_cast<const float4 *>(v + (size_t)(s0 + THIN) * dim);
        }
#pragma unroll
        for (int s = 0; s < THIN; s++) {
            float a[8], b[8];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                *reinterpret_cast<float4 *>(&a[half * 4]) =
                    *reinterpret_cast<const float4 *>(&ps[now][s][row + half * 16]);
                *reinterpret_cast<float4 *>(&b[half * 4]) =
                    *reinterpret_cast<const float4 *>(&vs[now][s][column + half * 32]);
            }
#pragma unroll
            for (int m = 0; m < 8; m++)
#pragma unroll
                for (int n = 0; n < 8; n++)
                    sum[m][n] += a[m] * b[n];
        }
        now ^= 1;
    }
#pragma unroll
    for (int m = 0; m < 8; m++) {
        int t = blockIdx.y * LARGE + row + m / 4 * 16 + m % 4;
        float *to = out + ((size_t)head * length + t) * dim + blockIdx.x * LARGE + column;
#pragma unroll
        for (int half = 0; half < 2; half++)
            *reinterpret_cast<float4 *>(to + half * 32) = make_float4(sum[m][half * 4], sum[m][half * 4 + 1],
                                                                      sum[m][half * 4 + 2], sum[m][half * 4 + 3]);
    }
}

typedef __nv_bfloat16 bf16;

// Every row that an expert made is added to the row of its token.
__global__ void k203e(float *out, const bf16 *made, const int *token_of, const float *share_of, int hidden)
{
    int row = blockIdx.y, h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h < hidden)
        atomicAdd(&out[(size_t)token_of[row] * hidden + h],
                  share_of[row] * __bfloat162float(made[(size_t)row * hidden + h]));
}

// Every token fetches the rows that were made for it.
__global__ void k203f(float *out, const bf16 *made, const int *row_of, const float *share, int hidden)
{
    int token = blockIdx.y, h = blockIdx.x * blockDim.x + threadIdx.x;
    if (h >= hidden)
        return;
    float sum = 0.0f;
    for (int e = 0; e < EXPERTS; e++) {
        int row = row_of[token * EXPERTS + e];
        sum += share[token * EXPERTS + e] * __bfloat162float(made[(size_t)row * hidden + h]);
    }
    out[(size_t)token * hidden + h] = sum;
}

__device__ inline void add_eight(float *sum, uint4 packed, float share)
{
    const __nv_bfloat162 *two = reinterpret_cast<const __nv_bfloat162 *>(&packed);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 f = __bfloat1622float2(two[i]);
        sum[2 * i] += share * f.x;
        sum[2 * i + 1] += share * f.y;
    }
}

__global__ void k203g(float4 *__restrict__ out, const uint4 *__restrict__ made, const int *__restrict__ row_of,
                      const float *__restrict__ share, int hidden)
{
    int token = blockIdx.x, h = threadIdx.x;
    float sum[8] = {};
    uint4 packed[EXPERTS];
#pragma unroll
    for (int e = 0; e < EXPERTS; e++)
        packed[e] = made[(size_t)row_of[token * EXPERTS + e] * (hidden / 8) + h];
#pragma unroll
    for (int e = 0; e < EXPERTS; e++)
        add_eight(sum, packed[e], share[token * EXPERTS + e]);
    size_t to = (size_t)token * (hidden / 4) + 2 * h;
    out[to] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    out[to + 1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

__global__ void k203h(float4 *__restrict__ out, const uint4 *__restrict__ made, const int *__restrict__ row_of,
                      const float *__restrict__ share, int hidden)
{
    __shared__ int rows[EXPERTS];
    __shared__ float shares[EXPERTS];
    int token = blockIdx.x, h = threadIdx.x;
    if (h < EXPERTS) {
        rows[h] = row_of[token * EXPERTS + h];
        shares[h] = share[token * EXPERTS + h];
    }
    __syncthreads();
    float sum[8] = {};
    uint4 packed[EXPERTS];
#pragma unroll
    for (int e = 0; e < EXPERTS; e++)
        packed[e] = made[(size_t)rows[e] * (hidden / 8) + h];
#pragma unroll
    for (int e = 0; e < EXPERTS; e++)
        add_eight(sum, packed[e], shares[e]);
    size_t to = (size_t)token * (hidden / 4) + 2 * h;
    out[to] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    out[to + 1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

int main()
{
    const size_t queries = (size_t)HEADS * LENGTH, numbers = queries * DIM;
    float *prob = input<float>(queries * LENGTH, 2031, 0.0, 2.0 / LENGTH);
    float *value = input<float>(numbers, 2032, -20.0, 30.0), *out = output<float>(numbers);
    std::vector<float> all;
    // The first kernel: every 331st query against the host. The others: everything against the first.
    {
        const size_t every = 331, rows = (queries - 1) / every + 1;
        std::vector<float> want(rows * DIM), v = on_host(value, numbers);
        for (size_t r = 0; r < rows; r++) {
            std::vector<float> p = on_host(prob + r * every * LENGTH, LENGTH);
            const float *mine = &v[r * every / LENGTH * LENGTH * DIM];
            std::vector<double> sum(DIM, 0.0);
            for (int s = 0; s < LENGTH; s++)
                for (int d = 0; d < DIM; d++)
                    sum[d] += double(p[s]) * mine[s * DIM + d];
            for (int d = 0; d < DIM; d++)
                want[r * DIM + d] = float(sum[d]);
        }
        float *some = output<float>(want.size());
        auto first = [&](const char *name, std::function<void()> launch) {
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const size_t bytes = DIM * sizeof(float);
            MUST(cudaMemcpy2D(some, bytes, out, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, some, want, 5e-5);
            all = on_host(out, numbers);
        };
        first("k203a", [&] {
            k203a<<<dim3(LENGTH * DIM / 256, HEADS), 256>>>(out, prob, value, LENGTH, DIM);
        });
    }
    auto weighted = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, numbers * sizeof(float)));
        launch();
        check(name, out, all, 5e-5);
    };
    dim3 tiles(DIM / SIDE, LENGTH / SIDE, HEADS), blocks(DIM / BLOCK, LENGTH / BLOCK, HEADS);
    weighted("k203b", [&] { k203b<<<tiles, dim3(SIDE, SIDE)>>>(out, prob, value, LENGTH, DIM); });
    weighted("k203c", [&] { k203c<<<blocks, 512>>>(out, prob, value, LENGTH, DIM); });
    weighted("k203d", [&] {
        k203d<<<dim3(DIM / LARGE, LENGTH / LARGE, HEADS), 256>>>(out, prob, value, LENGTH, DIM);
    });

    // Rows lie in the order of the experts, which is any order for the tokens.
    const int rows = TOKENS * EXPERTS;
    std::vector<int> row_of(rows), token_of(rows);
    std::vector<float> share(rows), share_of(rows);
    for (int i = 0; i < rows; i++)
        row_of[i] = i;
    for (int i = rows - 1; i > 0; i--)
        std::swap(row_of[i], row_of[scrambled(i, 2033) % (i + 1)]);
    for (int i = 0; i < rows; i++) {
        share[i] = scrambled(i, 2034) / 4294967296.0f;
        token_of[row_of[i]] = i / EXPERTS;
        share_of[row_of[i]] = share[i];
    }
    int *d_row_of = on_device(row_of), *d_token_of = on_device(token_of);
    float *d_share = on_device(share), *d_share_of = on_device(share_of);
    bf16 *made = input<bf16>((size_t)rows * HIDDEN, 2035, -4.0, 4.0);
    float *tokens = output<float>((size_t)TOKENS * HIDDEN);

    const int every = 31, chosen = (TOKENS - 1) / every + 1;
    std::vector<float> want((size_t)chosen * HIDDEN, 0.0f);
    for (int i = 0; i < chosen; i++)
        for (int e = 0; e < EXPERTS; e++) {
            const int at = i * every * EXPERTS + e;
            std::vector<bf16> row = on_host(made + (size_t)row_of[at] * HIDDEN, HIDDEN);
            for (int h = 0; h < HIDDEN; h++)
                want[(size_t)i * HIDDEN + h] += share[at] * __bfloat162float(row[h]);
        }
    float *some = output<float>(want.size());
    auto combined = [&](const char *name, int poison, std::function<void()> launch) {
        MUST(cudaMemset(tokens, poison, (size_t)TOKENS * HIDDEN * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = HIDDEN * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, tokens, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-5);
    };
    combined("k203e", 0, [&] {
        k203e<<<dim3(HIDDEN / 256, rows), 256>>>(tokens, made, d_token_of, d_share_of, HIDDEN);
    });
    combined("k203f", 0xA5, [&] {
        k203f<<<dim3(HIDDEN / 256, TOKENS), 256>>>(tokens, made, d_row_of, d_share, HIDDEN);
    });
    combined("k203g", 0xA5, [&] {
        k203g<<<TOKENS, HIDDEN / 8>>>((float4 *)tokens, (const uint4 *)made, d_row_of, d_share, HIDDEN);
    });
    combined("k203h", 0xA5, [&] {
        k203h<<<TOKENS, HIDDEN / 8>>>((float4 *)tokens, (const uint4 *)made, d_row_of, d_share, HIDDEN);
    });
    return 0;
}
