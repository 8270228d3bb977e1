// Adler-32 checksums of the pages of a data file, and for each row of one table the number of similar rows of another
// (product of two vectors of 16 features above a limit).
#include "../harness.h"

#include <functional>

const int PAGE = 4096, PAGES = 65536;
const unsigned MODULUS = 65521;

__device__ inline unsigned checksum(unsigned sum, unsigned weighted)
{
    return (weighted + PAGE) % MODULUS << 16 | (sum + 1) % MODULUS;
}

__device__ inline unsigned over_warp(unsigned v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_down_sync(0xffffffff, v, step);
    return v;
}

__global__ void k207a(unsigned *sums, const unsigned char *data)
{
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *p = data + (size_t)page * PAGE;
    unsigned a = 1, b = 0;
    for (int i = 0; i < PAGE; i++) {
        a += p[i];
        b += a;
    }
    sums[page] = b % MODULUS << 16 | a % MODULUS;
}

__global__ void k207b(unsigned *sums, const unsigned char *data)
{
    int page = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned char *p = data + (size_t)page * PAGE;
    unsigned sum = 0, weighted = 0;
    for (int i = lane; i < PAGE; i += 32) {
        unsigned byte = p[i];
        sum += byte;
        weighted += byte * (PAGE - i);
    }
    sum = over_warp(sum);
    weighted = over_warp(weighted);
    if (lane == 0)
        sums[page] = checksum(sum, weighted);
}

// Sums of the four bytes of a word that stand at i, i + 1, i + 2, i + 3 of the page.
__device__ inline void four(unsigned word, int i, unsigned &sum, unsigned &weighted)
{
    unsigned bytes = __dp4a(word, 0x01010101u, 0u);
    sum += bytes;
    weighted += bytes * (PAGE - i) - __dp4a(word, 0x03020100u, 0u);
}

__global__ void k207c(unsigned *sums, const unsigned char *data)
{
    int page = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const uint4 *p = reinterpret_cast<const uint4 *>(data + (size_t)page * PAGE);
    unsigned sum = 0, weighted = 0;
#pragma unroll
    for (int k = 0; k < PAGE / 512; k++) {
        uint4 v = p[k * 32 + lane];
        int i = (k * 32 + lane) * 16;
        four(v.x, i, sum, weighted);
        four(v.y, i + 4, sum, weighted);
        four(v.z, i + 8, sum, weighted);
        four(v.w, i + 12, sum, weighted);
    }
    sum = over_warp(sum);
    weighted = over_warp(weighted);
    if (lane == 0)
        sums[page] = checksum(sum, weighted);
}

__global__ void k207d(unsigned *sums, const unsigned char *data)
{
    __shared__ uint4 pages[8][PAGE / 16];
    int page = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint4 *p = reinterpret_cast<const uint4 *>(data + (size_t)page * PAGE);
#pragma unroll
    for (int k = 0; k < PAGE / 512; k++)
        pages[warp][k * 32 + lane] = p[k * 32 + lane];
    __syncthreads();
    unsigned sum = 0, weighted = 0;
#pragma unroll
    for (int k = 0; k < PAGE / 512; k++) {
        uint4 v = pages[warp][k * 32 + lane];
        int i = (k * 32 + lane) * 16;
        four(v.x, i, sum, weighted);
        four(v.y, i + 4, sum, weighted);
        four(v.z, i + 8, sum, weighted);
        four(v.w, i + 12, sum, weighted);
    }
    sum = over_warp(sum);
    weighted = over_warp(weighted);
    if (lane == 0)
        sums[page] = checksum(sum, weighted);
}

// left[k * LEFT + row], right[row * FEATURES + k]
const int LEFT = 16384, RIGHT = 20480, FEATURES = 16, SLICE = 256;

__global__ void k207e(unsigned *matches, const float *left, const float *right, float limit, int slice)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * slice;
    for (int s = first; s < first + slice; s++) {
        float product = 0.0f;
        for (int k = 0; k < FEATURES; k++)
            product += left[k * LEFT + row] * right[s * FEATURES + k];
        if (product >= limit)
            atomicAdd(&matches[row], 1u);
    }
}

__global__ void k207f(unsigned *matches, const float *left, const float *right, float limit, int slice)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * slice;
    float mine[FEATURES];
#pragma unroll
    for (int k = 0; k < FEATURES; k++)
        mine[k] = left[k * LEFT + row];
    unsigned count = 0;
    for (int s = first; s < first + slice; s++) {
        float product = 0.0f;
#pragma unroll
        for (int k = 0; k < FEATURES; k++)
            product += mine[k] * right[s * FEATURES + k];
        count += product >= limit;
    }
    atomicAdd(&matches[row], count);
}

__global__ void k207g(unsigned *matches, const float *left, const float *right, float limit)
{
    __shared__ __align__(16) float tile[SLICE][FEATURES];
    int row = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * SLICE;
    for (int i = threadIdx.x; i < SLICE * FEATURES; i += blockDim.x)
        tile[i / FEATURES][i % FEATURES] = right[first * FEATURES + i];
    float mine[FEATURES];
#pragma unroll
    for (int k = 0; k < FEATURES; k++)
        mine[k] = left[k * LEFT + row];
    __syncthreads();
    unsigned count = 0;
    for (int s = 0; s < SLICE; s++) {
        float product = 0.0f;
#pragma unroll
        for (int k = 0; k < FEATURES; k++)
            product += mine[k] * tile[s][k];
        count += product >= limit;
    }
    atomicAdd(&matches[row], count);
}

