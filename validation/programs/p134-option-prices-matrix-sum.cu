// Prices of European options by the Black-Scholes formula, and the sum of two large matrices.
#include "../harness.h"

#include <functional>

const int OPTIONS = 1 << 25, THREADS = 128;
const float RATE = 0.02f, VOLATILITY = 0.30f;

__device__ inline float cnd_a(float d)
{
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float c = 0.39894228040143267794 * exp(-0.5 * d * d) *
              (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - c : c;
}

__device__ inline void price_a(float &call, float &put, float s, float x, float t, float r, float v)
{
    float root = sqrt(t);
    float d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float n1 = cnd_a(d1), n2 = cnd_a(d2);
    float discount = exp(-r * t);
    call = s * n1 - x * discount * n2;
    put = x * discount * (1.0 - n2) - s * (1.0 - n1);
}

__global__ void __launch_bounds__(THREADS) k134a(float2 *call, float2 *put, const float2 *price, const float2 *strike,
                                                 const float2 *years, float r, float v, int pairs)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        float2 s = price[i], x = strike[i], t = years[i], c, p;
        price_a(c.x, p.x, s.x, x.x, t.x, r, v);
        price_a(c.y, p.y, s.y, x.y, t.y, r, v);
        call[i] = c;
        put[i] = p;
    }
}

__device__ inline float cnd_b(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - c : c;
}

__device__ inline void price_b(float &call, float &put, float s, float x, float t, float r, float v)
{
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float n1 = cnd_b(d1), n2 = cnd_b(d2);
    float discount = expf(-r * t);
    call = s * n1 - x * discount * n2;
    put = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

__global__ void __launch_bounds__(THREADS) k134b(float2 *call, float2 *put, const float2 *price, const float2 *strike,
                                                 const float2 *years, float r, float v, int pairs)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        float2 s = price[i], x = strike[i], t = years[i], c, p;
        price_b(c.x, p.x, s.x, x.x, t.x, r, v);
        price_b(c.y, p.y, s.y, x.y, t.y, r, v);
        call[i] = c;
        put[i] = p;
    }
}

__device__ inline float cnd_c(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * __expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - c : c;
}

__device__ inline void price_c(float &call, float &put, float s, float x, float t, float r, float v)
{
    float root = t * rsqrtf(t);
    float d1 = __fdividef(__logf(__fdividef(s, x)) + (r + 0.5f * v * v) * t, v * root);
    float d2 = d1 - v * root;
    float n1 = cnd_c(d1), n2 = cnd_c(d2);
    float discount = __expf(-r * t);
    call = s * n1 - x * discount * n2;
    put = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

__global__ void __launch_bounds__(THREADS) k134c(float2 *call, float2 *put, const float2 *price, const float2 *strike,
                                                 const float2 *years, float r, float v, int pairs)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        float2 s = price[i], x = strike[i], t = years[i], c, p;
        price_c(c.x, p.x, s.x, x.x, t.x, r, v);
        price_c(c.y, p.y, s.y, x.y, t.y, r, v);
        call[i] = c;
        put[i] = p;
    }
}

__global__ void __launch_bounds__(THREADS) k134d(float2 *call, float2 *put, const float2 *price, const float2 *strike,
                                                 const float2 *years, float r, float v, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        float2 s = price[i], x = strike[i], t = years[i], c, p;
        price_c(c.x, p.x, s.x, x.x, t.x, r, v);
        price_c(c.y, p.y, s.y, x.y, t.y, r, v);
        call[i] = c;
        put[i] = p;
    }
}

const int NX = 32768, NY = 2048;

__global__ void k134e(double *c, const double *a, const double *b, int nx, int ny)
{
    int iy = blockIdx.x * blockDim.x + threadIdx.x;
    int ix = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) {
        int at = iy * nx + ix;
        c[at] = a[at] + b[at];
    }
}

__global__ void k134f(double *c, const double *a, const double *b, int nx, int ny)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    if (ix < nx)
        for (int iy = 0; iy < ny; iy++) {
            int at = iy * nx + ix;
            c[at] = a[at] + b[at];
        }
}

__global__ void k134g(double *c, const double *a, const double *b, int nx, int ny)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) {
        int at = iy * nx + ix;
        c[at] = a[at] + b[at];
    }
}

__global__ void k134h(double2 *c, const double2 *a, const double2 *b, int pairs, int ny)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < pairs && iy < ny) {
        int at = iy * pairs + ix;
        double2 u = a[at], v = b[at];
        c[at] = make_double2(u.x + v.x, u.y + v.y);
    }
}

