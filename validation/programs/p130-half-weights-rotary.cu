// Two kernels of the decoder of a language model in halves: a matrix of weights times a vector, and rotary position
// embedding of queries (the two halves of a head are rotated against each other).
#include "../harness.h"

#include <functional>

const int OUTPUTS = 16384, INPUTS = 8192;

__global__ void k130a(float *y, const __half *w, const __half *x, int outputs, int inputs)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= outputs)
        return;
    float sum = 0.0f;
    for (int j = 0; j < inputs; j++)
        sum += __half2float(w[(size_t)row * inputs + j]) * __half2float(x[j]);
    y[row] = sum;
}

__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

// One warp per row.
__global__ void k130b(float *y, const __half *w, const __half *x, int outputs, int inputs)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= outputs)
        return;
    float sum = 0.0f;
    for (int j = lane; j < inputs; j += 32)
        sum += __half2float(w[(size_t)row * inputs + j]) * __half2float(x[j]);
    sum = warp_sum(sum);
    if (lane == 0)
        y[row] = sum;
}

__device__ float dot2(unsigned a, unsigned b, float sum)
{
    float2 p = __half22float2(*reinterpret_cast<__half2 *>(&a)), q = __half22float2(*reinterpret_cast<__half2 *>(&b));
    return sum + p.x * q.x + p.y * q.y;
}

__global__ void __launch_bounds__(256)
    k130c(float *__restrict__ y, const uint4 *__restrict__ w, const uint4 *__restrict__ x)
{
    int row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const uint4 *from = w + (size_t)row * (INPUTS / 8) + lane;
    float sum = 0.0f;
#pragma unroll 1
    for (int j = 0; j < INPUTS / 8; j += 4 * 32) {
        uint4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++)
            v[u] = from[j + u * 32];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            uint4 b = x[j + u * 32 + lane];
            sum = dot2(v[u].w, b.w, dot2(v[u].z, b.z, dot2(v[u].y, b.y, dot2(v[u].x, b.x, sum))));
        }
    }
    sum = warp_sum(sum);
    if (lane == 0)
        y[row] = sum;
}

const int SEQUENCES = 8, LENGTH = 2048, TOKENS = SEQUENCES * LENGTH, HEADS = 32, DIM = 128, HALF = DIM / 2;

// One thread per pair of numbers.
__global__ void k130d(__half *out, const __half *in, int length, int heads, int dim, int pairs)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= pairs)
        return;
    int i = index % (dim / 2), head = index / (dim / 2) % heads, token = index / (dim / 2) / heads;
    int at = (token * heads + head) * dim + i;
    float angle = token % length * pow(10000.0, -2.0 * i / dim);
    float c = cos((double)angle), s = sin((double)angle);
    float a = __half2float(in[at]), b = __half2float(in[at + dim / 2]);
    out[at] = __float2half(a * c - b * s);
    out[at + dim / 2] = __float2half(b * c + a * s);
}

__global__ void k130e(__half *out, const __half *in, int length, int heads, int dim, int pairs)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= pairs)
        return;
    int i = index % (dim / 2), head = index / (dim / 2) % heads, token = index / (dim / 2) / heads;
    int at = (token * heads + head) * dim + i;
    float angle = token % length * powf(10000.0f, -2.0f * i / dim);
    float c = cosf(angle), s = sinf(angle);
    float a = __half2float(in[at]), b = __half2float(in[at + dim / 2]);
    out[at] = __float2half(a * c - b * s);
    out[at + dim / 2] = __float2half(b * c + a * s);
}

__global__ void k130f(__half *out, const __half *in, const float *cosines, const float *sines, int length, int heads,
                      int dim, int pairs)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= pairs)
        return;
    int i = index % (dim / 2), head = index / (dim / 2) % heads, token = index / (dim / 2) / heads;
    int at = (token * heads + head) * dim + i, entry = token % length * (dim / 2) + i;
    float c = cosines[entry], s = sines[entry];
    float a = __half2float(in[at]), b = __half2float(in[at + dim / 2]);
    out[at] = __float2half(a * c - b * s);
    out[at + dim / 2] = __float2half(b * c + a * s);
}

