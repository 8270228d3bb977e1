// Column operators of an analytical database: dictionary decoding, a text filter, and a validity bitmap.
#include "../harness.h"

// values[i] = dictionary[codes[i]], a dictionary of at most 256 entries
__global__ void k237a(const unsigned char *codes, const float *dictionary, float *values, int n)
{
    __shared__ float entries[256];
    entries[threadIdx.x] = dictionary[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = entries[codes[i]];
}

__global__ void k237b(const unsigned char *codes, const float *dictionary, float *values, int n)
{
    __shared__ float entries[256];
    entries[threadIdx.x] = dictionary[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        values[i] = entries[codes[i]];
}

__global__ void k237c(const uchar4 *codes, const float *dictionary, float4 *values, int n4)
{
    __shared__ float entries[256];
    entries[threadIdx.x] = dictionary[threadIdx.x];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        uchar4 c = codes[i];
        values[i] = make_float4(entries[c.x], entries[c.y], entries[c.z], entries[c.w]);
    }
}

// Rows of a CHAR(32) column that contain a word of four letters
constexpr int WIDTH = 32;

__global__ void k237d(const char *text, const char *word, unsigned char *selected, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const char *s = text + (size_t)row * WIDTH;
    bool found = false;
    for (int start = 0; start + 4 <= WIDTH && !found; start++) {
        int j = 0;
        while (j < 4 && s[start + j] == word[j])
            j++;
        found = j == 4;
    }
    selected[row] = found;
}

__global__ void k237e(const uint4 *text, const unsigned *word, unsigned char *selected, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    uint4 a = text[2 * (size_t)row], b = text[2 * (size_t)row + 1];
    unsigned w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    unsigned wanted = *word;
    bool found = w[7] == wanted;
#pragma unroll
    for (int k = 0; k < 7; k++) {
        found |= w[k] == wanted;
        found |= __funnelshift_r(w[k], w[k + 1], 8) == wanted;
        found |= __funnelshift_r(w[k], w[k + 1], 16) == wanted;
        found |= __funnelshift_r(w[k], w[k + 1], 24) == wanted;
    }
    selected[row] = found;
}

// Validity bitmap of a float column: bit i is set where value i is not NaN
__global__ void k237f(const float *values, unsigned *valid, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    unsigned bits = 0;
    for (int b = 0; b < 32; b++) {
        float v = values[(size_t)w * 32 + b];
        if (!isnan(v))
            bits |= 1u << b;
    }
    valid[w] = bits;
}

__global__ void k237g(const float *values, unsigned *valid, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int word = i / 32;
    if (word >= words)
        return;
    unsigned bits = __ballot_sync(0xffffffffu, !isnan(values[i]));
    if (threadIdx.x % 32 == 0)
        valid[word] = bits;
}

// words is a multiple of 8
__global__ void k237h(const float *values, unsigned *valid, int words)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int first = warp * 8;
    if (first >= words)
        return;
    const float *v = values + (size_t)first * 32 + lane;
    float x[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = v[k * 32];
    unsigned mine = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        unsigned bits = __ballot_sync(0xffffffffu, !isnan(x[k]));
        if (lane == k)
            mine = bits;
    }
    if (lane < 8)
        valid[first + lane] = mine;
}

__device__ inline unsigned nibble(float4 v)
{
    return (isnan(v.x) ? 0u : 1u) | (isnan(v.y) ? 0u : 2u) | (isnan(v.z) ? 0u : 4u) | (isnan(v.w) ? 0u : 8u);
}

__global__ void k237i(const float4 *values, unsigned *valid, int words)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int first = warp * 8;
    if (first >= words)
        return;
    const float4 *v = values + (size_t)first * 8 + lane;
    float4 x0 = v[0], x1 = v[32];
    unsigned a = nibble(x0) << (lane % 8 * 4), b = nibble(x1) << (lane % 8 * 4);
#pragma unroll
    for (int d = 1; d < 8; d *= 2) {
        a |= __shfl_xor_sync(0xffffffffu, a, d);
        b |= __shfl_xor_sync(0xffffffffu, b, d);
    }
    if (lane % 8 == 0) {
        valid[first + lane / 8] = a;
        valid[first + 4 + lane / 8] = b;
    }
}

__global__ void punch_nulls(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && scrambled(i, 9) % 10 == 0)
        values[i] = nanf("");
}

int main()
{
    {
        const int n = 64 << 20;
        auto *codes = input<unsigned char>(n, 1, 0, 256);
        auto *dictionary = input<float>(256, 2, -100, 100);
        float *out = output<float>(n);
        k237a<<<n / 256, 256>>>(codes, dictionary, out, n);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(out, n);
        check("k237a", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k237b<<<132 * 8, 256>>>(codes, dictionary, out, n);
        check("k237b", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k237c<<<132 * 8, 256>>>((const uchar4 *)codes, dictionary, (float4 *)out, n / 4);
        check("k237c", out, want, 0);
        MUST(cudaFree(codes));
        MUST(cudaFree(out));
    }
    {
        const int rows = 12 << 20;
        auto *text = input<char>((size_t)rows * WIDTH, 3, 97, 103);
        std::vector<char> word = {'b', 'e', 'a', 'd'};
        char *needle = on_device(word);
        auto *out = output<unsigned char>(rows);
        k237d<<<rows / 256, 256>>>(text, needle, out, rows);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, rows);
        check("k237d", out, want, 0);
        auto *out2 = output<unsigned char>(rows);
        k237e<<<rows / 256, 256>>>((const uint4 *)text, (const unsigned *)needle, out2, rows);
        check("k237e", out2, want, 0);
        MUST(cudaFree(text));
    }
    {
        const int words = 2 << 20, n = words * 32;
        float *values = input<float>(n, 4, -1, 1);
        punch_nulls<<<n / 256, 256>>>(values, n);
        unsigned *out = output<unsigned>(words);
        k237f<<<words / 256, 256>>>(values, out, words);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, words);
        check("k237f", out, want, 0);
        unsigned *out2 = output<unsigned>(words);
        k237g<<<n / 256, 256>>>(values, out2, words);
        check("k237g", out2, want, 0);
        unsigned *out3 = output<unsigned>(words);
        k237h<<<n / 8 / 256, 256>>>(values, out3, words);
        check("k237h", out3, want, 0);
        unsigned *out4 = output<unsigned>(words);
        k237i<<<n / 8 / 256, 256>>>((const float4 *)values, out4, words);
        check("k237i", out4, want, 0);
    }
    return 0;
}
