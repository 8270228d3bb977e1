// Gradient of an embedding table, and storing new keys and values into a paged cache.
#include "../harness.h"

#include <algorithm>
#include <functional>
#include <numeric>

__global__ void k69a(const long long *__restrict__ ids, const __half *__restrict__ grad, __half *__restrict__ table,
                     int dim, long long total)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total;
         i += (long long)gridDim.x * blockDim.x) {
        const long long token = i / dim;
        const int at = int(i - token * dim);
        atomicAdd(&table[ids[token] * dim + at], grad[i]);
    }
}

__global__ void k69b(const long long *__restrict__ ids, const __half2 *__restrict__ grad,
                     __half2 *__restrict__ table, int pairs, long long total)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total;
         i += (long long)gridDim.x * blockDim.x) {
        const long long token = i / pairs;
        const int at = int(i - token * pairs);
        atomicAdd(&table[ids[token] * pairs + at], grad[i]);
    }
}

__global__ void k69c(const long long *__restrict__ sorted, const long long *__restrict__ origin,
                     const __half *__restrict__ grad, __half *__restrict__ table, int n, int dim)
{
    const int PER_THREAD = 4;
    int at = blockIdx.x * blockDim.y + threadIdx.y;
    if (at < n && (at == 0 || sorted[at] != sorted[at - 1])) {
        const int start = threadIdx.x + blockIdx.y * blockDim.x * PER_THREAD;
        do {
            const long long to = sorted[at] * dim;
            const long long from = origin[at] * dim;
            float g[PER_THREAD], w[PER_THREAD];
#pragma unroll
            for (int k = 0; k < PER_THREAD; k++) {
                int feature = start + k * 32;
                if (feature < dim) {
                    g[k] = __half2float(grad[from + feature]);
                    w[k] = __half2float(table[to + feature]);
                }
            }
#pragma unroll
            for (int k = 0; k < PER_THREAD; k++)
                w[k] += g[k];
#pragma unroll
            for (int k = 0; k < PER_THREAD; k++) {
                int feature = start + k * 32;
                if (feature < dim)
                    table[to + feature] = __float2half(w[k]);
            }
            at++;
        } while (at < n && sorted[at] == sorted[at - 1]);
    }
}

// A block adds up the rows of one id; eight features a thread.
__global__ void k69d(const long long *__restrict__ sorted, const long long *__restrict__ origin,
                     const int *__restrict__ start, const __half *__restrict__ grad, __half *__restrict__ table,
                     int dim)
{
    const int begin = start[blockIdx.x], end = start[blockIdx.x + 1];
    const int feature = threadIdx.x * 8;
    if (feature >= dim)
        return;
    float sum[8] = {};
    for (int at = begin; at < end; at++) {
        uint4 v = *reinterpret_cast<const uint4 *>(grad + origin[at] * dim + feature);
        const __half2 *p = reinterpret_cast<const __half2 *>(&v);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 f = __half22float2(p[j]);
            sum[2 * j] += f.x;
            sum[2 * j + 1] += f.y;
        }
    }
    uint4 r;
    __half2 *rp = reinterpret_cast<__half2 *>(&r);
#pragma unroll
    for (int j = 0; j < 4; j++)
        rp[j] = __floats2half2_rn(sum[2 * j], sum[2 * j + 1]);
    *reinterpret_cast<uint4 *>(table + sorted[begin] * dim + feature) = r;
}

// keys: [blocks, heads, size / x, block_size, x], values: [blocks, heads, size, block_size]
__global__ void k69e(const __half *__restrict__ key, const __half *__restrict__ value, __half *__restrict__ keys,
                     __half *__restrict__ values, const long long *__restrict__ slots, int key_stride,
                     int value_stride, int heads, int size, int block_size, int x)
{
    const long long token = blockIdx.x;
    const long long slot = slots[token];
    if (slot < 0)
        return;
    const long long block = slot / block_size;
    const long long offset = slot % block_size;
    const int n = heads * size;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int head = i / size;
        const int at = i % size;
        const int x_index = at / x;
        const int x_offset = at % x;
        const long long to_key = block * heads * (size / x) * block_size * x + head * (size / x) * block_size * x +
                                 x_index * block_size * x + offset * x + x_offset;
        const long long to_value =
            block * heads * size * block_size + head * size * block_size + at * block_size + offset;
        keys[to_key] = key[token * key_stride + i];
        values[to_value] = value[token * value_stride + i];
    }
}

