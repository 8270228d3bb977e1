// Three problems: the overlap bit mask of non-maximum suppression, inner products of polynomials in a residue number
// system (as homomorphic encryption needs them), and col2im, the adjoint of im2col for 3x3 kernels.
#include "../harness.h"

typedef unsigned long long u64;

// ---- bit j of row i: box j > i overlaps box i by more than half of their union ----
__device__ inline float overlap(float4 a, float4 b)
{
    float left = fmaxf(a.x, b.x), right = fminf(a.z, b.z);
    float top = fmaxf(a.y, b.y), bottom = fminf(a.w, b.w);
    float inter = fmaxf(right - left, 0.0f) * fmaxf(bottom - top, 0.0f);
    float area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
    return inter / (area_a + area_b - inter);
}

__global__ void k232a(const float4 *__restrict__ boxes, u64 *__restrict__ mask, int n, float threshold)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= n || j <= i)
        return;
    if (overlap(boxes[i], boxes[j]) > threshold)
        atomicOr(&mask[(size_t)i * (n / 64) + j / 64], 1ull << (j % 64));
}

// blocks of 64 threads; n a multiple of 64
__global__ void k232b(const float4 *__restrict__ boxes, u64 *__restrict__ mask, int n, float threshold)
{
    __shared__ float4 others[64];
    int row = blockIdx.y, column = blockIdx.x;
    if (row > column)
        return;
    others[threadIdx.x] = boxes[column * 64 + threadIdx.x];
    __syncthreads();
    int i = row * 64 + threadIdx.x;
    float4 mine = boxes[i];
    u64 bits = 0;
    int first = row == column ? threadIdx.x + 1 : 0;
    for (int j = first; j < 64; j++)
        if (overlap(mine, others[j]) > threshold)
            bits |= 1ull << j;
    mask[(size_t)i * (n / 64) + column] = bits;
}

__global__ void k232c(const float4 *__restrict__ boxes, u64 *__restrict__ mask, int n, float threshold)
{
    __shared__ float4 others[64];
    __shared__ float areas[64];
    int row = blockIdx.y, column = blockIdx.x;
    if (row > column)
        return;
    float4 b = boxes[column * 64 + threadIdx.x];
    others[threadIdx.x] = b;
    areas[threadIdx.x] = (b.z - b.x) * (b.w - b.y);
    __syncthreads();
    int i = row * 64 + threadIdx.x;
    float4 a = boxes[i];
    float area = (a.z - a.x) * (a.w - a.y);
    unsigned word[2] = {0, 0};
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
        for (int j = 0; j < 32; j++) {
            float4 o = others[half * 32 + j];
            float w = fmaxf(fminf(a.z, o.z) - fmaxf(a.x, o.x), 0.0f);
            float h = fmaxf(fminf(a.w, o.w) - fmaxf(a.y, o.y), 0.0f);
            float inter = w * h;
            if (inter > threshold * (area + areas[half * 32 + j] - inter))
                word[half] |= 1u << j;
        }
    }
    u64 bits = word[0] | (u64)word[1] << 32;
    if (row == column)
        bits &= threadIdx.x == 63 ? 0 : ~0ull << (threadIdx.x + 1);
    mask[(size_t)i * (n / 64) + column] = bits;
}

// ---- out = a0 b0 + a1 b1 + a2 b2 + a3 b3 modulo a prime below 2^30, for each of 8 primes ----
constexpr int limbs = 8, terms = 4, degree = 1 << 21;

__global__ void make_residues(unsigned *data, const unsigned *primes, unsigned seed)
{
    size_t n = (size_t)terms * limbs * degree;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        data[i] = scrambled(i, seed) % primes[i / degree % limbs];
}

__global__ void k232d(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ out,
                      const unsigned *__restrict__ primes)
{
    int limb = blockIdx.y;
    size_t i = (size_t)limb * degree + blockIdx.x * blockDim.x + threadIdx.x;
    u64 p = primes[limb], sum = 0;
    for (int k = 0; k < terms; k++) {
        size_t at = (size_t)k * limbs * degree + i;
        sum = (sum + (u64)a[at] * b[at]) % p;
    }
    out[i] = (unsigned)sum;
}

// inverse is the integer part of 2^64 / p; the sum stays below 2^62
__device__ inline unsigned reduce(u64 sum, unsigned p, u64 inverse)
{
    u64 quotient = __umul64hi(sum, inverse);
    unsigned r = (unsigned)(sum - quotient * p);
    return r >= p ? r - p : r;
}

__global__ void k232e(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ out,
                      const unsigned *__restrict__ primes, const u64 *__restrict__ inverses)
{
    int limb = blockIdx.y;
    size_t i = (size_t)limb * degree + blockIdx.x * blockDim.x + threadIdx.x;
    u64 sum = 0;
#pragma unroll
    for (int k = 0; k < terms; k++) {
        size_t at = (size_t)k * limbs * degree + i;
        sum += (u64)a[at] * b[at];
    }
    out[i] = reduce(sum, primes[limb], inverses[limb]);
}

