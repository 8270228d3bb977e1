// Trimmed mean of sixteen exposures of the sky, and eccentric anomalies of many orbits (Kepler's equation).
#include "../harness.h"
#include <algorithm>

constexpr int exposures = 16;
constexpr int trim = 4;
constexpr int pixels = 4 << 20;
constexpr int orbits = 16 << 20;

// Exposures [exposure][pixel]; merge exchange sort of the values of a pixel, then the mean of the middle half.
__global__ void k272a(const float *__restrict__ sky, float *__restrict__ mean, int n, int log_count)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    const int count = 1 << log_count;
    float v[exposures];
    for (int e = 0; e < count; e++)
        v[e] = sky[(size_t)e * n + p];
    for (int lp = 0; lp < log_count; lp++)
        for (int lk = lp; lk >= 0; lk--) {
            int k = 1 << lk, first = k & ((1 << lp) - 1);
            for (int a = first; a < count - k; a++)
                if (((a - first) & k) == 0 && a >> (lp + 1) == (a + k) >> (lp + 1)) {
                    float low = fminf(v[a], v[a + k]), high = fmaxf(v[a], v[a + k]);
                    v[a] = low;
                    v[a + k] = high;
                }
        }
    float sum = 0;
    for (int e = count / 4; e < count - count / 4; e++)
        sum += v[e];
    mean[p] = sum / (count / 2);
}

template <int LOG> __device__ float trimmed_mean(float (&v)[1 << LOG])
{
    constexpr int count = 1 << LOG;
#pragma unroll
    for (int lp = 0; lp < LOG; lp++)
#pragma unroll
        for (int lk = lp; lk >= 0; lk--) {
            const int k = 1 << lk, first = k & ((1 << lp) - 1);
#pragma unroll
            for (int a = 0; a < count; a++)
                if (a >= first && a + k < count && ((a - first) & k) == 0 && a >> (lp + 1) == (a + k) >> (lp + 1)) {
                    float low = fminf(v[a], v[a + k]), high = fmaxf(v[a], v[a + k]);
                    v[a] = low;
                    v[a + k] = high;
                }
        }
    float sum = 0;
#pragma unroll
    for (int e = count / 4; e < count - count / 4; e++)
        sum += v[e];
    return sum / (count / 2);
}

// Number of exposures known to the compiler.
__global__ void k272b(const float *__restrict__ sky, float *__restrict__ mean, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float v[exposures];
#pragma unroll
    for (int e = 0; e < exposures; e++)
        v[e] = sky[(size_t)e * n + p];
    mean[p] = trimmed_mean<4>(v);
}

// Exposures [pixel][exposure].
__global__ void k272c(const float *__restrict__ sky, float *__restrict__ mean, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float v[exposures];
#pragma unroll
    for (int e = 0; e < exposures; e++)
        v[e] = sky[(size_t)p * exposures + e];
    mean[p] = trimmed_mean<4>(v);
}

// Two pixels per thread.
__global__ void k272d(const float2 *__restrict__ sky, float2 *__restrict__ mean, int pairs)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs)
        return;
    float v[exposures], w[exposures];
#pragma unroll
    for (int e = 0; e < exposures; e++) {
        float2 s = sky[(size_t)e * pairs + p];
        v[e] = s.x;
        w[e] = s.y;
    }
    mean[p] = make_float2(trimmed_mean<4>(v), trimmed_mean<4>(w));
}

// E - e sin E = M by bisection between M - e and M + e.
__global__ void k272e(const float *__restrict__ anomaly, const float *__restrict__ eccentricity,
                      float *__restrict__ result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float m = anomaly[i], e = eccentricity[i];
    float low = m - e, high = m + e;
    for (int step = 0; step < 20; step++) {
        float middle = 0.5f * (low + high);
        if (middle - e * sinf(middle) > m)
            high = middle;
        else
            low = middle;
    }
    result[i] = 0.5f * (low + high);
}

