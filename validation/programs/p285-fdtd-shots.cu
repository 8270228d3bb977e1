// PolyBench fdtd-2d: update of both electric components; and ballistic trajectories (range, time, height, arc length).
#include "../harness.h"

constexpr int N = 4096;
constexpr int SHOTS = 1 << 24;
constexpr float G = 9.80665f;

struct Shot {
    float angle, speed, range, time, height, arc;
};

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

__global__ void k285a(const double *ex, const double *ey, const double *hz, double *ex_new, double *ey_new)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    double h = hz[i * N + j];
    double up = i > 0 ? hz[(i - 1) * N + j] : h;
    double left = j > 0 ? hz[i * N + j - 1] : h;
    ex_new[i * N + j] = ex[i * N + j] - 0.5 * (h - up);
    ey_new[i * N + j] = ey[i * N + j] - 0.5 * (h - left);
}

__global__ void k285b(const double *ex, const double *ey, const double *hz, double *ex_new, double *ey_new)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    double h = __ldg(hz + i * N + j);
    double up = i > 0 ? __ldg(hz + (i - 1) * N + j) : h;
    double left = j > 0 ? __ldg(hz + i * N + j - 1) : h;
    ex_new[i * N + j] = __ldg(ex + i * N + j) - 0.5 * (h - up);
    ey_new[i * N + j] = __ldg(ey + i * N + j) - 0.5 * (h - left);
}

__global__ void k285c(const double *ex, const double *ey, const double *hz, double *ex_new, double *ey_new)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    double h = hz[i * N + j];
    double up = i > 0 ? hz[(i - 1) * N + j] : h;
    double left = j > 0 ? hz[i * N + j - 1] : h;
    double x = ex[i * N + j], y = ey[i * N + j];
    ex_new[i * N + j] = x - 0.5 * (h - up);
    ey_new[i * N + j] = y - 0.5 * (h - left);
}

__global__ void k285d(const double *ex, const double *ey, const double *hz, double *ex_new, double *ey_new)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    double h = __ldg(hz + i * N + j);
    double up = i > 0 ? __ldg(hz + (i - 1) * N + j) : h;
    double left = j > 0 ? __ldg(hz + i * N + j - 1) : h;
    double x = __ldg(ex + i * N + j), y = __ldg(ey + i * N + j);
    ex_new[i * N + j] = x - 0.5 * (h - up);
    ey_new[i * N + j] = y - 0.5 * (h - left);
}

__global__ void k285e(Shot *shots, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double s, c, v = shots[i].speed;
    sincos(double(shots[i].angle), &s, &c);
    double e = v * v * (1.0 / 9.80665);
    shots[i].range = 2.0 * e * s * c;
    shots[i].time = 2.0 * v * s * (1.0 / 9.80665);
    shots[i].height = 0.5 * e * s * s;
    shots[i].arc = e * (s + c * c * log((1.0 + s) / c));
}

__global__ void k285f(Shot *shots, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s, c, v = shots[i].speed;
    sincosf(shots[i].angle, &s, &c);
    float e = v * v * (1.0f / G);
    shots[i].range = 2.0f * e * s * c;
    shots[i].time = 2.0f * v * s * (1.0f / G);
    shots[i].height = 0.5f * e * s * s;
    shots[i].arc = e * (s + c * c * logf((1.0f + s) / c));
}

__device__ void trajectory(float angle, float v, float &range, float &time, float &height, float &arc)
{
    float s, c;
    sincosf(angle, &s, &c);
    float e = v * v * (1.0f / G);
    range = 2.0f * e * s * c;
    time = 2.0f * v * s * (1.0f / G);
    height = 0.5f * e * s * s;
    arc = e * (s + c * c * logf((1.0f + s) / c));
}

__global__ void k285g(const float4 *angle, const float4 *speed, float4 *range, float4 *time, float4 *height, float4 *arc,
                      int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    float4 a = angle[i], v = speed[i], r, t, h, l;
    trajectory(a.x, v.x, r.x, t.x, h.x, l.x);
    trajectory(a.y, v.y, r.y, t.y, h.y, l.y);
    trajectory(a.z, v.z, r.z, t.z, h.z, l.z);
    trajectory(a.w, v.w, r.w, t.w, h.w, l.w);
    range[i] = r;
    time[i] = t;
    height[i] = h;
    arc[i] = l;
}

