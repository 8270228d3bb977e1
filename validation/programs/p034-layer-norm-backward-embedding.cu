// Backward pass of layer normalisation (16384 x 768, float) and the token and position embedding of a language model
// (32768 tokens of 768 bfloat16 channels, 50257 words).
#include "../harness.h"

#include <cstring>
#include <functional>

typedef __nv_bfloat16 bf16;

__device__ float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

__global__ void k34a(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp,
                     const float *weight, const float *mean, const float *rstd, int n, int c)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    const float *dy = dout + row * c;
    const float *x = inp + row * c;
    float *dx = dinp + row * c;
    float m = mean[row], s = rstd[row];

    float first = 0.0f, second = 0.0f;
    for (int i = 0; i < c; i++) {
        float norm = (x[i] - m) * s;
        float dnorm = weight[i] * dy[i];
        first += dnorm;
        second += dnorm * norm;
    }
    first = first / c;
    second = second / c;

    for (int i = 0; i < c; i++) {
        float norm = (x[i] - m) * s;
        float dnorm = weight[i] * dy[i];
        atomicAdd(&dbias[i], dy[i]);
        atomicAdd(&dweight[i], norm * dy[i]);
        dx[i] += (dnorm - first - norm * second) * s;
    }
}

__global__ void k34b(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp,
                     const float *weight, const float *mean, const float *rstd, int n, int c)
{
    extern __shared__ float shared[];
    float *dbias_part = shared, *dweight_part = shared + c;
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        dbias_part[i] = 0.0f;
        dweight_part[i] = 0.0f;
    }
    __syncthreads();

    if (row < n) {
        const float *dy = dout + row * c;
        const float *x = inp + row * c;
        float *dx = dinp + row * c;
        float m = mean[row], s = rstd[row];

        float first = 0.0f, second = 0.0f;
        for (int i = lane; i < c; i += 32) {
            float norm = (x[i] - m) * s;
            float dnorm = weight[i] * dy[i];
            first += dnorm;
            second += dnorm * norm;
        }
        first = warp_sum(first) / c;
        second = warp_sum(second) / c;

        for (int i = lane; i < c; i += 32) {
            float norm = (x[i] - m) * s;
            float dnorm = weight[i] * dy[i];
            atomicAdd(&dbias_part[i], dy[i]);
            atomicAdd(&dweight_part[i], norm * dy[i]);
            dx[i] += (dnorm - first - norm * second) * s;
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        atomicAdd(&dbias[i], dbias_part[i]);
        atomicAdd(&dweight[i], dweight_part[i]);
    }
}

__global__ void k34c(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp,
                     const float *weight, const float *mean, const float *rstd, int n, int c)
{
    extern __shared__ float shared[];
    float *dbias_part = shared, *dweight_part = shared + c;
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        dbias_part[i] = 0.0f;
        dweight_part[i] = 0.0f;
    }
    __syncthreads();

    for (int row = blockIdx.x * warps + threadIdx.x / 32; row < n; row += gridDim.x * warps) {
        const float *dy = dout + row * c;
        const float *x = inp + row * c;
        float *dx = dinp + row * c;
        float m = mean[row], s = rstd[row];

        float first = 0.0f, second = 0.0f;
        for (int i = lane; i < c; i += 32) {
            float norm = (x[i] - m) * s;
            float dnorm = weight[i] * dy[i];
            first += dnorm;
            second += dnorm * norm;
        }
        first = warp_sum(first) / c;
        second = warp_sum(second) / c;

        for (int i = lane; i < c; i += 32) {
            float d = __ldcs(&dy[i]);
            float norm = (__ldcs(&x[i]) - m) * s;
            float dnorm = weight[i] * d;
            atomicAdd(&dbias_part[i], d);
            atomicAdd(&dweight_part[i], norm * d);
            dx[i] += (dnorm - first - norm * second) * s;
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        atomicAdd(&dbias[i], dbias_part[i]);
        atomicAdd(&dweight[i], dweight_part[i]);
    }
}

struct Four {
    float v[4];
};

__device__ Four load(const float *p)
{
    float4 f = *reinterpret_cast<const float4 *>(p);
    return {{f.x, f.y, f.z, f.w}};
}

__device__ void store(float *p, const Four &f)
{
    *reinterpret_cast<float4 *>(p) = make_float4(f.v[0], f.v[1], f.v[2], f.v[3]);
}

