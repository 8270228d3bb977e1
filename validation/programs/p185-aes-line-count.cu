// AES-128 of 48 MiB in blocks of 16 bytes (four tables for each round), and the number of lines of a text of 512 MiB.
#include "../harness.h"

#include <algorithm>
#include <cuda_pipeline.h>
#include <functional>

__constant__ unsigned round_keys[44];
__constant__ unsigned tables_const[1024];

// One block through ten rounds; look(t, byte, word) is entry number byte of the word in table t.
template <class Look> __device__ __forceinline__ uint4 cipher(uint4 s, Look look)
{
    s.x ^= round_keys[0];
    s.y ^= round_keys[1];
    s.z ^= round_keys[2];
    s.w ^= round_keys[3];
#pragma unroll
    for (int r = 1; r < 10; r++) {
        uint4 t;
        t.x = look(0, 0, s.x) ^ look(1, 1, s.y) ^ look(2, 2, s.z) ^ look(3, 3, s.w) ^ round_keys[r * 4];
        t.y = look(0, 0, s.y) ^ look(1, 1, s.z) ^ look(2, 2, s.w) ^ look(3, 3, s.x) ^ round_keys[r * 4 + 1];
        t.z = look(0, 0, s.z) ^ look(1, 1, s.w) ^ look(2, 2, s.x) ^ look(3, 3, s.y) ^ round_keys[r * 4 + 2];
        t.w = look(0, 0, s.w) ^ look(1, 1, s.x) ^ look(2, 2, s.y) ^ look(3, 3, s.z) ^ round_keys[r * 4 + 3];
        s = t;
    }
    auto last = [&](unsigned a, unsigned b, unsigned c, unsigned d) {
        return (look(2, 0, a) & 0xffu) | (look(3, 1, b) & 0xff00u) | (look(0, 2, c) & 0xff0000u) |
               (look(1, 3, d) & 0xff000000u);
    };
    return make_uint4(last(s.x, s.y, s.z, s.w) ^ round_keys[40], last(s.y, s.z, s.w, s.x) ^ round_keys[41],
                      last(s.z, s.w, s.x, s.y) ^ round_keys[42], last(s.w, s.x, s.y, s.z) ^ round_keys[43]);
}

__global__ void k185a(uint4 *out, const uint4 *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = cipher(in[i], [](int t, int byte, unsigned word) {
            return tables_const[t * 256 + (word >> byte * 8 & 255)];
        });
}

__global__ void k185b(uint4 *out, const uint4 *in, const unsigned *tables, int n)
{
    __shared__ unsigned table[1024];
    for (int j = threadIdx.x; j < 1024; j += blockDim.x)
        table[j] = tables[j];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = cipher(in[i], [&](int t, int byte, unsigned word) {
            return table[t * 256 + (word >> byte * 8 & 255)];
        });
}

// 128 KiB of shared memory: word j of the tables is at j * 32 .. j * 32 + 31.
__global__ void __launch_bounds__(1024) k185c(uint4 *out, const uint4 *in, const unsigned *tables, int n)
{
    extern __shared__ unsigned copies[];
    for (int j = threadIdx.x; j < 1024 * 32; j += blockDim.x)
        copies[j] = tables[j >> 5];
    __syncthreads();
    const unsigned lane = threadIdx.x & 31;
    auto look = [&](int t, int byte, unsigned word) {
        unsigned shifted = byte == 0 ? word << 5 : word >> (byte * 8 - 5);
        return copies[t * 8192 + ((shifted & 0x1fe0u) | lane)];
    };
    int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint4 next = in[i];
    for (; i < n; i += stride) {
        uint4 now = next;
        if (i + stride < n)
            next = in[i + stride];
        out[i] = cipher(now, look);
    }
}

__global__ void k185d(unsigned *lines, const unsigned char *text, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && text[i] == '\n')
        atomicAdd(lines, 1u);
}

__global__ void k185e(unsigned *lines, const unsigned char *text, int n)
{
    __shared__ unsigned count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && text[i] == '\n')
        atomicAdd(&count, 1u);
    __syncthreads();
    if (threadIdx.x == 0 && count)
        atomicAdd(lines, count);
}

