// Time series: gaps between events in whole periods, and a Kalman filter step of many tracks.
#include "../harness.h"

typedef unsigned long long u64;

__global__ void k260a(const u64 *times, unsigned *ticks, u64 period, int n)
{
    int first = 64 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n)
        return;
    u64 before = times[first];
    for (int i = first; i < first + 64; i++) {
        u64 now = times[i + 1];
        ticks[i] = unsigned((now - before) / period);
        before = now;
    }
}

__global__ void k260b(const u64 *times, unsigned *ticks, u64 period, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        ticks[i] = unsigned((times[i + 1] - times[i]) / period);
}

// Quotient by the period from a multiplier of 64 bits made on the host; right for gaps below 2^63.
__global__ void k260c(const u64 *times, unsigned *ticks, u64 multiplier, int shift, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        ticks[i] = unsigned(__umul64hi(times[i + 1] - times[i], multiplier) >> shift);
}

__global__ void __launch_bounds__(256) k260d(const u64 *times, unsigned *ticks, u64 multiplier, int shift, int n)
{
    __shared__ u64 local[257];
    int i = blockIdx.x * 256 + threadIdx.x;
    local[threadIdx.x] = times[i];
    if (threadIdx.x == 0)
        local[256] = times[i + 256];
    __syncthreads();
    if (i < n)
        ticks[i] = unsigned(__umul64hi(local[threadIdx.x + 1] - local[threadIdx.x], multiplier) >> shift);
}

// Track in the plane with constant velocity: state (x, y, vx, vy), upper triangle of its covariance, measured place.
struct Track {
    float s[4], p[10], z[2];
};

__host__ __device__ inline void step(Track &t, float dt, float q, float r)
{
    float *s = t.s, *p = t.p;
    s[0] += dt * s[2];
    s[1] += dt * s[3];
    float p00 = p[0] + dt * (2 * p[2] + dt * p[7]) + q, p01 = p[1] + dt * (p[3] + p[5] + dt * p[8]);
    float p02 = p[2] + dt * p[7], p03 = p[3] + dt * p[8];
    float p11 = p[4] + dt * (2 * p[6] + dt * p[9]) + q, p12 = p[5] + dt * p[8], p13 = p[6] + dt * p[9];
    float p22 = p[7] + q, p23 = p[8], p33 = p[9] + q;
    float a = p00 + r, b = p01, c = p11 + r, scale = 1.0f / (a * c - b * b);
    float ia = c * scale, ib = -b * scale, ic = a * scale;
    float k00 = p00 * ia + p01 * ib, k01 = p00 * ib + p01 * ic, k10 = p01 * ia + p11 * ib, k11 = p01 * ib + p11 * ic;
    float k20 = p02 * ia + p12 * ib, k21 = p02 * ib + p12 * ic, k30 = p03 * ia + p13 * ib, k31 = p03 * ib + p13 * ic;
    float ex = t.z[0] - s[0], ey = t.z[1] - s[1];
    s[0] += k00 * ex + k01 * ey;
    s[1] += k10 * ex + k11 * ey;
    s[2] += k20 * ex + k21 * ey;
    s[3] += k30 * ex + k31 * ey;
    p[0] = p00 - k00 * p00 - k01 * p01;
    p[1] = p01 - k00 * p01 - k01 * p11;
    p[2] = p02 - k00 * p02 - k01 * p12;
    p[3] = p03 - k00 * p03 - k01 * p13;
    p[4] = p11 - k10 * p01 - k11 * p11;
    p[5] = p12 - k10 * p02 - k11 * p12;
    p[6] = p13 - k10 * p03 - k11 * p13;
    p[7] = p22 - k20 * p02 - k21 * p12;
    p[8] = p23 - k20 * p03 - k21 * p13;
    p[9] = p33 - k30 * p03 - k31 * p13;
}

__device__ inline void step_columns(const float *in, float *out, int n, int i, float dt, float q, float r)
{
    Track t;
    for (int f = 0; f < 4; f++)
        t.s[f] = in[f * n + i];
    for (int f = 0; f < 10; f++)
        t.p[f] = in[(4 + f) * n + i];
    for (int f = 0; f < 2; f++)
        t.z[f] = in[(14 + f) * n + i];
    step(t, dt, q, r);
    for (int f = 0; f < 4; f++)
        out[f * n + i] = t.s[f];
    for (int f = 0; f < 10; f++)
        out[(4 + f) * n + i] = t.p[f];
}

