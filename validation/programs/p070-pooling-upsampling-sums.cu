// Gradient of max-pooling (NCHW), doubling an image by nearest neighbours, and cumulative sums along rows.
#include "../harness.h"

#include <functional>

__global__ void k70a(int total, const float *__restrict__ top, const long long *__restrict__ mask, int channels,
                     int height, int width, int pooled_h, int pooled_w, int kernel_h, int kernel_w, int stride_h,
                     int stride_w, int pad_h, int pad_w, float *__restrict__ bottom)
{
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < total; index += blockDim.x * gridDim.x) {
        const int w = index % width;
        const int h = (index / width) % height;
        const int c = (index / width / height) % channels;
        const int n = index / width / height / channels;
        const int h_begin = h + pad_h < kernel_h ? 0 : (h + pad_h - kernel_h) / stride_h + 1;
        const int h_end = min((h + pad_h) / stride_h + 1, pooled_h);
        const int w_begin = w + pad_w < kernel_w ? 0 : (w + pad_w - kernel_w) / stride_w + 1;
        const int w_end = min((w + pad_w) / stride_w + 1, pooled_w);
        float sum = 0.0f;
        const int offset = (n * channels + c) * pooled_h * pooled_w;
        for (int ph = h_begin; ph < h_end; ph++)
            for (int pw = w_begin; pw < w_end; pw++)
                if (mask[offset + ph * pooled_w + pw] == h * width + w)
                    sum += top[offset + ph * pooled_w + pw];
        bottom[index] = sum;
    }
}

__global__ void __launch_bounds__(256, 8)
    k70b(const float *__restrict__ top, const long long *__restrict__ mask, int batch, int channels, int height,
         int width, int pooled_h, int pooled_w, int kernel_h, int kernel_w, int stride_h, int stride_w, int pad_h,
         int pad_w, float *__restrict__ bottom)
{
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < height * width; index += blockDim.x * gridDim.x) {
        const int h = index / width;
        const int w = index - h * width;
        const int h_begin = h + pad_h < kernel_h ? 0 : (h + pad_h - kernel_h) / stride_h + 1;
        const int h_end = min((h + pad_h) / stride_h + 1, pooled_h);
        const int w_begin = w + pad_w < kernel_w ? 0 : (w + pad_w - kernel_w) / stride_w + 1;
        const int w_end = min((w + pad_w) / stride_w + 1, pooled_w);
        for (int n = blockIdx.y; n < batch; n += gridDim.y)
            for (int c = blockIdx.z; c < channels; c += gridDim.z) {
                float sum = 0.0f;
                const int offset = (n * channels + c) * pooled_h * pooled_w;
                for (int ph = h_begin; ph < h_end; ph++)
                    for (int pw = w_begin; pw < w_end; pw++)
                        if (mask[offset + ph * pooled_w + pw] == h * width + w)
                            sum += top[offset + ph * pooled_w + pw];
                bottom[(n * channels + c) * height * width + index] = sum;
            }
    }
}

// bottom is zero at the start.
__global__ void k70c(int total, const float *__restrict__ top, const long long *__restrict__ mask, int plane,
                     int pooled_plane, float *__restrict__ bottom)
{
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < total; index += blockDim.x * gridDim.x) {
        const int nc = index / pooled_plane;
        const long long at = mask[index];
        if (at >= 0)
            atomicAdd(bottom + (size_t)nc * plane + at, top[index]);
    }
}

__device__ __forceinline__ long long nearest(long long i, float scale, long long size)
{
    long long at = static_cast<long long>(floorf(i * scale));
    return at < size - 1 ? at : size - 1;
}

