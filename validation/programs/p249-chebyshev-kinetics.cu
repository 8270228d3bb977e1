// A Chebyshev series of 64 terms evaluated at many arguments, and kinetics of four quantities in every cell.
#include "../harness.h"

constexpr int TERMS = 64;
__constant__ float coefficient[TERMS];

// sum of c[k] T_k(x)
__global__ void k249a(const float *__restrict__ x, const float *__restrict__ c, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float angle = acosf(x[i]), sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TERMS; k++)
        sum += c[k] * cosf(k * angle);
    y[i] = sum;
}

__global__ void k249b(const float *__restrict__ x, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float angle = acosf(x[i]), sum = 0.0f;
#pragma unroll
    for (int k = 0; k < TERMS; k++)
        sum += coefficient[k] * cosf(k * angle);
    y[i] = sum;
}

// Clenshaw's recurrence
__global__ void k249c(const float *__restrict__ x, const float *__restrict__ c, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float t = x[i], t2 = 2.0f * t, b1 = 0.0f, b2 = 0.0f;
#pragma unroll
    for (int k = TERMS - 1; k > 0; k--) {
        float b = t2 * b1 + (c[k] - b2);
        b2 = b1;
        b1 = b;
    }
    y[i] = t * b1 + (c[0] - b2);
}

__global__ void k249d(const float *__restrict__ x, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float t = x[i], t2 = 2.0f * t, b1 = 0.0f, b2 = 0.0f;
#pragma unroll
    for (int k = TERMS - 1; k > 0; k--) {
        float b = t2 * b1 + (coefficient[k] - b2);
        b2 = b1;
        b1 = b;
    }
    y[i] = t * b1 + (coefficient[0] - b2);
}

constexpr int STEPS = 16;
constexpr float DT = 0.02f;

// reactant, substrate, population or intensity: sixteen explicit steps of its own rate law
__device__ __forceinline__ float kinetics(int quantity, float y)
{
    switch (quantity) {
    case 0:
        for (int s = 0; s < STEPS; s++)
            y += DT * (1.5f - y) * expf(-2.0f / (1.0f + y));
        break;
    case 1:
        for (int s = 0; s < STEPS; s++)
            y -= DT * 3.0f * y / (0.4f + y);
        break;
    case 2:
        for (int s = 0; s < STEPS; s++)
            y += DT * y * (1.0f - y) / (1.0f + y * y);
        break;
    default:
        for (int s = 0; s < STEPS; s++)
            y -= DT * y * y / (1.0f + expf(-y));
    }
    return y;
}

__device__ __forceinline__ float kinetics_fast(int quantity, float y)
{
    switch (quantity) {
    case 0:
        for (int s = 0; s < STEPS; s++)
            y += DT * (1.5f - y) * __expf(__fdividef(-2.0f, 1.0f + y));
        break;
    case 1:
        for (int s = 0; s < STEPS; s++)
            y -= __fdividef(DT * 3.0f * y, 0.4f + y);
        break;
    case 2:
        for (int s = 0; s < STEPS; s++)
            y += __fdividef(DT * y * (1.0f - y), 1.0f + y * y);
        break;
    default:
        for (int s = 0; s < STEPS; s++)
            y -= __fdividef(DT * y * y, 1.0f + __expf(-y));
    }
    return y;
}

// state: [cell][4]
__global__ void k249e(const float *__restrict__ state, float *__restrict__ next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = kinetics(i % 4, state[i]);
}

// a block has 32 cells, each of its four warps one quantity of them
__global__ void k249f(const float *__restrict__ state, float *__restrict__ next)
{
    int quantity = threadIdx.x / 32, cell = blockIdx.x * 32 + threadIdx.x % 32;
    next[cell * 4 + quantity] = kinetics(quantity, state[cell * 4 + quantity]);
}

__global__ void k249g(const float *__restrict__ state, float *__restrict__ next)
{
    int quantity = threadIdx.x / 32, cell = blockIdx.x * 32 + threadIdx.x % 32;
    next[cell * 4 + quantity] = kinetics_fast(quantity, state[cell * 4 + quantity]);
}

int main()
{
    const int n = 1 << 24;
    float *x = input<float>(n, 1, -1.0, 1.0);
    std::vector<float> hc(TERMS), some = on_host(x, 4000);
    for (int k = 0; k < TERMS; k++)
        hc[k] = float((scrambled(k, 2) / 2147483648.0 - 1.0) / (1 + k));
    float *c = on_device(hc);
    MUST(cudaMemcpyToSymbol(coefficient, hc.data(), sizeof(coefficient)));
    for (float &v : some) {
        double angle = acos(double(v)), sum = 0;
        for (int k = 0; k < TERMS; k++)
            sum += hc[k] * cos(k * angle);
        v = float(sum);
    }
    float *y = output<float>(n);
    auto poison = [&] { MUST(cudaMemset(y, 0xA5, n * sizeof(float))); };
    k249a<<<n / 256, 256>>>(x, c, y);
    check("k249a", y, some, 3e-3);
    std::vector<float> want = on_host(y, n);
    poison();
    k249b<<<n / 256, 256>>>(x, y);
    check("k249b", y, want, 3e-3);
    poison();
    k249c<<<n / 256, 256>>>(x, c, y);
    check("k249c", y, want, 3e-3);
    poison();
    k249d<<<n / 256, 256>>>(x, y);
    check("k249d", y, want, 3e-3);

    float *state = input<float>(n, 3, 0.1, 1.2);
    some = on_host(state, 4000);
    for (int i = 0; i < 4000; i++) {
        double v = some[i];
        for (int s = 0; s < STEPS; s++)
            v += i % 4 == 0   ? DT * (1.5 - v) * exp(-2 / (1 + v))
                 : i % 4 == 1 ? -DT * 3 * v / (0.4 + v)
                 : i % 4 == 2 ? DT * v * (1 - v) / (1 + v * v)
                              : -DT * v * v / (1 + exp(-v));
        some[i] = float(v);
    }
    poison();
    k249e<<<n / 128, 128>>>(state, y);
    check("k249e", y, some, 1e-4);
    want = on_host(y, n);
    poison();
    k249f<<<n / 128, 128>>>(state, y);
    check("k249f", y, want, 1e-4);
    poison();
    k249g<<<n / 128, 128>>>(state, y);
    check("k249g", y, want, 1e-4);
}
