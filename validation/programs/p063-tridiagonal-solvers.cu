// Batches of tridiagonal systems: a_i x_(i-1) + b_i x_i + c_i x_(i+1) = d_i, in double precision with 128 unknowns and in
// single precision with 512.
#include "../harness.h"

// ---- one system per thread ----

__global__ void k63a(const double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c,
                     const double *__restrict__ d, double *cp, double *x, int n, int batch)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    size_t first = (size_t)s * n;
    double cc = c[first] / b[first];
    double dd = d[first] / b[first];
    cp[first] = cc;
    x[first] = dd;
    for (int i = 1; i < n; i++) {
        size_t at = first + i;
        double pivot = b[at] - a[at] * cc;
        cc = c[at] / pivot;
        dd = (d[at] - a[at] * dd) / pivot;
        cp[at] = cc;
        x[at] = dd;
    }
    for (int i = n - 2; i >= 0; i--) {
        size_t at = first + i;
        dd = x[at] - cp[at] * dd;
        x[at] = dd;
    }
}

__global__ void k63b(const double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c,
                     const double *__restrict__ d, double *cp, double *x, int n, int batch)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    double cc = c[s] / b[s];
    double dd = d[s] / b[s];
    cp[s] = cc;
    x[s] = dd;
    for (int i = 1; i < n; i++) {
        size_t at = (size_t)i * batch + s;
        double pivot = b[at] - a[at] * cc;
        cc = c[at] / pivot;
        dd = (d[at] - a[at] * dd) / pivot;
        cp[at] = cc;
        x[at] = dd;
    }
    for (int i = n - 2; i >= 0; i--) {
        size_t at = (size_t)i * batch + s;
        dd = x[at] - cp[at] * dd;
        x[at] = dd;
    }
}

const int ROWS = 8;

// n is a multiple of ROWS; a of the first row and c of the last one are 0.
__global__ void k63c(const double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c,
                     const double *__restrict__ d, double *cp, double *x, int n, int batch)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    double cc = 0.0, dd = 0.0;
    for (int i = 0; i < n; i += ROWS) {
        size_t at = (size_t)i * batch + s;
        double ra[ROWS], rb[ROWS], rc[ROWS], rd[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            ra[r] = a[at + (size_t)r * batch];
            rb[r] = b[at + (size_t)r * batch];
            rc[r] = c[at + (size_t)r * batch];
            rd[r] = d[at + (size_t)r * batch];
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            double pivot = rb[r] - ra[r] * cc;
            cc = rc[r] / pivot;
            dd = (rd[r] - ra[r] * dd) / pivot;
            cp[at + (size_t)r * batch] = cc;
            x[at + (size_t)r * batch] = dd;
        }
    }
    dd = 0.0;
    for (int i = n - ROWS; i >= 0; i -= ROWS) {
        size_t at = (size_t)i * batch + s;
        double rc[ROWS], rd[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            rc[r] = cp[at + (size_t)r * batch];
            rd[r] = x[at + (size_t)r * batch];
        }
#pragma unroll
        for (int r = ROWS - 1; r >= 0; r--) {
            dd = rd[r] - rc[r] * dd;
            x[at + (size_t)r * batch] = dd;
        }
    }
}

// ---- one system per block ----

const int SIZE = 512, HALF = SIZE / 2;

