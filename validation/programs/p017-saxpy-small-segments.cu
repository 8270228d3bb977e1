// y = a x + y over a long vector, and a short polynomial over many segments with their own coefficients.
#include "../harness.h"

__global__ void k17a(size_t n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

__global__ void k17b(size_t n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

__global__ void k17c(const int *start, const float2 *coef, const float *v, float *w)
{
    const int task = blockIdx.x;
    const int begin = start[task], len = start[task + 1] - begin;
    const float2 c = coef[task];
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        float t = v[begin + i];
        w[begin + i] = (c.x * t + c.y) * t;
    }
}

__global__ void k17d(const int *start, const float2 *coef, const float *v, float *w)
{
    const int task = blockIdx.x;
    const int begin = start[task], len = start[task + 1] - begin;
    const float2 c = coef[task];
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        float t = v[begin + i];
        w[begin + i] = (c.x * t + c.y) * t;
    }
}

__global__ void k17e(const int *start, const float2 *coef, const float *v, float *w, int tasks)
{
    const int lane = threadIdx.x % 32;
    const int warps = gridDim.x * blockDim.x / 32;
    for (int task = (blockIdx.x * blockDim.x + threadIdx.x) / 32; task < tasks; task += warps) {
        const int begin = start[task], len = start[task + 1] - begin;
        const float2 c = coef[task];
        for (int i = lane; i < len; i += 32) {
            float t = v[begin + i];
            w[begin + i] = (c.x * t + c.y) * t;
        }
    }
}

// Segments of at most 96 elements.
__global__ void k17f(const int *start, const float2 *coef, const float *v, float *w, int tasks)
{
    const int lane = threadIdx.x % 32;
    const int warps = gridDim.x * blockDim.x / 32;
    int task = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (task >= tasks)
        return;
    int begin = start[task], end = start[task + 1];
    float2 c = coef[task];
    while (true) {
        float t[3];
#pragma unroll
        for (int k = 0; k < 3; k++)
            t[k] = begin + lane + k * 32 < end ? v[begin + lane + k * 32] : 0.0f;
        task += warps;
        int next_begin = 0, next_end = 0;
        float2 next_c = make_float2(0.0f, 0.0f);
        if (task < tasks) {
            next_begin = start[task];
            next_end = start[task + 1];
            next_c = coef[task];
        }
#pragma unroll
        for (int k = 0; k < 3; k++)
            if (begin + lane + k * 32 < end)
                w[begin + lane + k * 32] = (c.x * t[k] + c.y) * t[k];
        if (task >= tasks)
            break;
        begin = next_begin;
        end = next_end;
        c = next_c;
    }
}

int main()
{
    {
        const size_t n = 60000011;
        const float a = 1.5f;
        float *x = input<float>(n, 1, -1.0, 1.0), *start = input<float>(n, 2, -1.0, 1.0), *y = output<float>(n);
        std::vector<float> hx = on_host(x, n), want = on_host(start, n);
        for (size_t i = 0; i < n; i++)
            want[i] = a * hx[i] + want[i];
        MUST(cudaMemcpy(y, start, n * sizeof(float), cudaMemcpyDeviceToDevice));
        k17a<<<132, 512>>>(n, a, x, y);
        check("k17a", y, want, 1e-6);
        MUST(cudaMemcpy(y, start, n * sizeof(float), cudaMemcpyDeviceToDevice));
        k17b<<<132 * 8, 256>>>(n, a, x, y);
        check("k17b", y, want, 1e-6);
        MUST(cudaFree(x));
        MUST(cudaFree(start));
        MUST(cudaFree(y));
    }
    const int tasks = 300000;
    std::vector<int> start(tasks + 1, 0);
    for (int t = 0; t < tasks; t++)
        start[t + 1] = start[t] + 24 + (int)(scrambled(t, 3) % 73u); // 24 to 96
    const size_t n = (size_t)start[tasks];
    int *starts = on_device(start);
    float *coef = input<float>((size_t)tasks * 2, 4, -1.0, 1.0);
    float *v = input<float>(n, 5, -1.0, 1.0), *w = output<float>(n);
    std::vector<float> hc = on_host(coef, (size_t)tasks * 2), hv = on_host(v, n), want(n);
    for (int t = 0; t < tasks; t++)
        for (int i = start[t]; i < start[t + 1]; i++)
            want[i] = (hc[2 * t] * hv[i] + hc[2 * t + 1]) * hv[i];
    const float2 *c = reinterpret_cast<const float2 *>(coef);
    k17c<<<tasks, 256>>>(starts, c, v, w);
    check("k17c", w, want, 1e-5);
    MUST(cudaMemset(w, 0xA5, n * sizeof(float)));
    k17d<<<tasks, 64>>>(starts, c, v, w);
    check("k17d", w, want, 1e-5);
    MUST(cudaMemset(w, 0xA5, n * sizeof(float)));
    k17e<<<132 * 8, 256>>>(starts, c, v, w, tasks);
    check("k17e", w, want, 1e-5);
    MUST(cudaMemset(w, 0xA5, n * sizeof(float)));
    k17f<<<132 * 8, 256>>>(starts, c, v, w, tasks);
    check("k17f", w, want, 1e-5);
    return 0;
}
