// Sum of the binary cross-entropy of logits against soft targets, and instance normalisation of maps of 16 x 16 in NCHW.
#include "../harness.h"

#include <functional>

const int BLOCK = 256;

__global__ void k176a(float *partial, const float *logits, const float *targets, int n)
{
    __shared__ float part[BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float loss = 0.0f;
    if (i < n) {
        double z = logits[i], t = targets[i];
        loss = (z > 0.0 ? z : 0.0) - z * t + log(1.0 + exp(-fabs(z)));
    }
    part[threadIdx.x] = loss;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = part[0];
}

__device__ inline float entropy(float z, float t)
{
    return fmaxf(z, 0.0f) - z * t + __logf(1.0f + __expf(-fabsf(z)));
}

__device__ inline void add_block(float *partial, float *part, float value)
{
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = part[0];
}

__global__ void k176b(float *partial, const float *logits, const float *targets, int n)
{
    __shared__ float part[BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float loss = 0.0f;
    if (i < n)
        loss = entropy(logits[i], targets[i]);
    add_block(partial, part, loss);
}

__global__ void k176c(float *partial, const float *logits, const float *targets, int n)
{
    __shared__ float part[BLOCK];
    float loss = 0.0f;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        loss += entropy(logits[i], targets[i]);
    add_block(partial, part, loss);
}

__device__ inline float entropy4(float4 z, float4 t)
{
    return entropy(z.x, t.x) + entropy(z.y, t.y) + entropy(z.z, t.z) + entropy(z.w, t.w);
}

__global__ void k176d(float *partial, const float4 *logits, const float4 *targets, int quads)
{
    __shared__ float part[BLOCK];
    float loss = 0.0f;
    int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + step < quads; i += 2 * step) {
        float4 z0 = logits[i], t0 = targets[i];
        float4 z1 = logits[i + step], t1 = targets[i + step];
        loss += entropy4(z0, t0) + entropy4(z1, t1);
    }
    if (i < quads)
        loss += entropy4(logits[i], targets[i]);
    add_block(partial, part, loss);
}

__global__ void k176e(float *__restrict__ partial, const float4 *__restrict__ logits,
                      const float4 *__restrict__ targets, int quads)
{
    __shared__ float part[BLOCK];
    float loss = 0.0f;
    int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + step < quads; i += 2 * step) {
        float4 z0 = __ldg(&logits[i]), t0 = __ldg(&targets[i]);
        float4 z1 = __ldg(&logits[i + step]), t1 = __ldg(&targets[i + step]);
        loss += entropy4(z0, t0) + entropy4(z1, t1);
    }
    if (i < quads)
        loss += entropy4(__ldg(&logits[i]), __ldg(&targets[i]));
    add_block(partial, part, loss);
}

const int PIXELS = 256;
const float EPSILON = 1e-5f;

__global__ void k176f(float *y, const float *x, const float *gamma, const float *beta, int maps, int channels)
{
    int map = blockIdx.x * blockDim.x + threadIdx.x;
    if (map >= maps)
        return;
    const float *in = x + (size_t)map * PIXELS;
    float *out = y + (size_t)map * PIXELS;
    float mean = 0.0f, variance = 0.0f;
    for (int p = 0; p < PIXELS; p++)
        mean += in[p];
    mean /= PIXELS;
    for (int p = 0; p < PIXELS; p++)
        variance += (in[p] - mean) * (in[p] - mean);
    variance /= PIXELS;
    float scale = rsqrtf(variance + EPSILON) * gamma[map % channels], shift = beta[map % channels];
    for (int p = 0; p < PIXELS; p++)
        out[p] = (in[p] - mean) * scale + shift;
}

