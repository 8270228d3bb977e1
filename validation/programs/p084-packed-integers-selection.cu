// Decoding of integers packed in blocks of 128 with a reference and four bit widths, and selection of the rows of a column
// that lie in a range.
#include "../harness.h"

#include <functional>

typedef unsigned int u32;

// A block: the reference, four widths of one byte each, then four groups of 32 numbers, each of as many words as its
// width.
__global__ void k84a(const u32 *data, const u32 *start, int *out)
{
    int tid = threadIdx.x;
    const u32 *block = data + start[blockIdx.x];
    int group = tid / 32, index = tid % 32;

    int reference = block[0];
    u32 widths = block[1];
    u32 offset = 0;
    for (int g = 0; g < group; g++) {
        offset += widths & 255;
        widths >>= 8;
    }
    u32 width = widths & 255;
    u32 bit = width * index;
    u32 word = 2 + offset + bit / 32;
    unsigned long long pair = (unsigned long long)block[word + 1] << 32 | block[word];
    u32 value = (u32)(pair >> (bit & 31)) & ((1u << width) - 1);
    out[blockIdx.x * 128 + tid] = reference + value;
}

const int MAX_WORDS = 2 + 4 * 16;

__global__ void k84b(const u32 *data, const u32 *start, int *out)
{
    __shared__ u32 block[MAX_WORDS + 1];
    int tid = threadIdx.x;
    u32 first = start[blockIdx.x], words = start[blockIdx.x + 1] - first;
    if (tid < words)
        block[tid] = data[first + tid];
    __syncthreads();

    int group = tid / 32, index = tid % 32;
    int reference = block[0];
    u32 widths = block[1];
    u32 offset = 0;
    for (int g = 0; g < group; g++) {
        offset += widths & 255;
        widths >>= 8;
    }
    u32 width = widths & 255;
    u32 bit = width * index;
    u32 word = 2 + offset + bit / 32;
    unsigned long long pair = (unsigned long long)block[word + 1] << 32 | block[word];
    u32 value = (u32)(pair >> (bit & 31)) & ((1u << width) - 1);
    out[blockIdx.x * 128 + tid] = reference + value;
}

const int PER_TILE = 4;

__global__ void k84c(const u32 *data, const u32 *start, int *out)
{
    __shared__ u32 starts[PER_TILE + 1];
    __shared__ u32 tile[PER_TILE * MAX_WORDS + 1];
    int tid = threadIdx.x;
    if (tid <= PER_TILE)
        starts[tid] = start[blockIdx.x * PER_TILE + tid];
    __syncthreads();
    u32 first = starts[0], words = starts[PER_TILE] - first;
    for (u32 i = tid; i < words; i += 128)
        tile[i] = data[first + i];
    __syncthreads();

    int group = tid / 32, index = tid % 32;
#pragma unroll
    for (int k = 0; k < PER_TILE; k++) {
        const u32 *block = tile + starts[k] - first;
        int reference = block[0];
        u32 widths = block[1];
        u32 offset = 0;
        for (int g = 0; g < group; g++) {
            offset += widths & 255;
            widths >>= 8;
        }
        u32 width = widths & 255;
        u32 bit = width * index;
        u32 word = 2 + offset + bit / 32;
        unsigned long long pair = (unsigned long long)block[word + 1] << 32 | block[word];
        u32 value = (u32)(pair >> (bit & 31)) & ((1u << width) - 1);
        out[(blockIdx.x * PER_TILE + k) * 128 + tid] = reference + value;
    }
}

