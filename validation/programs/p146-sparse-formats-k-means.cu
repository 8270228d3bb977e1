// Sparse matrix times vector (27 entries a row, from a periodic grid of 128 x 128 x 128 points) in several formats, and
// the assignment step of k-means (64 clusters, 32 features, stored feature by feature).
#include "../harness.h"

#include <cfloat>
#include <functional>

const int EDGE = 128, ROWS = EDGE * EDGE * EDGE, WIDTH = 27, NNZ = ROWS * WIDTH;

__host__ __device__ inline int neighbour(int row, int k)
{
    int x = (row + k % 3 - 1) & (EDGE - 1);
    int y = (row / EDGE + k / 3 % 3 - 1) & (EDGE - 1);
    int z = (row / EDGE / EDGE + k / 9 - 1) & (EDGE - 1);
    return (z * EDGE + y) * EDGE + x;
}

__host__ __device__ inline float entry(int row, int k)
{
    return scrambled((unsigned long long)row * WIDTH + k, 1461) / 4294967296.0f - 0.25f;
}

__global__ void fill_matrix(int *start, int *row_of, int *col, float *val, int *ell_col, float *ell_val)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < WIDTH; k++) {
        row_of[row * WIDTH + k] = row;
        col[row * WIDTH + k] = ell_col[k * ROWS + row] = neighbour(row, k);
        val[row * WIDTH + k] = ell_val[k * ROWS + row] = entry(row, k);
    }
    start[row] = row * WIDTH;
    if (row == ROWS - 1)
        start[ROWS] = NNZ;
}

// Coordinate format.
__global__ void k146a(float *y, const float *x, const int *row_of, const int *col, const float *val, int nnz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nnz)
        atomicAdd(&y[row_of[i]], val[i] * x[col[i]]);
}

// Compressed rows.
__global__ void k146b(float *y, const float *x, const int *start, const int *col, const float *val, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += val[i] * x[col[i]];
        y[row] = sum;
    }
}

__global__ void k146c(float *y, const float *x, const int *start, const int *col, const float *val, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = start[row] + lane; i < start[row + 1]; i += 32)
            sum += val[i] * x[col[i]];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (lane == 0)
            y[row] = sum;
    }
}

// Rows of equal width.
__global__ void k146d(float *y, const float *x, const int *col, const float *val, int rows, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++)
            sum += val[k * rows + row] * x[col[k * rows + row]];
        y[row] = sum;
    }
}

__global__ void k146e(float *y, const float *x, const int *col, const float *val, int rows, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++)
            sum += __ldg(&val[k * rows + row]) * __ldg(&x[__ldg(&col[k * rows + row])]);
        y[row] = sum;
    }
}

// ---- nearest of the clusters for every point ----

const int POINTS = 132 * 512 * 15, FEATURES = 32, CLUSTERS = 64;

__global__ void k146f(int *membership, const float *feature, const float *centre, int points, int features, int clusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float least = FLT_MAX;
    for (int c = 0; c < clusters; c++) {
        float dist = 0.0f;
        for (int f = 0; f < features; f++) {
            float diff = feature[f * points + p] - centre[c * features + f];
            dist += diff * diff;
        }
        if (dist < least) {
            least = dist;
            index = c;
        }
    }
    membership[p] = index;
}

