// Toeplitz hashes of packets for receive-side scaling, and bytes per queue from packet descriptors.
#include "../harness.h"

constexpr int packets = 16 << 20;
constexpr int places = 12;
constexpr int descriptors = 32 << 20;
constexpr int queues = 2048;

// The key of the specification, as ten big-endian words.
const std::vector<unsigned> key_words = {0x6d5a56da, 0x255b0ec2, 0x4167253d, 0x43a38fb0, 0xd0ca2bcb,
                                         0xae7b30b4, 0x77cb2da3, 0x8030f20c, 0x6a42b73b, 0xbeac01fa};

struct Descriptor {
    unsigned time, source, destination, ports, flags, queue, length, reserved;
};

__host__ __device__ inline unsigned bytes_of(unsigned length)
{
    return 64 + (length & 1023);
}

// For every bit of the tuple (source, destination, ports) that is set, the 32 bits of the key that begin there.
__global__ void k273a(const unsigned *__restrict__ source, const unsigned *__restrict__ destination,
                      const unsigned *__restrict__ ports, const unsigned *__restrict__ key,
                      unsigned *__restrict__ hash, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned tuple[3] = {source[i], destination[i], ports[i]};
    unsigned h = 0;
#pragma unroll
    for (int w = 0; w < 3; w++) {
        unsigned word = tuple[w], window = key[w], next = key[w + 1];
        for (int bit = 0; bit < 32; bit++) {
            if (word & 0x80000000u)
                h ^= window;
            word <<= 1;
            window = window << 1 | next >> 31;
            next <<= 1;
        }
    }
    hash[i] = h;
}

__device__ inline unsigned from_tables(const unsigned (*table)[256], unsigned a, unsigned b, unsigned c)
{
    unsigned h = table[0][a >> 24] ^ table[1][a >> 16 & 255] ^ table[2][a >> 8 & 255] ^ table[3][a & 255];
    h ^= table[4][b >> 24] ^ table[5][b >> 16 & 255] ^ table[6][b >> 8 & 255] ^ table[7][b & 255];
    return h ^ table[8][c >> 24] ^ table[9][c >> 16 & 255] ^ table[10][c >> 8 & 255] ^ table[11][c & 255];
}

// A table for each byte of the tuple; 512 packets per block.
__global__ void k273b(const unsigned *__restrict__ source, const unsigned *__restrict__ destination,
                      const unsigned *__restrict__ ports, const unsigned *__restrict__ tables,
                      unsigned *__restrict__ hash, int n)
{
    __shared__ unsigned table[places][256];
    for (int j = threadIdx.x; j < places * 256; j += blockDim.x)
        table[j / 256][j % 256] = tables[j];
    __syncthreads();
    int first = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    for (int i = first; i < n && i < first + 2 * (int)blockDim.x; i += blockDim.x)
        hash[i] = from_tables(table, source[i], destination[i], ports[i]);
}

