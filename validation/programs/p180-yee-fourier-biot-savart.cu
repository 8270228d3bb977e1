// Electromagnetics: the magnetic half of a Yee step in a box, a running Fourier transform of a recorded field, and the
// magnetic field of a wire of straight segments.
#include "../harness.h"

#include <functional>

const int SIDE = 256;

__global__ void k180a(float *hx, float *hy, float *hz, const float *ex, const float *ey, const float *ez, float c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1)
        return;
    int at = (i * n + j) * n + k;
    hx[at] -= c * ((ez[at + n] - ez[at]) - (ey[at + 1] - ey[at]));
    hy[at] -= c * ((ex[at + 1] - ex[at]) - (ez[at + n * n] - ez[at]));
    hz[at] -= c * ((ey[at + n * n] - ey[at]) - (ex[at + n] - ex[at]));
}

__global__ void k180b(float *__restrict__ hx, float *__restrict__ hy, float *__restrict__ hz,
                      const float *__restrict__ ex, const float *__restrict__ ey, const float *__restrict__ ez, float c,
                      int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.z;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1)
        return;
    int at = (i * n + j) * n + k;
    float x = ex[at], y = ey[at], z = ez[at];
    hx[at] -= c * ((ez[at + n] - z) - (ey[at + 1] - y));
    hy[at] -= c * ((ex[at + 1] - x) - (ez[at + n * n] - z));
    hz[at] -= c * ((ey[at + n * n] - y) - (ex[at + n] - x));
}

const int FREQUENCIES = 16;

__constant__ float2 phases[FREQUENCIES];

__global__ void k180c(float2 *sum, const float *field, const float *frequency, int step, double dt, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float e = field[cell];
    for (int f = 0; f < FREQUENCIES; f++) {
        double angle = 2.0 * 3.14159265358979323846 * frequency[f] * step * dt;
        float2 s = sum[f * cells + cell];
        s.x += e * cos(angle);
        s.y -= e * sin(angle);
        sum[f * cells + cell] = s;
    }
}

__global__ void k180d(float2 *__restrict__ sum, const float *__restrict__ field, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float e = field[cell];
#pragma unroll
    for (int half = 0; half < FREQUENCIES; half += FREQUENCIES / 2) {
        float2 s[FREQUENCIES / 2];
#pragma unroll
        for (int f = 0; f < FREQUENCIES / 2; f++)
            s[f] = sum[(half + f) * cells + cell];
#pragma unroll
        for (int f = 0; f < FREQUENCIES / 2; f++) {
            s[f].x += e * phases[half + f].x;
            s[f].y -= e * phases[half + f].y;
            sum[(half + f) * cells + cell] = s[f];
        }
    }
}

struct Segment {
    float x, y, z, dx, dy, dz;
};

__global__ void k180e(float *bx, float *by, float *bz, const float *px, const float *py, const float *pz,
                      const Segment *wire, int segments, int points)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int s = 0; s < segments; s++) {
        float rx = px[p] - wire[s].x, ry = py[p] - wire[s].y, rz = pz[p] - wire[s].z;
        double r3 = pow(rx * rx + ry * ry + rz * rz + 0.01, 1.5);
        double weight = 1.0 / r3;
        x += (wire[s].dy * rz - wire[s].dz * ry) * weight;
        y += (wire[s].dz * rx - wire[s].dx * rz) * weight;
        z += (wire[s].dx * ry - wire[s].dy * rx) * weight;
    }
    bx[p] = x;
    by[p] = y;
    bz[p] = z;
}

__global__ void k180f(float *bx, float *by, float *bz, const float *px, const float *py, const float *pz,
                      const Segment *wire, int segments, int points)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float x = 0.0f, y = 0.0f, z = 0.0f, atx = px[p], aty = py[p], atz = pz[p];
    for (int s = 0; s < segments; s++) {
        float rx = atx - wire[s].x, ry = aty - wire[s].y, rz = atz - wire[s].z;
        float r = sqrtf(rx * rx + ry * ry + rz * rz + 0.01f);
        float weight = 1.0f / (r * r * r);
        x += (wire[s].dy * rz - wire[s].dz * ry) * weight;
        y += (wire[s].dz * rx - wire[s].dx * rz) * weight;
        z += (wire[s].dx * ry - wire[s].dy * rx) * weight;
    }
    bx[p] = x;
    by[p] = y;
    bz[p] = z;
}

