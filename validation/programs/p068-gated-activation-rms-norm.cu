// Gated activation silu(a) * b in half precision, the same with quantisation of groups to 8 bits, and normalisation of
// rows by their root mean square.
#include "../harness.h"

#include <functional>

__device__ __forceinline__ __half silu(__half x)
{
    float f = __half2float(x);
    return __float2half(f / (1.0f + expf(-f)));
}

__device__ __forceinline__ __half silu_approx(__half x)
{
    float f = __half2float(x);
    return __float2half(__fdividef(f, 1.0f + __expf(-f)));
}

__global__ void k68a(__half *__restrict__ out, const __half *__restrict__ in, int d)
{
    const long long token = blockIdx.x;
    for (long long i = threadIdx.x; i < d; i += blockDim.x) {
        const __half x = in[token * 2 * d + i];
        const __half y = in[token * 2 * d + d + i];
        out[token * d + i] = __hmul(silu(x), y);
    }
}

// d is a multiple of 8.
template <bool APPROX>
__device__ __forceinline__ void gate_by_eight(__half *__restrict__ out, const __half *__restrict__ in, int d)
{
    const long long token = blockIdx.x;
    const int4 *x_row = reinterpret_cast<const int4 *>(in + token * 2 * d);
    const int4 *y_row = reinterpret_cast<const int4 *>(in + token * 2 * d + d);
    int4 *out_row = reinterpret_cast<int4 *>(out + token * d);
    for (int i = threadIdx.x; i < d / 8; i += blockDim.x) {
        int4 x = x_row[i], y = y_row[i], r;
        const __half *xp = reinterpret_cast<const __half *>(&x);
        const __half *yp = reinterpret_cast<const __half *>(&y);
        __half *rp = reinterpret_cast<__half *>(&r);
#pragma unroll
        for (int j = 0; j < 8; j++)
            rp[j] = __hmul(APPROX ? silu_approx(xp[j]) : silu(xp[j]), yp[j]);
        out_row[i] = r;
    }
}

__global__ void k68b(__half *__restrict__ out, const __half *__restrict__ in, int d)
{
    gate_by_eight<false>(out, in, d);
}

__global__ void k68c(__half *__restrict__ out, const __half *__restrict__ in, int d)
{
    gate_by_eight<true>(out, in, d);
}

const int GROUP = 128;

__device__ __forceinline__ signed char to_byte(float v, float inverse)
{
    float r = rintf(v * inverse);
    return (signed char)fminf(fmaxf(r, -128.0f), 127.0f);
}

__global__ void k68d(signed char *__restrict__ out, float *__restrict__ scales, const __half *__restrict__ in,
                     int hidden)
{
    __shared__ float shared_max[GROUP];
    const int token = blockIdx.x, group = blockIdx.y, tid = threadIdx.x;
    const __half *gate = in + (size_t)token * 2 * hidden + group * GROUP;
    const __half *up = gate + hidden;

    float g = __half2float(gate[tid]), u = __half2float(up[tid]);
    float v = g / (1.0f + expf(-g)) * u;

    shared_max[tid] = fabsf(v);
    __syncthreads();
    for (int stride = GROUP / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            shared_max[tid] = fmaxf(shared_max[tid], shared_max[tid + stride]);
        __syncthreads();
    }
    const float scale = fmaxf(shared_max[0] / 127.0f, 1e-10f);
    if (tid == 0)
        scales[token * gridDim.y + group] = scale;
    out[(size_t)token * hidden + group * GROUP + tid] = to_byte(v, 1.0f / scale);
}

const int WARPS = 4;

__global__ void __launch_bounds__(32 * WARPS)
    k68e(signed char *__restrict__ out, float *__restrict__ scales, const __half *__restrict__ in, int hidden,
         int groups_per_row, int groups)
{
    const int which = blockIdx.x * WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (which >= groups)
        return;
    const int token = which / groups_per_row, group = which % groups_per_row;
    const size_t at = (size_t)token * 2 * hidden + group * GROUP + lane * 4;
    uint2 gate = *reinterpret_cast<const uint2 *>(in + at);
    uint2 up = *reinterpret_cast<const uint2 *>(in + at + hidden);
    const __half *gp = reinterpret_cast<const __half *>(&gate);
    const __half *up_p = reinterpret_cast<const __half *>(&up);

    float v[4], largest = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float g = __half2float(gp[j]), u = __half2float(up_p[j]);
        v[j] = g / (1.0f + expf(-g)) * u;
        largest = fmaxf(largest, fabsf(v[j]));
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    const float scale = fmaxf(largest / 127.0f, 1e-10f);
    if (lane == 0)
        scales[which] = scale;
    const float inverse = 1.0f / scale;
    char4 r = make_char4(to_byte(v[0], inverse), to_byte(v[1], inverse), to_byte(v[2], inverse),
                         to_byte(v[3], inverse));
    *reinterpret_cast<char4 *>(out + (size_t)token * hidden + group * GROUP + lane * 4) = r;
}

