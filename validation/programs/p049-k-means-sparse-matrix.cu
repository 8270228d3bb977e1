// Assignment of points to their nearest cluster centre, and the product of a sparse matrix with a vector.
#include "../harness.h"

#include <algorithm>

const int FEATURES = 34, CLUSTERS = 32;

__global__ void k49a(const float *features, const float *clusters, int *membership, int points, int nfeatures,
                     int nclusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float best = 3.40282347e+38f;
    for (int i = 0; i < nclusters; i++) {
        float dist = 0.0f;
        for (int j = 0; j < nfeatures; j++) {
            float diff = features[p * nfeatures + j] - clusters[i * nfeatures + j];
            dist += diff * diff;
        }
        if (dist < best) {
            best = dist;
            index = i;
        }
    }
    membership[p] = index;
}

__global__ void flip(const float *features, float *flipped, int points, int nfeatures)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < points)
        for (int j = 0; j < nfeatures; j++)
            flipped[j * points + p] = features[p * nfeatures + j];
}

__global__ void k49b(const float *flipped, const float *clusters, int *membership, int points, int nfeatures,
                     int nclusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float best = 3.40282347e+38f;
    for (int i = 0; i < nclusters; i++) {
        float dist = 0.0f;
        for (int j = 0; j < nfeatures; j++) {
            float diff = flipped[p + j * points] - clusters[i * nfeatures + j];
            dist += diff * diff;
        }
        if (dist < best) {
            best = dist;
            index = i;
        }
    }
    membership[p] = index;
}

__constant__ float centres[CLUSTERS * FEATURES];

__global__ void k49c(const float *flipped, int *membership, int points, int nfeatures, int nclusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float best = 3.40282347e+38f;
    for (int i = 0; i < nclusters; i++) {
        float dist = 0.0f;
        for (int j = 0; j < nfeatures; j++) {
            float diff = flipped[p + j * points] - centres[i * nfeatures + j];
            dist += diff * diff;
        }
        if (dist < best) {
            best = dist;
            index = i;
        }
    }
    membership[p] = index;
}

__global__ void k49d(const float *flipped, int *membership, int points, int nclusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float mine[FEATURES];
#pragma unroll
    for (int j = 0; j < FEATURES; j++)
        mine[j] = flipped[p + j * points];

    int index = -1;
    float best = 3.40282347e+38f;
    for (int i = 0; i < nclusters; i++) {
        float dist = 0.0f;
#pragma unroll
        for (int j = 0; j < FEATURES; j++) {
            float diff = mine[j] - centres[i * FEATURES + j];
            dist += diff * diff;
        }
        if (dist < best) {
            best = dist;
            index = i;
        }
    }
    membership[p] = index;
}

__global__ void k49e(const float *__restrict__ val, const int *__restrict__ cols, const int *__restrict__ starts,
                     const float *__restrict__ x, int rows, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int end = starts[row + 1];
        for (int j = starts[row]; j < end; j++)
            sum += val[j] * x[cols[j]];
        y[row] = sum;
    }
}

const int SPMV_BLOCK = 128;

__global__ void k49f(const float *__restrict__ val, const int *__restrict__ cols, const int *__restrict__ starts,
                     const float *__restrict__ x, int rows, float *__restrict__ y)
{
    __shared__ volatile float partial[SPMV_BLOCK];
    int t = threadIdx.x;
    int lane = t & 31;
    int row = blockIdx.x * (SPMV_BLOCK / 32) + t / 32;
    if (row >= rows)
        return;

    float sum = 0.0f;
    int end = starts[row + 1];
    for (int j = starts[row] + lane; j < end; j += 32)
        sum += val[j] * x[cols[j]];
    partial[t] = sum;
    __syncwarp();
    for (int reach = 16; reach > 0; reach >>= 1) {
        if (lane < reach)
            partial[t] = sum = sum + partial[t + reach];
        __syncwarp();
    }
    if (lane == 0)
        y[row] = partial[t];
}

// Element j of row r stands at r + j * rows.
__global__ void k49g(const float *__restrict__ val, const int *__restrict__ cols, const int *__restrict__ lengths,
                     const float *__restrict__ x, int rows, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int length = lengths[row];
        for (int j = 0; j < length; j++) {
            int at = row + j * rows;
            sum += val[at] * x[cols[at]];
        }
        y[row] = sum;
    }
}

