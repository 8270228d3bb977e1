// Molecules and gases: radial distribution, fluxes of the Euler equations, and Gaussian functions on a grid.
#include "../harness.h"

// Histogram of the distances below half the box (of length 1) between all atoms, periodic images considered.
// A thread compares one atom with a chunk of the others.
constexpr int BINS = 256, CHUNK = 128;

__global__ void k242a(const float4 *atoms, unsigned *histogram, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 a = atoms[i];
    int last = min(n, int(blockIdx.y + 1) * CHUNK);
    for (int j = blockIdx.y * CHUNK; j < last; j++) {
        if (j == i)
            continue;
        float4 b = atoms[j];
        float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
        dx -= rintf(dx);
        dy -= rintf(dy);
        dz -= rintf(dz);
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < 0.25f)
            atomicAdd(&histogram[min(BINS - 1, int(sqrtf(r2) * (2 * BINS)))], 1u);
    }
}

__global__ void k242b(const float4 *atoms, unsigned *histogram, int n)
{
    __shared__ unsigned local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = atoms[i];
        int last = min(n, int(blockIdx.y + 1) * CHUNK);
        for (int j = blockIdx.y * CHUNK; j < last; j++) {
            if (j == i)
                continue;
            float4 b = atoms[j];
            float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
            dx -= rintf(dx);
            dy -= rintf(dy);
            dz -= rintf(dz);
            float r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < 0.25f)
                atomicAdd(&local[min(BINS - 1, int(sqrtf(r2) * (2 * BINS)))], 1u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (local[b])
            atomicAdd(&histogram[b], local[b]);
}

// Pairs with j > i, counted twice
__global__ void k242c(const float4 *atoms, unsigned *histogram, int n)
{
    __shared__ unsigned local[BINS];
    int last = min(n, int(blockIdx.y + 1) * CHUNK);
    if (last <= int(blockIdx.x * blockDim.x) + 1)
        return;
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = atoms[i];
        for (int j = max(i + 1, int(blockIdx.y) * CHUNK); j < last; j++) {
            float4 b = atoms[j];
            float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
            dx -= rintf(dx);
            dy -= rintf(dy);
            dz -= rintf(dz);
            float r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < 0.25f)
                atomicAdd(&local[min(BINS - 1, int(sqrtf(r2) * (2 * BINS)))], 2u);
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (local[b])
            atomicAdd(&histogram[b], local[b]);
}

// HLL flux of the Euler equations between a cell and the next one along x
struct State {
    float rho, u, v, w, p;
};
struct Flux {
    float mass, mx, my, mz, energy;
};
constexpr float GAMMA = 1.4f;

__device__ inline Flux hll(State l, State r)
{
    float cl = sqrtf(GAMMA * l.p / l.rho), cr = sqrtf(GAMMA * r.p / r.rho);
    float sl = fminf(fminf(l.u - cl, r.u - cr), 0.0f), sr = fmaxf(fmaxf(l.u + cl, r.u + cr), 0.0f);
    float el = l.p / (GAMMA - 1) + 0.5f * l.rho * (l.u * l.u + l.v * l.v + l.w * l.w);
    float er = r.p / (GAMMA - 1) + 0.5f * r.rho * (r.u * r.u + r.v * r.v + r.w * r.w);
    float ml = l.rho * l.u, mr = r.rho * r.u, d = 1.0f / (sr - sl), s = sl * sr;
    Flux f;
    f.mass = (sr * ml - sl * mr + s * (r.rho - l.rho)) * d;
    f.mx = (sr * (ml * l.u + l.p) - sl * (mr * r.u + r.p) + s * (mr - ml)) * d;
    f.my = (sr * ml * l.v - sl * mr * r.v + s * (r.rho * r.v - l.rho * l.v)) * d;
    f.mz = (sr * ml * l.w - sl * mr * r.w + s * (r.rho * r.w - l.rho * l.w)) * d;
    f.energy = (sr * l.u * (el + l.p) - sl * r.u * (er + r.p) + s * (er - el)) * d;
    return f;
}

__global__ void k242d(const State *cells, Flux *fluxes, int faces)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < faces)
        fluxes[i] = hll(cells[i], cells[i + 1]);
}

