// Sums of the consecutive pieces of an array of floats, one piece for each block.
#include "../harness.h"

const int THREADS = 256;

__global__ void k42a(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = in[i];
    __syncthreads();

    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        if (t % (2 * d) == 0)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

__global__ void k42b(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = in[i];
    __syncthreads();

    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        unsigned place = 2 * d * t;
        if (place < blockDim.x)
            s[place] += s[place + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

__global__ void k42c(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = in[i];
    __syncthreads();

    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

__global__ void k42d(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    s[t] = in[i] + in[i + blockDim.x];
    __syncthreads();

    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

template <int COUNT> __device__ void within_warp(volatile float *s, unsigned t)
{
    float sum = s[t];
    if (COUNT >= 64) {
        sum += s[t + 32];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    if (COUNT >= 32) {
        sum += s[t + 16];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    if (COUNT >= 16) {
        sum += s[t + 8];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    if (COUNT >= 8) {
        sum += s[t + 4];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    if (COUNT >= 4) {
        sum += s[t + 2];
        __syncwarp();
        s[t] = sum;
        __syncwarp();
    }
    if (COUNT >= 2) {
        sum += s[t + 1];
        __syncwarp();
        s[t] = sum;
    }
}

__global__ void k42e(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    s[t] = in[i] + in[i + blockDim.x];
    __syncthreads();

    for (unsigned d = blockDim.x / 2; d > 32; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t < 32)
        within_warp<64>(s, t);
    if (t == 0)
        out[blockIdx.x] = s[0];
}

template <int COUNT> __device__ void within_block(float *s, unsigned t)
{
    if (COUNT >= 512) {
        if (t < 256)
            s[t] += s[t + 256];
        __syncthreads();
    }
    if (COUNT >= 256) {
        if (t < 128)
            s[t] += s[t + 128];
        __syncthreads();
    }
    if (COUNT >= 128) {
        if (t < 64)
            s[t] += s[t + 64];
        __syncthreads();
    }
    if (t < 32)
        within_warp<COUNT>(s, t);
}

__global__ void k42f(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * (THREADS * 2) + threadIdx.x;
    s[t] = in[i] + in[i + THREADS];
    __syncthreads();

    within_block<THREADS>(s, t);
    if (t == 0)
        out[blockIdx.x] = s[0];
}

const int EACH = 128;

__global__ void k42g(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * (THREADS * EACH) + threadIdx.x;
    s[t] = 0.0f;
#pragma unroll
    for (int r = 0; r < EACH; r++)
        s[t] += in[i + r * THREADS];
    __syncthreads();

    within_block<THREADS>(s, t);
    if (t == 0)
        out[blockIdx.x] = s[0];
}

template <int LANES> __device__ float over_lanes(float sum)
{
    for (int d = LANES / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    return sum;
}

__global__ void k42h(const float *in, float *out)
{
    __shared__ float part[THREADS / 32];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * (THREADS * EACH) + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < EACH; r++)
        sum += in[i + r * THREADS];

    const int lane = t % 32, warp = t / 32;
    sum = over_lanes<32>(sum);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();

    sum = t < THREADS / 32 ? part[lane] : 0.0f;
    if (warp == 0)
        sum = over_lanes<THREADS / 32>(sum);
    if (t == 0)
        out[blockIdx.x] = sum;
}

std::vector<float> pieces(const std::vector<float> &host, size_t size)
{
    std::vector<float> sums(host.size() / size);
    for (size_t p = 0; p < sums.size(); p++) {
        double sum = 0.0;
        for (size_t i = 0; i < size; i++)
            sum += host[p * size + i];
        sums[p] = float(sum);
    }
    return sums;
}

int main()
{
    const size_t n = 32 * 1024 * 1024;
    float *in = input<float>(n, 421, 0.0, 1.0);
    const std::vector<float> host = on_host(in, n);
    const std::vector<float> once = pieces(host, THREADS), twice = pieces(host, 2 * THREADS),
                             many = pieces(host, EACH * THREADS);

    float *out = output<float>(once.size());
    k42a<<<once.size(), THREADS>>>(in, out);
    check("k42a", out, once, 1e-5);

    out = output<float>(once.size());
    k42b<<<once.size(), THREADS>>>(in, out);
    check("k42b", out, once, 1e-5);

    out = output<float>(once.size());
    k42c<<<once.size(), THREADS>>>(in, out);
    check("k42c", out, once, 1e-5);

    out = output<float>(twice.size());
    k42d<<<twice.size(), THREADS>>>(in, out);
    check("k42d", out, twice, 1e-5);

    out = output<float>(twice.size());
    k42e<<<twice.size(), THREADS>>>(in, out);
    check("k42e", out, twice, 1e-5);

    out = output<float>(twice.size());
    k42f<<<twice.size(), THREADS>>>(in, out);
    check("k42f", out, twice, 1e-5);

    out = output<float>(many.size());
    k42g<<<many.size(), THREADS>>>(in, out);
    check("k42g", out, many, 1e-5);

    out = output<float>(many.size());
    k42h<<<many.size(), THREADS>>>(in, out);
    check("k42h", out, many, 1e-5);
    return 0;
}