__global__ void k63d(const float *__restrict__ a_g, const float *__restrict__ b_g, const float *__restrict__ c_g,
                     const float *__restrict__ d_g, float *__restrict__ x_g)
{
    __shared__ float a[SIZE], b[SIZE], c[SIZE], d[SIZE], x[SIZE];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * SIZE;
    a[t] = a_g[base + t];
    a[t + HALF] = a_g[base + t + HALF];
    b[t] = b_g[base + t];
    b[t + HALF] = b_g[base + t + HALF];
    c[t] = c_g[base + t];
    c[t + HALF] = c_g[base + t + HALF];
    d[t] = d_g[base + t];
    d[t + HALF] = d_g[base + t + HALF];
    __syncthreads();

    int stride = 1, threads = HALF;
    while (threads > 1) {
        stride *= 2;
        int delta = stride / 2;
        if (t < threads) {
            int i = stride * t + stride - 1;
            int l = i - delta, r = i + delta;
            float t1 = a[i] / b[l];
            if (i == SIZE - 1) {
                b[i] = b[i] - c[l] * t1;
                d[i] = d[i] - d[l] * t1;
                a[i] = -a[l] * t1;
                c[i] = 0.0f;
            } else {
                float t2 = c[i] / b[r];
                b[i] = b[i] - c[l] * t1 - a[r] * t2;
                d[i] = d[i] - d[l] * t1 - d[r] * t2;
                a[i] = -a[l] * t1;
                c[i] = -c[r] * t2;
            }
        }
        threads /= 2;
        __syncthreads();
    }
    if (t == 0) {
        int i = stride - 1, j = 2 * stride - 1;
        float det = b[j] * b[i] - c[i] * a[j];
        x[i] = (b[j] * d[i] - c[i] * d[j]) / det;
        x[j] = (d[j] * b[i] - d[i] * a[j]) / det;
    }
    threads = 2;
    while (threads <= HALF) {
        int delta = stride / 2;
        __syncthreads();
        if (t < threads) {
            int i = stride * t + delta - 1;
            if (i == delta - 1)
                x[i] = (d[i] - c[i] * x[i + delta]) / b[i];
            else
                x[i] = (d[i] - a[i] * x[i - delta] - c[i] * x[i + delta]) / b[i];
        }
        stride /= 2;
        threads *= 2;
    }
    __syncthreads();
    x_g[base + t] = x[t];
    x_g[base + t + HALF] = x[t + HALF];
}

__device__ __forceinline__ int at(int i)
{
    return i + (i >> 5);
}

const int ROOM = SIZE + SIZE / 32;

__global__ void k63e(const float *__restrict__ a_g, const float *__restrict__ b_g, const float *__restrict__ c_g,
                     const float *__restrict__ d_g, float *__restrict__ x_g)
{
    __shared__ float a[ROOM], b[ROOM], c[ROOM], d[ROOM], x[ROOM];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * SIZE;
    a[at(t)] = a_g[base + t];
    a[at(t + HALF)] = a_g[base + t + HALF];
    b[at(t)] = b_g[base + t];
    b[at(t + HALF)] = b_g[base + t + HALF];
    c[at(t)] = c_g[base + t];
    c[at(t + HALF)] = c_g[base + t + HALF];
    d[at(t)] = d_g[base + t];
    d[at(t + HALF)] = d_g[base + t + HALF];
    __syncthreads();

    int stride = 1, threads = HALF;
    while (threads > 1) {
        stride *= 2;
        int delta = stride / 2;
        if (t < threads) {
            int row = stride * t + stride - 1;
            int i = at(row), l = at(row - delta);
            float t1 = a[i] / b[l];
            if (row == SIZE - 1) {
                b[i] = b[i] - c[l] * t1;
                d[i] = d[i] - d[l] * t1;
                a[i] = -a[l] * t1;
                c[i] = 0.0f;
            } else {
                int r = at(row + delta);
                float t2 = c[i] / b[r];
                b[i] = b[i] - c[l] * t1 - a[r] * t2;
                d[i] = d[i] - d[l] * t1 - d[r] * t2;
                a[i] = -a[l] * t1;
                c[i] = -c[r] * t2;
            }
        }
        threads /= 2;
        __syncthreads();
    }
    if (t == 0) {
        int i = at(stride - 1), j = at(2 * stride - 1);
        float det = b[j] * b[i] - c[i] * a[j];
        x[i] = (b[j] * d[i] - c[i] * d[j]) / det;
        x[j] = (d[j] * b[i] - d[i] * a[j]) / det;
    }
    threads = 2;
    while (threads <= HALF) {
        int delta = stride / 2;
        __syncthreads();
        if (t < threads) {
            int row = stride * t + delta - 1;
            int i = at(row), r = at(row + delta);
            if (row == delta - 1)
                x[i] = (d[i] - c[i] * x[r]) / b[i];
            else
                x[i] = (d[i] - a[i] * x[at(row - delta)] - c[i] * x[r]) / b[i];
        }
        stride /= 2;
        threads *= 2;
    }
    __syncthreads();
    x_g[base + t] = x[at(t)];
    x_g[base + t + HALF] = x[at(t + HALF)];
}

