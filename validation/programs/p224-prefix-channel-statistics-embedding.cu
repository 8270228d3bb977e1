// Exclusive prefix sums of segments of 1024 floats, mean and variance of the channels of a batch of images (NCHW),
// and token plus position embedding.
#include "../harness.h"

#include <functional>

const int SEGMENT = 1024;

__global__ void k224a(float *g_odata, const float *g_idata, int n)
{
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int base = blockIdx.x * n;
    int pout = 0, pin = 1;
    temp[thid] = thid > 0 ? g_idata[base + thid - 1] : 0.0f;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (thid >= offset)
            temp[pout * n + thid] = temp[pin * n + thid] + temp[pin * n + thid - offset];
        else
            temp[pout * n + thid] = temp[pin * n + thid];
        __syncthreads();
    }
    g_odata[base + thid] = temp[pout * n + thid];
}

// Up-sweep and down-sweep of a tree, two elements per thread.
__global__ void k224b(float *g_odata, const float *g_idata, int n)
{
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int base = blockIdx.x * n;
    int offset = 1;
    temp[2 * thid] = g_idata[base + 2 * thid];
    temp[2 * thid + 1] = g_idata[base + 2 * thid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0)
        temp[n - 1] = 0.0f;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[base + 2 * thid] = temp[2 * thid];
    g_odata[base + 2 * thid + 1] = temp[2 * thid + 1];
}

#define AT(i) ((i) + ((i) >> 5))

__global__ void k224c(float *g_odata, const float *g_idata, int n)
{
    extern __shared__ float temp[];
    int thid = threadIdx.x;
    int base = blockIdx.x * n;
    int offset = 1;
    int first = thid, second = thid + n / 2;
    temp[AT(first)] = g_idata[base + first];
    temp[AT(second)] = g_idata[base + second];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[AT(bi)] += temp[AT(ai)];
        }
        offset *= 2;
    }
    if (thid == 0)
        temp[AT(n - 1)] = 0.0f;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int ai = AT(offset * (2 * thid + 1) - 1);
            int bi = AT(offset * (2 * thid + 2) - 1);
            float t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    g_odata[base + first] = temp[AT(first)];
    g_odata[base + second] = temp[AT(second)];
}

__device__ inline float inclusive(float v, int lane)
{
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        float left = __shfl_up_sync(0xffffffffu, v, offset);
        if (lane >= offset)
            v += left;
    }
    return v;
}

__global__ void k224d(float *g_odata, const float *g_idata)
{
    __shared__ float ends[32];
    int thid = threadIdx.x, lane = thid % 32, warp = thid / 32;
    int at = blockIdx.x * blockDim.x + thid;
    float own = g_idata[at];
    float v = inclusive(own, lane);
    if (lane == 31)
        ends[warp] = v;
    __syncthreads();
    if (warp == 0) {
        float e = ends[lane];
        ends[lane] = inclusive(e, lane) - e;
    }
    __syncthreads();
    g_odata[at] = ends[warp] + v - own;
}

// One warp per segment, eight times four elements per lane.
__global__ void k224e(float4 *__restrict__ g_odata, const float4 *__restrict__ g_idata)
{
    const int packs = SEGMENT / 128;
    int lane = threadIdx.x % 32;
    int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * (SEGMENT / 4) + lane;
    float4 v[packs];
#pragma unroll
    for (int i = 0; i < packs; i++)
        v[i] = g_idata[at + i * 32];
    float carry = 0.0f;
#pragma unroll
    for (int i = 0; i < packs; i++) {
        float sum = (v[i].x + v[i].y) + (v[i].z + v[i].w);
        float up_to = inclusive(sum, lane);
        float left = __shfl_up_sync(0xffffffffu, up_to, 1);
        float start = carry + (lane > 0 ? left : 0.0f);
        float4 r;
        r.x = start;
        r.y = r.x + v[i].x;
        r.z = r.y + v[i].y;
        r.w = r.z + v[i].z;
        g_odata[at + i * 32] = r;
        carry += __shfl_sync(0xffffffffu, up_to, 31);
    }
}

// Sum over a block of 256 threads; the result is that of thread 0.
__device__ inline float of_block(float v)
{
    __shared__ float part[8];
    __syncthreads();
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    if (threadIdx.x == 0)
        for (int i = 0; i < 8; i++)
            v += part[i];
    return v;
}

