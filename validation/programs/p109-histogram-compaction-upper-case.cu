// Histogram of doubles, compaction of an array, and text to upper case.
#include "../harness.h"

#include <cstring>
#include <functional>

const int N = 1 << 26, BINS = 1024, BLOCK = 256, GRID = 132 * 8;

__global__ void k109a(unsigned *counts, const double *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&counts[int(in[i] * BINS)], 1u);
}

__global__ void k109b(unsigned *counts, const double *in, int n)
{
    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[int(in[i] * BINS)], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&counts[b], mine[b]);
}

__global__ void k109c(unsigned *counts, const double2 *__restrict__ in, int pairs)
{
    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int base = blockIdx.x * 4 * BLOCK; base < pairs; base += gridDim.x * 4 * BLOCK) {
        double2 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = in[base + k * BLOCK + threadIdx.x];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            atomicAdd(&mine[int(v[k].x * BINS)], 1u);
            atomicAdd(&mine[int(v[k].y * BINS)], 1u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&counts[b], mine[b]);
}

__global__ void k109d(float *out, unsigned *kept, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = in[i];
        if (v > 0.0f)
            out[atomicAdd(kept, 1u)] = v;
    }
}

// Turns the counts of the warps into the places where each begins to write; all threads call it.
__device__ inline void reserve(unsigned *warp_at, unsigned *kept)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned total = 0;
        for (int w = 0; w < BLOCK / 32; w++) {
            unsigned count = warp_at[w];
            warp_at[w] = total;
            total += count;
        }
        unsigned at = atomicAdd(kept, total);
        for (int w = 0; w < BLOCK / 32; w++)
            warp_at[w] += at;
    }
    __syncthreads();
}

__global__ void k109e(float *out, unsigned *kept, const float *in)
{
    __shared__ unsigned warp_at[BLOCK / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = in[blockIdx.x * BLOCK + threadIdx.x];
    unsigned mask = __ballot_sync(0xffffffffu, v > 0.0f);
    if (lane == 0)
        warp_at[warp] = __popc(mask);
    reserve(warp_at, kept);
    if (v > 0.0f)
        out[warp_at[warp] + __popc(mask & ((1u << lane) - 1))] = v;
}

const int ITEMS = 16;

__global__ void k109f(float *__restrict__ out, unsigned *kept, const float *__restrict__ in)
{
    __shared__ unsigned warp_at[BLOCK / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *from = in + blockIdx.x * ITEMS * BLOCK + threadIdx.x;
    float v[ITEMS];
    unsigned count = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        v[k] = from[k * BLOCK];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        count += __popc(__ballot_sync(0xffffffffu, v[k] > 0.0f));
    if (lane == 0)
        warp_at[warp] = count;
    reserve(warp_at, kept);
    unsigned at = warp_at[warp];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        unsigned mask = __ballot_sync(0xffffffffu, v[k] > 0.0f);
        if (v[k] > 0.0f)
            out[at + __popc(mask & ((1u << lane) - 1))] = v[k];
        at += __popc(mask);
    }
}

__host__ __device__ inline unsigned long long mixed(unsigned bits)
{
    unsigned long long x = (bits + 1ull) * 0x9E3779B97F4A7C15ull;
    return (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull;
}

// A sum over the numbers kept that does not depend on their order; the places after them must be untouched.
__global__ void fill_digest(unsigned long long *digest, const unsigned *out, const unsigned *kept, int n)
{
    unsigned long long sum = 0;
    int count = int(*kept);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (i < count)
            sum += mixed(out[i]);
        else if (out[i] != 0xA5A5A5A5u)
            sum += 1;
    }
    atomicAdd(digest, sum);
}

const int LETTERS = 1 << 28;

__global__ void k109g(unsigned char *text, const unsigned char *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned char c = in[i];
        if (c >= 'a' && c <= 'z')
            c -= 'a' - 'A';
        text[i] = c;
    }
}

__device__ inline unsigned four_upper(unsigned w)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned c = w >> (8 * k) & 255;
        if (c >= 'a' && c <= 'z')
            w -= unsigned('a' - 'A') << (8 * k);
    }
    return w;
}

__global__ void k109h(uint4 *__restrict__ text, const uint4 *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uint4 v = in[i];
        v.x = four_upper(v.x);
        v.y = four_upper(v.y);
        v.z = four_upper(v.z);
        v.w = four_upper(v.w);
        text[i] = v;
    }
}

