// Best local alignment score (affine gaps) of one query against many database sequences, and the sum over a join of a
// fact column with a hash table.
#include "../harness.h"

#include <algorithm>
#include <functional>

typedef unsigned int u32;
typedef unsigned long long u64;

const int QUERY = 64;
const int LETTERS = 21; // 20 and the filler at the end of a sequence
const int SEQUENCES = 131072, LONGEST = 128;
const int OPEN = 11, EXTEND = 1;

__constant__ int c_score[LETTERS][LETTERS];
__constant__ int c_query[QUERY];

// Sequence s has its letter i at db[i * SEQUENCES + s].
__global__ void k85a(const unsigned char *db, const int *length, int2 *he, int *best)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    int n = length[s], top = 0;
    for (int j = 0; j < QUERY; j++)
        he[j * SEQUENCES + s] = make_int2(0, 0);
    for (int i = 0; i < n; i++) {
        int letter = db[i * SEQUENCES + s];
        int diagonal = 0, up = 0, f = 0;
        for (int j = 0; j < QUERY; j++) {
            int2 old = he[j * SEQUENCES + s];
            int e = max(old.y - EXTEND, old.x - OPEN);
            f = max(f - EXTEND, up - OPEN);
            int h = diagonal + c_score[c_query[j]][letter];
            h = max(max(h, 0), max(e, f));
            top = max(top, h);
            diagonal = old.x;
            up = h;
            he[j * SEQUENCES + s] = make_int2(h, e);
        }
    }
    best[s] = top;
}

const int BAND = 8;

__global__ void k85b(const unsigned char *db, const int *length, int2 *hf, int *best)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    int n = length[s], top = 0;
    for (int j0 = 0; j0 < QUERY; j0 += BAND) {
        int h[BAND], e[BAND];
#pragma unroll
        for (int k = 0; k < BAND; k++)
            h[k] = e[k] = 0;
        int corner = 0;
        for (int i = 0; i < n; i++) {
            int letter = db[i * SEQUENCES + s];
            int2 above = j0 ? hf[i * SEQUENCES + s] : make_int2(0, 0);
            int diagonal = corner, up = above.x, f = above.y;
            corner = above.x;
#pragma unroll
            for (int k = 0; k < BAND; k++) {
                e[k] = max(e[k] - EXTEND, h[k] - OPEN);
                f = max(f - EXTEND, up - OPEN);
                int v = diagonal + c_score[c_query[j0 + k]][letter];
                v = max(max(v, 0), max(e[k], f));
                top = max(top, v);
                diagonal = h[k];
                h[k] = v;
                up = v;
            }
            hf[i * SEQUENCES + s] = make_int2(up, f);
        }
    }
    best[s] = top;
}

__global__ void k85c(const unsigned char *db, const int *length, int2 *hf, int *best)
{
    __shared__ uint2 profile[QUERY / BAND][LETTERS];
    for (int p = threadIdx.x; p < QUERY / BAND * LETTERS; p += blockDim.x) {
        int j0 = p / LETTERS * BAND, letter = p % LETTERS;
        u32 w[2] = {0, 0};
        for (int k = 0; k < BAND; k++)
            w[k / 4] |= (u32)(c_score[c_query[j0 + k]][letter] & 255) << 8 * (k % 4);
        profile[p / LETTERS][letter] = make_uint2(w[0], w[1]);
    }
    __syncthreads();

    int s = blockIdx.x * blockDim.x + threadIdx.x;
    int n = length[s], top = 0;
    for (int j0 = 0; j0 < QUERY; j0 += BAND) {
        int h[BAND], e[BAND];
#pragma unroll
        for (int k = 0; k < BAND; k++)
            h[k] = e[k] = 0;
        int corner = 0;
        for (int i = 0; i < n; i++) {
            int letter = db[i * SEQUENCES + s];
            uint2 scores = profile[j0 / BAND][letter];
            int2 above = j0 ? hf[i * SEQUENCES + s] : make_int2(0, 0);
            int diagonal = corner, up = above.x, f = above.y;
            corner = above.x;
#pragma unroll
            for (int k = 0; k < BAND; k++) {
                u32 w = k < 4 ? scores.x : scores.y;
                e[k] = max(e[k] - EXTEND, h[k] - OPEN);
                f = max(f - EXTEND, up - OPEN);
                int v = diagonal + (signed char)(w >> 8 * (k % 4));
                v = max(max(v, 0), max(e[k], f));
                top = max(top, v);
                diagonal = h[k];
                h[k] = v;
                up = v;
            }
            hf[i * SEQUENCES + s] = make_int2(up, f);
        }
    }
    best[s] = top;
}

