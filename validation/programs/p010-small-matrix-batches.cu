// Many small matrices: products of 8 x 8 float matrices stored one after the other, and inverses of 6 x 6 double
// matrices stored element by element (element e of matrix m at e * batch + m).
#include "../harness.h"

__global__ void k10a(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch)
        return;
    const float *A = a + (size_t)m * 64;
    const float *B = b + (size_t)m * 64;
    float *C = c + (size_t)m * 64;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0.0f;
            for (int k = 0; k < 8; k++)
                sum += A[i * 8 + k] * B[k * 8 + j];
            C[i * 8 + j] = sum;
        }
}

// A thread for each element, four matrices in a block.
__global__ void k10b(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c)
{
    size_t m = (size_t)blockIdx.x * 4 + threadIdx.x / 64;
    int e = threadIdx.x % 64;
    int i = e / 8, j = e % 8;
    const float *A = a + m * 64;
    const float *B = b + m * 64;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += A[i * 8 + k] * B[k * 8 + j];
    c[m * 64 + e] = sum;
}

__device__ inline void axpy(float4 &y, float s, float4 x)
{
    y.x += s * x.x;
    y.y += s * x.y;
    y.z += s * x.z;
    y.w += s * x.w;
}

// A thread for each row.
__global__ void k10c(const float4 *__restrict__ a, const float4 *__restrict__ b, float4 *__restrict__ c, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float4 a0 = a[row * 2], a1 = a[row * 2 + 1];
    const float4 *B = b + (size_t)(row / 8) * 16;
    float4 left = make_float4(0, 0, 0, 0), right = make_float4(0, 0, 0, 0);
    axpy(left, a0.x, B[0]);
    axpy(right, a0.x, B[1]);
    axpy(left, a0.y, B[2]);
    axpy(right, a0.y, B[3]);
    axpy(left, a0.z, B[4]);
    axpy(right, a0.z, B[5]);
    axpy(left, a0.w, B[6]);
    axpy(right, a0.w, B[7]);
    axpy(left, a1.x, B[8]);
    axpy(right, a1.x, B[9]);
    axpy(left, a1.y, B[10]);
    axpy(right, a1.y, B[11]);
    axpy(left, a1.z, B[12]);
    axpy(right, a1.z, B[13]);
    axpy(left, a1.w, B[14]);
    axpy(right, a1.w, B[15]);
    c[row * 2] = left;
    c[row * 2 + 1] = right;
}

#define N 6

// Gauss-Jordan elimination in place, without exchanges (the matrices are diagonally dominant).
__global__ void k10d(const double *__restrict__ in, double *__restrict__ out, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch)
        return;
    double w[N * N];
#pragma unroll 1
    for (int e = 0; e < N * N; e++)
        w[e] = in[(size_t)e * batch + m];
#pragma unroll 1
    for (int p = 0; p < N; p++) {
        double pivot = 1.0 / w[p * N + p];
        w[p * N + p] = 1.0;
#pragma unroll 1
        for (int j = 0; j < N; j++)
            w[p * N + j] *= pivot;
#pragma unroll 1
        for (int i = 0; i < N; i++) {
            if (i == p)
                continue;
            double factor = w[i * N + p];
            w[i * N + p] = 0.0;
#pragma unroll 1
            for (int j = 0; j < N; j++)
                w[i * N + j] -= factor * w[p * N + j];
        }
    }
#pragma unroll 1
    for (int e = 0; e < N * N; e++)
        out[(size_t)e * batch + m] = w[e];
}

__device__ __forceinline__ void invert(double (&w)[N * N])
{
#pragma unroll
    for (int p = 0; p < N; p++) {
        double pivot = 1.0 / w[p * N + p];
        w[p * N + p] = 1.0;
#pragma unroll
        for (int j = 0; j < N; j++)
            w[p * N + j] *= pivot;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (i == p)
                continue;
            double factor = w[i * N + p];
            w[i * N + p] = 0.0;
#pragma unroll
            for (int j = 0; j < N; j++)
                w[i * N + j] -= factor * w[p * N + j];
        }
    }
}