__global__ void k232f(const uint4 *__restrict__ a, const uint4 *__restrict__ b, uint4 *__restrict__ out,
                      const unsigned *__restrict__ primes, const u64 *__restrict__ inverses)
{
    int limb = blockIdx.y;
    size_t i = (size_t)limb * (degree / 4) + blockIdx.x * blockDim.x + threadIdx.x;
    u64 x = 0, y = 0, z = 0, w = 0;
#pragma unroll
    for (int k = 0; k < terms; k++) {
        size_t at = (size_t)k * limbs * (degree / 4) + i;
        uint4 va = a[at], vb = b[at];
        x += (u64)va.x * vb.x;
        y += (u64)va.y * vb.y;
        z += (u64)va.z * vb.z;
        w += (u64)va.w * vb.w;
    }
    unsigned p = primes[limb];
    u64 inverse = inverses[limb];
    out[i] = make_uint4(reduce(x, p, inverse), reduce(y, p, inverse), reduce(z, p, inverse), reduce(w, p, inverse));
}

// ---- col2im: columns (N, C * 9, H * W) added up into an image (N, C, H, W); kernel 3x3, padding 1, stride 1 ----
__global__ void k232g(const float *__restrict__ columns, float *__restrict__ image, int channels, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    int y = blockIdx.y;
    int tap = blockIdx.z % 9, plane = blockIdx.z / 9; // plane: sample and channel
    int to_y = y + tap / 3 - 1, to_x = x + tap % 3 - 1;
    if (to_y < 0 || to_y >= height || to_x < 0 || to_x >= width)
        return;
    atomicAdd(&image[((size_t)plane * height + to_y) * width + to_x],
              columns[((size_t)blockIdx.z * height + y) * width + x]);
}

__global__ void k232h(const float *__restrict__ columns, float *__restrict__ image, int channels, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;
    int y = blockIdx.y, plane = blockIdx.z;
    const float *from = columns + (size_t)plane * 9 * height * width;
    float sum = 0;
#pragma unroll
    for (int ky = 0; ky < 3; ky++) {
        int from_y = y + 1 - ky;
        if (from_y < 0 || from_y >= height)
            continue;
#pragma unroll
        for (int kx = 0; kx < 3; kx++) {
            int from_x = x + 1 - kx;
            if (from_x >= 0 && from_x < width)
                sum += from[((size_t)(ky * 3 + kx) * height + from_y) * width + from_x];
        }
    }
    image[((size_t)plane * height + y) * width + x] = sum;
}

int main()
{
    {
        const int n = 16384;
        const size_t words = (size_t)n * (n / 64);
        std::vector<float4> list(n);
        for (int i = 0; i < n; i++) {
            float x = scrambled(i, 1) % 1000, y = scrambled(i, 2) % 1000;
            list[i] = make_float4(x, y, x + 20 + scrambled(i, 3) % 100, y + 20 + scrambled(i, 4) % 100);
        }
        float4 *boxes = on_device(list);
        u64 *mask = zeroed<u64>(words);
        k232a<<<dim3(n / 256, n), 256>>>(boxes, mask, n, 0.5f);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host((unsigned *)mask, words * 2);
        check("k232a", (unsigned *)mask, want, 0);
        MUST(cudaFree(mask));
        mask = zeroed<u64>(words);
        k232b<<<dim3(n / 64, n / 64), 64>>>(boxes, mask, n, 0.5f);
        check("k232b", (unsigned *)mask, want, 0);
        MUST(cudaFree(mask));
        mask = zeroed<u64>(words);
        k232c<<<dim3(n / 64, n / 64), 64>>>(boxes, mask, n, 0.5f);
        check("k232c", (unsigned *)mask, want, 0);
        MUST(cudaFree(mask));
    }
    {
        std::vector<unsigned> p = {998244353u, 754974721u, 469762049u, 167772161u, 595591169u, 645922817u, 880803841u, 943718401u};
        std::vector<u64> inv(limbs);
        for (int l = 0; l < limbs; l++)
            inv[l] = ~0ull / p[l]; // p is odd and above 1, so this is the integer part of 2^64 / p
        unsigned *primes = on_device(p);
        u64 *inverses = on_device(inv);
        const size_t n = (size_t)terms * limbs * degree, results = (size_t)limbs * degree;
        unsigned *a = output<unsigned>(n), *b = output<unsigned>(n);
        make_residues<<<1056, 256>>>(a, primes, 11);
        make_residues<<<1056, 256>>>(b, primes, 12);
        MUST(cudaDeviceSynchronize());
        unsigned *out = output<unsigned>(results);
        k232d<<<dim3(degree / 256, limbs), 256>>>(a, b, out, primes);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host(out, results);
        check("k232d", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned>(results);
        k232e<<<dim3(degree / 256, limbs), 256>>>(a, b, out, primes, inverses);
        check("k232e", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned>(results);
        k232f<<<dim3(degree / 1024, limbs), 256>>>((const uint4 *)a, (const uint4 *)b, (uint4 *)out, primes, inverses);
        check("k232f", out, want, 0);
        MUST(cudaFree(out));
        MUST(cudaFree(a));
        MUST(cudaFree(b));
    }
    {
        const int samples = 4, channels = 64, height = 256, width = 256, planes = samples * channels;
        const size_t n = (size_t)planes * height * width;
        float *columns = input<float>(n * 9, 5, -1, 1);
        float *image = zeroed<float>(n);
        k232g<<<dim3(width / 256, height, planes * 9), 256>>>(columns, image, channels, height, width);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(image, n);
        check("k232g", image, want, 0);
        MUST(cudaFree(image));
        image = output<float>(n);
        k232h<<<dim3(width / 256, height, planes), 256>>>(columns, image, channels, height, width);
        check("k232h", image, want, 1e-4);
    }
    return 0;
}
