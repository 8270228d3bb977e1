// Backward pass of a causal softmax over attention scores (heads, T, T), and the gradient of a bias (column sums of a matrix).
#include "../harness.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <functional>

namespace cg = cooperative_groups;

// A warp for each column j of a head: dpre[i][j] for all i >= j.
__global__ void k87a(float *dpre, const float *datt, const float *att, int T, float scale)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int j = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    size_t head = (size_t)blockIdx.y * T * T;
    if (j >= T)
        return;
    for (int i = j; i < T; i++) {
        const float *a = att + head + (size_t)i * T;
        const float *d = datt + head + (size_t)i * T;
        float at_j = a[j];
        float result = 0.0f;
        for (int m = warp.thread_rank(); m <= i; m += warp.size()) {
            float same = m == j ? 1.0f : 0.0f;
            result += a[m] * (same - at_j) * d[m];
        }
        result = cg::reduce(warp, result, cg::plus<float>());
        if (warp.thread_rank() == 0)
            dpre[head + (size_t)i * T + j] = scale * result;
    }
}

const int COLS = 8;

__global__ void k87b(float *__restrict__ dpre, const float *__restrict__ datt, const float *__restrict__ att, int T,
                     float scale)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int j = COLS * (blockIdx.x * warp.meta_group_size() + warp.meta_group_rank());
    size_t head = (size_t)blockIdx.y * T * T;
    if (j >= T)
        return;
    for (int i = j; i < T; i++) {
        const float *a = att + head + (size_t)i * T;
        const float *d = datt + head + (size_t)i * T;
        float result[COLS] = {};
        float at_j[COLS];
        for (int c = 0; c < COLS; c++) {
            if (i < j + c)
                continue;
            at_j[c] = a[j + c];
        }
        for (int m = warp.thread_rank(); m <= i; m += warp.size()) {
            float am = a[m];
            float dm = d[m];
            for (int c = 0; c < COLS; c++) {
                if (i < j + c)
                    continue;
                float same = m == j + c ? 1.0f : 0.0f;
                result[c] += am * (same - at_j[c]) * dm;
            }
        }
        for (int c = 0; c < COLS; c++)
            result[c] = cg::reduce(warp, result[c], cg::plus<float>());
        int lane = warp.thread_rank();
        if (lane < COLS && i >= j + lane)
            dpre[head + (size_t)i * T + j + lane] = scale * result[lane];
    }
}

__global__ void k87c(float *__restrict__ dpre, const float *__restrict__ datt, const float *__restrict__ att, int T,
                     float scale)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int j = COLS * (blockIdx.x * warp.meta_group_size() + warp.meta_group_rank());
    size_t head = (size_t)blockIdx.y * T * T;
    if (j >= T)
        return;
    for (int i = j; i < T; i++) {
        const float *a = att + head + (size_t)i * T;
        const float *d = datt + head + (size_t)i * T;
        float result[COLS] = {};
        float at_j[COLS];
        for (int c = 0; c < COLS; c++)
            at_j[c] = a[min(i, j + c)];

        auto plain = [&](int m) {
            float p = a[m] * d[m];
            for (int c = 0; c < COLS; c++)
                result[c] -= p * at_j[c];
        };
        int m = warp.thread_rank();
        for (; m < j; m += warp.size())
            plain(m);
        if (m <= i) {
            float p = a[m] * d[m];
            for (int c = 0; c < COLS; c++) {
                float same = m == j + c ? 1.0f : 0.0f;
                result[c] += p * (same - at_j[c]);
            }
            m += warp.size();
        }
        for (; m <= i; m += warp.size())
            plain(m);

        for (int c = 0; c < COLS; c++)
            result[c] = cg::reduce(warp, result[c], cg::plus<float>());
        int lane = warp.thread_rank();
        if (lane < COLS && i >= j + lane)
            dpre[head + (size_t)i * T + j + lane] = scale * result[lane];
    }
}

const int ROWS = 4;

template <int BLOCK>
__device__ void by_rows(float *dpre, const float *datt, const float *att, int T, float scale)
{
    __shared__ float partial[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    size_t head = (size_t)blockIdx.y * T * T;
    int last = T - 1 - ROWS * blockIdx.x;
    if (warp.meta_group_rank() == 0)
        partial[warp.thread_rank()] = 0.0f;

    for (int r = 0; r < ROWS; r++) {
        int i = last - r;
        if (i < 0)
            return;
        const float *a = att + head + (size_t)i * T;
        const float *d = datt + head + (size_t)i * T;
        float *o = dpre + head + (size_t)i * T;
        float sum = 0.0f;
        for (int m = threadIdx.x; m <= i; m += BLOCK)
            sum += a[m] * d[m];
        block.sync();
        float mine = cg::reduce(warp, sum, cg::plus<float>());
        if (warp.thread_rank() == 0)
            partial[warp.meta_group_rank()] = mine;
        block.sync();
        sum = cg::reduce(warp, partial[warp.thread_rank()], cg::plus<float>());
        for (int m = threadIdx.x; m <= i; m += BLOCK)
            __stcs(o + m, scale * (__ldcs(a + m) * (__ldcs(d + m) - sum)));
    }
}

__global__ void __launch_bounds__(256) k87d(float *dpre, const float *datt, const float *att, int T, float scale)
{
    by_rows<256>(dpre, datt, att, T, scale);
}

// A warp for each row.
__global__ void k87e(float *dpre, const float *datt, const float *att, int T, int rows, float scale)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows)
        return;
    int i = row % T;
    const float *a = att + (size_t)row * T;
    const float *d = datt + (size_t)row * T;
    float *o = dpre + (size_t)row * T;
    float sum = 0.0f;
    for (int m = warp.thread_rank(); m <= i; m += warp.size())
        sum += a[m] * d[m];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    for (int m = warp.thread_rank(); m <= i; m += warp.size())
        __stcs(o + m, scale * (__ldcs(a + m) * (__ldcs(d + m) - sum)));
}

