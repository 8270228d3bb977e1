// One Lax-Friedrichs step of the linear shallow-water equations on a periodic grid, and band radiances of surface
// temperatures by summing Planck's law over wavelengths.
#include "../harness.h"

constexpr int NX = 4096, NY = 3072, CELLS = NX * NY;
constexpr float GRAVITY = 9.81f, DEPTH = 4.0f, RATIO = 0.02f; // RATIO: dt / (2 dx)

struct Cell {
    float eta, u, v, bed, drag, area, x, y;
};

__device__ __forceinline__ int left(int i, int n) { return i == 0 ? n - 1 : i - 1; }
__device__ __forceinline__ int right(int i, int n) { return i == n - 1 ? 0 : i + 1; }

__device__ __forceinline__ void step_cell(const Cell *cells, float *next, int x, int y)
{
    int w = y * NX + left(x, NX), e = y * NX + right(x, NX);
    int s = left(y, NY) * NX + x, n = right(y, NY) * NX + x;
    float eta = 0.25f * (cells[w].eta + cells[e].eta + cells[s].eta + cells[n].eta);
    float u = 0.25f * (cells[w].u + cells[e].u + cells[s].u + cells[n].u);
    float v = 0.25f * (cells[w].v + cells[e].v + cells[s].v + cells[n].v);
    int i = y * NX + x;
    next[i] = eta - RATIO * DEPTH * (cells[e].u - cells[w].u + cells[n].v - cells[s].v);
    next[CELLS + i] = u - RATIO * GRAVITY * (cells[e].eta - cells[w].eta);
    next[2 * CELLS + i] = v - RATIO * GRAVITY * (cells[n].eta - cells[s].eta);
}

__global__ void k245a(const Cell *__restrict__ cells, float *__restrict__ next)
{
    int y = blockIdx.y * blockDim.x + threadIdx.x;
    int x = blockIdx.x * blockDim.y + threadIdx.y;
    step_cell(cells, next, x, y);
}

__global__ void k245b(const Cell *__restrict__ cells, float *__restrict__ next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    step_cell(cells, next, x, y);
}

__global__ void k245c(const float *__restrict__ eta, const float *__restrict__ u, const float *__restrict__ v,
                      float *__restrict__ next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int w = y * NX + left(x, NX), e = y * NX + right(x, NX);
    int s = left(y, NY) * NX + x, n = right(y, NY) * NX + x;
    float ew = eta[w], ee = eta[e], es = eta[s], en = eta[n];
    float uw = u[w], ue = u[e], us = u[s], un = u[n];
    float vw = v[w], ve = v[e], vs = v[s], vn = v[n];
    int i = y * NX + x;
    next[i] = 0.25f * (ew + ee + es + en) - RATIO * DEPTH * (ue - uw + vn - vs);
    next[CELLS + i] = 0.25f * (uw + ue + us + un) - RATIO * GRAVITY * (ee - ew);
    next[2 * CELLS + i] = 0.25f * (vw + ve + vs + vn) - RATIO * GRAVITY * (en - es);
}

__device__ __forceinline__ void fill_tile(float (*tile)[34], const float *field, int x0, int y0)
{
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 10 * 34; k += 256) {
        int ty = k / 34, tx = k % 34;
        int x = x0 + tx - 1, y = y0 + ty - 1;
        x = x < 0 ? x + NX : x >= NX ? x - NX : x;
        y = y < 0 ? y + NY : y >= NY ? y - NY : y;
        tile[ty][tx] = field[y * NX + x];
    }
}