__device__ inline void add_block(unsigned *lines, unsigned mine)
{
    __shared__ unsigned count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    mine = __reduce_add_sync(0xffffffffu, mine);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&count, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(lines, count);
}

__global__ void k185f(unsigned *lines, const unsigned char *text, size_t n)
{
    unsigned mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        mine += text[i] == '\n';
    add_block(lines, mine);
}

__device__ inline unsigned newlines(unsigned word)
{
    unsigned x = word ^ 0x0a0a0a0au;
    unsigned t = (x & 0x7f7f7f7fu) + 0x7f7f7f7fu;
    return __popc(~(t | x | 0x7f7f7f7fu));
}

__device__ inline unsigned newlines(uint4 v)
{
    return newlines(v.x) + newlines(v.y) + newlines(v.z) + newlines(v.w);
}

__global__ void k185g(unsigned *lines, const uint4 *text, size_t n)
{
    unsigned mine = 0;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
        uint4 a = text[i], b = text[i + stride], c = text[i + 2 * stride], d = text[i + 3 * stride];
        mine += newlines(a) + newlines(b) + newlines(c) + newlines(d);
    }
    for (; i < n; i += stride)
        mine += newlines(text[i]);
    add_block(lines, mine);
}

const int STAGES = 4;

__global__ void __launch_bounds__(256) k185h(unsigned *lines, const uint4 *text, size_t n)
{
    __shared__ uint4 stage[STAGES][256];
    unsigned mine = 0;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, ahead = i;
    for (int s = 0; s < STAGES - 1; s++, ahead += stride) {
        if (ahead < n)
            __pipeline_memcpy_async(&stage[s][threadIdx.x], &text[ahead], 16);
        __pipeline_commit();
    }
    int slot = 0;
    for (; i < n; i += stride, ahead += stride) {
        if (ahead < n)
            __pipeline_memcpy_async(&stage[(slot + STAGES - 1) % STAGES][threadIdx.x], &text[ahead], 16);
        __pipeline_commit();
        __pipeline_wait_prior(STAGES - 1);
        mine += newlines(stage[slot][threadIdx.x]);
        slot = (slot + 1) % STAGES;
    }
    add_block(lines, mine);
}

__global__ void fill_text(unsigned char *text, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        unsigned r = scrambled(i, 1851);
        text[i] = r % 100 == 0 ? '\n' : (r >> 8) % 224 + 32;
    }
}

unsigned char twice(unsigned char a)
{
    return a << 1 ^ (a & 128 ? 0x1b : 0);
}

struct Aes {
    unsigned char box[256], keys[176];

    explicit Aes(const unsigned char *key)
    {
        // p runs through the powers of 3, q through those of its inverse.
        unsigned char p = 1, q = 1;
        do {
            p = p ^ twice(p);
            q ^= q << 1, q ^= q << 2, q ^= q << 4;
            if (q & 128)
                q ^= 9;
            auto turn = [&](int by) { return q << by | q >> (8 - by); };
            box[p] = static_cast<unsigned char>(q ^ turn(1) ^ turn(2) ^ turn(3) ^ turn(4) ^ 0x63);
        } while (p != 1);
        box[0] = 0x63;
        std::copy(key, key + 16, keys);
        unsigned char constant = 1;
        for (int i = 16; i < 176; i += 4) {
            unsigned char w[4];
            std::copy(keys + i - 4, keys + i, w);
            if (i % 16 == 0) {
                std::rotate(w, w + 1, w + 4);
                for (unsigned char &b : w)
                    b = box[b];
                w[0] ^= constant;
                constant = twice(constant);
            }
            for (int j = 0; j < 4; j++)
                keys[i + j] = keys[i + j - 16] ^ w[j];
        }
    }

