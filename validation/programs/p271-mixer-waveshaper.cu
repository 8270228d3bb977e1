// A mixing desk of 32 stems and 16 buses, and a soft clipper for 48 channels of audio.
#include "../harness.h"

constexpr int stems = 32;
constexpr int buses = 16;
constexpr int frames = 2 << 20;
constexpr int channels = 48;
constexpr int samples = 1 << 20;

__constant__ float desk[stems * buses];

// bus[o][i] = sum over stems of gain[s][o] * stem[s][i]
__global__ void k271a(const float *__restrict__ stem, const float *__restrict__ gain, float *__restrict__ bus, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int o = blockIdx.y;
    if (i >= n)
        return;
    float sum = 0;
    for (int s = 0; s < stems; s++)
        sum += gain[s * buses + o] * stem[(size_t)s * n + i];
    bus[(size_t)o * n + i] = sum;
}

// All buses of a frame in one thread.
__global__ void k271b(const float *__restrict__ stem, const float *__restrict__ gain, float *__restrict__ bus, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum[buses] = {};
#pragma unroll 8
    for (int s = 0; s < stems; s++) {
        float x = stem[(size_t)s * n + i];
#pragma unroll
        for (int o = 0; o < buses; o++)
            sum[o] += gain[s * buses + o] * x;
    }
#pragma unroll
    for (int o = 0; o < buses; o++)
        bus[(size_t)o * n + i] = sum[o];
}

// Gains in constant memory.
__global__ void k271c(const float *__restrict__ stem, float *__restrict__ bus, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum[buses] = {};
#pragma unroll 8
    for (int s = 0; s < stems; s++) {
        float x = stem[(size_t)s * n + i];
#pragma unroll
        for (int o = 0; o < buses; o++)
            sum[o] += desk[s * buses + o] * x;
    }
#pragma unroll
    for (int o = 0; o < buses; o++)
        bus[(size_t)o * n + i] = sum[o];
}

// Two frames per thread.
__global__ void k271d(const float2 *__restrict__ stem, float2 *__restrict__ bus, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    float2 sum[buses] = {};
#pragma unroll 8
    for (int s = 0; s < stems; s++) {
        float2 x = stem[(size_t)s * pairs + i];
#pragma unroll
        for (int o = 0; o < buses; o++) {
            sum[o].x += desk[s * buses + o] * x.x;
            sum[o].y += desk[s * buses + o] * x.y;
        }
    }
#pragma unroll
    for (int o = 0; o < buses; o++)
        bus[(size_t)o * pairs + i] = sum[o];
}

// y = x / (1 + |x|^p)^(1/p)
__device__ inline float clipped(float v, float knee)
{
    return v / powf(1.0f + powf(fabsf(v), knee), 1.0f / knee);
}

__device__ inline float clipped_fast(float v, float knee)
{
    return __fdividef(v, __powf(1.0f + __powf(fabsf(v), knee), __fdividef(1.0f, knee)));
}

// A row of the grid for each channel.
__global__ void k271e(const float4 *__restrict__ in, float4 *__restrict__ out, float drive, float knee, int quads)
{
    const float4 *x = in + (size_t)blockIdx.y * quads;
    float4 *y = out + (size_t)blockIdx.y * quads;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        y[i] = make_float4(clipped(drive * v.x, knee), clipped(drive * v.y, knee), clipped(drive * v.z, knee),
                           clipped(drive * v.w, knee));
    }
}

__global__ void k271f(const float4 *__restrict__ in, float4 *__restrict__ out, float drive, float knee, int quads)
{
    const float4 *x = in + (size_t)blockIdx.y * quads;
    float4 *y = out + (size_t)blockIdx.y * quads;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        y[i] = make_float4(clipped_fast(drive * v.x, knee), clipped_fast(drive * v.y, knee), clipped_fast(drive * v.z, knee),
                           clipped_fast(drive * v.w, knee));
    }
}

// Launched with one block per channel.
__global__ void k271g(const float4 *__restrict__ in, float4 *__restrict__ out, float drive, float knee, int quads)
{
    const float4 *x = in + (size_t)blockIdx.y * quads;
    float4 *y = out + (size_t)blockIdx.y * quads;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        y[i] = make_float4(clipped_fast(drive * v.x, knee), clipped_fast(drive * v.y, knee), clipped_fast(drive * v.z, knee),
                           clipped_fast(drive * v.w, knee));
    }
}

int main()
{
    {
        float *stem = input<float>((size_t)stems * frames, 1, -1, 1);
        float *gain = input<float>(stems * buses, 2, 0, 1);
        std::vector<float> gains = on_host(gain, stems * buses);
        MUST(cudaMemcpyToSymbol(desk, gains.data(), sizeof(desk)));
        std::vector<float> want(16384);
        {
            std::vector<double> sum(want.size(), 0.0);
            for (int s = 0; s < stems; s++) {
                std::vector<float> part = on_host(stem + (size_t)s * frames, want.size());
                for (size_t i = 0; i < want.size(); i++)
                    sum[i] += (double)gains[s * buses] * part[i];
            }
            for (size_t i = 0; i < want.size(); i++)
                want[i] = (float)sum[i];
        }
        size_t total = (size_t)buses * frames;
        float *bus = output<float>(total);
        k271a<<<dim3(frames / 256, buses), 256>>>(stem, gain, bus, frames);
        check("k271a", bus, want, 1e-4);
        std::vector<float> all = on_host(bus, total);
        MUST(cudaMemset(bus, 0xA5, total * sizeof(float)));
        k271b<<<frames / 256, 256>>>(stem, gain, bus, frames);
        check("k271b", bus, all, 1e-4);
        MUST(cudaMemset(bus, 0xA5, total * sizeof(float)));
        k271c<<<frames / 256, 256>>>(stem, bus, frames);
        check("k271c", bus, all, 1e-4);
        MUST(cudaMemset(bus, 0xA5, total * sizeof(float)));
        k271d<<<frames / 512, 256>>>(reinterpret_cast<float2 *>(stem), reinterpret_cast<float2 *>(bus), frames / 2);
        check("k271d", bus, all, 1e-4);
        MUST(cudaFree(stem));
        MUST(cudaFree(bus));
    }
    const float drive = 4.0f, knee = 2.5f;
    size_t total = (size_t)channels * samples;
    float *in = input<float>(total, 3, -1, 1), *out = output<float>(total);
    const float4 *in4 = reinterpret_cast<const float4 *>(in);
    float4 *out4 = reinterpret_cast<float4 *>(out);
    std::vector<float> want = on_host(in, 65536);
    for (float &x : want) {
        double v = (double)drive * x;
        x = (float)(v / std::pow(1.0 + std::pow(std::fabs(v), (double)knee), 1.0 / knee));
    }
    k271e<<<dim3(128, channels), 256>>>(in4, out4, drive, knee, samples / 4);
    check("k271e", out, want, 1e-4);
    std::vector<float> all = on_host(out, total);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k271f<<<dim3(128, channels), 256>>>(in4, out4, drive, knee, samples / 4);
    check("k271f", out, all, 1e-3);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k271g<<<dim3(1, channels), 256>>>(in4, out4, drive, knee, samples / 4);
    check("k271g", out, all, 1e-3);
    return 0;
}
