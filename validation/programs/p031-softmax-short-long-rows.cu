// Softmax of the rows of a matrix: attention-sized rows (32768 x 1024) and vocabulary-sized rows (2048 x 50257).
#include "../harness.h"

#include <functional>

__global__ void k31a(float *out, const float *inp, int n, int c)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY;
    for (int j = 0; j < c; j++)
        if (x[j] > top)
            top = x[j];
    float total = 0.0f;
    for (int j = 0; j < c; j++) {
        y[j] = expf(x[j] - top);
        total += y[j];
    }
    for (int j = 0; j < c; j++)
        y[j] /= total;
}

__global__ void k31b(float *out, const float *inp, int n, int c)
{
    extern __shared__ float scratch[];
    int row = blockIdx.x, tid = threadIdx.x, width = blockDim.x;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY;
    for (int j = tid; j < c; j += width)
        top = fmaxf(top, x[j]);
    scratch[tid] = top;
    __syncthreads();
    for (int half = width / 2; half >= 1; half /= 2) {
        if (tid < half)
            scratch[tid] = fmaxf(scratch[tid], scratch[tid + half]);
        __syncthreads();
    }
    top = scratch[0];
    __syncthreads();

    for (int j = tid; j < c; j += width)
        y[j] = expf(x[j] - top);

    float total = 0.0f;
    for (int j = tid; j < c; j += width)
        total += y[j];
    scratch[tid] = total;
    __syncthreads();
    for (int half = width / 2; half >= 1; half /= 2) {
        if (tid < half)
            scratch[tid] += scratch[tid + half];
        __syncthreads();
    }
    total = scratch[0];

    for (int j = tid; j < c; j += width)
        y[j] = y[j] / total;
}

__device__ float warp_max(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v = fmaxf(v, __shfl_down_sync(0xffffffffu, v, step));
    return v;
}

__device__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_down_sync(0xffffffffu, v, step);
    return v;
}

__global__ void k31c(float *out, const float *inp, int n, int c)
{
    __shared__ float tops[32], totals[32];
    int row = blockIdx.x, tid = threadIdx.x;
    int warp = tid / 32, lane = tid % 32, warps = blockDim.x / 32;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY;
    for (int j = tid; j < c; j += blockDim.x)
        top = fmaxf(top, x[j]);
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    if (tid == 0) {
        float v = tops[0];
        for (int w = 1; w < warps; w++)
            v = fmaxf(v, tops[w]);
        tops[0] = v;
    }
    __syncthreads();
    top = tops[0];

    for (int j = tid; j < c; j += blockDim.x)
        y[j] = expf(x[j] - top);

    float total = 0.0f;
    for (int j = tid; j < c; j += blockDim.x)
        total += y[j];
    total = warp_sum(total);
    if (lane == 0)
        totals[warp] = total;
    __syncthreads();
    if (tid == 0) {
        float v = totals[0];
        for (int w = 1; w < warps; w++)
            v += totals[w];
        totals[0] = v;
    }
    __syncthreads();
    total = totals[0];

    for (int j = tid; j < c; j += blockDim.x)
        y[j] = y[j] / total;
}

__global__ void k31d(float *out, const float *inp, int n, int c)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= n)
        return;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY, total = 0.0f;
    for (int j = lane; j < c; j += 32) {
        float next = fmaxf(top, x[j]);
        total = total * expf(top - next) + expf(x[j] - next);
        top = next;
    }
    for (int step = 16; step > 0; step /= 2) {
        float other_top = __shfl_down_sync(0xffffffffu, top, step);
        float other_total = __shfl_down_sync(0xffffffffu, total, step);
        if (other_top > top) {
            total *= expf(top - other_top);
            top = other_top;
        } else {
            other_total *= expf(other_top - top);
        }
        total += other_total;
    }
    top = __shfl_sync(0xffffffffu, top, 0);
    total = __shfl_sync(0xffffffffu, total, 0);

    for (int j = lane; j < c; j += 32)
        y[j] = expf(x[j] - top) / total;
}

