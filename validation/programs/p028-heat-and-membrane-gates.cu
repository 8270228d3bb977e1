// Explicit time steps: heat in a periodic box, and the gates of a membrane model.
#include "../harness.h"

// One step from `now` to `then`; every direction is periodic.
__global__ void k28a(const float *now, float *then, int nx, int ny, int nz, float r)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= nx * ny * nz)
        return;
    int i = id % nx, j = (id / nx) % ny, k = id / (nx * ny);
    float c = now[id];
    float xm = now[(i + nx - 1) % nx + nx * (j + ny * k)];
    float xp = now[(i + 1) % nx + nx * (j + ny * k)];
    float ym = now[i + nx * ((j + ny - 1) % ny + ny * k)];
    float yp = now[i + nx * ((j + 1) % ny + ny * k)];
    float zm = now[i + nx * (j + ny * ((k + nz - 1) % nz))];
    float zp = now[i + nx * (j + ny * ((k + 1) % nz))];
    then[id] = c + r * (xm + xp + ym + yp + zm + zp - 6.0f * c);
}

__global__ void k28b(const float *now, float *then, int nx, int ny, int nz, float r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= nx || j >= ny)
        return;
    int plane = nx * ny;
    int id = i + nx * j + plane * k;
    float c = now[id];
    float xm = now[i == 0 ? id + nx - 1 : id - 1];
    float xp = now[i == nx - 1 ? id - nx + 1 : id + 1];
    float ym = now[j == 0 ? id + plane - nx : id - nx];
    float yp = now[j == ny - 1 ? id - plane + nx : id + nx];
    float zm = now[k == 0 ? id + plane * (nz - 1) : id - plane];
    float zp = now[k == nz - 1 ? id - plane * (nz - 1) : id + plane];
    then[id] = c + r * (xm + xp + ym + yp + zm + zp - 6.0f * c);
}

__global__ void k28c(const float *__restrict__ now, float *__restrict__ then, int nx, int ny, int nz, float r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= nx || j >= ny)
        return;
    int plane = nx * ny;
    int id = i + nx * j + plane * k;
    float c = __ldg(&now[id]);
    float xm = __ldg(&now[i == 0 ? id + nx - 1 : id - 1]);
    float xp = __ldg(&now[i == nx - 1 ? id - nx + 1 : id + 1]);
    float ym = __ldg(&now[j == 0 ? id + plane - nx : id - nx]);
    float yp = __ldg(&now[j == ny - 1 ? id - plane + nx : id + nx]);
    float zm = __ldg(&now[k == 0 ? id + plane * (nz - 1) : id - plane]);
    float zp = __ldg(&now[k == nz - 1 ? id - plane * (nz - 1) : id + plane]);
    then[id] = c + r * (xm + xp + ym + yp + zm + zp - 6.0f * c);
}

#define SUBSTEPS 8

// x / (1 - exp(-x))
__host__ __device__ inline float ratio(float x)
{
    return fabsf(x) < 1e-3f ? 1.0f + 0.5f * x : x / (1.0f - expf(-x));
}

__host__ __device__ inline void rates(int gate, float v, float &alpha, float &beta)
{
    switch (gate) {
    case 0:
        alpha = ratio((v + 40.0f) / 10.0f);
        beta = 4.0f * expf(-(v + 65.0f) / 18.0f);
        break;
    case 1:
        alpha = 0.07f * expf(-(v + 65.0f) / 20.0f);
        beta = 1.0f / (1.0f + expf(-(v + 35.0f) / 10.0f));
        break;
    default:
        alpha = 0.1f * ratio((v + 55.0f) / 10.0f);
        beta = 0.125f * expf(-(v + 65.0f) / 80.0f);
        break;
    }
}

__host__ __device__ inline float advance(int gate, float g, float v0, float v1, float dt)
{
    for (int s = 0; s < SUBSTEPS; s++) {
        float alpha, beta;
        rates(gate, v0 + (v1 - v0) * (s * (1.0f / SUBSTEPS)), alpha, beta);
        float limit = alpha / (alpha + beta);
        g = limit + (g - limit) * expf(-dt * (alpha + beta));
    }
    return g;
}

// The gates m, h and n of all cells: now[gate * cells + cell].
__global__ void k28d(const float *now, float *then, const float *v0, const float *v1, int cells, float dt)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    int cell = id / 3, gate = id % 3;
    if (cell < cells)
        then[gate * cells + cell] = advance(gate, now[gate * cells + cell], v0[cell], v1[cell], dt);
}

__global__ void k28e(const float *now, float *then, const float *v0, const float *v1, int cells, float dt)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    int gate = blockIdx.y;
    if (cell < cells)
        then[gate * cells + cell] = advance(gate, now[gate * cells + cell], v0[cell], v1[cell], dt);
}