struct Eight {
    float v[8];
};

__device__ Eight eight_floats(const float *from)
{
    float4 a = reinterpret_cast<const float4 *>(from)[0], b = reinterpret_cast<const float4 *>(from)[1];
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

union Pack {
    uint4 all;
    __half2 pair[4];
};

__device__ void rotate(__half *out, uint4 low, uint4 high, const Eight &c, const Eight &s)
{
    Pack a, b, p, q;
    a.all = low;
    b.all = high;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 x = __half22float2(a.pair[k]), y = __half22float2(b.pair[k]);
        p.pair[k] = __floats2half2_rn(x.x * c.v[2 * k] - y.x * s.v[2 * k], x.y * c.v[2 * k + 1] - y.y * s.v[2 * k + 1]);
        q.pair[k] = __floats2half2_rn(y.x * c.v[2 * k] + x.x * s.v[2 * k], y.y * c.v[2 * k + 1] + x.y * s.v[2 * k + 1]);
    }
    *reinterpret_cast<uint4 *>(out) = p.all;
    *reinterpret_cast<uint4 *>(out + HALF) = q.all;
}

// A block of 8x32 threads takes four tokens; a thread has eight pairs of each of four heads.
__global__ void __launch_bounds__(256)
    k130g(__half *__restrict__ out, const __half *__restrict__ in, const float *__restrict__ cosines,
          const float *__restrict__ sines)
{
    const int i = threadIdx.x * 8, token = blockIdx.x * 4 + threadIdx.y / 8, first = threadIdx.y % 8;
    const int entry = token % LENGTH * HALF + i;
    uint4 low[4], high[4];
#pragma unroll
    for (int h = 0; h < 4; h++) {
        const __half *from = in + (token * HEADS + first + h * 8) * DIM + i;
        low[h] = *reinterpret_cast<const uint4 *>(from);
        high[h] = *reinterpret_cast<const uint4 *>(from + HALF);
    }
    const Eight c = eight_floats(cosines + entry), s = eight_floats(sines + entry);
#pragma unroll
    for (int h = 0; h < 4; h++)
        rotate(out + (token * HEADS + first + h * 8) * DIM + i, low[h], high[h], c, s);
}

__global__ void __launch_bounds__(256)
    k130h(__half *__restrict__ out, const __half *__restrict__ in, const float *__restrict__ cosines,
          const float *__restrict__ sines)
{
    __shared__ __align__(16) float cos_part[4 * HALF], sin_part[4 * HALF];
    const int i = threadIdx.x * 8, token = blockIdx.x * 4 + threadIdx.y / 8, first = threadIdx.y % 8;
    const int tid = threadIdx.y * 8 + threadIdx.x, start = blockIdx.x * 4 % LENGTH * HALF;
    cos_part[tid] = cosines[start + tid];
    sin_part[tid] = sines[start + tid];
    uint4 low[4], high[4];
#pragma unroll
    for (int h = 0; h < 4; h++) {
        const __half *from = in + (token * HEADS + first + h * 8) * DIM + i;
        low[h] = *reinterpret_cast<const uint4 *>(from);
        high[h] = *reinterpret_cast<const uint4 *>(from + HALF);
    }
    __syncthreads();
    const int entry = threadIdx.y / 8 * HALF + i;
    const Eight c = eight_floats(cos_part + entry), s = eight_floats(sin_part + entry);
#pragma unroll
    for (int h = 0; h < 4; h++)
        rotate(out + (token * HEADS + first + h * 8) * DIM + i, low[h], high[h], c, s);
}

// Every step-th of the rows of length numbers.
template <class T> void every(T *room, const T *data, int rows, int length, int step)
{
    const size_t bytes = length * sizeof(T);
    MUST(cudaMemcpy2D(room, bytes, data, step * bytes, bytes, (rows - 1) / step + 1, cudaMemcpyDeviceToDevice));
}

