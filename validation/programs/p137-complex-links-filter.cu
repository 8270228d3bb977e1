// Lattice gauge theory: the matrix on each of four links of every site of a 32^4 lattice times one matrix per direction
// (3 x 3 complex numbers). Signal processing: a filter of 256 taps over 16 M samples.
#include "../harness.h"

const int SITES = 32 * 32 * 32 * 32, LINKS = 4 * SITES;

__device__ inline void add_product(float2 &sum, float2 a, float2 b)
{
    sum.x += a.x * b.x - a.y * b.y;
    sum.y += a.x * b.y + a.y * b.x;
}

// a and c: [site][direction][row][column]; b: [direction][row][column].
__global__ void k137a(float2 *c, const float2 *a, const float2 *b, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;
    for (int dir = 0; dir < 4; dir++)
        for (int row = 0; row < 3; row++)
            for (int col = 0; col < 3; col++) {
                float2 sum = make_float2(0.0f, 0.0f);
                for (int k = 0; k < 3; k++)
                    add_product(sum, a[(site * 4 + dir) * 9 + row * 3 + k], b[dir * 9 + k * 3 + col]);
                c[(site * 4 + dir) * 9 + row * 3 + col] = sum;
            }
}

// a and c: [row][column][direction][site].
__global__ void k137b(float2 *__restrict__ c, const float2 *__restrict__ a, const float2 *__restrict__ b, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x, dir = blockIdx.y;
    if (site >= sites)
        return;
    const int links = 4 * sites, link = dir * sites + site;
    float2 m[9];
#pragma unroll
    for (int e = 0; e < 9; e++)
        m[e] = a[e * links + link];
#pragma unroll
    for (int row = 0; row < 3; row++)
#pragma unroll
        for (int col = 0; col < 3; col++) {
            float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
            for (int k = 0; k < 3; k++)
                add_product(sum, m[row * 3 + k], b[dir * 9 + k * 3 + col]);
            c[(row * 3 + col) * links + link] = sum;
        }
}

// The same layout, two sites for each thread.
__global__ void k137c(float4 *__restrict__ c, const float4 *__restrict__ a, const float2 *__restrict__ b, int sites)
{
    int pair = blockIdx.x * blockDim.x + threadIdx.x, dir = blockIdx.y;
    if (pair >= sites / 2)
        return;
    const int pairs = 2 * sites, at = dir * (sites / 2) + pair;
    float4 m[9];
#pragma unroll
    for (int e = 0; e < 9; e++)
        m[e] = a[e * pairs + at];
#pragma unroll
    for (int row = 0; row < 3; row++)
#pragma unroll
        for (int col = 0; col < 3; col++) {
            float2 first = make_float2(0.0f, 0.0f), second = first;
#pragma unroll
            for (int k = 0; k < 3; k++) {
                float4 v = m[row * 3 + k];
                float2 w = b[dir * 9 + k * 3 + col];
                add_product(first, make_float2(v.x, v.y), w);
                add_product(second, make_float2(v.z, v.w), w);
            }
            c[(row * 3 + col) * pairs + at] = make_float4(first.x, first.y, second.x, second.y);
        }
}

const int TAPS = 256, SAMPLES = 1 << 24;

__constant__ float coefficient[TAPS];

// The coefficients are stored last one first, so that y[n] is the sum of h[k] x[n + k].
__global__ void k137d(float *y, const float *x, const float *h, int n, int taps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < taps; k++)
            sum += h[k] * x[i + k];
        y[i] = sum;
    }
}

__global__ void k137e(float *y, const float *x, int n, int taps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k < taps; k++)
            sum += coefficient[k] * x[i + k];
        y[i] = sum;
    }
}

__global__ void k137f(float *y, const float *x)
{
    __shared__ float tile[256 + TAPS];
    int base = blockIdx.x * 256, t = threadIdx.x;
    for (int e = t; e < 256 + TAPS; e += 256)
        tile[e] = x[base + e];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 16
    for (int k = 0; k < TAPS; k++)
        sum += coefficient[k] * tile[t + k];
    y[base + t] = sum;
}

const int THREADS = 128, RUN = 16;               // threads of a block, outputs of a thread
const int GROUPS = THREADS + TAPS / RUN;         // groups of RUN samples that a block needs

