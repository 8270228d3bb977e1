// Unpacking 4-bit normal-float weights to half precision, and a matrix-vector product with weights in blocks of 32
// four-bit integers.
#include "../harness.h"

#include <functional>

__device__ float code_value(unsigned char v)
{
    if (v & 8) {
        if (v & 4) {
            if (v & 2) {
                if (v & 1)
                    return 1.0f;
                else
                    return 0.7229568362236023f;
            } else {
                if (v & 1)
                    return 0.5626170039176941f;
                else
                    return 0.44070982933044434f;
            }
        } else {
            if (v & 2) {
                if (v & 1)
                    return 0.33791524171829224f;
                else
                    return 0.24611230194568634f;
            } else {
                if (v & 1)
                    return 0.16093020141124725f;
                else
                    return 0.07958029955625534f;
            }
        }
    } else {
        if (v & 4) {
            if (v & 2) {
                if (v & 1)
                    return 0.0f;
                else
                    return -0.09105003625154495f;
            } else {
                if (v & 1)
                    return -0.18477343022823334f;
                else
                    return -0.28444138169288635f;
            }
        } else {
            if (v & 2) {
                if (v & 1)
                    return -0.39491748809814453f;
                else
                    return -0.5250730514526367f;
            } else {
                if (v & 1)
                    return -0.6961928009986877f;
                else
                    return -1.0f;
            }
        }
    }
}

const float CODES[16] = {-1.0f,
                         -0.6961928009986877f,
                         -0.5250730514526367f,
                         -0.39491748809814453f,
                         -0.28444138169288635f,
                         -0.18477343022823334f,
                         -0.09105003625154495f,
                         0.0f,
                         0.07958029955625534f,
                         0.16093020141124725f,
                         0.24611230194568634f,
                         0.33791524171829224f,
                         0.44070982933044434f,
                         0.5626170039176941f,
                         0.7229568362236023f,
                         1.0f};

__device__ float table[16];

const int THREADS = 64, PER_THREAD = 8, TILE = THREADS * PER_THREAD;

// A block unpacks TILE bytes. A scale belongs to `group` values.
template <bool LOOKUP>
__device__ __forceinline__ void unpack_tile(const unsigned char *__restrict__ packed, const float *__restrict__ scale,
                                            __half *__restrict__ out, int group, int n_bytes)
{
    __shared__ unsigned char in_tile[TILE + TILE / 32];
    __shared__ __half out_tile[2 * TILE + 2 * TILE / 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_bytes = 32 * PER_THREAD;
    const int base = blockIdx.x * TILE;
    unsigned char q[PER_THREAD];
    __half v[2 * PER_THREAD];

    const float s = scale[(base + threadIdx.x * PER_THREAD) / (group / 2)];

#pragma unroll
    for (int j = 0; j < PER_THREAD; j++) {
        int k = warp * warp_bytes + j * 32 + lane;
        in_tile[k + k / 32] = base + k < n_bytes ? packed[base + k] : 0;
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < PER_THREAD; j++) {
        int k = warp * warp_bytes + lane * PER_THREAD + j;
        q[j] = in_tile[k + k / 32];
    }

#pragma unroll
    for (int j = 0; j < PER_THREAD; j++) {
        if (LOOKUP) {
            v[2 * j] = __float2half(table[q[j] >> 4] * s);
            v[2 * j + 1] = __float2half(table[q[j] & 15] * s);
        } else {
            v[2 * j] = __float2half(code_value(q[j] >> 4) * s);
            v[2 * j + 1] = __float2half(code_value(q[j] & 15) * s);
        }
    }

#pragma unroll
    for (int j = 0; j < 2 * PER_THREAD; j++) {
        int k = warp * 2 * warp_bytes + lane * 2 * PER_THREAD + j;
        out_tile[k + k / 32] = v[j];
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 2 * PER_THREAD; j++) {
        int k = warp * 2 * warp_bytes + j * 32 + lane;
        if (2 * base + k < 2 * n_bytes)
            out[2 * base + k] = out_tile[k + k / 32];
    }
}

__global__ void k66a(const unsigned char *__restrict__ packed, const float *__restrict__ scale,
                     __half *__restrict__ out, int group, int n_bytes)
{
    unpack_tile<false>(packed, scale, out, group, n_bytes);
}

__global__ void k66b(const unsigned char *__restrict__ packed, const float *__restrict__ scale,
                     __half *__restrict__ out, int group, int n_bytes)
{
    unpack_tile<true>(packed, scale, out, group, n_bytes);
}

// n_bytes is a multiple of 4.
__global__ void k66c(const unsigned *__restrict__ packed, const float *__restrict__ scale, uint4 *__restrict__ out,
                     int group, int n_bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_bytes / 4)
        return;
    unsigned q = packed[i];
    float s = scale[i / (group / 8)];
    __half2 v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        unsigned b = (q >> 8 * j) & 255;
        v[j] = __floats2half2_rn(table[b >> 4] * s, table[b & 15] * s);
    }
    out[i] = *reinterpret_cast<uint4 *>(v);
}

