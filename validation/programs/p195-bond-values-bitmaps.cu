// Present values of eight million annuity bonds, and the number of rows set in both of two bitmap indices.
#include "../harness.h"

#include <functional>

struct Bond {
    int id;
    float face, coupon, yield;
    int periods, currency;
    float spread;
    int rating;
};

__global__ void k195a(const Bond *bond, float *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int t = 1; t <= bond[i].periods; t++) {
        float flow = bond[i].coupon;
        if (t == bond[i].periods)
            flow += bond[i].face;
        sum += flow / powf(1.0f + bond[i].yield, float(t));
    }
    value[i] = sum;
}

__global__ void k195b(const Bond *bond, float *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int periods = bond[i].periods;
    const float coupon = bond[i].coupon, step = 1.0f / (1.0f + bond[i].yield);
    float sum = 0.0f, factor = 1.0f;
    for (int t = 1; t <= periods; t++) {
        factor *= step;
        sum += coupon * factor;
    }
    value[i] = sum + bond[i].face * factor;
}

__global__ void k195c(const Bond *bond, float *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float yield = bond[i].yield;
    float last = exp2f(-float(bond[i].periods) * log2f(1.0f + yield));
    value[i] = bond[i].coupon * (1.0f - last) / yield + bond[i].face * last;
}

__global__ void k195d(const float *__restrict__ face, const float *__restrict__ coupon,
                      const float *__restrict__ yields, const int *__restrict__ periods, float *__restrict__ value,
                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float yield = yields[i];
    float last = exp2f(-float(periods[i]) * log2f(1.0f + yield));
    value[i] = coupon[i] * (1.0f - last) / yield + face[i] * last;
}

__global__ void k195e(const float *__restrict__ face, const float *__restrict__ coupon,
                      const float *__restrict__ yields, const int *__restrict__ periods, float *__restrict__ value,
                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float yield = yields[i];
    float last = __powf(1.0f + yield, -float(periods[i]));
    value[i] = __fdividef(coupon[i] * (1.0f - last), yield) + face[i] * last;
}

__global__ void k195f(const unsigned *a, const unsigned *b, unsigned *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(total, __popc(a[i] & b[i]));
}

__global__ void k195g(const unsigned *a, const unsigned *b, unsigned *total, int n)
{
    __shared__ unsigned part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? __popc(a[i] & b[i]) : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, part[0]);
}

__global__ void k195h(const uint4 *__restrict__ a, const uint4 *__restrict__ b, unsigned *__restrict__ total, int n)
{
    __shared__ unsigned part[8];
    unsigned sum = 0;
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 u = a[i], v = b[i];
        sum += __popc(u.x & v.x) + __popc(u.y & v.y) + __popc(u.z & v.z) + __popc(u.w & v.w);
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            sum += part[w];
        atomicAdd(total, sum);
    }
}

__global__ void fill_bonds(Bond *bond, const float *face, const float *coupon, const float *yield, const int *periods,
                           int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        bond[i] = Bond{i, face[i], coupon[i], yield[i], periods[i], i % 7, 0.0f, i % 11};
}

__global__ void fill_samples(float *picked, const float *all, int count, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        picked[i] = all[i * step];
}

int main()
{
    const int n = 8 << 20, blocks = n / 256, step = 31, count = (n - 1) / step + 1;
    float *face = input<float>(n, 1951, 50.0, 150.0), *coupon = input<float>(n, 1952, 0.1, 2.0);
    float *yield = input<float>(n, 1953, 0.002, 0.02), *value = output<float>(n), *some = output<float>(count);
    int *periods = input<int>(n, 1954, 12, 121);
    Bond *bond = output<Bond>(n);
    fill_bonds<<<blocks, 256>>>(bond, face, coupon, yield, periods, n);
    MUST(cudaDeviceSynchronize());

    std::vector<float> hf = on_host(face, n), hc = on_host(coupon, n), hy = on_host(yield, n), want(count);
    std::vector<int> hp = on_host(periods, n);
    for (int k = 0; k < count; k++) {
        int i = k * step;
        double sum = 0, factor = 1;
        for (int t = 1; t <= hp[i]; t++) {
            factor /= 1.0 + hy[i];
            sum += hc[i] * factor;
        }
        want[k] = float(sum + hf[i] * factor);
    }
    auto bonds = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(value, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_samples<<<(count + 255) / 256, 256>>>(some, value, count, step);
        check(name, some, want, 3e-4);
    };
    bonds("k195a", [&] { k195a<<<blocks, 256>>>(bond, value, n); });
    bonds("k195b", [&] { k195b<<<blocks, 256>>>(bond, value, n); });
    bonds("k195c", [&] { k195c<<<blocks, 256>>>(bond, value, n); });
    bonds("k195d", [&] { k195d<<<blocks, 256>>>(face, coupon, yield, periods, value, n); });
    bonds("k195e", [&] { k195e<<<blocks, 256>>>(face, coupon, yield, periods, value, n); });

    const int words = 32 << 20;
    unsigned *left = input<unsigned>(words, 1955, 0.0, 4294967296.0);
    unsigned *right = input<unsigned>(words, 1956, 0.0, 4294967296.0), *total = zeroed<unsigned>(1);
    std::vector<unsigned> hl = on_host(left, words), hr = on_host(right, words), both(1);
    for (int i = 0; i < words; i++)
        both[0] += __builtin_popcount(hl[i] & hr[i]);
    auto rows = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(total, 0, sizeof(unsigned)));
        launch();
        check(name, total, both, 0.0);
    };
    const uint4 *left4 = reinterpret_cast<const uint4 *>(left), *right4 = reinterpret_cast<const uint4 *>(right);
    rows("k195f", [&] { k195f<<<words / 256, 256>>>(left, right, total, words); });
    rows("k195g", [&] { k195g<<<words / 256, 256>>>(left, right, total, words); });
    rows("k195h", [&] { k195h<<<132 * 8, 256>>>(left4, right4, total, words / 4); });
    return 0;
}