    void encrypt(unsigned char *s) const
    {
        unsigned char t[16];
        for (int j = 0; j < 16; j++)
            s[j] ^= keys[j];
        for (int r = 1; r <= 10; r++) {
            for (int j = 0; j < 16; j++)
                t[j] = box[s[(j + j % 4 * 4) % 16]];
            for (int c = 0; c < 16; c += 4)
                for (int j = 0; j < 4; j++) {
                    unsigned char a = t[c + j], b = t[c + (j + 1) % 4], d = t[c + (j + 2) % 4], e = t[c + (j + 3) % 4];
                    s[c + j] = (r < 10 ? twice(a) ^ twice(b) ^ b ^ d ^ e : a) ^ keys[r * 16 + c + j];
                }
        }
    }
};

int main()
{
    const int n = 3 << 20;
    unsigned *in = input<unsigned>((size_t)n * 4, 1852, 0.0, 4294967296.0), *out = output<unsigned>((size_t)n * 4);
    const unsigned char key[16] = {43, 126, 21, 22, 40, 174, 210, 166, 171, 247, 21, 136, 9, 207, 79, 60};
    Aes aes(key);
    std::vector<unsigned> table(1024), keys(44);
    for (int x = 0; x < 256; x++) {
        unsigned s = aes.box[x], d = twice(aes.box[x]);
        unsigned word = d | s << 8 | s << 16 | (s ^ d) << 24;
        for (int t = 0; t < 4; t++, word = word << 8 | word >> 24)
            table[t * 256 + x] = word;
    }
    for (int j = 0; j < 176; j++)
        keys[j / 4] |= unsigned(aes.keys[j]) << j % 4 * 8;
    MUST(cudaMemcpyToSymbol(tables_const, table.data(), sizeof(tables_const)));
    MUST(cudaMemcpyToSymbol(round_keys, keys.data(), sizeof(round_keys)));
    unsigned *tables = on_device(table);

    const int every = 47, chosen = (n - 1) / every + 1;
    unsigned *some = output<unsigned>((size_t)chosen * 4);
    MUST(cudaMemcpy2D(some, 16, in, every * 16, 16, chosen, cudaMemcpyDeviceToDevice));
    std::vector<unsigned> want = on_host(some, (size_t)chosen * 4);
    for (int s = 0; s < chosen; s++)
        aes.encrypt(reinterpret_cast<unsigned char *>(&want[(size_t)s * 4]));
    uint4 *to = reinterpret_cast<uint4 *>(out);
    const uint4 *from = reinterpret_cast<const uint4 *>(in);
    auto encrypt = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, (size_t)n * 16));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, 16, out, every * 16, 16, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 0.0);
    };
    int sms = 0;
    MUST(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    const int copies_bytes = 1024 * 32 * sizeof(unsigned);
    MUST(cudaFuncSetAttribute(k185c, cudaFuncAttributeMaxDynamicSharedMemorySize, copies_bytes));
    encrypt("k185a", [&] { k185a<<<n / 256, 256>>>(to, from, n); });
    encrypt("k185b", [&] { k185b<<<n / 256, 256>>>(to, from, tables, n); });
    encrypt("k185c", [&] { k185c<<<sms, 1024, copies_bytes>>>(to, from, tables, n); });

    const size_t length = (size_t)512 << 20;
    unsigned char *text = output<unsigned char>(length);
    fill_text<<<1056, 256>>>(text, length);
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned> total(1, 0);
    {
        std::vector<unsigned char> copy = on_host(text, length);
        total[0] = unsigned(std::count(copy.begin(), copy.end(), '\n'));
    }
    unsigned *lines = zeroed<unsigned>(1);
    auto count = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(lines, 0, sizeof(unsigned)));
        launch();
        check(name, lines, total, 0.0);
    };
    const uint4 *words = reinterpret_cast<const uint4 *>(text);
    const int blocks = int(length / 1024), n_text = int(length);
    count("k185d", [&] { k185d<<<blocks, 1024>>>(lines, text, n_text); });
    count("k185e", [&] { k185e<<<blocks, 1024>>>(lines, text, n_text); });
    count("k185f", [&] { k185f<<<sms * 8, 256>>>(lines, text, length); });
    count("k185g", [&] { k185g<<<sms * 8, 256>>>(lines, words, length / 16); });
    count("k185h", [&] { k185h<<<sms * 8, 256>>>(lines, words, length / 16); });
    return 0;
}
