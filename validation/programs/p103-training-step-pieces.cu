// Pieces of a training step: gradient of a bias (column sums of 32768 x 3072), an AdamW update, and GELU in bfloat16.
#include "../harness.h"

const int ROWS = 32768, CHANNELS = 3072;
const size_t PARAMS = (size_t)1 << 25, ACTIVATIONS = (size_t)1 << 27;

// One block for a channel.
__global__ void k103a(float *dbias, const float *dout, int rows, int channels)
{
    __shared__ float shared[256];
    int tid = threadIdx.x, channel = blockIdx.x;
    float sum = 0.0f;
    for (int r = tid; r < rows; r += blockDim.x)
        sum += dout[(size_t)r * channels + channel];
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        dbias[channel] = shared[0];
}

// One block for 32 channels.
__global__ void k103b(float *__restrict__ dbias, const float *__restrict__ dout, int rows, int channels)
{
    __shared__ float shared[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, channel = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int r = ty; r < rows; r += 32)
        sum += dout[(size_t)r * channels + channel];
    shared[ty][tx] = sum;
    __syncthreads();
    if (ty == 0) {
        for (int i = 1; i < 32; i++)
            sum += shared[i][tx];
        dbias[channel] = sum;
    }
}

// gridDim.y blocks share 32 channels; dbias starts at zero.
__global__ void k103c(float *__restrict__ dbias, const float *__restrict__ dout, int rows, int channels)
{
    __shared__ float shared[8][32];
    int tx = threadIdx.x, ty = threadIdx.y, channel = blockIdx.x * 32 + tx;
    float sum = 0.0f;
#pragma unroll 8
    for (int r = blockIdx.y * 8 + ty; r < rows; r += 8 * gridDim.y)
        sum += dout[(size_t)r * channels + channel];
    shared[ty][tx] = sum;
    __syncthreads();
    if (ty == 0) {
        for (int i = 1; i < 8; i++)
            sum += shared[i][tx];
        atomicAdd(&dbias[channel], sum);
    }
}

__global__ void k103d(float *param, const float *grad, float *m, float *v, size_t n, float rate, float beta1,
                      float beta2, float eps, float decay, int step)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float g = grad[i];
    m[i] = beta1 * m[i] + (1.0 - beta1) * g;
    v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
    double m_hat = m[i] / (1.0 - pow((double)beta1, step));
    double v_hat = v[i] / (1.0 - pow((double)beta2, step));
    param[i] -= rate * (m_hat / (sqrt(v_hat) + eps) + decay * param[i]);
}

__device__ inline void adam(float &p, float g, float &m, float &v, float rate, float beta1, float beta2, float scale1,
                            float scale2, float eps, float decay)
{
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * g * g;
    p -= rate * (m * scale1 / (sqrtf(v * scale2) + eps) + decay * p);
}

// scale1 and scale2: 1 / (1 - beta^step).
__global__ void k103e(float *__restrict__ param, const float *__restrict__ grad, float *__restrict__ m,
                      float *__restrict__ v, size_t n, float rate, float beta1, float beta2, float scale1,
                      float scale2, float eps, float decay)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float p = param[i], mi = m[i], vi = v[i];
    adam(p, grad[i], mi, vi, rate, beta1, beta2, scale1, scale2, eps, decay);
    m[i] = mi;
    v[i] = vi;
    param[i] = p;
}

__global__ void k103f(float4 *__restrict__ param, const float4 *__restrict__ grad, float4 *__restrict__ m,
                      float4 *__restrict__ v, size_t quads, float rate, float beta1, float beta2, float scale1,
                      float scale2, float eps, float decay)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 p = param[i], g = grad[i], mi = m[i], vi = v[i];
    adam(p.x, g.x, mi.x, vi.x, rate, beta1, beta2, scale1, scale2, eps, decay);
    adam(p.y, g.y, mi.y, vi.y, rate, beta1, beta2, scale1, scale2, eps, decay);
    adam(p.z, g.z, mi.z, vi.z, rate, beta1, beta2, scale1, scale2, eps, decay);
    adam(p.w, g.w, mi.w, vi.w, rate, beta1, beta2, scale1, scale2, eps, decay);
    m[i] = mi;
    v[i] = vi;
    param[i] = p;
}

