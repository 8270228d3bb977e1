// Black-Scholes prices, a Julia set, and the Coulomb potential of charges on a plane of grid points.
#include "../harness.h"

#include <functional>

const int OPTIONS = 1 << 25;
const float RATE = 0.02f, SIGMA = 0.30f;

struct Prices {
    float call, put;
};

__device__ inline float cnd_a(float d)
{
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float tail = 0.39894228040143267794 * exp(-0.5 * d * d) *
                 (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - tail : tail;
}

__device__ inline Prices price_a(float s, float x, float t, float r, float v)
{
    float root = sqrt(t);
    float d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float c1 = cnd_a(d1), c2 = cnd_a(d2);
    float discounted = x * exp(-r * t);
    Prices p;
    p.call = s * c1 - discounted * c2;
    p.put = discounted * (1.0 - c2) - s * (1.0 - c1);
    return p;
}

__global__ void k110a(float4 *__restrict__ call, float4 *__restrict__ put, const float4 *__restrict__ stock,
                      const float4 *__restrict__ strike, const float4 *__restrict__ years, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 s = stock[i], x = strike[i], t = years[i];
        Prices a = price_a(s.x, x.x, t.x, r, v), b = price_a(s.y, x.y, t.y, r, v);
        Prices c = price_a(s.z, x.z, t.z, r, v), d = price_a(s.w, x.w, t.w, r, v);
        call[i] = make_float4(a.call, b.call, c.call, d.call);
        put[i] = make_float4(a.put, b.put, c.put, d.put);
    }
}

__device__ inline float cnd_b(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail =
        0.39894228040143267794f * expf(-0.5f * d * d) *
        (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

__device__ inline Prices price_b(float s, float x, float t, float r, float v)
{
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float c1 = cnd_b(d1), c2 = cnd_b(d2);
    float discounted = x * expf(-r * t);
    Prices p;
    p.call = s * c1 - discounted * c2;
    p.put = discounted * (1.0f - c2) - s * (1.0f - c1);
    return p;
}

__global__ void k110b(float4 *__restrict__ call, float4 *__restrict__ put, const float4 *__restrict__ stock,
                      const float4 *__restrict__ strike, const float4 *__restrict__ years, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 s = stock[i], x = strike[i], t = years[i];
        Prices a = price_b(s.x, x.x, t.x, r, v), b = price_b(s.y, x.y, t.y, r, v);
        Prices c = price_b(s.z, x.z, t.z, r, v), d = price_b(s.w, x.w, t.w, r, v);
        call[i] = make_float4(a.call, b.call, c.call, d.call);
        put[i] = make_float4(a.put, b.put, c.put, d.put);
    }
}

__device__ inline float cnd_c(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail =
        0.39894228040143267794f * __expf(-0.5f * d * d) *
        (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

__device__ inline Prices price_c(float s, float x, float t, float r, float v)
{
    float inverse = rsqrtf(t), root = t * inverse;
    float d1 = __fdividef(__logf(__fdividef(s, x)) + (r + 0.5f * v * v) * t, v * root);
    float d2 = d1 - v * root;
    float c1 = cnd_c(d1), c2 = cnd_c(d2);
    float discounted = x * __expf(-r * t);
    Prices p;
    p.call = s * c1 - discounted * c2;
    p.put = discounted * (1.0f - c2) - s * (1.0f - c1);
    return p;
}

__global__ void k110c(float4 *__restrict__ call, float4 *__restrict__ put, const float4 *__restrict__ stock,
                      const float4 *__restrict__ strike, const float4 *__restrict__ years, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 s = stock[i], x = strike[i], t = years[i];
        Prices a = price_c(s.x, x.x, t.x, r, v), b = price_c(s.y, x.y, t.y, r, v);
        Prices c = price_c(s.z, x.z, t.z, r, v), d = price_c(s.w, x.w, t.w, r, v);
        call[i] = make_float4(a.call, b.call, c.call, d.call);
        put[i] = make_float4(a.put, b.put, c.put, d.put);
    }
}

const int DIM = 1536, MOST = 256;
const float CX = -0.12f, CY = 0.74f;

// z = z * z + c; the roundings are fixed so that all kernels count alike.
__device__ inline void advance(float &x, float &y)
{
    float square = __fmul_rn(y, y);
    float next = __fsub_rn(__fmaf_rn(x, x, CX), square);
    y = __fmaf_rn(__fadd_rn(x, x), y, CY);
    x = next;
}

__device__ inline float magnitude2(float x, float y)
{
    return __fmaf_rn(x, x, __fmul_rn(y, y));
}

__device__ inline float place(int i)
{
    return __fmul_rn(float(2 * i - DIM + 1), 1.0f / DIM);
}

__global__ void k110d(int *out)
{
    int px = blockIdx.x, py = blockIdx.y;
    float x = place(px), y = place(py);
    int n = 0;
    while (n < MOST && !(magnitude2(x, y) > 4.0f)) {
        advance(x, y);
        n++;
    }
    out[py * DIM + px] = n;
}

__global__ void k110e(int *out)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float x = place(px), y = place(py);
    int n = 0;
    while (n < MOST && !(magnitude2(x, y) > 4.0f)) {
        advance(x, y);
        n++;
    }
    out[py * DIM + px] = n;
}

__global__ void k110f(int *out)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float x = place(px), y = place(py);
    float kept_x = x, kept_y = y;
    int n = 0;
    while (n < MOST) {
        kept_x = x;
        kept_y = y;
#pragma unroll
        for (int k = 0; k < 16; k++)
            advance(x, y);
        if (!(magnitude2(x, y) <= 4.0f))
            break;
        n += 16;
    }
    while (n < MOST && !(magnitude2(kept_x, kept_y) > 4.0f)) {
        advance(kept_x, kept_y);
        n++;
    }
    out[py * DIM + px] = n;
}