const int ROWS = 4;

__global__ void __launch_bounds__(128, 4) k207h(unsigned *matches, const float *left, const float *right, float limit)
{
    __shared__ float4 tile[SLICE][FEATURES / 4];
    int row = blockIdx.x * blockDim.x * ROWS + threadIdx.x, first = blockIdx.y * SLICE;
    const float4 *right4 = reinterpret_cast<const float4 *>(right);
    for (int i = threadIdx.x; i < SLICE * FEATURES / 4; i += blockDim.x)
        tile[i / (FEATURES / 4)][i % (FEATURES / 4)] = right4[first * (FEATURES / 4) + i];
    float mine[ROWS][FEATURES];
    unsigned count[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        count[r] = 0;
#pragma unroll
        for (int k = 0; k < FEATURES; k++)
            mine[r][k] = left[k * LEFT + row + r * blockDim.x];
    }
    __syncthreads();
#pragma unroll 2
    for (int s = 0; s < SLICE; s++) {
        float product[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int q = 0; q < FEATURES / 4; q++) {
            float4 other = tile[s][q];
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                product[r] += mine[r][4 * q] * other.x;
                product[r] += mine[r][4 * q + 1] * other.y;
                product[r] += mine[r][4 * q + 2] * other.z;
                product[r] += mine[r][4 * q + 3] * other.w;
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            count[r] += product[r] >= limit;
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        atomicAdd(&matches[row + r * blockDim.x], count[r]);
}

int main()
{
    const size_t bytes = (size_t)PAGES * PAGE;
    unsigned char *data = input<unsigned char>(bytes, 2071, 0, 256);
    unsigned *sums = output<unsigned>(PAGES);

    // Every 61st page on the host; all pages of the later kernels against the first one.
    const int every = 61, chosen = (PAGES - 1) / every + 1;
    std::vector<unsigned char> some((size_t)chosen * PAGE);
    MUST(cudaMemcpy2D(some.data(), PAGE, data, (size_t)every * PAGE, PAGE, chosen, cudaMemcpyDeviceToHost));
    std::vector<unsigned> want(chosen), all;
    for (int c = 0; c < chosen; c++) {
        unsigned a = 1, b = 0;
        for (int i = 0; i < PAGE; i++) {
            a = (a + some[(size_t)c * PAGE + i]) % MODULUS;
            b = (b + a) % MODULUS;
        }
        want[c] = b << 16 | a;
    }
    unsigned *picked = output<unsigned>(chosen);
    auto pages = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, PAGES * sizeof(unsigned)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, sizeof(unsigned), sums, every * sizeof(unsigned), sizeof(unsigned), chosen,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
        if (all.empty())
            all = on_host(sums, PAGES);
        else
            check(name, sums, all, 0.0);
    };
    pages("k207a", [&] { k207a<<<PAGES / 128, 128>>>(sums, data); });
    pages("k207b", [&] { k207b<<<PAGES / 8, 256>>>(sums, data); });
    pages("k207c", [&] { k207c<<<PAGES / 8, 256>>>(sums, data); });
    pages("k207d", [&] { k207d<<<PAGES / 8, 256>>>(sums, data); });

    float *left = input<float>((size_t)LEFT * FEATURES, 2072, -1.0, 1.0);
    float *right = input<float>((size_t)RIGHT * FEATURES, 2073, -1.0, 1.0);
    unsigned *matches = output<unsigned>(LEFT);
    const float limit = 4.0f;
    std::vector<float> hl = on_host(left, (size_t)LEFT * FEATURES), hr = on_host(right, (size_t)RIGHT * FEATURES);
    std::vector<unsigned> number, counts;
    // The first 128 rows; the same order of multiply-adds, so that the counts are the same.
    for (int r = 0; r < 128; r++) {
        unsigned count = 0;
        for (int s = 0; s < RIGHT; s++) {
            float product = 0.0f;
            for (int k = 0; k < FEATURES; k++)
                product = std::fma(hl[(size_t)k * LEFT + r], hr[s * FEATURES + k], product);
            count += product >= limit;
        }
        number.push_back(count);
    }
    auto join = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(matches, 0, LEFT * sizeof(unsigned)));
        launch();
        check(name, matches, counts.empty() ? number : counts, 0.0);
        if (counts.empty())
            counts = on_host(matches, LEFT);
    };
    const dim3 coarse(LEFT / 256, 32), fine(LEFT / 256, RIGHT / SLICE), tall(LEFT / 128 / ROWS, RIGHT / SLICE);
    join("k207e", [&] { k207e<<<coarse, 256>>>(matches, left, right, limit, RIGHT / 32); });
    join("k207f", [&] { k207f<<<coarse, 256>>>(matches, left, right, limit, RIGHT / 32); });
    join("k207g", [&] { k207g<<<fine, 256>>>(matches, left, right, limit); });
    join("k207h", [&] { k207h<<<tall, 128>>>(matches, left, right, limit); });
    return 0;
}
