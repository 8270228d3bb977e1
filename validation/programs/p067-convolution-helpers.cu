// Depthwise 5x5 convolution, im2col of a 3x3 convolution, and mean and inverse deviation of each channel (NCHW).
#include "../harness.h"

#include <functional>

template <int SIZE>
__device__ __forceinline__ void depthwise(const float *__restrict__ in, const float *__restrict__ weight,
                                          const float *__restrict__ bias, float *__restrict__ out, int total,
                                          int channels, int in_h, int in_w, int out_h, int out_w, int k_h, int k_w,
                                          int stride, int pad, int dilation)
{
    const int kw_limit = SIZE != 0 ? SIZE : k_w;
    const int kh_limit = SIZE != 0 ? SIZE : k_h;
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < total; index += gridDim.x * blockDim.x) {
        int rest = index / out_w;
        const int w = index - rest * out_w;
        int rest2 = rest / out_h;
        const int h = rest - rest2 * out_h;
        const int n = rest2 / channels;
        const int c = rest2 - n * channels;

        float value = bias[c];
        const int plane = (n * channels + c) * in_h * in_w;
        int weight_at = c * k_h * k_w;
#pragma unroll
        for (int kh = 0; kh < kh_limit; kh++) {
#pragma unroll
            for (int kw = 0; kw < kw_limit; kw++) {
                const int y = -pad + h * stride + kh * dilation;
                const int x = -pad + w * stride + kw * dilation;
                if (y >= 0 && y < in_h && x >= 0 && x < in_w)
                    value += weight[weight_at] * in[plane + y * in_w + x];
                weight_at++;
            }
        }
        out[index] = value;
    }
}

__global__ void __launch_bounds__(1024)
    k67a(const float *__restrict__ in, const float *__restrict__ weight, const float *__restrict__ bias,
         float *__restrict__ out, int total, int channels, int in_h, int in_w, int out_h, int out_w, int k_h, int k_w,
         int stride, int pad, int dilation)
{
    depthwise<0>(in, weight, bias, out, total, channels, in_h, in_w, out_h, out_w, k_h, k_w, stride, pad, dilation);
}

__global__ void __launch_bounds__(1024)
    k67b(const float *__restrict__ in, const float *__restrict__ weight, const float *__restrict__ bias,
         float *__restrict__ out, int total, int channels, int in_h, int in_w, int out_h, int out_w, int k_h, int k_w,
         int stride, int pad, int dilation)
{
    depthwise<5>(in, weight, bias, out, total, channels, in_h, in_w, out_h, out_w, k_h, k_w, stride, pad, dilation);
}

// Stride 1, padding 2: the output is as large as the input.
const int STRIP = 8;

