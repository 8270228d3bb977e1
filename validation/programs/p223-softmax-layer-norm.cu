// Softmax over the rows of a matrix, and the forward pass of layer normalisation over the same rows.
#include "../harness.h"

#include <functional>

const int ROWS = 65536, WIDTH = 1024;

__global__ void k223a(float *out, const float *inp, int rows, int width)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        const float *x = inp + r * width;
        float *y = out + r * width;
        float largest = -INFINITY;
        for (int i = 0; i < width; i++)
            if (x[i] > largest)
                largest = x[i];
        float sum = 0.0f;
        for (int i = 0; i < width; i++) {
            y[i] = expf(x[i] - largest);
            sum += y[i];
        }
        for (int i = 0; i < width; i++)
            y[i] /= sum;
    }
}

// One block per row.
__global__ void k223b(float *out, const float *inp, int rows, int width)
{
    extern __shared__ float shared[];
    int r = blockIdx.x, tid = threadIdx.x, size = blockDim.x;
    const float *x = inp + r * width;
    float *y = out + r * width;

    float largest = -INFINITY;
    for (int i = tid; i < width; i += size)
        largest = fmaxf(largest, x[i]);
    shared[tid] = largest;
    __syncthreads();
    for (int s = size / 2; s >= 1; s /= 2) {
        if (tid < s)
            shared[tid] = fmaxf(shared[tid], shared[tid + s]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();

    for (int i = tid; i < width; i += size)
        y[i] = expf(x[i] - largest);

    float sum = 0.0f;
    for (int i = tid; i < width; i += size)
        sum += y[i];
    shared[tid] = sum;
    __syncthreads();
    for (int s = size / 2; s >= 1; s /= 2) {
        if (tid < s)
            shared[tid] += shared[tid + s];
        __syncthreads();
    }
    sum = shared[0];

    for (int i = tid; i < width; i += size)
        y[i] = y[i] / sum;
}

__device__ inline float warp_max(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}

__device__ inline float warp_sum(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// One warp per row.
__global__ void k223c(float *out, const float *inp, int rows, int width)
{
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float *x = inp + r * width;
    float *y = out + r * width;
    float largest = -INFINITY;
    for (int i = lane; i < width; i += 32)
        largest = fmaxf(largest, x[i]);
    largest = warp_max(largest);
    for (int i = lane; i < width; i += 32)
        y[i] = expf(x[i] - largest);
    float sum = 0.0f;
    for (int i = lane; i < width; i += 32)
        sum += y[i];
    sum = warp_sum(sum);
    for (int i = lane; i < width; i += 32)
        y[i] = y[i] / sum;
}

__global__ void k223d(float *out, const float *inp, int rows, int width)
{
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float *x = inp + r * width;
    float *y = out + r * width;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = lane; i < width; i += 32) {
        float v = x[i];
        if (v > largest) {
            sum *= expf(largest - v);
            largest = v;
        }
        sum += expf(v - largest);
    }
    float common = warp_max(largest);
    sum = warp_sum(sum * expf(largest - common));
    float scale = 1.0f / sum;
    for (int i = lane; i < width; i += 32)
        y[i] = expf(x[i] - common) * scale;
}

__global__ void k223e(float4 *__restrict__ out, const float4 *__restrict__ inp, int rows)
{
    const int packs = WIDTH / 4 / 32;
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float4 *x = inp + r * (WIDTH / 4) + lane;
    float4 *y = out + r * (WIDTH / 4) + lane;
    float4 v[packs];
#pragma unroll
    for (int i = 0; i < packs; i++)
        v[i] = x[i * 32];
    float largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < packs; i++)
        largest = fmaxf(largest, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    largest = warp_max(largest);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++) {
        v[i].x = __expf(v[i].x - largest);
        v[i].y = __expf(v[i].y - largest);
        v[i].z = __expf(v[i].z - largest);
        v[i].w = __expf(v[i].w - largest);
        sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    float scale = 1.0f / warp_sum(sum);
#pragma unroll
    for (int i = 0; i < packs; i++)
        y[i * 32] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
}

#define EPS 1e-5f

__global__ void k223f(float *out, const float *inp, const float *gamma, const float *beta, int rows, int width)
{
    extern __shared__ float shared[];
    int r = blockIdx.x, tid = threadIdx.x, size = blockDim.x;
    const float *x = inp + r * width;
    float *y = out + r * width;

    float sum = 0.0f;
    for (int i = tid; i < width; i += size)
        sum += x[i];
    shared[tid] = sum;
    __syncthreads();
    for (int s = size / 2; s >= 1; s /= 2) {
        if (tid < s)
            shared[tid] += shared[tid + s];
        __syncthreads();
    }
    float mean = shared[0] / width;
    __syncthreads();

    sum = 0.0f;
    for (int i = tid; i < width; i += size) {
        float d = x[i] - mean;
        sum += d * d;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = size / 2; s >= 1; s /= 2) {
        if (tid < s)
            shared[tid] += shared[tid + s];
        __syncthreads();
    }
    float rstd = rsqrtf(shared[0] / width + EPS);

    for (int i = tid; i < width; i += size)
        y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

__global__ void k223g(float *out, const float *inp, const float *gamma, const float *beta, int rows, int width)
{
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float *x = inp + r * width;
    float *y = out + r * width;
    float sum = 0.0f;
    for (int i = lane; i < width; i += 32)
        sum += x[i];
    float mean = warp_sum(sum) / width;
    sum = 0.0f;
    for (int i = lane; i < width; i += 32) {
        float d = x[i] - mean;
        sum += d * d;
    }
    float rstd = rsqrtf(warp_sum(sum) / width + EPS);
    for (int i = lane; i < width; i += 32)
        y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

__device__ inline float4 normal(float4 v, float mean, float rstd, float4 g, float4 b)
{
    return make_float4((v.x - mean) * rstd * g.x + b.x, (v.y - mean) * rstd * g.y + b.y,
                       (v.z - mean) * rstd * g.z + b.z, (v.w - mean) * rstd * g.w + b.w);
}

__global__ void k223h(float4 *out, const float4 *inp, const float4 *gamma, const float4 *beta, int rows)
{
    const int packs = WIDTH / 4 / 32;
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float4 *x = inp + r * (WIDTH / 4) + lane;
    float4 *y = out + r * (WIDTH / 4) + lane;
    float4 v[packs];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++)
        v[i] = x[i * 32];
#pragma unroll
    for (int i = 0; i < packs; i++)
        sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    float mean = warp_sum(sum) / WIDTH;
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++) {
        float a = v[i].x - mean, b = v[i].y - mean, c = v[i].z - mean, d = v[i].w - mean;
        sum += (a * a + b * b) + (c * c + d * d);
    }
    float rstd = rsqrtf(warp_sum(sum) / WIDTH + EPS);
#pragma unroll
    for (int i = 0; i < packs; i++)
        y[i * 32] = normal(v[i], mean, rstd, gamma[i * 32 + lane], beta[i * 32 + lane]);
}

__global__ void k223i(float4 *__restrict__ out, const float4 *__restrict__ inp, const float4 *__restrict__ gamma,
                      const float4 *__restrict__ beta, int rows)
{
    const int packs = WIDTH / 4 / 32;
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= rows)
        return;
    const float4 *x = inp + r * (WIDTH / 4) + lane;
    float4 *y = out + r * (WIDTH / 4) + lane;
    float4 v[packs];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++)
        v[i] = __ldg(&x[i * 32]);
#pragma unroll
    for (int i = 0; i < packs; i++)
        sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    float mean = warp_sum(sum) / WIDTH;
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++) {
        float a = v[i].x - mean, b = v[i].y - mean, c = v[i].z - mean, d = v[i].w - mean;
        sum += (a * a + b * b) + (c * c + d * d);
    }
    float rstd = rsqrtf(warp_sum(sum) / WIDTH + EPS);
