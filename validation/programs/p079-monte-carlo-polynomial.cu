// Monte-Carlo paths of two correlated assets, and the sum of a polynomial over many points.
#include "../harness.h"

__constant__ int steps;
__constant__ float rho, alpha, con1, con2, discount;

__global__ void k79a(const float *z, float *v)
{
    int at = 2 * steps * (threadIdx.x + blockIdx.x * blockDim.x);
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < steps; n++) {
        float y1 = z[at];
        at += 1;
        float y2 = rho * y1 + alpha * z[at];
        at += 1;
        s1 = s1 * (con1 + con2 * y1);
        s2 = s2 * (con1 + con2 * y2);
    }
    float payoff = fmaxf(0.0f, 0.5f * (s1 + s2) - 1.0f) * discount;
    v[threadIdx.x + blockIdx.x * blockDim.x] = payoff;
}

__global__ void k79b(const float *z, float *v)
{
    int at = threadIdx.x + 2 * steps * blockIdx.x * blockDim.x;
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < steps; n++) {
        float y1 = z[at];
        at += blockDim.x;
        float y2 = rho * y1 + alpha * z[at];
        at += blockDim.x;
        s1 = s1 * (con1 + con2 * y1);
        s2 = s2 * (con1 + con2 * y2);
    }
    float payoff = fmaxf(0.0f, 0.5f * (s1 + s2) - 1.0f) * discount;
    v[threadIdx.x + blockIdx.x * blockDim.x] = payoff;
}

__global__ void k79c(const float *__restrict__ z, float *__restrict__ v)
{
    int at = threadIdx.x + 2 * steps * blockIdx.x * blockDim.x;
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < steps; n++) {
        float y1 = __ldg(&z[at]);
        at += blockDim.x;
        float y2 = rho * y1 + alpha * __ldg(&z[at]);
        at += blockDim.x;
        s1 = s1 * (con1 + con2 * y1);
        s2 = s2 * (con1 + con2 * y2);
    }
    float payoff = fmaxf(0.0f, 0.5f * (s1 + s2) - 1.0f) * discount;
    v[threadIdx.x + blockIdx.x * blockDim.x] = payoff;
}

// The numbers of each block of threads in the order of k79b.
__global__ void interleave(const float *z, float *moved, int block, int per_path, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    size_t group = (size_t)block * per_path;
    size_t g = i / group, in = i % group;
    size_t thread = in / per_path, k = in % per_path;
    moved[g * group + k * block + thread] = z[i];
}

const int ORDER = 10;
__constant__ float coefficient[ORDER];

__device__ inline void add_block(float sum, float *total)
{
    extern __shared__ float partial[];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(total, partial[0]);
}

__global__ void k79d(const float *x, int n, float *total)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float r = x[i];
        float value = 0.0f;
        for (int k = 0; k < ORDER; k++)
            value += coefficient[k] * powf(r, k);
        sum += value;
    }
    add_block(sum, total);
}

__global__ void k79e(const float *x, int n, float *total)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float r = x[i];
        float value = 0.0f;
        float power = 1.0f;
        for (int k = 0; k < ORDER; k++) {
            value += coefficient[k] * power;
            power *= r;
        }
        sum += value;
    }
    atomicAdd(total, sum);
}

__global__ void k79f(const float *x, int n, float *total)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float r = x[i];
        float value = 0.0f;
        float power = 1.0f;
        for (int k = 0; k < ORDER; k++) {
            value += coefficient[k] * power;
            power *= r;
        }
        sum += value;
    }
    add_block(sum, total);
}

__device__ inline float polynomial(float r)
{
    float value = 0.0f;
    float power = 1.0f;
    for (int k = 0; k < ORDER; k++) {
        value += coefficient[k] * power;
        power *= r;
    }
    return value;
}

// n is the number of fours.
__global__ void k79g(const float4 *x, int n, float *total)
{
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float4 r = x[i];
        sum += polynomial(r.x) + polynomial(r.y) + polynomial(r.z) + polynomial(r.w);
    }
    add_block(sum, total);
}