__global__ void k84d(const u32 *data, const u32 *start, int *out)
{
    __shared__ u32 starts[PER_TILE + 1];
    __shared__ u32 tile[PER_TILE * MAX_WORDS + 1];
    __shared__ u32 group_width[PER_TILE * 4], group_offset[PER_TILE * 4];
    int tid = threadIdx.x;
    if (tid <= PER_TILE)
        starts[tid] = start[blockIdx.x * PER_TILE + tid];
    __syncthreads();
    u32 first = starts[0], words = starts[PER_TILE] - first;
    for (u32 i = tid; i < words; i += 128)
        tile[i] = data[first + i];
    __syncthreads();

    if (tid < PER_TILE * 4) {
        u32 widths = tile[starts[tid / 4] - first + 1];
        u32 sums = (widths << 8) + (widths << 16) + (widths << 24);
        group_width[tid] = widths >> 8 * (tid % 4) & 255;
        group_offset[tid] = sums >> 8 * (tid % 4) & 255;
    }
    __syncthreads();

    int group = tid / 32, index = tid % 32;
#pragma unroll
    for (int k = 0; k < PER_TILE; k++) {
        const u32 *block = tile + starts[k] - first;
        int reference = block[0];
        u32 width = group_width[4 * k + group];
        u32 bit = width * index;
        u32 word = 2 + group_offset[4 * k + group] + bit / 32;
        unsigned long long pair = (unsigned long long)block[word + 1] << 32 | block[word];
        u32 value = (u32)(pair >> (bit & 31)) & ((1u << width) - 1);
        out[(blockIdx.x * PER_TILE + k) * 128 + tid] = reference + value;
    }
}

__global__ void k84e(const int *in, int *out, u32 *count, int n, int low, int high)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = in[i];
        if (v >= low && v < high)
            out[atomicAdd(count, 1)] = v;
    }
}

__global__ void k84f(const int *in, int *out, u32 *count, int n, int low, int high)
{
    __shared__ u32 kept[8];
    __shared__ u32 base;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = i < n ? in[i] : low - 1;
    bool keep = v >= low && v < high;
    u32 votes = __ballot_sync(0xffffffffu, keep);
    if (lane == 0)
        kept[warp] = __popc(votes);
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 sum = 0;
        for (int w = 0; w < 8; w++) {
            u32 c = kept[w];
            kept[w] = sum;
            sum += c;
        }
        base = atomicAdd(count, sum);
    }
    __syncthreads();
    if (keep)
        out[base + kept[warp] + __popc(votes & ((1u << lane) - 1))] = v;
}

const int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;

// The sum of v over the threads before this one; total gets the sum over all.
__device__ __forceinline__ u32 sum_before(u32 v, u32 *warps, u32 &total)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 sum = v;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        u32 other = __shfl_up_sync(0xffffffffu, sum, offset);
        if (lane >= offset)
            sum += other;
    }
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    u32 before = 0;
    total = 0;
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) {
        if (w < warp)
            before += warps[w];
        total += warps[w];
    }
    return before + sum - v;
}

// n is a multiple of TILE.
__global__ void k84g(const int *in, int *out, u32 *count, int low, int high)
{
    __shared__ u32 warps[THREADS / 32];
    __shared__ u32 base;
    __shared__ int tile[TILE];
    int v[ITEMS], keep[ITEMS];
    const int *p = in + (size_t)blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        v[k] = p[k * THREADS];
    u32 mine = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        keep[k] = 0;
        if (v[k] >= low) {
            if (v[k] < high) {
                keep[k] = 1;
                mine++;
            }
        }
    }

    u32 total;
    u32 place = sum_before(mine, warps, total);
    if (threadIdx.x == 0)
        base = atomicAdd(count, total);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (keep[k])
            tile[place++] = v[k];
    __syncthreads();
    for (u32 i = threadIdx.x; i < total; i += THREADS)
        out[base + i] = tile[i];
}

__global__ void k84h(const int *in, int *out, u32 *count, int low, int high)
{
    __shared__ u32 warps[THREADS / 32];
    __shared__ u32 base;
    __shared__ int tile[TILE];
    int v[ITEMS], keep[ITEMS];
    const int *p = in + (size_t)blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        v[k] = p[k * THREADS];
    u32 mine = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        keep[k] = (v[k] >= low) & (v[k] < high);
        mine += keep[k];
    }

    u32 total;
    u32 place = sum_before(mine, warps, total);
    if (threadIdx.x == 0)
        base = atomicAdd(count, total);
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (keep[k])
            tile[place++] = v[k];
    __syncthreads();
    for (u32 i = threadIdx.x; i < total; i += THREADS)
        out[base + i] = tile[i];
}

