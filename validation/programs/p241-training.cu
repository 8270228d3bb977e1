// Training helpers: distillation loss, focal loss, and scaling of the gradients of many tensors.
#include "../harness.h"

constexpr int BLOCK = 256;

__device__ float block_max(float v)
{
    __shared__ float s[BLOCK / 32];
    for (int d = 16; d > 0; d /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < BLOCK / 32; w++)
        v = fmaxf(v, s[w]);
    return v;
}

__device__ float block_sum(float v)
{
    __shared__ float s[BLOCK / 32];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = v;
    __syncthreads();
    v = s[0];
    for (int w = 1; w < BLOCK / 32; w++)
        v += s[w];
    return v;
}

// Kullback-Leibler divergence of the student's from the teacher's distribution, from logits: one block for each row
__global__ void k241a(const float *teacher, const float *student, float *loss, int classes)
{
    const float *t = teacher + (size_t)blockIdx.x * classes, *s = student + (size_t)blockIdx.x * classes;
    float tmax = -INFINITY, smax = -INFINITY;
    for (int c = threadIdx.x; c < classes; c += BLOCK) {
        tmax = fmaxf(tmax, t[c]);
        smax = fmaxf(smax, s[c]);
    }
    tmax = block_max(tmax);
    smax = block_max(smax);
    float tsum = 0, ssum = 0;
    for (int c = threadIdx.x; c < classes; c += BLOCK) {
        tsum += __expf(t[c] - tmax);
        ssum += __expf(s[c] - smax);
    }
    float tlog = tmax + logf(block_sum(tsum)), slog = smax + logf(block_sum(ssum));
    float kl = 0;
    for (int c = threadIdx.x; c < classes; c += BLOCK)
        kl += __expf(t[c] - tlog) * ((t[c] - tlog) - (s[c] - slog));
    kl = block_sum(kl);
    if (threadIdx.x == 0)
        loss[blockIdx.x] = kl;
}

// Running maxima, sums of exponentials, and the sum of the teacher's exponentials times the difference of the logits
struct Running {
    float tmax = -INFINITY, tsum = 0, cross = 0, smax = -INFINITY, ssum = 0;

    __device__ void add(float t, float s)
    {
        if (t > tmax) {
            float f = __expf(tmax - t);
            tsum *= f;
            cross *= f;
            tmax = t;
        }
        if (s > smax) {
            ssum *= __expf(smax - s);
            smax = s;
        }
        float e = __expf(t - tmax);
        tsum += e;
        cross += e * (t - s);
        ssum += __expf(s - smax);
    }

    __device__ void finish(float *loss)
    {
        float tall = block_max(tmax), sall = block_max(smax);
        float f = __expf(tmax - tall);
        float ts = block_sum(tsum * f), cr = block_sum(cross * f), ss = block_sum(ssum * __expf(smax - sall));
        if (threadIdx.x == 0)
            loss[blockIdx.x] = cr / ts - (tall + logf(ts)) + (sall + logf(ss));
    }
};

__global__ void k241b(const float *teacher, const float *student, float *loss, int classes)
{
    const float *t = teacher + (size_t)blockIdx.x * classes, *s = student + (size_t)blockIdx.x * classes;
    Running r;
    for (int c = threadIdx.x; c < classes; c += BLOCK)
        r.add(t[c], s[c]);
    r.finish(loss);
}

__global__ void k241c(const float4 *teacher, const float4 *student, float *loss, int classes4)
{
    const float4 *t = teacher + (size_t)blockIdx.x * classes4, *s = student + (size_t)blockIdx.x * classes4;
    Running r;
    for (int c = threadIdx.x; c < classes4; c += BLOCK) {
        float4 a = t[c], b = s[c];
        float m = fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)), k = fmaxf(fmaxf(b.x, b.y), fmaxf(b.z, b.w));
        if (m > r.tmax) {
            float f = __expf(r.tmax - m);
            r.tsum *= f;
            r.cross *= f;
            r.tmax = m;
        }
        if (k > r.smax) {
            r.ssum *= __expf(r.smax - k);
            r.smax = k;
        }
        float e0 = __expf(a.x - r.tmax), e1 = __expf(a.y - r.tmax), e2 = __expf(a.z - r.tmax), e3 = __expf(a.w - r.tmax);
        r.tsum += (e0 + e1) + (e2 + e3);
        r.cross += (e0 * (a.x - b.x) + e1 * (a.y - b.y)) + (e2 * (a.z - b.z) + e3 * (a.w - b.w));
        r.ssum += (__expf(b.x - r.smax) + __expf(b.y - r.smax)) + (__expf(b.z - r.smax) + __expf(b.w - r.smax));
    }
    r.finish(loss);
}

// Sum of the focal loss of binary labels
__device__ inline float focal(float x, int label, float alpha, float gamma)
{
    float p = 1.0f / (1.0f + expf(-x));
    float pt = label ? p : 1.0f - p, weight = label ? alpha : 1.0f - alpha;
    return -weight * powf(1.0f - pt, gamma) * logf(pt);
}

__global__ void k241d(const float4 *logits, const uchar4 *labels, double *total, int n4, float alpha, float gamma)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 x = logits[i];
        uchar4 y = labels[i];
        sum += focal(x.x, y.x, alpha, gamma) + focal(x.y, y.y, alpha, gamma) + focal(x.z, y.z, alpha, gamma) +
               focal(x.w, y.w, alpha, gamma);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

// gamma = 2
__device__ inline float focal2(float x, int label, float alpha)
{
    float p = 1.0f / (1.0f + expf(-x));
    float pt = label ? p : 1.0f - p, weight = label ? alpha : 1.0f - alpha, q = 1.0f - pt;
    return -weight * q * q * logf(pt);
}