__global__ void k70d(long long total, const float *__restrict__ in, long long channels, long long in_h,
                     long long in_w, long long out_h, long long out_w, float scale_h, float scale_w,
                     float *__restrict__ out)
{
    for (long long index = blockIdx.x * (long long)blockDim.x + threadIdx.x; index < total;
         index += (long long)blockDim.x * gridDim.x) {
        const long long n = index / (channels * out_h * out_w);
        long long rest = index - n * (channels * out_h * out_w);
        const long long c = rest / (out_h * out_w);
        rest -= c * (out_h * out_w);
        const long long h = rest / out_w;
        const long long w = rest - h * out_w;
        const long long y = nearest(h, scale_h, in_h);
        const long long x = nearest(w, scale_w, in_w);
        out[index] = in[((n * channels + c) * in_h + y) * in_w + x];
    }
}

__global__ void k70e(int total, const float *__restrict__ in, int in_h, int in_w, float2 *__restrict__ out)
{
    const int in_plane = in_h * in_w;
    for (int index = blockIdx.x * blockDim.x + threadIdx.x; index < total; index += blockDim.x * gridDim.x) {
        const float v = in[index];
        const int nc = index / in_plane;
        const int at = index - nc * in_plane;
        const int h = at / in_w;
        const int w = at - h * in_w;
        const float2 two = make_float2(v, v);
        const int to = nc * 2 * in_plane + h * 2 * in_w + w;
        out[to] = two;
        out[to + in_w] = two;
    }
}

__device__ __forceinline__ float warp_prefix(float v)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        float other = __shfl_up_sync(0xffffffffu, v, offset);
        if (lane >= offset)
            v += other;
    }
    return v;
}

const int SCAN_THREADS = 256, SCAN_WARPS = SCAN_THREADS / 32;

__global__ void k70f(const float *__restrict__ in, float *__restrict__ out, int columns)
{
    __shared__ float values[SCAN_THREADS], warp_sums[SCAN_WARPS], carry, chunk_total;
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const float *src = in + (size_t)blockIdx.x * columns;
    float *dst = out + (size_t)blockIdx.x * columns;
    if (tid == 0)
        carry = 0.0f;
    __syncthreads();
    for (int begin = 0; begin < columns; begin += SCAN_THREADS) {
        const int i = begin + tid;
        float v = i < columns ? src[i] : 0.0f;
        v = warp_prefix(v);
        values[tid] = v;
        if (lane == 31)
            warp_sums[warp] = v;
        __syncthreads();
        if (warp == 0) {
            float w = tid < SCAN_WARPS ? warp_sums[tid] : 0.0f;
            float s = warp_prefix(w);
            if (tid < SCAN_WARPS)
                warp_sums[tid] = s - w;
            if (tid == SCAN_WARPS - 1)
                chunk_total = s;
        }
        __syncthreads();
        if (i < columns)
            dst[i] = values[tid] + warp_sums[warp] + carry;
        __syncthreads();
        if (tid == 0)
            carry += chunk_total;
        __syncthreads();
    }
}

__global__ void k70g(const float *__restrict__ in, float *__restrict__ out, int columns)
{
    const int EACH = 4;
    __shared__ float values[SCAN_THREADS], warp_sums[SCAN_WARPS], carry, chunk_total;
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const float *src = in + (size_t)blockIdx.x * columns;
    float *dst = out + (size_t)blockIdx.x * columns;
    if (tid == 0)
        carry = 0.0f;
    __syncthreads();
    for (int begin = 0; begin < columns; begin += EACH * SCAN_THREADS) {
        const int i = begin + EACH * tid;
        float own[EACH];
#pragma unroll
        for (int j = 0; j < EACH; j++)
            own[j] = i + j < columns ? src[i + j] : 0.0f;
#pragma unroll
        for (int j = 1; j < EACH; j++)
            own[j] += own[j - 1];
        float v = warp_prefix(own[EACH - 1]);
        values[tid] = v;
        if (lane == 31)
            warp_sums[warp] = v;
        __syncthreads();
        if (warp == 0) {
            float w = tid < SCAN_WARPS ? warp_sums[tid] : 0.0f;
            float s = warp_prefix(w);
            if (tid < SCAN_WARPS)
                warp_sums[tid] = s - w;
            if (tid == SCAN_WARPS - 1)
                chunk_total = s;
        }
        __syncthreads();
        const float before = values[tid] - own[EACH - 1] + warp_sums[warp] + carry;
#pragma unroll
        for (int j = 0; j < EACH; j++)
            if (i + j < columns)
                dst[i + j] = own[j] + before;
        __syncthreads();
        if (tid == 0)
            carry += chunk_total;
        __syncthreads();
    }
}