// Both: [blocks, block_size, heads, size]
__global__ void k69f(const __half *__restrict__ key, const __half *__restrict__ value, __half *__restrict__ keys,
                     __half *__restrict__ values, const long long *__restrict__ slots, int block_stride,
                     int key_stride, int value_stride, int heads, int size, int block_size)
{
    const long long token = blockIdx.x;
    const long long slot = slots[token];
    if (slot < 0)
        return;
    const long long block = slot / block_size;
    const long long offset = slot % block_size;
    const int n = heads * size;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int head = i / size;
        const int at = i % size;
        const long long to = block * block_stride + offset * heads * size + head * size + at;
        keys[to] = key[token * key_stride + i];
        values[to] = value[token * value_stride + i];
    }
}

__device__ __forceinline__ void copy_row(const __half *__restrict__ from, __half *__restrict__ to, int n)
{
    const uint4 *src = reinterpret_cast<const uint4 *>(from);
    uint4 *dst = reinterpret_cast<uint4 *>(to);
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x)
        dst[i] = src[i];
}

__device__ __forceinline__ void store_token(const __half *__restrict__ key, const __half *__restrict__ value,
                                            __half *__restrict__ keys, __half *__restrict__ values,
                                            const long long *__restrict__ slots, int block_stride, int key_stride,
                                            int value_stride, int heads, int size, int block_size)
{
    const long long token = blockIdx.x;
    const long long slot = slots[token];
    if (slot < 0)
        return;
    const long long to = slot / block_size * block_stride + slot % block_size * heads * size;
    copy_row(key + token * key_stride, keys + to, heads * size);
    copy_row(value + token * value_stride, values + to, heads * size);
}

__global__ void k69g(const __half *__restrict__ key, const __half *__restrict__ value, __half *__restrict__ keys,
                     __half *__restrict__ values, const long long *__restrict__ slots, int block_stride,
                     int key_stride, int value_stride, int heads, int size, int block_size)
{
    store_token(key, value, keys, values, slots, block_stride, key_stride, value_stride, heads, size, block_size);
}

__global__ void k69h(const __half *__restrict__ key, const __half *__restrict__ value, __half *__restrict__ keys,
                     __half *__restrict__ values, const long long *__restrict__ slots, int block_stride,
                     int key_stride, int value_stride, int heads, int size, int block_size)
{
    store_token(key, value, keys, values, slots, block_stride, key_stride, value_stride, heads, size, block_size);
}

__global__ void whole_numbers(__half *data, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        data[i] = __int2half_rn(int(scrambled(i, seed) % 5) - 2);
}

__global__ void pick(const __half *from, const size_t *where, __half *to, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[where[i]];
}

__global__ void count_different(const __half *a, const __half *b, size_t n, float tolerance, unsigned *count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (!(fabsf(__half2float(a[i]) - __half2float(b[i])) <= tolerance))
            atomicAdd(count, 1u);
}

