// Table of Manhattan distances between two sets of feature vectors, and bilinear enlargement of feature maps by two.
#include "../harness.h"

#include <algorithm>
#include <functional>

const int ROWS = 4096, COLUMNS = 2048, FEATURES = 128;

// a holds m vectors of d numbers, b holds n; the sides are multiples of the tiles.
__global__ void k162a(float *out, const float *a, const float *b, int m, int n, int d)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < m && j < n) {
        float sum = 0.0f;
        for (int k = 0; k < d; k++)
            sum += fabsf(a[i * d + k] - b[j * d + k]);
        out[i * n + j] = sum;
    }
}

__global__ void k162b(float *out, const float *a, const float *b, int n, int d)
{
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int j0 = blockIdx.x * 16, i0 = blockIdx.y * 16;
    float sum = 0.0f;
    for (int k0 = 0; k0 < d; k0 += 16) {
        as[ty][tx] = a[(i0 + ty) * d + k0 + tx];
        bs[ty][tx] = b[(j0 + ty) * d + k0 + tx];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += fabsf(as[ty][k] - bs[tx][k]);
        __syncthreads();
    }
    out[(i0 + ty) * n + j0 + tx] = sum;
}

__global__ void k162c(float *out, const float *a, const float *b, int n, int d)
{
    __shared__ float as[16][17], bs[16][17];
    int tx = threadIdx.x, ty = threadIdx.y;
    int j0 = blockIdx.x * 16, i0 = blockIdx.y * 16;
    float sum = 0.0f;
    for (int k0 = 0; k0 < d; k0 += 16) {
        as[ty][tx] = a[(i0 + ty) * d + k0 + tx];
        bs[ty][tx] = b[(j0 + ty) * d + k0 + tx];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += fabsf(as[ty][k] - bs[tx][k]);
        __syncthreads();
    }
    out[(i0 + ty) * n + j0 + tx] = sum;
}