__device__ inline float ratio_intrinsic(float x)
{
    return fabsf(x) < 1e-3f ? 1.0f + 0.5f * x : __fdividef(x, 1.0f - __expf(-x));
}

__global__ void k28f(const float *now, float *then, const float *v0, const float *v1, int cells, float dt)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    int gate = blockIdx.y;
    if (cell >= cells)
        return;
    float g = now[gate * cells + cell], from = v0[cell], to = v1[cell];
    for (int s = 0; s < SUBSTEPS; s++) {
        float v = from + (to - from) * (s * (1.0f / SUBSTEPS)), alpha, beta;
        if (gate == 0) {
            alpha = ratio_intrinsic((v + 40.0f) * 0.1f);
            beta = 4.0f * __expf(-(v + 65.0f) * (1.0f / 18.0f));
        } else if (gate == 1) {
            alpha = 0.07f * __expf(-(v + 65.0f) * 0.05f);
            beta = __fdividef(1.0f, 1.0f + __expf(-(v + 35.0f) * 0.1f));
        } else {
            alpha = 0.1f * ratio_intrinsic((v + 55.0f) * 0.1f);
            beta = 0.125f * __expf(-(v + 65.0f) * 0.0125f);
        }
        float limit = __fdividef(alpha, alpha + beta);
        g = limit + (g - limit) * __expf(-dt * (alpha + beta));
    }
    then[gate * cells + cell] = g;
}

int main()
{
    const int nx = 400, ny = 400, nz = 300, cells3 = nx * ny * nz;
    const float r = 0.12f;
    float *now = input<float>(cells3, 281, 0.0, 1.0);
    float *then = output<float>(cells3);
    k28a<<<(cells3 + 255) / 256, 256>>>(now, then, nx, ny, nz, r);
    std::vector<float> first = on_host(then, cells3), got, want;
    auto at = [&](int i, int j, int k) {
        size_t id = (i + nx) % nx + (size_t)nx * ((j + ny) % ny + (size_t)ny * ((k + nz) % nz));
        return scrambled(id, 281) / 4294967296.0;
    };
    for (int id = 0; id < cells3; id += 997) {
        int i = id % nx, j = id / nx % ny, k = id / (nx * ny);
        double c = at(i, j, k), sum = at(i - 1, j, k) + at(i + 1, j, k) + at(i, j - 1, k) + at(i, j + 1, k) +
                                      at(i, j, k - 1) + at(i, j, k + 1);
        got.push_back(first[id]);
        want.push_back(float(c + 0.12 * (sum - 6.0 * c)));
    }
    check("k28a", on_device(got), want, 1e-5);

    dim3 block(32, 8), grid((nx + 31) / 32, (ny + 7) / 8, nz);
    MUST(cudaMemset(then, 0xA5, cells3 * sizeof(float)));
    k28b<<<grid, block>>>(now, then, nx, ny, nz, r);
    check("k28b", then, first, 1e-5);

    MUST(cudaMemset(then, 0xA5, cells3 * sizeof(float)));
    k28c<<<grid, block>>>(now, then, nx, ny, nz, r);
    check("k28c", then, first, 1e-5);

    const int cells = 2500000;
    const float dt = 0.01f;
    float *gates = input<float>(3 * cells, 282, 0.0, 1.0);
    float *v0 = input<float>(cells, 283, -80.0, 20.0), *v1 = input<float>(cells, 284, -80.0, 20.0);
    float *next = output<float>(3 * cells);
    k28d<<<(3 * cells + 191) / 192, 192>>>(gates, next, v0, v1, cells, dt);
    first = on_host(next, 3 * cells);
    std::vector<float> hg = on_host(gates, 3 * cells), h0 = on_host(v0, cells), h1 = on_host(v1, cells);
    got.clear();
    want.clear();
    for (int cell = 0; cell < cells; cell += 211)
        for (int gate = 0; gate < 3; gate++) {
            got.push_back(first[gate * cells + cell]);
            want.push_back(advance(gate, hg[gate * cells + cell], h0[cell], h1[cell], dt));
        }
    check("k28d", on_device(got), want, 1e-3);

    dim3 by_gate((cells + 255) / 256, 3);
    next = output<float>(3 * cells);
    k28e<<<by_gate, 256>>>(gates, next, v0, v1, cells, dt);
    check("k28e", next, first, 1e-3);

    next = output<float>(3 * cells);
    k28f<<<by_gate, 256>>>(gates, next, v0, v1, cells, dt);
    check("k28f", next, first, 1e-3);
    return 0;
}
