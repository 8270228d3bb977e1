// Many discrete Fourier transforms of 64 complex numbers.
#include "../harness.h"

const int N = 64;

// One output per thread; 256 threads make four transforms.
__global__ void k29a(const float2 *x, float2 *X)
{
    int k = threadIdx.x % N;
    size_t base = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / N * N;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int n = 0; n < N; n++) {
        float s, c;
        sincosf(-6.2831853f / N * (float)(k * n), &s, &c);
        float2 v = x[base + n];
        sum.x += v.x * c - v.y * s;
        sum.y += v.x * s + v.y * c;
    }
    X[base + k] = sum;
}

__global__ void k29b(const float2 *x, float2 *X)
{
    __shared__ float2 root[N];
    if (threadIdx.x < N)
        sincospif(-2.0f / N * threadIdx.x, &root[threadIdx.x].y, &root[threadIdx.x].x);
    __syncthreads();
    int k = threadIdx.x % N;
    size_t base = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / N * N;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int n = 0; n < N; n++) {
        float2 w = root[k * n % N];
        float2 v = x[base + n];
        sum.x += v.x * w.x - v.y * w.y;
        sum.y += v.x * w.y + v.y * w.x;
    }
    X[base + k] = sum;
}

__device__ inline float2 operator+(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

__device__ inline float2 operator-(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

__device__ inline float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Radix 2: 32 threads for each transform, 256 threads make eight.
__global__ void k29c(const float2 *x, float2 *X)
{
    __shared__ float2 data[8][N];
    __shared__ float2 root[N / 2];
    if (threadIdx.x < N / 2)
        sincospif(-2.0f / N * threadIdx.x, &root[threadIdx.x].y, &root[threadIdx.x].x);
    int t = threadIdx.x % 32, which = threadIdx.x / 32;
    size_t base = ((size_t)blockIdx.x * 8 + which) * N;
    float2 *d = data[which];
    d[__brev(t) >> 26] = x[base + t];
    d[__brev(t + 32) >> 26] = x[base + t + 32];
    __syncthreads();
    for (int half = 1; half < N; half *= 2) {
        int j = t % half;
        int lower = t / half * 2 * half + j, upper = lower + half;
        float2 a = d[lower], b = d[upper] * root[j * (N / 2 / half)];
        d[lower] = a + b;
        d[upper] = a - b;
        __syncthreads();
    }
    X[base + t] = d[t];
    X[base + t + 32] = d[t + 32];
}

__device__ inline void dft4(float2 &a, float2 &b, float2 &c, float2 &d)
{
    float2 s = a + c, t = a - c, u = b + d, v = b - d;
    a = s + u;
    b = make_float2(t.x + v.y, t.y - v.x);
    c = s - u;
    d = make_float2(t.x - v.y, t.y + v.x);
}

__device__ inline void dft8(float2 (&v)[8])
{
    const float r = 0.70710678f;
    float2 e0 = v[0], e1 = v[2], e2 = v[4], e3 = v[6];
    float2 o0 = v[1], o1 = v[3], o2 = v[5], o3 = v[7];
    dft4(e0, e1, e2, e3);
    dft4(o0, o1, o2, o3);
    o1 = make_float2(r * (o1.x + o1.y), r * (o1.y - o1.x));
    o2 = make_float2(o2.y, -o2.x);
    o3 = make_float2(r * (o3.y - o3.x), -r * (o3.x + o3.y));
    v[0] = e0 + o0;
    v[1] = e1 + o1;
    v[2] = e2 + o2;
    v[3] = e3 + o3;
    v[4] = e0 - o0;
    v[5] = e1 - o1;
    v[6] = e2 - o2;
    v[7] = e3 - o3;
}

// 8 x 8: eight threads for each transform, 128 threads make 16.
__device__ inline void transform64(const float2 *x, float2 *X, float2 w)
{
    __shared__ float2 exchange[16][72];
    int t = threadIdx.x % 8, which = threadIdx.x / 8;
    size_t base = ((size_t)blockIdx.x * 16 + which) * N;
    float2 v[8];
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = x[base + t + 8 * j];
    dft8(v);
    float2 power = w;
#pragma unroll
    for (int j = 1; j < 8; j++) {
        v[j] = v[j] * power;
        power = power * w;
    }
#pragma unroll
    for (int j = 0; j < 8; j++)
        exchange[which][t * 9 + j] = v[j];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 8; j++)
        v[j] = exchange[which][j * 9 + t];
    dft8(v);
#pragma unroll
    for (int j = 0; j < 8; j++)
        X[base + t + 8 * j] = v[j];
}

__global__ void k29d(const float2 *x, float2 *X)
{
    float2 w;
    sincospif(-2.0f / N * (threadIdx.x % 8), &w.y, &w.x);
    transform64(x, X, w);
}

__global__ void k29e(const float2 *x, float2 *X)
{
    float2 w;
    __sincosf(-6.2831853f / N * (threadIdx.x % 8), &w.y, &w.x);
    transform64(x, X, w);
}

int main()
{
    const int batch = 160000;
    const size_t size = (size_t)batch * N;
    float *data = input<float>(2 * size, 291, -1.0, 1.0);
    const float2 *x = reinterpret_cast<float2 *>(data);
    float *result = output<float>(2 * size);
    float2 *X = reinterpret_cast<float2 *>(result);

    k29a<<<batch / 4, 256>>>(x, X);
    std::vector<float> first = on_host(result, 2 * size), got, want;
    std::vector<float> host = on_host(data, 2 * size);
    for (size_t b = 0; b < batch; b += 997)
        for (int k = 0; k < N; k++) {
            double re = 0.0, im = 0.0;
            for (int n = 0; n < N; n++) {
                double angle = -2.0 * M_PI * (k * n % N) / N, c = std::cos(angle), s = std::sin(angle);
                double vr = host[2 * (b * N + n)], vi = host[2 * (b * N + n) + 1];
                re += vr * c - vi * s;
                im += vr * s + vi * c;
            }
            got.push_back(first[2 * (b * N + k)]);
            got.push_back(first[2 * (b * N + k) + 1]);
            want.push_back(float(re));
            want.push_back(float(im));
        }
    check("k29a", on_device(got), want, 2e-3);

    MUST(cudaMemset(result, 0xA5, 2 * size * sizeof(float)));
    k29b<<<batch / 4, 256>>>(x, X);
    check("k29b", result, first, 2e-3);

    MUST(cudaMemset(result, 0xA5, 2 * size * sizeof(float)));
    k29c<<<batch / 8, 256>>>(x, X);
    check("k29c", result, first, 2e-3);

    MUST(cudaMemset(result, 0xA5, 2 * size * sizeof(float)));
    k29d<<<batch / 16, 128>>>(x, X);
    check("k29d", result, first, 2e-3);

    MUST(cudaMemset(result, 0xA5, 2 * size * sizeof(float)));
    k29e<<<batch / 16, 128>>>(x, X);
    check("k29e", result, first, 2e-3);
    return 0;
}