__global__ void k31e(float *out, const float *inp, int n, int c)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= n)
        return;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY, total = 0.0f;
    for (int j = lane; j < c; j += 32) {
        float next = fmaxf(top, x[j]);
        total = total * __expf(top - next) + __expf(x[j] - next);
        top = next;
    }
    for (int step = 16; step > 0; step /= 2) {
        float other_top = __shfl_down_sync(0xffffffffu, top, step);
        float other_total = __shfl_down_sync(0xffffffffu, total, step);
        if (other_top > top) {
            total *= __expf(top - other_top);
            top = other_top;
        } else {
            other_total *= __expf(other_top - top);
        }
        total += other_total;
    }
    top = __shfl_sync(0xffffffffu, top, 0);
    total = __shfl_sync(0xffffffffu, total, 0);

    for (int j = lane; j < c; j += 32)
        y[j] = __fdividef(__expf(x[j] - top), total);
}

__global__ void k31f(float *out, const float *inp, int n, int c)
{
    __shared__ float tops[32], totals[32];
    int row = blockIdx.x, tid = threadIdx.x;
    int warp = tid / 32, lane = tid % 32, warps = blockDim.x / 32;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY;
    for (int j = tid; j < c; j += blockDim.x)
        top = fmaxf(top, x[j]);
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    if (tid == 0) {
        float v = tops[0];
        for (int w = 1; w < warps; w++)
            v = fmaxf(v, tops[w]);
        tops[0] = v;
    }
    __syncthreads();
    top = tops[0];

    for (int j = tid; j < c; j += blockDim.x)
        y[j] = __expf(x[j] - top);

    float total = 0.0f;
    for (int j = tid; j < c; j += blockDim.x)
        total += y[j];
    total = warp_sum(total);
    if (lane == 0)
        totals[warp] = total;
    __syncthreads();
    if (tid == 0) {
        float v = totals[0];
        for (int w = 1; w < warps; w++)
            v += totals[w];
        totals[0] = v;
    }
    __syncthreads();
    total = totals[0];

    for (int j = tid; j < c; j += blockDim.x)
        y[j] = __fdividef(y[j], total);
}

__global__ void k31g(float *out, const float *inp, int n, int c)
{
    const int batch = 8;
    __shared__ float tops[32], totals[32];
    int row = blockIdx.x, tid = threadIdx.x;
    int warp = tid / 32, lane = tid % 32, warps = blockDim.x / 32;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY;
    for (int j = tid; j < c; j += blockDim.x * batch) {
#pragma unroll
        for (int u = 0; u < batch; u++)
            top = fmaxf(top, x[min(c - 1, j + u * (int)blockDim.x)]);
    }
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    if (tid == 0) {
        float v = tops[0];
        for (int w = 1; w < warps; w++)
            v = fmaxf(v, tops[w]);
        tops[0] = v;
    }
    __syncthreads();
    top = tops[0];

    float total = 0.0f;
    for (int j = tid; j < c; j += blockDim.x * batch) {
        float value[batch];
#pragma unroll
        for (int u = 0; u < batch; u++)
            value[u] = __ldcs(&x[min(c - 1, j + u * (int)blockDim.x)]);
#pragma unroll
        for (int u = 0; u < batch; u++) {
            int at = j + u * (int)blockDim.x;
            if (at < c) {
                float e = __expf(value[u] - top);
                y[at] = e;
                total += e;
            }
        }
    }
    total = warp_sum(total);
    if (lane == 0)
        totals[warp] = total;
    __syncthreads();
    if (tid == 0) {
        float v = totals[0];
        for (int w = 1; w < warps; w++)
            v += totals[w];
        totals[0] = v;
    }
    __syncthreads();
    total = totals[0];

    for (int j = tid; j < c; j += blockDim.x * batch) {
        float value[batch];
#pragma unroll
        for (int u = 0; u < batch; u++)
            value[u] = y[min(c - 1, j + u * (int)blockDim.x)];
#pragma unroll
        for (int u = 0; u < batch; u++) {
            int at = j + u * (int)blockDim.x;
            if (at < c)
                y[at] = __fdividef(value[u], total);
        }
    }
}