int main()
{
    {
        const int tokens = 32768, dim = 1024, vocabulary = 32000;
        const size_t n = (size_t)tokens * dim, n_table = (size_t)vocabulary * dim;
        __half *grad = output<__half>(n);
        whole_numbers<<<1056, 256>>>(grad, n, 691);
        MUST(cudaDeviceSynchronize());
        std::vector<long long> ids(tokens), sorted(tokens), origin(tokens);
        for (int t = 0; t < tokens; t++)
            ids[t] = scrambled(t, 692) % vocabulary;
        std::iota(origin.begin(), origin.end(), 0LL);
        std::stable_sort(origin.begin(), origin.end(), [&](long long a, long long b) { return ids[a] < ids[b]; });
        std::vector<int> start;
        for (int t = 0; t < tokens; t++) {
            sorted[t] = ids[origin[t]];
            if (t == 0 || sorted[t] != sorted[t - 1])
                start.push_back(t);
        }
        const int segments = int(start.size());
        start.push_back(tokens);
        long long *ids_d = on_device(ids), *sorted_d = on_device(sorted), *origin_d = on_device(origin);
        int *start_d = on_device(start);

        std::vector<int> chosen;
        for (int r = 0; r < vocabulary; r += 331)
            chosen.push_back(r);
        chosen.push_back(vocabulary - 1);
        std::vector<__half> want(chosen.size() * dim);
        for (size_t c = 0; c < chosen.size(); c++) {
            std::vector<float> sum(dim, 0.0f);
            for (int t = 0; t < tokens; t++)
                if (ids[t] == chosen[c]) {
                    std::vector<__half> row = on_host(grad + (size_t)t * dim, dim);
                    for (int j = 0; j < dim; j++)
                        sum[j] += __half2float(row[j]);
                }
            for (int j = 0; j < dim; j++)
                want[c * dim + j] = __float2half(sum[j]);
        }
        __half *picked = output<__half>(want.size());
        __half *first = output<__half>(n_table), *out = output<__half>(n_table);
        MUST(cudaMemset(first, 0, n_table * sizeof(__half)));
        k69a<<<132 * 16, 256>>>(ids_d, grad, first, dim, n);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t c = 0; c < chosen.size(); c++)
            MUST(cudaMemcpy(picked + c * dim, first + (size_t)chosen[c] * dim, dim * sizeof(__half),
                            cudaMemcpyDeviceToDevice));
        check("k69a", picked, want, 0.0);

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0, n_table * sizeof(__half)));
            launch();
            MUST(cudaGetLastError());
            unsigned *count = zeroed<unsigned>(1);
            count_different<<<1056, 256>>>(out, first, n_table, 0.0f, count);
            check(name, count, std::vector<unsigned>(1, 0u), 0.0);
        };
        launch_and_check("k69b", [&] {
            k69b<<<132 * 16, 256>>>(ids_d, reinterpret_cast<const __half2 *>(grad), reinterpret_cast<__half2 *>(out),
                                    dim / 2, n / 2);
        });
        launch_and_check("k69c", [&] {
            k69c<<<dim3((tokens + 3) / 4, (dim + 127) / 128), dim3(32, 4)>>>(sorted_d, origin_d, grad, out, tokens,
                                                                            dim);
        });
        launch_and_check("k69d", [&] {
            k69d<<<segments, dim / 8>>>(sorted_d, origin_d, start_d, grad, out, dim);
        });
        MUST(cudaFree(grad));
        MUST(cudaFree(first));
        MUST(cudaFree(out));
    }

    const int tokens = 32768, heads = 8, size = 128, block_size = 16, x = 8, blocks = 4096, n = heads * size;
    const size_t n_cache = (size_t)blocks * block_size * n;
    __half *key = input<__half>((size_t)tokens * n, 693, 1.0, 2.0);
    __half *value = input<__half>((size_t)tokens * n, 694, 2.0, 4.0);
    __half *cache = output<__half>(2 * n_cache);
    __half *keys = cache, *values = cache + n_cache;

    // Sequences of 1000 tokens take blocks from a shuffled list.
    std::vector<int> list(blocks);
    std::iota(list.begin(), list.end(), 0);
    for (int i = blocks - 1; i > 0; i--)
        std::swap(list[i], list[scrambled(i, 695) % (i + 1)]);
    std::vector<long long> slots(tokens);
    int next = 0;
    for (int t = 0, in_sequence = 0; t < tokens; t++, in_sequence = (in_sequence + 1) % 1000) {
        if (in_sequence % block_size == 0)
            next++;
        slots[t] = (long long)list[next - 1] * block_size + in_sequence % block_size;
    }
    long long *slots_d = on_device(slots);

    std::vector<size_t> paged, flat;
    std::vector<__half> want;
    {
        std::vector<__half> k = on_host(key, (size_t)tokens * n), v = on_host(value, (size_t)tokens * n);
        for (size_t at = 0; at < (size_t)tokens * n; at += 211) {
            size_t t = at / n, head = at % n / size, j = at % size;
            size_t block = slots[t] / block_size, offset = slots[t] % block_size;
            want.push_back(k[at]);
            paged.push_back((((block * heads + head) * (size / x) + j / x) * block_size + offset) * x + j % x);
            flat.push_back((block * block_size + offset) * n + at % n);
            want.push_back(v[at]);
            paged.push_back(n_cache + ((block * heads + head) * size + j) * block_size + offset);
            flat.push_back(n_cache + (block * block_size + offset) * n + at % n);
        }
    }
    size_t *paged_d = on_device(paged), *flat_d = on_device(flat);
    __half *picked = output<__half>(want.size());
    auto launch_and_check = [&](const char *name, const size_t *where, std::function<void()> launch) {
        MUST(cudaMemset(cache, 0xA5, 2 * n_cache * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        pick<<<(want.size() + 255) / 256, 256>>>(cache, where, picked, want.size());
        check(name, picked, want, 0.0);
    };
    launch_and_check("k69e", paged_d, [&] {
        k69e<<<tokens, 512>>>(key, value, keys, values, slots_d, n, n, heads, size, block_size, x);
    });
    launch_and_check("k69f", flat_d, [&] {
        k69f<<<tokens, 512>>>(key, value, keys, values, slots_d, block_size * n, n, n, heads, size, block_size);
    });
    launch_and_check("k69g", flat_d, [&] {
        k69g<<<tokens, 512>>>(key, value, keys, values, slots_d, block_size * n, n, n, heads, size, block_size);
    });
    launch_and_check("k69h", flat_d, [&] {
        k69h<<<tokens, n / 8>>>(key, value, keys, values, slots_d, block_size * n, n, n, heads, size, block_size);
    });
    return 0;
}
