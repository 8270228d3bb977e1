// Reverse complement of sequencing reads, and the maximum intensity projection of a volume of bytes along its rows.
#include "../harness.h"

#include <functional>

const int READS = 1 << 20, BASES = 128;

__device__ inline char partner(char base)
{
    switch (base) {
    case 'A':
        return 'T';
    case 'C':
        return 'G';
    case 'G':
        return 'C';
    default:
        return 'A';
    }
}

__global__ void k218a(char *out, const char *in, int reads, int length)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= reads)
        return;
    for (int i = 0; i < length; i++)
        out[r * length + length - 1 - i] = partner(in[r * length + i]);
}

// A block for two reads, a thread for a base.
__global__ void k218b(char *out, const char *in, int length)
{
    int r = blockIdx.x * blockDim.y + threadIdx.y;
    int i = threadIdx.x;
    out[r * length + length - 1 - i] = partner(in[r * length + i]);
}

// A and T differ in the bits of 0x15, C and G in those of 0x04; the second bit of a letter tells the pairs apart.
__device__ inline unsigned partners(unsigned four)
{
    unsigned strong = four >> 1 & 0x01010101u;
    return __byte_perm(four ^ 0x15151515u ^ strong * 0x11u, 0, 0x0123);
}

__global__ void k218c(uint4 *out, uint4 *in)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int pieces = BASES / 16;
    uint4 w = in[t];
    int r = t / pieces, p = t % pieces;
    out[r * pieces + pieces - 1 - p] = make_uint4(partners(w.w), partners(w.z), partners(w.y), partners(w.x));
}

__global__ void k218d(uint4 *__restrict__ out, const uint4 *__restrict__ in)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int pieces = BASES / 16;
    uint4 w = __ldg(&in[t]);
    int r = t / pieces, p = t % pieces;
    out[r * pieces + pieces - 1 - p] = make_uint4(partners(w.w), partners(w.z), partners(w.y), partners(w.x));
}

const int NX = 1024, NY = 512, NZ = 512;

// Noise below 128, and one brighter voxel somewhere in every row.
__global__ void fill_volume(unsigned char *volume, size_t n, int nx)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        size_t row = i / nx;
        unsigned spot = scrambled(row, 2185) % nx, value = scrambled(i, 2186) & 127;
        volume[i] = (unsigned char)(i % nx == spot ? 128 + value : value);
    }
}

__global__ void k218e(unsigned char *projection, const unsigned char *volume, int nx, int ny, int nz)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int z = blockIdx.y;
    if (y >= ny || z >= nz)
        return;
    unsigned char brightest = 0;
    for (int x = 0; x < nx; x++) {
        unsigned char v = volume[(z * ny + y) * nx + x];
        if (v > brightest)
            brightest = v;
    }
    projection[z * ny + y] = brightest;
}

// A block for a row.
__global__ void k218f(unsigned char *projection, const unsigned char *volume, int nx)
{
    __shared__ int best[256];
    int row = blockIdx.x, t = threadIdx.x;
    int mine = 0;
    for (int x = t; x < nx; x += 256)
        mine = max(mine, (int)volume[row * nx + x]);
    best[t] = mine;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            best[t] = max(best[t], best[t + s]);
        __syncthreads();
    }
    if (t == 0)
        projection[row] = (unsigned char)best[0];
}

// A warp for a row.
__global__ void k218g(unsigned char *projection, const unsigned char *volume, int nx)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    int mine = 0;
    for (int x = lane; x < nx; x += 32)
        mine = max(mine, (int)volume[row * nx + x]);
    for (int s = 16; s > 0; s >>= 1)
        mine = max(mine, __shfl_down_sync(0xffffffffu, mine, s));
    if (lane == 0)
        projection[row] = (unsigned char)mine;
}

__global__ void k218h(unsigned char *__restrict__ projection, const uint4 *__restrict__ volume)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint4 *src = volume + row * (NX / 16) + lane;
    uint4 v[NX / 512];
#pragma unroll
    for (int i = 0; i < NX / 512; i++)
        v[i] = src[i * 32];
    unsigned even = 0, odd = 0;
#pragma unroll
    for (int i = 0; i < NX / 512; i++) {
        unsigned w[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            even = __vmaxu2(even, w[j] & 0x00ff00ffu);
            odd = __vmaxu2(odd, w[j] >> 8 & 0x00ff00ffu);
        }
    }
    even = __vmaxu2(even, odd);
    unsigned mine = __reduce_max_sync(0xffffffffu, max(even & 0xffffu, even >> 16));
    if (lane == 0)
        projection[row] = (unsigned char)mine;
}

int main()
{
    // Reads: every 16th is checked.
    const size_t n = (size_t)READS * BASES;
    const int every = 16, chosen = READS / every;
    std::vector<char> hin(n);
    for (size_t i = 0; i < n; i += 16) {
        unsigned bits = scrambled(i / 16, 2181);
        for (int k = 0; k < 16; k++)
            hin[i + k] = "ACGT"[bits >> (2 * k) & 3];
    }
    char *in = on_device(hin), *out = output<char>(n), *picked = output<char>((size_t)chosen * BASES);
    std::vector<char> want((size_t)chosen * BASES);
    for (int i = 0; i < chosen; i++)
        for (int k = 0; k < BASES; k++) {
            char base = hin[(size_t)i * every * BASES + k];
            want[(size_t)i * BASES + BASES - 1 - k] = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
        }
    auto reverse = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, BASES, out, every * BASES, BASES, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
    };
    uint4 *in16 = reinterpret_cast<uint4 *>(in), *out16 = reinterpret_cast<uint4 *>(out);
    const int pieces = READS * (BASES / 16);
    reverse("k218a", [&] { k218a<<<READS / 256, 256>>>(out, in, READS, BASES); });
    reverse("k218b", [&] { k218b<<<READS / 2, dim3(BASES, 2)>>>(out, in, BASES); });
    reverse("k218c", [&] { k218c<<<pieces / 256, 256>>>(out16, in16); });
    reverse("k218d", [&] { k218d<<<pieces / 256, 256>>>(out16, in16); });

    // Projection: every eighth row is checked.
    const int rows = NY * NZ, skip = 8, taken = rows / skip;
    unsigned char *volume = output<unsigned char>((size_t)rows * NX), *projection = output<unsigned char>(rows);
    fill_volume<<<1056, 256>>>(volume, (size_t)rows * NX, NX);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned char> some((size_t)taken * NX), brightest(taken);
    MUST(cudaMemcpy2D(some.data(), NX, volume, skip * NX, NX, taken, cudaMemcpyDeviceToHost));
    for (int i = 0; i < taken; i++) {
        unsigned char best = 0;
        for (int x = 0; x < NX; x++)
            best = some[(size_t)i * NX + x] > best ? some[(size_t)i * NX + x] : best;
        brightest[i] = best;
    }
    unsigned char *sample = output<unsigned char>(taken);
    auto project = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(projection, 0xA5, rows));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(sample, 1, projection, skip, 1, taken, cudaMemcpyDeviceToDevice));
        check(name, sample, brightest, 0.0);
    };
    const uint4 *volume16 = reinterpret_cast<const uint4 *>(volume);
    project("k218e", [&] { k218e<<<dim3(NY / 128, NZ), 128>>>(projection, volume, NX, NY, NZ); });
    project("k218f", [&] { k218f<<<rows, 256>>>(projection, volume, NX); });
    project("k218g", [&] { k218g<<<rows / 8, 256>>>(projection, volume, NX); });
    project("k218h", [&] { k218h<<<rows / 8, 256>>>(projection, volume16); });
    return 0;
}
