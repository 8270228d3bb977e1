// Causal attention scores (query times key below the diagonal; 4 x 12 heads of 1024 x 64), and the backward pass of
// the causal softmax on matrices of the same shape.
#include "../harness.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <functional>
#include <mma.h>

namespace cg = cooperative_groups;

const int TILE = 128;

// Where the queries and keys of a head stand in a tensor (batch, time, 3, heads, head size), and its scores.
struct Head {
    const float *q, *k;
    float *p;
};

__device__ Head head(float *out, const float *inp, int t_count, int c, int heads)
{
    int hs = c / heads;
    int b = blockIdx.z / heads, h = blockIdx.z % heads;
    const float *q = inp + b * t_count * 3 * c + h * hs;
    return {q, q + c, out + (size_t)blockIdx.z * t_count * t_count};
}

__global__ void __launch_bounds__(256, 2) k35a(float *out, const float *inp, int t_count, int c, int heads, float scale)
{
    if (blockIdx.y > blockIdx.x)
        return;
    Head a = head(out, inp, t_count, c, heads);
    int stride = 3 * c, hs = c / heads;
    int i0 = TILE * blockIdx.x + 8 * threadIdx.x;
    int j0 = TILE * blockIdx.y + 8 * threadIdx.y;
    if (j0 > i0)
        return;
    for (int di = 0; di < 8; di++) {
        int i = i0 + di;
        for (int dj = 0; dj < 8; dj++) {
            int j = j0 + dj;
            float sum = 0.0f;
            for (int s = 0; s < hs; s++)
                sum += a.q[i * stride + s] * a.k[j * stride + s];
            a.p[i * t_count + j] = sum * scale;
        }
    }
}

__global__ void __launch_bounds__(256, 2) k35b(float *out, const float *inp, int t_count, int c, int heads, float scale)
{
    if (blockIdx.y > blockIdx.x)
        return;
    Head a = head(out, inp, t_count, c, heads);
    int stride = 3 * c, hs = c / heads;
    int i0 = TILE * blockIdx.x + 8 * threadIdx.x;
    int j0 = TILE * blockIdx.y + 8 * threadIdx.y;
    if (j0 > i0)
        return;
    const float *q = a.q + i0 * stride;
    const float *k = a.k + j0 * stride;

    float sum[8][8] = {};
    for (int s = 0; s < hs; s++) {
        float left[8], right[8];
        for (int u = 0; u < 8; u++) {
            left[u] = q[u * stride + s];
            right[u] = k[u * stride + s];
        }
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                sum[i][j] += left[i] * right[j];
    }
    float *p = a.p + i0 * t_count + j0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            p[i * t_count + j] = sum[i][j] * scale;
}

__device__ void store_row(float *p, const float *sum, float scale)
{
    for (int j = 0; j < 8; j += 4)
        *reinterpret_cast<float4 *>(p + j) =
            make_float4(sum[j] * scale, sum[j + 1] * scale, sum[j + 2] * scale, sum[j + 3] * scale);
}

__global__ void __launch_bounds__(256, 2) k35c(float *out, const float *inp, int t_count, int c, int heads, float scale)
{
    if (blockIdx.y > blockIdx.x)
        return;
    Head a = head(out, inp, t_count, c, heads);
    int stride = 3 * c, hs = c / heads;
    int i0 = TILE * blockIdx.x + 8 * threadIdx.x;
    int j0 = TILE * blockIdx.y + 8 * threadIdx.y;
    if (j0 > i0)
        return;
    const float *q = a.q + i0 * stride;
    const float *k = a.k + j0 * stride;

    float sum[8][8] = {};
    for (int s = 0; s < hs; s += 4) {
        float4 right[8];
        for (int u = 0; u < 8; u++)
            right[u] = *reinterpret_cast<const float4 *>(k + u * stride + s);
        for (int i = 0; i < 8; i++) {
            float4 left = *reinterpret_cast<const float4 *>(q + i * stride + s);
            for (int j = 0; j < 8; j++) {
                sum[i][j] += left.x * right[j].x;
                sum[i][j] += left.y * right[j].y;
                sum[i][j] += left.z * right[j].z;
                sum[i][j] += left.w * right[j].w;
            }
        }
    }
    for (int i = 0; i < 8; i++)
        store_row(a.p + (i0 + i) * t_count + j0, sum[i], scale);
}

