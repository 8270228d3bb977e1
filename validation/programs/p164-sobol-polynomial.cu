// Sobol numbers for many dimensions, and a polynomial of degree 255 evaluated for every element of an array.
#include "../harness.h"

#include <functional>

const int VECTORS = 1 << 20, DIMENSIONS = 128, BITS = 32;
const float TO_UNIT = 2.3283064e-10f;

// Number i of every dimension: exclusive or of the directions that the Gray code of i selects.
__global__ void k164a(float *out, const unsigned *directions, int vectors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int dimension = blockIdx.y;
    if (i < vectors) {
        unsigned gray = i ^ (i >> 1), x = 0;
        for (int k = 0; k < BITS; k++)
            if (gray >> k & 1)
                x ^= directions[dimension * BITS + k];
        out[(size_t)dimension * vectors + i] = (float)x * TO_UNIT;
    }
}

// Thread t makes numbers t, t + stride, ...; stride is a power of two.
__device__ __forceinline__ void leap(float *out, const unsigned *directions, int vectors)
{
    __shared__ unsigned v[BITS];
    int dimension = blockIdx.y;
    if (threadIdx.x < BITS)
        v[threadIdx.x] = directions[dimension * BITS + threadIdx.x];
    __syncthreads();

    out += (size_t)dimension * vectors;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned stride = gridDim.x * blockDim.x;
    unsigned gray = i ^ (i >> 1), x = 0;
    int log2stride = __ffs(stride) - 1;
    for (int k = 0; k < log2stride; k++) {
        x ^= -(gray & 1) & v[k];
        gray >>= 1;
    }
    unsigned low = v[log2stride - 1], mask = stride - 1;
    if (i < vectors)
        out[i] = (float)x * TO_UNIT;
    for (i += stride; i < vectors; i += stride) {
        x ^= low ^ v[__ffs(~((i - stride) | mask)) - 1];
        out[i] = (float)x * TO_UNIT;
    }
}

__global__ void k164b(float *out, const unsigned *directions, int vectors)
{
    leap(out, directions, vectors);
}

__global__ void k164c(float *out, const unsigned *directions, int vectors)
{
    leap(out, directions, vectors);
}

const int DEGREE = 255;

__constant__ float poly_const[DEGREE + 1];

__global__ void k164d(float *out, const float *in, const float *poly, int degree, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], sum = 0.0f, power = 1.0f;
        for (int k = 0; k <= degree; k++) {
            sum += power * poly[k];
            power *= x;
        }
        out[i] = sum;
    }
}

__global__ void k164e(float *out, const float *in, int degree, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], sum = 0.0f, power = 1.0f;
        for (int k = 0; k <= degree; k++) {
            sum += power * poly_const[k];
            power *= x;
        }
        out[i] = sum;
    }
}

__global__ void k164f(float *out, const float *in, int degree, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], sum = poly_const[degree];
        for (int k = degree - 1; k >= 0; k--)
            sum = sum * x + poly_const[k];
        out[i] = sum;
    }
}

__global__ void k164g(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], sum = poly_const[DEGREE];
#pragma unroll
        for (int k = DEGREE - 1; k >= 0; k--)
            sum = sum * x + poly_const[k];
        out[i] = sum;
    }
}

__global__ void k164h(float4 *out, const float4 *in, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 x = in[i], sum;
        sum.x = sum.y = sum.z = sum.w = poly_const[DEGREE];
#pragma unroll
        for (int k = DEGREE - 1; k >= 0; k--) {
            float c = poly_const[k];
            sum.x = sum.x * x.x + c;
            sum.y = sum.y * x.y + c;
            sum.z = sum.z * x.z + c;
            sum.w = sum.w * x.w + c;
        }
        out[i] = sum;
    }
}

__global__ void pick_every(float *picked, const float *all, size_t count, size_t step)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        picked[i] = all[i * step];
}

int main()
{
    // Direction k of a dimension: an odd number below 2^(k+1), shifted to the top.
    std::vector<unsigned> table(DIMENSIONS * BITS);
    for (int d = 0; d < DIMENSIONS; d++)
        for (int k = 0; k < BITS; k++) {
            unsigned m = (scrambled(d * BITS + k, 1641) >> (31 - k)) | 1u;
            table[d * BITS + k] = m << (31 - k);
        }
    unsigned *directions = on_device(table);
    const size_t numbers = (size_t)VECTORS * DIMENSIONS, step = 61, some = (numbers - 1) / step + 1;
    float *out = output<float>(numbers), *picked = output<float>(some);
    std::vector<float> want(some);
    for (size_t s = 0; s < some; s++) {
        size_t at = s * step;
        unsigned i = unsigned(at % VECTORS), gray = i ^ (i >> 1), x = 0;
        const unsigned *v = &table[at / VECTORS * BITS];
        for (int k = 0; gray; k++, gray >>= 1)
            if (gray & 1)
                x ^= v[k];
        want[s] = (float)x * TO_UNIT;
    }
    auto sobol = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, numbers * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<1056, 256>>>(picked, out, some, step);
        check(name, picked, want, 1e-6);
    };
    sobol("k164a", [&] { k164a<<<dim3(VECTORS / 256, DIMENSIONS), 256>>>(out, directions, VECTORS); });
    sobol("k164b", [&] { k164b<<<dim3(1, DIMENSIONS), 64>>>(out, directions, VECTORS); });
    sobol("k164c", [&] { k164c<<<dim3(32, DIMENSIONS), 256>>>(out, directions, VECTORS); });
    MUST(cudaFree(out));

    const int n = 1 << 25;
    float *x = input<float>(n, 1642, -1.0, 1.0), *y = output<float>(n);
    float *poly = input<float>(DEGREE + 1, 1643, -1.0, 1.0);
    MUST(cudaMemcpyToSymbol(poly_const, poly, (DEGREE + 1) * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hp = on_host(poly, DEGREE + 1);
    const size_t every = 127, values = ((size_t)n - 1) / every + 1;
    float *few = output<float>(values);
    pick_every<<<1056, 256>>>(few, x, values, every);
    MUST(cudaDeviceSynchronize());
    std::vector<float> hx = on_host(few, values), expected(values);
    for (size_t s = 0; s < values; s++) {
        double sum = hp[DEGREE];
        for (int k = DEGREE - 1; k >= 0; k--)
            sum = sum * hx[s] + hp[k];
        expected[s] = float(sum);
    }
    auto evaluate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<1056, 256>>>(few, y, values, every);
        check(name, few, expected, 2e-4);
    };
    const int block = 256;
    evaluate("k164d", [&] { k164d<<<n / block, block>>>(y, x, poly, DEGREE, n); });
    evaluate("k164e", [&] { k164e<<<n / block, block>>>(y, x, DEGREE, n); });
    evaluate("k164f", [&] { k164f<<<n / block, block>>>(y, x, DEGREE, n); });
    evaluate("k164g", [&] { k164g<<<n / block, block>>>(y, x, n); });
    evaluate("k164h", [&] {
        k164h<<<n / 4 / block, block>>>((float4 *)y, (const float4 *)x, n / 4);
    });
    return 0;
}
