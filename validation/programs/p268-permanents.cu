// Permanents of many 16 x 16 matrices by Glynn's formula: signed products of row sums over 2^15 vectors of signs.
#include "../harness.h"

constexpr int MATRICES = 2048, N = 16, VECTORS = 1 << (N - 1);

template <class T> __device__ __forceinline__ void load(T (&m)[N][N], const double *matrices)
{
    for (int t = threadIdx.x; t < N * N; t += blockDim.x)
        m[t / N][t % N] = T(matrices[size_t(blockIdx.y) * N * N + t]);
    __syncthreads();
}

// rows' sums for the signs g (a bit set: minus; the first column is always plus)
template <class T> __device__ __forceinline__ void sums_of(T (&sum)[N], const T (&m)[N][N], unsigned g)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        sum[i] = m[i][0];
#pragma unroll
        for (int j = 1; j < N; j++)
            sum[i] += g >> (j - 1) & 1 ? -m[i][j] : m[i][j];
    }
}

template <class T> __device__ __forceinline__ T product(const T (&sum)[N])
{
    T p[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        p[i] = sum[i] * sum[i + N / 2];
    return ((p[0] * p[1]) * (p[2] * p[3])) * ((p[4] * p[5]) * (p[6] * p[7]));
}

__device__ __forceinline__ void add_of_block(double total, double *permanent)
{
    __shared__ double part[256];
    part[threadIdx.x] = total;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(&permanent[blockIdx.y], part[0] / VECTORS);
}

__global__ void k268a(const double *matrices, double *permanent)
{
    __shared__ double m[N][N];
    load(m, matrices);
    unsigned g = blockIdx.x * blockDim.x + threadIdx.x;
    double sum[N];
    sums_of(sum, m, g);
    double p = product(sum);
    add_of_block(__popc(g) & 1 ? -p : p, permanent);
}

// each thread takes `run` neighbouring Gray codes
__device__ __forceinline__ void gray_runs(const double *matrices, double *permanent, int run)
{
    __shared__ double m[N][N];
    load(m, matrices);
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * run, g = first ^ first >> 1;
    double sum[N];
    sums_of(sum, m, g);
    double total = product(sum);
#pragma unroll 1
    for (int k = 1; k < run; k++) {
        int j = __ffs(k) - 1;
        g ^= 1u << j;
        double change = g >> j & 1 ? -2.0 : 2.0;
#pragma unroll
        for (int i = 0; i < N; i++)
            sum[i] += change * m[i][j + 1];
        double p = product(sum);
        total += k & 1 ? -p : p;
    }
    add_of_block(total, permanent);
}

__global__ void k268b(const double *matrices, double *permanent, int run) { gray_runs(matrices, permanent, run); }

__global__ void k268c(const double *matrices, double *permanent, int run) { gray_runs(matrices, permanent, run); }

// the two columns that change most often stay in registers
template <class T>
__device__ __forceinline__ void step(T (&sum)[N], T &total, const T (&column)[N], unsigned &g, int j, bool minus)
{
    g ^= 1u << j;
    T change = g >> j & 1 ? T(-2) : T(2);
#pragma unroll
    for (int i = 0; i < N; i++)
        sum[i] += change * column[i];
    T p = product(sum);
    total += minus ? -p : p;
}

template <class T> __device__ __forceinline__ double gray_fours(const double *matrices, int run)
{
    __shared__ T m[N][N];
    load(m, matrices);
    unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * run, g = first ^ first >> 1;
    T sum[N], one[N], two[N];
    sums_of(sum, m, g);
#pragma unroll
    for (int i = 0; i < N; i++) {
        one[i] = m[i][1];
        two[i] = m[i][2];
    }
    T total = product(sum);
#pragma unroll 1
    for (int k = 4;; k += 4) {
        step(sum, total, one, g, 0, true);
        step(sum, total, two, g, 1, false);
        step(sum, total, one, g, 0, true);
        if (k >= run)
            break;
        int j = __ffs(k) - 1;
        T column[N];
#pragma unroll
        for (int i = 0; i < N; i++)
            column[i] = m[i][j + 1];
        step(sum, total, column, g, j, false);
    }
    return double(total);
}

__global__ void __launch_bounds__(256) k268d(const double *matrices, double *permanent, int run)
{
    add_of_block(gray_fours<double>(matrices, run), permanent);
}

__global__ void __launch_bounds__(256) k268e(const double *matrices, double *permanent, int run)
{
    add_of_block(gray_fours<float>(matrices, run), permanent);
}

__device__ __forceinline__ void add_by_shuffles(double total, double *permanent)
{
    __shared__ double part[8];
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        total += __shfl_xor_sync(0xFFFFFFFF, total, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int w = 0; w < int(blockDim.x) / 32; w++)
            all += part[w];
        atomicAdd(&permanent[blockIdx.y], all / VECTORS);
    }
}

__global__ void __launch_bounds__(256) k268f(const double *matrices, double *permanent, int run)
{
    add_by_shuffles(gray_fours<float>(matrices, run), permanent);
}

__global__ void __launch_bounds__(256) k268g(const double *matrices, double *permanent, int run)
{
    add_by_shuffles(gray_fours<float>(matrices, run), permanent);
}

int main()
{
    double *matrices = input<double>(size_t(MATRICES) * N * N, 1, 0, 1);
    double *first = zeroed<double>(MATRICES), *other = zeroed<double>(MATRICES);

    const int samples = 32;
    std::vector<double> a = on_host(matrices, samples * N * N), sample(samples);
    for (int m = 0; m < samples; m++) { // Ryser-like: over sets of columns, by dynamic programming over rows
        std::vector<double> ways(1 << N, 0.0);
        ways[0] = 1;
        for (int set = 1; set < 1 << N; set++) {
            int row = __builtin_popcount(set) - 1;
            for (int j = 0; j < N; j++)
                if (set >> j & 1)
                    ways[set] += ways[set ^ 1 << j] * a[(m * N + row) * N + j];
        }
        sample[m] = ways.back();
    }

    k268a<<<dim3(VECTORS / 256, MATRICES), 256>>>(matrices, first);
    check("k268a, samples", first, sample, 1e-7);
    std::vector<double> want = on_host(first, MATRICES);
    check("k268a", first, want, 1e-7);
    k268b<<<dim3(VECTORS / (256 * 8), MATRICES), 256>>>(matrices, other, 8);
    check("k268b", other, want, 1e-7);
    MUST(cudaMemset(other, 0, MATRICES * sizeof(double)));
    k268c<<<dim3(VECTORS / (256 * 128), MATRICES), 256>>>(matrices, other, 128);
    check("k268c", other, want, 1e-7);
    MUST(cudaMemset(other, 0, MATRICES * sizeof(double)));
    k268d<<<dim3(VECTORS / (256 * 128), MATRICES), 256>>>(matrices, other, 128);
    check("k268d", other, want, 1e-7);
    MUST(cudaMemset(other, 0, MATRICES * sizeof(double)));
    k268e<<<dim3(VECTORS / (256 * 128), MATRICES), 256>>>(matrices, other, 128);
    check("k268e", other, want, 5e-3);
    MUST(cudaMemset(other, 0, MATRICES * sizeof(double)));
    k268f<<<dim3(VECTORS / (256 * 128), MATRICES), 256>>>(matrices, other, 128);
    check("k268f", other, want, 5e-3);
    MUST(cudaMemset(other, 0, MATRICES * sizeof(double)));
    k268g<<<dim3(VECTORS / (128 * 128), MATRICES), 128>>>(matrices, other, 128);
    check("k268g", other, want, 5e-3);
}