// columns is a multiple of 4.
__global__ void k70h(const float4 *__restrict__ in, float4 *__restrict__ out, int columns)
{
    __shared__ float values[SCAN_THREADS], warp_sums[SCAN_WARPS], carry, chunk_total;
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const float4 *src = in + (size_t)blockIdx.x * (columns / 4);
    float4 *dst = out + (size_t)blockIdx.x * (columns / 4);
    if (tid == 0)
        carry = 0.0f;
    __syncthreads();
    for (int begin = 0; begin < columns / 4; begin += SCAN_THREADS) {
        const int i = begin + tid;
        float4 own = i < columns / 4 ? src[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        own.y += own.x;
        own.z += own.y;
        own.w += own.z;
        float v = warp_prefix(own.w);
        values[tid] = v;
        if (lane == 31)
            warp_sums[warp] = v;
        __syncthreads();
        if (warp == 0) {
            float w = tid < SCAN_WARPS ? warp_sums[tid] : 0.0f;
            float s = warp_prefix(w);
            if (tid < SCAN_WARPS)
                warp_sums[tid] = s - w;
            if (tid == SCAN_WARPS - 1)
                chunk_total = s;
        }
        __syncthreads();
        const float before = values[tid] - own.w + warp_sums[warp] + carry;
        if (i < columns / 4)
            dst[i] = make_float4(own.x + before, own.y + before, own.z + before, own.w + before);
        __syncthreads();
        if (tid == 0)
            carry += chunk_total;
        __syncthreads();
    }
}

__global__ void pool_forward(int total, const float *in, int height, int width, int pooled_h, int pooled_w,
                             long long *mask)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= total)
        return;
    int pw = index % pooled_w, ph = index / pooled_w % pooled_h, nc = index / pooled_w / pooled_h;
    float best = -1e30f;
    int where = 0;
    for (int h = max(2 * ph - 1, 0); h < min(2 * ph + 2, height); h++)
        for (int w = max(2 * pw - 1, 0); w < min(2 * pw + 2, width); w++) {
            float v = in[((size_t)nc * height + h) * width + w];
            if (v > best) {
                best = v;
                where = h * width + w;
            }
        }
    mask[index] = where;
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
    float tolerance;
    float *first, *out;
    std::vector<size_t> where;
    std::vector<float> want;
    bool begun = false;

    Checker(size_t size, float t) : n(size), tolerance(t), first(output<float>(size)), out(output<float>(size)) {}
    ~Checker()
    {
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }
    void operator()(const char *name, int fill, std::function<void(float *)> launch)
    {
        float *to = begun ? out : first;
        MUST(cudaMemset(to, fill, n * sizeof(float)));
        launch(to);
        MUST(cudaGetLastError());
        if (!begun) {
            size_t *where_d = on_device(where);
            float *picked = output<float>(where.size());
            pick<<<(where.size() + 255) / 256, 256>>>(first, where_d, picked, where.size());
            check(name, picked, want, tolerance);
        } else {
            unsigned *count = zeroed<unsigned>(1);
            count_different<<<1056, 256>>>(out, first, n, tolerance, count);
            check(name, count, std::vector<unsigned>(1, 0u), 0.0);
        }
        begun = true;
    }
};