const int INNER = 128;

__global__ void k63f(const float *__restrict__ a_g, const float *__restrict__ b_g, const float *__restrict__ c_g,
                     const float *__restrict__ d_g, float *__restrict__ x_g)
{
    __shared__ float a[ROOM], b[ROOM], c[ROOM], d[ROOM], x[ROOM];
    __shared__ float aa[INNER], bb[INNER], cc[INNER], dd[INNER];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * SIZE;
    a[at(t)] = a_g[base + t];
    a[at(t + HALF)] = a_g[base + t + HALF];
    b[at(t)] = b_g[base + t];
    b[at(t + HALF)] = b_g[base + t + HALF];
    c[at(t)] = c_g[base + t];
    c[at(t + HALF)] = c_g[base + t + HALF];
    d[at(t)] = d_g[base + t];
    d[at(t + HALF)] = d_g[base + t + HALF];
    __syncthreads();

    int stride = 1, threads = HALF;
    while (threads >= INNER) {
        stride *= 2;
        int delta = stride / 2;
        if (t < threads) {
            int row = stride * t + stride - 1;
            int i = at(row), l = at(row - delta);
            float t1 = a[i] / b[l];
            if (row == SIZE - 1) {
                b[i] = b[i] - c[l] * t1;
                d[i] = d[i] - d[l] * t1;
                a[i] = -a[l] * t1;
                c[i] = 0.0f;
            } else {
                int r = at(row + delta);
                float t2 = c[i] / b[r];
                b[i] = b[i] - c[l] * t1 - a[r] * t2;
                d[i] = d[i] - d[l] * t1 - d[r] * t2;
                a[i] = -a[l] * t1;
                c[i] = -c[r] * t2;
            }
        }
        threads /= 2;
        __syncthreads();
    }

    int own = at(stride * t + stride - 1);
    if (t < INNER) {
        aa[t] = a[own];
        bb[t] = b[own];
        cc[t] = c[own];
        dd[t] = d[own];
    }
    __syncthreads();
    for (int delta = 1; delta < INNER; delta *= 2) {
        float na = 0.0f, nb = 1.0f, nc = 0.0f, nd = 0.0f;
        if (t < INNER) {
            nb = bb[t];
            nd = dd[t];
            if (t - delta >= 0) {
                float t1 = aa[t] / bb[t - delta];
                nb -= cc[t - delta] * t1;
                nd -= dd[t - delta] * t1;
                na = -aa[t - delta] * t1;
            }
            if (t + delta < INNER) {
                float t2 = cc[t] / bb[t + delta];
                nb -= aa[t + delta] * t2;
                nd -= dd[t + delta] * t2;
                nc = -cc[t + delta] * t2;
            }
        }
        __syncthreads();
        if (t < INNER) {
            aa[t] = na;
            bb[t] = nb;
            cc[t] = nc;
            dd[t] = nd;
        }
        __syncthreads();
    }
    if (t < INNER)
        x[own] = dd[t] / bb[t];

    threads = INNER;
    while (threads <= HALF) {
        int delta = stride / 2;
        __syncthreads();
        if (t < threads) {
            int row = stride * t + delta - 1;
            int i = at(row), r = at(row + delta);
            if (row == delta - 1)
                x[i] = (d[i] - c[i] * x[r]) / b[i];
            else
                x[i] = (d[i] - a[i] * x[at(row - delta)] - c[i] * x[r]) / b[i];
        }
        stride /= 2;
        threads *= 2;
    }
    __syncthreads();
    x_g[base + t] = x[at(t)];
    x_g[base + t + HALF] = x[at(t + HALF)];
}

const int OWN = SIZE / 32;

__device__ __forceinline__ void fetch(float *row, const float *from)
{
#pragma unroll
    for (int v = 0; v < OWN / 4; v++) {
        float4 f = reinterpret_cast<const float4 *>(from)[v];
        row[4 * v] = f.x;
        row[4 * v + 1] = f.y;
        row[4 * v + 2] = f.z;
        row[4 * v + 3] = f.w;
    }
}

