// Half a sweep of the Ising model (all black sites of a 16384 x 16384 torus, random numbers made beforehand), and the
// centroid of the dark pixels of an RGBA image of 8192 x 16384 pixels.
#include "../harness.h"

#include <functional>

const int N = 16384, HALF = N / 2;
const float TWICE_BETA = 0.88f;
typedef signed char Spin;

// A site is black where row + column is even.
__global__ void k154a(int *lattice, const float *random, float twice_beta, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || (i + j) % 2 != 0)
        return;
    int above = i > 0 ? i - 1 : n - 1, below = i + 1 < n ? i + 1 : 0;
    int before = j > 0 ? j - 1 : n - 1, after = j + 1 < n ? j + 1 : 0;
    int around = lattice[above * n + j] + lattice[below * n + j] + lattice[i * n + before] + lattice[i * n + after];
    int spin = lattice[i * n + j];
    if (random[i * n + j] < expf(-twice_beta * around * spin))
        lattice[i * n + j] = -spin;
}

// Black and white sites in arrays of their own, half as wide.
__global__ void k154b(int *black, const int *white, const float *random, float twice_beta, int n, int half)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= half)
        return;
    int above = i > 0 ? i - 1 : n - 1, below = i + 1 < n ? i + 1 : 0;
    int before = j > 0 ? j - 1 : half - 1, after = j + 1 < half ? j + 1 : 0;
    int beside = i % 2 ? after : before;
    int around = white[above * half + j] + white[below * half + j] + white[i * half + j] + white[i * half + beside];
    int spin = black[i * half + j];
    if (random[i * half + j] < expf(-twice_beta * around * spin))
        black[i * half + j] = -spin;
}

__global__ void k154c(Spin *black, const Spin *white, const float *random, float twice_beta, int n, int half)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= half)
        return;
    int above = i > 0 ? i - 1 : n - 1, below = i + 1 < n ? i + 1 : 0;
    int before = j > 0 ? j - 1 : half - 1, after = j + 1 < half ? j + 1 : 0;
    int beside = i % 2 ? after : before;
    int around = white[above * half + j] + white[below * half + j] + white[i * half + j] + white[i * half + beside];
    int spin = black[i * half + j];
    if (random[i * half + j] < expf(-twice_beta * around * spin))
        black[i * half + j] = Spin(-spin);
}

// What four sites in a row need: their spins and the sums of their neighbours.
struct Four {
    int spin[4], around[4];
    float random[4];
};

__device__ inline Four fetch(const Spin *black, const Spin *white, const float *random, int i, int j, int n, int half)
{
    int above = i > 0 ? i - 1 : n - 1, below = i + 1 < n ? i + 1 : 0;
    char4 own = *reinterpret_cast<const char4 *>(&black[i * half + j]);
    char4 a = *reinterpret_cast<const char4 *>(&white[above * half + j]);
    char4 b = *reinterpret_cast<const char4 *>(&white[below * half + j]);
    char4 c = *reinterpret_cast<const char4 *>(&white[i * half + j]);
    float4 r = *reinterpret_cast<const float4 *>(&random[i * half + j]);
    Four f;
    f.spin[0] = own.x, f.spin[1] = own.y, f.spin[2] = own.z, f.spin[3] = own.w;
    f.random[0] = r.x, f.random[1] = r.y, f.random[2] = r.z, f.random[3] = r.w;
    f.around[0] = a.x + b.x + c.x;
    f.around[1] = a.y + b.y + c.y;
    f.around[2] = a.z + b.z + c.z;
    f.around[3] = a.w + b.w + c.w;
    if (i % 2) {
        int after = j + 4 < half ? j + 4 : 0;
        f.around[0] += c.y, f.around[1] += c.z, f.around[2] += c.w, f.around[3] += white[i * half + after];
    } else {
        int before = j > 0 ? j - 1 : half - 1;
        f.around[0] += white[i * half + before], f.around[1] += c.x, f.around[2] += c.y, f.around[3] += c.z;
    }
    return f;
}

__global__ void k154d(Spin *__restrict__ black, const Spin *__restrict__ white, const float *__restrict__ random,
                      float twice_beta, int n, int half)
{
    int j = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    Four f = fetch(black, white, random, i, j, n, half);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (f.random[k] < expf(-twice_beta * f.around[k] * f.spin[k]))
            f.spin[k] = -f.spin[k];
    *reinterpret_cast<char4 *>(&black[i * half + j]) = make_char4(f.spin[0], f.spin[1], f.spin[2], f.spin[3]);
}

__global__ void k154e(Spin *__restrict__ black, const Spin *__restrict__ white, const float *__restrict__ random,
                      float ratio_2, float ratio_4, int n, int half)
{
    int j = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    Four f = fetch(black, white, random, i, j, n, half);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int e = f.around[k] * f.spin[k];
        float ratio = e <= 0 ? 1.0f : e == 2 ? ratio_2 : ratio_4;
        if (f.random[k] < ratio)
            f.spin[k] = -f.spin[k];
    }
    *reinterpret_cast<char4 *>(&black[i * half + j]) = make_char4(f.spin[0], f.spin[1], f.spin[2], f.spin[3]);
}

