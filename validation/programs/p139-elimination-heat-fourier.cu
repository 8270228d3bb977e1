// One step of Gaussian elimination on 8192 equations; a 7-point heat step on 512^3 points with insulated walls; a
// million Fourier transforms of 32 points.
#include "../harness.h"

#include <algorithm>

const int SIZE = 8192;

// Step t takes multiples of row t from the rows below it.
__global__ void k139a(const float *m, float *a, float *b, int size, int t)
{
    int xidx = blockIdx.x * blockDim.x + threadIdx.x;
    int yidx = blockIdx.y * blockDim.y + threadIdx.y;
    if (xidx >= size - 1 - t || yidx >= size - t)
        return;
    a[size * (xidx + 1 + t) + (yidx + t)] -= m[xidx + 1 + t] * a[size * t + (yidx + t)];
    if (yidx == 0)
        b[xidx + 1 + t] -= m[xidx + 1 + t] * b[t];
}

__global__ void k139b(const float *m, float *a, float *b, int size, int t)
{
    int xidx = blockIdx.x * blockDim.x + threadIdx.x;
    int yidx = blockIdx.y * blockDim.y + threadIdx.y;
    if (xidx >= size - t || yidx >= size - 1 - t)
        return;
    a[size * (yidx + 1 + t) + (xidx + t)] -= m[yidx + 1 + t] * a[size * t + (xidx + t)];
    if (xidx == 0)
        b[yidx + 1 + t] -= m[yidx + 1 + t] * b[t];
}

// Left of column t row t is zero already, so that starting a little before it does no harm.
__global__ void k139c(const float *m, float *a, float *b, int size, int t)
{
    int xidx = blockIdx.x * blockDim.x + threadIdx.x;
    int yidx = blockIdx.y * blockDim.y + threadIdx.y;
    int column = t / 4 * 4 + xidx * 4, row = yidx + 1 + t;
    if (column >= size || row >= size)
        return;
    float4 pivot = *reinterpret_cast<const float4 *>(a + size * t + column);
    float4 *at = reinterpret_cast<float4 *>(a + size * row + column);
    float4 v = *at;
    float f = m[row];
    v.x -= f * pivot.x;
    v.y -= f * pivot.y;
    v.z -= f * pivot.z;
    v.w -= f * pivot.w;
    *at = v;
    if (xidx == 0)
        b[row] -= f * b[t];
}

const int N = 512, PLANE = N * N, DEPTH = 64;

__global__ void k139d(float *out, const float *in, int n, float cc, float cx, float cy, float cz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= n || y >= n)
        return;
    int plane = n * n, c = z * plane + y * n + x;
    int w = x == 0 ? c : c - 1, e = x == n - 1 ? c : c + 1;
    int s = y == 0 ? c : c - n, t = y == n - 1 ? c : c + n;
    int below = z == 0 ? c : c - plane, above = z == n - 1 ? c : c + plane;
    out[c] = cc * in[c] + cx * (in[w] + in[e]) + cy * (in[s] + in[t]) + cz * (in[below] + in[above]);
}

// A thread goes up through DEPTH planes.
__global__ void k139e(float *__restrict__ out, const float *__restrict__ in, int n, float cc, float cx, float cy,
                      float cz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    int first = blockIdx.z * DEPTH, plane = n * n, c = y * n + x;
    int w = x == 0 ? c : c - 1, e = x == n - 1 ? c : c + 1;
    int s = y == 0 ? c : c - n, t = y == n - 1 ? c : c + n;
    float below = in[max(first - 1, 0) * plane + c], here = in[first * plane + c];
    float above = in[min(first + 1, n - 1) * plane + c];
#pragma unroll 4
    for (int z = first; z < first + DEPTH; z++) {
        float far = in[min(z + 2, n - 1) * plane + c];
        const float *p = in + z * plane;
        out[z * plane + c] = cc * here + cx * (p[w] + p[e]) + cy * (p[s] + p[t]) + cz * (below + above);
        below = here;
        here = above;
        above = far;
    }
}

const int POINTS = 32, BATCH = 1 << 20;

// The powers of exp(-2 pi i / 32).
__constant__ float2 root[POINTS];

// Signals lie side by side: point n of all signals, then point n + 1 of all signals.
__global__ void k139f(float2 *__restrict__ out, const float2 *__restrict__ in, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    float2 v[POINTS];
#pragma unroll
    for (int n = 0; n < POINTS; n++)
        v[n] = in[n * batch + b];
#pragma unroll 1
    for (int k = 0; k < POINTS; k++) {
        float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int n = 0; n < POINTS; n++) {
            float s, c;
            sincosf(-6.2831853f / POINTS * (k * n), &s, &c);
            sum.x += v[n].x * c - v[n].y * s;
            sum.y += v[n].x * s + v[n].y * c;
        }
        out[k * batch + b] = sum;
    }
}

