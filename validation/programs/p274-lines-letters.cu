// A deterministic automaton run over log lines, and the number of code points of UTF-8 documents.
#include "../harness.h"

constexpr int lines = 1 << 20;
constexpr int line_bytes = 128;
constexpr int words = line_bytes / 4;
constexpr int states = 64;
constexpr int documents = 65536;
constexpr int document_bytes = 4096;

// State of the automaton after each line; lines one after the other.
__global__ void k274a(const unsigned char *__restrict__ text, const unsigned char *__restrict__ next,
                      unsigned char *__restrict__ final_state, int n)
{
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= n)
        return;
    unsigned state = 0;
    for (int i = 0; i < line_bytes; i++)
        state = next[state * 256 + text[(size_t)line * line_bytes + i]];
    final_state[line] = state;
}

__device__ inline unsigned step4(const unsigned char *next, unsigned state, unsigned word)
{
    state = next[state * 256 + (word & 255)];
    state = next[state * 256 + (word >> 8 & 255)];
    state = next[state * 256 + (word >> 16 & 255)];
    return next[state * 256 + (word >> 24)];
}

// Lines interleaved by words of four bytes: [word][line].
__global__ void k274b(const unsigned *__restrict__ text, const unsigned char *__restrict__ next,
                      unsigned char *__restrict__ final_state, int n)
{
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= n)
        return;
    unsigned state = 0;
    for (int w = 0; w < words; w++)
        state = step4(next, state, text[(size_t)w * n + line]);
    final_state[line] = state;
}

// Transitions in shared memory.
__global__ void k274c(const unsigned *__restrict__ text, const uint4 *__restrict__ next,
                      unsigned char *__restrict__ final_state, int n)
{
    __shared__ uint4 table[states * 256 / 16];
    for (int j = threadIdx.x; j < states * 256 / 16; j += blockDim.x)
        table[j] = next[j];
    __syncthreads();
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= n)
        return;
    unsigned state = 0;
    for (int w = 0; w < words; w++)
        state = step4(reinterpret_cast<const unsigned char *>(table), state, text[(size_t)w * n + line]);
    final_state[line] = state;
}

// Two lines per thread.
__global__ void k274d(const uint2 *__restrict__ text, const uint4 *__restrict__ next,
                      uchar2 *__restrict__ final_state, int pairs)
{
    __shared__ uint4 table[states * 256 / 16];
    for (int j = threadIdx.x; j < states * 256 / 16; j += blockDim.x)
        table[j] = next[j];
    __syncthreads();
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs)
        return;
    unsigned a = 0, b = 0;
    for (int w = 0; w < words; w++) {
        uint2 two = text[(size_t)w * pairs + pair];
        a = step4(reinterpret_cast<const unsigned char *>(table), a, two.x);
        b = step4(reinterpret_cast<const unsigned char *>(table), b, two.y);
    }
    final_state[pair] = make_uchar2(a, b);
}

// Bytes that are no continuation (10xxxxxx), one document per thread.
__global__ void k274e(const unsigned char *__restrict__ text, int *__restrict__ letters, int n)
{
    int document = blockIdx.x * blockDim.x + threadIdx.x;
    if (document >= n)
        return;
    int count = 0;
    for (int i = 0; i < document_bytes; i++)
        count += (text[(size_t)document * document_bytes + i] & 0xC0) != 0x80;
    letters[document] = count;
}

// One document per warp.
__global__ void k274f(const unsigned char *__restrict__ text, int *__restrict__ letters, int n)
{
    int document = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (document >= n)
        return;
    int count = 0;
    for (int i = lane; i < document_bytes; i += 32)
        count += (text[(size_t)document * document_bytes + i] & 0xC0) != 0x80;
    for (int d = 16; d; d /= 2)
        count += __shfl_down_sync(~0u, count, d);
    if (lane == 0)
        letters[document] = count;
}

__device__ inline int continuations(unsigned w)
{
    return __popc(w >> 7 & ~(w >> 6) & 0x01010101u);
}

// Sixteen bytes per load.
__global__ void k274g(const uint4 *__restrict__ text, int *__restrict__ letters, int n)
{
    int document = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (document >= n)
        return;
    int count = 0;
#pragma unroll
    for (int i = 0; i < document_bytes / 512; i++) {
        uint4 v = text[(size_t)document * (document_bytes / 16) + i * 32 + lane];
        count += 16 - continuations(v.x) - continuations(v.y) - continuations(v.z) - continuations(v.w);
    }
    for (int d = 16; d; d /= 2)
        count += __shfl_down_sync(~0u, count, d);
    if (lane == 0)
        letters[document] = count;
}

int main()
{
    {
        unsigned char *text = input<unsigned char>((size_t)lines * line_bytes, 1, 32, 127);
        unsigned char *next = input<unsigned char>(states * 256, 2, 0, states);
        std::vector<unsigned char> host = on_host(text, (size_t)lines * line_bytes);
        std::vector<unsigned char> table = on_host(next, states * 256);
        std::vector<unsigned> turned((size_t)words * lines);
        for (int line0 = 0; line0 < lines; line0 += 64)
            for (int w = 0; w < words; w++)
                for (int line = line0; line < line0 + 64; line++) {
                    const unsigned char *b = &host[(size_t)line * line_bytes + 4 * w];
                    turned[(size_t)w * lines + line] = b[0] | b[1] << 8 | b[2] << 16 | (unsigned)b[3] << 24;
                }
        unsigned *interleaved = on_device(turned);
        std::vector<unsigned char> want(65536);
        for (size_t line = 0; line < want.size(); line++) {
            unsigned state = 0;
            for (int i = 0; i < line_bytes; i++)
                state = table[state * 256 + host[line * line_bytes + i]];
            want[line] = state;
        }
        unsigned char *a = output<unsigned char>(lines), *b = output<unsigned char>(lines),
                      *c = output<unsigned char>(lines), *d = output<unsigned char>(lines);
        const uint4 *next4 = reinterpret_cast<const uint4 *>(next);
        k274a<<<lines / 256, 256>>>(text, next, a, lines);
        check("k274a", a, want, 0);
        std::vector<unsigned char> all = on_host(a, lines);
        k274b<<<lines / 256, 256>>>(interleaved, next, b, lines);
        check("k274b", b, all, 0);
        k274c<<<lines / 256, 256>>>(interleaved, next4, c, lines);
        check("k274c", c, all, 0);
        k274d<<<lines / 512, 256>>>(reinterpret_cast<uint2 *>(interleaved), next4, reinterpret_cast<uchar2 *>(d),
                                    lines / 2);
        check("k274d", d, all, 0);
        MUST(cudaFree(text));
        MUST(cudaFree(interleaved));
    }
    unsigned char *text = input<unsigned char>((size_t)documents * document_bytes, 3, 0, 256);
    std::vector<unsigned char> some = on_host(text, (size_t)4096 * document_bytes);
    std::vector<int> want(4096, 0);
    for (size_t i = 0; i < some.size(); i++)
        want[i / document_bytes] += (some[i] & 0xC0) != 0x80;
    int *e = output<int>(documents), *f = output<int>(documents), *g = output<int>(documents);
    k274e<<<documents / 256, 256>>>(text, e, documents);
    check("k274e", e, want, 0);
    std::vector<int> all = on_host(e, documents);
    k274f<<<documents / 8, 256>>>(text, f, documents);
    check("k274f", f, all, 0);
    k274g<<<documents / 8, 256>>>(reinterpret_cast<uint4 *>(text), g, documents);
    check("k274g", g, all, 0);
    return 0;
}
