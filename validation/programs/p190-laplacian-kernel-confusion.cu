// Predictions of a kernel machine with the Laplacian kernel exp(-gamma |x - s|_1), the confusion counts of a classifier
// at a threshold, and the standardisation of a table of 64 features.
#include "../harness.h"

#include <functional>

const int SAMPLES = 132 * 1024, DIM = 16, CENTRES = 512, THREADS = 128;
const float GAMMA = 0.5f;

__global__ void k190a(float *out, const float *x, const float *centre, const float *weight, int n, int dim, int centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int j = 0; j < centres; j++) {
        float distance = 0.0f;
        for (int d = 0; d < dim; d++)
            distance += fabsf(x[i * dim + d] - centre[j * dim + d]);
        sum += weight[j] * expf(-GAMMA * distance);
    }
    out[i] = sum;
}

// Here feature d of sample i is xt[d * n + i].
__global__ void k190b(float *out, const float *xt, const float *centre, const float *weight, int n, int dim, int centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int j = 0; j < centres; j++) {
        float distance = 0.0f;
        for (int d = 0; d < dim; d++)
            distance += fabsf(xt[d * n + i] - centre[j * dim + d]);
        sum += weight[j] * expf(-GAMMA * distance);
    }
    out[i] = sum;
}

// Two samples per thread.
__global__ void __launch_bounds__(THREADS, 4)
    k190c(float *__restrict__ out, const float *__restrict__ xt, const float4 *__restrict__ centre,
          const float *__restrict__ weight)
{
    __shared__ float4 s[CENTRES][DIM / 4];
    __shared__ float w[CENTRES];
    int i = blockIdx.x * (2 * THREADS) + threadIdx.x;
    for (int t = threadIdx.x; t < CENTRES * DIM / 4; t += THREADS)
        s[t / (DIM / 4)][t % (DIM / 4)] = centre[t];
    for (int t = threadIdx.x; t < CENTRES; t += THREADS)
        w[t] = weight[t];
    float u[DIM], v[DIM];
#pragma unroll
    for (int d = 0; d < DIM; d++) {
        u[d] = xt[d * SAMPLES + i];
        v[d] = xt[d * SAMPLES + i + THREADS];
    }
    __syncthreads();
    float sum_u = 0.0f, sum_v = 0.0f;
#pragma unroll 2
    for (int j = 0; j < CENTRES; j++) {
        float du = 0.0f, dv = 0.0f;
#pragma unroll
        for (int d = 0; d < DIM; d += 4) {
            float4 c = s[j][d / 4];
            du += fabsf(u[d] - c.x);
            dv += fabsf(v[d] - c.x);
            du += fabsf(u[d + 1] - c.y);
            dv += fabsf(v[d + 1] - c.y);
            du += fabsf(u[d + 2] - c.z);
            dv += fabsf(v[d + 2] - c.z);
            du += fabsf(u[d + 3] - c.w);
            dv += fabsf(v[d + 3] - c.w);
        }
        sum_u += w[j] * __expf(-GAMMA * du);
        sum_v += w[j] * __expf(-GAMMA * dv);
    }
    out[i] = sum_u;
    out[i + THREADS] = sum_v;
}

const int SCORES = 1 << 26, COUNT_BLOCKS = 132 * 4;

