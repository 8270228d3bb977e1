// Numbers of different bases between all pairs of two sets of DNA sequences (512 bases as two bit planes), and the mean
// quality of every read of 128 bases.
#include "../harness.h"

#include <functional>

const int SEQS = 4096, WORDS = 32;

// Words 2k and 2k + 1 of a sequence hold the high and the low bits of bases 32k to 32k + 31.
__global__ void k196a(const unsigned *query, const unsigned *ref, unsigned short *dist, int seqs)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= seqs || j >= seqs)
        return;
    int sum = 0;
    for (int w = 0; w < WORDS; w += 2) {
        unsigned high = query[i * WORDS + w] ^ ref[j * WORDS + w];
        unsigned low = query[i * WORDS + w + 1] ^ ref[j * WORDS + w + 1];
        sum += __popc(high | low);
    }
    dist[(size_t)i * seqs + j] = (unsigned short)sum;
}

__global__ void k196b(const unsigned *query, const unsigned *ref_t, unsigned short *dist, int seqs)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= seqs || j >= seqs)
        return;
    int sum = 0;
    for (int w = 0; w < WORDS; w += 2) {
        unsigned high = query[i * WORDS + w] ^ ref_t[w * seqs + j];
        unsigned low = query[i * WORDS + w + 1] ^ ref_t[(w + 1) * seqs + j];
        sum += __popc(high | low);
    }
    dist[(size_t)i * seqs + j] = (unsigned short)sum;
}

const int SIDE = 64;

// A block of 16 x 16 threads makes 64 x 64 distances.
__global__ void __launch_bounds__(256) k196c(const unsigned *__restrict__ query_t, const unsigned *__restrict__ ref_t,
                                             unsigned short *__restrict__ dist, int seqs)
{
    __shared__ uint4 q[WORDS][SIDE / 4], r[WORDS][SIDE / 4];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIDE, column = blockIdx.x * SIDE;
    for (int w = ty; w < WORDS; w += 16) {
        q[w][tx] = *reinterpret_cast<const uint4 *>(query_t + w * seqs + row + 4 * tx);
        r[w][tx] = *reinterpret_cast<const uint4 *>(ref_t + w * seqs + column + 4 * tx);
    }
    __syncthreads();
    int sum[4][4] = {};
#pragma unroll 4
    for (int w = 0; w < WORDS; w += 2) {
        uint4 qh = q[w][ty], ql = q[w + 1][ty], rh = r[w][tx], rl = r[w + 1][tx];
        unsigned ah[4] = {qh.x, qh.y, qh.z, qh.w}, al[4] = {ql.x, ql.y, ql.z, ql.w};
        unsigned bh[4] = {rh.x, rh.y, rh.z, rh.w}, bl[4] = {rl.x, rl.y, rl.z, rl.w};
#pragma unroll
        for (int a = 0; a < 4; a++)
#pragma unroll
            for (int b = 0; b < 4; b++)
                sum[a][b] += __popc((ah[a] ^ bh[b]) | (al[a] ^ bl[b]));
    }
#pragma unroll
    for (int a = 0; a < 4; a++)
        *reinterpret_cast<ushort4 *>(dist + (size_t)(row + 4 * ty + a) * seqs + column + 4 * tx) =
            make_ushort4(sum[a][0], sum[a][1], sum[a][2], sum[a][3]);
}

const int READS = 2 << 20, LENGTH = 128;

__global__ void k196d(const unsigned char *quality, float *mean, int reads, int length)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= reads)
        return;
    int sum = 0;
    for (int i = 0; i < length; i++)
        sum += quality[(size_t)r * length + i] - 33;
    mean[r] = float(sum) / length;
}

__global__ void k196e(const uchar4 *quality, float *mean, int reads)
{
    __shared__ int part[8][32];
    int lane = threadIdx.x, y = threadIdx.y, r = blockIdx.x * 8 + y;
    uchar4 v = make_uchar4(0, 0, 0, 0);
    if (r < reads)
        v = quality[(size_t)r * (LENGTH / 4) + lane];
    part[y][lane] = v.x + v.y + v.z + v.w;
    __syncthreads();
    for (int s = 16; s > 0; s /= 2) {
        if (lane < s)
            part[y][lane] += part[y][lane + s];
        __syncthreads();
    }
    if (lane == 0 && r < reads)
        mean[r] = float(part[y][0]) / LENGTH - 33.0f;
}

__global__ void k196f(const uchar4 *quality, float *mean, int reads)
{
    int lane = threadIdx.x, r = blockIdx.x * 8 + threadIdx.y;
    if (r >= reads)
        return;
    uchar4 v = quality[(size_t)r * (LENGTH / 4) + lane];
    int sum = v.x + v.y + v.z + v.w;
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (lane == 0)
        mean[r] = float(sum) / LENGTH - 33.0f;
}