__global__ void k10e(const double *__restrict__ in, double *__restrict__ out, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch)
        return;
    double w[N * N];
#pragma unroll
    for (int e = 0; e < N * N; e++)
        w[e] = in[(size_t)e * batch + m];
    invert(w);
#pragma unroll
    for (int e = 0; e < N * N; e++)
        out[(size_t)e * batch + m] = w[e];
}

__global__ void __launch_bounds__(128, 10) k10f(const double *__restrict__ in, double *__restrict__ out, int batch)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch)
        return;
    double w[N * N];
#pragma unroll
    for (int e = 0; e < N * N; e++)
        w[e] = in[(size_t)e * batch + m];
    invert(w);
#pragma unroll
    for (int e = 0; e < N * N; e++)
        out[(size_t)e * batch + m] = w[e];
}

static void products()
{
    const int batch = 500000;
    const size_t n = (size_t)batch * 64;
    float *a = input<float>(n, 26, -1.0, 1.0), *b = input<float>(n, 27, -1.0, 1.0), *c = output<float>(n);
    const std::vector<float> ha = on_host(a, n), hb = on_host(b, n);
    std::vector<float> want(n);
    for (size_t m = 0; m < batch; m++)
        for (int i = 0; i < 8; i++) {
            float row[8] = {};
            for (int k = 0; k < 8; k++)
                for (int j = 0; j < 8; j++)
                    row[j] += ha[m * 64 + i * 8 + k] * hb[m * 64 + k * 8 + j];
            for (int j = 0; j < 8; j++)
                want[m * 64 + i * 8 + j] = row[j];
        }

    k10a<<<(batch + 127) / 128, 128>>>(a, b, c, batch);
    check("k10a", c, want, 1e-5);
    MUST(cudaMemset(c, 0xA5, n * sizeof(float)));
    k10b<<<batch / 4, 256>>>(a, b, c);
    check("k10b", c, want, 1e-5);
    MUST(cudaMemset(c, 0xA5, n * sizeof(float)));
    k10c<<<(batch * 8 + 255) / 256, 256>>>((const float4 *)a, (const float4 *)b, (float4 *)c, batch * 8);
    check("k10c", c, want, 1e-5);
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    MUST(cudaFree(c));
}

static void inverses()
{
    const int batch = 600000;
    std::vector<double> host((size_t)N * N * batch);
    for (int e = 0; e < N * N; e++)
        for (int m = 0; m < batch; m++)
            host[(size_t)e * batch + m] = scrambled((size_t)e * batch + m, 28) / 4294967296.0 + (e % (N + 1) == 0 ? 6.0 : -0.5);
    double *in = on_device(host), *out = output<double>(host.size());

    // Every 59th matrix and the last one: matrix times inverse is the identity.
    auto verify = [&](const char *kernel) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<double> inverse = on_host(out, host.size());
        size_t wrong = 0, looked_at = 0;
        for (int m = 0; m < batch; m = m < batch - 59 ? m + 59 : m == batch - 1 ? batch : batch - 1)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    double sum = 0;
                    for (int k = 0; k < N; k++)
                        sum += host[(size_t)(i * N + k) * batch + m] * inverse[(size_t)(k * N + j) * batch + m];
                    wrong += !(std::fabs(sum - (i == j)) < 1e-12);
                    looked_at++;
                }
        std::printf("%s: %zu of %zu wrong\n", kernel, wrong, looked_at);
        if (wrong)
            std::exit(2);
        MUST(cudaMemset(out, 0xA5, host.size() * sizeof(double)));
    };

    k10d<<<(batch + 127) / 128, 128>>>(in, out, batch);
    verify("k10d");
    k10e<<<(batch + 127) / 128, 128>>>(in, out, batch);
    verify("k10e");
    k10f<<<(batch + 127) / 128, 128>>>(in, out, batch);
    verify("k10f");
}

int main()
{
    products();
    inverses();
    return 0;
}
