// Point clouds: the nearest point of a second cloud for each point of a first one, and for given centres the first
// points of a cloud within a radius.
#include "../harness.h"

__global__ void k61a(const float *__restrict__ xyz1, const float *__restrict__ xyz2, float *dist, int *idx, int n,
                     int m)
{
    int b = blockIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n)
        return;
    xyz1 += (size_t)b * n * 3;
    xyz2 += (size_t)b * m * 3;

    float x1 = xyz1[j * 3 + 0];
    float y1 = xyz1[j * 3 + 1];
    float z1 = xyz1[j * 3 + 2];
    float best = 1e30f;
    int best_i = 0;
    for (int k = 0; k < m; k++) {
        float dx = xyz2[k * 3 + 0] - x1;
        float dy = xyz2[k * 3 + 1] - y1;
        float dz = xyz2[k * 3 + 2] - z1;
        float d = dx * dx + dy * dy + dz * dz;
        if (d < best) {
            best = d;
            best_i = k;
        }
    }
    dist[(size_t)b * n + j] = best;
    idx[(size_t)b * n + j] = best_i;
}

const int BATCH = 512;

__global__ void k61b(const float *__restrict__ xyz1, const float *__restrict__ xyz2, float *dist, int *idx, int clouds,
                     int n, int m)
{
    __shared__ float buf[BATCH * 3];
    for (int b = blockIdx.x; b < clouds; b += gridDim.x) {
        for (int k0 = 0; k0 < m; k0 += BATCH) {
            int count = min(m - k0, BATCH);
            for (int j = threadIdx.x; j < count * 3; j += blockDim.x)
                buf[j] = xyz2[((size_t)b * m + k0) * 3 + j];
            __syncthreads();
            for (int j = blockIdx.y * blockDim.x + threadIdx.x; j < n; j += blockDim.x * gridDim.y) {
                size_t at = (size_t)b * n + j;
                float x1 = xyz1[at * 3 + 0];
                float y1 = xyz1[at * 3 + 1];
                float z1 = xyz1[at * 3 + 2];
                float best = 1e30f;
                int best_i = 0;
                for (int k = 0; k < count; k++) {
                    float dx = buf[k * 3 + 0] - x1;
                    float dy = buf[k * 3 + 1] - y1;
                    float dz = buf[k * 3 + 2] - z1;
                    float d = dx * dx + dy * dy + dz * dz;
                    if (d < best) {
                        best = d;
                        best_i = k0 + k;
                    }
                }
                if (k0 == 0 || dist[at] > best) {
                    dist[at] = best;
                    idx[at] = best_i;
                }
            }
            __syncthreads();
        }
    }
}

const int PER = 4;