__device__ inline float inverse_root(float v)
{
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

__global__ void k180g(float *__restrict__ bx, float *__restrict__ by, float *__restrict__ bz,
                      const float *__restrict__ px, const float *__restrict__ py, const float *__restrict__ pz,
                      const Segment *__restrict__ wire, int segments, int points)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float x = 0.0f, y = 0.0f, z = 0.0f, atx = px[p], aty = py[p], atz = pz[p];
    for (int s = 0; s < segments; s++) {
        float rx = atx - wire[s].x, ry = aty - wire[s].y, rz = atz - wire[s].z;
        float inverse = inverse_root(rx * rx + ry * ry + rz * rz + 0.01f);
        float weight = inverse * inverse * inverse;
        x += (wire[s].dy * rz - wire[s].dz * ry) * weight;
        y += (wire[s].dz * rx - wire[s].dx * rz) * weight;
        z += (wire[s].dx * ry - wire[s].dy * rx) * weight;
    }
    bx[p] = x;
    by[p] = y;
    bz[p] = z;
}

const int EACH = 4;

__global__ void __launch_bounds__(128, 4)
    k180h(float *__restrict__ bx, float *__restrict__ by, float *__restrict__ bz, const float *__restrict__ px,
          const float *__restrict__ py, const float *__restrict__ pz, const Segment *__restrict__ wire, int segments)
{
    int first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
    float x[EACH], y[EACH], z[EACH], atx[EACH], aty[EACH], atz[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int p = first + e * blockDim.x;
        atx[e] = px[p];
        aty[e] = py[p];
        atz[e] = pz[p];
        x[e] = y[e] = z[e] = 0.0f;
    }
#pragma unroll 4
    for (int s = 0; s < segments; s++) {
        Segment w = wire[s];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            float rx = atx[e] - w.x, ry = aty[e] - w.y, rz = atz[e] - w.z;
            float inverse = inverse_root(rx * rx + ry * ry + rz * rz + 0.01f);
            float weight = inverse * inverse * inverse;
            x[e] += (w.dy * rz - w.dz * ry) * weight;
            y[e] += (w.dz * rx - w.dx * rz) * weight;
            z[e] += (w.dx * ry - w.dy * rx) * weight;
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        int p = first + e * blockDim.x;
        bx[p] = x[e];
        by[p] = y[e];
        bz[p] = z[e];
    }
}

