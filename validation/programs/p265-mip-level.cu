// Next mip level of a four-band picture of sRGB-coded bytes: bytes to linear light, mean of 2 x 2 pixels, back to bytes.
#include "../harness.h"

constexpr int WIDE = 8192, HIGH = 8192;
constexpr int OUT_WIDE = WIDE / 2, OUT_HIGH = HIGH / 2; // a thread makes a pixel from 2 x 2

__constant__ float linear_of[256];

struct Accurate {
    static __device__ __forceinline__ float power(float x) { return powf(x, 1.0f / 2.4f); }
};
struct Quick {
    static __device__ __forceinline__ float power(float x) { return __powf(x, 1.0f / 2.4f); }
};

template <class Power> __device__ __forceinline__ unsigned coded(float x)
{
    float y = x <= 0.0031308f ? 12.92f * x : 1.055f * Power::power(x) - 0.055f;
    return unsigned(y * 255.0f + 0.5f);
}

// mean of the two upper and two lower pixels, for each of the four bytes
template <class Power, class Table>
__device__ __forceinline__ unsigned mean4(unsigned a, unsigned b, unsigned c, unsigned d, Table linear)
{
    unsigned result = 0;
#pragma unroll
    for (int s = 0; s < 32; s += 8) {
        float sum = linear(a >> s & 255) + linear(b >> s & 255) + linear(c >> s & 255) + linear(d >> s & 255);
        result |= coded<Power>(0.25f * sum) << s;
    }
    return result;
}

__global__ void k265a(const uint2 *picture, unsigned *level)
{
    auto linear = [](unsigned v) { return linear_of[v]; };
    for (int tile = blockIdx.x; tile < OUT_WIDE / 8 * (OUT_HIGH / 32); tile += gridDim.x) {
        int x = tile % (OUT_WIDE / 8) * 8 + threadIdx.y, y = tile / (OUT_WIDE / 8) * 32 + threadIdx.x;
        uint2 upper = picture[2 * y * OUT_WIDE + x], lower = picture[(2 * y + 1) * OUT_WIDE + x];
        level[y * OUT_WIDE + x] = mean4<Accurate>(upper.x, upper.y, lower.x, lower.y, linear);
    }
}