// c is a multiple of 128; within the sums channel 128 k + 4 lane + j stands at 128 k + 32 j + lane.
__global__ void __launch_bounds__(512, 2)
    k34d(float *dinp, float *dweight, float *dbias, const float *dout, const float *inp, const float *weight,
         const float *mean, const float *rstd, int n, int c)
{
    extern __shared__ float shared[];
    float *dbias_part = shared, *dweight_part = shared + c;
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        dbias_part[i] = 0.0f;
        dweight_part[i] = 0.0f;
    }
    __syncthreads();

    for (int row = blockIdx.x * warps + threadIdx.x / 32; row < n; row += gridDim.x * warps) {
        const float *dy = dout + row * c;
        const float *x = inp + row * c;
        float *dx = dinp + row * c;
        float m = mean[row], s = rstd[row];

        float first = 0.0f, second = 0.0f;
        for (int i = lane * 4; i < c; i += 128) {
            Four d = load(dy + i), v = load(x + i), w = load(weight + i);
            for (int j = 0; j < 4; j++) {
                float norm = (v.v[j] - m) * s;
                float dnorm = w.v[j] * d.v[j];
                first += dnorm;
                second += dnorm * norm;
            }
        }
        first = warp_sum(first) / c;
        second = warp_sum(second) / c;

        for (int base = 0; base < c; base += 128) {
            int i = base + lane * 4;
            Four d = load(dy + i), v = load(x + i), w = load(weight + i), g = load(dx + i);
            for (int j = 0; j < 4; j++) {
                float norm = (v.v[j] - m) * s;
                float dnorm = w.v[j] * d.v[j];
                atomicAdd(&dbias_part[base + j * 32 + lane], d.v[j]);
                atomicAdd(&dweight_part[base + j * 32 + lane], norm * d.v[j]);
                g.v[j] += (dnorm - first - norm * second) * s;
            }
            store(dx + i, g);
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < c; i += blockDim.x) {
        int channel = i / 128 * 128 + i % 32 * 4 + i % 128 / 32;
        atomicAdd(&dbias[channel], dbias_part[i]);
        atomicAdd(&dweight[channel], dweight_part[i]);
    }
}

const int C = 768, CHUNKS = C / 128, WARPS = 4;

// Rows of C channels, blocks of WARPS warps.
__global__ void __launch_bounds__(32 * WARPS, 3)
    k34e(float *__restrict__ dinp, float *__restrict__ dweight, float *__restrict__ dbias,
         const float *__restrict__ dout, const float *__restrict__ inp, const float *__restrict__ weight,
         const float *__restrict__ mean, const float *__restrict__ rstd, int n)
{
    __shared__ alignas(16) float part[WARPS][C];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Four sum_b[CHUNKS] = {}, sum_w[CHUNKS] = {};

    for (int row = blockIdx.x * WARPS + warp; row < n; row += gridDim.x * WARPS) {
        const float *dy = dout + row * C + lane * 4;
        const float *x = inp + row * C + lane * 4;
        float *dx = dinp + row * C + lane * 4;
        float m = mean[row], s = rstd[row];

        Four d[CHUNKS], v[CHUNKS];
#pragma unroll
        for (int k = 0; k < CHUNKS; k++) {
            d[k] = load(dy + k * 128);
            v[k] = load(x + k * 128);
        }
        float first = 0.0f, second = 0.0f;
#pragma unroll
        for (int k = 0; k < CHUNKS; k++) {
            Four w = load(weight + k * 128 + lane * 4);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                v[k].v[j] = (v[k].v[j] - m) * s;
                float dnorm = w.v[j] * d[k].v[j];
                first += dnorm;
                second += dnorm * v[k].v[j];
            }
        }
        first = warp_sum(first) / C;
        second = warp_sum(second) / C;
#pragma unroll
        for (int k = 0; k < CHUNKS; k++) {
            Four w = load(weight + k * 128 + lane * 4), g = load(dx + k * 128);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                sum_b[k].v[j] += d[k].v[j];
                sum_w[k].v[j] += v[k].v[j] * d[k].v[j];
                g.v[j] += (w.v[j] * d[k].v[j] - first - v[k].v[j] * second) * s;
            }
            store(dx + k * 128, g);
        }
    }