__global__ void __launch_bounds__(256, 2) k35d(float *out, const float *inp, int t_count, int c, int heads, float scale)
{
    if (blockIdx.y > blockIdx.x)
        return;
    __shared__ float qs[TILE][32], ks[TILE][32];
    Head a = head(out, inp, t_count, c, heads);
    int stride = 3 * c, hs = c / heads;
    int tx = threadIdx.x, ty = threadIdx.y;
    int i0 = TILE * blockIdx.x + 8 * tx;
    int j0 = TILE * blockIdx.y + 8 * ty;
    const float *q = a.q + TILE * blockIdx.x * stride;
    const float *k = a.k + TILE * blockIdx.y * stride;

    float sum[8][8] = {};
    for (int base = 0; base < hs; base += 32) {
        __syncthreads();
        int column = tx + ty % 2 * 16;
        for (int row = ty / 2; row < TILE; row += 8) {
            qs[row][column] = q[row * stride + base + column];
            ks[row][column] = k[row * stride + base + column];
        }
        __syncthreads();

        for (int s = 0; s < 32; s++) {
            int at = (s + tx) % 32;
            float right[8];
            for (int u = 0; u < 8; u++)
                right[u] = ks[u + 8 * ty][at];
            for (int i = 0; i < 8; i++) {
                float left = qs[i + 8 * tx][at];
                for (int j = 0; j < 8; j++)
                    sum[i][j] += left * right[j];
            }
        }
    }
    if (j0 > i0)
        return;
    for (int i = 0; i < 8; i++)
        store_row(a.p + (i0 + i) * t_count + j0, sum[i], scale);
}

__global__ void __launch_bounds__(256, 2) k35e(float *out, const float *inp, int t_count, int c, int heads, float scale)
{
    using namespace nvcuda;
    if (blockIdx.y > blockIdx.x)
        return;
    const int pitch = 36;
    __shared__ alignas(128) float qs[TILE * pitch];
    __shared__ alignas(128) float ks[TILE * pitch];
    Head a = head(out, inp, t_count, c, heads);
    int stride = 3 * c, hs = c / heads;
    int thread = threadIdx.y * 16 + threadIdx.x, warp = thread / 32;
    int wi = warp / 2 * 32, wj = warp % 2 * 64;
    const float *q = a.q + TILE * blockIdx.x * stride;
    const float *k = a.k + TILE * blockIdx.y * stride;

    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int base = 0; base < hs; base += 32) {
        __syncthreads();
        for (int at = thread; at < TILE * 8; at += 256) {
            int row = at / 8, column = at % 8 * 4;
            *reinterpret_cast<float4 *>(&qs[row * pitch + column]) =
                *reinterpret_cast<const float4 *>(q + row * stride + base + column);
            *reinterpret_cast<float4 *>(&ks[row * pitch + column]) =
                *reinterpret_cast<const float4 *>(k + row * stride + base + column);
        }
        __syncthreads();

        for (int s = 0; s < 32; s += 8) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> right[4];
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(left[i], &qs[(wi + 16 * i) * pitch + s], pitch);
                for (int e = 0; e < left[i].num_elements; e++)
                    left[i].x[e] = wmma::__float_to_tf32(left[i].x[e]);
            }
            for (int j = 0; j < 4; j++) {
                wmma::load_matrix_sync(right[j], &ks[(wj + 16 * j) * pitch + s], pitch);
                for (int e = 0; e < right[j].num_elements; e++)
                    right[j].x[e] = wmma::__float_to_tf32(right[j].x[e]);
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
        }
    }
    float *p = a.p + (TILE * blockIdx.x + wi) * t_count + TILE * blockIdx.y + wj;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            for (int e = 0; e < sum[i][j].num_elements; e++)
                sum[i][j].x[e] *= scale;
            wmma::store_matrix_sync(p + 16 * i * t_count + 16 * j, sum[i][j], t_count, wmma::mem_row_major);
        }
}

