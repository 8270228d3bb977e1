// European options after Black and Scholes, and Lennard-Jones forces of all pairs of atoms.
#include "../harness.h"

__host__ __device__ inline float cumulative(float d)
{
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float tail = 0.39894228040143267794 * exp(-0.5 * d * d) *
                 (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
    return d > 0 ? 1.0 - tail : tail;
}

__device__ inline float cnd(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

__device__ inline float phi(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

__host__ __device__ inline void price(float S, float X, float T, float r, float v, float &call, float &put)
{
    float root = sqrt(T);
    float d1 = (log(S / X) + (r + 0.5 * v * v) * T) / (v * root);
    float d2 = d1 - v * root;
    float n1 = cumulative(d1), n2 = cumulative(d2);
    float discount = exp(-1.0 * r * T);
    call = S * n1 - X * discount * n2;
    put = X * discount * (1.0 - n2) - S * (1.0 - n1);
}

__global__ void k20a(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years,
                     float *__restrict__ calls, float *__restrict__ puts, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float call, put;
        price(spot[i], strike[i], years[i], r, v, call, put);
        calls[i] = call;
        puts[i] = put;
    }
}

__global__ void k20b(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years,
                     float *__restrict__ calls, float *__restrict__ puts, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float S = spot[i], X = strike[i], T = years[i];
        float root = sqrtf(T);
        float d1 = (logf(S / X) + (r + 0.5f * v * v) * T) / (v * root);
        float d2 = d1 - v * root;
        float n1 = cnd(d1), n2 = cnd(d2);
        float discount = expf(-r * T);
        calls[i] = S * n1 - X * discount * n2;
        puts[i] = X * discount * (1.0f - n2) - S * (1.0f - n1);
    }
}

__global__ void k20c(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years,
                     float *__restrict__ calls, float *__restrict__ puts, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float S = spot[i], X = strike[i], T = years[i];
        float root = __fsqrt_rn(T);
        float d1 = __fdividef(__logf(__fdividef(S, X)) + (r + 0.5f * v * v) * T, v * root);
        float d2 = d1 - v * root;
        float n1 = phi(d1), n2 = phi(d2);
        float discount = __expf(-r * T);
        calls[i] = S * n1 - X * discount * n2;
        puts[i] = X * discount * (1.0f - n2) - S * (1.0f - n1);
    }
}

constexpr int BLOCK = 128;

