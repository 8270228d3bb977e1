// Local response normalisation across five channels of 56 x 56 maps, and batch normalisation with ReLU at inference for
// maps of half-precision numbers.
#include "../harness.h"

#include <functional>

const int CHANNELS = 192, PIXELS = 56 * 56, IMAGES = 64, REACH = 2;
const float BIAS = 2.0f, ALPHA = 0.05f;

// A block has a pixel of an image, a thread a channel.
__global__ void k178a(float *y, const float *x, int channels, int pixels)
{
    int c = threadIdx.x, p = blockIdx.x;
    const float *in = x + (size_t)blockIdx.y * channels * pixels + p;
    float *out = y + (size_t)blockIdx.y * channels * pixels + p;
    float sum = 0.0f;
    for (int k = max(c - REACH, 0); k <= min(c + REACH, channels - 1); k++)
        sum += in[k * pixels] * in[k * pixels];
    out[c * pixels] = in[c * pixels] * powf(BIAS + ALPHA * sum, -0.75f);
}

// A block has some pixels of one channel of an image.
__global__ void k178b(float *y, const float *x, int channels, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (p >= pixels)
        return;
    const float *in = x + (size_t)blockIdx.z * channels * pixels + p;
    float *out = y + (size_t)blockIdx.z * channels * pixels + p;
    float sum = 0.0f;
    for (int k = max(c - REACH, 0); k <= min(c + REACH, channels - 1); k++)
        sum += in[k * pixels] * in[k * pixels];
    out[c * pixels] = in[c * pixels] * powf(BIAS + ALPHA * sum, -0.75f);
}

// s to the power of -3/4.
__device__ inline float root_power(float s)
{
    float r = rsqrtf(s);
    return rsqrtf(r) * r * r;
}

__global__ void k178c(float *y, const float *x, int channels, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (p >= pixels)
        return;
    const float *in = x + (size_t)blockIdx.z * channels * pixels + p;
    float *out = y + (size_t)blockIdx.z * channels * pixels + p;
    float sum = 0.0f;
    for (int k = max(c - REACH, 0); k <= min(c + REACH, channels - 1); k++)
        sum += in[k * pixels] * in[k * pixels];
    out[c * pixels] = in[c * pixels] * root_power(BIAS + ALPHA * sum);
}

const int STEP = 8;

__global__ void k178d(float *__restrict__ y, const float *__restrict__ x)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= PIXELS)
        return;
    const float *in = x + (size_t)blockIdx.y * CHANNELS * PIXELS + p;
    float *out = y + (size_t)blockIdx.y * CHANNELS * PIXELS + p;
    // v[k] is channel c - 2 + k.
    float v[STEP + 4];
    v[0] = v[1] = 0.0f;
    v[2] = in[0];
    v[3] = in[PIXELS];
#pragma unroll 1
    for (int c = 0; c < CHANNELS; c += STEP) {
#pragma unroll
        for (int k = 0; k < STEP; k++)
            v[4 + k] = c + 2 + k < CHANNELS ? in[(c + 2 + k) * PIXELS] : 0.0f;
#pragma unroll
        for (int k = 0; k < STEP; k++) {
            float sum = v[k] * v[k] + v[k + 1] * v[k + 1] + v[k + 2] * v[k + 2] + v[k + 3] * v[k + 3] +
                        v[k + 4] * v[k + 4];
            out[(c + k) * PIXELS] = v[k + 2] * root_power(BIAS + ALPHA * sum);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = v[k + STEP];
    }
}

__global__ void k178e(__half *y, const __half *x, const float *scale, const float *shift, int channels, int pixels,
                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int c = i / pixels % channels;
    float v = __half2float(x[i]) * scale[c] + shift[c];
    y[i] = __float2half(fmaxf(v, 0.0f));
}

__global__ void k178f(__half2 *y, const __half2 *x, const float *scale, const float *shift, int channels, int pixels,
                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2)
        return;
    int c = i / (pixels / 2) % channels;
    float2 v = __half22float2(x[i]);
    float s = scale[c], t = shift[c];
    y[i] = __floats2half2_rn(fmaxf(v.x * s + t, 0.0f), fmaxf(v.y * s + t, 0.0f));
}

struct alignas(16) Eight {
    __half2 at[4];
};

const int MAP = 4096, TEAM = MAP / 16;

// A block of 256 threads has a map of 4096 pixels.
__global__ void __launch_bounds__(TEAM) k178g(Eight *__restrict__ y, const Eight *__restrict__ x,
                                              const float *__restrict__ scale, const float *__restrict__ shift,
                                              int channels)
{
    size_t at = (size_t)blockIdx.x * (MAP / 8) + threadIdx.x;
    Eight in[2] = {x[at], x[at + TEAM]}, out[2];
    int c = blockIdx.x % channels;
    float s = scale[c], t = shift[c];
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 v = __half22float2(in[k].at[j]);
            out[k].at[j] = __floats2half2_rn(fmaxf(v.x * s + t, 0.0f), fmaxf(v.y * s + t, 0.0f));
        }
        y[at + k * TEAM] = out[k];
    }
}

