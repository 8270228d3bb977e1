// Aggregation of node features over a graph (a sparse matrix in CSR form times a dense one), the backward pass of RMSNorm,
// and a step of AdamW.
#include "../harness.h"

#include <functional>

const int FEATURES = 128;

__global__ void k90a(const int *__restrict__ start, const int *__restrict__ col, const float *__restrict__ val,
                     const float *__restrict__ x, float *__restrict__ y, int rows)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    int f = blockIdx.y * 32 + threadIdx.x;
    int end = start[row + 1];
    float acc = 0.0f;
    for (int e = start[row]; e < end; e++)
        acc += val[e] * x[col[e] * FEATURES + f];
    y[row * FEATURES + f] = acc;
}

__global__ void k90b(const int *__restrict__ start, const int *__restrict__ col, const float *__restrict__ val,
                     const float *__restrict__ x, float *__restrict__ y, int rows)
{
    __shared__ int at[4][32];
    __shared__ float by[4][32];
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    int f = blockIdx.y * 32 + threadIdx.x;
    int *my_at = at[threadIdx.y];
    float *my_by = by[threadIdx.y];
    int end = start[row + 1];
    float acc = 0.0f;
    for (int first = start[row]; first < end; first += 32) {
        int e = first + threadIdx.x;
        if (e < end) {
            my_at[threadIdx.x] = col[e] * FEATURES;
            my_by[threadIdx.x] = val[e];
        }
        __syncwarp();
        for (int i = 0; i < 32 && first + i < end; i++)
            acc += my_by[i] * x[my_at[i] + f];
        __syncwarp();
    }
    y[row * FEATURES + f] = acc;
}

__global__ void k90c(const int *__restrict__ start, const int *__restrict__ col, const float *__restrict__ val,
                     const float *__restrict__ x, float *__restrict__ y, int rows)
{
    __shared__ int at[8][32];
    __shared__ float by[8][32];
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    int f = blockIdx.y * 64 + threadIdx.x;
    int *my_at = at[threadIdx.y];
    float *my_by = by[threadIdx.y];
    int end = start[row + 1];
    float acc1 = 0.0f, acc2 = 0.0f;
    for (int first = start[row]; first < end; first += 32) {
        int e = first + threadIdx.x;
        if (e < end) {
            my_at[threadIdx.x] = col[e] * FEATURES;
            my_by[threadIdx.x] = val[e];
        }
        __syncwarp();
        for (int i = 0; i < 32 && first + i < end; i++) {
            int offset = my_at[i] + f;
            float v = my_by[i];
            acc1 += v * x[offset];
            acc2 += v * x[offset + 32];
        }
        __syncwarp();
    }
    y[row * FEATURES + f] = acc1;
    y[row * FEATURES + f + 32] = acc2;
}

__device__ inline float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// A warp for each row: dx, and the row's share of dw.
__global__ void k90d(float *dx, float *dw, const float *dout, const float *x, const float *w, const float *rstd, int rows,
                     int C)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *xr = x + (size_t)row * C;
    const float *dr = dout + (size_t)row * C;
    float *dxr = dx + (size_t)row * C;
    float r = rstd[row];
    float mean = 0.0f;
    for (int c = lane; c < C; c += 32)
        mean += w[c] * dr[c] * xr[c] * r;
    mean = warp_sum(mean) / C;
    for (int c = lane; c < C; c += 32) {
        float hat = xr[c] * r;
        float d = dr[c];
        atomicAdd(&dw[c], d * hat);
        dxr[c] = r * (w[c] * d - hat * mean);
    }
}

