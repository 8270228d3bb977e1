// Depthwise 5 x 5 convolution of images (N, C, H, W), and the eight nearest neighbours among the points of a cloud.
#include "../harness.h"

#include <algorithm>
#include <functional>

struct Shape {
    int C, H, W;
    int KH, KW, stride, pad, dilation;
};

__global__ void __launch_bounds__(512) k89a(const float *in, const float *weight, float *out, int total, Shape s, int OH,
                                            int OW)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int w = i % OW;
        int h = i / OW % OH;
        int c = i / OW / OH % s.C;
        int n = i / OW / OH / s.C;
        const float *plane = in + (n * s.C + c) * s.H * s.W;
        const float *filter = weight + c * s.KH * s.KW;
        float sum = 0.0f;
        for (int kh = 0; kh < s.KH; kh++) {
            for (int kw = 0; kw < s.KW; kw++) {
                int y = h * s.stride - s.pad + kh * s.dilation;
                int x = w * s.stride - s.pad + kw * s.dilation;
                if (y >= 0 && y < s.H && x >= 0 && x < s.W)
                    sum += filter[kh * s.KW + kw] * plane[y * s.W + x];
            }
        }
        out[i] = sum;
    }
}

__global__ void __launch_bounds__(512) k89b(const float *in, const float *weight, float *out, int total, Shape s, int OH,
                                            int OW)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int w = i % OW;
        int h = i / OW % OH;
        int c = i / OW / OH % s.C;
        int n = i / OW / OH / s.C;
        const float *plane = in + (n * s.C + c) * s.H * s.W;
        const float *filter = weight + c * s.KH * s.KW;
        int y0 = h * s.stride - s.pad;
        int x0 = w * s.stride - s.pad;
        int kh_from = y0 >= 0 ? 0 : (-y0 + s.dilation - 1) / s.dilation;
        int kw_from = x0 >= 0 ? 0 : (-x0 + s.dilation - 1) / s.dilation;
        int kh_to = min(s.KH, (s.H - y0 + s.dilation - 1) / s.dilation);
        int kw_to = min(s.KW, (s.W - x0 + s.dilation - 1) / s.dilation);
        float sum = 0.0f;
        for (int kh = kh_from; kh < kh_to; kh++) {
            const float *line = plane + (y0 + kh * s.dilation) * s.W + x0;
            const float *f = filter + kh * s.KW;
            for (int kw = kw_from; kw < kw_to; kw++)
                sum += f[kw] * line[kw * s.dilation];
        }
        out[i] = sum;
    }
}

template <int K>
__device__ void fixed_filter(const float *in, const float *weight, float *out, int total, Shape s, int OH, int OW)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int w = i % OW;
        int h = i / OW % OH;
        int c = i / OW / OH % s.C;
        int n = i / OW / OH / s.C;
        const float *plane = in + (n * s.C + c) * s.H * s.W;
        const float *filter = weight + c * K * K;
        int y0 = h * s.stride - s.pad;
        int x0 = w * s.stride - s.pad;
        float sum = 0.0f;
#pragma unroll
        for (int kh = 0; kh < K; kh++) {
#pragma unroll
            for (int kw = 0; kw < K; kw++) {
                int y = y0 + kh * s.dilation;
                int x = x0 + kw * s.dilation;
                if (y >= 0 && y < s.H && x >= 0 && x < s.W)
                    sum += filter[kh * K + kw] * plane[y * s.W + x];
            }
        }
        out[i] = sum;
    }
}

__global__ void __launch_bounds__(512) k89c(const float *in, const float *weight, float *out, int total, Shape s, int OH,
                                            int OW)
{
    fixed_filter<5>(in, weight, out, total, s, OH, OW);
}

const int DOWN = 8;

// Stride and dilation 1, padding 2; H is a multiple of DOWN, and W of blockDim.x.
__global__ void __launch_bounds__(128) k89d(const float *__restrict__ in, const float *__restrict__ weight,
                                            float *__restrict__ out, int C, int H, int W)
{
    const int K = 5, P = 2;
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y * DOWN;
    size_t plane = (size_t)blockIdx.z * H * W;
    const float *filter = weight + blockIdx.z % C * K * K;
    float f[K][K];
    int at[K];
#pragma unroll
    for (int kw = 0; kw < K; kw++) {
        int x = w - P + kw;
        bool inside = x >= 0 && x < W;
        at[kw] = inside ? x : w;
#pragma unroll
        for (int kh = 0; kh < K; kh++)
            f[kh][kw] = inside ? filter[kh * K + kw] : 0.0f;
    }

    float sum[DOWN] = {};
#pragma unroll
    for (int r = -P; r < DOWN + P; r++) {
        int y = h + r;
        if (y < 0 || y >= H)
            continue;
        const float *line = in + plane + y * W;
        float v[K];
#pragma unroll
        for (int kw = 0; kw < K; kw++)
            v[kw] = line[at[kw]];
#pragma unroll
        for (int o = 0; o < DOWN; o++) {
            const int kh = r - o + P;
            if (kh >= 0 && kh < K) {
#pragma unroll
                for (int kw = 0; kw < K; kw++)
                    sum[o] += f[kh][kw] * v[kw];
            }
        }
    }
#pragma unroll
    for (int o = 0; o < DOWN; o++)
        out[plane + (h + o) * W + w] = sum[o];
}