const int W = 8192, H = 16384, THREADS = 512;
typedef unsigned long long Sum;

__host__ __device__ inline bool dark(unsigned rgba)
{
    return (rgba & 255) + (rgba >> 8 & 255) + (rgba >> 16 & 255) < 384;
}

// sums: columns, rows and number of the dark pixels.
__global__ void k154f(Sum *sums, const uchar4 *image, int w, int pixels)
{
    __shared__ uint3 part[THREADS];
    int at = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x;
    part[me] = make_uint3(0, 0, 0);
    if (at < pixels) {
        int row = at / w, col = at - row * w;
        uchar4 p = image[at];
        if (p.x + p.y + p.z < 384)
            part[me] = make_uint3(col, row, 1);
    }
    __syncthreads();
    if (me == 0) {
        unsigned cols = 0, rows = 0, count = 0;
        for (int k = 0; k < THREADS; k++) {
            cols += part[k].x;
            rows += part[k].y;
            count += part[k].z;
        }
        atomicAdd(&sums[0], Sum(cols));
        atomicAdd(&sums[1], Sum(rows));
        atomicAdd(&sums[2], Sum(count));
    }
}

__global__ void k154g(Sum *sums, const uchar4 *image, int w, int pixels)
{
    __shared__ unsigned cols[THREADS], rows[THREADS], count[THREADS];
    int at = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x;
    cols[me] = rows[me] = count[me] = 0;
    if (at < pixels) {
        int row = at / w, col = at - row * w;
        uchar4 p = image[at];
        if (p.x + p.y + p.z < 384) {
            cols[me] = col;
            rows[me] = row;
            count[me] = 1;
        }
    }
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (me < s) {
            cols[me] += cols[me + s];
            rows[me] += rows[me + s];
            count[me] += count[me + s];
        }
        __syncthreads();
    }
    if (me == 0) {
        atomicAdd(&sums[0], Sum(cols[0]));
        atomicAdd(&sums[1], Sum(rows[0]));
        atomicAdd(&sums[2], Sum(count[0]));
    }
}

// Every block takes every gridDim.x-th row; a warp's sums go to memory once.
__global__ void k154h(Sum *__restrict__ sums, const uint4 *__restrict__ image, int quads, int height)
{
    Sum cols = 0, rows = 0;
    unsigned count = 0;
    for (int row = blockIdx.x; row < height; row += gridDim.x) {
        unsigned here = 0, columns = 0;
#pragma unroll 4
        for (int q = threadIdx.x; q < quads; q += 256) {
            uint4 p = image[row * quads + q];
            unsigned in0 = dark(p.x), in1 = dark(p.y), in2 = dark(p.z), in3 = dark(p.w);
            unsigned in = in0 + in1 + in2 + in3;
            here += in;
            columns += 4 * q * in + in1 + 2 * in2 + 3 * in3;
        }
        count += here;
        cols += columns;
        rows += (Sum)row * here;
    }
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        cols += __shfl_down_sync(~0u, cols, s);
        rows += __shfl_down_sync(~0u, rows, s);
        count += __shfl_down_sync(~0u, count, s);
    }
    __shared__ Sum part[3][8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) {
        part[0][warp] = cols;
        part[1][warp] = rows;
        part[2][warp] = count;
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        Sum total = 0;
        for (int k = 0; k < 8; k++)
            total += part[threadIdx.x][k];
        atomicAdd(&sums[threadIdx.x], total);
    }
}

__host__ __device__ inline int spin_at(size_t i, size_t j) { return scrambled(i * N + j, 1541) >> 31 ? 1 : -1; }

// Never a number that an acceptance ratio could equal.
__host__ __device__ inline float random_at(size_t i, size_t j)
{
    return ((scrambled(i * N + j, 1542) >> 16) + 0.5f) / 65536.0f;
}

// Sites of one colour (0 black, 1 white), or all (-1).
template <class T> __global__ void fill_spins(T *spins, int colour)
{
    const size_t width = colour < 0 ? N : HALF;
    for (size_t s = blockIdx.x * (size_t)blockDim.x + threadIdx.x; s < width * N; s += (size_t)gridDim.x * blockDim.x) {
        size_t i = s / width, j = s % width;
        spins[s] = T(spin_at(i, colour < 0 ? j : 2 * j + ((i + colour) & 1)));
    }
}

__global__ void fill_random(float *random, int colour)
{
    const size_t width = colour < 0 ? N : HALF;
    for (size_t s = blockIdx.x * (size_t)blockDim.x + threadIdx.x; s < width * N; s += (size_t)gridDim.x * blockDim.x) {
        size_t i = s / width, j = s % width;
        random[s] = random_at(i, colour < 0 ? j : 2 * j + ((i + colour) & 1));
    }
}