__global__ void k139g(float2 *__restrict__ out, const float2 *__restrict__ in, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    float2 v[POINTS];
#pragma unroll
    for (int n = 0; n < POINTS; n++)
        v[n] = in[n * batch + b];
#pragma unroll 1
    for (int k = 0; k < POINTS; k++) {
        float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int n = 0; n < POINTS; n++) {
            float2 r = root[k * n % POINTS];
            sum.x += v[n].x * r.x - v[n].y * r.y;
            sum.y += v[n].x * r.y + v[n].y * r.x;
        }
        out[k * batch + b] = sum;
    }
}

template <int HALF> __device__ inline void stage(float2 (&v)[POINTS])
{
#pragma unroll
    for (int start = 0; start < POINTS; start += 2 * HALF)
#pragma unroll
        for (int j = 0; j < HALF; j++) {
            float2 p = v[start + j], q = v[start + j + HALF], r = root[j * (POINTS / 2 / HALF)];
            float2 d = make_float2(p.x - q.x, p.y - q.y);
            v[start + j] = make_float2(p.x + q.x, p.y + q.y);
            v[start + j + HALF] = j == 0 ? d : make_float2(d.x * r.x - d.y * r.y, d.x * r.y + d.y * r.x);
        }
}

__global__ void __launch_bounds__(128) k139h(float2 *__restrict__ out, const float2 *__restrict__ in, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    float2 v[POINTS];
#pragma unroll
    for (int n = 0; n < POINTS; n++)
        v[n] = in[n * batch + b];
    stage<16>(v);
    stage<8>(v);
    stage<4>(v);
    stage<2>(v);
    stage<1>(v);
#pragma unroll
    for (int n = 0; n < POINTS; n++) {
        int k = (n & 1) << 4 | (n & 2) << 2 | (n & 4) | (n & 8) >> 2 | (n & 16) >> 4;
        out[k * batch + b] = v[n];
    }
}

__global__ void fill_multipliers(float *m, const float *a, int size, int t)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        m[i] = a[size * i + t] / a[size * t + t];
}