const int GRID = 2048, CHARGES = 256;
const float SPACING = 0.125f;

__constant__ float4 charge_const[CHARGES];

__global__ void k110g(float *energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = i * SPACING, y = j * SPACING;
    float sum = 0.0f;
    for (int a = 0; a < CHARGES; a++) {
        float dx = x - charge_const[a].x;
        float dy = y - charge_const[a].y;
        float dz = charge_const[a].z;
        sum += charge_const[a].w / sqrtf(dx * dx + dy * dy + dz * dz);
    }
    energy[j * GRID + i] = sum;
}

__global__ void k110h(float *energy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = i * SPACING, y = j * SPACING;
    float sum = 0.0f;
    for (int a = 0; a < CHARGES; a++) {
        float dx = x - charge_const[a].x;
        float dy = y - charge_const[a].y;
        float dz = charge_const[a].z;
        sum += charge_const[a].w * rsqrtf(dx * dx + dy * dy + dz * dz);
    }
    energy[j * GRID + i] = sum;
}

const int ALONG = 8;

__global__ void k110i(float *energy)
{
    int i = blockIdx.x * blockDim.x * ALONG + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = i * SPACING, y = j * SPACING, step = blockDim.x * SPACING;
    float sum[ALONG];
#pragma unroll
    for (int k = 0; k < ALONG; k++)
        sum[k] = 0.0f;
    for (int a = 0; a < CHARGES; a++) {
        float4 charge = charge_const[a];
        float dx = x - charge.x;
        float dy = y - charge.y;
        float rest = dy * dy + charge.z * charge.z;
#pragma unroll
        for (int k = 0; k < ALONG; k++) {
            float d = dx + k * step;
            sum[k] += charge.w * rsqrtf(d * d + rest);
        }
    }
#pragma unroll
    for (int k = 0; k < ALONG; k++)
        energy[j * GRID + i + k * blockDim.x] = sum[k];
}

template <class T> void pick_rows(T *picked, const T *from, size_t width, int every, int count)
{
    const size_t bytes = width * sizeof(T);
    MUST(cudaMemcpy2D(picked, bytes, from, every * bytes, bytes, count, cudaMemcpyDeviceToDevice));
}