__global__ void k265b(const uint2 *picture, const float *curve, unsigned *level)
{
    __shared__ float table[256];
    table[threadIdx.y * 32 + threadIdx.x] = curve[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    auto linear = [&](unsigned v) { return table[v]; };
    for (int tile = blockIdx.x; tile < OUT_WIDE / 8 * (OUT_HIGH / 32); tile += gridDim.x) {
        int x = tile % (OUT_WIDE / 8) * 8 + threadIdx.y, y = tile / (OUT_WIDE / 8) * 32 + threadIdx.x;
        uint2 upper = picture[2 * y * OUT_WIDE + x], lower = picture[(2 * y + 1) * OUT_WIDE + x];
        level[y * OUT_WIDE + x] = mean4<Accurate>(upper.x, upper.y, lower.x, lower.y, linear);
    }
}

template <class Power> __device__ __forceinline__ void rows_with_table(const uint2 *picture, const float *curve, unsigned *level)
{
    __shared__ float table[256];
    table[threadIdx.y * 32 + threadIdx.x] = curve[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    auto linear = [&](unsigned v) { return table[v]; };
    for (int tile = blockIdx.x; tile < OUT_WIDE / 32 * (OUT_HIGH / 8); tile += gridDim.x) {
        int x = tile % (OUT_WIDE / 32) * 32 + threadIdx.x, y = tile / (OUT_WIDE / 32) * 8 + threadIdx.y;
        uint2 upper = picture[2 * y * OUT_WIDE + x], lower = picture[(2 * y + 1) * OUT_WIDE + x];
        level[y * OUT_WIDE + x] = mean4<Power>(upper.x, upper.y, lower.x, lower.y, linear);
    }
}

__global__ void k265c(const uint2 *picture, const float *curve, unsigned *level)
{
    rows_with_table<Accurate>(picture, curve, level);
}

__global__ void k265d(const uint2 *picture, const float *curve, unsigned *level)
{
    rows_with_table<Quick>(picture, curve, level);
}

__global__ void k265e(const uint2 *picture, const float *curve, unsigned *level)
{
    __shared__ float table[256 * 32]; // a column for each lane
    for (int v = threadIdx.y; v < 256; v += 8)
        table[v * 32 + threadIdx.x] = curve[v];
    __syncthreads();
    const float *own = table + threadIdx.x;
    auto linear = [&](unsigned v) { return own[v * 32]; };
    for (int tile = blockIdx.x; tile < OUT_WIDE / 32 * (OUT_HIGH / 8); tile += gridDim.x) {
        int x = tile % (OUT_WIDE / 32) * 32 + threadIdx.x, y = tile / (OUT_WIDE / 32) * 8 + threadIdx.y;
        uint2 upper = picture[2 * y * OUT_WIDE + x], lower = picture[(2 * y + 1) * OUT_WIDE + x];
        level[y * OUT_WIDE + x] = mean4<Quick>(upper.x, upper.y, lower.x, lower.y, linear);
    }
}

__global__ void k265f(const uint2 *picture, const float *curve, unsigned *level)
{
    __shared__ float table[256 * 32];
    for (int v = threadIdx.y; v < 256; v += 8)
        table[v * 32 + threadIdx.x] = curve[v];
    __syncthreads();
    const float *own = table + threadIdx.x;
    auto linear = [&](unsigned v) { return own[v * 32]; };
    for (int tile = blockIdx.x; tile < OUT_WIDE / 32 * (OUT_HIGH / 16); tile += gridDim.x) {
        int x = tile % (OUT_WIDE / 32) * 32 + threadIdx.x, y = tile / (OUT_WIDE / 32) * 16 + threadIdx.y;
        uint2 upper = picture[2 * y * OUT_WIDE + x], lower = picture[(2 * y + 1) * OUT_WIDE + x];
        uint2 upper2 = picture[2 * (y + 8) * OUT_WIDE + x], lower2 = picture[(2 * (y + 8) + 1) * OUT_WIDE + x];
        level[y * OUT_WIDE + x] = mean4<Quick>(upper.x, upper.y, lower.x, lower.y, linear);
        level[(y + 8) * OUT_WIDE + x] = mean4<Quick>(upper2.x, upper2.y, lower2.x, lower2.y, linear);
    }
}

// Bytes may differ by one where the rounding is near a half, in at most 2 of 1000 bytes.
static void check_bytes(const char *kernel, const unsigned *level, const std::vector<unsigned char> &want)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned char> got = on_host(reinterpret_cast<const unsigned char *>(level), want.size());
    size_t wrong = 0, off = 0;
    for (size_t i = 0; i < want.size(); i++) {
        int difference = std::abs(int(got[i]) - int(want[i]));
        wrong += difference > 1;
        off += difference == 1;
    }
    std::printf("%s: %zu of %zu wrong, %zu differ by one\n", kernel, wrong, want.size(), off);
    if (wrong || off > want.size() / 500)
        std::exit(2);
}

int main()
{
    size_t n = size_t(WIDE) * HIGH, out = n / 4;
    unsigned *pixels = input<unsigned>(n, 1, 0, 4294967296.0);
    const uint2 *picture = reinterpret_cast<const uint2 *>(pixels);
    unsigned *first = output<unsigned>(out);
    unsigned *other = output<unsigned>(out);
    std::vector<float> curve(256);
    for (int v = 0; v < 256; v++) {
        double c = v / 255.0;
        curve[v] = float(c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    float *table = on_device(curve);
    MUST(cudaMemcpyToSymbol(linear_of, curve.data(), 256 * sizeof(float)));

    std::vector<unsigned> rows = on_host(pixels, 2 * WIDE);
    std::vector<unsigned char> sample(WIDE / 2 * 4);
    for (int i = 0; i < WIDE / 2; i++)
        for (int c = 0; c < 4; c++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += curve[rows[(k / 2) * WIDE + 2 * i + k % 2] >> (8 * c) & 255];
            double x = 0.25 * sum, y = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
            sample[i * 4 + c] = (unsigned char)(y * 255 + 0.5);
        }

    const int blocks = 132 * 6;
    dim3 threads(32, 8);
    k265a<<<blocks, threads>>>(picture, first);
    check_bytes("k265a, samples", first, sample);
    std::vector<unsigned char> want = on_host(reinterpret_cast<unsigned char *>(first), out * 4);
    k265b<<<blocks, threads>>>(picture, table, other);
    check_bytes("k265b", other, want);
    MUST(cudaMemset(other, 0xA5, out * 4));
    k265c<<<blocks, threads>>>(picture, table, other);
    check_bytes("k265c", other, want);
    MUST(cudaMemset(other, 0xA5, out * 4));
    k265d<<<blocks, threads>>>(picture, table, other);
    check_bytes("k265d", other, want);
    MUST(cudaMemset(other, 0xA5, out * 4));
    k265e<<<blocks, threads>>>(picture, table, other);
    check_bytes("k265e", other, want);
    MUST(cudaMemset(other, 0xA5, out * 4));
    k265f<<<blocks, threads>>>(picture, table, other);
    check_bytes("k265f", other, want);
}
