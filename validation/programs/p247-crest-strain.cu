// Crest factor of vibration records of 256 samples, and 16-bit samples of an acoustic sensing cable as strain.
#include "../harness.h"

constexpr int SAMPLES = 256;

__device__ __forceinline__ float crest(float sum, float square, float peak)
{
    float mean = sum / SAMPLES;
    return peak / sqrtf(square / SAMPLES - mean * mean);
}

// one block per record
__global__ void k247a(const float *__restrict__ records, float *__restrict__ factor)
{
    __shared__ float part[SAMPLES];
    int t = threadIdx.x;
    float value = records[(size_t)blockIdx.x * SAMPLES + t];

    part[t] = value;
    __syncthreads();
    for (int d = SAMPLES / 2; d > 0; d /= 2) {
        if (t < d)
            part[t] += part[t + d];
        __syncthreads();
    }
    float sum = part[0];
    __syncthreads();

    part[t] = value * value;
    __syncthreads();
    for (int d = SAMPLES / 2; d > 0; d /= 2) {
        if (t < d)
            part[t] += part[t + d];
        __syncthreads();
    }
    float square = part[0];
    __syncthreads();

    part[t] = fabsf(value);
    __syncthreads();
    for (int d = SAMPLES / 2; d > 0; d /= 2) {
        if (t < d)
            part[t] = fmaxf(part[t], part[t + d]);
        __syncthreads();
    }
    if (t == 0)
        factor[blockIdx.x] = crest(sum, square, part[0]);
}

__global__ void k247b(const float *__restrict__ records, float *__restrict__ factor)
{
    __shared__ float sum[SAMPLES], square[SAMPLES], peak[SAMPLES];
    int t = threadIdx.x;
    float value = records[(size_t)blockIdx.x * SAMPLES + t];
    sum[t] = value;
    square[t] = value * value;
    peak[t] = fabsf(value);
    __syncthreads();
    for (int d = SAMPLES / 2; d > 0; d /= 2) {
        if (t < d) {
            sum[t] += sum[t + d];
            square[t] += square[t + d];
            peak[t] = fmaxf(peak[t], peak[t + d]);
        }
        __syncthreads();
    }
    if (t == 0)
        factor[blockIdx.x] = crest(sum[0], square[0], peak[0]);
}

__global__ void k247c(const float *__restrict__ records, float *__restrict__ factor)
{
    __shared__ float sums[8], squares[8], peaks[8];
    int t = threadIdx.x;
    float value = records[(size_t)blockIdx.x * SAMPLES + t];
    float sum = value, square = value * value, peak = fabsf(value);
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
        square += __shfl_down_sync(0xffffffffu, square, d);
        peak = fmaxf(peak, __shfl_down_sync(0xffffffffu, peak, d));
    }
    if (t % 32 == 0) {
        sums[t / 32] = sum;
        squares[t / 32] = square;
        peaks[t / 32] = peak;
    }
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; w++) {
            sum += sums[w];
            square += squares[w];
            peak = fmaxf(peak, peaks[w]);
        }
        factor[blockIdx.x] = crest(sum, square, peak);
    }
}

// one warp per record, eight samples per lane
__global__ void k247d(const float *__restrict__ records, float *__restrict__ factor)
{
    int lane = threadIdx.x % 32;
    int record = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const float *p = records + (size_t)record * SAMPLES + lane;
    float value[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        value[k] = p[32 * k];
    float sum = 0.0f, square = 0.0f, peak = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sum += value[k];
        square += value[k] * value[k];
        peak = fmaxf(peak, fabsf(value[k]));
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
        square += __shfl_down_sync(0xffffffffu, square, d);
        peak = fmaxf(peak, __shfl_down_sync(0xffffffffu, peak, d));
    }
    if (lane == 0)
        factor[record] = crest(sum, square, peak);
}

constexpr int CHANNELS = 2048;

// samples: [time][channel]
__global__ void k247e(const short *__restrict__ samples, const float *__restrict__ offset,
                      const float *__restrict__ gain, float *__restrict__ strain)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int channel = i % CHANNELS;
    strain[i] = (samples[i] - offset[channel]) / gain[channel];
}