__global__ void k245d(const float *__restrict__ eta, const float *__restrict__ u, const float *__restrict__ v,
                      float *__restrict__ next)
{
    __shared__ float te[10][34], tu[10][34], tv[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    fill_tile(te, eta, x0, y0);
    fill_tile(tu, u, x0, y0);
    fill_tile(tv, v, x0, y0);
    __syncthreads();
    int a = threadIdx.x + 1, b = threadIdx.y + 1;
    float ew = te[b][a - 1], ee = te[b][a + 1], es = te[b - 1][a], en = te[b + 1][a];
    float uw = tu[b][a - 1], ue = tu[b][a + 1], us = tu[b - 1][a], un = tu[b + 1][a];
    float vw = tv[b][a - 1], ve = tv[b][a + 1], vs = tv[b - 1][a], vn = tv[b + 1][a];
    int i = (y0 + threadIdx.y) * NX + x0 + threadIdx.x;
    next[i] = 0.25f * (ew + ee + es + en) - RATIO * DEPTH * (ue - uw + vn - vs);
    next[CELLS + i] = 0.25f * (uw + ue + us + un) - RATIO * GRAVITY * (ee - ew);
    next[2 * CELLS + i] = 0.25f * (vw + ve + vs + vn) - RATIO * GRAVITY * (en - es);
}

// radiance(T) = sum over wavelengths of c1 / (exp(c2 / T) - 1), with the response of the band in c1
__global__ void k245e(const float *__restrict__ temperature, const float *__restrict__ c1,
                      const float *__restrict__ c2, float *__restrict__ radiance, int wavelengths, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    double inverse = 1.0 / temperature[i];
    double sum = 0.0;
    for (int k = 0; k < wavelengths; k++)
        sum += c1[k] / (exp(c2[k] * inverse) - 1.0);
    radiance[i] = static_cast<float>(sum);
}

__global__ void k245f(const float *__restrict__ temperature, const float *__restrict__ c1,
                      const float *__restrict__ c2, float *__restrict__ radiance, int wavelengths, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    float inverse = 1.0f / temperature[i];
    float sum = 0.0f;
    for (int k = 0; k < wavelengths; k++)
        sum += c1[k] / (expf(c2[k] * inverse) - 1.0f);
    radiance[i] = sum;
}

__global__ void k245g(const float *__restrict__ temperature, const float *__restrict__ c1,
                      const float *__restrict__ c2, float *__restrict__ radiance, int wavelengths, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    float inverse = 1.0f / temperature[i];
    float sum = 0.0f;
    for (int k = 0; k < wavelengths; k++)
        sum += __fdividef(c1[k], __expf(c2[k] * inverse) - 1.0f);
    radiance[i] = sum;
}

int main()
{
    float *raw = input<float>(8 * size_t(CELLS), 1, -0.5, 0.5);
    std::vector<float> host = on_host(raw, 8 * size_t(CELLS));
    auto field = [&](int f) {
        std::vector<float> values(CELLS);
        for (size_t i = 0; i < values.size(); i++)
            values[i] = host[8 * i + f];
        return on_device(values);
    };
    float *eta = field(0), *u = field(1), *v = field(2);
    const Cell *cells = reinterpret_cast<const Cell *>(raw);
    float *next = output<float>(3 * size_t(CELLS));
    auto poison = [&] { MUST(cudaMemset(next, 0xA5, 12 * size_t(CELLS))); };

    std::vector<float> first(2 * NX); // new surface of the first two rows
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < NX; x++) {
            const float *w = &host[8 * size_t(y * NX + (x + NX - 1) % NX)], *e = &host[8 * size_t(y * NX + (x + 1) % NX)];
            const float *s = &host[8 * size_t((y + NY - 1) % NY * NX + x)], *n = &host[8 * size_t((y + 1) * NX + x)];
            first[y * NX + x] =
                0.25f * (w[0] + e[0] + s[0] + n[0]) - RATIO * DEPTH * (e[1] - w[1] + n[2] - s[2]);
        }

    dim3 block(32, 8);
    k245a<<<dim3(NX / 8, NY / 32), block>>>(cells, next);
    check("k245a", next, first, 1e-5);
    std::vector<float> want = on_host(next, 3 * size_t(CELLS));
    poison();
    k245b<<<dim3(NX / 32, NY / 8), block>>>(cells, next);
    check("k245b", next, want, 1e-5);
    poison();
    k245c<<<dim3(NX / 32, NY / 8), block>>>(eta, u, v, next);
    check("k245c", next, want, 1e-5);
    poison();
    k245d<<<dim3(NX / 32, NY / 8), block>>>(eta, u, v, next);
    check("k245d", next, want, 1e-5);

    const int pixels = 1 << 22, wavelengths = 64;
    std::vector<float> h1(wavelengths), h2(wavelengths);
    for (int k = 0; k < wavelengths; k++) {
        double micron = 10.3 + k * 0.016;
        h1[k] = float(1.191e8 / pow(micron, 5.0) * 0.016 * exp(-0.5 * pow((k - 31.5) / 16.0, 2.0)));
        h2[k] = float(14387.8 / micron);
    }
    float *c1 = on_device(h1), *c2 = on_device(h2);
    float *temperature = input<float>(pixels, 2, 200.0, 320.0);
    std::vector<float> some = on_host(temperature, 1000);
    for (float &t : some) {
        double sum = 0;
        for (int k = 0; k < wavelengths; k++)
            sum += h1[k] / (exp(double(h2[k]) / t) - 1);
        t = float(sum);
    }
    float *re = output<float>(pixels), *rf = output<float>(pixels), *rg = output<float>(pixels);
    k245e<<<pixels / 256, 256>>>(temperature, c1, c2, re, wavelengths, pixels);
    check("k245e", re, some, 1e-5);
    std::vector<float> radiances = on_host(re, pixels);
    k245f<<<pixels / 256, 256>>>(temperature, c1, c2, rf, wavelengths, pixels);
    check("k245f", rf, radiances, 1e-4);
    k245g<<<pixels / 256, 256>>>(temperature, c1, c2, rg, wavelengths, pixels);
    check("k245g", rg, radiances, 1e-4);
}
