// Registers of a distinct count over a column of 64-bit keys, CT slices windowed to bytes, and the XTEA cipher.
#include "../harness.h"

#include <functional>

typedef unsigned long long u64;

const int REGISTERS = 4096, KEYS = 1 << 26;

__host__ __device__ inline unsigned mixed(u64 key)
{
    unsigned h = unsigned(key ^ key >> 32);
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

// One more than the number of leading zeros of the lower 20 bits.
__device__ inline int rank_of(unsigned h) { return __clz(int(h << 12 | 0x800u)) + 1; }

__global__ void k220a(int *registers, const u64 *keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned h = mixed(keys[i]);
    atomicMax(&registers[h >> 20], rank_of(h));
}

// A block for 8192 keys.
__global__ void k220b(int *registers, const u64 *keys, int n)
{
    __shared__ int best[REGISTERS];
    for (int r = threadIdx.x; r < REGISTERS; r += blockDim.x)
        best[r] = 0;
    __syncthreads();
    int first = blockIdx.x * 8192;
    for (int k = threadIdx.x; k < 8192; k += blockDim.x)
        if (first + k < n) {
            unsigned h = mixed(keys[first + k]);
            atomicMax(&best[h >> 20], rank_of(h));
        }
    __syncthreads();
    for (int r = threadIdx.x; r < REGISTERS; r += blockDim.x)
        atomicMax(&registers[r], best[r]);
}

__device__ inline void enter(int *best, u64 key)
{
    unsigned h = mixed(key);
    int rank = rank_of(h);
    if (best[h >> 20] < rank)
        atomicMax(&best[h >> 20], rank);
}

__global__ void __launch_bounds__(512, 4) k220c(int *__restrict__ registers, const ulonglong2 *__restrict__ keys, int pairs)
{
    __shared__ int best[REGISTERS];
    for (int r = threadIdx.x; r < REGISTERS; r += blockDim.x)
        best[r] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < pairs; i += 4 * stride) {
        ulonglong2 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[j] = keys[i + j * stride];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            enter(best, v[j].x);
            enter(best, v[j].y);
        }
    }
    for (; i < pairs; i += stride) {
        ulonglong2 v = keys[i];
        enter(best, v.x);
        enter(best, v.y);
    }
    __syncthreads();
    for (int r = threadIdx.x; r < REGISTERS; r += blockDim.x)
        atomicMax(&registers[r], best[r]);
}

const int VOXELS = 1 << 27, CENTER = 40, WIDTH = 400;

__global__ void k220d(unsigned char *grey, const short *ct, int n, int center, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double v = 255.0 * (ct[i] - (center - width / 2)) / width;
    if (v < 0.0)
        v = 0.0;
    if (v > 255.0)
        v = 255.0;
    grey[i] = (unsigned char)v;
}

// scale = 65536 * 255 / width, rounded up
__device__ inline unsigned windowed(int hounsfield, int low, int width, int scale)
{
    return unsigned(min(max(hounsfield - low, 0), width) * scale);
}

__global__ void k220e(unsigned char *grey, const short *ct, int n, int low, int width, int scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    grey[i] = (unsigned char)(windowed(ct[i], low, width, scale) >> 16);
}

// The third bytes of four numbers.
__device__ inline unsigned packed(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return __byte_perm(__byte_perm(a, b, 0x0062), __byte_perm(c, d, 0x0062), 0x5410);
}

__global__ void k220f(uint2 *__restrict__ grey, const int4 *__restrict__ ct, int n, int low, int width, int scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int4 v = ct[i];
    int w[4] = {v.x, v.y, v.z, v.w};
    unsigned g[8];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        g[2 * j] = windowed(short(w[j] & 0xffff), low, width, scale);
        g[2 * j + 1] = windowed(w[j] >> 16, low, width, scale);
    }
    grey[i] = make_uint2(packed(g[0], g[1], g[2], g[3]), packed(g[4], g[5], g[6], g[7]));
}

const int BLOCKS = 1 << 24, ROUNDS = 32;
const unsigned DELTA = 0x9E3779B9u;

__global__ void k220g(unsigned *out, const unsigned *in, const unsigned *key, int blocks, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= blocks)
        return;
    unsigned v0 = in[2 * i], v1 = in[2 * i + 1], sum = 0;
    for (int r = 0; r < rounds; r++) {
        v0 += (((v1 << 4) ^ (v1 >> 5)) + v1) ^ (sum + key[sum & 3]);
        sum += DELTA;
        v1 += (((v0 << 4) ^ (v0 >> 5)) + v0) ^ (sum + key[sum >> 11 & 3]);
    }
    out[2 * i] = v0;
    out[2 * i + 1] = v1;
}

__constant__ unsigned round_keys[2 * ROUNDS];

__global__ void k220h(uint2 *__restrict__ out, const uint2 *__restrict__ in, int blocks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= blocks)
        return;
    uint2 v = in[i];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        v.x += (((v.y << 4) ^ (v.y >> 5)) + v.y) ^ round_keys[2 * r];
        v.y += (((v.x << 4) ^ (v.x >> 5)) + v.x) ^ round_keys[2 * r + 1];
    }
    out[i] = v;
}