#pragma unroll
    for (int i = 0; i < packs; i++)
        y[i * 32] = normal(v[i], mean, rstd, __ldg(&gamma[i * 32 + lane]), __ldg(&beta[i * 32 + lane]));
}

int main()
{
    const size_t n = (size_t)ROWS * WIDTH, line = WIDTH * sizeof(float);
    float *inp = input<float>(n, 2231, -4.0, 4.0), *out = output<float>(n);
    float *gamma = input<float>(WIDTH, 2232, 0.5, 1.5), *beta = input<float>(WIDTH, 2233, -1.0, 1.0);

    // Every 29th row is made on the host.
    const int every = 29, chosen = (ROWS - 1) / every + 1;
    float *picked = output<float>((size_t)chosen * WIDTH);
    MUST(cudaMemcpy2D(picked, line, inp, every * line, line, chosen, cudaMemcpyDeviceToDevice));
    std::vector<float> x = on_host(picked, (size_t)chosen * WIDTH), hg = on_host(gamma, WIDTH), hb = on_host(beta, WIDTH);
    std::vector<float> soft(x.size()), layer(x.size());
    for (int r = 0; r < chosen; r++) {
        const float *v = &x[(size_t)r * WIDTH];
        float *s = &soft[(size_t)r * WIDTH], *l = &layer[(size_t)r * WIDTH];
        double largest = -1e30, sum = 0, mean = 0, square = 0;
        for (int i = 0; i < WIDTH; i++) {
            largest = std::fmax(largest, v[i]);
            mean += v[i];
        }
        mean /= WIDTH;
        std::vector<double> e(WIDTH);
        for (int i = 0; i < WIDTH; i++) {
            e[i] = std::exp(v[i] - largest);
            sum += e[i];
            square += (v[i] - mean) * (v[i] - mean);
        }
        const double rstd = 1.0 / std::sqrt(square / WIDTH + 1e-5);
        for (int i = 0; i < WIDTH; i++) {
            s[i] = float(e[i] / sum);
            l[i] = float((v[i] - mean) * rstd * hg[i] + hb[i]);
        }
    }
    auto measure = [&](const char *name, const std::vector<float> &want, double tolerance, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, line, out, every * line, line, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, tolerance);
    };
    const size_t shared = 256 * sizeof(float);
    const float4 *inp4 = reinterpret_cast<const float4 *>(inp);
    const float4 *gamma4 = reinterpret_cast<const float4 *>(gamma), *beta4 = reinterpret_cast<const float4 *>(beta);
    float4 *out4 = reinterpret_cast<float4 *>(out);
    // Results of the softmax are near 0.001, so the tolerance is that of small numbers.
    auto rows_of = [&](const char *name, std::function<void()> launch) { measure(name, soft, 1e-7, launch); };
    rows_of("k223a", [&] { k223a<<<ROWS / 128, 128>>>(out, inp, ROWS, WIDTH); });
    rows_of("k223b", [&] { k223b<<<ROWS, 256, shared>>>(out, inp, ROWS, WIDTH); });
    rows_of("k223c", [&] { k223c<<<ROWS / 8, 256>>>(out, inp, ROWS, WIDTH); });
    rows_of("k223d", [&] { k223d<<<ROWS / 8, 256>>>(out, inp, ROWS, WIDTH); });
    rows_of("k223e", [&] { k223e<<<ROWS / 8, 256>>>(out4, inp4, ROWS); });

    auto norm = [&](const char *name, std::function<void()> launch) { measure(name, layer, 1e-4, launch); };
    norm("k223f", [&] { k223f<<<ROWS, 256, shared>>>(out, inp, gamma, beta, ROWS, WIDTH); });
    norm("k223g", [&] { k223g<<<ROWS / 8, 256>>>(out, inp, gamma, beta, ROWS, WIDTH); });
    norm("k223h", [&] { k223h<<<ROWS / 8, 256>>>(out4, inp4, gamma4, beta4, ROWS); });
    norm("k223i", [&] { k223i<<<ROWS / 8, 256>>>(out4, inp4, gamma4, beta4, ROWS); });
    return 0;
}