__device__ __forceinline__ u32 both(int v)
{
    return (u32)(v & 0xffff) * 0x10001u;
}

// Two sequences for each thread, one in each half of a word.
__global__ void k85d(const uchar2 *db, const int2 *length, uint2 *hf, int2 *best)
{
    __shared__ uint4 profile[QUERY / BAND][LETTERS];
    for (int p = threadIdx.x; p < QUERY / BAND * LETTERS; p += blockDim.x) {
        int j0 = p / LETTERS * BAND, letter = p % LETTERS;
        u32 w[4] = {0, 0, 0, 0};
        for (int k = 0; k < BAND; k++)
            w[k / 2] |= (u32)(c_score[c_query[j0 + k]][letter] & 0xffff) << 16 * (k % 2);
        profile[p / LETTERS][letter] = make_uint4(w[0], w[1], w[2], w[3]);
    }
    __syncthreads();

    int s = blockIdx.x * blockDim.x + threadIdx.x;
    int2 lengths = length[s];
    int n = max(lengths.x, lengths.y);
    u32 top = 0;
    const u32 extend = both(-EXTEND), open = both(-OPEN), least = both(-30000);
    for (int j0 = 0; j0 < QUERY; j0 += BAND) {
        u32 h[BAND], e[BAND];
#pragma unroll
        for (int k = 0; k < BAND; k++)
            h[k] = e[k] = 0;
        u32 corner = 0;
        for (int i = 0; i < n; i++) {
            uchar2 letters = db[i * (SEQUENCES / 2) + s];
            uint4 a = profile[j0 / BAND][letters.x], b = profile[j0 / BAND][letters.y];
            u32 wa[4] = {a.x, a.y, a.z, a.w}, wb[4] = {b.x, b.y, b.z, b.w};
            uint2 above = j0 ? hf[i * (SEQUENCES / 2) + s] : make_uint2(0, 0);
            u32 diagonal = corner, f = above.y, up = __viaddmax_s16x2(above.x, open, least);
            corner = above.x;
            u32 v = above.x;
#pragma unroll
            for (int k = 0; k < BAND; k++) {
                u32 score = __byte_perm(wa[k / 2], wb[k / 2], k % 2 ? 0x7632 : 0x5410);
                u32 left = __viaddmax_s16x2(h[k], open, least);
                e[k] = __viaddmax_s16x2(e[k], extend, left);
                f = __viaddmax_s16x2(f, extend, up);
                v = __vimax_s16x2_relu(__viaddmax_s16x2(diagonal, score, e[k]), f);
                top = __vimax_s16x2_relu(top, v);
                diagonal = h[k];
                h[k] = v;
                up = __viaddmax_s16x2(v, open, least);
            }
            hf[i * (SEQUENCES / 2) + s] = make_uint2(v, f);
        }
    }
    best[s] = make_int2(top & 0xffff, top >> 16);
}

const u32 SLOTS = 1u << 23, KEYS = 1u << 22;
const u32 ROWS = 1u << 24;

__host__ __device__ inline u32 key_of(u32 j)
{
    return j * 2654435761u;
}

__host__ __device__ inline u32 slot_of(u32 k)
{
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    k ^= k >> 16;
    return k & (SLOTS - 1);
}