__global__ void k90e(float *dx, float *dw, const float *dout, const float *x, const float *w, const float *rstd, int rows,
                     int C)
{
    extern __shared__ float dw_shared[];
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int warps = blockDim.x / 32;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        dw_shared[c] = 0.0f;
    __syncthreads();

    for (int row = blockIdx.x * warps + warp; row < rows; row += gridDim.x * warps) {
        const float *xr = x + (size_t)row * C;
        const float *dr = dout + (size_t)row * C;
        float *dxr = dx + (size_t)row * C;
        float r = rstd[row];
        float mean = 0.0f;
        for (int c = lane; c < C; c += 32)
            mean += w[c] * dr[c] * xr[c] * r;
        mean = warp_sum(mean) / C;
        for (int c = lane; c < C; c += 32) {
            float hat = xr[c] * r;
            float d = dr[c];
            atomicAdd(&dw_shared[c], d * hat);
            dxr[c] = r * (w[c] * d - hat * mean);
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        atomicAdd(&dw[c], dw_shared[c]);
}

const int WIDE = 2048;

__device__ inline float dot(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

__device__ inline float4 times(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}

// C is WIDE: a thread has the columns 4t to 4t + 3 of each half of the row.
__global__ void __launch_bounds__(256) k90f(float *__restrict__ dx, float *__restrict__ dw, const float *__restrict__ dout,
                                            const float *__restrict__ x, const float *__restrict__ w,
                                            const float *__restrict__ rstd, int rows)
{
    __shared__ float partial[2][8];
    int t = threadIdx.x;
    int warp = t / 32, lane = t % 32;
    float4 w0 = ((const float4 *)w)[t], w1 = ((const float4 *)w)[t + 256];
    float4 acc0 = make_float4(0, 0, 0, 0), acc1 = acc0;
    int turn = 0;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float4 *xr = (const float4 *)(x + (size_t)row * WIDE);
        const float4 *dr = (const float4 *)(dout + (size_t)row * WIDE);
        float4 *dxr = (float4 *)(dx + (size_t)row * WIDE);
        float r = rstd[row];
        float4 x0 = xr[t], x1 = xr[t + 256], d0 = dr[t], d1 = dr[t + 256];
        float4 g0 = times(w0, d0), g1 = times(w1, d1);
        float mean = warp_sum(dot(g0, x0) + dot(g1, x1));
        if (lane == 0)
            partial[turn][warp] = mean;
        __syncthreads();
        mean = 0.0f;
#pragma unroll
        for (int i = 0; i < 8; i++)
            mean += partial[turn][i];
        turn ^= 1;
        mean *= r / WIDE;

        float4 h0 = make_float4(x0.x * r, x0.y * r, x0.z * r, x0.w * r);
        float4 h1 = make_float4(x1.x * r, x1.y * r, x1.z * r, x1.w * r);
        acc0.x += d0.x * h0.x;
        acc0.y += d0.y * h0.y;
        acc0.z += d0.z * h0.z;
        acc0.w += d0.w * h0.w;
        acc1.x += d1.x * h1.x;
        acc1.y += d1.y * h1.y;
        acc1.z += d1.z * h1.z;
        acc1.w += d1.w * h1.w;
        dxr[t] = make_float4(r * (g0.x - h0.x * mean), r * (g0.y - h0.y * mean), r * (g0.z - h0.z * mean),
                             r * (g0.w - h0.w * mean));
        dxr[t + 256] = make_float4(r * (g1.x - h1.x * mean), r * (g1.y - h1.y * mean), r * (g1.z - h1.z * mean),
                                   r * (g1.w - h1.w * mean));
    }
    float *at = dw + 4 * t;
    atomicAdd(at, acc0.x);
    atomicAdd(at + 1, acc0.y);
    atomicAdd(at + 2, acc0.z);
    atomicAdd(at + 3, acc0.w);
    at += 1024;
    atomicAdd(at, acc1.x);
    atomicAdd(at + 1, acc1.y);
    atomicAdd(at + 2, acc1.z);
    atomicAdd(at + 3, acc1.w);
}

__global__ void k90g(float *p, const float *g, float *m, float *v, int n, float rate, float beta1, float beta2,
                     float correction1, float correction2, float eps, float decay)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    float m_hat = m[i] / correction1;
    float v_hat = v[i] / correction2;
    p[i] -= rate * (m_hat / (sqrtf(v_hat) + eps) + decay * p[i]);
}

__device__ inline float between(float from, float to, float share)
{
    return fmaf(share, to, fmaf(-share, from, from));
}

__global__ void k90h(float *p, const float *g, float *m, float *v, int n, float rate, float beta1, float beta2,
                     float inverse1, float inverse2, float eps, float decay)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float grad = g[i];
    float first = between(grad, m[i], beta1);
    float second = between(grad * grad, v[i], beta2);
    m[i] = first;
    v[i] = second;
    float param = p[i];
    p[i] = param - rate * (__fdividef(first * inverse1, __fsqrt_rn(second * inverse2) + eps) + decay * param);
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
        const int rows = 65536, stride = 13;
        std::vector<int> bounds(rows + 1, 0);
        for (int r = 0; r < rows; r++)
            bounds[r + 1] = bounds[r] + 8 + int(scrambled(r, 901) % 33);
        const int edges = bounds[rows];
        int *start = on_device(bounds);
        int *col = input<int>(edges, 902, 0, rows);
        float *val = input<float>(edges, 903, -1.0, 1.0);
        const size_t n = (size_t)rows * FEATURES;
        float *x = input<float>(n, 904, -1.0, 1.0), *y = output<float>(n);
        const int chosen = (rows + stride - 1) / stride;
        float *picked = output<float>((size_t)chosen * FEATURES);
        std::vector<float> want((size_t)chosen * FEATURES);
        {
            std::vector<int> c = on_host(col, edges);
            std::vector<float> v = on_host(val, edges), h = on_host(x, n);
            for (int r = 0; r < chosen; r++) {
                double acc[FEATURES] = {};
                for (int e = bounds[r * stride]; e < bounds[r * stride + 1]; e++)
                    for (int f = 0; f < FEATURES; f++)
                        acc[f] += double(v[e]) * h[(size_t)c[e] * FEATURES + f];
                for (int f = 0; f < FEATURES; f++)
                    want[(size_t)r * FEATURES + f] = float(acc[f]);
            }
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            every<<<1056, 256>>>(y, picked, FEATURES, stride, want.size());
            check(name, picked, want, 1e-4);
        };
        launch_and_check("k90a", [&] {
            k90a<<<dim3(rows / 4, FEATURES / 32), dim3(32, 4)>>>(start, col, val, x, y, rows);
        });
        launch_and_check("k90b", [&] {
            k90b<<<dim3(rows / 4, FEATURES / 32), dim3(32, 4)>>>(start, col, val, x, y, rows);
        });
        launch_and_check("k90c", [&] {
            k90c<<<dim3(rows / 8, FEATURES / 64), dim3(32, 8)>>>(start, col, val, x, y, rows);
        });
        MUST(cudaFree(x));
        MUST(cudaFree(y));
    }
    {
        const int rows = 16384, C = WIDE, stride = 61;
        const size_t n = (size_t)rows * C;
        float *x = input<float>(n, 905, -1.0, 1.0), *dout = input<float>(n, 906, -1.0, 1.0);
        float *w = input<float>(C, 907, 0.5, 1.5), *rstd = input<float>(rows, 908, 1.0, 2.0);
        float *dx = output<float>(n), *dw = zeroed<float>(C);
        const int chosen = (rows + stride - 1) / stride;
        // dw, and then every 61st row of dx.
        std::vector<float> want(C + (size_t)chosen * C);
        float *picked = output<float>(want.size());
        {
            std::vector<float> xh = on_host(x, n), dh = on_host(dout, n), wh = on_host(w, C), rh = on_host(rstd, rows);
            std::vector<double> sum(C, 0.0);
            for (int r = 0; r < rows; r++) {
                const float *xr = &xh[(size_t)r * C], *dr = &dh[(size_t)r * C];
                for (int c = 0; c < C; c++)
                    sum[c] += double(dr[c]) * xr[c] * rh[r];
                if (r % stride)
                    continue;
                double mean = 0.0, k = rh[r];
                for (int c = 0; c < C; c++)
                    mean += double(wh[c]) * dr[c] * xr[c] * k;
                mean /= C;
                for (int c = 0; c < C; c++)
                    want[C + (size_t)(r / stride) * C + c] = float(k * (double(wh[c]) * dr[c] - xr[c] * k * mean));
            }
            for (int c = 0; c < C; c++)
                want[c] = float(sum[c]);
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(dx, 0xA5, n * sizeof(float)));
            MUST(cudaMemset(dw, 0, C * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaMemcpy(picked, dw, C * sizeof(float), cudaMemcpyDeviceToDevice));
            every<<<1056, 256>>>(dx, picked + C, C, stride, (size_t)chosen * C);
            check(name, picked, want, 1e-3);
        };
        launch_and_check("k90d", [&] { k90d<<<rows / 8, 256>>>(dx, dw, dout, x, w, rstd, rows, C); });
        launch_and_check("k90e",
                         [&] { k90e<<<132 * 2, 512, C * sizeof(float)>>>(dx, dw, dout, x, w, rstd, rows, C); });
        launch_and_check("k90f", [&] { k90f<<<132 * 4, 256>>>(dx, dw, dout, x, w, rstd, rows); });
        MUST(cudaFree(x));
        MUST(cudaFree(dout));
        MUST(cudaFree(dx));
    }
    {
        const int n = 48000000, stride = 101;
        const float rate = 1e-2f, beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, decay = 0.01f;
        const float correction1 = 1.0f - 0.9f * 0.9f * 0.9f, correction2 = 1.0f - 0.999f * 0.999f * 0.999f;
        const size_t bytes = n * sizeof(float);
        float *p0 = input<float>(n, 909, -1.0, 1.0), *g = input<float>(n, 910, -1.0, 1.0);
        float *m0 = input<float>(n, 911, -0.5, 0.5), *v0 = input<float>(n, 912, 0.01, 1.0);
        float *p = output<float>(n), *m = output<float>(n), *v = output<float>(n);
        const int chosen = (n + stride - 1) / stride;
        float *picked = output<float>((size_t)chosen * 3);
        auto pick = [&](const float *from, int which) {
            every<<<1056, 256>>>(from, picked + (size_t)which * chosen, 1, stride, chosen);
        };
        pick(p0, 0);
        pick(m0, 1);
        pick(v0, 2);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(picked, (size_t)chosen * 3);
        pick(g, 0);
        MUST(cudaDeviceSynchronize());
        std::vector<float> grad = on_host(picked, chosen);
        for (int i = 0; i < chosen; i++) {
            float &pi = want[i], &mi = want[chosen + i], &vi = want[2 * (size_t)chosen + i];
            double first = 0.9 * mi + 0.1 * grad[i], second = 0.999 * vi + 0.001 * grad[i] * grad[i];
            mi = float(first);
            vi = float(second);
            pi = float(pi - rate * (first / correction1 / (std::sqrt(second / correction2) + eps) + decay * pi));
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemcpy(p, p0, bytes, cudaMemcpyDeviceToDevice));
            MUST(cudaMemcpy(m, m0, bytes, cudaMemcpyDeviceToDevice));
            MUST(cudaMemcpy(v, v0, bytes, cudaMemcpyDeviceToDevice));
            launch();
            MUST(cudaGetLastError());
            pick(p, 0);
            pick(m, 1);
            pick(v, 2);
            check(name, picked, want, 1e-5);
        };
        const int blocks = (n + 511) / 512;
        launch_and_check("k90g", [&] {
            k90g<<<blocks, 512>>>(p, g, m, v, n, rate, beta1, beta2, correction1, correction2, eps, decay);
        });
        launch_and_check("k90h", [&] {
            k90h<<<blocks, 512>>>(p, g, m, v, n, rate, beta1, beta2, 1.0f / correction1, 1.0f / correction2, eps, decay);
        });
    }
    return 0;
}