struct Block4 {
    __half d;
    unsigned char q[16];
};
static_assert(sizeof(Block4) == 18, "packed");

struct Block8 {
    __half2 ds;
    signed char q[32];
};
static_assert(sizeof(Block8) == 36, "packed");

__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void k66d(const Block4 *__restrict__ w, const float *__restrict__ y, float *__restrict__ out, int columns,
                     int rows)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = 0; i < columns; i += 64) {
        const int column = i + 2 * threadIdx.x;
        const size_t b = ((size_t)row * columns + column) / 32;
        const int at = (column % 32) / 2;
        const int start = column - column % 32;
        const float d = __half2float(w[b].d);
        const int q = w[b].q[at];
        sum += ((q & 15) - 8.0f) * d * y[start + at];
        sum += ((q >> 4) - 8.0f) * d * y[start + at + 16];
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        out[row] = sum;
}

__device__ __forceinline__ int two_halves(const unsigned char *p, int i)
{
    const unsigned short *s = reinterpret_cast<const unsigned short *>(p) + 2 * i;
    return s[0] | s[1] << 16;
}

__device__ __forceinline__ float half_block(int v0, int v1, float d, const int *u, __half2 ds)
{
    int sum = 0;
    sum = __dp4a(v0 & 0x0F0F0F0F, u[0], sum);
    sum = __dp4a((v0 >> 4) & 0x0F0F0F0F, u[1], sum);
    sum = __dp4a(v1 & 0x0F0F0F0F, u[2], sum);
    sum = __dp4a((v1 >> 4) & 0x0F0F0F0F, u[3], sum);
    float2 f = __half22float2(ds);
    return d * (sum * f.x - 4.0f * f.y);
}

