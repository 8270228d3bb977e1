// The Q matrix of a magnetic resonance reconstruction (262144 voxels, 2048 samples), as in Parboil, and 32768 complex
// Fourier transforms of 512 points, as in SHOC.
#include "../harness.h"

#include <functional>

const int VOXELS = 1 << 18, SAMPLES = 2048;
const int BATCH = 32768, POINTS = 512;
const float TWO_PI = 6.2831853072f, PI = 3.1415926536f;

// A sample: place in k-space, and magnitude.
__constant__ float4 sample[SAMPLES];

__global__ void k115a(int voxels, int samples, const float *x, const float *y, const float *z, float *qr, float *qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    qr[i] = 0.0f;
    qi[i] = 0.0f;
    for (int k = 0; k < samples; k++) {
        float4 s = sample[k];
        float angle = TWO_PI * (s.x * x[i] + s.y * y[i] + s.z * z[i]);
        qr[i] += s.w * cosf(angle);
        qi[i] += s.w * sinf(angle);
    }
}

__global__ void k115b(int voxels, int samples, const float *x, const float *y, const float *z, float *qr, float *qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
    for (int k = 0; k < samples; k++) {
        float4 s = sample[k];
        float angle = TWO_PI * (s.x * px + s.y * py + s.z * pz);
        re += s.w * cosf(angle);
        im += s.w * sinf(angle);
    }
    qr[i] = re;
    qi[i] = im;
}

__global__ void __launch_bounds__(256, 8) k115c(int voxels, int samples, const float *x, const float *y, const float *z,
                                                float *qr, float *qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
#pragma unroll 4
    for (int k = 0; k < samples; k++) {
        float4 s = sample[k];
        float angle = TWO_PI * (s.x * px + s.y * py + s.z * pz);
        re += s.w * __cosf(angle);
        im += s.w * __sinf(angle);
    }
    qr[i] = re;
    qi[i] = im;
}