__device__ inline unsigned bytes_of(uint4 v)
{
    const unsigned ones = 0x01010101u;
    return __dp4a(v.x, ones, __dp4a(v.y, ones, __dp4a(v.z, ones, __dp4a(v.w, ones, 0u))));
}

// Eight lanes per read; the number of reads is a multiple of 32.
__global__ void k196g(const uint4 *__restrict__ quality, float *__restrict__ mean)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned sum = bytes_of(quality[i]);
    for (int s = 4; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s, 8);
    if (threadIdx.x % 8 == 0)
        mean[i / 8] = float(sum) * (1.0f / LENGTH) - 33.0f;
}

__global__ void k196h(const uint4 *__restrict__ quality, float *__restrict__ mean)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned sum = bytes_of(quality[i]);
    sum += __shfl_down_sync(~0u, sum, 4, 8);
    sum += __shfl_down_sync(~0u, sum, 2, 8);
    sum += __shfl_down_sync(~0u, sum, 1, 8);
    if (threadIdx.x % 8 == 0)
        mean[i / 8] = float(sum) * (1.0f / LENGTH) - 33.0f;
}

int main()
{
    // Every second reference is a query with a few of its bases changed.
    const size_t words = (size_t)SEQS * WORDS, pairs = (size_t)SEQS * SEQS;
    unsigned *query = input<unsigned>(words, 1961, 0.0, 4294967296.0);
    std::vector<unsigned> hq = on_host(query, words), hr(words), hqt(words), hrt(words);
    for (int j = 0; j < SEQS; j++)
        for (int w = 0; w < WORDS; w++) {
            size_t at = (size_t)j * WORDS + w;
            unsigned noise = scrambled(at, 1962), more = scrambled(at, 1963), rare = scrambled(at, 1964);
            hr[at] = j % 2 ? noise : hq[at] ^ (noise & more & rare);
            hqt[(size_t)w * SEQS + j] = hq[at];
            hrt[(size_t)w * SEQS + j] = hr[at];
        }
    unsigned *ref = on_device(hr), *query_t = on_device(hqt), *ref_t = on_device(hrt);
    unsigned short *dist = output<unsigned short>(pairs);
    const int every = 65, rows = 64;
    std::vector<unsigned short> want((size_t)rows * SEQS);
    for (int k = 0; k < rows; k++)
        for (int j = 0; j < SEQS; j++) {
            const unsigned *a = &hq[(size_t)k * every * WORDS], *b = &hr[(size_t)j * WORDS];
            int sum = 0;
            for (int w = 0; w < WORDS; w += 2)
                sum += __builtin_popcount((a[w] ^ b[w]) | (a[w + 1] ^ b[w + 1]));
            want[(size_t)k * SEQS + j] = (unsigned short)sum;
        }
    unsigned short *some = output<unsigned short>(want.size());
    auto differ = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dist, 0xA5, pairs * sizeof(unsigned short)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = SEQS * sizeof(unsigned short);
        MUST(cudaMemcpy2D(some, bytes, dist, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
        check(name, some, want, 0.0);
    };
    dim3 block(32, 8), grid(SEQS / 32, SEQS / 8);
    differ("k196a", [&] { k196a<<<grid, block>>>(query, ref, dist, SEQS); });
    differ("k196b", [&] { k196b<<<grid, block>>>(query, ref_t, dist, SEQS); });
    differ("k196c", [&] { k196c<<<dim3(SEQS / SIDE, SEQS / SIDE), dim3(16, 16)>>>(query_t, ref_t, dist, SEQS); });

    const size_t n = (size_t)READS * LENGTH;
    unsigned char *quality = input<unsigned char>(n, 1965, 33, 75);
    float *mean = output<float>(READS);
    std::vector<unsigned char> bytes = on_host(quality, n);
    std::vector<float> means(READS);
    for (int r = 0; r < READS; r++) {
        int sum = 0;
        for (int i = 0; i < LENGTH; i++)
            sum += bytes[(size_t)r * LENGTH + i] - 33;
        means[r] = float(sum) / LENGTH;
    }
    auto reads = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(mean, 0xA5, READS * sizeof(float)));
        launch();
        check(name, mean, means, 1e-6);
    };
    const uchar4 *by4 = reinterpret_cast<const uchar4 *>(quality);
    const uint4 *by16 = reinterpret_cast<const uint4 *>(quality);
    const unsigned lanes8 = READS / 32;
    reads("k196d", [&] { k196d<<<READS / 256, 256>>>(quality, mean, READS, LENGTH); });
    reads("k196e", [&] { k196e<<<READS / 8, block>>>(by4, mean, READS); });
    reads("k196f", [&] { k196f<<<READS / 8, block>>>(by4, mean, READS); });
    reads("k196g", [&] { k196g<<<lanes8, 256>>>(by16, mean); });
    reads("k196h", [&] { k196h<<<lanes8, 256>>>(by16, mean); });
    return 0;
}
