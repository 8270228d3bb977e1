// Kullback-Leibler divergence of each sample of a batch, and the channel shuffle of ShuffleNet on halves.
#include "../harness.h"

constexpr int SAMPLES = 1024, CLASSES = 32768, BLOCKS = 4;
constexpr int IMAGES = 32, GROUPS = 8, CHANNELS = 512, PIXELS = 64 * 64;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

// Sum of p (log p - q), q is a logarithm; BLOCKS blocks per sample, four classes per thread and step.
__global__ void k292a(const float4 *__restrict__ p, const float4 *__restrict__ q, float *__restrict__ loss)
{
    size_t first = size_t(blockIdx.y) * (CLASSES / 4) + blockIdx.x * 256 + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < CLASSES / 4; k += BLOCKS * 256) {
        float4 v = p[first + k], w = q[first + k];
        float sum = v.x * (logf(v.x) - w.x) + v.y * (logf(v.y) - w.y) + v.z * (logf(v.z) - w.z) +
                    v.w * (logf(v.w) - w.w);
        atomicAdd(loss + blockIdx.y, sum);
    }
}

__global__ void k292b(const float4 *__restrict__ p, const float4 *__restrict__ q, float *__restrict__ loss)
{
    size_t first = size_t(blockIdx.y) * (CLASSES / 4) + blockIdx.x * 256 + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < CLASSES / 4; k += BLOCKS * 256) {
        float4 v = p[first + k], w = q[first + k];
        float sum = v.x * (__logf(v.x) - w.x) + v.y * (__logf(v.y) - w.y) + v.z * (__logf(v.z) - w.z) +
                    v.w * (__logf(v.w) - w.w);
        atomicAdd(loss + blockIdx.y, sum);
    }
}

__global__ void k292c(const float4 *__restrict__ p, const float4 *__restrict__ q, float *__restrict__ loss)
{
    __shared__ float part[8];
    size_t first = size_t(blockIdx.y) * (CLASSES / 4) + blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < CLASSES / 4; k += BLOCKS * 256) {
        float4 v = p[first + k], w = q[first + k];
        sum += v.x * (logf(v.x) - w.x) + v.y * (logf(v.y) - w.y) + v.z * (logf(v.z) - w.z) +
               v.w * (logf(v.w) - w.w);
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(loss + blockIdx.y, part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7]);
}

__global__ void k292d(const float4 *__restrict__ p, const float4 *__restrict__ q, float *__restrict__ loss)
{
    __shared__ float part[8];
    size_t first = size_t(blockIdx.y) * (CLASSES / 4) + blockIdx.x * 256 + threadIdx.x;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < CLASSES / 4; k += BLOCKS * 256) {
        float4 v = p[first + k], w = q[first + k];
        sum += v.x * (__logf(v.x) - w.x) + v.y * (__logf(v.y) - w.y) + v.z * (__logf(v.z) - w.z) +
               v.w * (__logf(v.w) - w.w);
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(loss + blockIdx.y, part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7]);
}

// Channel g * (channels / groups) + c goes to channel c * groups + g.
__global__ void k292e(const __half *in, __half *out, size_t channels, size_t groups, size_t pixels)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    size_t pixel = i % pixels, plane = i / pixels;
    size_t channel = plane % channels, image = plane / channels;
    size_t c = channel / groups, g = channel % groups;
    out[i] = in[(image * channels + g * (channels / groups) + c) * pixels + pixel];
}

__global__ void k292f(const __half *in, __half *out, int channels, int groups, int pixels)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, image = blockIdx.z;
    int c = channel / groups, g = channel % groups;
    size_t from = size_t(image * channels + g * (channels / groups) + c) * pixels;
    out[size_t(image * channels + channel) * pixels + pixel] = in[from + pixel];
}

__global__ void k292g(const uint4 *in, uint4 *out, int channels, int groups, int vectors)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y, image = blockIdx.z;
    int c = channel / groups, g = channel % groups;
    size_t from = size_t(image * channels + g * (channels / groups) + c) * vectors;
    out[size_t(image * channels + channel) * vectors + pixel] = in[from + pixel];
}

int main()
{
    {
        size_t n = size_t(SAMPLES) * CLASSES;
        float *p = input<float>(n, 1, 1e-6, 6e-5), *q = input<float>(n, 2, -14, -9), *loss = zeroed<float>(SAMPLES);
        const float4 *p4 = reinterpret_cast<float4 *>(p), *q4 = reinterpret_cast<float4 *>(q);
        dim3 grid(BLOCKS, SAMPLES);
        k292a<<<grid, 256>>>(p4, q4, loss);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(loss, SAMPLES), hp = on_host(p, n), hq = on_host(q, n);
        for (size_t s = 0; s < SAMPLES; s += 41) {
            double sum = 0;
            for (size_t i = s * CLASSES; i < (s + 1) * CLASSES; i++)
                sum += hp[i] * (std::log(double(hp[i])) - hq[i]);
            agree("loss", want[s], sum, 1e-3);
        }
        auto launch = [&](const char *name, auto kernel) {
            MUST(cudaMemset(loss, 0, SAMPLES * sizeof(float)));
            kernel<<<grid, 256>>>(p4, q4, loss);
            check(name, loss, want, 1e-3);
        };
        launch("k292b", k292b);
        launch("k292c", k292c);
        launch("k292d", k292d);
        cudaFree(p), cudaFree(q), cudaFree(loss);
    }
    size_t n = size_t(IMAGES) * CHANNELS * PIXELS;
    __half *in = input<__half>(n, 3, -1, 1), *out = output<__half>(n);
    k292e<<<unsigned(n / 256), 256>>>(in, out, CHANNELS, GROUPS, PIXELS);
    MUST(cudaDeviceSynchronize());
    std::vector<__half> want = on_host(out, n), source = on_host(in, n);
    for (size_t i = 0; i < n; i += 1999) {
        size_t pixel = i % PIXELS, channel = i / PIXELS % CHANNELS, image = i / PIXELS / CHANNELS;
        size_t from = image * CHANNELS + channel % GROUPS * (CHANNELS / GROUPS) + channel / GROUPS;
        agree("shuffle", double(want[i]), double(source[from * PIXELS + pixel]), 0);
    }
    MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
    k292f<<<dim3(PIXELS / 256, CHANNELS, IMAGES), 256>>>(in, out, CHANNELS, GROUPS, PIXELS);
    check("k292f", out, want, 0);
    MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
    k292g<<<dim3(PIXELS / 8 / 256, CHANNELS, IMAGES), 256>>>(reinterpret_cast<uint4 *>(in), reinterpret_cast<uint4 *>(out),
                                                             CHANNELS, GROUPS, PIXELS / 8);
    check("k292g", out, want, 0);
    return 0;
}