// Call and put of every step-th option.
__global__ void fill_sample(float *sample, const float *call, const float *put, int step, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        sample[2 * i] = call[(size_t)i * step];
        sample[2 * i + 1] = put[(size_t)i * step];
    }
}

double cumulative(double d)
{
    double k = 1.0 / (1.0 + 0.2316419 * std::fabs(d));
    double c = 0.39894228040143267794 * std::exp(-0.5 * d * d) *
               (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - c : c;
}

int main()
{
    float *price = input<float>(OPTIONS, 1341, 5.0, 30.0), *strike = input<float>(OPTIONS, 1342, 1.0, 100.0);
    float *years = input<float>(OPTIONS, 1343, 0.25, 10.0);
    float *call = output<float>(OPTIONS), *put = output<float>(OPTIONS);
    const int step = 509, count = (OPTIONS - 1) / step + 1;
    std::vector<float> want(2 * (size_t)count);
    {
        std::vector<float> hs = on_host(price, OPTIONS), hx = on_host(strike, OPTIONS), ht = on_host(years, OPTIONS);
        for (int i = 0; i < count; i++) {
            double s = hs[(size_t)i * step], x = hx[(size_t)i * step], t = ht[(size_t)i * step];
            double r = RATE, v = VOLATILITY, root = std::sqrt(t);
            double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
            double n1 = cumulative(d1), n2 = cumulative(d2), discount = std::exp(-r * t);
            want[2 * i] = float(s * n1 - x * discount * n2);
            want[2 * i + 1] = float(x * discount * (1.0 - n2) - s * (1.0 - n1));
        }
    }
    float *sample = output<float>(want.size());
    auto pricing = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(call, 0xA5, OPTIONS * sizeof(float)));
        MUST(cudaMemset(put, 0xA5, OPTIONS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_sample<<<(count + 255) / 256, 256>>>(sample, call, put, step, count);
        check(name, sample, want, 5e-4);
    };
    float2 *c2 = reinterpret_cast<float2 *>(call), *p2 = reinterpret_cast<float2 *>(put);
    const float2 *s2 = reinterpret_cast<float2 *>(price), *x2 = reinterpret_cast<float2 *>(strike);
    const float2 *t2 = reinterpret_cast<float2 *>(years);
    const int pairs = OPTIONS / 2, few = 480, all = pairs / THREADS;
    pricing("k134a", [&] { k134a<<<few, THREADS>>>(c2, p2, s2, x2, t2, RATE, VOLATILITY, pairs); });
    pricing("k134b", [&] { k134b<<<few, THREADS>>>(c2, p2, s2, x2, t2, RATE, VOLATILITY, pairs); });
    pricing("k134c", [&] { k134c<<<few, THREADS>>>(c2, p2, s2, x2, t2, RATE, VOLATILITY, pairs); });
    pricing("k134d", [&] { k134d<<<all, THREADS>>>(c2, p2, s2, x2, t2, RATE, VOLATILITY, pairs); });

    const size_t n = (size_t)NX * NY, row = NX * sizeof(double);
    double *a = input<double>(n, 1344, -1.0, 1.0), *b = input<double>(n, 1345, -1.0, 1.0), *c = output<double>(n);
    // Every 31st row: 0, 31, ..., 2046.
    const int skip = 31, rows = (NY - 1) / skip + 1;
    double *picked = output<double>((size_t)rows * NX);
    auto pick = [&](const double *from) {
        MUST(cudaMemcpy2D(picked, row, from, skip * row, row, rows, cudaMemcpyDeviceToDevice));
    };
    pick(a);
    std::vector<double> sum = on_host(picked, (size_t)rows * NX);
    pick(b);
    {
        std::vector<double> hb = on_host(picked, (size_t)rows * NX);
        for (size_t i = 0; i < sum.size(); i++)
            sum[i] += hb[i];
    }
    auto addition = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(c, 0xA5, n * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick(c);
        check(name, picked, sum, 0.0);
    };
    double2 *cc = reinterpret_cast<double2 *>(c);
    const double2 *aa = reinterpret_cast<double2 *>(a), *bb = reinterpret_cast<double2 *>(b);
    const dim3 block(32, 16), grid(NX / 32, NY / 16), half(NX / 64, NY / 16);
    addition("k134e", [&] { k134e<<<dim3(NY / 32, NX / 16), block>>>(c, a, b, NX, NY); });
    addition("k134f", [&] { k134f<<<NX / 32, 32>>>(c, a, b, NX, NY); });
    addition("k134g", [&] { k134g<<<grid, block>>>(c, a, b, NX, NY); });
    addition("k134h", [&] { k134h<<<half, block>>>(cc, aa, bb, NX / 2, NY); });
    return 0;
}
