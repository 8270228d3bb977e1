// Mean wind speed of many stations, and Courant numbers of a shallow-water grid.
#include "../harness.h"

constexpr int HOURS = 512;

__device__ __forceinline__ float approximate_root(float x)
{
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

// u, v: [station][hour]; one station per thread
__global__ void k250a(const float *__restrict__ u, const float *__restrict__ v, float *__restrict__ mean)
{
    int station = blockIdx.x * blockDim.x + threadIdx.x;
    const float *us = u + (size_t)station * HOURS, *vs = v + (size_t)station * HOURS;
    float sum = 0.0f;
    for (int t = 0; t < HOURS; t++)
        sum += sqrtf(us[t] * us[t] + vs[t] * vs[t]);
    mean[station] = sum / HOURS;
}

__global__ void k250b(const float *__restrict__ u, const float *__restrict__ v, float *__restrict__ mean)
{
    int station = blockIdx.x * blockDim.x + threadIdx.x;
    const float *us = u + (size_t)station * HOURS, *vs = v + (size_t)station * HOURS;
    float sum = 0.0f;
    for (int t = 0; t < HOURS; t++)
        sum += approximate_root(us[t] * us[t] + vs[t] * vs[t]);
    mean[station] = sum / HOURS;
}

// one station per warp
__global__ void k250c(const float *__restrict__ u, const float *__restrict__ v, float *__restrict__ mean)
{
    int station = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *us = u + (size_t)station * HOURS, *vs = v + (size_t)station * HOURS;
    float sum = 0.0f;
    for (int t = 4 * lane; t < HOURS; t += 128) {
        float4 a = *reinterpret_cast<const float4 *>(us + t), b = *reinterpret_cast<const float4 *>(vs + t);
        sum += sqrtf(a.x * a.x + b.x * b.x) + sqrtf(a.y * a.y + b.y * b.y);
        sum += sqrtf(a.z * a.z + b.z * b.z) + sqrtf(a.w * a.w + b.w * b.w);
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        mean[station] = sum / HOURS;
}

__global__ void k250d(const float *__restrict__ u, const float *__restrict__ v, float *__restrict__ mean)
{
    int station = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *us = u + (size_t)station * HOURS, *vs = v + (size_t)station * HOURS;
    float sum = 0.0f;
    for (int t = 4 * lane; t < HOURS; t += 128) {
        float4 a = *reinterpret_cast<const float4 *>(us + t), b = *reinterpret_cast<const float4 *>(vs + t);
        sum += approximate_root(a.x * a.x + b.x * b.x) + approximate_root(a.y * a.y + b.y * b.y);
        sum += approximate_root(a.z * a.z + b.z * b.z) + approximate_root(a.w * a.w + b.w * b.w);
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        mean[station] = sum / HOURS;
}

constexpr float DRY = 0.05f, GRAVITY = 9.81f;

__device__ __forceinline__ float courant(float h, float u, float v, float ratio)
{
    float c = 0.0f;
    if (h > DRY)
        c = ratio * (fmaxf(fabsf(u), fabsf(v)) + sqrtf(GRAVITY * h));
    return c;
}

__device__ __forceinline__ float courant_select(float h, float u, float v, float ratio)
{
    float wet = h > DRY ? ratio : 0.0f;
    return wet * (fmaxf(fabsf(u), fabsf(v)) + sqrtf(GRAVITY * h));
}

__global__ void k250e(const float4 *__restrict__ h, const float4 *__restrict__ u, const float4 *__restrict__ v,
                      float ratio, float4 *__restrict__ number, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = h[i], b = u[i], c = v[i];
        number[i] = make_float4(courant(a.x, b.x, c.x, ratio), courant(a.y, b.y, c.y, ratio),
                                courant(a.z, b.z, c.z, ratio), courant(a.w, b.w, c.w, ratio));
    }
}

__global__ void k250f(const float4 *__restrict__ h, const float4 *__restrict__ u, const float4 *__restrict__ v,
                      float ratio, float4 *__restrict__ number, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = h[i], b = u[i], c = v[i];
        number[i] = make_float4(courant(a.x, b.x, c.x, ratio), courant(a.y, b.y, c.y, ratio),
                                courant(a.z, b.z, c.z, ratio), courant(a.w, b.w, c.w, ratio));
    }
}

__global__ void k250g(const float4 *__restrict__ h, const float4 *__restrict__ u, const float4 *__restrict__ v,
                      float ratio, float4 *__restrict__ number, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 a = h[i], b = u[i], c = v[i];
        number[i] = make_float4(courant_select(a.x, b.x, c.x, ratio), courant_select(a.y, b.y, c.y, ratio),
                                courant_select(a.z, b.z, c.z, ratio), courant_select(a.w, b.w, c.w, ratio));
    }
}