__global__ void k103g(__nv_bfloat16 *__restrict__ out, const __nv_bfloat16 *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = __bfloat162float(in[i]);
    float cube = 0.044715f * x * x * x;
    out[i] = __float2bfloat16(0.5f * x * (1.0f + tanhf(0.7978845608f * (x + cube))));
}

__global__ void k103h(__nv_bfloat16 *__restrict__ out, const __nv_bfloat16 *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 8)
        return;
    uint4 packed = reinterpret_cast<const uint4 *>(in)[i];
    __nv_bfloat162 *pairs = reinterpret_cast<__nv_bfloat162 *>(&packed);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float2 x = __bfloat1622float2(pairs[j]), y;
        y.x = 0.5f * x.x * (1.0f + tanhf(0.7978845608f * (x.x + 0.044715f * x.x * x.x * x.x)));
        y.y = 0.5f * x.y * (1.0f + tanhf(0.7978845608f * (x.y + 0.044715f * x.y * x.y * x.y)));
        pairs[j] = __float22bfloat162_rn(y);
    }
    reinterpret_cast<uint4 *>(out)[i] = packed;
}

__device__ inline float tanh_unit(float x)
{
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k103i(__nv_bfloat16 *__restrict__ out, const __nv_bfloat16 *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 8)
        return;
    uint4 packed = reinterpret_cast<const uint4 *>(in)[i];
    __nv_bfloat162 *pairs = reinterpret_cast<__nv_bfloat162 *>(&packed);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float2 x = __bfloat1622float2(pairs[j]), y;
        y.x = 0.5f * x.x * (1.0f + tanh_unit(0.7978845608f * (x.x + 0.044715f * x.x * x.x * x.x)));
        y.y = 0.5f * x.y * (1.0f + tanh_unit(0.7978845608f * (x.y + 0.044715f * x.y * x.y * x.y)));
        pairs[j] = __float22bfloat162_rn(y);
    }
    reinterpret_cast<uint4 *>(out)[i] = packed;
}

// Elements 0, every, 2 * every, ...
template <class T> __global__ void fill_picked(T *dst, const T *src, size_t every, size_t total)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = src[i * every];
}

template <class T> struct Sample {
    size_t every, count;
    T *room;
    Sample(size_t n, size_t step) : every(step), count((n - 1) / step + 1), room(output<T>(count)) {}
    const T *of(const T *data)
    {
        MUST(cudaMemset(room, 0xA5, count * sizeof(T)));
        fill_picked<T><<<264, 256>>>(room, data, every, count);
        MUST(cudaGetLastError());
        return room;
    }
};