// Blocks of 32 x 8 threads make 64 rows of 32 results.
__global__ void k162d(float *out, const float *a, const float *b, int n, int d)
{
    __shared__ float as[64][33], bs[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    int j0 = blockIdx.x * 32, i0 = blockIdx.y * 64;
    float sum[8] = {};
    for (int k0 = 0; k0 < d; k0 += 32) {
#pragma unroll
        for (int r = 0; r < 64; r += 8)
            as[r + ty][tx] = a[(i0 + r + ty) * d + k0 + tx];
#pragma unroll
        for (int r = 0; r < 32; r += 8)
            bs[r + ty][tx] = b[(j0 + r + ty) * d + k0 + tx];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; k++) {
            float other = bs[tx][k];
#pragma unroll
            for (int r = 0; r < 8; r++)
                sum[r] += fabsf(as[ty * 8 + r][k] - other);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
        out[(i0 + ty * 8 + r) * n + j0 + tx] = sum[r];
}

const int CHUNK = 16, PITCH = 132;

// Four features of one vector, put down feature by feature.
__device__ inline void put(float *to, float4 v)
{
    to[0] = v.x;
    to[PITCH] = v.y;
    to[2 * PITCH] = v.z;
    to[3 * PITCH] = v.w;
}

// Blocks of 256 threads make 128 x 128 results.
__global__ void __launch_bounds__(256, 2) k162e(float *__restrict__ out, const float *__restrict__ a, const float *__restrict__ b, int n, int d)
{
    __shared__ __align__(16) float as[CHUNK * PITCH], bs[CHUNK * PITCH];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int vector = t / 4, feature = t % 4 * 4;
    const float *from_a = a + (blockIdx.y * 128 + vector) * d + feature;
    const float *from_b = b + (blockIdx.x * 128 + vector) * d + feature;
    float4 a0 = *reinterpret_cast<const float4 *>(from_a), a1 = *reinterpret_cast<const float4 *>(from_a + 64 * d);
    float4 b0 = *reinterpret_cast<const float4 *>(from_b), b1 = *reinterpret_cast<const float4 *>(from_b + 64 * d);
    float sum[8][8] = {};
    for (int k0 = 0; k0 < d; k0 += CHUNK) {
        put(as + feature * PITCH + vector, a0);
        put(as + feature * PITCH + vector + 64, a1);
        put(bs + feature * PITCH + vector, b0);
        put(bs + feature * PITCH + vector + 64, b1);
        __syncthreads();
        if (k0 + CHUNK < d) {
            from_a += CHUNK;
            from_b += CHUNK;
            a0 = *reinterpret_cast<const float4 *>(from_a);
            a1 = *reinterpret_cast<const float4 *>(from_a + 64 * d);
            b0 = *reinterpret_cast<const float4 *>(from_b);
            b1 = *reinterpret_cast<const float4 *>(from_b + 64 * d);
        }
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
            float4 l = *reinterpret_cast<const float4 *>(as + k * PITCH + ty * 4);
            float4 h = *reinterpret_cast<const float4 *>(as + k * PITCH + 64 + ty * 4);
            float4 p = *reinterpret_cast<const float4 *>(bs + k * PITCH + tx * 4);
            float4 q = *reinterpret_cast<const float4 *>(bs + k * PITCH + 64 + tx * 4);
            float u[8] = {l.x, l.y, l.z, l.w, h.x, h.y, h.z, h.w}, v[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] += fabsf(u[i] - v[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float *to = out + (blockIdx.y * 128 + i / 4 * 64 + ty * 4 + i % 4) * n + blockIdx.x * 128 + tx * 4;
        *reinterpret_cast<float4 *>(to) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *reinterpret_cast<float4 *>(to + 64) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}

const int PLANES = 512, SIDE = 256;

__global__ void k162f(float *out, const float *in, int planes, int ih, int iw, int oh, int ow)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * oh * ow)
        return;
    int x = i % ow, y = i / ow % oh, plane = i / (ow * oh);
    float sy = fmaxf((y + 0.5) * ih / oh - 0.5, 0.0f), sx = fmaxf((x + 0.5) * iw / ow - 0.5, 0.0f);
    int y0 = (int)sy, x0 = (int)sx, y1 = min(y0 + 1, ih - 1), x1 = min(x0 + 1, iw - 1);
    float fy = sy - y0, fx = sx - x0;
    const float *p = in + plane * ih * iw;
    out[i] = (1.0 - fy) * ((1.0 - fx) * p[y0 * iw + x0] + fx * p[y0 * iw + x1]) + fy * ((1.0 - fx) * p[y1 * iw + x0] + fx * p[y1 * iw + x1]);
}

__global__ void k162g(float *out, const float *in, int planes, int ih, int iw, int oh, int ow, float scale_y, float scale_x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * oh * ow)
        return;
    int x = i % ow, y = i / ow % oh, plane = i / (ow * oh);
    float sy = fmaxf((y + 0.5f) * scale_y - 0.5f, 0.0f), sx = fmaxf((x + 0.5f) * scale_x - 0.5f, 0.0f);
    int y0 = (int)sy, x0 = (int)sx, y1 = min(y0 + 1, ih - 1), x1 = min(x0 + 1, iw - 1);
    float fy = sy - y0, fx = sx - x0;
    const float *p = in + plane * ih * iw;
    out[i] = (1.0f - fy) * ((1.0f - fx) * p[y0 * iw + x0] + fx * p[y0 * iw + x1]) + fy * ((1.0f - fx) * p[y1 * iw + x0] + fx * p[y1 * iw + x1]);
}

// Four results from four neighbours in a row.
__device__ inline float4 along(float l, float2 m, float r)
{
    return make_float4(0.25f * l + 0.75f * m.x, 0.75f * m.x + 0.25f * m.y, 0.25f * m.x + 0.75f * m.y, 0.75f * m.y + 0.25f * r);
}

__device__ inline float4 mix(float4 far, float4 near)
{
    return make_float4(0.25f * far.x + 0.75f * near.x, 0.25f * far.y + 0.75f * near.y, 0.25f * far.z + 0.75f * near.z, 0.25f * far.w + 0.75f * near.w);
}

// A thread makes two rows of four; blocks of 32 x 8 threads, twice the width of the input.
__global__ void k162h(float *__restrict__ out, const float *__restrict__ in, int ih, int iw)
{
    int c = (blockIdx.x * 32 + threadIdx.x) * 2, y = blockIdx.y * 8 + threadIdx.y;
    const float *p = in + (size_t)blockIdx.z * ih * iw;
    float4 row[3];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const float *line = p + min(max(y + r - 1, 0), ih - 1) * iw;
        row[r] = along(line[max(c - 1, 0)], *reinterpret_cast<const float2 *>(line + c), line[min(c + 2, iw - 1)]);
    }
    float4 *to = reinterpret_cast<float4 *>(out + ((size_t)blockIdx.z * 2 * ih + 2 * y) * 2 * iw + 2 * c);
    to[0] = mix(row[0], row[1]);
    to[iw / 2] = mix(row[2], row[1]);
}

__global__ void k162i(float *__restrict__ out, const float *__restrict__ in, int ih, int iw)
{
    __shared__ __align__(8) float tile[10][68];
    const float *p = in + (size_t)blockIdx.z * ih * iw;
    for (int r = threadIdx.y; r < 10; r += 8) {
        const float *line = p + min(max((int)blockIdx.y * 8 + r - 1, 0), ih - 1) * iw;
        for (int s = threadIdx.x; s < 66; s += 32)
            tile[r][s + 1] = line[min(max((int)blockIdx.x * 64 + s - 1, 0), iw - 1)];
    }
    __syncthreads();
    int c = (blockIdx.x * 32 + threadIdx.x) * 2, y = blockIdx.y * 8 + threadIdx.y;
    float4 row[3];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const float *line = tile[threadIdx.y + r] + 2 * threadIdx.x + 2;
        row[r] = along(line[-1], *reinterpret_cast<const float2 *>(line), line[2]);
    }
    float4 *to = reinterpret_cast<float4 *>(out + ((size_t)blockIdx.z * 2 * ih + 2 * y) * 2 * iw + 2 * c);
    to[0] = mix(row[0], row[1]);
    to[iw / 2] = mix(row[2], row[1]);
}