int main()
{
    __half *w = input<__half>((size_t)OUTPUTS * INPUTS, 1301, -1.0, 1.0), *x = input<__half>(INPUTS, 1302, -1.0, 1.0);
    float *y = output<float>(OUTPUTS);
    const int step = 13, rows = (OUTPUTS - 1) / step + 1;
    __half *some_w = output<__half>((size_t)rows * INPUTS);
    float *some_y = output<float>(rows);
    every(some_w, w, OUTPUTS, INPUTS, step);
    std::vector<__half> hw = on_host(some_w, (size_t)rows * INPUTS), hx = on_host(x, INPUTS);
    std::vector<float> vector(INPUTS), want(rows);
    for (int j = 0; j < INPUTS; j++)
        vector[j] = __half2float(hx[j]);
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int j = 0; j < INPUTS; j++)
            sum += double(__half2float(hw[(size_t)r * INPUTS + j])) * vector[j];
        want[r] = float(sum);
    }
    auto product = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, OUTPUTS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        every(some_y, y, OUTPUTS, 1, step);
        check(name, some_y, want, 5e-4);
    };
    const uint4 *w8 = reinterpret_cast<const uint4 *>(w), *x8 = reinterpret_cast<const uint4 *>(x);
    product("k130a", [&] { k130a<<<OUTPUTS / 64, 64>>>(y, w, x, OUTPUTS, INPUTS); });
    product("k130b", [&] { k130b<<<OUTPUTS / 8, 256>>>(y, w, x, OUTPUTS, INPUTS); });
    product("k130c", [&] { k130c<<<OUTPUTS / 8, 256>>>(y, w8, x8); });

    const int width = HEADS * DIM, pairs = TOKENS * HEADS * HALF, skip = 61, taken = (TOKENS - 1) / skip + 1;
    __half *in = input<__half>((size_t)TOKENS * width, 1303, -1.0, 1.0), *out = output<__half>((size_t)TOKENS * width);
    __half *picked = output<__half>((size_t)taken * width);
    std::vector<float> hc(LENGTH * HALF), hs(LENGTH * HALF);
    for (int p = 0; p < LENGTH; p++)
        for (int i = 0; i < HALF; i++) {
            double angle = p * std::pow(10000.0, -2.0 * i / DIM);
            hc[p * HALF + i] = float(std::cos(angle));
            hs[p * HALF + i] = float(std::sin(angle));
        }
    float *cosines = on_device(hc), *sines = on_device(hs);
    every(picked, in, TOKENS, width, skip);
    std::vector<__half> hin = on_host(picked, (size_t)taken * width), rotated(hin.size());
    for (int t = 0; t < taken; t++)
        for (int head = 0; head < HEADS; head++)
            for (int i = 0; i < HALF; i++) {
                const int at = t * width + head * DIM + i, entry = t * skip % LENGTH * HALF + i;
                float a = __half2float(hin[at]), b = __half2float(hin[at + HALF]);
                rotated[at] = __float2half(a * hc[entry] - b * hs[entry]);
                rotated[at + HALF] = __float2half(b * hc[entry] + a * hs[entry]);
            }
    auto embed = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, (size_t)TOKENS * width * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        every(picked, out, TOKENS, width, skip);
        check(name, picked, rotated, 3e-3);
    };
    const dim3 block(8, 32);
    embed("k130d", [&] { k130d<<<pairs / 256, 256>>>(out, in, LENGTH, HEADS, DIM, pairs); });
    embed("k130e", [&] { k130e<<<pairs / 256, 256>>>(out, in, LENGTH, HEADS, DIM, pairs); });
    embed("k130f", [&] { k130f<<<pairs / 256, 256>>>(out, in, cosines, sines, LENGTH, HEADS, DIM, pairs); });
    embed("k130g", [&] { k130g<<<TOKENS / 4, block>>>(out, in, cosines, sines); });
    embed("k130h", [&] { k130h<<<TOKENS / 4, block>>>(out, in, cosines, sines); });
    return 0;
}