// Checks rows 0, every, 2 every, ... of a lattice.
template <class T> void rows(const char *name, const T *data, const std::vector<T> &want, int width, int every)
{
    static T *some = output<T>(want.size());
    const size_t bytes = width * sizeof(T);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, data, every * bytes, bytes, want.size() / width, cudaMemcpyDeviceToDevice));
    check(name, some, want, 1e-6);
}

int main()
{
    const int every = 43, lines = (N - 1) / every + 1; // even and odd rows, and the first and the last
    std::vector<int> full((size_t)lines * N), wide((size_t)lines * HALF);
    std::vector<Spin> narrow((size_t)lines * HALF);
    for (int t = 0; t < lines; t++)
        for (int j = 0; j < N; j++) {
            int i = t * every, spin = spin_at(i, j);
            if ((i + j) % 2 == 0) {
                int around = spin_at((i + N - 1) % N, j) + spin_at((i + 1) % N, j) + spin_at(i, (j + N - 1) % N) +
                             spin_at(i, (j + 1) % N);
                if (random_at(i, j) < std::exp(-double(TWICE_BETA) * around * spin))
                    spin = -spin;
                wide[(size_t)t * HALF + j / 2] = spin;
                narrow[(size_t)t * HALF + j / 2] = Spin(spin);
            }
            full[(size_t)t * N + j] = spin;
        }
    const size_t sites = (size_t)N * N;
    int *lattice = output<int>(sites), *black = output<int>(sites / 2), *white = output<int>(sites / 2);
    Spin *black8 = output<Spin>(sites / 2), *white8 = output<Spin>(sites / 2);
    float *random = output<float>(sites), *random_black = output<float>(sites / 2);
    fill_random<<<2112, 256>>>(random, -1);
    fill_random<<<2112, 256>>>(random_black, 0);
    fill_spins<<<2112, 256>>>(lattice, -1);
    fill_spins<<<2112, 256>>>(black, 0);
    fill_spins<<<2112, 256>>>(white, 1);
    fill_spins<<<2112, 256>>>(white8, 1);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    auto bytes = [&](const char *name, std::function<void()> launch) {
        fill_spins<<<2112, 256>>>(black8, 0);
        MUST(cudaDeviceSynchronize());
        launch();
        rows(name, black8, narrow, HALF, every);
    };
    auto ints = [&](const char *name, std::function<void()> launch) {
        launch();
        rows(name, black, wide, HALF, every);
    };
    auto both = [&](const char *name, std::function<void()> launch) {
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        int *some = output<int>(full.size());
        const size_t line = N * sizeof(int);
        MUST(cudaMemcpy2D(some, line, lattice, every * line, line, lines, cudaMemcpyDeviceToDevice));
        check(name, some, full, 1e-6);
    };
    const float ratio_2 = std::exp(-2.0f * TWICE_BETA), ratio_4 = std::exp(-4.0f * TWICE_BETA);
    dim3 block(32, 8), grid(HALF / 32, N / 8), fours(HALF / 128, N / 8);
    both("k154a", [&] { k154a<<<dim3(N / 32, N / 8), block>>>(lattice, random, TWICE_BETA, N); });
    ints("k154b", [&] { k154b<<<grid, block>>>(black, white, random_black, TWICE_BETA, N, HALF); });
    bytes("k154c", [&] { k154c<<<grid, block>>>(black8, white8, random_black, TWICE_BETA, N, HALF); });
    bytes("k154d", [&] { k154d<<<fours, block>>>(black8, white8, random_black, TWICE_BETA, N, HALF); });
    bytes("k154e", [&] { k154e<<<fours, block>>>(black8, white8, random_black, ratio_2, ratio_4, N, HALF); });

    const int pixels = W * H;
    unsigned *image = input<unsigned>(pixels, 1543, 0.0, 4294967296.0);
    Sum *sums = output<Sum>(3);
    std::vector<Sum> want(3, 0);
    for (int row = 0; row < H; row++) {
        Sum here = 0;
        for (int col = 0; col < W; col++)
            if (dark(scrambled((size_t)row * W + col, 1543))) {
                want[0] += col;
                here++;
            }
        want[1] += here * row;
        want[2] += here;
    }
    auto centroid = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0, 3 * sizeof(Sum)));
        launch();
        check(name, sums, want, 1e-15);
    };
    const uchar4 *one = reinterpret_cast<const uchar4 *>(image);
    const uint4 *four = reinterpret_cast<const uint4 *>(image);
    centroid("k154f", [&] { k154f<<<pixels / THREADS, THREADS>>>(sums, one, W, pixels); });
    centroid("k154g", [&] { k154g<<<pixels / THREADS, THREADS>>>(sums, one, W, pixels); });
    centroid("k154h", [&] { k154h<<<132 * 8, 256>>>(sums, four, W / 4, H); });
    return 0;
}
