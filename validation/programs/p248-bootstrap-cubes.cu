// Bootstrap replicates of a mean, and the case codes of marching cubes.
#include "../harness.h"

constexpr int DRAWS = 1000;

__device__ __forceinline__ unsigned long long advance(unsigned long long state)
{
    return state * 6364136223846793005ull + 1442695040888963407ull;
}

// one replicate per thread; r / n == umulhi(r, factor) >> shift for r below 2^31
__global__ void k248a(const float *__restrict__ data, unsigned n, unsigned factor, unsigned shift,
                      float *__restrict__ means)
{
    int replicate = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = advance(advance(replicate + 12345));
    float sum = 0.0f;
    for (int k = 0; k < DRAWS; k++) {
        state = advance(state);
        unsigned r = state >> 33;
        sum += data[r - (__umulhi(r, factor) >> shift) * n];
    }
    means[replicate] = sum / DRAWS;
}

__global__ void k248b(const float *__restrict__ data, unsigned long long n, float *__restrict__ means)
{
    extern __shared__ float sample[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sample[i] = data[i];
    __syncthreads();
    int replicate = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = advance(advance(replicate + 12345));
    float sum = 0.0f;
    for (int k = 0; k < DRAWS; k++) {
        state = advance(state);
        sum += sample[(state >> 33) % n];
    }
    means[replicate] = sum / DRAWS;
}

__global__ void k248c(const float *__restrict__ data, unsigned n, unsigned factor, unsigned shift,
                      float *__restrict__ means)
{
    extern __shared__ float sample[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sample[i] = data[i];
    __syncthreads();
    int replicate = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = advance(advance(replicate + 12345));
    float sum = 0.0f;
    for (int k = 0; k < DRAWS; k++) {
        state = advance(state);
        unsigned r = state >> 33;
        sum += sample[r - (__umulhi(r, factor) >> shift) * n];
    }
    means[replicate] = sum / DRAWS;
}

__global__ void k248d(const float *__restrict__ data, unsigned n, unsigned factor, unsigned shift,
                      float *__restrict__ means)
{
    extern __shared__ float sample[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sample[i + i / 32] = data[i];
    __syncthreads();
    int replicate = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = advance(advance(replicate + 12345));
    float sum = 0.0f;
    for (int k = 0; k < DRAWS; k++) {
        state = advance(state);
        unsigned r = state >> 33;
        unsigned i = r - (__umulhi(r, factor) >> shift) * n;
        sum += sample[i + i / 32];
    }
    means[replicate] = sum / DRAWS;
}

constexpr int NX = 512, NY = 512, NZ = 256;

// bit 0: (x, y, z) above the level, bit 1: x + 1, bits 2 and 3: y + 1, bits 4 to 7: z + 1; the last nodes repeat
__global__ void k248e(const float *__restrict__ f, float level, unsigned char *__restrict__ code)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    int x1 = min(x + 1, NX - 1), y1 = min(y + 1, NY - 1), z1 = min(z + 1, NZ - 1);
    int r00 = (z * NY + y) * NX, r01 = (z * NY + y1) * NX, r10 = (z1 * NY + y) * NX, r11 = (z1 * NY + y1) * NX;
    unsigned c = f[r00 + x] > level;
    c |= (f[r00 + x1] > level) << 1;
    c |= (f[r01 + x] > level) << 2;
    c |= (f[r01 + x1] > level) << 3;
    c |= (f[r10 + x] > level) << 4;
    c |= (f[r10 + x1] > level) << 5;
    c |= (f[r11 + x] > level) << 6;
    c |= (f[r11 + x1] > level) << 7;
    code[r00 + x] = c;
}

// which of the nodes x to x + 4 of a row are above the level
__device__ __forceinline__ unsigned row_bits(const float *__restrict__ f, int row, int x, float level)
{
    float4 v = *reinterpret_cast<const float4 *>(f + row + x);
    float last = f[row + min(x + 4, NX - 1)];
    return (v.x > level) | (v.y > level) << 1 | (v.z > level) << 2 | (v.w > level) << 3 | (last > level) << 4;
}

__device__ __forceinline__ uchar4 four_codes(unsigned b00, unsigned b01, unsigned b10, unsigned b11)
{
    unsigned c[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        c[k] = (b00 >> k & 3) | (b01 >> k & 3) << 2 | (b10 >> k & 3) << 4 | (b11 >> k & 3) << 6;
    return make_uchar4(c[0], c[1], c[2], c[3]);
}

// four cells along x per thread
__global__ void k248f(const float *__restrict__ f, float level, unsigned char *__restrict__ code)
{
    int x = (blockIdx.x * 32 + threadIdx.x) * 4, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    int y1 = min(y + 1, NY - 1), z1 = min(z + 1, NZ - 1);
    unsigned b00 = row_bits(f, (z * NY + y) * NX, x, level), b01 = row_bits(f, (z * NY + y1) * NX, x, level);
    unsigned b10 = row_bits(f, (z1 * NY + y) * NX, x, level), b11 = row_bits(f, (z1 * NY + y1) * NX, x, level);
    *reinterpret_cast<uchar4 *>(code + (z * NY + y) * NX + x) = four_codes(b00, b01, b10, b11);
}

// eight layers per thread, the bits of the upper layer kept for the next one
__global__ void k248g(const float *__restrict__ f, float level, unsigned char *__restrict__ code)
{
    int x = (blockIdx.x * 32 + threadIdx.x) * 4, y = blockIdx.y * 8 + threadIdx.y, z0 = blockIdx.z * 8;
    int y1 = min(y + 1, NY - 1);
    unsigned b00 = row_bits(f, (z0 * NY + y) * NX, x, level), b01 = row_bits(f, (z0 * NY + y1) * NX, x, level);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int z = z0 + k, z1 = min(z + 1, NZ - 1);
        unsigned b10 = row_bits(f, (z1 * NY + y) * NX, x, level), b11 = row_bits(f, (z1 * NY + y1) * NX, x, level);
        *reinterpret_cast<uchar4 *>(code + (z * NY + y) * NX + x) = four_codes(b00, b01, b10, b11);
        b00 = b10;
        b01 = b11;
    }
}

int main()
{
    const int n = 5000, replicates = 1 << 18;
    float *data = input<float>(n, 1, 0.0, 10.0);
    std::vector<float> sample = on_host(data, n), first(500);
    for (int r = 0; r < 500; r++) {
        unsigned long long state = r + 12345;
        auto next = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull; };
        next();
        next();
        double sum = 0;
        for (int k = 0; k < DRAWS; k++)
            sum += sample[(next() >> 33) % n];
        first[r] = float(sum / DRAWS);
    }
    float *ma = output<float>(replicates), *mb = output<float>(replicates), *mc = output<float>(replicates),
          *md = output<float>(replicates);
    unsigned bits = 0;
    while ((1u << bits) < n)
        bits++;
    unsigned factor = unsigned((1ull << (31 + bits)) / n + 1), shift = bits - 1;
    k248a<<<replicates / 256, 256>>>(data, n, factor, shift, ma);
    check("k248a", ma, first, 1e-4);
    std::vector<float> means = on_host(ma, replicates);
    k248b<<<replicates / 256, 256, n * sizeof(float)>>>(data, n, mb);
    check("k248b", mb, means, 1e-4);
    k248c<<<replicates / 256, 256, n * sizeof(float)>>>(data, n, factor, shift, mc);
    check("k248c", mc, means, 1e-4);
    k248d<<<replicates / 256, 256, (n + n / 32 + 1) * sizeof(float)>>>(data, n, factor, shift, md);
    check("k248d", md, means, 1e-4);

    const size_t cells = (size_t)NX * NY * NZ;
    const float level = 0.6f;
    float *f = input<float>(cells, 2, 0.0, 1.0);
    std::vector<float> planes = on_host(f, 2 * NX * NY);
    std::vector<unsigned char> plane(NX * NY);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            unsigned c = 0;
            for (int b = 0; b < 8; b++) {
                int cx = std::min(x + (b & 1), NX - 1), cy = std::min(y + (b >> 1 & 1), NY - 1);
                c |= (planes[((b >> 2) * NY + cy) * NX + cx] > level) << b;
            }
            plane[y * NX + x] = (unsigned char)c;
        }
    unsigned char *ce = output<unsigned char>(cells), *cf = output<unsigned char>(cells), *cg = output<unsigned char>(cells);
    dim3 block(32, 8);
    k248e<<<dim3(NX / 32, NY / 8, NZ), block>>>(f, level, ce);
    check("k248e", ce, plane, 0);
    std::vector<unsigned char> codes = on_host(ce, cells);
    k248f<<<dim3(NX / 128, NY / 8, NZ), block>>>(f, level, cf);
    check("k248f", cf, codes, 0);
    k248g<<<dim3(NX / 128, NY / 8, NZ / 8), block>>>(f, level, cg);
    check("k248g", cg, codes, 0);
}