int main()
{
    {
        const int paths = 960000, n = 100, block = 128;
        const size_t numbers = (size_t)2 * n * paths;
        const float r = 0.05f, sigma = 0.1f, time = 1.0f, correlation = 0.5f, dt = time / n;
        const float h_alpha = std::sqrt(1.0f - correlation * correlation), h_con1 = 1.0f + r * dt,
                    h_con2 = std::sqrt(dt) * sigma, h_discount = std::exp(-r * time);
        MUST(cudaMemcpyToSymbol(steps, &n, sizeof(int)));
        MUST(cudaMemcpyToSymbol(rho, &correlation, sizeof(float)));
        MUST(cudaMemcpyToSymbol(alpha, &h_alpha, sizeof(float)));
        MUST(cudaMemcpyToSymbol(con1, &h_con1, sizeof(float)));
        MUST(cudaMemcpyToSymbol(con2, &h_con2, sizeof(float)));
        MUST(cudaMemcpyToSymbol(discount, &h_discount, sizeof(float)));

        float *z = input<float>(numbers, 791, -1.732, 1.732), *moved = output<float>(numbers);
        interleave<<<unsigned((numbers + 255) / 256), 256>>>(z, moved, block, 2 * n, numbers);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());

        // The first paths on the host.
        const int sample = 4096;
        const std::vector<float> hz = on_host(z, (size_t)2 * n * sample);
        std::vector<float> want(sample);
        for (int p = 0; p < sample; p++) {
            double s1 = 1.0, s2 = 1.0;
            for (int k = 0; k < n; k++) {
                double y1 = hz[(size_t)2 * n * p + 2 * k];
                double y2 = correlation * y1 + double(h_alpha) * hz[(size_t)2 * n * p + 2 * k + 1];
                s1 *= double(h_con1) + double(h_con2) * y1;
                s2 *= double(h_con1) + double(h_con2) * y2;
            }
            want[p] = float(std::fmax(0.0, 0.5 * (s1 + s2) - 1.0) * h_discount);
        }
        float *v = output<float>(paths);
        k79a<<<paths / block, block>>>(z, v);
        check("k79a", v, want, 1e-4);
        const std::vector<float> all = on_host(v, paths);

        v = output<float>(paths);
        k79b<<<paths / block, block>>>(moved, v);
        check("k79b", v, all, 1e-4);

        v = output<float>(paths);
        k79c<<<paths / block, block>>>(moved, v);
        check("k79c", v, all, 1e-4);
        MUST(cudaFree(z));
        MUST(cudaFree(moved));
    }
    {
        const int n = 1 << 26, block = 256, blocks = 4096;
        const float c[ORDER] = {0.5f, 1.5f, 0.75f, 2.0f, 0.25f, 1.25f, 1.0f, 0.3f, 1.7f, 0.6f};
        MUST(cudaMemcpyToSymbol(coefficient, c, sizeof(c)));
        float *x = input<float>(n, 792, 0.0, 1.0);
        std::vector<float> want(1);
        {
            const std::vector<float> hx = on_host(x, n);
            double sum = 0.0;
            for (int i = 0; i < n; i++) {
                float value = c[ORDER - 1];
                for (int k = ORDER - 2; k >= 0; k--)
                    value = value * hx[i] + c[k];
                sum += value;
            }
            want[0] = float(sum);
        }
        float *total = zeroed<float>(1);
        k79d<<<blocks, block, block * sizeof(float)>>>(x, n, total);
        check("k79d", total, want, 2e-3);

        total = zeroed<float>(1);
        k79e<<<blocks, block>>>(x, n, total);
        check("k79e", total, want, 2e-3);

        total = zeroed<float>(1);
        k79f<<<blocks, block, block * sizeof(float)>>>(x, n, total);
        check("k79f", total, want, 2e-3);

        total = zeroed<float>(1);
        k79g<<<blocks, block, block * sizeof(float)>>>(reinterpret_cast<const float4 *>(x), n / 4, total);
        check("k79g", total, want, 2e-3);
        MUST(cudaFree(x));
    }
    return 0;
}