int main()
{
    const size_t results = (size_t)ROWS * COLUMNS;
    float *a = input<float>((size_t)ROWS * FEATURES, 1621, -1.0, 1.0), *b = input<float>((size_t)COLUMNS * FEATURES, 1622, -1.0, 1.0);
    float *table = output<float>(results);
    std::vector<float> ha = on_host(a, (size_t)ROWS * FEATURES), hb = on_host(b, (size_t)COLUMNS * FEATURES);
    // Rows 0, 63, ..., 4095.
    const int every = 63, rows = (ROWS - 1) / every + 1;
    std::vector<float> want((size_t)rows * COLUMNS);
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < COLUMNS; j++) {
            float sum = 0.0f;
            for (int k = 0; k < FEATURES; k++)
                sum += std::fabs(ha[(size_t)r * every * FEATURES + k] - hb[(size_t)j * FEATURES + k]);
            want[(size_t)r * COLUMNS + j] = sum;
        }
    float *picked = output<float>(want.size());
    auto distances = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(table, 0xA5, results * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t line = COLUMNS * sizeof(float);
        MUST(cudaMemcpy2D(picked, line, table, every * line, line, rows, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-5);
    };
    dim3 small(COLUMNS / 16, ROWS / 16), square(16, 16);
    distances("k162a", [&] { k162a<<<small, square>>>(table, a, b, ROWS, COLUMNS, FEATURES); });
    distances("k162b", [&] { k162b<<<small, square>>>(table, a, b, COLUMNS, FEATURES); });
    distances("k162c", [&] { k162c<<<small, square>>>(table, a, b, COLUMNS, FEATURES); });
    distances("k162d", [&] { k162d<<<dim3(COLUMNS / 32, ROWS / 64), dim3(32, 8)>>>(table, a, b, COLUMNS, FEATURES); });
    distances("k162e", [&] { k162e<<<dim3(COLUMNS / 128, ROWS / 128), 256>>>(table, a, b, COLUMNS, FEATURES); });

    const int wide = 2 * SIDE, small_plane = SIDE * SIDE, large_plane = wide * wide;
    float *maps = input<float>((size_t)PLANES * small_plane, 1623, -1.0, 1.0), *large = output<float>((size_t)PLANES * large_plane);
    // Planes 0, 73, ..., 511.
    const int skip = 73, taken = (PLANES - 1) / skip + 1;
    std::vector<float> host((size_t)taken * small_plane), enlarged((size_t)taken * large_plane);
    const size_t in_bytes = small_plane * sizeof(float), out_bytes = large_plane * sizeof(float);
    MUST(cudaMemcpy2D(host.data(), in_bytes, maps, skip * in_bytes, in_bytes, taken, cudaMemcpyDeviceToHost));
    for (int t = 0; t < taken; t++)
        for (int y = 0; y < wide; y++)
            for (int x = 0; x < wide; x++) {
                float sy = std::max((y + 0.5f) * 0.5f - 0.5f, 0.0f), sx = std::max((x + 0.5f) * 0.5f - 0.5f, 0.0f);
                int y0 = (int)sy, x0 = (int)sx, y1 = std::min(y0 + 1, SIDE - 1), x1 = std::min(x0 + 1, SIDE - 1);
                float fy = sy - y0, fx = sx - x0;
                const float *p = &host[(size_t)t * small_plane];
                enlarged[(size_t)t * large_plane + y * wide + x] = (1 - fy) * ((1 - fx) * p[y0 * SIDE + x0] + fx * p[y0 * SIDE + x1]) +
                                                                   fy * ((1 - fx) * p[y1 * SIDE + x0] + fx * p[y1 * SIDE + x1]);
            }
    float *some = output<float>(enlarged.size());
    auto enlarge = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(large, 0xA5, PLANES * out_bytes));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, out_bytes, large, skip * out_bytes, out_bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, enlarged, 1e-5);
    };
    const int each = PLANES * (large_plane / 256);
    dim3 tiles(SIDE / 64, SIDE / 8, PLANES), block(32, 8);
    enlarge("k162f", [&] { k162f<<<each, 256>>>(large, maps, PLANES, SIDE, SIDE, wide, wide); });
    enlarge("k162g", [&] { k162g<<<each, 256>>>(large, maps, PLANES, SIDE, SIDE, wide, wide, 0.5f, 0.5f); });
    enlarge("k162h", [&] { k162h<<<tiles, block>>>(large, maps, SIDE, SIDE); });
    enlarge("k162i", [&] { k162i<<<tiles, block>>>(large, maps, SIDE, SIDE); });
    return 0;
}
