// Exclusive prefix sums of ints inside tiles of 1024, and the total of every tile (the first phase of a device-wide scan).
#include "../harness.h"

#define TILE 1024
#define SLOT(i) ((i) + ((i) >> 5))

__global__ void k04a(int *g_odata, int *g_totals, const int *g_idata, int n)
{
    __shared__ int temp[TILE];
    int thid = threadIdx.x;
    int base = blockIdx.x * TILE;
    int ai = thid, bi = thid + TILE / 2;
    temp[ai] = base + ai < n ? g_idata[base + ai] : 0;
    temp[bi] = base + bi < n ? g_idata[base + bi] : 0;

    int offset = 1;
    for (int d = TILE >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int i = offset * (2 * thid + 1) - 1;
            int j = offset * (2 * thid + 2) - 1;
            temp[j] += temp[i];
        }
        offset *= 2;
    }
    __syncthreads();
    if (thid == 0) {
        g_totals[blockIdx.x] = temp[TILE - 1];
        temp[TILE - 1] = 0;
    }
    for (int d = 1; d < TILE; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int i = offset * (2 * thid + 1) - 1;
            int j = offset * (2 * thid + 2) - 1;
            int t = temp[i];
            temp[i] = temp[j];
            temp[j] += t;
        }
    }
    __syncthreads();
    if (base + ai < n)
        g_odata[base + ai] = temp[ai];
    if (base + bi < n)
        g_odata[base + bi] = temp[bi];
}

__global__ void k04b(int *g_odata, int *g_totals, const int *g_idata, int n)
{
    __shared__ int temp[SLOT(TILE)];
    int thid = threadIdx.x;
    int base = blockIdx.x * TILE;
    int ai = thid, bi = thid + TILE / 2;
    temp[SLOT(ai)] = base + ai < n ? g_idata[base + ai] : 0;
    temp[SLOT(bi)] = base + bi < n ? g_idata[base + bi] : 0;

    int offset = 1;
    for (int d = TILE >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (thid < d) {
            int i = offset * (2 * thid + 1) - 1;
            int j = offset * (2 * thid + 2) - 1;
            temp[SLOT(j)] += temp[SLOT(i)];
        }
        offset *= 2;
    }
    __syncthreads();
    if (thid == 0) {
        g_totals[blockIdx.x] = temp[SLOT(TILE - 1)];
        temp[SLOT(TILE - 1)] = 0;
    }
    for (int d = 1; d < TILE; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int i = offset * (2 * thid + 1) - 1;
            int j = offset * (2 * thid + 2) - 1;
            int t = temp[SLOT(i)];
            temp[SLOT(i)] = temp[SLOT(j)];
            temp[SLOT(j)] += t;
        }
    }
    __syncthreads();
    if (base + ai < n)
        g_odata[base + ai] = temp[SLOT(ai)];
    if (base + bi < n)
        g_odata[base + bi] = temp[SLOT(bi)];
}

// Sums over the lanes up to and including this one.
__device__ int lanes_up_to(int value)
{
    int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(0xffffffff, value, d);
        if (lane >= d)
            value += other;
    }
    return value;
}

// Sums over the threads of the block before this one, and over all of them.
template <int WARPS> __device__ int threads_before(int value, int *warp_sums, int &total)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int up_to = lanes_up_to(value);
    if (lane == 31)
        warp_sums[warp] = up_to;
    __syncthreads();
    if (warp == 0) {
        int sums = lanes_up_to(lane < WARPS ? warp_sums[lane] : 0);
        if (lane < WARPS)
            warp_sums[lane] = sums;
    }
    __syncthreads();
    total = warp_sums[WARPS - 1];
    return up_to - value + (warp > 0 ? warp_sums[warp - 1] : 0);
}

__global__ void __launch_bounds__(1024) k04c(int *g_odata, int *g_totals, const int *g_idata, int n)
{
    __shared__ int warp_sums[32];
    int i = blockIdx.x * TILE + threadIdx.x;
    int value = i < n ? g_idata[i] : 0;
    int total;
    int before = threads_before<32>(value, warp_sums, total);
    if (i < n)
        g_odata[i] = before;
    if (threadIdx.x == 0)
        g_totals[blockIdx.x] = total;
}

// n is a multiple of four.
__global__ void __launch_bounds__(256) k04d(int *g_odata, int *g_totals, const int *g_idata, int n)
{
    __shared__ int warp_sums[8];
    int i = blockIdx.x * TILE + threadIdx.x * 4;
    int4 v = i < n ? *reinterpret_cast<const int4 *>(g_idata + i) : make_int4(0, 0, 0, 0);
    int total;
    int before = threads_before<8>(v.x + v.y + v.z + v.w, warp_sums, total);
    if (i < n) {
        int4 r;
        r.x = before;
        r.y = r.x + v.x;
        r.z = r.y + v.y;
        r.w = r.z + v.z;
        *reinterpret_cast<int4 *>(g_odata + i) = r;
    }
    if (threadIdx.x == 0)
        g_totals[blockIdx.x] = total;
}

__global__ void __launch_bounds__(256) k04e(int *g_odata, int *g_totals, const int *g_idata, int n)
{
    __shared__ int4 tile4[TILE / 4];
    __shared__ int warp_sums[8];
    int *tile = reinterpret_cast<int *>(tile4);
    int base = blockIdx.x * TILE;
    for (int k = threadIdx.x; k < TILE; k += 256)
        tile[k] = base + k < n ? g_idata[base + k] : 0;
    __syncthreads();
    int4 v = tile4[threadIdx.x];
    int total;
    int before = threads_before<8>(v.x + v.y + v.z + v.w, warp_sums, total);
    int4 r;
    r.x = before;
    r.y = r.x + v.x;
    r.z = r.y + v.y;
    r.w = r.z + v.z;
    tile4[threadIdx.x] = r;
    __syncthreads();
    for (int k = threadIdx.x; k < TILE; k += 256)
        if (base + k < n)
            g_odata[base + k] = tile[k];
    if (threadIdx.x == 0)
        g_totals[blockIdx.x] = total;
}

int main()
{
    const int n = 50000000;
    const int tiles = (n + TILE - 1) / TILE;
    int *in = input<int>(n, 6, 0, 1000);
    int *out = output<int>(n);
    int *totals = output<int>(tiles);

    std::vector<int> data = on_host(in, n), want(n), want_totals(tiles);
    for (int t = 0; t < tiles; t++) {
        int sum = 0;
        for (int i = t * TILE; i < n && i < (t + 1) * TILE; i++) {
            want[i] = sum;
            sum += data[i];
        }
        want_totals[t] = sum;
    }
    auto verify = [&](const char *kernel) {
        check(kernel, out, want, 0);
        check(kernel, totals, want_totals, 0);
        MUST(cudaMemset(out, 0xA5, n * sizeof(int)));
        MUST(cudaMemset(totals, 0xA5, tiles * sizeof(int)));
    };

    k04a<<<tiles, TILE / 2>>>(out, totals, in, n);
    verify("k04a");
    k04b<<<tiles, TILE / 2>>>(out, totals, in, n);
    verify("k04b");
    k04c<<<tiles, TILE>>>(out, totals, in, n);
    verify("k04c");
    k04d<<<tiles, TILE / 4>>>(out, totals, in, n);
    verify("k04d");
    k04e<<<tiles, TILE / 4>>>(out, totals, in, n);
    verify("k04e");
    return 0;
}