// The number of a row's key: one of the keys in four of five rows.
__host__ __device__ inline u32 choice(u32 row)
{
    return 1 + scrambled(row, 853) % (KEYS + KEYS / 4);
}

__global__ void fill_rows(u32 *key, int *value)
{
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < ROWS; i += gridDim.x * blockDim.x) {
        key[i] = key_of(choice(i));
        value[i] = scrambled(i, 854) % 100;
    }
}

template <int WARPS> __device__ __forceinline__ void add_to(u64 sum, u64 *total)
{
    __shared__ u64 warps[WARPS];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; w++)
            sum += warps[w];
        atomicAdd(total, sum);
    }
}

// A key of 0 marks an empty slot.
__global__ void k85e(const u32 *row_key, const int *row_value, const u32 *keys, const int *values, u64 *total)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 key = row_key[i];
    u64 sum = 0;
    u32 slot = slot_of(key);
    while (true) {
        u32 k = keys[slot];
        if (k == key) {
            sum = (u64)row_value[i] * values[slot];
            break;
        }
        if (k == 0)
            break;
        slot = (slot + 1) & (SLOTS - 1);
    }
    add_to<8>(sum, total);
}

// A slot has its key in the low half and its value in the high half.
__global__ void k85f(const u32 *row_key, const int *row_value, const u64 *table, u64 *total)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 key = row_key[i];
    u64 sum = 0;
    u32 slot = slot_of(key);
    while (true) {
        u64 entry = table[slot];
        if ((u32)entry == key) {
            sum = (u64)row_value[i] * (entry >> 32);
            break;
        }
        if ((u32)entry == 0)
            break;
        slot = (slot + 1) & (SLOTS - 1);
    }
    add_to<8>(sum, total);
}

const int ITEMS = 4;

__global__ void k85g(const u32 *row_key, const int *row_value, const u64 *table, u64 *total)
{
    u32 first = blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    u32 key[ITEMS], slot[ITEMS];
    int value[ITEMS];
    u64 entry[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        key[k] = row_key[first + k * blockDim.x];
        value[k] = row_value[first + k * blockDim.x];
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        slot[k] = slot_of(key[k]);
        entry[k] = table[slot[k]];
    }
    u64 sum = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        while ((u32)entry[k] != key[k] && (u32)entry[k] != 0) {
            slot[k] = (slot[k] + 1) & (SLOTS - 1);
            entry[k] = table[slot[k]];
        }
        if ((u32)entry[k] == key[k])
            sum += (u64)value[k] * (entry[k] >> 32);
    }
    add_to<4>(sum, total);
}