int main()
{
    const int stations = 1 << 16;
    const size_t values = (size_t)stations * HOURS;
    float *u = input<float>(values, 1, -20.0, 25.0), *v = input<float>(values, 2, -15.0, 15.0);
    std::vector<float> hu = on_host(u, 200 * HOURS), hv = on_host(v, 200 * HOURS), first(200);
    for (int s = 0; s < 200; s++) {
        double sum = 0;
        for (int t = 0; t < HOURS; t++)
            sum += sqrt(double(hu[s * HOURS + t]) * hu[s * HOURS + t] + double(hv[s * HOURS + t]) * hv[s * HOURS + t]);
        first[s] = float(sum / HOURS);
    }
    float *ma = output<float>(stations), *mb = output<float>(stations), *mc = output<float>(stations),
          *md = output<float>(stations);
    k250a<<<stations / 128, 128>>>(u, v, ma);
    check("k250a", ma, first, 1e-4);
    std::vector<float> means = on_host(ma, stations);
    k250b<<<stations / 128, 128>>>(u, v, mb);
    check("k250b", mb, means, 1e-4);
    k250c<<<stations / 4, 128>>>(u, v, mc);
    check("k250c", mc, means, 1e-4);
    k250d<<<stations / 4, 128>>>(u, v, md);
    check("k250d", md, means, 1e-4);
    MUST(cudaFree(u));
    MUST(cudaFree(v));

    const int cells = 6144 * 4096, groups = cells / 4;
    const float ratio = 0.5f / 25.0f;
    float *depth = input<float>(cells, 3, 0.0, 3.0), *east = input<float>(cells, 4, -2.0, 2.0),
          *north = input<float>(cells, 5, -2.0, 2.0);
    float *number = output<float>(cells);
    std::vector<float> h0 = on_host(depth, 4096), u0 = on_host(east, 4096), v0 = on_host(north, 4096), row(4096);
    for (int i = 0; i < 4096; i++)
        row[i] = h0[i] > DRY ? ratio * (fmaxf(fabsf(u0[i]), fabsf(v0[i])) + sqrtf(GRAVITY * h0[i])) : 0.0f;
    const float4 *h4 = reinterpret_cast<const float4 *>(depth), *u4 = reinterpret_cast<const float4 *>(east),
                 *v4 = reinterpret_cast<const float4 *>(north);
    float4 *n4 = reinterpret_cast<float4 *>(number);
    auto poison = [&] { MUST(cudaMemset(number, 0xA5, cells * sizeof(float))); };
    k250e<<<64, 256>>>(h4, u4, v4, ratio, n4, groups);
    check("k250e", number, row, 1e-5);
    std::vector<float> want = on_host(number, cells);
    poison();
    k250f<<<groups / 256, 256>>>(h4, u4, v4, ratio, n4, groups);
    check("k250f", number, want, 1e-5);
    poison();
    k250g<<<groups / 256, 256>>>(h4, u4, v4, ratio, n4, groups);
    check("k250g", number, want, 1e-5);
}