__global__ void k35f(float *__restrict__ dpre, const float *__restrict__ datt, const float *__restrict__ att,
                     int t_count, float scale)
{
    const int U = 8;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t3 = U * (blockIdx.x * warp.meta_group_size() + warp.meta_group_rank());
    int lane = warp.thread_rank();
    size_t start = (size_t)blockIdx.y * t_count * t_count;
    if (t3 >= t_count)
        return;

    for (int t = t3; t < t_count; t++) {
        const float *a = att + start + t * t_count;
        const float *d = datt + start + t * t_count;
        float result[U] = {}, mine[U];
        for (int k = 0; k < U; k++)
            mine[k] = a[min(t, t3 + k)];

        int t2 = lane;
        for (; t2 < t3; t2 += 32) {
            float p = a[t2] * d[t2];
            for (int k = 0; k < U; k++)
                result[k] -= p * mine[k];
        }
        if (t2 <= t) {
            float p = a[t2] * d[t2];
            for (int k = 0; k < U; k++) {
                float same = t2 == t3 + k ? 1.0f : 0.0f;
                result[k] += p * (same - mine[k]);
            }
            t2 += 32;
        }
        for (; t2 <= t; t2 += 32) {
            float p = a[t2] * d[t2];
            for (int k = 0; k < U; k++)
                result[k] -= p * mine[k];
        }

        float value = 0.0f;
        for (int k = 0; k < U; k++) {
            float total = cg::reduce(warp, result[k], cg::plus<float>());
            if (lane == k)
                value = total;
        }
        if (lane < U && t >= t3 + lane)
            dpre[start + t * t_count + t3 + lane] = scale * value;
    }
}

__global__ void k35g(float *dpre, const float *datt, const float *att, int t_count, float scale)
{
    __shared__ float part[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int t = blockIdx.x;
    size_t start = ((size_t)blockIdx.y * t_count + t) * t_count;
    const float *a = att + start;
    const float *d = datt + start;

    float sum = 0.0f;
    for (int t2 = threadIdx.x; t2 <= t; t2 += blockDim.x)
        sum += a[t2] * d[t2];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0)
        part[warp.meta_group_rank()] = sum;
    block.sync();
    sum = warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()] : 0.0f;
    sum = cg::reduce(warp, sum, cg::plus<float>());

    for (int t3 = threadIdx.x; t3 <= t; t3 += blockDim.x)
        dpre[start + t3] = scale * a[t3] * (d[t3] - sum);
}

__global__ void k35h(float *dpre, const float *datt, const float *att, int t_count, float scale)
{
    const int rows = 4;
    __shared__ float part[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int t0 = t_count - 1 - rows * blockIdx.x;

    for (int r = 0; r < rows; r++) {
        int t = t0 - r;
        if (t < 0)
            return;
        size_t start = ((size_t)blockIdx.y * t_count + t) * t_count;
        const float *a = att + start;
        const float *d = datt + start;

        float sum = 0.0f;
        for (int t2 = threadIdx.x; t2 <= t; t2 += blockDim.x)
            sum += a[t2] * d[t2];
        sum = cg::reduce(warp, sum, cg::plus<float>());
        if (warp.thread_rank() == 0)
            part[warp.meta_group_rank()] = sum;
        block.sync();
        sum = warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()] : 0.0f;
        sum = cg::reduce(warp, sum, cg::plus<float>());

        for (int t3 = threadIdx.x; t3 <= t; t3 += blockDim.x)
            __stcs(dpre + start + t3, scale * __ldcs(a + t3) * (__ldcs(d + t3) - sum));
        block.sync();
    }
}

// Below and on the diagonal of square matrices.
__global__ void differences(const float *got, const float *want, int matrices, int t_count, float tolerance, int *count)
{
    size_t n = (size_t)matrices * t_count * t_count;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        int row = int(i / t_count % t_count), column = int(i % t_count);
        if (column <= row && !(fabsf(got[i] - want[i]) <= tolerance * fmaxf(1.0f, fabsf(want[i]))))
            atomicAdd(count, 1);
    }
}