int main()
{
    // Registers: all keys go through the host.
    u64 *keys = input<u64>(KEYS, 2201, 0.0, 1.8e19);
    int *registers = output<int>(REGISTERS);
    std::vector<int> want(REGISTERS, 0);
    {
        std::vector<u64> hk = on_host(keys, KEYS);
        for (u64 key : hk) {
            unsigned h = mixed(key);
            int rank = __builtin_clz(h << 12 | 0x800u) + 1;
            int &best = want[h >> 20];
            best = rank > best ? rank : best;
        }
    }
    auto count = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(registers, 0, REGISTERS * sizeof(int)));
        launch();
        check(name, registers, want, 0.0);
    };
    const ulonglong2 *pairs = reinterpret_cast<const ulonglong2 *>(keys);
    count("k220a", [&] { k220a<<<KEYS / 256, 256>>>(registers, keys, KEYS); });
    count("k220b", [&] { k220b<<<KEYS / 8192, 512>>>(registers, keys, KEYS); });
    count("k220c", [&] { k220c<<<132 * 4, 512>>>(registers, pairs, KEYS / 2); });
    MUST(cudaFree(keys));

    // Slices: stretches of 4096 voxels, every 32nd is checked.
    const int stretch = 4096, skip = 32, taken = VOXELS / stretch / skip;
    short *ct = input<short>(VOXELS, 2202, -1024.0, 1500.0);
    unsigned char *grey = output<unsigned char>(VOXELS), *picked = output<unsigned char>((size_t)taken * stretch);
    std::vector<short> hct((size_t)taken * stretch);
    std::vector<unsigned char> shades(hct.size());
    MUST(cudaMemcpy2D(hct.data(), stretch * sizeof(short), ct, skip * stretch * sizeof(short), stretch * sizeof(short),
                      taken, cudaMemcpyDeviceToHost));
    const int low = CENTER - WIDTH / 2, scale = (65536 * 255 + WIDTH - 1) / WIDTH;
    for (size_t i = 0; i < hct.size(); i++) {
        int x = hct[i] - low;
        shades[i] = (unsigned char)(x < 0 ? 0 : x > WIDTH ? 255 : x * 255 / WIDTH);
    }
    auto window = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(grey, 0xA5, VOXELS));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, stretch, grey, skip * stretch, stretch, taken, cudaMemcpyDeviceToDevice));
        check(name, picked, shades, 0.0);
    };
    uint2 *grey8 = reinterpret_cast<uint2 *>(grey);
    const int4 *ct8 = reinterpret_cast<const int4 *>(ct);
    const int eighth = VOXELS / 8;
    window("k220d", [&] { k220d<<<VOXELS / 256, 256>>>(grey, ct, VOXELS, CENTER, WIDTH); });
    window("k220e", [&] { k220e<<<VOXELS / 256, 256>>>(grey, ct, VOXELS, low, WIDTH, scale); });
    window("k220f", [&] { k220f<<<eighth / 256, 256>>>(grey8, ct8, eighth, low, WIDTH, scale); });

    // Cipher: stretches of 1024 blocks of 8 bytes, every 64th is checked.
    const size_t words = (size_t)BLOCKS * 2, piece = 2048, every = 64, chosen = words / piece / every;
    const std::vector<unsigned> secret = {0x0F1E2D3Cu, 0x4B5A6978u, 0x8796A5B4u, 0xC3D2E1F0u};
    unsigned *plain = input<unsigned>(words, 2203, 0.0, 4294967295.0), *cipher = output<unsigned>(words);
    unsigned *key = on_device(secret), *some = output<unsigned>(chosen * piece);
    std::vector<unsigned> schedule(2 * ROUNDS), text(chosen * piece);
    for (unsigned r = 0, sum = 0; r < ROUNDS; r++) {
        schedule[2 * r] = sum + secret[sum & 3];
        sum += DELTA;
        schedule[2 * r + 1] = sum + secret[sum >> 11 & 3];
    }
    MUST(cudaMemcpyToSymbol(round_keys, schedule.data(), 2 * ROUNDS * sizeof(unsigned)));
    MUST(cudaMemcpy2D(text.data(), piece * sizeof(unsigned), plain, every * piece * sizeof(unsigned),
                      piece * sizeof(unsigned), chosen, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < text.size(); i += 2) {
        unsigned v0 = text[i], v1 = text[i + 1], sum = 0;
        for (int r = 0; r < ROUNDS; r++) {
            v0 += (((v1 << 4) ^ (v1 >> 5)) + v1) ^ (sum + secret[sum & 3]);
            sum += DELTA;
            v1 += (((v0 << 4) ^ (v0 >> 5)) + v0) ^ (sum + secret[sum >> 11 & 3]);
        }
        text[i] = v0;
        text[i + 1] = v1;
    }
    auto encrypt = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(cipher, 0xA5, words * sizeof(unsigned)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = piece * sizeof(unsigned);
        MUST(cudaMemcpy2D(some, bytes, cipher, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, text, 0.0);
    };
    uint2 *cipher2 = reinterpret_cast<uint2 *>(cipher);
    const uint2 *plain2 = reinterpret_cast<const uint2 *>(plain);
    encrypt("k220g", [&] { k220g<<<BLOCKS / 256, 256>>>(cipher, plain, key, BLOCKS, ROUNDS); });
    encrypt("k220h", [&] { k220h<<<BLOCKS / 256, 256>>>(cipher2, plain2, BLOCKS); });
    return 0;
}