// counts: true negatives, false negatives, false positives, true positives.
__global__ void k190d(unsigned *counts, const float *score, const unsigned char *label, float threshold, int n)
{
    __shared__ unsigned local[4];
    if (threadIdx.x < 4)
        local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&local[(score[i] >= threshold ? 2 : 0) + label[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

// Adds the counts of the threads of a block to the totals: all samples, positives, labelled, and both.
__device__ inline void add_counts(unsigned *counts, unsigned all, unsigned positive, unsigned labelled, unsigned both)
{
    __shared__ unsigned local[4];
    if (threadIdx.x < 4)
        local[threadIdx.x] = 0;
    __syncthreads();
    all = __reduce_add_sync(0xffffffffu, all);
    positive = __reduce_add_sync(0xffffffffu, positive);
    labelled = __reduce_add_sync(0xffffffffu, labelled);
    both = __reduce_add_sync(0xffffffffu, both);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&local[0], all - positive - labelled + both);
        atomicAdd(&local[1], labelled - both);
        atomicAdd(&local[2], positive - both);
        atomicAdd(&local[3], both);
    }
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

__global__ void k190e(unsigned *counts, const float *score, const unsigned char *label, float threshold, int n)
{
    unsigned all = 0, positive = 0, labelled = 0, both = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned p = score[i] >= threshold, l = label[i];
        all++;
        positive += p;
        labelled += l;
        both += p & l;
    }
    add_counts(counts, all, positive, labelled, both);
}

__global__ void k190f(unsigned *__restrict__ counts, const float4 *__restrict__ score, const uchar4 *__restrict__ label,
                      float threshold, int n)
{
    unsigned all = 0, positive = 0, labelled = 0, both = 0;
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 s = score[i];
        uchar4 l = label[i];
        unsigned p0 = s.x >= threshold, p1 = s.y >= threshold, p2 = s.z >= threshold, p3 = s.w >= threshold;
        all += 4;
        positive += p0 + p1 + p2 + p3;
        labelled += l.x + l.y + l.z + l.w;
        both += (p0 & l.x) + (p1 & l.y) + (p2 & l.z) + (p3 & l.w);
    }
    add_counts(counts, all, positive, labelled, both);
}

const int ROWS = 1 << 20, FEATURES = 64;

__global__ void k190g(float *out, const float *in, const float *mean, const float *deviation, int rows, int features)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int f = 0; f < features; f++)
        out[row * features + f] = (in[row * features + f] - mean[f]) / deviation[f];
}

__global__ void k190h(float4 *__restrict__ out, const float4 *__restrict__ in, const float4 *__restrict__ mean,
                      const float4 *__restrict__ deviation)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int f = i % (FEATURES / 4);
    float4 v = in[i], m = mean[f], d = deviation[f];
    out[i] = make_float4((v.x - m.x) / d.x, (v.y - m.y) / d.y, (v.z - m.z) / d.z, (v.w - m.w) / d.w);
}

__global__ void k190i(float4 *__restrict__ out, const float4 *__restrict__ in, const float4 *__restrict__ mean,
                      const float4 *__restrict__ inverse)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int f = i % (FEATURES / 4);
    float4 v = in[i], m = mean[f], d = inverse[f];
    out[i] = make_float4((v.x - m.x) * d.x, (v.y - m.y) * d.y, (v.z - m.z) * d.z, (v.w - m.w) * d.w);
}

// Poisons the output, launches, and compares its first numbers and its last ones.
void test(const char *name, float *got, size_t n, const std::vector<float> (&ends)[2], double tolerance,
          std::function<void()> launch)
{
    MUST(cudaMemset(got, 0xA5, n * sizeof(float)));
    launch();
    check(name, got, ends[0], tolerance);
    check(name, got + (n - ends[1].size()), ends[1], tolerance);
}

