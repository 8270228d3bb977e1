// Layer normalisation of 32768 rows of 768 channels, alone (float) and fused with a residual addition (bfloat16).
#include "../harness.h"

#include <cstring>
#include <functional>

typedef __nv_bfloat16 bf16;

__device__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

__global__ void k32a(float *out, float *mean, float *rstd, const float *inp, const float *weight, const float *bias,
                     int n, int c)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    const float *x = inp + row * c;
    float m = 0.0f;
    for (int i = 0; i < c; i++)
        m += x[i];
    m = m / c;
    float v = 0.0f;
    for (int i = 0; i < c; i++) {
        float d = x[i] - m;
        v += d * d;
    }
    v = v / c;
    float s = 1.0f / sqrtf(v + 1e-5f);
    float *y = out + row * c;
    for (int i = 0; i < c; i++) {
        float normal = s * (x[i] - m);
        y[i] = normal * weight[i] + bias[i];
    }
    mean[row] = m;
    rstd[row] = s;
}

__global__ void k32b(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                     const float *__restrict__ inp, const float *__restrict__ weight, const float *__restrict__ bias,
                     int n, int c)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n)
        return;
    const float *x = inp + row * c;

    float sum = 0.0f;
    for (int i = lane; i < c; i += 32)
        sum += x[i];
    float m = warp_sum(sum) / c;
    if (lane == 0)
        __stcs(mean + row, m);

    sum = 0.0f;
    for (int i = lane; i < c; i += 32) {
        float d = x[i] - m;
        sum += d * d;
    }
    float s = rsqrtf(warp_sum(sum) / c + 1e-5f);
    if (lane == 0)
        __stcs(rstd + row, s);

    float *y = out + row * c;
    for (int i = lane; i < c; i += 32) {
        float normal = s * (__ldcs(x + i) - m);
        __stcs(y + i, normal * weight[i] + bias[i]);
    }
}

__global__ void k32c(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                     const float *__restrict__ inp, const float *__restrict__ weight, const float *__restrict__ bias,
                     int n, int c)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n)
        return;
    const float *x = inp + row * c;

    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < c; i += 32) {
        float v = x[i];
        sum += v;
        squares += v * v;
    }
    float m = warp_sum(sum) / c;
    float mean_square = warp_sum(squares) / c;
    float s = rsqrtf(mean_square - m * m + 1e-5f);
    if (lane == 0) {
        __stcs(mean + row, m);
        __stcs(rstd + row, s);
    }

    float *y = out + row * c;
    for (int i = lane; i < c; i += 32) {
        float normal = s * (__ldcs(x + i) - m);
        __stcs(y + i, normal * weight[i] + bias[i]);
    }
}

__global__ void __launch_bounds__(512)
    k32d(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd, const float *__restrict__ inp,
         const float *__restrict__ weight, const float *__restrict__ bias, int n, int c)
{
    extern __shared__ float kept[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + warp;
    if (row >= n)
        return;
    float *mine = kept + warp * c;
    const float *x = inp + row * c;

    float sum = 0.0f, squares = 0.0f;
    for (int i = lane; i < c; i += 32) {
        float v = x[i];
        mine[i] = v;
        sum += v;
        squares += v * v;
    }
    float m = warp_sum(sum) / c;
    float mean_square = warp_sum(squares) / c;
    float s = rsqrtf(mean_square - m * m + 1e-5f);
    if (lane == 0) {
        __stcs(mean + row, m);
        __stcs(rstd + row, s);
    }

    float *y = out + row * c;
    for (int i = lane; i < c; i += 32)
        __stcs(y + i, weight[i] * (mine[i] - m) * s + bias[i]);
}

__global__ void k32e(bf16 *residual, bf16 *normed, float *mean, float *rstd, const bf16 *inp1, const bf16 *inp2,
                     const bf16 *weight, const bf16 *bias, int n, int c)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    residual += row * c;
    normed += row * c;
    inp1 += row * c;
    inp2 += row * c;

    float m = 0.0f;
    for (int i = 0; i < c; i++) {
        float v = float(inp1[i]) + float(inp2[i]);
        m += v;
        residual[i] = bf16(v);
    }
    m = m / c;
    float v = 0.0f;
    for (int i = 0; i < c; i++) {
        float d = float(residual[i]) - m;
        v += d * d;
    }
    v = v / c;
    float s = 1.0f / sqrtf(v + 1e-5f);
    for (int i = 0; i < c; i++) {
        float normal = s * (float(residual[i]) - m);
        normed[i] = bf16(normal * float(weight[i]) + float(bias[i]));
    }
    mean[row] = m;
    rstd[row] = s;
}

