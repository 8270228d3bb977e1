// Three problems: hill shading of an elevation model, attention scores with a linear position bias (ALiBi) and a causal
// mask, and the entropy of rows of probabilities.
#include "../harness.h"

// ---- hill shading: 3x3 gradient (Horn), slope and aspect, light from the north-west ----
constexpr float zenith = 0.7853981634f, azimuth = 2.3561944902f;

__global__ void k231a(const float *__restrict__ dem, unsigned char *__restrict__ shade, int width, int height, float cell)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        shade[(size_t)y * width + x] = 0;
        return;
    }
    const float *p = dem + (size_t)y * width + x;
    float a = p[-width - 1], b = p[-width], c = p[-width + 1];
    float d = p[-1], f = p[1];
    float g = p[width - 1], h = p[width], i = p[width + 1];
    float dx = ((c + 2 * f + i) - (a + 2 * d + g)) / (8 * cell);
    float dy = ((g + 2 * h + i) - (a + 2 * b + c)) / (8 * cell);
    float slope = atanf(sqrtf(dx * dx + dy * dy));
    float aspect = atan2f(dy, -dx);
    float light = cosf(zenith) * cosf(slope) + sinf(zenith) * sinf(slope) * cosf(azimuth - aspect);
    shade[(size_t)y * width + x] = light > 0 ? (unsigned char)(255.0f * light + 0.5f) : 0;
}

// cos(slope) = 1 / sqrt(1 + dx^2 + dy^2), and sin(slope) times (cos, sin)(aspect) = (-dx, dy) times that.
__device__ inline unsigned char shade_of(float dx, float dy)
{
    constexpr float cz = 0.7071067812f, sz_ca = 0.7071067812f * -0.7071067812f, sz_sa = 0.7071067812f * 0.7071067812f;
    float light = (cz - sz_ca * dx + sz_sa * dy) * rsqrtf(1.0f + dx * dx + dy * dy);
    return light > 0 ? (unsigned char)(255.0f * light + 0.5f) : 0;
}

__global__ void k231b(const float *__restrict__ dem, unsigned char *__restrict__ shade, int width, int height, float cell)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        shade[(size_t)y * width + x] = 0;
        return;
    }
    const float *p = dem + (size_t)y * width + x;
    float a = p[-width - 1], b = p[-width], c = p[-width + 1];
    float d = p[-1], f = p[1];
    float g = p[width - 1], h = p[width], i = p[width + 1];
    float scale = 1.0f / (8 * cell);
    float dx = ((c + 2 * f + i) - (a + 2 * d + g)) * scale;
    float dy = ((g + 2 * h + i) - (a + 2 * b + c)) * scale;
    shade[(size_t)y * width + x] = shade_of(dx, dy);
}

struct Row {
    float v[6]; // x - 1 to x + 4
};

__device__ inline Row load_row(const float *dem, int width, int x, int y)
{
    const float *p = dem + (size_t)y * width + x;
    float4 m = *(const float4 *)p;
    Row r;
    r.v[0] = x > 0 ? p[-1] : 0.0f;
    r.v[1] = m.x;
    r.v[2] = m.y;
    r.v[3] = m.z;
    r.v[4] = m.w;
    r.v[5] = x + 4 < width ? p[4] : 0.0f;
    return r;
}

// four columns and eight rows per thread; width a multiple of 4, height a multiple of 8
__global__ void k231c(const float *__restrict__ dem, unsigned char *__restrict__ shade, int width, int height, float cell)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int first = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
    if (x >= width || first >= height)
        return;
    float scale = 1.0f / (8 * cell);
    Row up = load_row(dem, width, x, max(first - 1, 0)), here = load_row(dem, width, x, first);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int y = first + k;
        Row down = load_row(dem, width, x, min(y + 1, height - 1));
        float column[6], change[6];
#pragma unroll
        for (int i = 0; i < 6; i++) {
            column[i] = up.v[i] + 2 * here.v[i] + down.v[i];
            change[i] = down.v[i] - up.v[i];
        }
        unsigned char s[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[i] = shade_of((column[i + 2] - column[i]) * scale,
                            (change[i] + 2 * change[i + 1] + change[i + 2]) * scale);
        uchar4 out = make_uchar4(s[0], s[1], s[2], s[3]);
        if (x == 0)
            out.x = 0;
        if (x + 4 == width)
            out.w = 0;
        if (y == 0 || y == height - 1)
            out = make_uchar4(0, 0, 0, 0);
        *(uchar4 *)(shade + (size_t)y * width + x) = out;
        up = here;
        here = down;
    }
}