__global__ void k67c(const float *__restrict__ in, const float *__restrict__ weight, const float *__restrict__ bias,
                     float *__restrict__ out, int channels, int height, int width)
{
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    const int h0 = (blockIdx.y * blockDim.y + threadIdx.y) * STRIP;
    const int plane = blockIdx.z;
    if (w >= width || h0 >= height)
        return;
    const int c = plane % channels;
    const float *src = in + (size_t)plane * height * width;

    float k[25];
#pragma unroll
    for (int i = 0; i < 25; i++)
        k[i] = weight[c * 25 + i];
    float sum[STRIP];
    const float b = bias[c];
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        sum[i] = b;

#pragma unroll
    for (int r = 0; r < STRIP + 4; r++) {
        const int y = h0 + r - 2;
        float v[5];
#pragma unroll
        for (int j = 0; j < 5; j++) {
            const int x = w + j - 2;
            v[j] = y >= 0 && y < height && x >= 0 && x < width ? src[y * width + x] : 0.0f;
        }
#pragma unroll
        for (int kh = 0; kh < 5; kh++) {
            const int i = r - kh;
            if (i >= 0 && i < STRIP) {
#pragma unroll
                for (int j = 0; j < 5; j++)
                    sum[i] += k[kh * 5 + j] * v[j];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        if (h0 + i < height)
            out[(size_t)plane * height * width + (h0 + i) * width + w] = sum[i];
}

// [n, c, h, w] to [n, oh, ow, c * kh * kw].
__global__ void k67d(const float *__restrict__ x, float *__restrict__ dst, int c_in, int in_h, int in_w, int out_h,
                     int out_w, int k_w, int k_h, int elements, int s0, int s1, int p0, int p1, int d0, int d1)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= elements)
        return;
    const int per_kx = out_w * k_h;
    const int kx = i / per_kx;
    const int ky = (i - kx * per_kx) / out_w;
    const int ox = i % out_w;

    const int oy = blockIdx.y;
    const int n = blockIdx.z / c_in;
    const int c = blockIdx.z % c_in;

    const long long ix = ox * s0 + kx * d0 - p0;
    const long long iy = oy * s1 + ky * d1 - p1;
    const long long to =
        ((long long)(n * out_h + oy) * out_w + ox) * (c_in * k_h * k_w) + (c * (k_w * k_h) + ky * k_w + kx);
    if (iy < 0 || iy >= in_h || ix < 0 || ix >= in_w)
        dst[to] = 0.0f;
    else
        dst[to] = x[((long long)n * c_in + c) * in_h * in_w + iy * in_w + ix];
}

__global__ void k67e(const float *__restrict__ x, float *__restrict__ dst, long long c_in, long long in_h,
                     long long in_w, long long out_h, long long out_w, long long k_w, long long k_h, long long n_oh,
                     int s0, int s1, int p0, int p1, int d0, int d1)
{
    const long long i = threadIdx.x + (long long)blockIdx.x * blockDim.x;
    const long long khw = k_h * k_w, chw = c_in * khw;
    if (i >= chw)
        return;
    const long long c = i / khw;
    const long long rest = i - c * khw;
    const long long ky = rest / k_w;
    const long long kx = rest - ky * k_w;

    const long long ox = blockIdx.y;
    for (long long z = blockIdx.z; z < n_oh; z += gridDim.z) {
        const long long n = z / out_h;
        const long long oy = z - n * out_h;
        const long long ix = ox * s0 + kx * d0 - p0;
        const long long iy = oy * s1 + ky * d1 - p1;
        const long long to = ((n * out_h + oy) * out_w + ox) * chw + i;
        if (iy < 0 || iy >= in_h || ix < 0 || ix >= in_w)
            dst[to] = 0.0f;
        else
            dst[to] = x[((n * c_in + c) * in_h + iy) * in_w + ix];
    }
}

__global__ void k67f(const float *__restrict__ x, float *__restrict__ dst, int c_in, int in_h, int in_w, int out_h,
                     int out_w, int k_w, int k_h, int s0, int s1, int p0, int p1, int d0, int d1)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    const int khw = k_h * k_w, chw = c_in * khw;
    if (i >= chw)
        return;
    const int c = i / khw;
    const int rest = i - c * khw;
    const int ky = rest / k_w;
    const int kx = rest - ky * k_w;

    const int oy = blockIdx.y;
    const int n = blockIdx.z;
    const int iy = oy * s1 + ky * d1 - p1;
    const bool row_inside = iy >= 0 && iy < in_h;
    const float *src = x + (size_t)(n * c_in + c) * in_h * in_w + iy * in_w;
    float *to = dst + (size_t)(n * out_h + oy) * out_w * chw + i;
    int ix = kx * d0 - p0;
#pragma unroll 4
    for (int ox = 0; ox < out_w; ox++) {
        *to = row_inside && ix >= 0 && ix < in_w ? src[ix] : 0.0f;
        to += chw;
        ix += s0;
    }
}

const int STAT_THREADS = 512;

__device__ __forceinline__ float2 block_sum(float2 v)
{
    __shared__ float2 part[STAT_THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        v.x += __shfl_xor_sync(0xffffffffu, v.x, offset);
        v.y += __shfl_xor_sync(0xffffffffu, v.y, offset);
    }
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = lane < STAT_THREADS / 32 ? part[lane] : make_float2(0.0f, 0.0f);
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        v.x += __shfl_xor_sync(0xffffffffu, v.x, offset);
        v.y += __shfl_xor_sync(0xffffffffu, v.y, offset);
    }
    return v;
}