__global__ void k32f(bf16 *residual, bf16 *normed, float *mean, float *rstd, const bf16 *inp1, const bf16 *inp2,
                     const bf16 *weight, const bf16 *bias, int n, int c)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n)
        return;
    residual += row * c;
    normed += row * c;
    inp1 += row * c;
    inp2 += row * c;

    float m = 0.0f;
    for (int i = threadIdx.x; i < c; i += 32) {
        float v = float(inp1[i]) + float(inp2[i]);
        m += v;
        residual[i] = bf16(v);
    }
    m = warp_sum(m) / c;
    float v = 0.0f;
    for (int i = threadIdx.x; i < c; i += 32) {
        float d = float(residual[i]) - m;
        v += d * d;
    }
    v = warp_sum(v) / c;
    float s = 1.0f / sqrtf(v + 1e-5f);
    for (int i = threadIdx.x; i < c; i += 32) {
        float normal = s * (float(residual[i]) - m);
        normed[i] = bf16(normal * float(weight[i]) + float(bias[i]));
    }
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = s;
    }
}

const int E = 8;

struct alignas(16) Eight {
    bf16 v[E];
};

__device__ Eight unpacked(int4 bits)
{
    Eight e;
    memcpy(&e, &bits, sizeof(e));
    return e;
}

__device__ int4 packed(const Eight &e)
{
    int4 bits;
    memcpy(&bits, &e, sizeof(bits));
    return bits;
}

__device__ Eight load(const bf16 *p)
{
    return unpacked(*reinterpret_cast<const int4 *>(p));
}

__device__ Eight load_once(const bf16 *p)
{
    return unpacked(__ldcs(reinterpret_cast<const int4 *>(p)));
}

__global__ void k32g(bf16 *residual, bf16 *normed, float *mean, float *rstd, const bf16 *inp1, const bf16 *inp2,
                     const bf16 *weight, const bf16 *bias, int n, int c)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n)
        return;
    residual += row * c;
    normed += row * c;
    inp1 += row * c;
    inp2 += row * c;

    float sum = 0.0f, squares = 0.0f;
    int i = threadIdx.x * E;
    for (; i < c; i += 32 * E) {
        Eight a = load_once(inp1 + i), b = load_once(inp2 + i), r;
        for (int k = 0; k < E; k++) {
            r.v[k] = bf16(float(a.v[k]) + float(b.v[k]));
            sum += float(r.v[k]);
            squares += float(r.v[k]) * float(r.v[k]);
        }
        *reinterpret_cast<int4 *>(residual + i) = packed(r);
    }
    float m = warp_sum(sum) / c;
    float s = rsqrtf(warp_sum(squares) / c - m * m + 1e-5f);

    for (i -= 32 * E; i >= 0; i -= 32 * E) {
        Eight r = load_once(residual + i), w = load(weight + i), b = load(bias + i), o;
        for (int k = 0; k < E; k++)
            o.v[k] = bf16(s * (float(r.v[k]) - m) * float(w.v[k]) + float(b.v[k]));
        __stcs(reinterpret_cast<int4 *>(normed + i), packed(o));
    }
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = s;
    }
}