// A warp takes a system, a lane OWN consecutive rows.
__global__ void k63g(const float *__restrict__ a_g, const float *__restrict__ b_g, const float *__restrict__ c_g,
                     const float *__restrict__ d_g, float *__restrict__ x_g, int batch)
{
    const unsigned all = 0xffffffffu;
    int lane = threadIdx.x % 32;
    int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (s >= batch)
        return;
    size_t base = (size_t)s * SIZE + lane * OWN;
    float a[OWN], b[OWN], c[OWN], d[OWN];
    fetch(a, a_g + base);
    fetch(b, b_g + base);
    fetch(c, c_g + base);
    fetch(d, d_g + base);

#pragma unroll
    for (int i = 0; i < 2; i++) {
        float inv = 1.0f / b[i];
        a[i] *= inv;
        c[i] *= inv;
        d[i] *= inv;
    }
#pragma unroll
    for (int i = 2; i < OWN; i++) {
        float inv = 1.0f / (b[i] - a[i] * c[i - 1]);
        d[i] = inv * (d[i] - a[i] * d[i - 1]);
        a[i] = -inv * a[i] * a[i - 1];
        c[i] = inv * c[i];
    }
#pragma unroll
    for (int i = OWN - 3; i > 0; i--) {
        d[i] -= c[i] * d[i + 1];
        a[i] -= c[i] * a[i + 1];
        c[i] = -c[i] * c[i + 1];
    }
    float inv = 1.0f / (1.0f - c[0] * a[1]);
    d[0] = inv * (d[0] - c[0] * d[1]);
    a[0] = inv * a[0];
    c[0] = -inv * c[0] * c[1];

    float aq = a[OWN - 1], cq = c[OWN - 1], dq = d[OWN - 1];
    float am = __shfl_up_sync(all, aq, 1), cm = __shfl_up_sync(all, cq, 1), dm = __shfl_up_sync(all, dq, 1);
    inv = 1.0f / (1.0f - a[0] * cm - c[0] * aq);
    float ra = -inv * a[0] * am;
    float rc = -inv * c[0] * cq;
    float rd = inv * (d[0] - a[0] * dm - c[0] * dq);
#pragma unroll
    for (int k = 1; k < 32; k *= 2) {
        float al = __shfl_up_sync(all, ra, k), cl = __shfl_up_sync(all, rc, k), dl = __shfl_up_sync(all, rd, k);
        float ar = __shfl_down_sync(all, ra, k), cr = __shfl_down_sync(all, rc, k), dr = __shfl_down_sync(all, rd, k);
        inv = 1.0f / (1.0f - ra * cl - rc * ar);
        rd = inv * (rd - ra * dl - rc * dr);
        ra = -inv * ra * al;
        rc = -inv * rc * cr;
    }
    float next = __shfl_down_sync(all, rd, 1);
    float last = dq - aq * rd - cq * next;
    d[0] = rd;
#pragma unroll
    for (int i = 1; i < OWN - 1; i++)
        d[i] = d[i] - a[i] * rd - c[i] * last;
    d[OWN - 1] = last;
#pragma unroll
    for (int v = 0; v < OWN / 4; v++)
        reinterpret_cast<float4 *>(x_g + base)[v] = make_float4(d[4 * v], d[4 * v + 1], d[4 * v + 2], d[4 * v + 3]);
}

// ---- helpers ----

template <class T> __global__ void set_ends(T *a, T *c, int n, int batch)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < batch) {
        a[(size_t)s * n] = 0;
        c[(size_t)s * n + n - 1] = 0;
    }
}

__global__ void interleave(const double *from, double *to, int n, int batch)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)n * batch;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i % batch * n + i / batch];
}

// Row i of every step-th system.
template <class T> __global__ void pick(const T *x, T *few, int n, int batch, int step, bool interleaved)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = (batch + step - 1) / step;
    if (i < count * n) {
        size_t s = (size_t)(i / n) * step, row = i % n;
        few[i] = interleaved ? x[row * batch + s] : x[s * n + row];
    }
}