__global__ void k241e(const float4 *logits, const uchar4 *labels, double *total, int n4, float alpha)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 x = logits[i];
        uchar4 y = labels[i];
        sum += focal2(x.x, y.x, alpha) + focal2(x.y, y.y, alpha) + focal2(x.z, y.z, alpha) + focal2(x.w, y.w, alpha);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

__device__ inline float focal2_fast(float x, int label, float alpha)
{
    float z = label ? x : -x, weight = label ? alpha : 1.0f - alpha;
    float e = __expf(-z), one = 1.0f + e, q = __fdividef(e, one);
    return weight * q * q * __logf(one);
}

__global__ void k241f(const float4 *logits, const uchar4 *labels, double *total, int n4, float alpha)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 x = logits[i];
        uchar4 y = labels[i];
        sum += focal2_fast(x.x, y.x, alpha) + focal2_fast(x.y, y.y, alpha) + focal2_fast(x.z, y.z, alpha) +
               focal2_fast(x.w, y.w, alpha);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(total, sum);
}

// All gradients lie one after the other; tensor t ends before ends[t] and has its own factor
__global__ void k241g(const float *gradients, const int *ends, const float *factors, float *out, int n, int tensors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int t = 0;
    while (t < tensors - 1 && i >= ends[t])
        t++;
    out[i] = gradients[i] * factors[t];
}

__global__ void k241h(const float *gradients, const int *ends, const float *factors, float *out, int n, int tensors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int low = 0, high = tensors - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (i >= ends[middle])
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = gradients[i] * factors[low];
}

// Sizes of tensors are multiples of 4
__global__ void k241i(const float4 *gradients, const int *ends, const float *factors, float4 *out, int n4, int tensors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    float4 g = gradients[i];
    int low = 0, high = tensors - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (4 * i >= ends[middle])
            low = middle + 1;
        else
            high = middle;
    }
    float f = factors[low];
    out[i] = make_float4(g.x * f, g.y * f, g.z * f, g.w * f);
}

constexpr int TENSORS = 320;
__constant__ int constant_ends[TENSORS];
__constant__ float constant_factors[TENSORS];

__global__ void k241j(const float4 *gradients, float4 *out, int n4, int tensors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    float4 g = gradients[i];
    int low = 0, high = tensors - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (4 * i >= constant_ends[middle])
            low = middle + 1;
        else
            high = middle;
    }
    float f = constant_factors[low];
    out[i] = make_float4(g.x * f, g.y * f, g.z * f, g.w * f);
}

int main()
{
    {
        const int rows = 2112, classes = 32000;
        size_t n = (size_t)rows * classes;
        float *teacher = input<float>(n, 1, -4, 4), *student = input<float>(n, 2, -4, 4);
        float *loss = output<float>(rows), *l2 = output<float>(rows), *l3 = output<float>(rows);
        k241a<<<rows, BLOCK>>>(teacher, student, loss, classes);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(loss, rows);
        check("k241a", loss, want, 0);
        k241b<<<rows, BLOCK>>>(teacher, student, l2, classes);
        check("k241b", l2, want, 1e-3);
        k241c<<<rows, BLOCK>>>((float4 *)teacher, (float4 *)student, l3, classes / 4);
        check("k241c", l3, want, 1e-3);
        MUST(cudaFree(teacher));
        MUST(cudaFree(student));
    }
    {
        const int n = 64 << 20;
        float *logits = input<float>(n, 3, -6, 6);
        auto *labels = input<unsigned char>(n, 4, 0, 2);
        double *total = zeroed<double>(1), *t2 = zeroed<double>(1), *t3 = zeroed<double>(1);
        k241d<<<132 * 8, BLOCK>>>((float4 *)logits, (uchar4 *)labels, total, n / 4, 0.25f, 2.0f);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(total, 1);
        check("k241d", total, want, 0);
        k241e<<<132 * 8, BLOCK>>>((float4 *)logits, (uchar4 *)labels, t2, n / 4, 0.25f);
        check("k241e", t2, want, 1e-4);
        k241f<<<132 * 8, BLOCK>>>((float4 *)logits, (uchar4 *)labels, t3, n / 4, 0.25f);
        check("k241f", t3, want, 1e-4);
        MUST(cudaFree(logits));
        MUST(cudaFree(labels));
    }
    {
        const int n = 64 << 20;
        std::vector<int> ends(TENSORS);
        int end = 0, mean = n / TENSORS;
        for (int t = 0; t < TENSORS - 1; t++)
            ends[t] = end += (mean / 2 + int(scrambled(t, 5) % mean)) / 4 * 4;
        ends[TENSORS - 1] = n;
        for (int t = TENSORS - 2; t >= 0 && ends[t] > n; t--)
            ends[t] = n;
        int *e = on_device(ends);
        float *factors = input<float>(TENSORS, 6, 0.1, 1), *gradients = input<float>(n, 7, -1, 1), *out = output<float>(n);
        MUST(cudaMemcpyToSymbol(constant_ends, e, sizeof(int) * TENSORS, 0, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpyToSymbol(constant_factors, factors, sizeof(float) * TENSORS, 0, cudaMemcpyDeviceToDevice));
        k241g<<<n / 256, 256>>>(gradients, e, factors, out, n, TENSORS);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, n);
        check("k241g", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k241h<<<n / 256, 256>>>(gradients, e, factors, out, n, TENSORS);
        check("k241h", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k241i<<<n / 4 / 256, 256>>>((float4 *)gradients, e, factors, (float4 *)out, n / 4, TENSORS);
        check("k241i", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k241j<<<n / 4 / 256, 256>>>((float4 *)gradients, (float4 *)out, n / 4, TENSORS);
        check("k241j", out, want, 0);
    }
    return 0;
}