__global__ void __launch_bounds__(STAT_THREADS)
    k67g(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ inv_std, int batch, int channels,
         int plane, float epsilon)
{
    const int c = blockIdx.x;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int n = 0; n < batch; n++) {
        const float *src = x + (size_t)(n * channels + c) * plane;
        for (int i = threadIdx.x; i < plane; i += blockDim.x) {
            float v = src[i];
            sum.x += v;
            sum.y += v * v;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        float m = sum.x / ((float)batch * plane);
        float var = sum.y / ((float)batch * plane) - m * m;
        mean[c] = m;
        inv_std[c] = rsqrtf(var + epsilon);
    }
}

__global__ void __launch_bounds__(STAT_THREADS)
    k67h(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ inv_std, float2 *staging,
         unsigned *done, int batch, int channels, int plane, float epsilon)
{
    __shared__ bool last;
    const int c = blockIdx.x;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int n = blockIdx.y; n < batch; n += gridDim.y) {
        const float *src = x + (size_t)(n * channels + c) * plane;
        for (int i = threadIdx.x; i < plane; i += blockDim.x) {
            float v = src[i];
            sum.x += v;
            sum.y += v * v;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        staging[c * gridDim.y + blockIdx.y] = sum;
        __threadfence();
        last = atomicAdd(&done[c], 1u) == gridDim.y - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    if (threadIdx.x == 0) {
        float2 all = make_float2(0.0f, 0.0f);
        for (int i = 0; i < (int)gridDim.y; i++) {
            volatile float2 *p = staging + c * gridDim.y + i;
            all.x += p->x;
            all.y += p->y;
        }
        float m = all.x / ((float)batch * plane);
        float var = all.y / ((float)batch * plane) - m * m;
        mean[c] = m;
        inv_std[c] = rsqrtf(var + epsilon);
    }
}

__global__ void pick(const float *from, const size_t *where, float *to, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[where[i]];
}

__global__ void count_different(const float *a, const float *b, size_t n, float tolerance, unsigned *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (!(fabsf(a[i] - b[i]) <= tolerance * fmaxf(1.0f, fabsf(b[i]))))
            atomicAdd(count, 1u);
}

// The first launch is checked against the host at some places, the others against the first one.
struct Checker {
    size_t n;
    float *first, *out;
    std::vector<size_t> where;
    std::vector<float> want;
    bool begun = false;

    explicit Checker(size_t size) : n(size), first(output<float>(size)), out(output<float>(size)) {}
    ~Checker()
    {
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }
    void operator()(const char *name, std::function<void(float *)> launch)
    {
        float *to = begun ? out : first;
        MUST(cudaMemset(to, 0xA5, n * sizeof(float)));
        launch(to);
        MUST(cudaGetLastError());
        if (!begun) {
            size_t *where_d = on_device(where);
            float *picked = output<float>(where.size());
            pick<<<(where.size() + 255) / 256, 256>>>(first, where_d, picked, where.size());
            check(name, picked, want, 1e-5);
        } else {
            unsigned *count = zeroed<unsigned>(1);
            count_different<<<1056, 256>>>(out, first, n, 1e-5f, count);
            check(name, count, std::vector<unsigned>(1, 0u), 0.0);
        }
        begun = true;
    }
};

int main()
{
    {
        const int batch = 4, channels = 64, height = 512, width = 504;
        const size_t n = (size_t)batch * channels * height * width;
        float *in = input<float>(n, 671, -1.0, 1.0);
        float *weight = input<float>(channels * 25, 672, -0.5, 0.5);
        float *bias = input<float>(channels, 673, -0.5, 0.5);
        Checker run(n);
        {
            std::vector<float> x = on_host(in, n), w = on_host(weight, channels * 25), b = on_host(bias, channels);
            auto add = [&](size_t at) {
                int px = at % width, py = at / width % height;
                size_t plane = at / width / height;
                int c = plane % channels;
                double sum = b[c];
                for (int ky = 0; ky < 5; ky++)
                    for (int kx = 0; kx < 5; kx++) {
                        int y = py + ky - 2, xx = px + kx - 2;
                        if (y >= 0 && y < height && xx >= 0 && xx < width)
                            sum += double(w[c * 25 + ky * 5 + kx]) * x[(plane * height + y) * width + xx];
                    }
                run.where.push_back(at);
                run.want.push_back(float(sum));
            };
            for (size_t at = 0; at < n; at += 251)
                add(at);
            for (size_t at = 0; at < (size_t)width * 3; at++)
                add(at);
            for (size_t at = n - width * 3; at < n; at++)
                add(at);
        }
        const int total = int(n), grid = (total + 1023) / 1024;
        run("k67a", [&](float *out) {
            k67a<<<grid, 1024>>>(in, weight, bias, out, total, channels, height, width, height, width, 5, 5, 1, 2, 1);
        });
        run("k67b", [&](float *out) {
            k67b<<<grid, 1024>>>(in, weight, bias, out, total, channels, height, width, height, width, 5, 5, 1, 2, 1);
        });
        dim3 threads(64, 4), blocks((width + 63) / 64, (height + 4 * STRIP - 1) / (4 * STRIP), batch * channels);
        run("k67c", [&](float *out) { k67c<<<blocks, threads>>>(in, weight, bias, out, channels, height, width); });
        MUST(cudaFree(in));
    }

    {
        const int batch = 8, channels = 256, height = 64, width = 64, k = 3, chw = channels * k * k;
        const size_t n_in = (size_t)batch * channels * height * width, n = (size_t)batch * height * width * chw;
        float *in = input<float>(n_in, 674, 0.5, 1.5);
        Checker run(n);
        {
            std::vector<float> x = on_host(in, n_in);
            auto add = [&](size_t at) {
                int i = at % chw, ox = at / chw % width, oy = at / chw / width % height;
                int b = at / chw / width / height;
                int c = i / 9, iy = oy + i % 9 / 3 - 1, ix = ox + i % 3 - 1;
                bool inside = iy >= 0 && iy < height && ix >= 0 && ix < width;
                run.where.push_back(at);
                run.want.push_back(inside ? x[(((size_t)b * channels + c) * height + iy) * width + ix] : 0.0f);
            };
            for (size_t at = 0; at < n; at += 307)
                add(at);
            for (size_t at = n - 5 * chw; at < n; at++)
                add(at);
        }
        const int elements = width * k * k;
        run("k67d", [&](float *out) {
            k67d<<<dim3((elements + 255) / 256, height, batch * channels), 256>>>(
                in, out, channels, height, width, height, width, k, k, elements, 1, 1, 1, 1, 1, 1);
        });
        run("k67e", [&](float *out) {
            k67e<<<dim3((chw + 255) / 256, width, batch * height), 256>>>(in, out, channels, height, width, height,
                                                                         width, k, k, batch * height, 1, 1, 1, 1, 1,
                                                                         1);
        });
        run("k67f", [&](float *out) {
            k67f<<<dim3((chw + 255) / 256, height, batch), 256>>>(in, out, channels, height, width, height, width, k,
                                                                  k, 1, 1, 1, 1, 1, 1);
        });
        MUST(cudaFree(in));
    }

    const int batch = 32, channels = 64, plane = 112 * 112, split = 16;
    const size_t n = (size_t)batch * channels * plane;
    float *x = input<float>(n, 675, -1.0, 3.0);
    std::vector<float> want(2 * channels);
    {
        std::vector<float> h = on_host(x, n);
        for (int c = 0; c < channels; c++) {
            double sum = 0.0, square = 0.0;
            for (int b = 0; b < batch; b++)
                for (int i = 0; i < plane; i++) {
                    double v = h[((size_t)b * channels + c) * plane + i];
                    sum += v;
                    square += v * v;
                }
            double m = sum / ((double)batch * plane);
            want[c] = float(m);
            want[channels + c] = float(1.0 / std::sqrt(square / ((double)batch * plane) - m * m + 1e-5));
        }
    }
    float *stats = output<float>(2 * channels);
    k67g<<<channels, STAT_THREADS>>>(x, stats, stats + channels, batch, channels, plane, 1e-5f);
    check("k67g", stats, want, 1e-4);

    stats = output<float>(2 * channels);
    float2 *staging = output<float2>(channels * split);
    unsigned *done = zeroed<unsigned>(channels);
    k67h<<<dim3(channels, split), STAT_THREADS>>>(x, stats, stats + channels, staging, done, batch, channels, plane,
                                                  1e-5f);
    check("k67h", stats, want, 1e-4);
    return 0;
}