struct States {
    const float *rho, *u, *v, *w, *p;

    __device__ State at(int i) const
    {
        return {rho[i], u[i], v[i], w[i], p[i]};
    }
};
struct Fluxes {
    float *mass, *mx, *my, *mz, *energy;

    __device__ void set(int i, Flux f) const
    {
        mass[i] = f.mass;
        mx[i] = f.mx;
        my[i] = f.my;
        mz[i] = f.mz;
        energy[i] = f.energy;
    }
};

__global__ void k242e(States cells, Fluxes fluxes, int faces)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < faces)
        fluxes.set(i, hll(cells.at(i), cells.at(i + 1)));
}

__global__ void k242f(States cells, Fluxes fluxes, int faces)
{
    __shared__ float rho[257], u[257], v[257], w[257], p[257];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    State own = cells.at(min(i, faces));
    rho[t] = own.rho;
    u[t] = own.u;
    v[t] = own.v;
    w[t] = own.w;
    p[t] = own.p;
    if (t == 255) {
        State next = cells.at(min(i + 1, faces));
        rho[256] = next.rho;
        u[256] = next.u;
        v[256] = next.v;
        w[256] = next.w;
        p[256] = next.p;
    }
    __syncthreads();
    if (i < faces)
        fluxes.set(i, hll(own, {rho[t + 1], u[t + 1], v[t + 1], w[t + 1], p[t + 1]}));
}

// Sum of Gaussian primitives c exp(-a r^2) at the points of a grid
struct Primitives {
    double *x, *y, *z, *a, *c;
};
struct PrimitivesF {
    float *x, *y, *z, *a, *c;
};

__global__ void k242g(const double *x, const double *y, const double *z, Primitives q, int count, double *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double px = x[i], py = y[i], pz = z[i], s = 0;
    for (int k = 0; k < count; k++) {
        double dx = px - q.x[k], dy = py - q.y[k], dz = pz - q.z[k];
        s += q.c[k] * exp(-q.a[k] * (dx * dx + dy * dy + dz * dz));
    }
    sum[i] = s;
}

__global__ void k242h(const float *x, const float *y, const float *z, PrimitivesF q, int count, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float px = x[i], py = y[i], pz = z[i], s = 0;
    for (int k = 0; k < count; k++) {
        float dx = px - q.x[k], dy = py - q.y[k], dz = pz - q.z[k];
        s += q.c[k] * __expf(-q.a[k] * (dx * dx + dy * dy + dz * dz));
    }
    sum[i] = s;
}

// Four points per thread; n is a multiple of four blocks
__global__ void k242i(const float *x, const float *y, const float *z, PrimitivesF q, int count, float *sum, int n)
{
    int first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    float px[4], py[4], pz[4], s[4];
#pragma unroll
    for (int m = 0; m < 4; m++) {
        int i = first + m * blockDim.x;
        px[m] = x[i];
        py[m] = y[i];
        pz[m] = z[i];
        s[m] = 0;
    }
    for (int k = 0; k < count; k++) {
        float qx = q.x[k], qy = q.y[k], qz = q.z[k], a = -1.44269504f * q.a[k], c = q.c[k];
#pragma unroll
        for (int m = 0; m < 4; m++) {
            float dx = px[m] - qx, dy = py[m] - qy, dz = pz[m] - qz;
            s[m] += c * exp2f(a * (dx * dx + dy * dy + dz * dz));
        }
    }
#pragma unroll
    for (int m = 0; m < 4; m++)
        sum[first + m * blockDim.x] = s[m];
}

__global__ void convert(const double *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = float(in[i]);
}

static float *as_float(const double *in, int n)
{
    float *out = output<float>(n);
    convert<<<(n + 255) / 256, 256>>>(in, out, n);
    return out;
}

