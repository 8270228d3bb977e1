// Software radio: FM discriminator of 16-bit complex samples, and the RMS envelope of a signal over 128 samples.
#include "../harness.h"

// Conjugate product of a sample with the one before it, exact in integers.
__device__ inline int2 turn(unsigned now, unsigned before)
{
    int i = short(now & 0xFFFF), q = int(now) >> 16, pi = short(before & 0xFFFF), pq = int(before) >> 16;
    return make_int2(i * pi + q * pq, q * pi - i * pq);
}

__device__ inline uint2 pack(float a, float b, float c, float d)
{
    __half2 low = __floats2half2_rn(a, b), high = __floats2half2_rn(c, d);
    return make_uint2(*reinterpret_cast<unsigned *>(&low), *reinterpret_cast<unsigned *>(&high));
}

__device__ inline float angle_double(int2 z)
{
    return float(atan2(double(z.y), double(z.x)));
}

__device__ inline float angle_float(int2 z)
{
    return atan2f(float(z.y), float(z.x));
}

__device__ inline float angle_fast(int2 z)
{
    float re = float(z.x), im = float(z.y), x = fabsf(re), y = fabsf(im);
    float t = __fdividef(fminf(x, y), fmaxf(fmaxf(x, y), 1.0f)), s = t * t;
    float p = fmaf(s, -0.01172120f, 0.05265332f);
    p = fmaf(s, p, -0.11643287f);
    p = fmaf(s, p, 0.19354346f);
    p = fmaf(s, p, -0.33262347f);
    p = fmaf(s, p, 0.99997726f) * t;
    p = y > x ? 1.57079633f - p : p;
    p = re < 0 ? 3.14159265f - p : p;
    return copysignf(p, im);
}

__global__ void k255a(const uint4 *samples, uint2 *angles, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    uint4 s = samples[g];
    unsigned before = g ? reinterpret_cast<const unsigned *>(samples)[4 * size_t(g) - 1] : 0;
    angles[g] = pack(angle_double(turn(s.x, before)), angle_double(turn(s.y, s.x)), angle_double(turn(s.z, s.y)),
                     angle_double(turn(s.w, s.z)));
}

__global__ void k255b(const uint4 *samples, uint2 *angles, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    uint4 s = samples[g];
    unsigned before = g ? reinterpret_cast<const unsigned *>(samples)[4 * size_t(g) - 1] : 0;
    angles[g] = pack(angle_float(turn(s.x, before)), angle_float(turn(s.y, s.x)), angle_float(turn(s.z, s.y)),
                     angle_float(turn(s.w, s.z)));
}

__global__ void k255c(const uint4 *samples, uint2 *angles, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    uint4 s = samples[g];
    unsigned before = g ? reinterpret_cast<const unsigned *>(samples)[4 * size_t(g) - 1] : 0;
    angles[g] = pack(angle_fast(turn(s.x, before)), angle_fast(turn(s.y, s.x)), angle_fast(turn(s.z, s.y)),
                     angle_fast(turn(s.w, s.z)));
}

__global__ void __launch_bounds__(512) k255d(const uint4 *samples, uint2 *angles, int groups)
{
    int g = blockIdx.x * 512 + threadIdx.x;
    if (g >= groups)
        return;
    uint4 s = samples[g];
    unsigned before = g ? reinterpret_cast<const unsigned *>(samples)[4 * size_t(g) - 1] : 0;
    angles[g] = pack(angle_fast(turn(s.x, before)), angle_fast(turn(s.y, s.x)), angle_fast(turn(s.z, s.y)),
                     angle_fast(turn(s.w, s.z)));
}

constexpr int window = 128, each = 32, threads = 256, tile = each * threads;

__global__ void k255e(const float *x, float *envelope)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < window; k++) {
        float v = x[i + k];
        sum += v * v;
    }
    envelope[i] = sqrtf(sum * (1.0f / window));
}

