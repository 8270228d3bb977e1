// Lines of a log, and translation of its bytes through a table.
#include "../harness.h"

__constant__ unsigned char translation[256];

__global__ void k16a(const char *text, unsigned long long *lines, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && text[i] == '\n')
        atomicAdd(lines, 1ull);
}

__global__ void k16b(const char *__restrict__ text, unsigned long long *lines, unsigned n)
{
    __shared__ unsigned in_block;
    if (threadIdx.x == 0)
        in_block = 0;
    __syncthreads();
    unsigned mine = 0;
    const unsigned step = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step)
        mine += (text[i] == '\n') + (text[i + step] == '\n') + (text[i + 2 * step] == '\n') +
                (text[i + 3 * step] == '\n');
    for (; i < n; i += step)
        mine += text[i] == '\n';
    atomicAdd(&in_block, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(lines, (unsigned long long)in_block);
}

__global__ void k16c(const char *__restrict__ text, unsigned long long *lines, unsigned n)
{
    __shared__ unsigned in_block;
    if (threadIdx.x == 0)
        in_block = 0;
    __syncthreads();
    unsigned mine = 0;
    const uint4 *words = reinterpret_cast<const uint4 *>(text);
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = first; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 w = words[i];
        mine += __popc(__vcmpeq4(w.x, 0x0a0a0a0au)) + __popc(__vcmpeq4(w.y, 0x0a0a0a0au)) +
                __popc(__vcmpeq4(w.z, 0x0a0a0a0au)) + __popc(__vcmpeq4(w.w, 0x0a0a0a0au));
    }
    mine /= 8;
    if (first < n % 16)
        mine += text[n - n % 16 + first] == '\n';
    atomicAdd(&in_block, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(lines, (unsigned long long)in_block);
}

__global__ void k16d(const uchar4 *in, uchar4 *out, unsigned n4)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        uchar4 c = in[i];
        out[i] = make_uchar4(translation[c.x], translation[c.y], translation[c.z], translation[c.w]);
    }
}

__global__ void k16e(const uchar4 *__restrict__ in, const unsigned char *__restrict__ table, uchar4 *__restrict__ out,
                     unsigned n4)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        uchar4 c = in[i];
        out[i] = make_uchar4(table[c.x], table[c.y], table[c.z], table[c.w]);
    }
}

__global__ void k16f(const uchar4 *__restrict__ in, const unsigned char *__restrict__ table, uchar4 *__restrict__ out,
                     unsigned n4)
{
    __shared__ unsigned char local[256];
    local[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i < n4) {
        uchar4 c = in[i];
        out[i] = make_uchar4(local[c.x], local[c.y], local[c.z], local[c.w]);
    }
}

int main()
{
    const unsigned n = 200000013;
    unsigned char *text = input<unsigned char>(n, 1, 10.0, 138.0);
    std::vector<unsigned char> host = on_host(text, n);
    unsigned long long newlines = 0;
    for (unsigned char c : host)
        newlines += c == '\n';
    const std::vector<unsigned long long> lines = {newlines};
    unsigned long long *count = zeroed<unsigned long long>(3);
    const char *chars = reinterpret_cast<const char *>(text);

    k16a<<<(n + 255) / 256, 256>>>(chars, count, n);
    check("k16a", count, lines, 0.0);
    k16b<<<132 * 8, 256>>>(chars, count + 1, n);
    check("k16b", count + 1, lines, 0.0);
    k16c<<<132 * 8, 256>>>(chars, count + 2, n);
    check("k16c", count + 2, lines, 0.0);

    // Upper case, and everything that is no letter or digit becomes a blank.
    const unsigned n4 = 30000000;
    std::vector<unsigned char> table(256), want((size_t)n4 * 4);
    for (int c = 0; c < 256; c++)
        table[c] = c >= 'a' && c <= 'z'   ? (unsigned char)(c - 32)
                   : c >= 'A' && c <= 'Z' ? (unsigned char)c
                   : c >= '0' && c <= '9' ? (unsigned char)c
                                          : ' ';
    for (size_t i = 0; i < want.size(); i++)
        want[i] = table[host[i]];
    MUST(cudaMemcpyToSymbol(translation, table.data(), 256));
    unsigned char *in_memory = on_device(table), *out = output<unsigned char>(want.size());
    const uchar4 *in = reinterpret_cast<const uchar4 *>(text);
    uchar4 *out4 = reinterpret_cast<uchar4 *>(out);
    k16d<<<(n4 + 255) / 256, 256>>>(in, out4, n4);
    check("k16d", out, want, 0.0);
    MUST(cudaMemset(out, 0xA5, want.size()));
    k16e<<<(n4 + 255) / 256, 256>>>(in, in_memory, out4, n4);
    check("k16e", out, want, 0.0);
    MUST(cudaMemset(out, 0xA5, want.size()));
    k16f<<<(n4 + 255) / 256, 256>>>(in, in_memory, out4, n4);
    check("k16f", out, want, 0.0);
    return 0;
}