template <int WARPS>
__device__ __forceinline__ void row_product(const Block4 *__restrict__ w, const Block8 *__restrict__ y,
                                            float *__restrict__ out, int columns, int rows)
{
    const int row = blockIdx.x;
    const int tid = 32 * threadIdx.y + threadIdx.x;
    const int blocks = columns / 32;
    const int k = 2 * (tid % 2);
    float sum = 0.0f;
    for (int b = tid / 2; b < blocks; b += 16 * WARPS) {
        const Block4 *x = w + (size_t)row * blocks + b;
        const int *yq = reinterpret_cast<const int *>(y[b].q);
        int u[4] = {yq[k], yq[k + 4], yq[k + 1], yq[k + 5]};
        sum += half_block(two_halves(x->q, k), two_halves(x->q, k + 1), __half2float(x->d), u, y[b].ds);
    }
    if (WARPS > 1) {
        __shared__ float part[WARPS > 1 ? WARPS - 1 : 1][32];
        if (threadIdx.y > 0)
            part[threadIdx.y - 1][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y > 0)
            return;
        for (int i = 0; i < WARPS - 1; i++)
            sum += part[i][threadIdx.x];
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        out[row] = sum;
}

__global__ void k66e(const Block4 *__restrict__ w, const Block8 *__restrict__ y, float *__restrict__ out, int columns,
                     int rows)
{
    row_product<1>(w, y, out, columns, rows);
}

__global__ void k66f(const Block4 *__restrict__ w, const Block8 *__restrict__ y, float *__restrict__ out, int columns,
                     int rows)
{
    row_product<4>(w, y, out, columns, rows);
}

template <int ROWS>
__device__ __forceinline__ void rows_product(const int2 *__restrict__ q, const __half *__restrict__ d,
                                             const Block8 *__restrict__ y, float *__restrict__ out, int columns)
{
    const int WARPS = 4;
    __shared__ float part[WARPS - 1][ROWS][32];
    const int row = blockIdx.x * ROWS;
    const int tid = 32 * threadIdx.y + threadIdx.x;
    const int blocks = columns / 32;
    const int k = 2 * (tid % 2);
    float sum[ROWS] = {};
    for (int b = tid / 2; b < blocks; b += 16 * WARPS) {
        const int *yq = reinterpret_cast<const int *>(y[b].q);
        int u[4] = {yq[k], yq[k + 4], yq[k + 1], yq[k + 5]};
        __half2 ds = y[b].ds;
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            size_t at = (size_t)(row + r) * blocks + b;
            int2 v = q[2 * at + tid % 2];
            sum[r] += half_block(v.x, v.y, __half2float(d[at]), u, ds);
        }
    }
    if (threadIdx.y > 0)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            part[threadIdx.y - 1][r][threadIdx.x] = sum[r];
    __syncthreads();
    if (threadIdx.y > 0)
        return;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < WARPS - 1; i++)
            sum[r] += part[i][r][threadIdx.x];
        sum[r] = warp_sum(sum[r]);
        if (threadIdx.x == 0)
            out[row + r] = sum[r];
    }
}

__global__ void k66g(const int2 *__restrict__ q, const __half *__restrict__ d, const Block8 *__restrict__ y,
                     float *__restrict__ out, int columns)
{
    rows_product<1>(q, d, y, out, columns);
}

// The number of rows is a multiple of 4.
__global__ void k66h(const int2 *__restrict__ q, const __half *__restrict__ d, const Block8 *__restrict__ y,
                     float *__restrict__ out, int columns)
{
    rows_product<4>(q, d, y, out, columns);
}

__global__ void make_weights(Block4 *w, __half *d, unsigned char *q, size_t blocks)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < blocks; i += (size_t)gridDim.x * blockDim.x) {
        __half s = __float2half(0.005f + 0.01f * (scrambled(i, 663) / 4294967296.0f));
        w[i].d = s;
        d[i] = s;
        for (int j = 0; j < 16; j++) {
            unsigned char b = scrambled(16 * i + j, 664) & 255;
            w[i].q[j] = b;
            q[16 * i + j] = b;
        }
    }
}

template <class T> __global__ void pick(const T *from, const size_t *where, T *to, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[where[i]];
}

template <class T> __global__ void count_different(const T *a, const T *b, size_t n, float tolerance, unsigned *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float x = float(a[i]), y = float(b[i]);
        if (!(fabsf(x - y) <= tolerance * fmaxf(1.0f, fabsf(y))))
            atomicAdd(count, 1u);
    }
}