#pragma unroll
    for (int k = 0; k < CHUNKS; k++)
        store(&part[warp][k * 128 + lane * 4], sum_b[k]);
    __syncthreads();
    for (int i = threadIdx.x; i < C; i += 32 * WARPS) {
        float sum = 0.0f;
        for (int w = 0; w < WARPS; w++)
            sum += part[w][i];
        atomicAdd(&dbias[i], sum);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < CHUNKS; k++)
        store(&part[warp][k * 128 + lane * 4], sum_w[k]);
    __syncthreads();
    for (int i = threadIdx.x; i < C; i += 32 * WARPS) {
        float sum = 0.0f;
        for (int w = 0; w < WARPS; w++)
            sum += part[w][i];
        atomicAdd(&dweight[i], sum);
    }
}

__global__ void k34f(bf16 *out, const int *inp, const bf16 *wte, const bf16 *wpe, int b_count, int t_count, int c)
{
    int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= b_count * t_count)
        return;
    int t = token % t_count;
    bf16 *y = out + token * c;
    const bf16 *word = wte + inp[token] * c;
    const bf16 *place = wpe + t * c;
    for (int i = 0; i < c; i++)
        y[i] = bf16(float(word[i]) + float(place[i]));
}

__global__ void k34g(bf16 *out, const int *inp, const bf16 *wte, const bf16 *wpe, int b_count, int t_count, int c)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= b_count * t_count * c)
        return;
    int token = index / c;
    int t = token % t_count;
    int i = index % c;
    int word = inp[token];
    out[index] = bf16(float(wte[word * c + i]) + float(wpe[t * c + i]));
}

struct alignas(16) Eight {
    bf16 v[8];
};

__device__ Eight load_once(const bf16 *p)
{
    int4 bits = __ldcs(reinterpret_cast<const int4 *>(p));
    Eight e;
    memcpy(&e, &bits, sizeof(e));
    return e;
}

__global__ void k34h(bf16 *out, const int *inp, const bf16 *wte, const bf16 *wpe, int b_count, int t_count, int c)
{
    int index = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (index >= b_count * t_count * c)
        return;
    int token = index / c;
    int t = token % t_count;
    int i = index % c;
    int word = inp[token];
    Eight a = load_once(wte + word * c + i), b = load_once(wpe + t * c + i), sum;
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum.v[k] = bf16(float(a.v[k]) + float(b.v[k]));
    int4 bits;
    memcpy(&bits, &sum, sizeof(bits));
    *reinterpret_cast<int4 *>(out + index) = bits;
}

template <class T> __global__ void differences(const T *got, const T *want, size_t n, float tolerance, int *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float a = float(got[i]), b = float(want[i]);
        if (!(fabsf(a - b) <= tolerance * fmaxf(1.0f, fabsf(b))))
            atomicAdd(count, 1);
    }
}

int *count;

template <class T> void compare(const T *got, const T *want, size_t n, float tolerance)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    differences<<<1056, 256>>>(got, want, n, tolerance, count);
    MUST(cudaDeviceSynchronize());
}

void report(const char *name)
{
    check(name, count, std::vector<int>{0}, 0.0);
}