// Two voxels in a thread, half of them apart.
__global__ void __launch_bounds__(256, 4) k115d(int voxels, int samples, const float *x, const float *y, const float *z,
                                                float *qr, float *qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, o = i + voxels / 2;
    if (i >= voxels / 2)
        return;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
    float ox = x[o], oy = y[o], oz = z[o], ore = 0.0f, oim = 0.0f;
#pragma unroll 4
    for (int k = 0; k < samples; k++) {
        float4 s = sample[k];
        float angle = TWO_PI * (s.x * px + s.y * py + s.z * pz);
        re += s.w * __cosf(angle);
        im += s.w * __sinf(angle);
        angle = TWO_PI * (s.x * ox + s.y * oy + s.z * oz);
        ore += s.w * __cosf(angle);
        oim += s.w * __sinf(angle);
    }
    qr[i] = re;
    qi[i] = im;
    qr[o] = ore;
    qi[o] = oim;
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

// A block of 256 threads for each transform, a butterfly per thread and stage.
__global__ void k115e(float2 *out, const float2 *in)
{
    __shared__ float2 work[2][POINTS];
    int j = threadIdx.x;
    const float2 *from = in + blockIdx.x * POINTS;
    work[0][j] = from[j];
    work[0][j + 256] = from[j + 256];
    __syncthreads();
    for (int stage = 0; stage < 9; stage++) {
        float2 *source = work[stage & 1], *target = work[~stage & 1];
        int half = 1 << stage, k = j & (half - 1);
        float s, c;
        sincosf(-PI * k / half, &s, &c);
        float2 a = source[j], b = source[j + 256] * make_float2(c, s);
        int at = (j - k) * 2 + k;
        target[at] = a + b;
        target[at + half] = a - b;
        __syncthreads();
    }
    float2 *to = out + blockIdx.x * POINTS;
    to[j] = work[1][j];
    to[j + 256] = work[1][j + 256];
}

__global__ void k115f(float2 *out, const float2 *in)
{
    __shared__ float2 work[2][POINTS];
    int j = threadIdx.x;
    const float2 *from = in + blockIdx.x * POINTS;
    work[0][j] = from[j];
    work[0][j + 256] = from[j + 256];
    __syncthreads();
    for (int stage = 0; stage < 9; stage++) {
        float2 *source = work[stage & 1], *target = work[~stage & 1];
        int half = 1 << stage, k = j & (half - 1);
        float s, c;
        __sincosf(__fdividef(-PI * k, half), &s, &c);
        float2 a = source[j], b = source[j + 256] * make_float2(c, s);
        int at = (j - k) * 2 + k;
        target[at] = a + b;
        target[at + half] = a - b;
        __syncthreads();
    }
    float2 *to = out + blockIdx.x * POINTS;
    to[j] = work[1][j];
    to[j + 256] = work[1][j + 256];
}

__device__ inline float2 quarter(float2 a)
{
    return make_float2(a.y, -a.x);
}

__device__ inline void four(float2 &v0, float2 &v1, float2 &v2, float2 &v3)
{
    float2 e = v0 + v2, f = v0 - v2, g = v1 + v3, h = quarter(v1 - v3);
    v0 = e + g;
    v1 = f + h;
    v2 = e - g;
    v3 = f - h;
}

// Eight points in registers, in order on both sides.
__device__ inline void eight(float2 *v)
{
    const float r = 0.70710678f;
    float2 e0 = v[0] + v[4], e1 = v[1] + v[5], e2 = v[2] + v[6], e3 = v[3] + v[7];
    float2 o0 = v[0] - v[4], o1 = v[1] - v[5], o2 = quarter(v[2] - v[6]), o3 = v[3] - v[7];
    o1 = make_float2((o1.x + o1.y) * r, (o1.y - o1.x) * r);
    o3 = make_float2((o3.y - o3.x) * r, (-o3.x - o3.y) * r);
    four(e0, e1, e2, e3);
    four(o0, o1, o2, o3);
    v[0] = e0;
    v[1] = o0;
    v[2] = e1;
    v[3] = o1;
    v[4] = e2;
    v[5] = o2;
    v[6] = e3;
    v[7] = o3;
}

// v[r] times the r-th power of the turn by an angle.
__device__ inline void turn(float2 *v, float angle)
{
    float2 w;
    __sincosf(angle, &w.y, &w.x);
    float2 w2 = w * w, w3 = w2 * w, w4 = w2 * w2;
    v[1] = v[1] * w;
    v[2] = v[2] * w2;
    v[3] = v[3] * w3;
    v[4] = v[4] * w4;
    v[5] = v[5] * (w4 * w);
    v[6] = v[6] * (w4 * w2);
    v[7] = v[7] * (w4 * w3);
}

// A block of 64 threads for each transform, eight points in each.
__global__ void k115g(float2 *__restrict__ out, const float2 *__restrict__ in)
{
    __shared__ float2 work[POINTS];
    int j = threadIdx.x;
    const float2 *from = in + blockIdx.x * POINTS;
    float2 v[8];
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = from[j + 64 * r];
    eight(v);
#pragma unroll
    for (int r = 0; r < 8; r++)
        work[j * 8 + r] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = work[j + 64 * r];
    turn(v, -TWO_PI / 64 * (j % 8));
    eight(v);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        work[j / 8 * 64 + j % 8 + 8 * r] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = work[j + 64 * r];
    turn(v, -TWO_PI / 512 * j);
    eight(v);
    float2 *to = out + blockIdx.x * POINTS;
#pragma unroll
    for (int r = 0; r < 8; r++)
        to[j + 64 * r] = v[r];
}

__device__ inline int placed(int at)
{
    return at + at / 8;
}

__global__ void k115h(float2 *__restrict__ out, const float2 *__restrict__ in)
{
    __shared__ float2 work[POINTS + POINTS / 8];
    int j = threadIdx.x;
    const float2 *from = in + blockIdx.x * POINTS;
    float2 v[8];
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = from[j + 64 * r];
    eight(v);
#pragma unroll
    for (int r = 0; r < 8; r++)
        work[placed(j * 8 + r)] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = work[placed(j + 64 * r)];
    turn(v, -TWO_PI / 64 * (j % 8));
    eight(v);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        work[placed(j / 8 * 64 + j % 8 + 8 * r)] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; r++)
        v[r] = work[placed(j + 64 * r)];
    turn(v, -TWO_PI / 512 * j);
    eight(v);
    float2 *to = out + blockIdx.x * POINTS;
#pragma unroll
    for (int r = 0; r < 8; r++)
        to[j + 64 * r] = v[r];
}