__global__ void k176g(float *y, const float *x, const float *gamma, const float *beta, int channels)
{
    __shared__ float part[PIXELS];
    int map = blockIdx.x, t = threadIdx.x;
    float value = x[(size_t)map * PIXELS + t];
    part[t] = value;
    __syncthreads();
    for (int half = PIXELS / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    float mean = part[0] / PIXELS;
    __syncthreads();
    part[t] = (value - mean) * (value - mean);
    __syncthreads();
    for (int half = PIXELS / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    float variance = part[0] / PIXELS;
    float scale = rsqrtf(variance + EPSILON) * gamma[map % channels], shift = beta[map % channels];
    y[(size_t)map * PIXELS + t] = (value - mean) * scale + shift;
}

__device__ inline float warp_sum(float v)
{
    for (int mask = 16; mask > 0; mask /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

__global__ void k176h(float4 *__restrict__ y, const float4 *__restrict__ x, const float *__restrict__ gamma,
                      const float *__restrict__ beta, int maps, int channels)
{
    int map = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (map >= maps)
        return;
    size_t at = (size_t)map * (PIXELS / 4) + lane;
    float4 a = x[at], b = x[at + 32];
    float mean = warp_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w) * (1.0f / PIXELS);
    a.x -= mean, a.y -= mean, a.z -= mean, a.w -= mean;
    b.x -= mean, b.y -= mean, b.z -= mean, b.w -= mean;
    float squares = a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w + b.x * b.x + b.y * b.y + b.z * b.z + b.w * b.w;
    float variance = warp_sum(squares) * (1.0f / PIXELS);
    int c = map & (channels - 1);
    float s = rsqrtf(variance + EPSILON) * gamma[c], m = beta[c];
    y[at] = make_float4(a.x * s + m, a.y * s + m, a.z * s + m, a.w * s + m);
    y[at + 32] = make_float4(b.x * s + m, b.y * s + m, b.z * s + m, b.w * s + m);
}

__global__ void fill_total(double *total, const float *partial, int count)
{
    __shared__ double part[256];
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += 256)
        sum += partial[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 256; i++)
            sum += part[i];
        *total = sum;
    }
}

int main()
{
    const int n = 64 << 20, blocks = n / BLOCK, wide = 132 * 8;
    float *logits = input<float>(n, 1761, -6.0, 6.0), *targets = input<float>(n, 1762, 0.0, 1.0);
    float *partial = output<float>(blocks);
    double *total = output<double>(1);

    // Every 97th block of the first kernel is added up on the host; the others have to give its total.
    const int every = 97, chosen = (blocks - 1) / every + 1;
    std::vector<float> hz = on_host(logits, n), ht = on_host(targets, n), some(chosen);
    for (int b = 0; b < chosen; b++) {
        double sum = 0;
        for (int j = 0; j < BLOCK; j++) {
            double z = hz[(size_t)b * every * BLOCK + j], t = ht[(size_t)b * every * BLOCK + j];
            sum += std::fmax(z, 0.0) - z * t + std::log1p(std::exp(-std::fabs(z)));
        }
        some[b] = float(sum);
    }
    float *picked = output<float>(chosen);
    std::vector<double> want;
    auto loss = [&](const char *name, int count, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_total<<<1, 256>>>(total, partial, count);
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            MUST(cudaMemcpy2D(picked, sizeof(float), partial, every * sizeof(float), sizeof(float), chosen,
                              cudaMemcpyDeviceToDevice));
            check(name, picked, some, 1e-4);
            want = on_host(total, 1);
        } else
            check(name, total, want, 1e-5);
    };
    const float4 *z4 = reinterpret_cast<const float4 *>(logits), *t4 = reinterpret_cast<const float4 *>(targets);
    loss("k176a", blocks, [&] { k176a<<<blocks, BLOCK>>>(partial, logits, targets, n); });
    loss("k176b", blocks, [&] { k176b<<<blocks, BLOCK>>>(partial, logits, targets, n); });
    loss("k176c", wide, [&] { k176c<<<wide, BLOCK>>>(partial, logits, targets, n); });
    loss("k176d", wide, [&] { k176d<<<wide, BLOCK>>>(partial, z4, t4, n / 4); });
    loss("k176e", wide, [&] { k176e<<<wide, BLOCK>>>(partial, z4, t4, n / 4); });

    const int batch = 1024, channels = 256, maps = batch * channels;
    const size_t size = (size_t)maps * PIXELS;
    float *x = input<float>(size, 1763, -1.0, 3.0), *y = output<float>(size);
    float *gamma = input<float>(channels, 1764, 0.5, 1.5), *beta = input<float>(channels, 1765, -0.5, 0.5);
    std::vector<float> hx = on_host(x, size), hg = on_host(gamma, channels), hb = on_host(beta, channels);
    const int skip = 101, taken = (maps - 1) / skip + 1;
    std::vector<float> normal((size_t)taken * PIXELS);
    for (int k = 0; k < taken; k++) {
        const float *in = &hx[(size_t)k * skip * PIXELS];
        int c = k * skip % channels;
        double mean = 0, variance = 0;
        for (int p = 0; p < PIXELS; p++)
            mean += in[p];
        mean /= PIXELS;
        for (int p = 0; p < PIXELS; p++)
            variance += (in[p] - mean) * (in[p] - mean);
        variance /= PIXELS;
        for (int p = 0; p < PIXELS; p++)
            normal[(size_t)k * PIXELS + p] = float((in[p] - mean) / std::sqrt(variance + EPSILON) * hg[c] + hb[c]);
    }
    float *sample = output<float>(normal.size());
    auto instance = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, size * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = PIXELS * sizeof(float);
        MUST(cudaMemcpy2D(sample, bytes, y, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, sample, normal, 1e-4);
    };
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    float4 *y4 = reinterpret_cast<float4 *>(y);
    instance("k176f", [&] { k176f<<<maps / 128, 128>>>(y, x, gamma, beta, maps, channels); });
    instance("k176g", [&] { k176g<<<maps, PIXELS>>>(y, x, gamma, beta, channels); });
    instance("k176h", [&] { k176h<<<maps / 8, 256>>>(y4, x4, gamma, beta, maps, channels); });
    return 0;
}