void elimination()
{
    const size_t n = (size_t)SIZE * SIZE;
    float *given = input<float>(n, 1391, 0.5, 1.5), *given_b = input<float>(SIZE, 1392, 0.5, 1.5);
    float *a = output<float>(n), *b = output<float>(SIZE), *m = output<float>(SIZE);
    fill_multipliers<<<SIZE / 256, 256>>>(m, given, SIZE, 0);
    MUST(cudaDeviceSynchronize());
    // Every 63rd row of a on the host, and all of b.
    const int every = 63, chosen = (SIZE - 1) / every + 1;
    std::vector<float> want((size_t)(chosen + 1) * SIZE), pivot = on_host(given, SIZE);
    std::vector<float> hb = on_host(given_b, SIZE), hm = on_host(m, SIZE);
    const size_t line = SIZE * sizeof(float);
    MUST(cudaMemcpy2D(want.data(), line, given, every * line, line, chosen, cudaMemcpyDeviceToHost));
    for (int i = 1; i < chosen; i++)
        for (int j = 0; j < SIZE; j++)
            want[(size_t)i * SIZE + j] -= hm[i * every] * pivot[j];
    for (int i = 0; i < SIZE; i++)
        want[(size_t)chosen * SIZE + i] = i ? hb[i] - hm[i] * hb[0] : hb[0];
    float *some = output<float>(want.size());
    auto fresh = [&] {
        MUST(cudaMemcpy(a, given, n * sizeof(float), cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(b, given_b, line, cudaMemcpyDeviceToDevice));
    };
    auto compare = [&](const char *name) {
        MUST(cudaGetLastError());
        MUST(cudaMemcpy2D(some, line, a, every * line, line, chosen, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(some + (size_t)chosen * SIZE, b, line, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-5);
    };
    dim3 square(16, 16), squares(SIZE / 16, SIZE / 16);
    fresh();
    k139a<<<squares, square>>>(m, a, b, SIZE, 0);
    compare("k139a");
    fresh();
    k139b<<<squares, square>>>(m, a, b, SIZE, 0);
    compare("k139b");
    fresh();
    k139c<<<dim3(SIZE / 128, SIZE / 8), dim3(32, 8)>>>(m, a, b, SIZE, 0);
    compare("k139c");
    for (float *p : {given, given_b, a, b, m, some})
        MUST(cudaFree(p));
}

void heat()
{
    const size_t n = (size_t)N * PLANE;
    const float cc = 0.4f, cx = 0.12f, cy = 0.1f, cz = 0.08f;
    float *in = input<float>(n, 1393, 0.0, 10.0), *out = output<float>(n);
    std::vector<float> h = on_host(in, n);
    // Planes at the bottom, around a border of DEPTH planes, and at the top on the host.
    const int planes[5] = {0, 1, DEPTH - 1, DEPTH, N - 1};
    std::vector<float> want(5 * (size_t)PLANE);
    for (int i = 0; i < 5; i++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                int z = planes[i];
                auto at = [&](int dx, int dy, int dz) {
                    int a = std::min(std::max(x + dx, 0), N - 1), b = std::min(std::max(y + dy, 0), N - 1);
                    int c = std::min(std::max(z + dz, 0), N - 1);
                    return h[(size_t)c * PLANE + b * N + a];
                };
                want[i * (size_t)PLANE + y * N + x] = cc * at(0, 0, 0) + cx * (at(-1, 0, 0) + at(1, 0, 0)) +
                                                      cy * (at(0, -1, 0) + at(0, 1, 0)) +
                                                      cz * (at(0, 0, -1) + at(0, 0, 1));
            }
    float *some = output<float>(want.size());
    k139d<<<dim3(N / 64, N / 4, N), dim3(64, 4)>>>(out, in, N, cc, cx, cy, cz);
    MUST(cudaGetLastError());
    for (int i = 0; i < 5; i++)
        MUST(cudaMemcpy(some + (size_t)i * PLANE, out + (size_t)planes[i] * PLANE, PLANE * 4, cudaMemcpyDeviceToDevice));
    check("k139d", some, want, 1e-5);
    h = on_host(out, n);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k139e<<<dim3(N / 64, N / 4, N / DEPTH), dim3(64, 4)>>>(out, in, N, cc, cx, cy, cz);
    check("k139e", out, h, 1e-5);
    for (float *p : {in, out, some})
        MUST(cudaFree(p));
}

void transforms()
{
    const size_t n = (size_t)POINTS * BATCH * 2;
    std::vector<float2> powers(POINTS);
    std::vector<double> re(POINTS), im(POINTS);
    for (int k = 0; k < POINTS; k++) {
        re[k] = std::cos(2 * 3.14159265358979323846 * k / POINTS);
        im[k] = -std::sin(2 * 3.14159265358979323846 * k / POINTS);
        powers[k] = make_float2(float(re[k]), float(im[k]));
    }
    MUST(cudaMemcpyToSymbol(root, powers.data(), POINTS * sizeof(float2)));
    float *in = input<float>(n, 1394, -1.0, 1.0), *out = output<float>(n);
    // A stretch of signals in the middle and one at the end.
    const int stretch = 1024, starts[2] = {BATCH / 2 - 100, BATCH - stretch};
    const size_t row = (size_t)BATCH * 8, bytes = stretch * 8;
    std::vector<float> part((size_t)POINTS * stretch * 2), want(2 * part.size());
    for (int s = 0; s < 2; s++) {
        MUST(cudaMemcpy2D(part.data(), bytes, in + starts[s] * 2, row, bytes, POINTS, cudaMemcpyDeviceToHost));
        for (int k = 0; k < POINTS; k++)
            for (int b = 0; b < stretch; b++) {
                double x = 0, y = 0;
                for (int j = 0; j < POINTS; j++) {
                    double p = part[((size_t)j * stretch + b) * 2], q = part[((size_t)j * stretch + b) * 2 + 1];
                    x += p * re[k * j % POINTS] - q * im[k * j % POINTS];
                    y += p * im[k * j % POINTS] + q * re[k * j % POINTS];
                }
                want[s * part.size() + ((size_t)k * stretch + b) * 2] = float(x);
                want[s * part.size() + ((size_t)k * stretch + b) * 2 + 1] = float(y);
            }
    }
    float *some = output<float>(want.size());
    auto compare = [&](const char *name) {
        MUST(cudaGetLastError());
        for (int s = 0; s < 2; s++)
            MUST(cudaMemcpy2D(some + s * part.size(), bytes, out + starts[s] * 2, row, bytes, POINTS,
                              cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-3);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
    };
    k139f<<<BATCH / 128, 128>>>((float2 *)out, (const float2 *)in, BATCH);
    compare("k139f");
    k139g<<<BATCH / 128, 128>>>((float2 *)out, (const float2 *)in, BATCH);
    compare("k139g");
    k139h<<<BATCH / 128, 128>>>((float2 *)out, (const float2 *)in, BATCH);
    compare("k139h");
}

int main()
{
    elimination();
    heat();
    transforms();
    return 0;
}