double normal(double d)
{
    double k = 1.0 / (1.0 + 0.2316419 * std::fabs(d));
    double tail = 0.39894228040143267794 * std::exp(-0.5 * d * d) *
                  (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - tail : tail;
}

int main()
{
    float *in[3] = {input<float>(OPTIONS, 1101, 5.0, 30.0), input<float>(OPTIONS, 1102, 1.0, 100.0),
                    input<float>(OPTIONS, 1103, 0.25, 10.0)};
    float *call = output<float>(OPTIONS), *put = output<float>(OPTIONS);
    // Every 37th stretch of 1024 options.
    const int width = 1024, every = 37, taken = (OPTIONS / width - 1) / every + 1;
    const size_t sample = (size_t)taken * width;
    float *some = output<float>(sample);
    std::vector<float> host[3], want_call(sample), want_put(sample);
    for (int k = 0; k < 3; k++) {
        pick_rows(some, in[k], width, every, taken);
        host[k] = on_host(some, sample);
    }
    for (size_t i = 0; i < sample; i++) {
        double s = host[0][i], x = host[1][i], t = host[2][i], r = RATE, v = SIGMA;
        double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
        double c1 = normal(d1), c2 = normal(d2), discounted = x * std::exp(-r * t);
        want_call[i] = float(s * c1 - discounted * c2);
        want_put[i] = float(discounted * (1.0 - c2) - s * (1.0 - c1));
    }
    auto price = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(call, 0xA5, OPTIONS * sizeof(float)));
        MUST(cudaMemset(put, 0xA5, OPTIONS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some, call, width, every, taken);
        check(name, some, want_call, 5e-4);
        pick_rows(some, put, width, every, taken);
        check(name, some, want_put, 5e-4);
    };
    float4 *call4 = reinterpret_cast<float4 *>(call), *put4 = reinterpret_cast<float4 *>(put);
    const float4 *stock = reinterpret_cast<float4 *>(in[0]), *strike = reinterpret_cast<float4 *>(in[1]);
    const float4 *years = reinterpret_cast<float4 *>(in[2]);
    const int quads = OPTIONS / 4, threads = 128;
    price("k110a", [&] { k110a<<<quads / threads, threads>>>(call4, put4, stock, strike, years, RATE, SIGMA, quads); });
    price("k110b", [&] { k110b<<<quads / threads, threads>>>(call4, put4, stock, strike, years, RATE, SIGMA, quads); });
    price("k110c", [&] { k110c<<<quads / threads, threads>>>(call4, put4, stock, strike, years, RATE, SIGMA, quads); });

    int *counts = output<int>((size_t)DIM * DIM);
    // Rows 0, 33, 66, ... of the picture; of the first kernel, and against it every pixel of the others.
    const int skip = 33, rows = (DIM - 1) / skip + 1;
    std::vector<int> expected((size_t)rows * DIM), all;
    for (int r = 0; r < rows; r++)
        for (int px = 0; px < DIM; px++) {
            float x = float(2 * px - DIM + 1) * (1.0f / DIM), y = float(2 * r * skip - DIM + 1) * (1.0f / DIM);
            int n = 0;
            while (n < MOST) {
                float square = y * y;
                if (std::fmaf(x, x, square) > 4.0f)
                    break;
                float next = std::fmaf(x, x, CX) - square;
                y = std::fmaf(x + x, y, CY);
                x = next;
                n++;
            }
            expected[(size_t)r * DIM + px] = n;
        }
    int *some_counts = output<int>(expected.size());
    auto draw = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(counts, 0xA5, (size_t)DIM * DIM * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some_counts, counts, DIM, skip, rows);
        check(name, some_counts, expected, 0.0);
        if (all.empty())
            all = on_host(counts, (size_t)DIM * DIM);
        check(name, counts, all, 0.0);
    };
    const dim3 square(16, 16);
    draw("k110d", [&] { k110d<<<dim3(DIM, DIM), 1>>>(counts); });
    draw("k110e", [&] { k110e<<<dim3(DIM / 16, DIM / 16), square>>>(counts); });
    draw("k110f", [&] { k110f<<<dim3(DIM / 16, DIM / 16), square>>>(counts); });

    std::vector<float4> charges(CHARGES);
    for (int a = 0; a < CHARGES; a++) {
        const double unit = 1.0 / 4294967296.0;
        charges[a] = make_float4(float(256.0 * unit * scrambled(4 * a, 1104)), float(256.0 * unit * scrambled(4 * a + 1, 1104)),
                                 float(1.0 + 9.0 * unit * scrambled(4 * a + 2, 1104)),
                                 float(200.0 * unit * scrambled(4 * a + 3, 1104) - 100.0));
    }
    MUST(cudaMemcpyToSymbol(charge_const, charges.data(), CHARGES * sizeof(float4)));
    float *energy = output<float>((size_t)GRID * GRID);
    std::vector<float> potential((size_t)rows * GRID);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < GRID; i++) {
            double sum = 0.0;
            for (const float4 &c : charges) {
                double dx = i * SPACING - c.x, dy = r * skip * SPACING - c.y;
                sum += c.w / std::sqrt(dx * dx + dy * dy + double(c.z) * c.z);
            }
            potential[(size_t)r * GRID + i] = float(sum);
        }
    float *some_energy = output<float>(potential.size());
    auto field = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(energy, 0xA5, (size_t)GRID * GRID * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some_energy, energy, GRID, skip, rows);
        check(name, some_energy, potential, 5e-4);
    };
    const dim3 block(32, 8);
    field("k110g", [&] { k110g<<<dim3(GRID / 32, GRID / 8), block>>>(energy); });
    field("k110h", [&] { k110h<<<dim3(GRID / 32, GRID / 8), block>>>(energy); });
    field("k110i", [&] { k110i<<<dim3(GRID / 32 / ALONG, GRID / 8), block>>>(energy); });
    return 0;
}