int main()
{
    const size_t total = (size_t)ROWS * CHANNELS;
    float *dout = input<float>(total, 1031, -1.0, 1.0), *dbias = output<float>(CHANNELS);
    // Every 61st channel on the host.
    const int every = 61, chosen = (CHANNELS - 1) / every + 1;
    std::vector<float> column(ROWS), sums(chosen);
    float *line = output<float>(ROWS);
    for (int c = 0; c < chosen; c++) {
        fill_picked<float><<<128, 256>>>(line, dout + c * every, CHANNELS, ROWS);
        column = on_host(line, ROWS);
        double sum = 0;
        for (float x : column)
            sum += x;
        sums[c] = float(sum);
    }
    Sample<float> some_channels(CHANNELS, every);
    auto gradient = [&](const char *name, int fill, auto launch) {
        MUST(cudaMemset(dbias, fill, CHANNELS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        check(name, some_channels.of(dbias), sums, 1e-3);
    };
    gradient("k103a", 0xA5, [&] { k103a<<<CHANNELS, 256>>>(dbias, dout, ROWS, CHANNELS); });
    gradient("k103b", 0xA5, [&] { k103b<<<CHANNELS / 32, dim3(32, 32)>>>(dbias, dout, ROWS, CHANNELS); });
    gradient("k103c", 0, [&] { k103c<<<dim3(CHANNELS / 32, 33), dim3(32, 8)>>>(dbias, dout, ROWS, CHANNELS); });

    const float rate = 0.01f, beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, decay = 0.1f;
    const int step = 10;
    const size_t bytes = PARAMS * sizeof(float);
    float *p0 = input<float>(PARAMS, 1032, -1.0, 1.0), *grad = input<float>(PARAMS, 1033, -1.0, 1.0);
    float *m0 = input<float>(PARAMS, 1034, -0.5, 0.5), *v0 = input<float>(PARAMS, 1035, 0.001, 0.01);
    float *p = output<float>(PARAMS), *m = output<float>(PARAMS), *v = output<float>(PARAMS);
    Sample<float> sample(PARAMS, 1021);
    std::vector<float> hg = on_host(sample.of(grad), sample.count), hp = on_host(sample.of(p0), sample.count);
    std::vector<float> hm = on_host(sample.of(m0), sample.count), hv = on_host(sample.of(v0), sample.count);
    const double scale1 = 1.0 / (1.0 - std::pow((double)beta1, step));
    const double scale2 = 1.0 / (1.0 - std::pow((double)beta2, step));
    for (size_t i = 0; i < sample.count; i++) {
        double mi = (double)beta1 * hm[i] + (1.0 - beta1) * hg[i];
        double vi = (double)beta2 * hv[i] + (1.0 - beta2) * hg[i] * hg[i];
        hp[i] = float(hp[i] - rate * (mi * scale1 / (std::sqrt(vi * scale2) + eps) + decay * hp[i]));
        hm[i] = float(mi);
        hv[i] = float(vi);
    }
    auto update = [&](const char *name, auto launch) {
        MUST(cudaMemcpy(p, p0, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(m, m0, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(v, v0, bytes, cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        check(name, sample.of(p), hp, 1e-6);
        check(name, sample.of(m), hm, 1e-6);
        check(name, sample.of(v), hv, 1e-7);
    };
    const unsigned blocks = PARAMS / 256;
    const float s1 = float(scale1), s2 = float(scale2);
    update("k103d", [&] { k103d<<<blocks, 256>>>(p, grad, m, v, PARAMS, rate, beta1, beta2, eps, decay, step); });
    update("k103e", [&] { k103e<<<blocks, 256>>>(p, grad, m, v, PARAMS, rate, beta1, beta2, s1, s2, eps, decay); });
    update("k103f", [&] {
        k103f<<<blocks / 4, 256>>>((float4 *)p, (const float4 *)grad, (float4 *)m, (float4 *)v, PARAMS / 4, rate, beta1,
                                   beta2, s1, s2, eps, decay);
    });

    __nv_bfloat16 *in = input<__nv_bfloat16>(ACTIVATIONS, 1036, -4.0, 4.0), *out = output<__nv_bfloat16>(ACTIVATIONS);
    const int n = (int)ACTIVATIONS;
    Sample<__nv_bfloat16> few(ACTIVATIONS, 1021);
    std::vector<__nv_bfloat16> activated = on_host(few.of(in), few.count);
    for (auto &a : activated) {
        double x = (double)(float)a;
        a = __float2bfloat16(float(0.5 * x * (1.0 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)))));
    }
    auto gelu = [&](const char *name, auto launch) {
        MUST(cudaMemset(out, 0xA5, ACTIVATIONS * sizeof(__nv_bfloat16)));
        launch();
        MUST(cudaGetLastError());
        check(name, few.of(out), activated, 9e-3);
    };
    gelu("k103g", [&] { k103g<<<n / 256, 256>>>(out, in, n); });
    gelu("k103h", [&] { k103h<<<n / 2048, 256>>>(out, in, n); });
    gelu("k103i", [&] { k103i<<<n / 2048, 256>>>(out, in, n); });
    return 0;
}