__global__ void k61c(const float *__restrict__ xyz1, const float *__restrict__ xyz2, float *dist, int *idx, int n,
                     int m)
{
    __shared__ float buf[BATCH * 3];
    int b = blockIdx.x;
    int first = blockIdx.y * blockDim.x * PER + threadIdx.x;

    float x1[PER], y1[PER], z1[PER], best[PER];
    int best_i[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) {
        int j = min(first + p * (int)blockDim.x, n - 1);
        x1[p] = xyz1[((size_t)b * n + j) * 3 + 0];
        y1[p] = xyz1[((size_t)b * n + j) * 3 + 1];
        z1[p] = xyz1[((size_t)b * n + j) * 3 + 2];
        best[p] = 1e30f;
        best_i[p] = 0;
    }
    for (int k0 = 0; k0 < m; k0 += BATCH) {
        int count = min(m - k0, BATCH);
        for (int j = threadIdx.x; j < count * 3; j += blockDim.x)
            buf[j] = xyz2[((size_t)b * m + k0) * 3 + j];
        __syncthreads();
        for (int k = 0; k < count; k++) {
            float x2 = buf[k * 3 + 0];
            float y2 = buf[k * 3 + 1];
            float z2 = buf[k * 3 + 2];
#pragma unroll
            for (int p = 0; p < PER; p++) {
                float dx = x2 - x1[p];
                float dy = y2 - y1[p];
                float dz = z2 - z1[p];
                float d = dx * dx + dy * dy + dz * dz;
                if (d < best[p]) {
                    best[p] = d;
                    best_i[p] = k0 + k;
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < PER; p++) {
        int j = first + p * blockDim.x;
        if (j < n) {
            dist[(size_t)b * n + j] = best[p];
            idx[(size_t)b * n + j] = best_i[p];
        }
    }
}

__global__ void k61d(int n, int m, float radius, int nsample, const float *__restrict__ new_xyz,
                     const float *__restrict__ xyz, int *__restrict__ idx)
{
    int b = blockIdx.x;
    xyz += (size_t)b * n * 3;
    new_xyz += (size_t)b * m * 3;
    idx += (size_t)b * m * nsample;

    float radius2 = radius * radius;
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        float cx = new_xyz[j * 3 + 0];
        float cy = new_xyz[j * 3 + 1];
        float cz = new_xyz[j * 3 + 2];
        int found = 0;
        for (int k = 0; k < n && found < nsample; k++) {
            float x = xyz[k * 3 + 0];
            float y = xyz[k * 3 + 1];
            float z = xyz[k * 3 + 2];
            float d2 = (cx - x) * (cx - x) + (cy - y) * (cy - y) + (cz - z) * (cz - z);
            if (d2 < radius2) {
                if (found == 0) {
                    for (int l = 0; l < nsample; l++)
                        idx[j * nsample + l] = k;
                }
                idx[j * nsample + found] = k;
                found++;
            }
        }
    }
}

__global__ void k61e(int n, int m, float radius, int nsample, const float *__restrict__ new_xyz,
                     const float *__restrict__ xyz, int *__restrict__ idx)
{
    int b = blockIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m)
        return;
    xyz += (size_t)b * n * 3;
    new_xyz += ((size_t)b * m + j) * 3;
    idx += ((size_t)b * m + j) * nsample;

    float radius2 = radius * radius;
    float cx = new_xyz[0];
    float cy = new_xyz[1];
    float cz = new_xyz[2];
    int found = 0;
    for (int k = 0; k < n; k++) {
        float x = xyz[k * 3 + 0];
        float y = xyz[k * 3 + 1];
        float z = xyz[k * 3 + 2];
        float d2 = (cx - x) * (cx - x) + (cy - y) * (cy - y) + (cz - z) * (cz - z);
        if (d2 < radius2) {
            if (found == 0) {
                for (int l = 0; l < nsample; l++)
                    idx[l] = k;
            }
            idx[found] = k;
            found++;
            if (found >= nsample)
                break;
        }
    }
}

__global__ void k61f(int n, int m, float radius, int nsample, const float *__restrict__ new_xyz,
                     const float *__restrict__ xyz, int *__restrict__ idx)
{
    int b = blockIdx.y;
    int lane = threadIdx.x % 32;
    int j = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (j >= m)
        return;
    xyz += (size_t)b * n * 3;
    new_xyz += ((size_t)b * m + j) * 3;
    idx += ((size_t)b * m + j) * nsample;

    float radius2 = radius * radius;
    float cx = new_xyz[0];
    float cy = new_xyz[1];
    float cz = new_xyz[2];
    int found = 0, head = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        int k = k0 + lane;
        bool inside = false;
        if (k < n) {
            float x = xyz[k * 3 + 0];
            float y = xyz[k * 3 + 1];
            float z = xyz[k * 3 + 2];
            float d2 = (cx - x) * (cx - x) + (cy - y) * (cy - y) + (cz - z) * (cz - z);
            inside = d2 < radius2;
        }
        unsigned mask = __ballot_sync(0xffffffffu, inside);
        if (mask) {
            if (found == 0)
                head = k0 + __ffs(mask) - 1;
            int at = found + __popc(mask & ((1u << lane) - 1));
            if (inside && at < nsample)
                idx[at] = k;
            found += __popc(mask);
            if (found >= nsample)
                break;
        }
    }
    if (found > 0)
        for (int l = found + lane; l < nsample; l += 32)
            idx[l] = head;
}

__global__ void k61g(int n, int m, float radius, int nsample, const float *__restrict__ new_xyz,
                     const float *__restrict__ xs, const float *__restrict__ ys, const float *__restrict__ zs,
                     int *__restrict__ idx)
{
    int b = blockIdx.y;
    int lane = threadIdx.x % 32;
    int j = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (j >= m)
        return;
    xs += (size_t)b * n;
    ys += (size_t)b * n;
    zs += (size_t)b * n;
    new_xyz += ((size_t)b * m + j) * 3;
    idx += ((size_t)b * m + j) * nsample;

    float radius2 = radius * radius;
    float cx = new_xyz[0];
    float cy = new_xyz[1];
    float cz = new_xyz[2];
    int found = 0, head = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        int k = k0 + lane;
        bool inside = false;
        if (k < n) {
            float x = xs[k];
            float y = ys[k];
            float z = zs[k];
            float d2 = (cx - x) * (cx - x) + (cy - y) * (cy - y) + (cz - z) * (cz - z);
            inside = d2 < radius2;
        }
        unsigned mask = __ballot_sync(0xffffffffu, inside);
        if (mask) {
            if (found == 0)
                head = k0 + __ffs(mask) - 1;
            int at = found + __popc(mask & ((1u << lane) - 1));
            if (inside && at < nsample)
                idx[at] = k;
            found += __popc(mask);
            if (found >= nsample)
                break;
        }
    }
    if (found > 0)
        for (int l = found + lane; l < nsample; l += 32)
            idx[l] = head;
}

// Coordinates are multiples of 1/1024 from -1 to 1, so that every squared distance is exact.
std::vector<float> cloud(size_t points, unsigned seed)
{
    std::vector<float> v(points * 3);
    for (size_t i = 0; i < v.size(); i++)
        v[i] = (int(scrambled(i, seed) >> 21) - 1024) / 1024.0f;
    return v;
}