// ---- scores (heads, T, T) in half: scaled, plus slope(head) * (key - query), and -10000 where key > query ----
__global__ void k231d(const __half *__restrict__ scores, __half *__restrict__ out, int heads, int T, float scale)
{
    int key = blockIdx.x * blockDim.x + threadIdx.x;
    int query = blockIdx.y, head = blockIdx.z;
    if (key >= T)
        return;
    size_t i = ((size_t)head * T + query) * T + key;
    if (key > query) {
        out[i] = __float2half(-10000.0f);
        return;
    }
    float slope = powf(2.0f, -8.0f * (head + 1) / heads);
    out[i] = __float2half(__half2float(scores[i]) * scale + slope * (key - query));
}

__device__ inline unsigned biased(unsigned packed, float scale, float slope, int distance)
{
    float2 v = __half22float2(*(const __half2 *)&packed);
    float lo = distance > 0 ? -10000.0f : v.x * scale + slope * distance;
    float hi = distance + 1 > 0 ? -10000.0f : v.y * scale + slope * (distance + 1);
    __half2 r = __floats2half2_rn(lo, hi);
    return *(const unsigned *)&r;
}

// T is a multiple of 8
__global__ void k231e(const __half *__restrict__ scores, __half *__restrict__ out, int heads, int T, float scale)
{
    int key = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    int query = blockIdx.y, head = blockIdx.z;
    if (key >= T)
        return;
    size_t i = ((size_t)head * T + query) * T + key;
    float slope = exp2f(-8.0f * (head + 1) / heads);
    int distance = key - query;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (distance <= 0)
        v = *(const uint4 *)(scores + i);
    v.x = biased(v.x, scale, slope, distance);
    v.y = biased(v.y, scale, slope, distance + 2);
    v.z = biased(v.z, scale, slope, distance + 4);
    v.w = biased(v.w, scale, slope, distance + 6);
    *(uint4 *)(out + i) = v;
}

__constant__ float head_slope[64];

__global__ void k231f(const __half *__restrict__ scores, __half *__restrict__ out, int T, float scale)
{
    int key = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    int query = blockIdx.y, head = blockIdx.z;
    if (key >= T)
        return;
    size_t i = ((size_t)head * T + query) * T + key;
    float slope = head_slope[head];
    int distance = key - query;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (distance <= 0)
        v = *(const uint4 *)(scores + i);
    v.x = biased(v.x, scale, slope, distance);
    v.y = biased(v.y, scale, slope, distance + 2);
    v.z = biased(v.z, scale, slope, distance + 4);
    v.w = biased(v.w, scale, slope, distance + 6);
    *(uint4 *)(out + i) = v;
}

// ---- entropy -sum p log p of rows of 512 numbers ----
__device__ inline float term(float p)
{
    return p > 0 ? -p * logf(p) : 0.0f;
}

__global__ void k231g(const __half *__restrict__ p, float *__restrict__ entropy, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < columns; c++)
        sum += term(__half2float(p[(size_t)row * columns + c]));
    entropy[row] = sum;
}

// a block of 512 threads per row of 512
__global__ void k231h(const __half *__restrict__ p, float *__restrict__ entropy, int columns)
{
    __shared__ float part[512];
    int t = threadIdx.x;
    part[t] = term(__half2float(p[(size_t)blockIdx.x * columns + t]));
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        entropy[blockIdx.x] = part[0];
}

__device__ inline float terms(unsigned packed)
{
    float2 p = __half22float2(*(const __half2 *)&packed);
    return term(p.x) + term(p.y);
}

__global__ void k231i(const uint4 *__restrict__ p, float *__restrict__ entropy, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const uint4 *from = p + (size_t)row * 64 + lane;
    uint4 v[2];
#pragma unroll
    for (int k = 0; k < 2; k++)
        v[k] = from[k * 32];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 2; k++)
        sum += terms(v[k].x) + terms(v[k].y) + terms(v[k].z) + terms(v[k].w);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        entropy[row] = sum;
}