int main()
{
    // Clusters.
    const int points = 494020;
    float *features = input<float>((size_t)points * FEATURES, 491, 0.0, 1.0);
    float *clusters = input<float>(CLUSTERS * FEATURES, 492, 0.0, 1.0);
    float *flipped = output<float>((size_t)points * FEATURES);
    int *membership = output<int>(points);
    const int blocks = (points + 255) / 256;
    flip<<<blocks, 256>>>(features, flipped, points, FEATURES);
    MUST(cudaMemcpyToSymbol(centres, clusters, CLUSTERS * FEATURES * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    MUST(cudaDeviceSynchronize());

    k49a<<<blocks, 256>>>(features, clusters, membership, points, FEATURES, CLUSTERS);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    // Every 8th point is looked up on the host; of two centres equally near but for rounding either will do.
    std::vector<int> got = on_host(membership, points), nearest = got;
    {
        std::vector<float> f = on_host(features, (size_t)points * FEATURES), c = on_host(clusters, CLUSTERS * FEATURES);
        for (int p = 0; p < points; p++) {
            if (got[p] < 0 || got[p] >= CLUSTERS)
                nearest[p] = -1000;
            else if (p % 8 == 0) {
                double dist[CLUSTERS];
                int best = 0;
                for (int i = 0; i < CLUSTERS; i++) {
                    dist[i] = 0.0;
                    for (int j = 0; j < FEATURES; j++) {
                        double diff = double(f[(size_t)p * FEATURES + j]) - c[i * FEATURES + j];
                        dist[i] += diff * diff;
                    }
                    if (dist[i] < dist[best])
                        best = i;
                }
                if (dist[got[p]] > dist[best] + 1e-5)
                    nearest[p] = best;
            }
        }
    }
    check("k49a", membership, nearest, 0.0);

    MUST(cudaMemset(membership, 0xA5, points * sizeof(int)));
    k49b<<<blocks, 256>>>(flipped, clusters, membership, points, FEATURES, CLUSTERS);
    check("k49b", membership, nearest, 0.0);
    MUST(cudaMemset(membership, 0xA5, points * sizeof(int)));
    k49c<<<blocks, 256>>>(flipped, membership, points, FEATURES, CLUSTERS);
    check("k49c", membership, nearest, 0.0);
    MUST(cudaMemset(membership, 0xA5, points * sizeof(int)));
    k49d<<<blocks, 256>>>(flipped, membership, points, CLUSTERS);
    check("k49d", membership, nearest, 0.0);

    // A sparse matrix with the neighbours of each node of a cube.
    const int side = 96, rows = side * side * side, longest = 27;
    std::vector<int> starts(rows + 1), lengths(rows), cols, ell_cols((size_t)rows * longest, 0);
    std::vector<float> val, ell_val((size_t)rows * longest, 0.0f);
    cols.reserve((size_t)rows * longest);
    val.reserve((size_t)rows * longest);
    for (int z = 0, row = 0; z < side; z++)
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++, row++) {
                starts[row] = int(cols.size());
                int length = 0;
                for (int c = std::max(z - 1, 0); c <= std::min(z + 1, side - 1); c++)
                    for (int b = std::max(y - 1, 0); b <= std::min(y + 1, side - 1); b++)
                        for (int a = std::max(x - 1, 0); a <= std::min(x + 1, side - 1); a++) {
                            int col = (c * side + b) * side + a;
                            float v = float((row * 31 + length * 17) % 1009) / 1009.0f - 0.5f;
                            cols.push_back(col);
                            val.push_back(v);
                            ell_cols[row + (size_t)length * rows] = col;
                            ell_val[row + (size_t)length * rows] = v;
                            length++;
                        }
                lengths[row] = length;
            }
    starts[rows] = int(cols.size());
    float *x = input<float>(rows, 493, -1.0, 1.0);
    std::vector<float> want(rows);
    {
        std::vector<float> hx = on_host(x, rows);
        for (int row = 0; row < rows; row++) {
            double sum = 0.0;
            for (int j = starts[row]; j < starts[row + 1]; j++)
                sum += double(val[j]) * hx[cols[j]];
            want[row] = float(sum);
        }
    }
    float *d_val = on_device(val), *d_ell_val = on_device(ell_val);
    int *d_cols = on_device(cols), *d_ell_cols = on_device(ell_cols);
    int *d_starts = on_device(starts), *d_lengths = on_device(lengths);

    float *y = output<float>(rows);
    k49e<<<(rows + SPMV_BLOCK - 1) / SPMV_BLOCK, SPMV_BLOCK>>>(d_val, d_cols, d_starts, x, rows, y);
    check("k49e", y, want, 1e-5);
    y = output<float>(rows);
    k49f<<<(rows + SPMV_BLOCK / 32 - 1) / (SPMV_BLOCK / 32), SPMV_BLOCK>>>(d_val, d_cols, d_starts, x, rows, y);
    check("k49f", y, want, 1e-5);
    y = output<float>(rows);
    k49g<<<(rows + SPMV_BLOCK - 1) / SPMV_BLOCK, SPMV_BLOCK>>>(d_ell_val, d_ell_cols, d_lengths, x, rows, y);
    check("k49g", y, want, 1e-5);
    return 0;
}