int main()
{
    {
        const int part = 4096;
        float *x = input<float>((size_t)SAMPLES * DIM, 1901, 0.0, 1.0), *out = output<float>(SAMPLES);
        float *centre = input<float>(CENTRES * DIM, 1902, 0.0, 1.0), *weight = input<float>(CENTRES, 1903, -1.0, 1.0);
        std::vector<float> hx = on_host(x, (size_t)SAMPLES * DIM), hs = on_host(centre, CENTRES * DIM);
        std::vector<float> hw = on_host(weight, CENTRES), turned(hx.size()), ends[2];
        for (size_t i = 0; i < SAMPLES; i++)
            for (int d = 0; d < DIM; d++)
                turned[(size_t)d * SAMPLES + i] = hx[i * DIM + d];
        float *xt = on_device(turned);
        for (int e = 0; e < 2; e++)
            for (int i = e ? SAMPLES - part : 0; i < (e ? SAMPLES : part); i++) {
                double sum = 0;
                for (int j = 0; j < CENTRES; j++) {
                    float distance = 0.0f;
                    for (int d = 0; d < DIM; d++)
                        distance += std::fabs(hx[(size_t)i * DIM + d] - hs[j * DIM + d]);
                    sum += hw[j] * std::exp(-GAMMA * distance);
                }
                ends[e].push_back(float(sum));
            }
        const int blocks = SAMPLES / THREADS;
        test("k190a", out, SAMPLES, ends, 1e-4,
             [&] { k190a<<<blocks, THREADS>>>(out, x, centre, weight, SAMPLES, DIM, CENTRES); });
        test("k190b", out, SAMPLES, ends, 1e-4,
             [&] { k190b<<<blocks, THREADS>>>(out, xt, centre, weight, SAMPLES, DIM, CENTRES); });
        test("k190c", out, SAMPLES, ends, 1e-4,
             [&] { k190c<<<blocks / 2, THREADS>>>(out, xt, (const float4 *)centre, weight); });
    }
    {
        const float threshold = 0.625f;
        float *score = input<float>(SCORES, 1904, 0.0, 1.0);
        unsigned char *label = input<unsigned char>(SCORES, 1905, 0.0, 2.0);
        unsigned *counts = output<unsigned>(4);
        std::vector<float> hs = on_host(score, SCORES);
        std::vector<unsigned char> hl = on_host(label, SCORES);
        std::vector<unsigned> want(4);
        for (int i = 0; i < SCORES; i++)
            want[(hs[i] >= threshold) * 2 + hl[i]]++;
        auto confusion = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(counts, 0, 4 * sizeof(unsigned)));
            launch();
            check(name, counts, want, 0.0);
        };
        confusion("k190d", [&] { k190d<<<SCORES / 256, 256>>>(counts, score, label, threshold, SCORES); });
        confusion("k190e", [&] { k190e<<<COUNT_BLOCKS, 256>>>(counts, score, label, threshold, SCORES); });
        confusion("k190f", [&] {
            k190f<<<COUNT_BLOCKS, 256>>>(counts, (const float4 *)score, (const uchar4 *)label, threshold, SCORES);
        });
        MUST(cudaFree(score));
        MUST(cudaFree(label));
    }
    const size_t n = (size_t)ROWS * FEATURES, part = 16384 * FEATURES;
    float *in = input<float>(n, 1906, -4.0, 4.0), *out = output<float>(n);
    float *mean = input<float>(FEATURES, 1907, -1.0, 1.0), *deviation = input<float>(FEATURES, 1908, 0.5, 2.0);
    std::vector<float> hm = on_host(mean, FEATURES), hd = on_host(deviation, FEATURES), hi(FEATURES), ends[2];
    for (int f = 0; f < FEATURES; f++)
        hi[f] = 1.0f / hd[f];
    float *inverse = on_device(hi);
    for (int e = 0; e < 2; e++) {
        ends[e] = on_host(in + (e ? n - part : 0), part);
        for (size_t i = 0; i < part; i++)
            ends[e][i] = (ends[e][i] - hm[i % FEATURES]) / hd[i % FEATURES];
    }
    float4 *o4 = (float4 *)out;
    const float4 *i4 = (const float4 *)in, *m4 = (const float4 *)mean;
    test("k190g", out, n, ends, 1e-6, [&] { k190g<<<ROWS / 256, 256>>>(out, in, mean, deviation, ROWS, FEATURES); });
    test("k190h", out, n, ends, 1e-6, [&] { k190h<<<n / 1024, 256>>>(o4, i4, m4, (const float4 *)deviation); });
    test("k190i", out, n, ends, 1e-6, [&] { k190i<<<n / 1024, 256>>>(o4, i4, m4, (const float4 *)inverse); });
    return 0;
}