__global__ void k137g(float *__restrict__ y, const float *__restrict__ x)
{
    __shared__ float4 tile[GROUPS * 4];
    int t = threadIdx.x;
    const int base = blockIdx.x * THREADS * RUN;
    const float4 *src = reinterpret_cast<const float4 *>(x + base);
    for (int e = t; e < GROUPS * 4; e += THREADS)
        tile[e] = src[e];
    __syncthreads();

    float sum[RUN] = {}, x0[RUN], x1[RUN];
#pragma unroll
    for (int j = 0; j < 4; j++)
        *reinterpret_cast<float4 *>(x0 + 4 * j) = tile[t * 4 + j];
#pragma unroll 2
    for (int g = 0; g < TAPS / RUN; g++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            *reinterpret_cast<float4 *>(x1 + 4 * j) = tile[(t + g + 1) * 4 + j];
#pragma unroll
        for (int k = 0; k < RUN; k++)
#pragma unroll
            for (int r = 0; r < RUN; r++)
                sum[r] += coefficient[g * RUN + k] * (k + r < RUN ? x0[(k + r) % RUN] : x1[(k + r) % RUN]);
#pragma unroll
        for (int r = 0; r < RUN; r++)
            x0[r] = x1[r];
    }
    float4 *dst = reinterpret_cast<float4 *>(y + base + t * RUN);
#pragma unroll
    for (int j = 0; j < 4; j++)
        dst[j] = make_float4(sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]);
}

__global__ void k137h(float *__restrict__ y, const float *__restrict__ x)
{
    __shared__ float4 tile[GROUPS * 5];
    int t = threadIdx.x;
    const int base = blockIdx.x * THREADS * RUN;
    const float4 *src = reinterpret_cast<const float4 *>(x + base);
    for (int e = t; e < GROUPS * 4; e += THREADS)
        tile[e / 4 * 5 + e % 4] = src[e];
    __syncthreads();

    float sum[RUN] = {}, x0[RUN], x1[RUN];
#pragma unroll
    for (int j = 0; j < 4; j++)
        *reinterpret_cast<float4 *>(x0 + 4 * j) = tile[t * 5 + j];
#pragma unroll 2
    for (int g = 0; g < TAPS / RUN; g++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            *reinterpret_cast<float4 *>(x1 + 4 * j) = tile[(t + g + 1) * 5 + j];
#pragma unroll
        for (int k = 0; k < RUN; k++)
#pragma unroll
            for (int r = 0; r < RUN; r++)
                sum[r] += coefficient[g * RUN + k] * (k + r < RUN ? x0[(k + r) % RUN] : x1[(k + r) % RUN]);
#pragma unroll
        for (int r = 0; r < RUN; r++)
            x0[r] = x1[r];
    }
    float4 *dst = reinterpret_cast<float4 *>(y + base + t * RUN);
#pragma unroll
    for (int j = 0; j < 4; j++)
        dst[j] = make_float4(sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]);
}

// Writes a as [row][column][direction][site].
__global__ void fill_planes(float2 *planes, const float2 *a, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site < sites)
        for (int dir = 0; dir < 4; dir++)
            for (int e = 0; e < 9; e++)
                planes[(e * 4 + dir) * sites + site] = a[(site * 4 + dir) * 9 + e];
}

// The matrices of every 64th site from either layout.
__global__ void fill_some(float2 *some, const float2 *c, int sites, bool planes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, site = i * 64;
    if (site < sites)
        for (int dir = 0; dir < 4; dir++)
            for (int e = 0; e < 9; e++)
                some[(i * 4 + dir) * 9 + e] = planes ? c[(e * 4 + dir) * sites + site] : c[(site * 4 + dir) * 9 + e];
}