__global__ void __launch_bounds__(TEAM) k178h(Eight *__restrict__ y, const Eight *__restrict__ x,
                                              const float *__restrict__ scale, const float *__restrict__ shift,
                                              int channels)
{
    size_t at = (size_t)blockIdx.x * (MAP / 8) + threadIdx.x;
    Eight in[2] = {x[at], x[at + TEAM]}, out[2];
    int c = blockIdx.x % channels;
    __half2 s = __float2half2_rn(scale[c]), t = __float2half2_rn(shift[c]), zero = __float2half2_rn(0.0f);
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int j = 0; j < 4; j++)
            out[k].at[j] = __hmax2(__hfma2(in[k].at[j], s, t), zero);
        y[at + k * TEAM] = out[k];
    }
}

__global__ void fill_halves(__half *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __float2half(in[i]);
}

// Every skip-th map as floats.
__global__ void fill_sample(float *out, const __half *in, int skip)
{
    for (int p = threadIdx.x; p < MAP; p += blockDim.x)
        out[blockIdx.x * MAP + p] = __half2float(in[(size_t)blockIdx.x * skip * MAP + p]);
}

int main()
{
    const size_t image = (size_t)CHANNELS * PIXELS, size = IMAGES * image;
    float *x = input<float>(size, 1781, -4.0, 4.0), *y = output<float>(size);
    // Every ninth image: 0, 9, ..., 63.
    const int every = 9, chosen = (IMAGES - 1) / every + 1;
    float *picked = output<float>(chosen * image);
    const size_t bytes = image * sizeof(float);
    MUST(cudaMemcpy2D(picked, bytes, x, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
    std::vector<float> hx = on_host(picked, chosen * image), want(chosen * image);
    for (int b = 0; b < chosen; b++)
        for (int c = 0; c < CHANNELS; c++)
            for (int p = 0; p < PIXELS; p++) {
                const float *in = &hx[b * image + p];
                float sum = 0.0f;
                for (int k = c - REACH; k <= c + REACH; k++)
                    if (k >= 0 && k < CHANNELS)
                        sum += in[k * PIXELS] * in[k * PIXELS];
                double s = BIAS + ALPHA * sum;
                want[b * image + c * PIXELS + p] = float(in[c * PIXELS] / std::sqrt(s * std::sqrt(s)));
            }
    auto response = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, size * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, bytes, y, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-5);
    };
    const int threads = 224, strips = (PIXELS + threads - 1) / threads;
    dim3 maps(strips, CHANNELS, IMAGES);
    response("k178a", [&] { k178a<<<dim3(PIXELS, IMAGES), CHANNELS>>>(y, x, CHANNELS, PIXELS); });
    response("k178b", [&] { k178b<<<maps, threads>>>(y, x, CHANNELS, PIXELS); });
    response("k178c", [&] { k178c<<<maps, threads>>>(y, x, CHANNELS, PIXELS); });
    response("k178d", [&] { k178d<<<dim3(strips, IMAGES), threads>>>(y, x); });

    const int batch = 64, channels = 256, planes = batch * channels, n = planes * MAP;
    float *wide = input<float>(n, 1782, -2.0, 2.0);
    __half *in = output<__half>(n), *out = output<__half>(n);
    fill_halves<<<n / 256, 256>>>(in, wide, n);
    MUST(cudaDeviceSynchronize());
    float *scale = input<float>(channels, 1783, 0.5, 1.5), *shift = input<float>(channels, 1784, -1.0, 1.0);
    const int skip = 37, taken = (planes - 1) / skip + 1;
    float *sample = output<float>((size_t)taken * MAP);
    fill_sample<<<taken, 256>>>(sample, in, skip);
    MUST(cudaDeviceSynchronize());
    std::vector<float> hs = on_host(scale, channels), ht = on_host(shift, channels);
    std::vector<float> normal = on_host(sample, (size_t)taken * MAP);
    for (int k = 0; k < taken; k++)
        for (int p = 0; p < MAP; p++) {
            float &v = normal[(size_t)k * MAP + p];
            int c = k * skip % channels;
            v = std::fmax(v * hs[c] + ht[c], 0.0f);
        }
    auto normalise = [&](const char *name, double tolerance, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_sample<<<taken, 256>>>(sample, out, skip);
        check(name, sample, normal, tolerance);
    };
    __half2 *in2 = reinterpret_cast<__half2 *>(in), *out2 = reinterpret_cast<__half2 *>(out);
    Eight *in8 = reinterpret_cast<Eight *>(in), *out8 = reinterpret_cast<Eight *>(out);
    normalise("k178e", 1e-3, [&] { k178e<<<n / 256, 256>>>(out, in, scale, shift, channels, MAP, n); });
    normalise("k178f", 1e-3, [&] { k178f<<<n / 512, 256>>>(out2, in2, scale, shift, channels, MAP, n); });
    normalise("k178g", 1e-3, [&] { k178g<<<planes, TEAM>>>(out8, in8, scale, shift, channels); });
    normalise("k178h", 5e-3, [&] { k178h<<<planes, TEAM>>>(out8, in8, scale, shift, channels); });
    return 0;
}