__device__ __forceinline__ float block_sum(float v)
{
    __shared__ float part[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0.0f;
    if (warp == 0) {
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffffu, v, offset);
    }
    return v;
}

__global__ void k68f(__half *__restrict__ out, const __half *__restrict__ in, const __half *__restrict__ weight,
                     float epsilon, int hidden)
{
    __shared__ float factor;
    float square = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float x = __half2float(in[(long long)blockIdx.x * hidden + i]);
        square += x * x;
    }
    square = block_sum(square);
    if (threadIdx.x == 0)
        factor = rsqrtf(square / hidden + epsilon);
    __syncthreads();
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float x = __half2float(in[(long long)blockIdx.x * hidden + i]);
        out[(long long)blockIdx.x * hidden + i] = __hmul(__float2half(x * factor), weight[i]);
    }
}

// hidden is a multiple of 8.
__global__ void k68g(__half *__restrict__ out, const __half *__restrict__ in, const __half *__restrict__ weight,
                     float epsilon, int hidden)
{
    __shared__ float factor;
    const int4 *row = reinterpret_cast<const int4 *>(in + (long long)blockIdx.x * hidden);
    const int4 *w_row = reinterpret_cast<const int4 *>(weight);
    int4 *out_row = reinterpret_cast<int4 *>(out + (long long)blockIdx.x * hidden);
    float square = 0.0f;
    for (int i = threadIdx.x; i < hidden / 8; i += blockDim.x) {
        int4 x = row[i];
        const __half *p = reinterpret_cast<const __half *>(&x);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float f = __half2float(p[j]);
            square += f * f;
        }
    }
    square = block_sum(square);
    if (threadIdx.x == 0)
        factor = rsqrtf(square / hidden + epsilon);
    __syncthreads();
    for (int i = threadIdx.x; i < hidden / 8; i += blockDim.x) {
        int4 x = row[i], w = w_row[i], r;
        const __half *p = reinterpret_cast<const __half *>(&x);
        const __half *wp = reinterpret_cast<const __half *>(&w);
        __half *rp = reinterpret_cast<__half *>(&r);
#pragma unroll
        for (int j = 0; j < 8; j++)
            rp[j] = __hmul(__float2half(__half2float(p[j]) * factor), wp[j]);
        out_row[i] = r;
    }
}

__global__ void k68h(__half *__restrict__ out, const __half *__restrict__ in, const __half *__restrict__ weight,
                     float epsilon, int hidden)
{
    extern __shared__ int4 kept[];
    __shared__ float factor;
    const int4 *row = reinterpret_cast<const int4 *>(in + (long long)blockIdx.x * hidden);
    const int4 *w_row = reinterpret_cast<const int4 *>(weight);
    int4 *out_row = reinterpret_cast<int4 *>(out + (long long)blockIdx.x * hidden);
    float square = 0.0f;
    for (int i = threadIdx.x; i < hidden / 8; i += blockDim.x) {
        int4 x = row[i];
        kept[i] = x;
        const __half *p = reinterpret_cast<const __half *>(&x);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float f = __half2float(p[j]);
            square += f * f;
        }
    }
    square = block_sum(square);
    if (threadIdx.x == 0)
        factor = rsqrtf(square / hidden + epsilon);
    __syncthreads();
    for (int i = threadIdx.x; i < hidden / 8; i += blockDim.x) {
        int4 x = kept[i], w = w_row[i], r;
        const __half *p = reinterpret_cast<const __half *>(&x);
        const __half *wp = reinterpret_cast<const __half *>(&w);
        __half *rp = reinterpret_cast<__half *>(&r);
#pragma unroll
        for (int j = 0; j < 8; j++)
            rp[j] = __hmul(__float2half(__half2float(p[j]) * factor), wp[j]);
        out_row[i] = r;
    }
}

template <class T>
__global__ void count_different(const T *a, const T *b, size_t n, float tolerance, unsigned *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float x = float(a[i]), y = float(b[i]);
        if (!(fabsf(x - y) <= tolerance * fmaxf(1.0f, fabsf(y))))
            atomicAdd(count, 1u);
    }
}

// Rows of the first launch are checked against the host, the other launches against the first one.
struct Checker {
    size_t rows, width;
    __half *first, *out, *picked;
    std::vector<size_t> where;
    std::vector<__half> want;
    bool begun = false;

    Checker(size_t r, size_t w) : rows(r), width(w), first(output<__half>(r * w)), out(output<__half>(r * w))
    {
        for (size_t i = 0; i < rows; i += rows / 40)
            where.push_back(i);
        where.push_back(rows - 1);
        picked = output<__half>(where.size() * width);
        want.resize(where.size() * width);
    }
    void operator()(const char *name, float tolerance, std::function<void(__half *)> launch)
    {
        __half *to = begun ? out : first;
        MUST(cudaMemset(to, 0xA5, rows * width * sizeof(__half)));
        launch(to);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!begun) {
            for (size_t i = 0; i < where.size(); i++)
                MUST(cudaMemcpy(picked + i * width, first + where[i] * width, width * sizeof(__half),
                                cudaMemcpyDeviceToDevice));
            check(name, picked, want, tolerance);
        } else {
            unsigned *count = zeroed<unsigned>(1);
            count_different<<<1056, 256>>>(out, first, rows * width, tolerance, count);
            check(name, count, std::vector<unsigned>(1, 0u), 0.0);
        }
        begun = true;
    }
};