int main()
{
    const size_t numbers = (size_t)LINKS * 18, bytes = numbers * sizeof(float);
    float *a = input<float>(numbers, 1371, -1.0, 1.0), *b = input<float>(72, 1372, -1.0, 1.0);
    float *planes = output<float>(numbers), *c = output<float>(numbers);
    const int chosen = SITES / 64;
    float *some = output<float>((size_t)chosen * 72);
    std::vector<float> hb = on_host(b, 72), ha, want((size_t)chosen * 72);
    fill_some<<<chosen / 256, 256>>>((float2 *)some, (const float2 *)a, SITES, false);
    MUST(cudaDeviceSynchronize());
    ha = on_host(some, (size_t)chosen * 72);
    for (int link = 0; link < chosen * 4; link++)
        for (int row = 0; row < 3; row++)
            for (int col = 0; col < 3; col++) {
                double re = 0, im = 0;
                for (int k = 0; k < 3; k++) {
                    const float *p = &ha[(size_t)link * 18 + (row * 3 + k) * 2];
                    const float *q = &hb[link % 4 * 18 + (k * 3 + col) * 2];
                    re += double(p[0]) * q[0] - double(p[1]) * q[1];
                    im += double(p[0]) * q[1] + double(p[1]) * q[0];
                }
                want[(size_t)link * 18 + (row * 3 + col) * 2] = float(re);
                want[(size_t)link * 18 + (row * 3 + col) * 2 + 1] = float(im);
            }
    fill_planes<<<SITES / 256, 256>>>((float2 *)planes, (const float2 *)a, SITES);
    MUST(cudaDeviceSynchronize());
    auto compare = [&](const char *name, bool in_planes) {
        MUST(cudaGetLastError());
        MUST(cudaMemset(some, 0xA5, want.size() * sizeof(float)));
        fill_some<<<chosen / 256, 256>>>((float2 *)some, (const float2 *)c, SITES, in_planes);
        check(name, some, want, 1e-5);
        MUST(cudaMemset(c, 0xA5, bytes));
    };
    const float2 *factor = (const float2 *)b;
    k137a<<<SITES / 256, 256>>>((float2 *)c, (const float2 *)a, factor, SITES);
    compare("k137a", false);
    k137b<<<dim3(SITES / 256, 4), 256>>>((float2 *)c, (const float2 *)planes, factor, SITES);
    compare("k137b", true);
    k137c<<<dim3(SITES / 512, 4), 256>>>((float4 *)c, (const float4 *)planes, factor, SITES);
    compare("k137c", true);

    float *x = input<float>(SAMPLES + TAPS, 1373, -1.0, 1.0), *h = input<float>(TAPS, 1374, -0.2, 0.2);
    float *y = output<float>(SAMPLES);
    MUST(cudaMemcpyToSymbol(coefficient, h, TAPS * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hx = on_host(x, SAMPLES + TAPS), hh = on_host(h, TAPS);
    // Outputs of three stretches on the host: at the start, in the middle, at the end.
    const int stretch = 8192;
    const int starts[3] = {0, SAMPLES / 2 - 1000, SAMPLES - stretch};
    std::vector<float> exact(3 * stretch);
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < stretch; i++) {
            double sum = 0;
            for (int k = 0; k < TAPS; k++)
                sum += double(hh[k]) * hx[starts[s] + i + k];
            exact[s * stretch + i] = float(sum);
        }
    float *parts = output<float>(3 * stretch);
    k137d<<<SAMPLES / 256, 256>>>(y, x, h, SAMPLES, TAPS);
    MUST(cudaGetLastError());
    for (int s = 0; s < 3; s++)
        MUST(cudaMemcpy(parts + s * stretch, y + starts[s], stretch * sizeof(float), cudaMemcpyDeviceToDevice));
    check("k137d", parts, exact, 1e-4);
    std::vector<float> all = on_host(y, SAMPLES);
    MUST(cudaMemset(y, 0xA5, SAMPLES * sizeof(float)));
    k137e<<<SAMPLES / 256, 256>>>(y, x, SAMPLES, TAPS);
    check("k137e", y, all, 1e-4);
    MUST(cudaMemset(y, 0xA5, SAMPLES * sizeof(float)));
    k137f<<<SAMPLES / 256, 256>>>(y, x);
    check("k137f", y, all, 1e-4);
    MUST(cudaMemset(y, 0xA5, SAMPLES * sizeof(float)));
    k137g<<<SAMPLES / (THREADS * RUN), THREADS>>>(y, x);
    check("k137g", y, all, 1e-4);
    MUST(cudaMemset(y, 0xA5, SAMPLES * sizeof(float)));
    k137h<<<SAMPLES / (THREADS * RUN), THREADS>>>(y, x);
    check("k137h", y, all, 1e-4);
    return 0;
}