template <class T> struct Systems {
    T *a, *b, *c, *d;
    int n, batch, step;
    std::vector<T> want;
    T *few;

    Systems(int n, int batch, int step, unsigned seed) : n(n), batch(batch), step(step)
    {
        size_t all = (size_t)n * batch;
        a = input<T>(all, seed, -1.0, 1.0);
        b = input<T>(all, seed + 1, 3.0, 5.0);
        c = input<T>(all, seed + 2, -1.0, 1.0);
        d = input<T>(all, seed + 3, -10.0, 10.0);
        set_ends<<<(batch + 255) / 256, 256>>>(a, c, n, batch);
        MUST(cudaDeviceSynchronize());

        int count = (batch + step - 1) / step;
        few = output<T>((size_t)count * n);
        for (int q = 0; q < count; q++) {
            size_t first = (size_t)q * step * n;
            std::vector<T> va = on_host(a + first, n), vb = on_host(b + first, n), vc = on_host(c + first, n),
                           vd = on_host(d + first, n);
            std::vector<double> cp(n), x(n);
            double cc = 0.0, dd = 0.0;
            for (int i = 0; i < n; i++) {
                double pivot = vb[i] - va[i] * cc;
                cc = cp[i] = vc[i] / pivot;
                dd = x[i] = (vd[i] - va[i] * dd) / pivot;
            }
            for (int i = n - 2; i >= 0; i--)
                x[i] -= cp[i] * x[i + 1];
            for (int i = 0; i < n; i++)
                want.push_back(T(x[i]));
        }
    }

    void expect(const char *name, const T *x, bool interleaved, double tolerance)
    {
        MUST(cudaGetLastError());
        MUST(cudaMemset(few, 0xA5, want.size() * sizeof(T)));
        pick<<<(int(want.size()) + 255) / 256, 256>>>(x, few, n, batch, step, interleaved);
        check(name, few, want, tolerance);
    }
};

int main()
{
    {
        const int n = 128, batch = 65536;
        const size_t all = (size_t)n * batch;
        Systems<double> s(n, batch, 127, 631);
        double *cp = output<double>(all), *x = output<double>(all);
        k63a<<<(batch + 127) / 128, 128>>>(s.a, s.b, s.c, s.d, cp, x, n, batch);
        s.expect("k63a", x, false, 1e-12);

        double *a = output<double>(all), *b = output<double>(all), *c = output<double>(all), *d = output<double>(all);
        interleave<<<1056, 256>>>(s.a, a, n, batch);
        interleave<<<1056, 256>>>(s.b, b, n, batch);
        interleave<<<1056, 256>>>(s.c, c, n, batch);
        interleave<<<1056, 256>>>(s.d, d, n, batch);
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemset(x, 0xA5, all * sizeof(double)));
        k63b<<<(batch + 127) / 128, 128>>>(a, b, c, d, cp, x, n, batch);
        s.expect("k63b", x, true, 1e-12);

        MUST(cudaMemset(x, 0xA5, all * sizeof(double)));
        k63c<<<(batch + 127) / 128, 128>>>(a, b, c, d, cp, x, n, batch);
        s.expect("k63c", x, true, 1e-12);
    }
    {
        const int batch = 16384;
        Systems<float> s(SIZE, batch, 61, 635);
        float *x = output<float>((size_t)SIZE * batch);
        k63d<<<batch, HALF>>>(s.a, s.b, s.c, s.d, x);
        s.expect("k63d", x, false, 1e-4);

        MUST(cudaMemset(x, 0xA5, (size_t)SIZE * batch * sizeof(float)));
        k63e<<<batch, HALF>>>(s.a, s.b, s.c, s.d, x);
        s.expect("k63e", x, false, 1e-4);

        MUST(cudaMemset(x, 0xA5, (size_t)SIZE * batch * sizeof(float)));
        k63f<<<batch, HALF>>>(s.a, s.b, s.c, s.d, x);
        s.expect("k63f", x, false, 1e-4);

        MUST(cudaMemset(x, 0xA5, (size_t)SIZE * batch * sizeof(float)));
        k63g<<<(batch + 3) / 4, 128>>>(s.a, s.b, s.c, s.d, x, batch);
        s.expect("k63g", x, false, 1e-4);
    }
    return 0;
}