int main()
{
    {
        size_t cells = size_t(N) * N;
        double *ex = input<double>(cells, 1, -1, 1), *ey = input<double>(cells, 2, -1, 1);
        double *hz = input<double>(cells, 3, -1, 1), *out = output<double>(2 * cells);
        dim3 block(32, 8), across(N / 32, N / 8);
        k285a<<<across, block>>>(ex, ey, hz, out, out + cells);
        MUST(cudaDeviceSynchronize());
        std::vector<double> want = on_host(out, 2 * cells);
        std::vector<double> x = on_host(ex, cells), y = on_host(ey, cells), z = on_host(hz, cells);
        for (size_t k = 0; k < cells; k += 991) {
            size_t i = k / N, j = k % N;
            agree("ex", want[k], i ? x[k] - 0.5 * (z[k] - z[k - N]) : x[k], 1e-12);
            agree("ey", want[cells + k], j ? y[k] - 0.5 * (z[k] - z[k - 1]) : y[k], 1e-12);
        }
        auto launch = [&](const char *name, auto kernel) {
            MUST(cudaMemset(out, 0xA5, 2 * cells * sizeof(double)));
            kernel<<<across, block>>>(ex, ey, hz, out, out + cells);
            check(name, out, want, 1e-12);
        };
        launch("k285b", k285b);
        launch("k285c", k285c);
        launch("k285d", k285d);
        cudaFree(ex), cudaFree(ey), cudaFree(hz), cudaFree(out);
    }
    float *angle = input<float>(SHOTS, 4, 0.05, 1.5), *speed = input<float>(SHOTS, 5, 10, 60);
    std::vector<float> ha = on_host(angle, SHOTS), hv = on_host(speed, SHOTS);
    std::vector<Shot> host(SHOTS);
    for (int i = 0; i < SHOTS; i++)
        host[i] = {ha[i], hv[i], 0, 0, 0, 0};
    Shot *shots = on_device(host);
    float *fields = output<float>(4 * size_t(SHOTS));
    k285e<<<SHOTS / 256, 256>>>(shots, SHOTS);
    MUST(cudaDeviceSynchronize());
    std::vector<Shot> first = on_host(shots, SHOTS);
    for (int i = 0; i < SHOTS; i += 1009) {
        double a = ha[i], e = double(hv[i]) * hv[i] / 9.80665;
        agree("range", first[i].range, e * std::sin(2 * a), 1e-4);
        agree("arc", first[i].arc, e * (std::sin(a) + std::cos(a) * std::cos(a) * std::log((1 + std::sin(a)) / std::cos(a))),
              1e-4);
    }
    MUST(cudaMemcpy(shots, host.data(), SHOTS * sizeof(Shot), cudaMemcpyHostToDevice));
    std::vector<float> flat(6 * size_t(SHOTS)), columns(4 * size_t(SHOTS));
    for (int i = 0; i < SHOTS; i++) {
        const Shot &s = first[i];
        float values[6] = {s.angle, s.speed, s.range, s.time, s.height, s.arc};
        for (int f = 0; f < 6; f++)
            flat[6 * size_t(i) + f] = values[f];
        for (int f = 0; f < 4; f++)
            columns[f * size_t(SHOTS) + i] = values[2 + f];
    }
    k285f<<<SHOTS / 256, 256>>>(shots, SHOTS);
    check("k285f", reinterpret_cast<float *>(shots), flat, 1e-4);
    float4 *f4 = reinterpret_cast<float4 *>(fields);
    int n4 = SHOTS / 4;
    k285g<<<n4 / 256, 256>>>(reinterpret_cast<float4 *>(angle), reinterpret_cast<float4 *>(speed), f4, f4 + n4, f4 + 2 * n4,
                             f4 + 3 * size_t(n4), n4);
    check("k285g", fields, columns, 1e-4);
    return 0;
}