int main()
{
    {
        const int n = 8192 * 10240, group = 64, n_bytes = n / 2;
        unsigned char *packed = input<unsigned char>(n_bytes, 661, 0, 256);
        float *scale = input<float>(n / group, 662, 0.01, 0.1);
        MUST(cudaMemcpyToSymbol(table, CODES, sizeof(CODES)));

        std::vector<size_t> where;
        for (size_t i = 0; i < (size_t)n; i += 1009)
            where.push_back(i);
        where.push_back(n - 1);
        std::vector<__half> want(where.size());
        {
            std::vector<unsigned char> p = on_host(packed, n_bytes);
            std::vector<float> s = on_host(scale, n / group);
            for (size_t i = 0; i < where.size(); i++) {
                unsigned char b = p[where[i] / 2];
                want[i] = __float2half(CODES[where[i] % 2 ? b & 15 : b >> 4] * s[where[i] / group]);
            }
        }
        size_t *where_d = on_device(where);
        __half *picked = output<__half>(where.size());
        __half *first = output<__half>(n), *out = output<__half>(n);

        k66a<<<(n_bytes + TILE - 1) / TILE, THREADS>>>(packed, scale, first, group, n_bytes);
        pick<<<(where.size() + 255) / 256, 256>>>(first, where_d, picked, where.size());
        check("k66a", picked, want, 1e-4);

        auto compare = [&](const char *name) {
            MUST(cudaGetLastError());
            unsigned *count = zeroed<unsigned>(1);
            count_different<<<1056, 256>>>(out, first, n, 1e-4f, count);
            check(name, count, std::vector<unsigned>(1, 0u), 0.0);
            MUST(cudaFree(count));
            MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
        };
        k66b<<<(n_bytes + TILE - 1) / TILE, THREADS>>>(packed, scale, out, group, n_bytes);
        compare("k66b");
        k66c<<<(n_bytes / 4 + 255) / 256, 256>>>(reinterpret_cast<unsigned *>(packed), scale,
                                                 reinterpret_cast<uint4 *>(out), group, n_bytes);
        compare("k66c");
        MUST(cudaFree(packed));
        MUST(cudaFree(scale));
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }

    const int rows = 28672, columns = 8192, blocks = columns / 32;
    Block4 *w = output<Block4>((size_t)rows * blocks);
    __half *d = output<__half>((size_t)rows * blocks);
    unsigned char *q = output<unsigned char>((size_t)rows * blocks * 16);
    make_weights<<<1056, 256>>>(w, d, q, (size_t)rows * blocks);
    MUST(cudaDeviceSynchronize());

    std::vector<Block8> y8(blocks);
    std::vector<float> y(columns);
    for (int b = 0; b < blocks; b++) {
        __half s = __float2half(0.004f + 0.004f * (scrambled(b, 665) / 4294967296.0f));
        float sum = 0.0f;
        for (int j = 0; j < 32; j++) {
            int v = int(scrambled(32 * b + j, 666) % 255) - 127;
            y8[b].q[j] = (signed char)v;
            y[32 * b + j] = __half2float(s) * v;
            sum += y[32 * b + j];
        }
        y8[b].ds = __halves2half2(s, __float2half(sum));
    }
    float *y_d = on_device(y);
    Block8 *y8_d = on_device(y8);

    std::vector<size_t> where;
    for (int r = 0; r < rows; r += 29)
        where.push_back(r);
    where.push_back(rows - 1);
    std::vector<float> want(where.size());
    for (size_t i = 0; i < where.size(); i++) {
        std::vector<Block4> row = on_host(w + where[i] * blocks, blocks);
        double sum = 0.0;
        for (int b = 0; b < blocks; b++)
            for (int j = 0; j < 16; j++) {
                double s = __half2float(row[b].d);
                sum += s * ((row[b].q[j] & 15) - 8) * y[32 * b + j];
                sum += s * ((row[b].q[j] >> 4) - 8) * y[32 * b + j + 16];
            }
        want[i] = float(sum);
    }
    size_t *where_d = on_device(where);
    float *picked = output<float>(where.size());
    float *out = output<float>(rows);
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, rows * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick<<<(where.size() + 255) / 256, 256>>>(out, where_d, picked, where.size());
        check(name, picked, want, 2e-2);
    };
    const int2 *q2 = reinterpret_cast<const int2 *>(q);
    launch_and_check("k66d", [&] { k66d<<<rows, dim3(32, 1)>>>(w, y_d, out, columns, rows); });
    launch_and_check("k66e", [&] { k66e<<<rows, dim3(32, 1)>>>(w, y8_d, out, columns, rows); });
    launch_and_check("k66f", [&] { k66f<<<rows, dim3(32, 4)>>>(w, y8_d, out, columns, rows); });
    launch_and_check("k66g", [&] { k66g<<<rows, dim3(32, 4)>>>(q2, d, y8_d, out, columns); });
    launch_and_check("k66h", [&] { k66h<<<rows / 4, dim3(32, 4)>>>(q2, d, y8_d, out, columns); });
    return 0;
}