int main()
{
    float *samples = input<float>(SAMPLES * 4, 1151, -0.5, 0.5), *qr = output<float>(VOXELS), *qi = output<float>(VOXELS);
    float *place[3] = {input<float>(VOXELS, 1152, -1.0, 1.0), input<float>(VOXELS, 1153, -1.0, 1.0),
                       input<float>(VOXELS, 1154, -1.0, 1.0)};
    MUST(cudaMemcpyToSymbol(sample, samples, SAMPLES * sizeof(float4), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hs = on_host(samples, SAMPLES * 4), hp[3], real, imaginary;
    for (int i = 0; i < 3; i++)
        hp[i] = on_host(place[i], VOXELS);
    const int every = 257, chosen = (VOXELS - 1) / every + 1;
    std::vector<float> want_re(chosen), want_im(chosen);
    for (int i = 0; i < chosen; i++) {
        double re = 0, im = 0;
        for (int k = 0; k < SAMPLES; k++) {
            double turns = 0;
            for (int c = 0; c < 3; c++)
                turns += double(hs[k * 4 + c]) * hp[c][i * every];
            float angle = float(6.283185307179586 * turns);
            re += hs[k * 4 + 3] * std::cos(angle);
            im += hs[k * 4 + 3] * std::sin(angle);
        }
        want_re[i] = float(re);
        want_im[i] = float(im);
    }
    auto voxel = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(qr, 0xA5, VOXELS * sizeof(float)));
        MUST(cudaMemset(qi, 0xA5, VOXELS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (real.empty()) {
            real = on_host(qr, VOXELS);
            imaginary = on_host(qi, VOXELS);
            std::vector<float> re(chosen), im(chosen);
            for (int i = 0; i < chosen; i++) {
                re[i] = real[i * every];
                im[i] = imaginary[i * every];
            }
            check(name, on_device(re), want_re, 1e-3);
            check(name, on_device(im), want_im, 1e-3);
        } else {
            check(name, qr, real, 1e-3);
            check(name, qi, imaginary, 1e-3);
        }
    };
    const int blocks = VOXELS / 256;
    const float *x = place[0], *y = place[1], *z = place[2];
    voxel("k115a", [&] { k115a<<<blocks, 256>>>(VOXELS, SAMPLES, x, y, z, qr, qi); });
    voxel("k115b", [&] { k115b<<<blocks, 256>>>(VOXELS, SAMPLES, x, y, z, qr, qi); });
    voxel("k115c", [&] { k115c<<<blocks, 256>>>(VOXELS, SAMPLES, x, y, z, qr, qi); });
    voxel("k115d", [&] { k115d<<<blocks / 2, 256>>>(VOXELS, SAMPLES, x, y, z, qr, qi); });

    const size_t numbers = (size_t)BATCH * POINTS * 2;
    float *signal = input<float>(numbers, 1155, -1.0, 1.0), *spectrum = output<float>(numbers);
    const float2 *in = reinterpret_cast<const float2 *>(signal);
    float2 *out = reinterpret_cast<float2 *>(spectrum);
    // Every 1023rd transform on the host, term by term.
    const int skip = 1023, taken = (BATCH - 1) / skip + 1;
    const size_t bytes = POINTS * sizeof(float2);
    float *part = output<float>((size_t)taken * POINTS * 2);
    MUST(cudaMemcpy2D(part, bytes, signal, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
    std::vector<float> hosted = on_host(part, (size_t)taken * POINTS * 2), want((size_t)taken * POINTS * 2), first;
    std::vector<double> cosine(POINTS), sine(POINTS);
    for (int i = 0; i < POINTS; i++) {
        cosine[i] = std::cos(6.283185307179586 * i / POINTS);
        sine[i] = -std::sin(6.283185307179586 * i / POINTS);
    }
    for (int t = 0; t < taken; t++)
        for (int k = 0; k < POINTS; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < POINTS; i++) {
                double a = hosted[((size_t)t * POINTS + i) * 2], b = hosted[((size_t)t * POINTS + i) * 2 + 1];
                int turn = i * k % POINTS;
                re += a * cosine[turn] - b * sine[turn];
                im += a * sine[turn] + b * cosine[turn];
            }
            want[((size_t)t * POINTS + k) * 2] = float(re);
            want[((size_t)t * POINTS + k) * 2 + 1] = float(im);
        }
    auto transform = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(spectrum, 0xA5, numbers * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (first.empty()) {
            MUST(cudaMemcpy2D(part, bytes, spectrum, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
            check(name, part, want, 1e-4);
            first = on_host(spectrum, numbers);
        } else
            check(name, spectrum, first, 1e-3);
    };
    transform("k115e", [&] { k115e<<<BATCH, 256>>>(out, in); });
    transform("k115f", [&] { k115f<<<BATCH, 256>>>(out, in); });
    transform("k115g", [&] { k115g<<<BATCH, 64>>>(out, in); });
    transform("k115h", [&] { k115h<<<BATCH, 64>>>(out, in); });
    return 0;
}
