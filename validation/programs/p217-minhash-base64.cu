// Signatures of documents (the smallest value of each of 32 hash functions over the shingles of a document), and the
// encoding of binary data as base64 text.
#include "../harness.h"

#include <functional>

const int DOCS = 65536, LENGTH = 128, HASHES = 32;
const unsigned PRIME = 2147483647u;

typedef unsigned long long u64;

__global__ void k217a(unsigned *signature, const unsigned *shingles, const unsigned *a, const unsigned *b, int docs,
                      int length, int hashes)
{
    int doc = blockIdx.x * blockDim.x + threadIdx.x;
    if (doc >= docs)
        return;
    for (int h = 0; h < hashes; h++) {
        unsigned ah = a[h], bh = b[h], best = PRIME;
        for (int s = 0; s < length; s++) {
            unsigned value = unsigned(((u64)ah * shingles[doc * length + s] + bh) % PRIME);
            best = min(best, value);
        }
        signature[doc * hashes + h] = best;
    }
}

// Eight threads for a document, with four functions each.
__global__ void k217b(unsigned *__restrict__ signature, const unsigned *__restrict__ shingles,
                      const unsigned *__restrict__ a, const unsigned *__restrict__ b)
{
    int doc = blockIdx.x * blockDim.y + threadIdx.y;
    const uint4 *words = reinterpret_cast<const uint4 *>(shingles + doc * LENGTH);
    unsigned as[4], bs[4], best[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        as[j] = a[threadIdx.x * 4 + j];
        bs[j] = b[threadIdx.x * 4 + j];
        best[j] = PRIME;
    }
#pragma unroll 2
    for (int s = 0; s < LENGTH / 4; s++) {
        uint4 w = words[s];
        unsigned x[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                best[j] = min(best[j], unsigned(((u64)as[j] * x[i] + bs[j]) % PRIME));
    }
    reinterpret_cast<uint4 *>(signature + doc * HASHES)[threadIdx.x] = make_uint4(best[0], best[1], best[2], best[3]);
}

__device__ inline unsigned hashed(unsigned a, unsigned b, unsigned x)
{
    u64 wide = (u64)a * x + b;
    unsigned sum = unsigned(wide >> 31) + (unsigned(wide) & PRIME);
    return min(sum, sum - PRIME);
}

__global__ void k217c(unsigned *__restrict__ signature, const unsigned *__restrict__ shingles,
                      const unsigned *__restrict__ a, const unsigned *__restrict__ b)
{
    int doc = blockIdx.x * blockDim.y + threadIdx.y;
    const uint4 *words = reinterpret_cast<const uint4 *>(shingles + doc * LENGTH);
    unsigned as[4], bs[4], best[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        as[j] = a[threadIdx.x * 4 + j];
        bs[j] = b[threadIdx.x * 4 + j];
        best[j] = PRIME;
    }
#pragma unroll 4
    for (int s = 0; s < LENGTH / 4; s++) {
        uint4 w = words[s];
        unsigned x[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                best[j] = min(best[j], hashed(as[j], bs[j], x[i]));
    }
    reinterpret_cast<uint4 *>(signature + doc * HASHES)[threadIdx.x] = make_uint4(best[0], best[1], best[2], best[3]);
}

// The shingles of the 32 documents of a block are staged first.
__global__ void k217d(unsigned *__restrict__ signature, const unsigned *__restrict__ shingles,
                      const unsigned *__restrict__ a, const unsigned *__restrict__ b)
{
    __shared__ uint4 stage[32][LENGTH / 4 + 1];
    int first = blockIdx.x * 32, doc = first + threadIdx.y;
    const uint4 *words = reinterpret_cast<const uint4 *>(shingles + first * LENGTH);
    for (int i = threadIdx.y * 8 + threadIdx.x; i < 32 * (LENGTH / 4); i += 256)
        stage[i / (LENGTH / 4)][i % (LENGTH / 4)] = words[i];
    unsigned as[4], bs[4], best[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        as[j] = a[threadIdx.x * 4 + j];
        bs[j] = b[threadIdx.x * 4 + j];
        best[j] = PRIME;
    }
    __syncthreads();
#pragma unroll 4
    for (int s = 0; s < LENGTH / 4; s++) {
        uint4 w = stage[threadIdx.y][s];
        unsigned x[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                best[j] = min(best[j], hashed(as[j], bs[j], x[i]));
    }
    reinterpret_cast<uint4 *>(signature + doc * HASHES)[threadIdx.x] = make_uint4(best[0], best[1], best[2], best[3]);
}

__constant__ unsigned char letters_const[64];

// A thread for three bytes, which become four letters.
__global__ void k217e(unsigned char *text, const unsigned char *data, int groups)
{
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    unsigned v = data[3 * g] << 16 | data[3 * g + 1] << 8 | data[3 * g + 2];
    text[4 * g] = letters_const[v >> 18];
    text[4 * g + 1] = letters_const[v >> 12 & 63];
    text[4 * g + 2] = letters_const[v >> 6 & 63];
    text[4 * g + 3] = letters_const[v & 63];
}

__global__ void k217f(unsigned char *text, const unsigned char *data, int groups)
{
    __shared__ unsigned char letters[64];
    if (threadIdx.x < 64)
        letters[threadIdx.x] = letters_const[threadIdx.x];
    __syncthreads();
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    unsigned v = data[3 * g] << 16 | data[3 * g + 1] << 8 | data[3 * g + 2];
    text[4 * g] = letters[v >> 18];
    text[4 * g + 1] = letters[v >> 12 & 63];
    text[4 * g + 2] = letters[v >> 6 & 63];
    text[4 * g + 3] = letters[v & 63];
}

__device__ inline unsigned four(const unsigned char *letters, unsigned v)
{
    return letters[v >> 18 & 63] | letters[v >> 12 & 63] << 8 | letters[v >> 6 & 63] << 16 |
           unsigned(letters[v & 63]) << 24;
}

__global__ void k217g(unsigned *__restrict__ text, const unsigned char *__restrict__ data, int groups)
{
    __shared__ unsigned char letters[64];
    if (threadIdx.x < 64)
        letters[threadIdx.x] = letters_const[threadIdx.x];
    __syncthreads();
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups)
        return;
    unsigned v = data[3 * g] << 16 | data[3 * g + 1] << 8 | data[3 * g + 2];
    text[g] = four(letters, v);
}

__global__ void k217h(uint4 *__restrict__ text, const unsigned *__restrict__ data, int quads)
{
    __shared__ unsigned char letters[64];
    if (threadIdx.x < 64)
        letters[threadIdx.x] = letters_const[threadIdx.x];
    __syncthreads();
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= quads)
        return;
    unsigned w0 = data[3 * q], w1 = data[3 * q + 1], w2 = data[3 * q + 2];
    uint4 out;
    out.x = four(letters, __byte_perm(w0, w1, 0x0012));
    out.y = four(letters, __byte_perm(w0, w1, 0x0345));
    out.z = four(letters, __byte_perm(w1, w2, 0x0234));
    out.w = four(letters, __byte_perm(w2, w2, 0x0123));
    text[q] = out;
}

int main()
{
    // Signatures: every 64th document is computed on the host.
    const size_t words = (size_t)DOCS * LENGTH, results = (size_t)DOCS * HASHES;
    unsigned *shingles = input<unsigned>(words, 2171, 0.0, 2147483647.0);
    unsigned *a = input<unsigned>(HASHES, 2172, 1.0, 2147483647.0), *b = input<unsigned>(HASHES, 2173, 0.0, 2147483647.0);
    unsigned *signature = output<unsigned>(results);
    const int every = 64, chosen = DOCS / every;
    unsigned *picked = output<unsigned>((size_t)chosen * HASHES);
    std::vector<unsigned> hs = on_host(shingles, words), ha = on_host(a, HASHES), hb = on_host(b, HASHES);
    std::vector<unsigned> want((size_t)chosen * HASHES);
    for (int i = 0; i < chosen; i++)
        for (int h = 0; h < HASHES; h++) {
            unsigned best = PRIME;
            for (int s = 0; s < LENGTH; s++) {
                unsigned value = unsigned(((u64)ha[h] * hs[(size_t)i * every * LENGTH + s] + hb[h]) % PRIME);
                best = value < best ? value : best;
            }
            want[(size_t)i * HASHES + h] = best;
        }
    auto sign = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(signature, 0xA5, results * sizeof(unsigned)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = HASHES * sizeof(unsigned);
        MUST(cudaMemcpy2D(picked, bytes, signature, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
    };
    dim3 threads(8, 32);
    sign("k217a", [&] { k217a<<<DOCS / 128, 128>>>(signature, shingles, a, b, DOCS, LENGTH, HASHES); });
    sign("k217b", [&] { k217b<<<DOCS / 32, threads>>>(signature, shingles, a, b); });
    sign("k217c", [&] { k217c<<<DOCS / 32, threads>>>(signature, shingles, a, b); });
    sign("k217d", [&] { k217d<<<DOCS / 32, threads>>>(signature, shingles, a, b); });

    // Text: 96 MiB become 128 MiB; strips of 4096 letters, every 32nd is checked.
    const int quads = 8 << 20, groups = quads * 4;
    const size_t bytes_in = (size_t)groups * 3, bytes_out = (size_t)groups * 4;
    unsigned char *data = input<unsigned char>(bytes_in, 2174, 0.0, 256.0), *text = output<unsigned char>(bytes_out);
    const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    MUST(cudaMemcpyToSymbol(letters_const, alphabet, 64));
    std::vector<unsigned char> hd = on_host(data, bytes_in);
    const size_t strip = 4096, skip = 32, strips = bytes_out / strip / skip;
    unsigned char *some = output<unsigned char>(strips * strip);
    std::vector<unsigned char> letters(strips * strip);
    for (size_t i = 0; i < strips; i++)
        for (size_t g = 0; g < strip / 4; g++) {
            const unsigned char *src = &hd[(i * skip * (strip / 4) + g) * 3];
            unsigned v = unsigned(src[0]) << 16 | unsigned(src[1]) << 8 | src[2];
            for (int k = 0; k < 4; k++)
                letters[i * strip + g * 4 + k] = (unsigned char)alphabet[v >> (18 - 6 * k) & 63];
        }
    auto encode = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(text, 0xA5, bytes_out));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, strip, text, skip * strip, strip, strips, cudaMemcpyDeviceToDevice));
        check(name, some, letters, 0.0);
    };
    unsigned *text32 = reinterpret_cast<unsigned *>(text);
    uint4 *text128 = reinterpret_cast<uint4 *>(text);
    const unsigned *data32 = reinterpret_cast<const unsigned *>(data);
    encode("k217e", [&] { k217e<<<groups / 256, 256>>>(text, data, groups); });
    encode("k217f", [&] { k217f<<<groups / 256, 256>>>(text, data, groups); });
    encode("k217g", [&] { k217g<<<groups / 256, 256>>>(text32, data, groups); });
    encode("k217h", [&] { k217h<<<quads / 256, 256>>>(text128, data32, quads); });
    return 0;
}