int main()
{
    {
        const int tokens = 4096, d = 14336;
        __half *in = input<__half>((size_t)tokens * 2 * d, 681, -4.0, 4.0);
        Checker run(tokens, d);
        for (size_t i = 0; i < run.where.size(); i++) {
            std::vector<__half> row = on_host(in + run.where[i] * 2 * d, 2 * d);
            for (int j = 0; j < d; j++) {
                float x = __half2float(row[j]);
                run.want[i * d + j] = __float2half(x / (1.0f + std::exp(-x)) * __half2float(row[d + j]));
            }
        }
        run("k68a", 4e-3f, [&](__half *out) { k68a<<<tokens, 1024>>>(out, in, d); });
        run("k68b", 4e-3f, [&](__half *out) { k68b<<<tokens, 1024>>>(out, in, d); });
        run("k68c", 4e-3f, [&](__half *out) { k68c<<<tokens, 1024>>>(out, in, d); });
        MUST(cudaFree(in));
        MUST(cudaFree(run.first));
        MUST(cudaFree(run.out));
    }

    {
        const int tokens = 16384, hidden = 2048, per_row = hidden / GROUP, groups = tokens * per_row;
        __half *in = input<__half>((size_t)tokens * 2 * hidden, 682, -4.0, 4.0);
        signed char *first = output<signed char>((size_t)tokens * hidden);
        float *first_scale = output<float>(groups);
        k68d<<<dim3(tokens, per_row), GROUP>>>(first, first_scale, in, hidden);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());

        std::vector<float> got, want;
        for (int t = 0; t < tokens; t += 257) {
            std::vector<__half> row = on_host(in + (size_t)t * 2 * hidden, 2 * hidden);
            std::vector<signed char> q = on_host(first + (size_t)t * hidden, hidden);
            std::vector<float> s = on_host(first_scale + t * per_row, per_row);
            for (int g = 0; g < per_row; g++) {
                float largest = 0.0f;
                for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
                    float x = __half2float(row[j]);
                    float v = x / (1.0f + std::exp(-x)) * __half2float(row[hidden + j]);
                    largest = std::fmax(largest, std::fabs(v));
                    want.push_back(v);
                    got.push_back(q[j] * s[g]);
                }
                want.push_back(100.0f * largest / 127.0f);
                got.push_back(100.0f * s[g]);
            }
        }
        check("k68d", on_device(got), want, 0.07);

        signed char *out = output<signed char>((size_t)tokens * hidden);
        float *scale = output<float>(groups);
        k68e<<<(groups + WARPS - 1) / WARPS, 32 * WARPS>>>(out, scale, in, hidden, per_row, groups);
        MUST(cudaGetLastError());
        unsigned *count = zeroed<unsigned>(1);
        count_different<<<1056, 256>>>(out, first, (size_t)tokens * hidden, 0.0f, count);
        count_different<<<1056, 256>>>(scale, first_scale, (size_t)groups, 1e-6f, count);
        check("k68e", count, std::vector<unsigned>(1, 0u), 0.0);
        MUST(cudaFree(in));
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }

    const int tokens = 16384, hidden = 4096;
    __half *in = input<__half>((size_t)tokens * hidden, 683, -2.0, 2.0);
    __half *weight = input<__half>(hidden, 684, 0.5, 1.5);
    Checker run(tokens, hidden);
    std::vector<__half> w = on_host(weight, hidden);
    for (size_t i = 0; i < run.where.size(); i++) {
        std::vector<__half> row = on_host(in + run.where[i] * hidden, hidden);
        double square = 0.0;
        for (int j = 0; j < hidden; j++)
            square += double(__half2float(row[j])) * __half2float(row[j]);
        double factor = 1.0 / std::sqrt(square / hidden + 1e-6);
        for (int j = 0; j < hidden; j++)
            run.want[i * hidden + j] = __float2half(float(__half2float(row[j]) * factor * __half2float(w[j])));
    }
    run("k68f", 4e-3f, [&](__half *out) { k68f<<<tokens, 1024>>>(out, in, weight, 1e-6f, hidden); });
    run("k68g", 4e-3f, [&](__half *out) { k68g<<<tokens, 256>>>(out, in, weight, 1e-6f, hidden); });
    run("k68h", 4e-3f, [&](__half *out) {
        k68h<<<tokens, 256, hidden * sizeof(__half)>>>(out, in, weight, 1e-6f, hidden);
    });
    return 0;
}