__device__ inline float quick_term(float p)
{
    return p > 0 ? -p * __logf(p) : 0.0f;
}

__device__ inline float quick_terms(unsigned packed)
{
    float2 p = __half22float2(*(const __half2 *)&packed);
    return quick_term(p.x) + quick_term(p.y);
}

__global__ void k231j(const uint4 *__restrict__ p, float *__restrict__ entropy, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const uint4 *from = p + (size_t)row * 64 + lane;
    uint4 v[2];
#pragma unroll
    for (int k = 0; k < 2; k++)
        v[k] = from[k * 32];
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 2; k++)
        sum += quick_terms(v[k].x) + quick_terms(v[k].y) + quick_terms(v[k].z) + quick_terms(v[k].w);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        entropy[row] = sum;
}

// Halves as floats on the device, so that check() can compare them.
__global__ void widen(const __half *in, float *out, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        out[i] = __half2float(in[i]);
}

int main()
{
    {
        const int width = 8192, height = 8192;
        const size_t n = (size_t)width * height;
        float *dem = input<float>(n, 1, 0, 40);
        unsigned char *shade = output<unsigned char>(n);
        k231a<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(dem, shade, width, height, 10.0f);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned char> want = on_host(shade, n);
        check("k231a", shade, want, 0);
        MUST(cudaFree(shade));
        shade = output<unsigned char>(n);
        k231b<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(dem, shade, width, height, 10.0f);
        check("k231b", shade, want, 1); // a unit of brightness more or less near a half
        MUST(cudaFree(shade));
        shade = output<unsigned char>(n);
        k231c<<<dim3(width / 128, height / 64), dim3(32, 8)>>>(dem, shade, width, height, 10.0f);
        check("k231c", shade, want, 1);
        MUST(cudaFree(shade));
        MUST(cudaFree(dem));
    }
    {
        const int heads = 20, T = 2048;
        const size_t n = (size_t)heads * T * T;
        __half *scores = input<__half>(n, 2, -8, 8);
        __half *out = output<__half>(n);
        float *wide = output<float>(n);
        k231d<<<dim3(T / 256, T, heads), 256>>>(scores, out, heads, T, 0.125f);
        MUST(cudaDeviceSynchronize());
        widen<<<1056, 256>>>(out, wide, n);
        std::vector<float> want = on_host(wide, n);
        check("k231d", wide, want, 0);
        MUST(cudaFree(out));
        out = output<__half>(n);
        k231e<<<dim3(1, T, heads), 256>>>(scores, out, heads, T, 0.125f);
        widen<<<1056, 256>>>(out, wide, n);
        check("k231e", wide, want, 2e-3);
        MUST(cudaFree(out));
        out = output<__half>(n);
        float slopes[64];
        for (int h = 0; h < 64; h++)
            slopes[h] = exp2f(-8.0f * (h + 1) / heads);
        MUST(cudaMemcpyToSymbol(head_slope, slopes, sizeof slopes));
        k231f<<<dim3(1, T, heads), 256>>>(scores, out, T, 0.125f);
        widen<<<1056, 256>>>(out, wide, n);
        check("k231f", wide, want, 2e-3);
        MUST(cudaFree(out));
        MUST(cudaFree(scores));
        MUST(cudaFree(wide));
    }
    {
        const int rows = 1 << 18, columns = 512;
        __half *p = input<__half>((size_t)rows * columns, 3, 0, 2.0 / columns);
        float *entropy = output<float>(rows);
        k231g<<<rows / 256, 256>>>(p, entropy, rows, columns);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(entropy, rows);
        check("k231g", entropy, want, 0);
        MUST(cudaFree(entropy));
        entropy = output<float>(rows);
        k231h<<<rows, 512>>>(p, entropy, columns);
        check("k231h", entropy, want, 1e-4);
        MUST(cudaFree(entropy));
        entropy = output<float>(rows);
        k231i<<<rows / 8, 256>>>((const uint4 *)p, entropy, rows);
        check("k231i", entropy, want, 1e-4);
        MUST(cudaFree(entropy));
        entropy = output<float>(rows);
        k231j<<<rows / 8, 256>>>((const uint4 *)p, entropy, rows);
        check("k231j", entropy, want, 1e-4);
    }
    return 0;
}