const int NEAR = 8;

// Clouds of P queries and R points, three coordinates each; dist and index hold K numbers for each query, nearest first.
__global__ void k89e(const float *__restrict__ queries, const float *__restrict__ points, float *dist, int *index, int P,
                     int R, int K, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    const float *cloud = points + (size_t)(i / P) * R * 3;
    float qx = queries[i * 3], qy = queries[i * 3 + 1], qz = queries[i * 3 + 2];
    float *best = dist + (size_t)i * K;
    int *who = index + (size_t)i * K;
    int count = 0, farthest = 0;
    float bound = -1.0f;
    for (int r = 0; r < R; r++) {
        float dx = qx - cloud[r * 3], dy = qy - cloud[r * 3 + 1], dz = qz - cloud[r * 3 + 2];
        float d = dx * dx + dy * dy + dz * dz;
        if (count < K) {
            best[count] = d;
            who[count] = r;
            if (d > bound) {
                bound = d;
                farthest = count;
            }
            count++;
        } else if (d < bound) {
            best[farthest] = d;
            who[farthest] = r;
            bound = d;
            for (int k = 0; k < K; k++) {
                float other = best[k];
                if (other > bound) {
                    bound = other;
                    farthest = k;
                }
            }
        }
    }
    for (int a = 0; a < K - 1; a++) {
        for (int b = 0; b < K - 1 - a; b++) {
            if (best[b + 1] < best[b]) {
                float d = best[b];
                int r = who[b];
                best[b] = best[b + 1];
                who[b] = who[b + 1];
                best[b + 1] = d;
                who[b + 1] = r;
            }
        }
    }
}

template <int K> struct Best {
    float d[K];
    int who[K];
    float bound;
    int farthest;

    __device__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            d[k] = 3.0e38f;
            who[k] = -1;
        }
        bound = 3.0e38f;
        farthest = 0;
    }

    __device__ void add(float value, int r)
    {
        if (value >= bound)
            return;
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (k == farthest) {
                d[k] = value;
                who[k] = r;
            }
        }
        bound = d[0];
        farthest = 0;
#pragma unroll
        for (int k = 1; k < K; k++) {
            if (d[k] > bound) {
                bound = d[k];
                farthest = k;
            }
        }
    }

    __device__ void store(float *dist, int *index)
    {
#pragma unroll
        for (int a = 0; a < K - 1; a++) {
#pragma unroll
            for (int b = 0; b < K - 1 - a; b++) {
                if (d[b + 1] < d[b]) {
                    float t = d[b];
                    int r = who[b];
                    d[b] = d[b + 1];
                    who[b] = who[b + 1];
                    d[b + 1] = t;
                    who[b + 1] = r;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            dist[k] = d[k];
            index[k] = who[k];
        }
    }
};

__global__ void k89f(const float *__restrict__ queries, const float *__restrict__ points, float *dist, int *index, int P,
                     int R, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    const float *cloud = points + (size_t)(i / P) * R * 3;
    float qx = queries[i * 3], qy = queries[i * 3 + 1], qz = queries[i * 3 + 2];
    Best<NEAR> best;
    best.clear();
    for (int r = 0; r < R; r++) {
        float dx = qx - cloud[r * 3], dy = qy - cloud[r * 3 + 1], dz = qz - cloud[r * 3 + 2];
        best.add(dx * dx + dy * dy + dz * dz, r);
    }
    best.store(dist + (size_t)i * NEAR, index + (size_t)i * NEAR);
}

const int TILE = 256;

// P is a multiple of blockDim.x, R of TILE.
__global__ void k89g(const float *__restrict__ queries, const float *__restrict__ points, float *dist, int *index, int P,
                     int R)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *cloud = points + (size_t)(i / P) * R * 3;
    float qx = queries[i * 3], qy = queries[i * 3 + 1], qz = queries[i * 3 + 2];
    Best<NEAR> best;
    best.clear();
    for (int first = 0; first < R; first += TILE) {
        __syncthreads();
        for (int t = threadIdx.x; t < TILE; t += blockDim.x) {
            const float *p = cloud + (first + t) * 3;
            tile[t] = make_float4(p[0], p[1], p[2], 0.0f);
        }
        __syncthreads();
        for (int t = 0; t < TILE; t++) {
            float4 p = tile[t];
            float dx = qx - p.x, dy = qy - p.y, dz = qz - p.z;
            best.add(dx * dx + dy * dy + dz * dz, first + t);
        }
    }
    best.store(dist + (size_t)i * NEAR, index + (size_t)i * NEAR);
}

