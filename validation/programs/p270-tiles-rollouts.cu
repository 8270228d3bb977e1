// Web map pixels of positions in degrees (Mercator), and costs of sampled trajectories of a car-like robot.
#include "../harness.h"

constexpr int points = 16 << 20;
constexpr double radians = 3.14159265358979323846 / 180.0;
constexpr double over_pi = 1.0 / 3.14159265358979323846;
constexpr int rollouts = 512 << 10;
constexpr int steps = 64;
constexpr float dt = 0.05f;
constexpr float wheelbase = 2.7f;

__global__ void k270a(const double *__restrict__ lat, const double *__restrict__ lon, int2 *__restrict__ pixel,
                      double zoom, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double size = 256.0 * pow(2.0, zoom);
    double phi = lat[i] * radians;
    double x = (lon[i] + 180.0) * (1.0 / 360.0) * size;
    double y = (0.5 - 0.5 * over_pi * log(tan(phi) + 1.0 / cos(phi))) * size;
    pixel[i] = make_int2((int)x, (int)y);
}

// Size of the world in pixels from the host.
__global__ void k270b(const double *__restrict__ lat, const double *__restrict__ lon, int2 *__restrict__ pixel,
                      double size, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double phi = lat[i] * radians;
    double x = (lon[i] + 180.0) * (1.0 / 360.0) * size;
    double y = (0.5 - 0.5 * over_pi * log(tan(phi) + 1.0 / cos(phi))) * size;
    pixel[i] = make_int2((int)x, (int)y);
}

// ln(tan + sec) as half the logarithm of (1 + sin) / (1 - sin).
__global__ void k270c(const double *__restrict__ lat, const double *__restrict__ lon, int2 *__restrict__ pixel,
                      double size, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double s = sin(lat[i] * radians);
    double x = (lon[i] + 180.0) * (1.0 / 360.0) * size;
    double y = (0.5 - 0.25 * over_pi * log((1.0 + s) / (1.0 - s))) * size;
    pixel[i] = make_int2((int)x, (int)y);
}

// Two points per thread.
__global__ void k270d(const double2 *__restrict__ lat, const double2 *__restrict__ lon, int4 *__restrict__ pixel,
                      double size, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    double2 a = lat[i], o = lon[i];
    double s0 = sin(a.x * radians), s1 = sin(a.y * radians);
    double x0 = (o.x + 180.0) * (1.0 / 360.0) * size, x1 = (o.y + 180.0) * (1.0 / 360.0) * size;
    double y0 = (0.5 - 0.25 * over_pi * log((1.0 + s0) / (1.0 - s0))) * size;
    double y1 = (0.5 - 0.25 * over_pi * log((1.0 + s1) / (1.0 - s1))) * size;
    pixel[i] = make_int4((int)x0, (int)y0, (int)x1, (int)y1);
}

// Bicycle model: controls (acceleration, steering angle) of [step][rollout]; cost of leaving the line y = 0 and of steering.
__global__ void k270e(const float2 *__restrict__ control, float *__restrict__ cost, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n)
        return;
    float y = 0, heading = 0, speed = 5, x = 0, sum = 0;
    for (int t = 0; t < steps; t++) {
        float2 u = control[(size_t)t * n + k];
        speed += u.x * dt;
        heading += speed * tanf(u.y) * (dt / wheelbase);
        x += speed * cosf(heading) * dt;
        y += speed * sinf(heading) * dt;
        sum += y * y + 0.5f * u.y * u.y;
    }
    cost[k] = sum - 0.1f * x;
}

// Controls of [rollout][step], hardware sine and cosine.
__global__ void k270f(const float2 *__restrict__ control, float *__restrict__ cost, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n)
        return;
    float y = 0, heading = 0, speed = 5, x = 0, sum = 0;
    for (int t = 0; t < steps; t++) {
        float2 u = control[(size_t)k * steps + t];
        speed += u.x * dt;
        heading += speed * __tanf(u.y) * (dt / wheelbase);
        x += speed * __cosf(heading) * dt;
        y += speed * __sinf(heading) * dt;
        sum += y * y + 0.5f * u.y * u.y;
    }
    cost[k] = sum - 0.1f * x;
}