__global__ void k224f(float *stats, const float *x, int batch, int channels, int plane)
{
    __shared__ float shared_mean;
    int c = blockIdx.x;
    float sum = 0.0f;
    for (int b = 0; b < batch; b++)
        for (int i = threadIdx.x; i < plane; i += blockDim.x)
            sum += x[(b * channels + c) * plane + i];
    sum = of_block(sum);
    if (threadIdx.x == 0)
        shared_mean = sum / (batch * plane);
    __syncthreads();
    float mean = shared_mean;
    sum = 0.0f;
    for (int b = 0; b < batch; b++)
        for (int i = threadIdx.x; i < plane; i += blockDim.x) {
            float d = x[(b * channels + c) * plane + i] - mean;
            sum += d * d;
        }
    sum = of_block(sum);
    if (threadIdx.x == 0) {
        stats[2 * c] = mean;
        stats[2 * c + 1] = sum / (batch * plane);
    }
}

__global__ void k224g(float *stats, const float *x, int batch, int channels, int plane)
{
    int c = blockIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int b = 0; b < batch; b++)
        for (int i = threadIdx.x; i < plane; i += blockDim.x) {
            float v = x[(b * channels + c) * plane + i];
            sum += v;
            squares += v * v;
        }
    sum = of_block(sum);
    squares = of_block(squares);
    if (threadIdx.x == 0) {
        float mean = sum / (batch * plane);
        stats[2 * c] = mean;
        stats[2 * c + 1] = squares / (batch * plane) - mean * mean;
    }
}

// One block per plane; the shares of mean and mean square are added up in stats.
__global__ void k224h(float *__restrict__ stats, const float4 *__restrict__ x, int batch, int channels, int plane)
{
    int c = blockIdx.x, b = blockIdx.y;
    const float4 *src = x + (b * channels + c) * (plane / 4);
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < plane / 4; i += blockDim.x) {
        float4 v = src[i];
        sum += (v.x + v.y) + (v.z + v.w);
        squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    sum = of_block(sum);
    squares = of_block(squares);
    if (threadIdx.x == 0) {
        atomicAdd(&stats[2 * c], sum / (batch * plane));
        atomicAdd(&stats[2 * c + 1], squares / (batch * plane));
    }
}

const int VOCABULARY = 50304, LENGTH = 1024, DEPTH = 768;

__global__ void k224i(float *out, const int *tokens, const float *wte, const float *wpe, int n, int length, int depth)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        float *dst = out + idx * depth;
        const float *word = wte + tokens[idx] * depth;
        const float *place = wpe + idx % length * depth;
        for (int i = 0; i < depth; i++)
            dst[i] = word[i] + place[i];
    }
}

// One block of DEPTH / 4 threads per four tokens.
__global__ void k224j(float4 *__restrict__ out, const int4 *__restrict__ tokens, const float4 *__restrict__ wte,
                      const float4 *__restrict__ wpe)
{
    const int width = DEPTH / 4;
    int first = blockIdx.x * 4, column = threadIdx.x;
    int4 token = tokens[blockIdx.x];
    float4 a = wte[token.x * width + column], b = wte[token.y * width + column];
    float4 c = wte[token.z * width + column], d = wte[token.w * width + column];
    float4 *dst = out + first * width + column;
    const float4 *place = wpe + first % LENGTH * width + column;
    float4 p = place[0], q = place[width], r = place[2 * width], s = place[3 * width];
    dst[0] = make_float4(a.x + p.x, a.y + p.y, a.z + p.z, a.w + p.w);
    dst[width] = make_float4(b.x + q.x, b.y + q.y, b.z + q.z, b.w + q.w);
    dst[2 * width] = make_float4(c.x + r.x, c.y + r.y, c.z + r.z, c.w + r.w);
    dst[3 * width] = make_float4(d.x + s.x, d.y + s.y, d.z + s.z, d.w + s.w);
}