// A block for each column.
__global__ void k87f(float *dbias, const float *dout, int rows, int OC)
{
    __shared__ float partial[32];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int column = blockIdx.x;
    float sum = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        sum += dout[(size_t)r * OC + column];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    partial[warp.meta_group_rank()] = sum;
    __syncthreads();
    float total = warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : 0.0f;
    total = cg::reduce(warp, total, cg::plus<float>());
    if (threadIdx.x == 0)
        dbias[column] += total;
}

// A block for 32 columns.
__global__ void k87g(float *dbias, const float *dout, int rows, int OC)
{
    extern __shared__ float sums[];
    int lane = threadIdx.x % 32;
    int which = threadIdx.x / 32;
    int warps = blockDim.x / 32;
    const float *from = dout + blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int r = which; r < rows; r += warps)
        sum += from[(size_t)r * OC];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (which == 0) {
        sum = 0.0f;
        for (int i = 0; i < warps; i++)
            sum += sums[i * 32 + lane];
        dbias[blockIdx.x * 32 + lane] += sum;
    }
}

__global__ void k87h(float *dbias, const float *dout, int rows, int OC)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= OC)
        return;
    float sum = 0.0f;
    for (int r = blockIdx.y; r < rows; r += gridDim.y)
        sum += dout[(size_t)r * OC + column];
    atomicAdd(dbias + column, sum);
}

// Zeros above the diagonal.
__global__ void lower(float *matrix, int T, size_t n)
{
    for (size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x; e < n; e += (size_t)gridDim.x * blockDim.x) {
        int column = e % T, row = e / T % T;
        if (column > row)
            matrix[e] = 0.0f;
    }
}

int main()
{
    {
        const int HEADS = 96, T = 512;
        const size_t n = (size_t)HEADS * T * T;
        const float scale = 0.125f;
        float *att = input<float>(n, 871, 0.0, 1.0);
        float *datt = input<float>(n, 872, -1.0, 1.0);
        float *dpre = output<float>(n);
        std::vector<float> want(n, 0.0f);
        {
            std::vector<float> a = on_host(att, n), d = on_host(datt, n);
            for (size_t row = 0; row < (size_t)HEADS * T; row++) {
                const float *ar = &a[row * T], *dr = &d[row * T];
                int i = row % T;
                double sum = 0.0;
                for (int m = 0; m <= i; m++)
                    sum += double(ar[m]) * dr[m];
                for (int m = 0; m <= i; m++)
                    want[row * T + m] = float(scale * (ar[m] * (dr[m] - sum)));
            }
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(dpre, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            lower<<<1056, 256>>>(dpre, T, n);
            check(name, dpre, want, 1e-4);
        };
        launch_and_check("k87a", [&] { k87a<<<dim3(T / 8, HEADS), 256>>>(dpre, datt, att, T, scale); });
        launch_and_check("k87b", [&] { k87b<<<dim3(T / (8 * COLS), HEADS), 256>>>(dpre, datt, att, T, scale); });
        launch_and_check("k87c", [&] { k87c<<<dim3(T / (8 * COLS), HEADS), 256>>>(dpre, datt, att, T, scale); });
        launch_and_check("k87d", [&] { k87d<<<dim3(T / ROWS, HEADS), 256>>>(dpre, datt, att, T, scale); });
        launch_and_check("k87e",
                         [&] { k87e<<<HEADS * T / 8, 256>>>(dpre, datt, att, T, HEADS * T, scale); });
        MUST(cudaFree(att));
        MUST(cudaFree(datt));
        MUST(cudaFree(dpre));
    }
    {
        const int rows = 8192, OC = 3072;
        const size_t n = (size_t)rows * OC;
        float *dout = input<float>(n, 873, -1.0, 1.0);
        std::vector<float> want(OC);
        {
            std::vector<float> h = on_host(dout, n);
            std::vector<double> sum(OC, 0.0);
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < OC; c++)
                    sum[c] += h[(size_t)r * OC + c];
            for (int c = 0; c < OC; c++)
                want[c] = float(sum[c]);
        }
        float *dbias = zeroed<float>(OC);
        k87f<<<OC, 512>>>(dbias, dout, rows, OC);
        check("k87f", dbias, want, 1e-3);

        dbias = zeroed<float>(OC);
        k87g<<<OC / 32, 512, 512 * sizeof(float)>>>(dbias, dout, rows, OC);
        check("k87g", dbias, want, 1e-3);

        dbias = zeroed<float>(OC);
        k87h<<<dim3(OC / 256, 88), 256>>>(dbias, dout, rows, OC);
        check("k87h", dbias, want, 1e-3);
    }
    return 0;
}