// Blocks that stride over all packets.
__global__ void k273c(const unsigned *__restrict__ source, const unsigned *__restrict__ destination,
                      const unsigned *__restrict__ ports, const unsigned *__restrict__ tables,
                      unsigned *__restrict__ hash, int n)
{
    __shared__ unsigned table[places][256];
    for (int j = threadIdx.x; j < places * 256; j += blockDim.x)
        table[j / 256][j % 256] = tables[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        hash[i] = from_tables(table, source[i], destination[i], ports[i]);
}

// Four packets at a time.
__global__ void k273d(const uint4 *__restrict__ source, const uint4 *__restrict__ destination,
                      const uint4 *__restrict__ ports, const unsigned *__restrict__ tables, uint4 *__restrict__ hash,
                      int quads)
{
    __shared__ unsigned table[places][256];
    for (int j = threadIdx.x; j < places * 256; j += blockDim.x)
        table[j / 256][j % 256] = tables[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        uint4 a = source[i], b = destination[i], c = ports[i];
        hash[i] = make_uint4(from_tables(table, a.x, b.x, c.x), from_tables(table, a.y, b.y, c.y),
                             from_tables(table, a.z, b.z, c.z), from_tables(table, a.w, b.w, c.w));
    }
}

// Bytes per queue from descriptors.
__global__ void k273e(const Descriptor *__restrict__ ring, unsigned *__restrict__ total, int n)
{
    __shared__ unsigned local[queues];
    for (int q = threadIdx.x; q < queues; q += blockDim.x)
        local[q] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * stride) {
        unsigned q[4], bytes[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int k = min(i + j * stride, n - 1);
            q[j] = ring[k].queue % queues;
            bytes[j] = i + j * stride < n ? bytes_of(ring[k].length) : 0;
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            atomicAdd(&local[q[j]], bytes[j]);
    }
    __syncthreads();
    for (int q = threadIdx.x; q < queues; q += blockDim.x)
        atomicAdd(&total[q], local[q]);
}

// Queue and length in columns of their own, counters in global memory.
__global__ void k273f(const unsigned *__restrict__ queue, const unsigned *__restrict__ length,
                      unsigned *__restrict__ total, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * stride) {
        unsigned q[4], bytes[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int k = min(i + j * stride, n - 1);
            q[j] = queue[k] % queues;
            bytes[j] = i + j * stride < n ? bytes_of(length[k]) : 0;
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            atomicAdd(&total[q[j]], bytes[j]);
    }
}

// Columns, counters in shared memory.
__global__ void k273g(const unsigned *__restrict__ queue, const unsigned *__restrict__ length,
                      unsigned *__restrict__ total, int n)
{
    __shared__ unsigned local[queues];
    for (int q = threadIdx.x; q < queues; q += blockDim.x)
        local[q] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * stride) {
        unsigned q[4], bytes[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int k = min(i + j * stride, n - 1);
            q[j] = queue[k] % queues;
            bytes[j] = i + j * stride < n ? bytes_of(length[k]) : 0;
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            atomicAdd(&local[q[j]], bytes[j]);
    }
    __syncthreads();
    for (int q = threadIdx.x; q < queues; q += blockDim.x)
        atomicAdd(&total[q], local[q]);
}

int main()
{
    const int resident = 132 * 8;
    {
        unsigned *source = input<unsigned>(packets, 1, 0, 4294967296.0);
        unsigned *destination = input<unsigned>(packets, 2, 0, 4294967296.0);
        unsigned *ports = input<unsigned>(packets, 3, 0, 4294967296.0);
        unsigned *key = on_device(key_words);
        auto window = [](int bit) {
            unsigned long long two = (unsigned long long)key_words[bit / 32] << 32 | key_words[bit / 32 + 1];
            return (unsigned)(two >> (32 - bit % 32));
        };
        std::vector<unsigned> host_tables(places * 256, 0);
        for (int place = 0; place < places; place++)
            for (int value = 0; value < 256; value++)
                for (int bit = 0; bit < 8; bit++)
                    if (value >> (7 - bit) & 1)
                        host_tables[place * 256 + value] ^= window(place * 8 + bit);
        unsigned *tables = on_device(host_tables);
        std::vector<unsigned> a = on_host(source, 65536), b = on_host(destination, 65536), c = on_host(ports, 65536);
        std::vector<unsigned> want(65536, 0);
        for (int i = 0; i < 65536; i++) {
            const unsigned tuple[3] = {a[i], b[i], c[i]};
            for (int bit = 0; bit < 96; bit++)
                if (tuple[bit / 32] >> (31 - bit % 32) & 1)
                    want[i] ^= window(bit);
        }
        unsigned *hash = output<unsigned>(packets);
        k273a<<<packets / 256, 256>>>(source, destination, ports, key, hash, packets);
        check("k273a", hash, want, 0);
        std::vector<unsigned> all = on_host(hash, packets);
        MUST(cudaMemset(hash, 0xA5, packets * sizeof(unsigned)));
        k273b<<<packets / 512, 256>>>(source, destination, ports, tables, hash, packets);
        check("k273b", hash, all, 0);
        MUST(cudaMemset(hash, 0xA5, packets * sizeof(unsigned)));
        k273c<<<resident, 256>>>(source, destination, ports, tables, hash, packets);
        check("k273c", hash, all, 0);
        MUST(cudaMemset(hash, 0xA5, packets * sizeof(unsigned)));
        k273d<<<resident, 256>>>(reinterpret_cast<uint4 *>(source), reinterpret_cast<uint4 *>(destination),
                                 reinterpret_cast<uint4 *>(ports), tables, reinterpret_cast<uint4 *>(hash),
                                 packets / 4);
        check("k273d", hash, all, 0);
        MUST(cudaFree(source));
        MUST(cudaFree(destination));
        MUST(cudaFree(ports));
        MUST(cudaFree(hash));
    }
    unsigned *raw = input<unsigned>(8 * (size_t)descriptors, 4, 0, 4294967296.0);
    std::vector<unsigned> queue(descriptors), length(descriptors), want(queues, 0);
    for (size_t i = 0; i < descriptors; i++) {
        queue[i] = scrambled(8 * i + 5, 4);
        length[i] = scrambled(8 * i + 6, 4);
        want[queue[i] % queues] += bytes_of(length[i]);
    }
    unsigned *queue_column = on_device(queue), *length_column = on_device(length);
    unsigned *total_e = zeroed<unsigned>(queues), *total_f = zeroed<unsigned>(queues),
             *total_g = zeroed<unsigned>(queues);
    k273e<<<resident, 256>>>(reinterpret_cast<Descriptor *>(raw), total_e, descriptors);
    check("k273e", total_e, want, 0);
    k273f<<<resident, 256>>>(queue_column, length_column, total_f, descriptors);
    check("k273f", total_f, want, 0);
    k273g<<<resident, 256>>>(queue_column, length_column, total_g, descriptors);
    check("k273g", total_g, want, 0);
    return 0;
}