__global__ void k146g(int *membership, const float *feature, const float *centre, int points, int clusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float mine[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        mine[f] = feature[f * points + p];
    int index = -1;
    float least = FLT_MAX;
    for (int c = 0; c < clusters; c++) {
        float dist = 0.0f;
#pragma unroll
        for (int f = 0; f < FEATURES; f++) {
            float diff = mine[f] - centre[c * FEATURES + f];
            dist += diff * diff;
        }
        if (dist < least) {
            least = dist;
            index = c;
        }
    }
    membership[p] = index;
}

__global__ void k146h(int *membership, const float *feature, const float *centre, int points)
{
    __shared__ __align__(16) float centre_s[CLUSTERS * FEATURES];
    for (int i = threadIdx.x; i < CLUSTERS * FEATURES; i += blockDim.x)
        centre_s[i] = centre[i];
    __syncthreads();
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float mine[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        mine[f] = feature[f * points + p];
    int index = -1;
    float least = FLT_MAX;
#pragma unroll 2
    for (int c = 0; c < CLUSTERS; c++) {
        float dist = 0.0f;
#pragma unroll
        for (int f = 0; f < FEATURES; f++) {
            float diff = mine[f] - centre_s[c * FEATURES + f];
            dist += diff * diff;
        }
        if (dist < least) {
            least = dist;
            index = c;
        }
    }
    membership[p] = index;
}

// half_norm: half of the squared length of each centre.
__global__ void k146i(int *membership, const float *feature, const float *centre, const float *half_norm, int points)
{
    __shared__ __align__(16) float centre_s[CLUSTERS * FEATURES];
    __shared__ float norm_s[CLUSTERS];
    for (int i = threadIdx.x; i < CLUSTERS * FEATURES; i += blockDim.x)
        centre_s[i] = centre[i];
    if (threadIdx.x < CLUSTERS)
        norm_s[threadIdx.x] = half_norm[threadIdx.x];
    __syncthreads();
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float mine[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        mine[f] = feature[f * points + p];
    int index = -1;
    float most = -FLT_MAX;
#pragma unroll 2
    for (int c = 0; c < CLUSTERS; c++) {
        float score = -norm_s[c];
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            score += mine[f] * centre_s[c * FEATURES + f];
        if (score > most) {
            most = score;
            index = c;
        }
    }
    membership[p] = index;
}

const int EACH = 4, BLOCK = 128;

// Points must be a multiple of EACH * BLOCK.
__global__ void __launch_bounds__(BLOCK, 3)
    k146j(int *membership, const float *feature, const float *centre, const float *half_norm, int points)
{
    __shared__ float4 centre_s[CLUSTERS * FEATURES / 4];
    __shared__ float norm_s[CLUSTERS];
    for (int i = threadIdx.x; i < CLUSTERS * FEATURES / 4; i += BLOCK)
        centre_s[i] = reinterpret_cast<const float4 *>(centre)[i];
    if (threadIdx.x < CLUSTERS)
        norm_s[threadIdx.x] = half_norm[threadIdx.x];
    __syncthreads();
    int p = blockIdx.x * BLOCK * EACH + threadIdx.x;
    float mine[EACH][FEATURES], most[EACH];
    int index[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            mine[e][f] = feature[f * points + p + e * BLOCK];
        most[e] = -FLT_MAX;
        index[e] = -1;
    }
    for (int c = 0; c < CLUSTERS; c++) {
        float score[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++)
            score[e] = -norm_s[c];
#pragma unroll
        for (int f = 0; f < FEATURES; f += 4) {
            float4 v = centre_s[(c * FEATURES + f) / 4];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                score[e] += mine[e][f] * v.x;
                score[e] += mine[e][f + 1] * v.y;
                score[e] += mine[e][f + 2] * v.z;
                score[e] += mine[e][f + 3] * v.w;
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; e++)
            if (score[e] > most[e]) {
                most[e] = score[e];
                index[e] = c;
            }
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
        membership[p + e * BLOCK] = index[e];
}

int main()
{
    int *start = output<int>(ROWS + 1), *row_of = output<int>(NNZ), *col = output<int>(NNZ), *ell_col = output<int>(NNZ);
    float *val = output<float>(NNZ), *ell_val = output<float>(NNZ);
    fill_matrix<<<ROWS / 256, 256>>>(start, row_of, col, val, ell_col, ell_val);
    MUST(cudaDeviceSynchronize());
    float *x = input<float>(ROWS, 1462, -1.0, 1.0), *y = output<float>(ROWS);
    std::vector<float> hx = on_host(x, ROWS), product(ROWS);
    const int every = 5;
    for (int row = 0; row < ROWS; row += every)
        for (int k = 0; k < WIDTH; k++)
            product[row] += entry(row, k) * hx[neighbour(row, k)];
    std::vector<float> all;
    auto multiply = [&](const char *name, int fill, std::function<void()> launch) {
        MUST(cudaMemset(y, fill, ROWS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!all.empty()) {
            check(name, y, all, 1e-4);
            return;
        }
        // The first against every fifth row of the host, the others against the first.
        all = on_host(y, ROWS);
        std::vector<float> got, want;
        for (int row = 0; row < ROWS; row += every) {
            got.push_back(all[row]);
            want.push_back(product[row]);
        }
        check(name, on_device(got), want, 1e-4);
    };
    multiply("k146a", 0, [&] { k146a<<<NNZ / 256, 256>>>(y, x, row_of, col, val, NNZ); });
    multiply("k146b", 0xA5, [&] { k146b<<<ROWS / 256, 256>>>(y, x, start, col, val, ROWS); });
    multiply("k146c", 0xA5, [&] { k146c<<<ROWS / 8, 256>>>(y, x, start, col, val, ROWS); });
    multiply("k146d", 0xA5, [&] { k146d<<<ROWS / 256, 256>>>(y, x, ell_col, ell_val, ROWS, WIDTH); });
    multiply("k146e", 0xA5, [&] { k146e<<<ROWS / 256, 256>>>(y, x, ell_col, ell_val, ROWS, WIDTH); });

    const size_t features = (size_t)POINTS * FEATURES;
    float *feature = input<float>(features, 1463, 0.0, 1.0), *centre = input<float>(CLUSTERS * FEATURES, 1464, 0.1, 0.9);
    int *membership = output<int>(POINTS);
    std::vector<float> hf = on_host(feature, features), hc = on_host(centre, CLUSTERS * FEATURES), norm(CLUSTERS);
    for (int c = 0; c < CLUSTERS; c++)
        for (int f = 0; f < FEATURES; f++)
            norm[c] += 0.5f * hc[c * FEATURES + f] * hc[c * FEATURES + f];
    float *half_norm = on_device(norm);
    // Distances of every 31st point; a cluster as near as the nearest, but for rounding, is right.
    const int step = 31, chosen = (POINTS - 1) / step + 1;
    std::vector<float> dist((size_t)chosen * CLUSTERS);
    for (int s = 0; s < chosen; s++) {
        float mine[FEATURES];
        for (int f = 0; f < FEATURES; f++)
            mine[f] = hf[(size_t)f * POINTS + s * step];
        for (int c = 0; c < CLUSTERS; c++) {
            float sum = 0.0f;
            for (int f = 0; f < FEATURES; f++)
                sum += (mine[f] - hc[c * FEATURES + f]) * (mine[f] - hc[c * FEATURES + f]);
            dist[(size_t)s * CLUSTERS + c] = sum;
        }
    }
    auto assign = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(membership, 0xA5, POINTS * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<int> all_points = on_host(membership, POINTS), got, want;
        for (int s = 0; s < chosen; s++) {
            const float *d = &dist[(size_t)s * CLUSTERS];
            int best = 0, said = all_points[s * step];
            for (int c = 1; c < CLUSTERS; c++)
                if (d[c] < d[best])
                    best = c;
            got.push_back(said);
            want.push_back(said >= 0 && said < CLUSTERS && d[said] <= d[best] * 1.00002f ? said : best);
        }
        int *picked = on_device(got);
        check(name, picked, want, 0.0);
        MUST(cudaFree(picked));
    };
    const int blocks = POINTS / 256, wide = POINTS / (EACH * BLOCK);
    assign("k146f", [&] { k146f<<<blocks, 256>>>(membership, feature, centre, POINTS, FEATURES, CLUSTERS); });
    assign("k146g", [&] { k146g<<<blocks, 256>>>(membership, feature, centre, POINTS, CLUSTERS); });
    assign("k146h", [&] { k146h<<<blocks, 256>>>(membership, feature, centre, POINTS); });
    assign("k146i", [&] { k146i<<<blocks, 256>>>(membership, feature, centre, half_norm, POINTS); });
    assign("k146j", [&] { k146j<<<wide, BLOCK>>>(membership, feature, centre, half_norm, POINTS); });
    return 0;
}