int main()
{
    const int b_count = 4, t_count = 1024, c = 768, heads = 12, hs = c / heads, matrices = b_count * heads;
    const size_t size = (size_t)matrices * t_count * t_count;
    const float scale = 1.0f / sqrtf(float(hs));
    float *first = output<float>(size), *out = output<float>(size);
    int *count = zeroed<int>(1);

    auto finished = [&] {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
    };
    auto launch_and_check = [&](const char *name, float tolerance, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, size * sizeof(float)));
        launch();
        finished();
        differences<<<1056, 256>>>(out, first, matrices, t_count, tolerance, count);
        check(name, count, std::vector<int>{0}, 0.0);
    };
    // Rows of the first result, one after the other, each up to its diagonal.
    float *picked = output<float>((size_t)t_count * 64);
    auto check_rows = [&](const char *name, std::function<void(int, int, std::vector<float> &)> row_on_host) {
        finished();
        std::vector<float> want;
        for (int r = 0; r < 40; r++) {
            int matrix = r * 7 % matrices, t = r * (t_count - 1) / 39;
            size_t at = want.size();
            row_on_host(matrix, t, want);
            MUST(cudaMemcpy(picked + at, first + ((size_t)matrix * t_count + t) * t_count, (t + 1) * sizeof(float),
                            cudaMemcpyDeviceToDevice));
        }
        check(name, picked, want, 1e-4);
    };

    {
        float *inp = input<float>((size_t)b_count * t_count * 3 * c, 351, -1.0, 1.0);
        dim3 grid(t_count / TILE, t_count / TILE, matrices), block(16, 16);

        k35a<<<grid, block>>>(first, inp, t_count, c, heads, scale);
        finished();
        std::vector<float> x = on_host(inp, (size_t)b_count * t_count * 3 * c);
        check_rows("k35a", [&](int matrix, int t, std::vector<float> &want) {
            int b = matrix / heads, h = matrix % heads;
            const float *q = &x[((size_t)b * t_count + t) * 3 * c + h * hs];
            for (int t2 = 0; t2 <= t; t2++) {
                const float *k = &x[((size_t)b * t_count + t2) * 3 * c + c + h * hs];
                double sum = 0.0;
                for (int s = 0; s < hs; s++)
                    sum += double(q[s]) * k[s];
                want.push_back(float(sum * scale));
            }
        });
        launch_and_check("k35b", 1e-4f, [&] { k35b<<<grid, block>>>(out, inp, t_count, c, heads, scale); });
        launch_and_check("k35c", 1e-4f, [&] { k35c<<<grid, block>>>(out, inp, t_count, c, heads, scale); });
        launch_and_check("k35d", 1e-4f, [&] { k35d<<<grid, block>>>(out, inp, t_count, c, heads, scale); });
        launch_and_check("k35e", 5e-3f, [&] { k35e<<<grid, block>>>(out, inp, t_count, c, heads, scale); });
        MUST(cudaFree(inp));
    }
    {
        float *att = input<float>(size, 352, 0.0, 1.0), *datt = input<float>(size, 353, -1.0, 1.0);
        MUST(cudaMemset(first, 0xA5, size * sizeof(float)));

        k35f<<<dim3(t_count / 64, matrices), 256>>>(first, datt, att, t_count, scale);
        check_rows("k35f", [&](int matrix, int t, std::vector<float> &want) {
            size_t start = ((size_t)matrix * t_count + t) * t_count;
            std::vector<float> a = on_host(att + start, t + 1), d = on_host(datt + start, t + 1);
            double sum = 0.0;
            for (int t2 = 0; t2 <= t; t2++)
                sum += double(a[t2]) * d[t2];
            for (int t3 = 0; t3 <= t; t3++)
                want.push_back(float(scale * a[t3] * (d[t3] - sum)));
        });
        launch_and_check("k35g", 1e-4f, [&] {
            k35g<<<dim3(t_count, matrices), 256>>>(out, datt, att, t_count, scale);
        });
        launch_and_check("k35h", 1e-4f, [&] {
            k35h<<<dim3(t_count / 4, matrices), 256>>>(out, datt, att, t_count, scale);
        });
    }
    return 0;
}