int main()
{
    {
        const int n = 8192;
        float4 *atoms = (float4 *)input<float>(4 * n, 1, 0, 1);
        unsigned *h1 = zeroed<unsigned>(BINS), *h2 = zeroed<unsigned>(BINS), *h3 = zeroed<unsigned>(BINS);
        dim3 grid(n / 256, n / CHUNK);
        k242a<<<grid, 256>>>(atoms, h1, n);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(h1, BINS);
        check("k242a", h1, want, 0);
        // a compiler may round the distances of different versions differently
        k242b<<<grid, 256>>>(atoms, h2, n);
        check("k242b", h2, want, 1e-3);
        k242c<<<grid, 256>>>(atoms, h3, n);
        check("k242c", h3, want, 1e-3);
    }
    {
        const int cells = 8 << 20, faces = cells - 1;
        const int fields = 5;
        const float low[] = {0.5f, -1, -1, -1, 0.5f}, high[] = {2, 1, 1, 1, 2};
        float *q[5], *f[5];
        std::vector<float> aos((size_t)cells * fields);
        for (int k = 0; k < fields; k++) {
            q[k] = input<float>(cells, 2 + k, low[k], high[k]);
            f[k] = output<float>(faces);
            auto h = on_host(q[k], cells);
            for (int i = 0; i < cells; i++)
                aos[(size_t)i * fields + k] = h[i];
        }
        State *states = (State *)on_device(aos);
        Flux *fluxes = output<Flux>(faces);
        k242d<<<cells / 256, 256>>>(states, fluxes, faces);
        MUST(cudaDeviceSynchronize());
        auto h = on_host((float *)fluxes, (size_t)faces * fields);
        check("k242d", (float *)fluxes, h, 0);
        std::vector<float> want[5];
        for (int k = 0; k < fields; k++) {
            want[k].resize(faces);
            for (int i = 0; i < faces; i++)
                want[k][i] = h[(size_t)i * fields + k];
        }
        States s = {q[0], q[1], q[2], q[3], q[4]};
        Fluxes o = {f[0], f[1], f[2], f[3], f[4]};
        k242e<<<cells / 256, 256>>>(s, o, faces);
        for (int k = 0; k < fields; k++)
            check("k242e", f[k], want[k], 1e-4);
        for (int k = 0; k < fields; k++)
            MUST(cudaMemset(f[k], 0xA5, faces * sizeof(float)));
        k242f<<<cells / 256, 256>>>(s, o, faces);
        for (int k = 0; k < fields; k++)
            check("k242f", f[k], want[k], 1e-4);
    }
    {
        const int n = 512 << 10, count = 256;
        double *x = input<double>(n, 11, 0, 10), *y = input<double>(n, 12, 0, 10), *z = input<double>(n, 13, 0, 10);
        Primitives q = {input<double>(count, 14, 0, 10), input<double>(count, 15, 0, 10), input<double>(count, 16, 0, 10),
                        input<double>(count, 17, 0.1, 3), input<double>(count, 18, -1, 1)};
        float *xf = as_float(x, n), *yf = as_float(y, n), *zf = as_float(z, n);
        PrimitivesF qf = {as_float(q.x, count), as_float(q.y, count), as_float(q.z, count), as_float(q.a, count),
                          as_float(q.c, count)};
        double *sum = output<double>(n);
        k242g<<<n / 256, 256>>>(x, y, z, q, count, sum, n);
        MUST(cudaDeviceSynchronize());
        auto exact = on_host(sum, n);
        check("k242g", sum, exact, 0);
        std::vector<float> want(exact.begin(), exact.end());
        float *s2 = output<float>(n), *s3 = output<float>(n);
        k242h<<<n / 256, 256>>>(xf, yf, zf, qf, count, s2, n);
        check("k242h", s2, want, 2e-4);
        k242i<<<n / 4 / 256, 256>>>(xf, yf, zf, qf, count, s3, n);
        check("k242i", s3, want, 2e-4);
    }
    return 0;
}