__global__ void k32h(bf16 *residual, bf16 *normed, float *mean, float *rstd, const bf16 *inp1, const bf16 *inp2,
                     const bf16 *weight, const bf16 *bias, int n, int c)
{
    extern __shared__ int4 room[];
    int4 *s_weight = room;
    int4 *s_bias = room + c / E;
    int4 *s_row = room + (2 + threadIdx.y) * (c / E);
    for (int i = threadIdx.y * 32 + threadIdx.x; i < c / E; i += blockDim.y * 32) {
        s_weight[i] = reinterpret_cast<const int4 *>(weight)[i];
        s_bias[i] = reinterpret_cast<const int4 *>(bias)[i];
    }
    __syncthreads();

    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= n)
        return;
    residual += row * c;
    normed += row * c;
    inp1 += row * c;
    inp2 += row * c;

    float sum = 0.0f;
    for (int i = threadIdx.x * E; i < c; i += 32 * E) {
        Eight a = load_once(inp1 + i), b = load_once(inp2 + i), r;
        for (int k = 0; k < E; k++) {
            r.v[k] = bf16(float(a.v[k]) + float(b.v[k]));
            sum += float(r.v[k]);
        }
        __stcs(reinterpret_cast<int4 *>(residual + i), packed(r));
        s_row[i / E] = packed(r);
    }
    float m = warp_sum(sum) / c;

    float v = 0.0f;
    for (int i = threadIdx.x * E; i < c; i += 32 * E) {
        Eight r = unpacked(s_row[i / E]);
        for (int k = 0; k < E; k++)
            v += (float(r.v[k]) - m) * (float(r.v[k]) - m);
    }
    float s = rsqrtf(warp_sum(v) / c + 1e-5f);

    for (int i = threadIdx.x * E; i < c; i += 32 * E) {
        Eight r = unpacked(s_row[i / E]), w = unpacked(s_weight[i / E]), b = unpacked(s_bias[i / E]), o;
        for (int k = 0; k < E; k++)
            o.v[k] = bf16(s * (float(r.v[k]) - m) * float(w.v[k]) + float(b.v[k]));
        __stcs(reinterpret_cast<int4 *>(normed + i), packed(o));
    }
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = s;
    }
}

template <class T> __global__ void differences(const T *got, const T *want, size_t n, float tolerance, int *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float a = float(got[i]), b = float(want[i]);
        if (!(fabsf(a - b) <= tolerance * fmaxf(1.0f, fabsf(b))))
            atomicAdd(count, 1);
    }
}

int *count;

template <class T> void compare(const T *got, const T *want, size_t n, float tolerance)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    differences<<<1056, 256>>>(got, want, n, tolerance, count);
    MUST(cudaDeviceSynchronize());
}

void report(const char *name)
{
    check(name, count, std::vector<int>{0}, 0.0);
}

// Every 1021st row against the host.
template <class T>
void compare_rows(const T *got, const float *mean, const float *rstd, const T *inp1, const T *inp2,
                const T *weight, const T *bias, int n, int c, float tolerance)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<T> w = on_host(weight, c), b = on_host(bias, c);
    for (int row = 0; row < n; row += 1021) {
        std::vector<T> x = on_host(inp1 + (size_t)row * c, c), want(c);
        std::vector<double> sum(c);
        for (int i = 0; i < c; i++)
            sum[i] = double(float(x[i]));
        if (inp2) {
            std::vector<T> x2 = on_host(inp2 + (size_t)row * c, c);
            for (int i = 0; i < c; i++)
                sum[i] = double(float(T(float(x[i]) + float(x2[i]))));
        }
        double m = 0.0, v = 0.0;
        for (double s : sum)
            m += s / c;
        for (double s : sum)
            v += (s - m) * (s - m) / c;
        double s = 1.0 / std::sqrt(v + 1e-5);
        for (int i = 0; i < c; i++)
            want[i] = T(float(s * (sum[i] - m) * double(float(w[i])) + double(float(b[i]))));
        T *reference = on_device(want);
        compare(got + (size_t)row * c, reference, c, tolerance);
        MUST(cudaFree(reference));
        float *statistics = on_device(std::vector<float>{float(m), float(s)});
        compare(mean + row, statistics, 1, tolerance);
        compare(rstd + row, statistics + 1, 1, tolerance);
        MUST(cudaFree(statistics));
    }
}