// blockIdx.y takes the partners from blockIdx.y * share on; the parts of the force are added up afterwards.
__global__ void k20d(const double *x, const double *y, const double *z, double *fx, double *fy, double *fz, int n,
                     int share, double epsilon, double sigma)
{
    __shared__ double tx[BLOCK], ty[BLOCK], tz[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const double xi = x[i], yi = y[i], zi = z[i];
    double ax = 0.0, ay = 0.0, az = 0.0;
    for (int j0 = blockIdx.y * share; j0 < (blockIdx.y + 1) * share; j0 += BLOCK) {
        tx[threadIdx.x] = x[j0 + threadIdx.x];
        ty[threadIdx.x] = y[j0 + threadIdx.x];
        tz[threadIdx.x] = z[j0 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            if (j0 + j == i)
                continue;
            double dx = xi - tx[j], dy = yi - ty[j], dz = zi - tz[j];
            double r = sqrt(dx * dx + dy * dy + dz * dz);
            double s = sigma / r;
            double s6 = s * s * s * s * s * s;
            double f = 24.0 * epsilon * (2.0 * s6 * s6 - s6) / r;
            ax += f * dx / r;
            ay += f * dy / r;
            az += f * dz / r;
        }
        __syncthreads();
    }
    fx[blockIdx.y * n + i] = ax;
    fy[blockIdx.y * n + i] = ay;
    fz[blockIdx.y * n + i] = az;
}

__global__ void k20e(const double *x, const double *y, const double *z, double *fx, double *fy, double *fz, int n,
                     int share, double epsilon, double sigma)
{
    __shared__ double tx[BLOCK], ty[BLOCK], tz[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const double xi = x[i], yi = y[i], zi = z[i];
    const double sigma2 = sigma * sigma, scale = 24.0 * epsilon;
    double ax = 0.0, ay = 0.0, az = 0.0;
    for (int j0 = blockIdx.y * share; j0 < (blockIdx.y + 1) * share; j0 += BLOCK) {
        tx[threadIdx.x] = x[j0 + threadIdx.x];
        ty[threadIdx.x] = y[j0 + threadIdx.x];
        tz[threadIdx.x] = z[j0 + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            if (j0 + j == i)
                continue;
            double dx = xi - tx[j], dy = yi - ty[j], dz = zi - tz[j];
            double w = 1.0 / (dx * dx + dy * dy + dz * dz);
            double s2 = sigma2 * w;
            double s6 = s2 * s2 * s2;
            double f = scale * w * (2.0 * s6 * s6 - s6);
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
        __syncthreads();
    }
    fx[blockIdx.y * n + i] = ax;
    fy[blockIdx.y * n + i] = ay;
    fz[blockIdx.y * n + i] = az;
}

int main()
{
    {
        const int n = 24000000;
        const float r = 0.02f, v = 0.30f;
        float *spot = input<float>(n, 1, 5.0, 30.0), *strike = input<float>(n, 2, 1.0, 100.0);
        float *years = input<float>(n, 3, 0.25, 10.0), *prices = output<float>((size_t)n * 2);
        const int part = 1000, parts = 20;
        std::vector<float> sample, got;
        for (int p = 0; p < parts; p++) {
            const size_t at = (size_t)p * (n / parts);
            std::vector<float> S = on_host(spot + at, part), X = on_host(strike + at, part);
            std::vector<float> T = on_host(years + at, part);
            for (int i = 0; i < part; i++) {
                float call, put;
                price(S[i], X[i], T[i], r, v, call, put);
                sample.push_back(call);
                sample.push_back(put);
            }
        }
        k20a<<<(n + 127) / 128, 128>>>(spot, strike, years, prices, prices + n, r, v, n);
        MUST(cudaGetLastError());
        std::vector<float> want = on_host(prices, (size_t)n * 2);
        for (int p = 0; p < parts; p++)
            for (int i = 0; i < part; i++) {
                const size_t at = (size_t)p * (n / parts) + i;
                got.push_back(want[at]);
                got.push_back(want[at + n]);
            }
        check("k20a", on_device(got), sample, 1e-3);
        MUST(cudaMemset(prices, 0xA5, (size_t)n * 2 * sizeof(float)));
        k20b<<<(n + 127) / 128, 128>>>(spot, strike, years, prices, prices + n, r, v, n);
        check("k20b", prices, want, 2e-3);
        MUST(cudaMemset(prices, 0xA5, (size_t)n * 2 * sizeof(float)));
        k20c<<<(n + 127) / 128, 128>>>(spot, strike, years, prices, prices + n, r, v, n);
        check("k20c", prices, want, 2e-3);
        MUST(cudaFree(spot));
        MUST(cudaFree(strike));
        MUST(cudaFree(years));
        MUST(cudaFree(prices));
    }
    // Atoms near the places of a cubic lattice.
    const int side = 24, n = side * side * side, splits = 12, share = n / splits;
    std::vector<double> x(n), y(n), z(n);
    for (int i = 0; i < n; i++) {
        auto jitter = [&](unsigned seed) { return 0.2 * (scrambled(i, seed) / 4294967296.0 - 0.5); };
        x[i] = 1.2 * (i % side) + jitter(4);
        y[i] = 1.2 * (i / side % side) + jitter(5);
        z[i] = 1.2 * (i / (side * side)) + jitter(6);
    }
    const double epsilon = 0.8, sigma = 1.05;
    double *dx = on_device(x), *dy = on_device(y), *dz = on_device(z);
    const size_t all = (size_t)n * splits;
    double *force = output<double>(all * 3);
    k20d<<<dim3(n / BLOCK, splits), BLOCK>>>(dx, dy, dz, force, force + all, force + 2 * all, n, share, epsilon, sigma);
    MUST(cudaGetLastError());
    std::vector<double> want = on_host(force, all * 3), sample, got;
    for (int i = 0; i < n; i += 97)
        for (int part = 0; part < splits; part += 3) {
            double a[3] = {};
            for (int j = part * share; j < (part + 1) * share; j++) {
                if (j == i)
                    continue;
                double e[3] = {x[i] - x[j], y[i] - y[j], z[i] - z[j]};
                double r2 = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
                double s2 = sigma * sigma / r2, s6 = s2 * s2 * s2;
                for (int k = 0; k < 3; k++)
                    a[k] += 24.0 * epsilon / r2 * (2.0 * s6 * s6 - s6) * e[k];
            }
            for (int k = 0; k < 3; k++) {
                sample.push_back(a[k]);
                got.push_back(want[all * k + (size_t)part * n + i]);
            }
        }
    check("k20d", on_device(got), sample, 1e-9);
    MUST(cudaMemset(force, 0xA5, all * 3 * sizeof(double)));
    k20e<<<dim3(n / BLOCK, splits), BLOCK>>>(dx, dy, dz, force, force + all, force + 2 * all, n, share, epsilon, sigma);
    check("k20e", force, want, 1e-9);
    return 0;
}
