// Sums over the columns of a matrix (8192 x 3072), an AdamW step on 32 million parameters, and GELU of 25 million
// bfloat16 numbers.
#include "../harness.h"

#include <cstring>
#include <functional>

typedef __nv_bfloat16 bf16;

__global__ void k33a(float *dbias, const float *dout, int n, int oc)
{
    extern __shared__ float part[];
    int o = blockIdx.x, tid = threadIdx.x;
    const float *x = dout + o;
    float sum = 0.0f;
    for (int i = tid; i < n; i += blockDim.x)
        sum += x[i * oc];
    part[tid] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 1; half /= 2) {
        if (tid < half)
            part[tid] += part[tid + half];
        __syncthreads();
    }
    if (tid == 0)
        dbias[o] += part[0];
}

__global__ void k33b(float *dbias, const float *dout, int n, int oc)
{
    extern __shared__ float part[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    int column = blockIdx.x * 32 + lane;
    const float *x = dout + column;
    float sum = 0.0f;
    for (int row = warp; row < n; row += warps)
        sum += x[row * oc];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = 0.0f;
        for (int w = 0; w < warps; w++)
            sum += part[lane + w * 32];
        dbias[column] += sum;
    }
}

__global__ void k33c(float *dbias, const float *dout, int n, int oc)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= oc)
        return;
    float sum = 0.0f;
    for (int row = blockIdx.y; row < n; row += gridDim.y)
        sum += dout[row * oc + column];
    atomicAdd(dbias + column, sum);
}

// Blocks of 32 x 16 threads, 128 columns for each.
__global__ void k33d(float *dbias, const float *dout, int n, int oc)
{
    __shared__ float part[128];
    int thread = threadIdx.y * 32 + threadIdx.x;
    int first = blockIdx.x * 128 + threadIdx.x * 4;
    if (thread < 128)
        part[thread] = 0.0f;
    __syncthreads();

    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < n; row += gridDim.y * blockDim.y) {
        float4 v = *reinterpret_cast<const float4 *>(dout + row * oc + first);
        sum[0] += v.x;
        sum[1] += v.y;
        sum[2] += v.z;
        sum[3] += v.w;
    }
    for (int k = 0; k < 4; k++)
        atomicAdd(&part[threadIdx.x + k * 32], sum[k]);
    __syncthreads();

    float mine = 0.0f;
    if (threadIdx.y < 4)
        mine = part[thread];
    __syncthreads();
    if (threadIdx.y < 4)
        part[threadIdx.x * 4 + threadIdx.y] = mine;
    __syncthreads();
    if (threadIdx.y < 4)
        atomicAdd(dbias + blockIdx.x * 128 + thread, part[thread]);
}

struct Step {
    float rate, beta1, beta2, correction1, correction2, eps, decay;
};

__device__ float blend(float from, float to, float weight)
{
    return fmaf(weight, to, fmaf(-weight, from, from));
}

__global__ void k33e(float *params, const float *grads, float *m_memory, float *v_memory, long n, Step s)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float grad = grads[i];
    float m = m_memory[i];
    float v = v_memory[i];
    m = blend(grad, m, s.beta1);
    m_memory[i] = m;
    v = blend(grad * grad, v, s.beta2);
    v_memory[i] = v;
    m /= s.correction1;
    v /= s.correction2;
    params[i] -= s.rate * (m / (sqrtf(v) + s.eps) + s.decay * params[i]);
}

__global__ void k33f(float *params, const float *grads, float *m_memory, float *v_memory, long n, Step s)
{
    long stride = (long)blockDim.x * gridDim.x;
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += 4 * stride) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            long at = i + k * stride;
            if (at >= n)
                break;
            float grad = grads[at];
            float m = m_memory[at];
            float v = v_memory[at];
            float param = params[at];
            m = blend(grad, m, s.beta1);
            m_memory[at] = m;
            v = blend(grad * grad, v, s.beta2);
            v_memory[at] = v;
            float m_hat = m / s.correction1;
            float v_hat = v / s.correction2;
            params[at] = param - s.rate * (m_hat / (sqrtf(v_hat) + s.eps) + s.decay * param);
        }
    }
}

const float ROOT = 0.7978845608028654f;

__device__ float fast_tanh(float x)
{
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k33g(bf16 *out, const bf16 *inp, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = float(inp[i]);
        float cube = 0.044715f * x * x * x;
        out[i] = bf16(0.5f * x * (1.0f + fast_tanh(ROOT * (x + cube))));
    }
}

struct alignas(16) Eight {
    bf16 v[8];
};

__global__ void k33h(bf16 *out, const bf16 *inp, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        int4 bits = __ldcs(reinterpret_cast<const int4 *>(inp + i));
        Eight a, b;
        memcpy(&a, &bits, sizeof(a));
        for (int k = 0; k < 8; k++) {
            float x = float(a.v[k]);
            float cube = 0.044715f * x * x * x;
            b.v[k] = bf16(0.5f * x * (1.0f + fast_tanh(ROOT * (x + cube))));
        }
        memcpy(&bits, &b, sizeof(b));
        *reinterpret_cast<int4 *>(out + i) = bits;
    }
}

template <class T>
__global__ void differences(const T *got, const T *want, size_t n, float tolerance, float floor, int *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float a = float(got[i]), b = float(want[i]);
        if (!(fabsf(a - b) <= tolerance * fmaxf(floor, fabsf(b))))
            atomicAdd(count, 1);
    }
}

int *count;

template <class T> void compare(const T *got, const T *want, size_t n, float tolerance, float floor)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    differences<<<1056, 256>>>(got, want, n, tolerance, floor, count);
    MUST(cudaDeviceSynchronize());
}