void backward()
{
    const int n = 16 * 1024, c = C;
    const size_t size = (size_t)n * c;
    float *dout = input<float>(size, 341, -1.0, 1.0), *inp = input<float>(size, 342, -1.0, 1.0);
    float *weight = input<float>(c, 343, -1.0, 1.0);
    std::vector<float> hmean(n), hrstd(n), want_b(c), want_w(c);
    const int step = 1021;
    std::vector<std::vector<float>> want_rows;
    {
        std::vector<float> dy = on_host(dout, size), x = on_host(inp, size), w = on_host(weight, c);
        std::vector<double> sum_b(c, 0.0), sum_w(c, 0.0);
        for (int row = 0; row < n; row++) {
            const float *xr = &x[(size_t)row * c], *dr = &dy[(size_t)row * c];
            double m = 0.0, v = 0.0;
            for (int i = 0; i < c; i++)
                m += xr[i];
            m /= c;
            for (int i = 0; i < c; i++)
                v += (xr[i] - m) * (xr[i] - m);
            hmean[row] = float(m);
            hrstd[row] = float(1.0 / std::sqrt(v / c + 1e-5));
            double mean = hmean[row], s = hrstd[row];
            for (int i = 0; i < c; i++) {
                sum_b[i] += dr[i];
                sum_w[i] += (xr[i] - mean) * s * dr[i];
            }
            if (row % step == 0) {
                double first = 0.0, second = 0.0;
                for (int i = 0; i < c; i++) {
                    first += double(w[i]) * dr[i] / c;
                    second += double(w[i]) * dr[i] * (xr[i] - mean) * s / c;
                }
                std::vector<float> want(c);
                for (int i = 0; i < c; i++)
                    want[i] = float((double(w[i]) * dr[i] - first - (xr[i] - mean) * s * second) * s);
                want_rows.push_back(want);
            }
        }
        for (int i = 0; i < c; i++) {
            want_b[i] = float(sum_b[i]);
            want_w[i] = float(sum_w[i]);
        }
    }
    float *mean = on_device(hmean), *rstd = on_device(hrstd);
    float *reference_b = on_device(want_b), *reference_w = on_device(want_w);
    float *first = zeroed<float>(size), *dinp = zeroed<float>(size);
    float *dweight = zeroed<float>(c), *dbias = zeroed<float>(c);
    int units;
    MUST(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));

    k34a<<<(n + 255) / 256, 256>>>(first, dweight, dbias, dout, inp, weight, mean, rstd, n, c);
    for (size_t r = 0; r < want_rows.size(); r++) {
        float *reference = on_device(want_rows[r]);
        compare(first + r * step * c, reference, c, 1e-4f);
        MUST(cudaFree(reference));
    }
    compare(dbias, reference_b, c, 1e-2f);
    compare(dweight, reference_w, c, 1e-2f);
    report("k34a");

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dinp, 0, size * sizeof(float)));
        MUST(cudaMemset(dweight, 0, c * sizeof(float)));
        MUST(cudaMemset(dbias, 0, c * sizeof(float)));
        launch();
        compare(dinp, first, size, 1e-4f);
        compare(dbias, reference_b, c, 1e-2f);
        compare(dweight, reference_w, c, 1e-2f);
        report(name);
    };
    const size_t room = 2 * c * sizeof(float);
    launch_and_check("k34b", [&] {
        k34b<<<n / 16, 512, room>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, n, c);
    });
    launch_and_check("k34c", [&] {
        k34c<<<units, 1024, room>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, n, c);
    });
    launch_and_check("k34d", [&] {
        k34d<<<2 * units, 512, room>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, n, c);
    });
    launch_and_check("k34e", [&] {
        k34e<<<3 * units, 32 * WARPS>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, n);
    });
    for (float *data : {dout, inp, first, dinp})
        MUST(cudaFree(data));
}

void embedding()
{
    const int b = 32, t = 1024, c = 768, words = 50257;
    const size_t size = (size_t)b * t * c;
    int *inp = input<int>(b * t, 344, 0, words);
    bf16 *wte = input<bf16>((size_t)words * c, 345, -1.0, 1.0), *wpe = input<bf16>((size_t)t * c, 346, -1.0, 1.0);
    bf16 *first = output<bf16>(size), *out = output<bf16>(size);

    k34f<<<b * t / 256, 256>>>(first, inp, wte, wpe, b, t, c);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<int> tokens = on_host(inp, b * t);
    for (int token = 0; token < b * t; token += 1021) {
        std::vector<bf16> word = on_host(wte + (size_t)tokens[token] * c, c);
        std::vector<bf16> place = on_host(wpe + (size_t)(token % t) * c, c), want(c);
        for (int i = 0; i < c; i++)
            want[i] = bf16(float(word[i]) + float(place[i]));
        bf16 *reference = on_device(want);
        compare(first + (size_t)token * c, reference, c, 0.0f);
        MUST(cudaFree(reference));
    }
    report("k34f");

    k34g<<<(unsigned)(size / 256), 256>>>(out, inp, wte, wpe, b, t, c);
    compare(out, first, size, 0.0f);
    report("k34g");

    MUST(cudaMemset(out, 0xA5, size * sizeof(bf16)));
    k34h<<<(unsigned)(size / 8 / 256), 256>>>(out, inp, wte, wpe, b, t, c);
    compare(out, first, size, 0.0f);
    report("k34h");
}

int main()
{
    count = zeroed<int>(1);
    backward();
    embedding();
    return 0;
}