int main()
{
    const int clouds = 32, n = 8192, m = 8192;
    std::vector<float> p = cloud((size_t)clouds * n, 611), q = cloud((size_t)clouds * m, 612);
    float *xyz1 = on_device(p), *xyz2 = on_device(q);
    const size_t queries = (size_t)clouds * n;

    // Distances and then indices.
    auto result = [&](const float *dist, const int *idx, size_t step) {
        std::vector<float> d = on_host(dist, queries);
        std::vector<int> i = on_host(idx, queries);
        std::vector<double> both;
        for (size_t j = 0; j < queries; j += step)
            both.push_back(d[j]);
        for (size_t j = 0; j < queries; j += step)
            both.push_back(i[j]);
        return both;
    };

    float *dist = output<float>(queries);
    int *idx = output<int>(queries);
    k61a<<<dim3((n + 255) / 256, clouds), 256>>>(xyz1, xyz2, dist, idx, n, m);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<double> nearest = result(dist, idx, 1);
    {
        const size_t step = 67;
        std::vector<double> few_d, few_i;
        for (size_t j = 0; j < queries; j += step) {
            const float *c = &q[j / n * m * 3];
            float best = 1e30f;
            int best_i = 0;
            for (int k = 0; k < m; k++) {
                float dx = c[k * 3] - p[j * 3], dy = c[k * 3 + 1] - p[j * 3 + 1], dz = c[k * 3 + 2] - p[j * 3 + 2];
                float d = dx * dx + dy * dy + dz * dz;
                if (d < best) {
                    best = d;
                    best_i = k;
                }
            }
            few_d.push_back(best);
            few_i.push_back(best_i);
        }
        few_d.insert(few_d.end(), few_i.begin(), few_i.end());
        check("k61a", on_device(result(dist, idx, step)), few_d, 0.0);
    }

    dist = output<float>(queries);
    idx = output<int>(queries);
    k61b<<<dim3(32, 16), 512>>>(xyz1, xyz2, dist, idx, clouds, n, m);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    check("k61b", on_device(result(dist, idx, 1)), nearest, 0.0);

    dist = output<float>(queries);
    idx = output<int>(queries);
    k61c<<<dim3(clouds, (n + 256 * PER - 1) / (256 * PER)), 256>>>(xyz1, xyz2, dist, idx, n, m);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    check("k61c", on_device(result(dist, idx, 1)), nearest, 0.0);

    const int scenes = 16, centres = 2048, nsample = 32;
    const float radius = 0.25f;
    std::vector<float> c((size_t)scenes * centres * 3);
    for (int b = 0; b < scenes; b++)
        for (int j = 0; j < centres; j++)
            for (int a = 0; a < 3; a++)
                c[((size_t)b * centres + j) * 3 + a] = q[((size_t)b * m + j * (m / centres)) * 3 + a];
    std::vector<float> qx((size_t)scenes * m), qy((size_t)scenes * m), qz((size_t)scenes * m);
    for (size_t i = 0; i < qx.size(); i++) {
        qx[i] = q[i * 3];
        qy[i] = q[i * 3 + 1];
        qz[i] = q[i * 3 + 2];
    }
    float *new_xyz = on_device(c), *xs = on_device(qx), *ys = on_device(qy), *zs = on_device(qz);

    const size_t samples = (size_t)scenes * centres * nsample;
    std::vector<int> want(samples, 0);
    for (int b = 0; b < scenes; b++) {
        for (int j = 0; j < centres; j++) {
            size_t at = (size_t)b * centres + j;
            int found = 0;
            for (int k = 0; k < m && found < nsample; k++) {
                size_t i = (size_t)b * m + k;
                float dx = c[at * 3] - qx[i], dy = c[at * 3 + 1] - qy[i], dz = c[at * 3 + 2] - qz[i];
                if (dx * dx + dy * dy + dz * dz < radius * radius)
                    want[at * nsample + found++] = k;
            }
            for (int l = found; l < nsample; l++)
                want[at * nsample + l] = want[at * nsample];
        }
    }

    idx = output<int>(samples);
    k61d<<<scenes, 512>>>(m, centres, radius, nsample, new_xyz, xyz2, idx);
    check("k61d", idx, want, 0.0);

    idx = output<int>(samples);
    k61e<<<dim3((centres + 255) / 256, scenes), 256>>>(m, centres, radius, nsample, new_xyz, xyz2, idx);
    check("k61e", idx, want, 0.0);

    idx = output<int>(samples);
    k61f<<<dim3((centres + 7) / 8, scenes), 256>>>(m, centres, radius, nsample, new_xyz, xyz2, idx);
    check("k61f", idx, want, 0.0);

    idx = output<int>(samples);
    k61g<<<dim3((centres + 7) / 8, scenes), 256>>>(m, centres, radius, nsample, new_xyz, xs, ys, zs, idx);
    check("k61g", idx, want, 0.0);
    return 0;
}