// Controls of [step][rollout], hardware sine and cosine.
__global__ void k270g(const float2 *__restrict__ control, float *__restrict__ cost, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n)
        return;
    float y = 0, heading = 0, speed = 5, x = 0, sum = 0;
    for (int t = 0; t < steps; t++) {
        float2 u = control[(size_t)t * n + k];
        speed += u.x * dt;
        heading += speed * __tanf(u.y) * (dt / wheelbase);
        x += speed * __cosf(heading) * dt;
        y += speed * __sinf(heading) * dt;
        sum += y * y + 0.5f * u.y * u.y;
    }
    cost[k] = sum - 0.1f * x;
}

int main()
{
    {
        const int zoom = 14;
        const double size = 256.0 * (1 << zoom);
        double *lat = input<double>(points, 1, -60, 60), *lon = input<double>(points, 2, -180, 180);
        std::vector<double> some_lat = on_host(lat, 8192), some_lon = on_host(lon, 8192);
        std::vector<int> want(2 * 8192);
        for (int i = 0; i < 8192; i++) {
            double phi = some_lat[i] * radians;
            want[2 * i] = (int)((some_lon[i] + 180.0) * (1.0 / 360.0) * size);
            want[2 * i + 1] = (int)((0.5 - 0.5 * over_pi * std::log(std::tan(phi) + 1.0 / std::cos(phi))) * size);
        }
        int *out = output<int>(2 * (size_t)points);
        int2 *pixel = reinterpret_cast<int2 *>(out);
        k270a<<<points / 256, 256>>>(lat, lon, pixel, zoom, points);
        check("k270a", out, want, 1e-6);
        std::vector<int> all = on_host(out, 2 * (size_t)points);
        MUST(cudaMemset(out, 0xA5, 2 * sizeof(int) * (size_t)points));
        k270b<<<points / 256, 256>>>(lat, lon, pixel, size, points);
        check("k270b", out, all, 1e-6);
        MUST(cudaMemset(out, 0xA5, 2 * sizeof(int) * (size_t)points));
        k270c<<<points / 256, 256>>>(lat, lon, pixel, size, points);
        check("k270c", out, all, 1e-6);
        MUST(cudaMemset(out, 0xA5, 2 * sizeof(int) * (size_t)points));
        k270d<<<points / 512, 256>>>(reinterpret_cast<double2 *>(lat), reinterpret_cast<double2 *>(lon),
                                     reinterpret_cast<int4 *>(out), size, points / 2);
        check("k270d", out, all, 1e-6);
        MUST(cudaFree(lat));
        MUST(cudaFree(lon));
        MUST(cudaFree(out));
    }
    float *by_step = input<float>(2 * (size_t)steps * rollouts, 3, -0.3, 0.3);
    const float2 *controls = reinterpret_cast<const float2 *>(by_step);
    std::vector<float2> host = on_host(controls, (size_t)steps * rollouts), turned(host.size());
    for (int k0 = 0; k0 < rollouts; k0 += 32)
        for (int t = 0; t < steps; t++)
            for (int k = k0; k < k0 + 32; k++)
                turned[(size_t)k * steps + t] = host[(size_t)t * rollouts + k];
    float2 *by_rollout = on_device(turned);
    std::vector<float> want(4096);
    for (int k = 0; k < 4096; k++) {
        double y = 0, heading = 0, speed = 5, x = 0, sum = 0;
        for (int t = 0; t < steps; t++) {
            float2 u = turned[(size_t)k * steps + t];
            speed += u.x * dt;
            heading += speed * std::tan((double)u.y) * (dt / wheelbase);
            x += speed * std::cos(heading) * dt;
            y += speed * std::sin(heading) * dt;
            sum += y * y + 0.5 * u.y * u.y;
        }
        want[k] = float(sum - 0.1 * x);
    }
    float *cost_e = output<float>(rollouts), *cost_f = output<float>(rollouts), *cost_g = output<float>(rollouts);
    k270e<<<rollouts / 256, 256>>>(controls, cost_e, rollouts);
    check("k270e", cost_e, want, 1e-3);
    std::vector<float> all = on_host(cost_e, rollouts);
    k270f<<<rollouts / 256, 256>>>(by_rollout, cost_f, rollouts);
    check("k270f", cost_f, all, 1e-3);
    k270g<<<rollouts / 256, 256>>>(controls, cost_g, rollouts);
    check("k270g", cost_g, all, 1e-3);
    return 0;
}