int main()
{
    const int n = 32 * 1024, c = 768;
    const size_t size = (size_t)n * c;
    count = zeroed<int>(1);
    float *mean = output<float>(n), *rstd = output<float>(n);
    float *first_mean = output<float>(n), *first_rstd = output<float>(n);

    {
        float *inp = input<float>(size, 321, -0.5, 1.5);
        float *weight = input<float>(c, 322, -1.0, 1.0), *bias = input<float>(c, 323, -1.0, 1.0);
        float *first = output<float>(size), *out = output<float>(size);

        k32a<<<(n + 255) / 256, 256>>>(first, first_mean, first_rstd, inp, weight, bias, n, c);
        compare_rows<float>(first, first_mean, first_rstd, inp, nullptr, weight, bias, n, c, 1e-4f);
        report("k32a");

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, size * sizeof(float)));
            MUST(cudaMemset(mean, 0xA5, n * sizeof(float)));
            MUST(cudaMemset(rstd, 0xA5, n * sizeof(float)));
            launch();
            compare(out, first, size, 2e-4f);
            compare(mean, first_mean, n, 2e-4f);
            compare(rstd, first_rstd, n, 2e-4f);
            report(name);
        };
        launch_and_check("k32b", [&] { k32b<<<n / 8, 256>>>(out, mean, rstd, inp, weight, bias, n, c); });
        launch_and_check("k32c", [&] { k32c<<<n / 8, 256>>>(out, mean, rstd, inp, weight, bias, n, c); });
        launch_and_check("k32d", [&] {
            k32d<<<n / 8, 256, 8 * c * sizeof(float)>>>(out, mean, rstd, inp, weight, bias, n, c);
        });
        MUST(cudaFree(inp));
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }
    {
        bf16 *inp1 = input<bf16>(size, 324, -0.5, 1.5), *inp2 = input<bf16>(size, 325, -1.0, 1.0);
        bf16 *weight = input<bf16>(c, 326, -1.0, 1.0), *bias = input<bf16>(c, 327, -1.0, 1.0);
        bf16 *first = output<bf16>(size), *out = output<bf16>(size);
        bf16 *first_residual = output<bf16>(size), *residual = output<bf16>(size);
        MUST(cudaMemset(first_mean, 0xA5, n * sizeof(float)));
        MUST(cudaMemset(first_rstd, 0xA5, n * sizeof(float)));

        k32e<<<(n + 255) / 256, 256>>>(first_residual, first, first_mean, first_rstd, inp1, inp2, weight, bias, n, c);
        compare_rows<bf16>(first, first_mean, first_rstd, inp1, inp2, weight, bias, n, c, 2e-2f);
        report("k32e");

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, size * sizeof(bf16)));
            MUST(cudaMemset(residual, 0xA5, size * sizeof(bf16)));
            MUST(cudaMemset(mean, 0xA5, n * sizeof(float)));
            MUST(cudaMemset(rstd, 0xA5, n * sizeof(float)));
            launch();
            compare(out, first, size, 2e-2f);
            compare(residual, first_residual, size, 1e-3f);
            compare(mean, first_mean, n, 2e-2f);
            compare(rstd, first_rstd, n, 2e-2f);
            report(name);
        };
        dim3 block(32, 8);
        launch_and_check("k32f", [&] {
            k32f<<<n / 8, block>>>(residual, out, mean, rstd, inp1, inp2, weight, bias, n, c);
        });
        launch_and_check("k32g", [&] {
            k32g<<<n / 8, block>>>(residual, out, mean, rstd, inp1, inp2, weight, bias, n, c);
        });
        launch_and_check("k32h", [&] {
            k32h<<<n / 8, block, (2 + 8) * c * sizeof(bf16)>>>(residual, out, mean, rstd, inp1, inp2, weight, bias, n,
                                                               c);
        });
    }
    return 0;
}