// Every step-th line of a matrix.
__global__ void every(const float *from, float *to, size_t width, int step, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i / width * step * width + i % width];
}

int main()
{
    {
        const int N = 4;
        const Shape s = {64, 512, 512, 5, 5, 1, 2, 1};
        const int planes = N * s.C, plane = s.H * s.W, total = planes * plane;
        float *in = input<float>(total, 891, -1.0, 1.0);
        float *weight = input<float>((size_t)s.C * 25, 892, -1.0, 1.0);
        float *out = output<float>(total);

        // Every 19th plane.
        std::vector<float> f = on_host(weight, (size_t)s.C * 25), want;
        const int chosen = (planes + 18) / 19;
        float *picked = output<float>((size_t)chosen * plane);
        for (int c = 0; c < chosen; c++) {
            std::vector<float> v = on_host(in + (size_t)c * 19 * plane, plane);
            const float *k = &f[(size_t)(c * 19 % s.C) * 25];
            for (int h = 0; h < s.H; h++)
                for (int w = 0; w < s.W; w++) {
                    float sum = 0.0f;
                    for (int kh = std::max(0, 2 - h); kh < std::min(5, s.H + 2 - h); kh++)
                        for (int kw = std::max(0, 2 - w); kw < std::min(5, s.W + 2 - w); kw++)
                            sum += k[kh * 5 + kw] * v[(h - 2 + kh) * s.W + w - 2 + kw];
                    want.push_back(sum);
                }
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            every<<<1056, 256>>>(out, picked, plane, 19, want.size());
            check(name, picked, want, 1e-4);
        };
        const int blocks = 132 * 16;
        launch_and_check("k89a", [&] { k89a<<<blocks, 512>>>(in, weight, out, total, s, s.H, s.W); });
        launch_and_check("k89b", [&] { k89b<<<blocks, 512>>>(in, weight, out, total, s, s.H, s.W); });
        launch_and_check("k89c", [&] { k89c<<<blocks, 512>>>(in, weight, out, total, s, s.H, s.W); });
        launch_and_check("k89d", [&] {
            k89d<<<dim3(s.W / 128, s.H / DOWN, planes), 128>>>(in, weight, out, s.C, s.H, s.W);
        });
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const int clouds = 32, P = 8192, R = 2048, total = clouds * P;
        float *queries = input<float>((size_t)total * 3, 893, 0.0, 1.0);
        float *points = input<float>((size_t)clouds * R * 3, 894, 0.0, 1.0);
        const size_t n = (size_t)total * NEAR;
        float *dist = output<float>(n);
        int *index = output<int>(n);

        k89e<<<(total + 127) / 128, 128>>>(queries, points, dist, index, P, R, NEAR, total);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> all = on_host(dist, n);
        std::vector<int> ids = on_host(index, n);
        std::vector<float> q = on_host(queries, (size_t)total * 3), p = on_host(points, (size_t)clouds * R * 3);
        // Every 97th query: the distances, and the distances to the points named.
        std::vector<float> want, got;
        for (int i = 0; i < total; i += 97) {
            const float *cloud = &p[(size_t)(i / P) * R * 3];
            auto squared = [&](int r) {
                float dx = q[i * 3] - cloud[r * 3], dy = q[i * 3 + 1] - cloud[r * 3 + 1], dz = q[i * 3 + 2] - cloud[r * 3 + 2];
                return dx * dx + dy * dy + dz * dz;
            };
            std::vector<float> d(R);
            for (int r = 0; r < R; r++)
                d[r] = squared(r);
            std::partial_sort(d.begin(), d.begin() + NEAR, d.end());
            for (int k = 0; k < NEAR; k++) {
                int r = ids[(size_t)i * NEAR + k];
                want.push_back(d[k]);
                got.push_back(all[(size_t)i * NEAR + k]);
                want.push_back(d[k]);
                got.push_back(r >= 0 && r < R ? squared(r) : -1.0f);
            }
        }
        float *sample = on_device(got);
        check("k89e", sample, want, 1e-6);

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(dist, 0xA5, n * sizeof(float)));
            MUST(cudaMemset(index, 0xA5, n * sizeof(int)));
            launch();
            check(name, dist, all, 1e-6);
        };
        launch_and_check("k89f",
                         [&] { k89f<<<(total + 127) / 128, 128>>>(queries, points, dist, index, P, R, total); });
        launch_and_check("k89g", [&] { k89g<<<total / 128, 128>>>(queries, points, dist, index, P, R); });
    }
    return 0;
}