int main()
{
    {
        const int batch = 32, channels = 64, height = 112, width = 112, ph = 56, pw = 56;
        const int plane = height * width, pooled = ph * pw;
        const int n = batch * channels * plane, n_top = batch * channels * pooled;
        float *in = input<float>(n, 701, -1.0, 1.0);
        float *top = input<float>(n_top, 702, 0.5, 1.5);
        long long *mask = output<long long>(n_top);
        pool_forward<<<(n_top + 255) / 256, 256>>>(n_top, in, height, width, ph, pw, mask);
        MUST(cudaDeviceSynchronize());
        MUST(cudaFree(in));

        Checker run(n, 1e-5f);
        for (int nc = 0; nc < batch * channels; nc += 23) {
            std::vector<long long> m = on_host(mask + (size_t)nc * pooled, pooled);
            std::vector<float> t = on_host(top + (size_t)nc * pooled, pooled);
            std::vector<float> sum(plane, 0.0f);
            for (int i = 0; i < pooled; i++)
                sum[m[i]] += t[i];
            for (int i = 0; i < plane; i++) {
                run.where.push_back((size_t)nc * plane + i);
                run.want.push_back(sum[i]);
            }
        }
        run("k70a", 0xA5, [&](float *out) {
            k70a<<<(n + 511) / 512, 512>>>(n, top, mask, channels, height, width, ph, pw, 3, 3, 2, 2, 1, 1, out);
        });
        run("k70b", 0xA5, [&](float *out) {
            k70b<<<dim3((plane + 255) / 256, batch, channels), 256>>>(top, mask, batch, channels, height, width, ph,
                                                                      pw, 3, 3, 2, 2, 1, 1, out);
        });
        run("k70c", 0, [&](float *out) { k70c<<<8192, 256>>>(n_top, top, mask, plane, pooled, out); });
        MUST(cudaFree(top));
        MUST(cudaFree(mask));
    }

    {
        const int batch = 8, channels = 256, height = 64, width = 64;
        const int n_in = batch * channels * height * width;
        const size_t n = 4 * (size_t)n_in;
        float *in = input<float>(n_in, 703, 0.5, 1.5);
        Checker run(n, 0.0f);
        {
            std::vector<float> h = on_host(in, n_in);
            auto add = [&](size_t at) {
                size_t x = at % (2 * width), y = at / (2 * width) % (2 * height), nc = at / (4 * width * height);
                run.where.push_back(at);
                run.want.push_back(h[(nc * height + y / 2) * width + x / 2]);
            };
            for (size_t at = 0; at < n; at += 131)
                add(at);
            for (size_t at = n - 1000; at < n; at++)
                add(at);
        }
        run("k70d", 0xA5, [&](float *out) {
            k70d<<<8192, 512>>>(n, in, channels, height, width, 2 * height, 2 * width, 0.5f, 0.5f, out);
        });
        run("k70e", 0xA5, [&](float *out) {
            k70e<<<8192, 512>>>(n_in, in, height, width, reinterpret_cast<float2 *>(out));
        });
        MUST(cudaFree(in));
    }

    const int rows = 1024, columns = 32000;
    float *in = input<float>((size_t)rows * columns, 704, 0.0, 1.0);
    Checker run((size_t)rows * columns, 1e-4f);
    for (int r : {0, 1, 200, 513, 700, rows - 1}) {
        std::vector<float> h = on_host(in + (size_t)r * columns, columns);
        double sum = 0.0;
        for (int i = 0; i < columns; i++) {
            sum += h[i];
            run.where.push_back((size_t)r * columns + i);
            run.want.push_back(float(sum));
        }
    }
    run("k70f", 0xA5, [&](float *out) { k70f<<<rows, SCAN_THREADS>>>(in, out, columns); });
    run("k70g", 0xA5, [&](float *out) { k70g<<<rows, SCAN_THREADS>>>(in, out, columns); });
    run("k70h", 0xA5, [&](float *out) {
        k70h<<<rows, SCAN_THREADS>>>(reinterpret_cast<const float4 *>(in), reinterpret_cast<float4 *>(out), columns);
    });
    return 0;
}