void report(const char *name)
{
    check(name, count, std::vector<int>{0}, 0.0);
}

void column_sums()
{
    const int n = 8 * 1024, oc = 4 * 768;
    float *dout = input<float>((size_t)n * oc, 331, -1.0, 1.0);
    std::vector<float> want(oc);
    {
        std::vector<float> x = on_host(dout, (size_t)n * oc);
        std::vector<double> sum(oc, 0.0);
        for (int row = 0; row < n; row++)
            for (int o = 0; o < oc; o++)
                sum[o] += x[(size_t)row * oc + o];
        for (int o = 0; o < oc; o++)
            want[o] = float(sum[o]);
    }
    int units, threads;
    MUST(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
    MUST(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    float *dbias = zeroed<float>(oc);
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dbias, 0, oc * sizeof(float)));
        launch();
        check(name, dbias, want, 2e-3);
    };
    launch_and_check("k33a", [&] { k33a<<<oc, 512, 512 * sizeof(float)>>>(dbias, dout, n, oc); });
    launch_and_check("k33b", [&] { k33b<<<oc / 32, 256, 256 * sizeof(float)>>>(dbias, dout, n, oc); });
    launch_and_check("k33c", [&] {
        k33c<<<dim3(oc / 256, units * threads / 256), 256>>>(dbias, dout, n, oc);
    });
    launch_and_check("k33d", [&] {
        k33d<<<dim3(oc / 128, units * threads / (512 * (oc / 128))), dim3(32, 16)>>>(dbias, dout, n, oc);
    });
    MUST(cudaFree(dout));
}

void optimizer()
{
    const long n = 32 << 20;
    const int sample = 1 << 20;
    const float beta1 = 0.9f, beta2 = 0.999f;
    Step s = {1e-3f, beta1, beta2, 1.0f - powf(beta1, 10.0f), 1.0f - powf(beta2, 10.0f), 1e-8f, 0.0f};
    float *grads = input<float>(n, 332, -1.0, 1.0);
    float *params = input<float>(n, 333, -1.0, 1.0);
    float *m = input<float>(n, 334, -1.0, 1.0);
    float *v = input<float>(n, 335, 0.01, 1.0);
    float *params1 = output<float>(n), *m1 = output<float>(n), *v1 = output<float>(n);
    float *params2 = output<float>(n), *m2 = output<float>(n), *v2 = output<float>(n);
    for (float *to : {params1, params2})
        MUST(cudaMemcpy(to, params, n * sizeof(float), cudaMemcpyDeviceToDevice));
    for (float *to : {m1, m2})
        MUST(cudaMemcpy(to, m, n * sizeof(float), cudaMemcpyDeviceToDevice));
    for (float *to : {v1, v2})
        MUST(cudaMemcpy(to, v, n * sizeof(float), cudaMemcpyDeviceToDevice));
    const unsigned blocks = unsigned((n + 511) / 512);

    k33e<<<blocks, 512>>>(params1, grads, m1, v1, n, s);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    for (long start : {0L, n - sample}) {
        std::vector<float> hp = on_host(params + start, sample), hg = on_host(grads + start, sample);
        std::vector<float> hm = on_host(m + start, sample), hv = on_host(v + start, sample);
        for (int i = 0; i < sample; i++) {
            double g = hg[i];
            double mm = double(s.beta1) * hm[i] + (1.0 - double(s.beta1)) * g;
            double vv = double(s.beta2) * hv[i] + (1.0 - double(s.beta2)) * g * g;
            hm[i] = float(mm);
            hv[i] = float(vv);
            double change = mm / s.correction1 / (std::sqrt(vv / s.correction2) + s.eps) + s.decay * hp[i];
            hp[i] = float(hp[i] - s.rate * change);
        }
        float *want_p = on_device(hp), *want_m = on_device(hm), *want_v = on_device(hv);
        compare(params1 + start, want_p, sample, 1e-6f, 1.0f);
        compare(m1 + start, want_m, sample, 1e-5f, 1.0f);
        compare(v1 + start, want_v, sample, 1e-5f, 1.0f);
        MUST(cudaFree(want_p));
        MUST(cudaFree(want_m));
        MUST(cudaFree(want_v));
    }
    report("k33e");

    k33f<<<blocks, 512>>>(params2, grads, m2, v2, n, s);
    compare(params2, params1, n, 1e-6f, 1.0f);
    compare(m2, m1, n, 1e-5f, 1.0f);
    compare(v2, v1, n, 1e-5f, 1.0f);
    report("k33f");
    for (float *data : {grads, params, m, v, params1, m1, v1, params2, m2, v2})
        MUST(cudaFree(data));
}

void activation()
{
    const int n = 8 * 1024 * 4 * 768, sample = 1 << 20;
    bf16 *inp = input<bf16>(n, 336, -4.0, 4.0);
    bf16 *first = output<bf16>(n), *out = output<bf16>(n);

    k33g<<<(n + 255) / 256, 256>>>(first, inp, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    for (int start : {0, n - sample}) {
        std::vector<bf16> x = on_host(inp + start, sample), want(sample);
        for (int i = 0; i < sample; i++) {
            float v = float(x[i]);
            want[i] = bf16(0.5f * v * (1.0f + std::tanh(ROOT * (v + 0.044715f * v * v * v))));
        }
        bf16 *reference = on_device(want);
        compare(first + start, reference, sample, 0.02f, 0.2f);
        MUST(cudaFree(reference));
    }
    report("k33g");

    k33h<<<(n / 8 + 255) / 256, 256>>>(out, inp, n);
    compare(out, first, n, 0.01f, 0.1f);
    report("k33h");
}

int main()
{
    count = zeroed<int>(1);
    column_sums();
    optimizer();
    activation();
    return 0;
}