// Newton's method.
__global__ void k272f(const float *__restrict__ anomaly, const float *__restrict__ eccentricity,
                      float *__restrict__ result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float m = anomaly[i], e = eccentricity[i];
    float x = m + e * sinf(m);
#pragma unroll
    for (int step = 0; step < 2; step++) {
        float s, c;
        sincosf(x, &s, &c);
        x -= (x - e * s - m) / (1.0f - e * c);
    }
    result[i] = x;
}

__global__ void k272g(const float *__restrict__ anomaly, const float *__restrict__ eccentricity,
                      float *__restrict__ result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float m = anomaly[i], e = eccentricity[i];
    float x = m + e * __sinf(m);
#pragma unroll
    for (int step = 0; step < 2; step++) {
        float s, c;
        __sincosf(x, &s, &c);
        x -= __fdividef(x - e * s - m, 1.0f - e * c);
    }
    result[i] = x;
}

int main()
{
    {
        float *sky = input<float>((size_t)exposures * pixels, 1, 0, 4000);
        std::vector<float> host = on_host(sky, (size_t)exposures * pixels), turned(host.size());
        for (int p0 = 0; p0 < pixels; p0 += 64)
            for (int e = 0; e < exposures; e++)
                for (int p = p0; p < p0 + 64; p++)
                    turned[(size_t)p * exposures + e] = host[(size_t)e * pixels + p];
        float *by_pixel = on_device(turned);
        std::vector<float> want(16384);
        for (size_t p = 0; p < want.size(); p++) {
            std::vector<float> v(turned.begin() + p * exposures, turned.begin() + (p + 1) * exposures);
            std::sort(v.begin(), v.end());
            double sum = 0;
            for (int e = trim; e < exposures - trim; e++)
                sum += v[e];
            want[p] = float(sum / (exposures - 2 * trim));
        }
        float *a = output<float>(pixels), *b = output<float>(pixels), *c = output<float>(pixels),
              *d = output<float>(pixels);
        k272a<<<pixels / 256, 256>>>(sky, a, pixels, 4);
        check("k272a", a, want, 1e-5);
        std::vector<float> all = on_host(a, pixels);
        k272b<<<pixels / 256, 256>>>(sky, b, pixels);
        check("k272b", b, all, 1e-5);
        k272c<<<pixels / 256, 256>>>(by_pixel, c, pixels);
        check("k272c", c, all, 1e-5);
        k272d<<<pixels / 512, 256>>>(reinterpret_cast<float2 *>(sky), reinterpret_cast<float2 *>(d), pixels / 2);
        check("k272d", d, all, 1e-5);
        MUST(cudaFree(sky));
        MUST(cudaFree(by_pixel));
    }
    float *anomaly = input<float>(orbits, 2, -3.14159, 3.14159), *eccentricity = input<float>(orbits, 3, 0, 0.3);
    std::vector<float> m = on_host(anomaly, 8192), e = on_host(eccentricity, 8192), want(8192);
    for (int i = 0; i < 8192; i++) {
        double x = m[i];
        for (int step = 0; step < 30; step++)
            x -= (x - e[i] * std::sin(x) - m[i]) / (1 - e[i] * std::cos(x));
        want[i] = (float)x;
    }
    float *out_e = output<float>(orbits), *out_f = output<float>(orbits), *out_g = output<float>(orbits);
    k272e<<<orbits / 256, 256>>>(anomaly, eccentricity, out_e, orbits);
    check("k272e", out_e, want, 2e-5);
    std::vector<float> all = on_host(out_e, orbits);
    k272f<<<orbits / 256, 256>>>(anomaly, eccentricity, out_f, orbits);
    check("k272f", out_f, all, 2e-5);
    k272g<<<orbits / 256, 256>>>(anomaly, eccentricity, out_g, orbits);
    check("k272g", out_g, all, 5e-5);
    return 0;
}