__global__ void k31h(float *out, const float *inp, int n, int c)
{
    const int batch = 8;
    __shared__ float tops[32], totals[32];
    int row = blockIdx.x, tid = threadIdx.x;
    int warp = tid / 32, lane = tid % 32, warps = blockDim.x / 32;
    const float *x = inp + row * c;
    float *y = out + row * c;

    float top = -INFINITY, total = 0.0f;
    for (int j = tid; j < c; j += blockDim.x * batch) {
        float value[batch];
#pragma unroll
        for (int u = 0; u < batch; u++) {
            int at = j + u * (int)blockDim.x;
            value[u] = at < c ? x[at] : -INFINITY;
        }
        float next = top;
#pragma unroll
        for (int u = 0; u < batch; u++)
            next = fmaxf(next, value[u]);
        total *= __expf(top - next);
#pragma unroll
        for (int u = 0; u < batch; u++)
            total += __expf(value[u] - next);
        top = next;
    }

    float whole = warp_max(top);
    if (lane == 0)
        tops[warp] = whole;
    __syncthreads();
    whole = tops[0];
    for (int w = 1; w < warps; w++)
        whole = fmaxf(whole, tops[w]);
    total = warp_sum(total * __expf(top - whole));
    if (lane == 0)
        totals[warp] = total;
    __syncthreads();
    total = totals[0];
    for (int w = 1; w < warps; w++)
        total += totals[w];
    float factor = 1.0f / total;

    int last = (c - 1) / (int)(blockDim.x * batch) * (int)(blockDim.x * batch) + tid;
    for (int j = last; j >= 0; j -= blockDim.x * batch) {
        float value[batch];
#pragma unroll
        for (int u = 0; u < batch; u++)
            value[u] = __ldcs(&x[min(c - 1, j + u * (int)blockDim.x)]);
#pragma unroll
        for (int u = 0; u < batch; u++) {
            int at = j + u * (int)blockDim.x;
            if (at < c)
                __stcs(&y[at], __expf(value[u] - whole) * factor);
        }
    }
}

__global__ void differences(const float *got, const float *want, size_t n, float tolerance, int *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (!(fabsf(got[i] - want[i]) <= tolerance * fabsf(want[i])))
            atomicAdd(count, 1);
}

int main()
{
    const float tolerance = 3e-4f;
    int *count = zeroed<int>(1);
    auto compare = [&](const float *got, const float *want, size_t n) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        differences<<<1056, 256>>>(got, want, n, tolerance, count);
        MUST(cudaDeviceSynchronize());
    };
    auto report = [&](const char *name) {
        check(name, count, std::vector<int>{0}, 0.0);
    };
    auto compare_rows = [&](const float *got, const float *inp, int n, int c, int step) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int row = 0; row < n; row += step) {
            std::vector<float> x = on_host(inp + (size_t)row * c, c), want(c);
            double top = x[0], total = 0.0;
            for (float v : x)
                top = std::fmax(top, double(v));
            for (float v : x)
                total += std::exp(v - top);
            for (int j = 0; j < c; j++)
                want[j] = float(std::exp(x[j] - top) / total);
            float *reference = on_device(want);
            compare(got + (size_t)row * c, reference, c);
            MUST(cudaFree(reference));
        }
    };

    {
        const int n = 32 * 1024, c = 1024;
        const size_t size = (size_t)n * c;
        float *inp = input<float>(size, 311, -4.0, 4.0);
        float *first = output<float>(size), *out = output<float>(size);

        k31a<<<(n + 255) / 256, 256>>>(first, inp, n, c);
        compare_rows(first, inp, n, c, 4093);
        report("k31a");

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, size * sizeof(float)));
            launch();
            compare(out, first, size);
            report(name);
        };
        launch_and_check("k31b", [&] { k31b<<<n, 256, 256 * sizeof(float)>>>(out, inp, n, c); });
        launch_and_check("k31c", [&] { k31c<<<n, 256>>>(out, inp, n, c); });
        launch_and_check("k31d", [&] { k31d<<<n / 8, 256>>>(out, inp, n, c); });
        launch_and_check("k31e", [&] { k31e<<<n / 8, 256>>>(out, inp, n, c); });
        MUST(cudaFree(inp));
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }
    {
        const int n = 2 * 1024, c = 50257;
        const size_t size = (size_t)n * c;
        float *inp = input<float>(size, 312, -1.0, 1.0);
        float *first = output<float>(size), *out = output<float>(size);

        k31f<<<n, 512>>>(first, inp, n, c);
        compare_rows(first, inp, n, c, 677);
        report("k31f");

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, size * sizeof(float)));
            launch();
            compare(out, first, size);
            report(name);
        };
        launch_and_check("k31g", [&] { k31g<<<n, 512>>>(out, inp, n, c); });
        launch_and_check("k31h", [&] { k31h<<<n, 512>>>(out, inp, n, c); });
    }
    return 0;
}