__global__ void __launch_bounds__(256) k260e(const float *in, float *out, int n, float dt, float q, float r)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        step_columns(in, out, n, i, dt, q, r);
}

__global__ void __launch_bounds__(256) k260f(const Track *in, float *out, int n, float dt, float q, float r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Track t = in[i];
    step(t, dt, q, r);
    for (int f = 0; f < 4; f++)
        out[size_t(i) * 14 + f] = t.s[f];
    for (int f = 0; f < 10; f++)
        out[size_t(i) * 14 + 4 + f] = t.p[f];
}

__global__ void __launch_bounds__(256) k260g(const float *in, float *out, int n, float dt, float q, float r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        step_columns(in, out, n, i, dt, q, r);
}

int main()
{
    {
        const int n = 1 << 25;
        const u64 period = 1000003; // nanoseconds
        std::vector<u64> host(n + 1);
        host[0] = 1600000000000000000ull;
        for (int i = 0; i < n; i++)
            host[i + 1] = host[i] + 2ull * scrambled(i, 1) + 1000000000ull;
        u64 *times = on_device(host);
        unsigned *ticks = output<unsigned>(n);
        std::vector<unsigned> want(n);
        for (int i = 0; i < n; i++)
            want[i] = unsigned((host[i + 1] - host[i]) / period);
        int bits = 0;
        while ((1ull << bits) < period)
            bits++;
        unsigned __int128 power = static_cast<unsigned __int128>(1) << (63 + bits);
        u64 multiplier = u64((power + period - 1) / period);
        k260a<<<n / 64 / 128, 128>>>(times, ticks, period, n);
        check("k260a", ticks, want, 0);
        MUST(cudaMemset(ticks, 0xA5, 4 * size_t(n)));
        k260b<<<n / 256, 256>>>(times, ticks, period, n);
        check("k260b", ticks, want, 0);
        MUST(cudaMemset(ticks, 0xA5, 4 * size_t(n)));
        k260c<<<n / 256, 256>>>(times, ticks, multiplier, bits - 1, n);
        check("k260c", ticks, want, 0);
        MUST(cudaMemset(ticks, 0xA5, 4 * size_t(n)));
        k260d<<<n / 256, 256>>>(times, ticks, multiplier, bits - 1, n);
        check("k260d", ticks, want, 0);
        MUST(cudaFree(times));
        MUST(cudaFree(ticks));
    }
    const int n = 3 << 20;
    const float dt = 0.1f, q = 0.01f, r = 0.5f;
    std::vector<Track> tracks(n);
    std::vector<float> columns(size_t(n) * 16);
    for (int i = 0; i < n; i++) {
        Track &t = tracks[i];
        float *all = t.s;
        for (int f = 0; f < 16; f++) {
            float v = scrambled(size_t(i) * 16 + f, 2) / 4294967296.0f - 0.5f;
            bool diagonal = f == 4 || f == 8 || f == 11 || f == 13;
            if (f < 4)
                all[f] = 10 * v;
            else if (f < 14)
                t.p[f - 4] = diagonal ? 5 + v : v;
            else
                t.z[f - 14] = 10 * v;
            columns[size_t(f) * n + i] = f < 4 ? t.s[f] : f < 14 ? t.p[f - 4] : t.z[f - 14];
        }
    }
    float *in = on_device(columns), *out = output<float>(size_t(n) * 14);
    Track *records = on_device(tracks);
    k260e<<<64, 256>>>(in, out, n, dt, q, r);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(out, size_t(n) * 14), rows(want.size());
    for (int s = 0; s < 50000; s++) {
        int i = scrambled(s, 3) % n;
        Track t = tracks[i];
        step(t, dt, q, r);
        for (int f = 0; f < 14; f++) {
            float value = f < 4 ? t.s[f] : t.p[f - 4];
            if (std::fabs(value - want[size_t(f) * n + i]) > 1e-4) {
                std::printf("k260e: track %d is wrong\n", i);
                return 2;
            }
        }
    }
    for (int i = 0; i < n; i++)
        for (int f = 0; f < 14; f++)
            rows[size_t(i) * 14 + f] = want[size_t(f) * n + i];
    check("k260e", out, want, 0);
    MUST(cudaMemset(out, 0xA5, want.size() * 4));
    k260f<<<(n + 255) / 256, 256>>>(records, out, n, dt, q, r);
    check("k260f", out, rows, 1e-4);
    MUST(cudaMemset(out, 0xA5, want.size() * 4));
    k260g<<<(n + 255) / 256, 256>>>(in, out, n, dt, q, r);
    check("k260g", out, want, 1e-4);
}