__global__ void k247f(const short4 *__restrict__ samples, const float4 *__restrict__ offset,
                      const float4 *__restrict__ gain, float4 *__restrict__ strain)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int group = i % (CHANNELS / 4);
    short4 s = samples[i];
    float4 o = offset[group], g = gain[group];
    strain[i] = make_float4((s.x - o.x) / g.x, (s.y - o.y) / g.y, (s.z - o.z) / g.z, (s.w - o.w) / g.w);
}

__global__ void k247g(const short4 *__restrict__ samples, const float4 *__restrict__ offset,
                      const float4 *__restrict__ inverse_gain, float4 *__restrict__ strain)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int group = i % (CHANNELS / 4);
    short4 s = samples[i];
    float4 o = offset[group], g = inverse_gain[group];
    strain[i] = make_float4((s.x - o.x) * g.x, (s.y - o.y) * g.y, (s.z - o.z) * g.z, (s.w - o.w) * g.w);
}

int main()
{
    const int count = 1 << 18;
    float *records = input<float>((size_t)count * SAMPLES, 1, -1.0, 1.2);
    std::vector<float> some = on_host(records, 1000 * SAMPLES), first(1000);
    for (int r = 0; r < 1000; r++) {
        double sum = 0, square = 0, peak = 0;
        for (int t = 0; t < SAMPLES; t++) {
            double x = some[r * SAMPLES + t];
            sum += x;
            square += x * x;
            peak = fmax(peak, fabs(x));
        }
        first[r] = float(peak / sqrt(square / SAMPLES - sum * sum / SAMPLES / SAMPLES));
    }
    float *fa = output<float>(count), *fb = output<float>(count), *fc = output<float>(count), *fd = output<float>(count);
    k247a<<<count, SAMPLES>>>(records, fa);
    check("k247a", fa, first, 1e-4);
    std::vector<float> want = on_host(fa, count);
    k247b<<<count, SAMPLES>>>(records, fb);
    check("k247b", fb, want, 1e-4);
    k247c<<<count, SAMPLES>>>(records, fc);
    check("k247c", fc, want, 1e-4);
    k247d<<<count / 8, 256>>>(records, fd);
    check("k247d", fd, want, 1e-4);
    MUST(cudaFree(records));

    const size_t n = (size_t)32768 * CHANNELS;
    short *samples = input<short>(n, 2, -30000, 30000);
    float *offset = input<float>(CHANNELS, 3, -50.0, 50.0), *gain = input<float>(CHANNELS, 4, 800.0, 1200.0);
    std::vector<float> inverse = on_host(gain, CHANNELS), ho = on_host(offset, CHANNELS), hg = inverse;
    for (float &g : inverse)
        g = 1.0f / g;
    float *inverse_gain = on_device(inverse);
    std::vector<short> hs = on_host(samples, 16 * CHANNELS);
    std::vector<float> rows(16 * CHANNELS);
    for (int i = 0; i < 16 * CHANNELS; i++)
        rows[i] = (hs[i] - ho[i % CHANNELS]) / hg[i % CHANNELS];
    float *strain = output<float>(n);
    k247e<<<n / 256, 256>>>(samples, offset, gain, strain);
    check("k247e", strain, rows, 1e-5);
    want = on_host(strain, n);
    const short4 *s4 = reinterpret_cast<const short4 *>(samples);
    const float4 *o4 = reinterpret_cast<const float4 *>(offset), *g4 = reinterpret_cast<const float4 *>(gain);
    const float4 *i4 = reinterpret_cast<const float4 *>(inverse_gain);
    float4 *out4 = reinterpret_cast<float4 *>(strain);
    MUST(cudaMemset(strain, 0xA5, n * sizeof(float)));
    k247f<<<n / 1024, 256>>>(s4, o4, g4, out4);
    check("k247f", strain, want, 1e-5);
    MUST(cudaMemset(strain, 0xA5, n * sizeof(float)));
    k247g<<<n / 1024, 256>>>(s4, o4, i4, out4);
    check("k247g", strain, want, 1e-5);
}