// The four bytes at once: the top bit of each byte tells whether it is a small letter.
__device__ inline unsigned four_at_once(unsigned w)
{
    unsigned low = w & 0x7f7f7f7fu;
    unsigned from_a = low + 0x1f1f1f1fu, after_z = low + 0x05050505u;
    unsigned small = from_a & ~after_z & ~w & 0x80808080u;
    return w - (small >> 2);
}

__global__ void k109i(uint4 *__restrict__ text, const uint4 *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uint4 v = in[i];
        v.x = four_at_once(v.x);
        v.y = four_at_once(v.y);
        v.z = four_at_once(v.z);
        v.w = four_at_once(v.w);
        text[i] = v;
    }
}

int main()
{
    double *samples = input<double>(N, 1091, 0.0, 1.0);
    unsigned *counts = output<unsigned>(BINS);
    // The samples are scrambled(i) / 2^32, so the bin is in the top ten bits.
    std::vector<unsigned> want(BINS, 0u);
    for (int i = 0; i < N; i++)
        want[scrambled(i, 1091) >> 22]++;
    auto histogram = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(counts, 0, BINS * sizeof(unsigned)));
        launch();
        check(name, counts, want, 0.0);
    };
    histogram("k109a", [&] { k109a<<<N / BLOCK, BLOCK>>>(counts, samples, N); });
    histogram("k109b", [&] { k109b<<<GRID, BLOCK>>>(counts, samples, N); });
    histogram("k109c",
              [&] { k109c<<<GRID, BLOCK>>>(counts, reinterpret_cast<const double2 *>(samples), N / 2); });
    MUST(cudaFree(samples));

    float *in = input<float>(N, 1092, -1.0, 1.0), *out = output<float>(N);
    unsigned *kept = zeroed<unsigned>(1);
    unsigned long long *digest = zeroed<unsigned long long>(1);
    std::vector<unsigned> number(1, 0u), halves(2);
    {
        std::vector<float> values = on_host(in, N);
        unsigned long long sum = 0;
        for (int i = 0; i < N; i++)
            if (values[i] > 0.0f) {
                unsigned bits;
                memcpy(&bits, &values[i], sizeof bits);
                sum += mixed(bits);
                number[0]++;
            }
        halves[0] = unsigned(sum);
        halves[1] = unsigned(sum >> 32);
    }
    auto compact = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, N * sizeof(float)));
        MUST(cudaMemset(kept, 0, sizeof(unsigned)));
        MUST(cudaMemset(digest, 0, sizeof(unsigned long long)));
        launch();
        check(name, kept, number, 0.0);
        fill_digest<<<GRID, BLOCK>>>(digest, reinterpret_cast<const unsigned *>(out), kept, N);
        check(name, reinterpret_cast<unsigned *>(digest), halves, 0.0);
    };
    compact("k109d", [&] { k109d<<<N / BLOCK, BLOCK>>>(out, kept, in, N); });
    compact("k109e", [&] { k109e<<<N / BLOCK, BLOCK>>>(out, kept, in); });
    compact("k109f", [&] { k109f<<<N / BLOCK / ITEMS, BLOCK>>>(out, kept, in); });
    MUST(cudaFree(in));
    MUST(cudaFree(out));

    unsigned char *letters = input<unsigned char>(LETTERS, 1093, 0.0, 256.0);
    unsigned char *upper = output<unsigned char>(LETTERS);
    // Every 61st stretch of 4096 letters.
    const size_t width = 4096;
    const int every = 61, taken = (LETTERS / int(width) - 1) / every + 1;
    unsigned char *some = output<unsigned char>(taken * width);
    auto pick = [&](const unsigned char *from) {
        MUST(cudaMemcpy2D(some, width, from, every * width, width, taken, cudaMemcpyDeviceToDevice));
    };
    pick(letters);
    std::vector<unsigned char> expected = on_host(some, taken * width);
    for (unsigned char &c : expected)
        if (c >= 'a' && c <= 'z')
            c = (unsigned char)(c - 32);
    auto raise = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(upper, 0xA5, LETTERS));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick(upper);
        check(name, some, expected, 0.0);
    };
    uint4 *wide_out = reinterpret_cast<uint4 *>(upper);
    const uint4 *wide_in = reinterpret_cast<const uint4 *>(letters);
    const int wide = LETTERS / 16;
    raise("k109g", [&] { k109g<<<LETTERS / BLOCK, BLOCK>>>(upper, letters, LETTERS); });
    raise("k109h", [&] { k109h<<<wide / BLOCK, BLOCK>>>(wide_out, wide_in, wide); });
    raise("k109i", [&] { k109i<<<wide / BLOCK, BLOCK>>>(wide_out, wide_in, wide); });
    return 0;
}