int main()
{
    {
        std::vector<int> score(LETTERS * LETTERS), query(QUERY);
        for (int a = 0; a < LETTERS; a++)
            for (int b = 0; b < LETTERS; b++) {
                int lo = std::min(a, b), hi = std::max(a, b);
                u32 r = scrambled(lo * LETTERS + hi, 851);
                score[a * LETTERS + b] = hi == LETTERS - 1 ? -30 : lo == hi ? 4 + int(r % 6) : 1 - int(r % 5);
            }
        for (int j = 0; j < QUERY; j++)
            query[j] = scrambled(j, 852) % (LETTERS - 1);
        MUST(cudaMemcpyToSymbol(c_score, score.data(), score.size() * sizeof(int)));
        MUST(cudaMemcpyToSymbol(c_query, query.data(), query.size() * sizeof(int)));

        // Sorted by length, of 64 to 127 letters.
        std::vector<int> length(SEQUENCES);
        std::vector<unsigned char> db((size_t)LONGEST * SEQUENCES, LETTERS - 1);
        for (int s = 0; s < SEQUENCES; s++)
            length[s] = 64 + int(64ll * s / SEQUENCES);
        for (int i = 0; i < LONGEST; i++)
            for (int s = 0; s < SEQUENCES; s++)
                if (i < length[s])
                    db[(size_t)i * SEQUENCES + s] = scrambled((u64)i * SEQUENCES + s, 855) % (LETTERS - 1);
        unsigned char *d_db = on_device(db);
        int *d_length = on_device(length), *best = output<int>(SEQUENCES);
        int2 *work = output<int2>((size_t)LONGEST * SEQUENCES);

        k85a<<<SEQUENCES / 256, 256>>>(d_db, d_length, work, best);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<int> all = on_host(best, SEQUENCES), want, got;
        for (int s = 0; s < SEQUENCES; s += 63) {
            const int far = -(1 << 20);
            std::vector<int> h(QUERY + 1, 0), e(QUERY + 1, far);
            int top = 0;
            for (int i = 0; i < length[s]; i++) {
                int diagonal = 0, f = far;
                for (int j = 1; j <= QUERY; j++) {
                    e[j] = std::max(e[j] - EXTEND, h[j] - OPEN);
                    f = std::max(f - EXTEND, h[j - 1] - OPEN);
                    int v = diagonal + score[query[j - 1] * LETTERS + db[(size_t)i * SEQUENCES + s]];
                    v = std::max(std::max(v, 0), std::max(e[j], f));
                    diagonal = h[j];
                    h[j] = v;
                    top = std::max(top, v);
                }
            }
            want.push_back(top);
            got.push_back(all[s]);
        }
        check("k85a", on_device(got), want, 0.0);

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(work, 0xA5, (size_t)LONGEST * SEQUENCES * sizeof(int2)));
            MUST(cudaMemset(best, 0xA5, SEQUENCES * sizeof(int)));
            launch();
            check(name, best, all, 0.0);
        };
        launch_and_check("k85b", [&] { k85b<<<SEQUENCES / 256, 256>>>(d_db, d_length, work, best); });
        launch_and_check("k85c", [&] { k85c<<<SEQUENCES / 256, 256>>>(d_db, d_length, work, best); });
        launch_and_check("k85d", [&] {
            k85d<<<SEQUENCES / 512, 256>>>(reinterpret_cast<uchar2 *>(d_db), reinterpret_cast<int2 *>(d_length),
                                           reinterpret_cast<uint2 *>(work), reinterpret_cast<int2 *>(best));
        });
        MUST(cudaFree(d_db));
        MUST(cudaFree(work));
    }
    {
        std::vector<u32> keys(SLOTS, 0);
        std::vector<int> values(SLOTS, 0);
        std::vector<u64> table(SLOTS, 0);
        auto payload = [](u32 j) { return scrambled(j, 856) % 1000; };
        for (u32 j = 1; j <= KEYS; j++) {
            u32 key = key_of(j), slot = slot_of(key);
            while (keys[slot])
                slot = (slot + 1) & (SLOTS - 1);
            keys[slot] = key;
            values[slot] = payload(j);
            table[slot] = (u64)values[slot] << 32 | key;
        }
        u32 *d_keys = on_device(keys), *row_key = output<u32>(ROWS);
        int *d_values = on_device(values), *row_value = output<int>(ROWS);
        u64 *d_table = on_device(table), *total = zeroed<u64>(1);
        fill_rows<<<1056, 256>>>(row_key, row_value);
        MUST(cudaDeviceSynchronize());
        std::vector<u64> want(1, 0);
        for (u32 i = 0; i < ROWS; i++) {
            u32 j = choice(i);
            if (j <= KEYS)
                want[0] += (u64)(scrambled(i, 854) % 100) * payload(j);
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(total, 0, sizeof(u64)));
            launch();
            check(name, total, want, 0.0);
        };
        launch_and_check("k85e", [&] { k85e<<<ROWS / 256, 256>>>(row_key, row_value, d_keys, d_values, total); });
        launch_and_check("k85f", [&] { k85f<<<ROWS / 256, 256>>>(row_key, row_value, d_table, total); });
        launch_and_check("k85g",
                         [&] { k85g<<<ROWS / (128 * ITEMS), 128>>>(row_key, row_value, d_table, total); });
    }
    return 0;
}