int main()
{
    {
        const int n = SIDE;
        const size_t cells = (size_t)n * n * n;
        const float c = 0.5f;
        float *e[3], *start[3], *h[3];
        for (int d = 0; d < 3; d++) {
            e[d] = input<float>(cells, 1801 + d, -1.0, 1.0);
            start[d] = input<float>(cells, 1804 + d, -1.0, 1.0);
            h[d] = output<float>(cells);
        }
        std::vector<float> he[3], want[3];
        for (int d = 0; d < 3; d++) {
            he[d] = on_host(e[d], cells);
            want[d] = on_host(start[d], cells);
        }
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                for (int k = 0; k < n - 1; k++) {
                    size_t at = ((size_t)i * n + j) * n + k, up = at + n, far = at + n * n;
                    want[0][at] -= c * ((he[2][up] - he[2][at]) - (he[1][at + 1] - he[1][at]));
                    want[1][at] -= c * ((he[0][at + 1] - he[0][at]) - (he[2][far] - he[2][at]));
                    want[2][at] -= c * ((he[1][far] - he[1][at]) - (he[0][up] - he[0][at]));
                }
        auto half_step = [&](const char *name, std::function<void()> launch) {
            for (int d = 0; d < 3; d++)
                MUST(cudaMemcpy(h[d], start[d], cells * sizeof(float), cudaMemcpyDeviceToDevice));
            launch();
            for (int d = 0; d < 3; d++)
                check(name, h[d], want[d], 1e-5);
        };
        dim3 cubes(n / 8, n / 8, n / 8), cube(8, 8, 8), strips(n / 64, n / 4, n), strip(64, 4);
        half_step("k180a", [&] { k180a<<<cubes, cube>>>(h[0], h[1], h[2], e[0], e[1], e[2], c, n); });
        half_step("k180b", [&] { k180b<<<strips, strip>>>(h[0], h[1], h[2], e[0], e[1], e[2], c, n); });
        for (int d = 0; d < 3; d++) {
            MUST(cudaFree(e[d]));
            MUST(cudaFree(start[d]));
            MUST(cudaFree(h[d]));
        }
    }
    {
        const int cells = 1 << 20, step = 137;
        const double dt = 0.01;
        const size_t all = (size_t)cells * FREQUENCIES * 2;
        float *field = input<float>(cells, 1807, -1.0, 1.0), *frequency = input<float>(FREQUENCIES, 1808, 0.5, 5.0);
        float *start = input<float>(all, 1809, -1.0, 1.0), *sum = output<float>(all);
        std::vector<float> want = on_host(start, all), hf = on_host(field, cells), hq = on_host(frequency, FREQUENCIES);
        std::vector<float2> table(FREQUENCIES);
        for (int f = 0; f < FREQUENCIES; f++) {
            double angle = 2.0 * 3.14159265358979323846 * hq[f] * step * dt;
            table[f] = make_float2(float(std::cos(angle)), float(std::sin(angle)));
            for (int cell = 0; cell < cells; cell++) {
                want[((size_t)f * cells + cell) * 2] += hf[cell] * table[f].x;
                want[((size_t)f * cells + cell) * 2 + 1] -= hf[cell] * table[f].y;
            }
        }
        MUST(cudaMemcpyToSymbol(phases, table.data(), FREQUENCIES * sizeof(float2)));
        auto record = [&](const char *name, std::function<void(float2 *)> launch) {
            MUST(cudaMemcpy(sum, start, all * sizeof(float), cudaMemcpyDeviceToDevice));
            launch(reinterpret_cast<float2 *>(sum));
            check(name, sum, want, 1e-5);
        };
        record("k180c", [&](float2 *s) { k180c<<<cells / 256, 256>>>(s, field, frequency, step, dt, cells); });
        record("k180d", [&](float2 *s) { k180d<<<cells / 256, 256>>>(s, field, cells); });
        MUST(cudaFree(start));
        MUST(cudaFree(sum));
    }
    const int points = 1 << 18, segments = 768, every = 509, chosen = (points - 1) / every + 1;
    float *p[3], *b = output<float>(3 * (size_t)points), *picked = output<float>(3 * chosen);
    for (int d = 0; d < 3; d++)
        p[d] = input<float>(points, 1810 + d, -2.0, 2.0);
    float *raw = input<float>(segments * 6, 1813, -1.0, 1.0);
    const Segment *wire = reinterpret_cast<const Segment *>(raw);
    float *bx = b, *by = b + points, *bz = b + 2 * points;
    std::vector<float> hw = on_host(raw, segments * 6), hp[3], want(3 * chosen);
    for (int d = 0; d < 3; d++)
        hp[d] = on_host(p[d], points);
    for (int t = 0; t < chosen; t++) {
        double sum[3] = {0, 0, 0};
        for (int s = 0; s < segments; s++) {
            const float *w = &hw[s * 6];
            double r[3];
            for (int d = 0; d < 3; d++)
                r[d] = double(hp[d][t * every]) - w[d];
            double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + 0.01, weight = 1 / (r2 * std::sqrt(r2));
            sum[0] += (w[4] * r[2] - w[5] * r[1]) * weight;
            sum[1] += (w[5] * r[0] - w[3] * r[2]) * weight;
            sum[2] += (w[3] * r[1] - w[4] * r[0]) * weight;
        }
        for (int d = 0; d < 3; d++)
            want[d * chosen + t] = float(sum[d]);
    }
    auto field = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(b, 0xA5, 3 * (size_t)points * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int d = 0; d < 3; d++)
            MUST(cudaMemcpy2D(picked + d * chosen, sizeof(float), b + d * (size_t)points, every * sizeof(float),
                              sizeof(float), chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-3);
    };
    field("k180e", [&] { k180e<<<points / 256, 256>>>(bx, by, bz, p[0], p[1], p[2], wire, segments, points); });
    field("k180f", [&] { k180f<<<points / 256, 256>>>(bx, by, bz, p[0], p[1], p[2], wire, segments, points); });
    field("k180g", [&] { k180g<<<points / 256, 256>>>(bx, by, bz, p[0], p[1], p[2], wire, segments, points); });
    field("k180h", [&] { k180h<<<points / 128 / EACH, 128>>>(bx, by, bz, p[0], p[1], p[2], wire, segments); });
    return 0;
}