// Three numbers that do not depend on the order of the values.
__host__ __device__ inline void add_marks(u32 *mark, int v)
{
    mark[0] += 1;
    mark[1] += v;
    mark[2] += scrambled(v, 845);
}

__global__ void digest(const int *v, const u32 *count, u32 limit, u32 *marks)
{
    u32 mark[3] = {0, 0, 0};
    u32 n = *count < limit ? *count : limit;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        add_marks(mark, v[i]);
    for (int k = 0; k < 3; k++)
        atomicAdd(&marks[k], mark[k]);
}

int main()
{
    {
        const int blocks = 1 << 18;
        const size_t n = (size_t)blocks * 128;
        std::vector<int> want(n);
        std::vector<u32> packed, start(blocks + 1);
        packed.reserve((size_t)blocks * MAX_WORDS + 1);
        for (int b = 0; b < blocks; b++) {
            start[b] = u32(packed.size());
            int reference = int(scrambled(b, 841) % 1000000);
            packed.push_back(reference);
            u32 choice = scrambled(b, 842), widths = 0;
            for (int g = 0; g < 4; g++)
                widths |= (6 + (choice >> 8 * g) % 7) << 8 * g;
            packed.push_back(widths);
            for (int g = 0; g < 4; g++) {
                u32 width = widths >> 8 * g & 255;
                unsigned long long bits = 0;
                u32 held = 0;
                for (int i = 0; i < 32; i++) {
                    size_t at = (size_t)b * 128 + g * 32 + i;
                    u32 value = (u32(at) * 2654435761u >> 13) & ((1u << width) - 1);
                    want[at] = reference + int(value);
                    bits |= (unsigned long long)value << held;
                    held += width;
                    if (held >= 32) {
                        packed.push_back(u32(bits));
                        bits >>= 32;
                        held -= 32;
                    }
                }
            }
        }
        start[blocks] = u32(packed.size());
        packed.push_back(0);
        u32 *d_packed = on_device(packed), *d_start = on_device(start);
        int *out = output<int>(n);

        k84a<<<blocks, 128>>>(d_packed, d_start, out);
        check("k84a", out, want, 0.0);
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(int)));
            launch();
            check(name, out, want, 0.0);
        };
        launch_and_check("k84b", [&] { k84b<<<blocks, 128>>>(d_packed, d_start, out); });
        launch_and_check("k84c", [&] { k84c<<<blocks / PER_TILE, 128>>>(d_packed, d_start, out); });
        launch_and_check("k84d", [&] { k84d<<<blocks / PER_TILE, 128>>>(d_packed, d_start, out); });
        MUST(cudaFree(d_packed));
        MUST(cudaFree(d_start));
        MUST(cudaFree(out));
    }
    {
        const int n = 32 << 20, low = 250000, high = 750000;
        int *in = input<int>(n, 843, 0, 1000000);
        int *out = output<int>(n);
        u32 *count = zeroed<u32>(1), *marks = zeroed<u32>(3);
        std::vector<u32> want(3, 0);
        {
            std::vector<int> host = on_host(in, n);
            for (int v : host)
                if (v >= low && v < high)
                    add_marks(want.data(), v);
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(int)));
            MUST(cudaMemset(count, 0, sizeof(u32)));
            MUST(cudaMemset(marks, 0, 3 * sizeof(u32)));
            launch();
            MUST(cudaGetLastError());
            digest<<<1024, 256>>>(out, count, n, marks);
            check(name, marks, want, 0.0);
        };
        launch_and_check("k84e", [&] { k84e<<<n / 256, 256>>>(in, out, count, n, low, high); });
        launch_and_check("k84f", [&] { k84f<<<n / 256, 256>>>(in, out, count, n, low, high); });
        launch_and_check("k84g", [&] { k84g<<<n / TILE, THREADS>>>(in, out, count, low, high); });
        launch_and_check("k84h", [&] { k84h<<<n / TILE, THREADS>>>(in, out, count, low, high); });
    }
    return 0;
}