int main()
{
    const size_t word = sizeof(float);
    {
        const int n = 1 << 26, segments = n / SEGMENT, every = 37, chosen = (segments - 1) / every + 1;
        const size_t line = SEGMENT * word;
        float *in = input<float>(n, 2241, 0.0, 1.0), *out = output<float>(n);
        float *picked = output<float>((size_t)chosen * SEGMENT);
        MUST(cudaMemcpy2D(picked, line, in, every * line, line, chosen, cudaMemcpyDeviceToDevice));
        std::vector<float> h = on_host(picked, (size_t)chosen * SEGMENT), want(h.size());
        for (int s = 0; s < chosen; s++) {
            double sum = 0;
            for (int i = 0; i < SEGMENT; i++) {
                want[(size_t)s * SEGMENT + i] = float(sum);
                sum += h[(size_t)s * SEGMENT + i];
            }
        }
        auto scan = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * word));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, line, out, every * line, line, chosen, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-5);
        };
        const float4 *in4 = reinterpret_cast<const float4 *>(in);
        float4 *out4 = reinterpret_cast<float4 *>(out);
        scan("k224a", [&] { k224a<<<segments, SEGMENT, 2 * SEGMENT * word>>>(out, in, SEGMENT); });
        scan("k224b", [&] { k224b<<<segments, SEGMENT / 2, SEGMENT * word>>>(out, in, SEGMENT); });
        scan("k224c", [&] { k224c<<<segments, SEGMENT / 2, AT(SEGMENT) * word>>>(out, in, SEGMENT); });
        scan("k224d", [&] { k224d<<<segments, SEGMENT>>>(out, in); });
        scan("k224e", [&] { k224e<<<segments / 8, 256>>>(out4, in4); });
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const int batch = 128, channels = 64, plane = 112 * 112;
        const size_t n = (size_t)batch * channels * plane;
        float *x = input<float>(n, 2242, -1.0, 3.0), *stats = output<float>(2 * channels);
        std::vector<float> want(2 * channels);
        std::vector<double> sum(channels, 0.0), squares(channels, 0.0);
        {
            std::vector<float> h = on_host(x, n);
            for (int b = 0; b < batch; b++)
                for (int c = 0; c < channels; c++) {
                    const float *src = &h[((size_t)b * channels + c) * plane];
                    double s[4] = {0, 0, 0, 0}, q[4] = {0, 0, 0, 0};
                    for (int i = 0; i < plane; i += 4)
                        for (int j = 0; j < 4; j++) {
                            double v = src[i + j];
                            s[j] += v;
                            q[j] += v * v;
                        }
                    sum[c] += (s[0] + s[1]) + (s[2] + s[3]);
                    squares[c] += (q[0] + q[1]) + (q[2] + q[3]);
                }
        }
        std::vector<float> moments(2 * channels);
        for (int c = 0; c < channels; c++) {
            double mean = sum[c] / batch / plane, square = squares[c] / batch / plane;
            want[2 * c] = moments[2 * c] = float(mean);
            moments[2 * c + 1] = float(square);
            want[2 * c + 1] = float(square - mean * mean);
        }
        auto statistics = [&](const char *name, int fill, const std::vector<float> &right, std::function<void()> launch) {
            MUST(cudaMemset(stats, fill, 2 * channels * word));
            launch();
            check(name, stats, right, 1e-4);
        };
        const float4 *x4 = reinterpret_cast<const float4 *>(x);
        const dim3 planes(channels, batch);
        statistics("k224f", 0xA5, want, [&] { k224f<<<channels, 256>>>(stats, x, batch, channels, plane); });
        statistics("k224g", 0xA5, want, [&] { k224g<<<channels, 256>>>(stats, x, batch, channels, plane); });
        statistics("k224h", 0, moments, [&] { k224h<<<planes, 256>>>(stats, x4, batch, channels, plane); });
        MUST(cudaFree(x));
    }
    {
        const int n = 128 * LENGTH, every = 67, chosen = (n - 1) / every + 1;
        const size_t line = DEPTH * word;
        float *wte = input<float>((size_t)VOCABULARY * DEPTH, 2243, -1.0, 1.0);
        float *wpe = input<float>((size_t)LENGTH * DEPTH, 2244, -1.0, 1.0);
        std::vector<int> ids(n);
        for (int i = 0; i < n; i++)
            ids[i] = scrambled(i, 2245) % VOCABULARY;
        int *tokens = on_device(ids);
        float *out = output<float>((size_t)n * DEPTH), *picked = output<float>((size_t)chosen * DEPTH);
        std::vector<float> words = on_host(wte, (size_t)VOCABULARY * DEPTH), places = on_host(wpe, (size_t)LENGTH * DEPTH);
        std::vector<float> want((size_t)chosen * DEPTH);
        for (int r = 0; r < chosen; r++)
            for (int i = 0; i < DEPTH; i++)
                want[(size_t)r * DEPTH + i] =
                    words[(size_t)ids[r * every] * DEPTH + i] + places[(size_t)(r * every % LENGTH) * DEPTH + i];
        auto embed = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, (size_t)n * line));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, line, out, every * line, line, chosen, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-6);
        };
        float4 *out4 = reinterpret_cast<float4 *>(out);
        const int4 *tokens4 = reinterpret_cast<const int4 *>(tokens);
        const float4 *wte4 = reinterpret_cast<const float4 *>(wte), *wpe4 = reinterpret_cast<const float4 *>(wpe);
        embed("k224i", [&] { k224i<<<n / 256, 256>>>(out, tokens, wte, wpe, n, LENGTH, DEPTH); });
        embed("k224j", [&] { k224j<<<n / 4, DEPTH / 4>>>(out4, tokens4, wte4, wpe4); });
    }
    return 0;
}