__global__ void __launch_bounds__(threads) k255f(const float *x, float *envelope)
{
    __shared__ float power[tile + window];
    size_t base = size_t(blockIdx.x) * tile;
    for (int i = threadIdx.x; i < tile + window - 1; i += threads) {
        float v = x[base + i];
        power[i] = v * v;
    }
    __syncthreads();
    float results[each], sum = 0;
    int first = threadIdx.x * each;
#pragma unroll 8
    for (int k = 0; k < window; k++)
        sum += power[first + k];
#pragma unroll
    for (int k = 0; k < each; k++) {
        results[k] = sum;
        if (k + 1 < each)
            sum += power[first + k + window] - power[first + k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++)
        power[first + k] = results[k];
    __syncthreads();
    for (int i = threadIdx.x; i < tile; i += threads)
        envelope[base + i] = sqrtf(fmaxf(power[i], 0.0f) * (1.0f / window));
}

__global__ void __launch_bounds__(threads) k255g(const float *x, float *envelope)
{
    __shared__ float power[(tile + window) / 32 * 33];
    size_t base = size_t(blockIdx.x) * tile;
    for (int i = threadIdx.x; i < tile + window - 1; i += threads) {
        float v = x[base + i];
        power[i + i / 32] = v * v;
    }
    __syncthreads();
    float results[each], sum = 0;
    const float *mine = power + threadIdx.x * 33;
#pragma unroll
    for (int k = 0; k < window; k++)
        sum += mine[k + k / 32];
#pragma unroll
    for (int k = 0; k < each; k++) {
        results[k] = sum;
        if (k + 1 < each)
            sum += mine[(k + window) + (k + window) / 32] - mine[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < each; k++)
        power[threadIdx.x * 33 + k] = results[k];
    __syncthreads();
    for (int i = threadIdx.x; i < tile; i += threads)
        envelope[base + i] = sqrtf(fmaxf(power[i + i / 32], 0.0f) * (1.0f / window));
}

int main()
{
    {
        const int count = 1 << 26, groups = count / 4;
        short *iq = input<short>(2 * size_t(count), 1, -20000, 20000);
        __half *angles = output<__half>(count);
        const uint4 *samples = reinterpret_cast<const uint4 *>(iq);
        uint2 *out = reinterpret_cast<uint2 *>(angles);
        k255a<<<groups / 256, 256>>>(samples, out, groups);
        MUST(cudaDeviceSynchronize());
        std::vector<__half> want = on_host(angles, count);
        std::vector<short> host = on_host(iq, 2 * size_t(count));
        for (int s = 0; s < 100000; s++) {
            size_t i = 1 + scrambled(s, 2) % (count - 1);
            double a = host[2 * i], b = host[2 * i + 1], c = host[2 * i - 2], d = host[2 * i - 1];
            if (std::fabs(std::atan2(b * c - a * d, a * c + b * d) - double(__half2float(want[i]))) > 2e-3) {
                std::printf("k255a: sample %zu is wrong\n", i);
                return 2;
            }
        }
        check("k255a", angles, std::vector<__half>(want.begin(), want.begin() + count / 4), 0);
        MUST(cudaMemset(angles, 0xA5, 2 * size_t(count)));
        k255b<<<groups / 256, 256>>>(samples, out, groups);
        check("k255b", angles, want, 3e-3);
        MUST(cudaMemset(angles, 0xA5, 2 * size_t(count)));
        k255c<<<groups / 256, 256>>>(samples, out, groups);
        check("k255c", angles, want, 3e-3);
        MUST(cudaMemset(angles, 0xA5, 2 * size_t(count)));
        k255d<<<groups / 512, 512>>>(samples, out, groups);
        check("k255d", angles, want, 3e-3);
        MUST(cudaFree(iq));
        MUST(cudaFree(angles));
    }
    const size_t count = 1 << 25;
    float *x = input<float>(count + window, 3, -1, 1), *envelope = output<float>(count);
    k255e<<<count / 256, 256>>>(x, envelope);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(envelope, count), host = on_host(x, count + window);
    for (int s = 0; s < 20000; s++) {
        size_t i = scrambled(s, 4) % count;
        double sum = 0;
        for (int k = 0; k < window; k++)
            sum += double(host[i + k]) * host[i + k];
        if (std::fabs(std::sqrt(sum / window) - want[i]) > 1e-4) {
            std::printf("k255e: output %zu is wrong\n", i);
            return 2;
        }
    }
    check("k255e", envelope, want, 0);
    MUST(cudaMemset(envelope, 0xA5, 4 * count));
    k255f<<<count / tile, threads>>>(x, envelope);
    check("k255f", envelope, want, 1e-3);
    MUST(cudaMemset(envelope, 0xA5, 4 * count));
    k255g<<<count / tile, threads>>>(x, envelope);
    check("k255g", envelope, want, 1e-3);
}
