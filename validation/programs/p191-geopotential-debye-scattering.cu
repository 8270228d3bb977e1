// Geopotential of the levels of atmospheric columns (hydrostatic integral from the ground upwards), and the Debye
// scattering sums of every atom of one molecule with the atoms of another for sixteen wave numbers.
#include "../harness.h"

#include <functional>

const int COLUMNS = 524288, LEVELS = 64;
const float GAS = 287.05f;

__constant__ float hybrid_a[LEVELS + 1], hybrid_b[LEVELS + 1];

// One thread follows a column; level 0 lies at the ground.
__global__ void k191a(float *phi, const float *t, const float *q, const float *surface, const float *ha,
                      const float *hb, int columns, int levels)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float ps = surface[column], sum = 0.0f;
    float below = ha[0] + hb[0] * ps;
    for (int k = 0; k < levels; k++) {
        float above = ha[k + 1] + hb[k + 1] * ps;
        size_t at = (size_t)column * levels + k;
        sum += GAS * t[at] * (1.0f + 0.608f * q[at]) * __logf(below / above);
        phi[at] = sum;
        below = above;
    }
}

__global__ void k191b(float *__restrict__ phi, const float *__restrict__ t, const float *__restrict__ q,
                      const float *__restrict__ surface, const float *__restrict__ ha, const float *__restrict__ hb,
                      int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float ps = surface[column], sum = 0.0f;
    float below = ha[0] + hb[0] * ps;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        float above = ha[k + 1] + hb[k + 1] * ps;
        size_t at = (size_t)k * columns + column;
        sum += GAS * t[at] * (1.0f + 0.608f * q[at]) * __logf(__fdividef(below, above));
        phi[at] = sum;
        below = above;
    }
}

__global__ void k191c(float *__restrict__ phi, const float *__restrict__ t, const float *__restrict__ q,
                      const float *__restrict__ surface, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float ps = surface[column], sum = 0.0f;
    float below = hybrid_a[0] + hybrid_b[0] * ps;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        float above = hybrid_a[k + 1] + hybrid_b[k + 1] * ps;
        size_t at = (size_t)k * columns + column;
        sum += GAS * t[at] * (1.0f + 0.608f * q[at]) * __logf(__fdividef(below, above));
        phi[at] = sum;
        below = above;
    }
}

const int A = 8192, B = 4096, WAVES = 16, THREADS = 128, PART = 256;
const float TWO_PI = 6.2831853f, SOFT = 1e-4f;

struct Atom {
    float x, y, z, f;
};

__constant__ float waves[WAVES];

__global__ void k191d(float *out, const Atom *a, const Atom *b, const float *s, int na, int nb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y;
    if (i >= na)
        return;
    Atom me = a[i];
    float sum = 0.0f;
    for (int j = 0; j < nb; j++) {
        float dx = b[j].x - me.x, dy = b[j].y - me.y, dz = b[j].z - me.z;
        float r = sqrtf(dx * dx + dy * dy + dz * dz + SOFT);
        sum += b[j].f * sin(2.0 * 3.14159265358979 * s[w] * r) / (2.0 * 3.14159265358979 * s[w] * r);
    }
    out[(size_t)w * na + i] = me.f * sum;
}

__global__ void k191e(float *out, const Atom *a, const Atom *b, const float *s, int na, int nb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y;
    if (i >= na)
        return;
    Atom me = a[i];
    float sum = 0.0f, wave = TWO_PI * s[w];
    for (int j = 0; j < nb; j++) {
        float dx = b[j].x - me.x, dy = b[j].y - me.y, dz = b[j].z - me.z;
        float r = sqrtf(dx * dx + dy * dy + dz * dz + SOFT);
        sum += b[j].f * sinf(wave * r) / (wave * r);
    }
    out[(size_t)w * na + i] = me.f * sum;
}

__global__ void k191f(float *out, const Atom *a, const Atom *b, const float *s, int na, int nb)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y;
    if (i >= na)
        return;
    Atom me = a[i];
    float sum = 0.0f, wave = TWO_PI * s[w];
    for (int j = 0; j < nb; j++) {
        float dx = b[j].x - me.x, dy = b[j].y - me.y, dz = b[j].z - me.z;
        float r2 = dx * dx + dy * dy + dz * dz + SOFT;
        float inverse = rsqrtf(r2);
        sum += b[j].f * __sinf(wave * (r2 * inverse)) * inverse;
    }
    out[(size_t)w * na + i] = me.f * sum / wave;
}

__global__ void k191g(float *__restrict__ out, const Atom *__restrict__ a, const float4 *__restrict__ b,
                      const float *__restrict__ s, int na, int nb)
{
    __shared__ float4 part[PART];
    int i = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y;
    Atom me = a[i];
    float sum = 0.0f, wave = TWO_PI * s[w];
    for (int first = 0; first < nb; first += PART) {
        for (int j = threadIdx.x; j < PART; j += THREADS)
            part[j] = b[first + j];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < PART; j++) {
            float4 v = part[j];
            float dx = v.x - me.x, dy = v.y - me.y, dz = v.z - me.z;
            float r2 = dx * dx + dy * dy + dz * dz + SOFT;
            float inverse = rsqrtf(r2);
            sum += v.w * __sinf(wave * (r2 * inverse)) * inverse;
        }
        __syncthreads();
    }
    out[(size_t)w * na + i] = me.f * sum / wave;
}

__global__ void k191h(float *__restrict__ out, const Atom *__restrict__ a, const float4 *__restrict__ b, int na)
{
    __shared__ float4 part[PART];
    int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * PART;
    for (int j = threadIdx.x; j < PART; j += THREADS)
        part[j] = b[first + j];
    __syncthreads();
    Atom me = a[i];
    float sum[WAVES];
#pragma unroll
    for (int w = 0; w < WAVES; w++)
        sum[w] = 0.0f;
#pragma unroll 2
    for (int j = 0; j < PART; j++) {
        float4 v = part[j];
        float dx = v.x - me.x, dy = v.y - me.y, dz = v.z - me.z;
        float r2 = dx * dx + dy * dy + dz * dz + SOFT;
        float inverse = rsqrtf(r2), r = r2 * inverse, weight = v.w * inverse;
#pragma unroll
        for (int w = 0; w < WAVES; w++)
            sum[w] += weight * __sinf(waves[w] * r);
    }
#pragma unroll
    for (int w = 0; w < WAVES; w++)
        atomicAdd(&out[(size_t)w * na + i], me.f * sum[w] / waves[w]);
}

__global__ void turn_columns(float *to, const float *from, int rows, int columns)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)rows * columns;
         i += (size_t)gridDim.x * blockDim.x)
        to[i % columns * rows + i / columns] = from[i];
}

int main()
{
    const size_t cells = (size_t)COLUMNS * LEVELS;
    float *t = input<float>(cells, 1911, 210.0, 300.0), *q = input<float>(cells, 1912, 0.0, 0.02);
    float *surface = input<float>(COLUMNS, 1913, 95000.0, 103000.0);
    float *t_turned = output<float>(cells), *q_turned = output<float>(cells);
    float *phi = output<float>(cells), *plain = output<float>(cells);
    turn_columns<<<2112, 256>>>(t_turned, t, COLUMNS, LEVELS);
    turn_columns<<<2112, 256>>>(q_turned, q, COLUMNS, LEVELS);
    MUST(cudaDeviceSynchronize());
    std::vector<float> ha(LEVELS + 1), hb(LEVELS + 1);
    for (int k = 0; k <= LEVELS; k++) {
        float sigma = 1.0f - k / (LEVELS + 1.0f);
        ha[k] = 8000.0f * sigma * (1.0f - sigma);
        hb[k] = sigma * sigma + 0.01f * (1.0f - sigma);
    }
    float *dha = on_device(ha), *dhb = on_device(hb);
    MUST(cudaMemcpyToSymbol(hybrid_a, ha.data(), ha.size() * sizeof(float)));
    MUST(cudaMemcpyToSymbol(hybrid_b, hb.data(), hb.size() * sizeof(float)));

    // The first and the last columns.
    const int ends = 4096;
    std::vector<float> want(2 * ends * LEVELS), hs = on_host(surface, COLUMNS);
    float *some = output<float>(want.size());
    for (int side = 0; side < 2; side++) {
        size_t skip = side ? (size_t)COLUMNS - ends : 0;
        std::vector<float> ht = on_host(t + skip * LEVELS, (size_t)ends * LEVELS);
        std::vector<float> hq = on_host(q + skip * LEVELS, (size_t)ends * LEVELS);
        for (int c = 0; c < ends; c++) {
            double sum = 0, ps = hs[skip + c];
            for (int k = 0; k < LEVELS; k++) {
                size_t at = (size_t)c * LEVELS + k;
                sum += double(GAS) * ht[at] * (1 + 0.608 * hq[at]) * std::log((ha[k] + hb[k] * ps) / (ha[k + 1] + hb[k + 1] * ps));
                want[(size_t)side * ends * LEVELS + at] = float(sum);
            }
        }
    }
    auto columns = [&](const char *name, bool turned, std::function<void()> launch) {
        MUST(cudaMemset(phi, 0xA5, cells * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const float *rows = phi;
        if (turned) {
            turn_columns<<<2112, 256>>>(plain, phi, LEVELS, COLUMNS);
            MUST(cudaDeviceSynchronize());
            rows = plain;
        }
        const size_t half = (size_t)ends * LEVELS;
        MUST(cudaMemcpy(some, rows, half * sizeof(float), cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(some + half, rows + cells - half, half * sizeof(float), cudaMemcpyDeviceToDevice));
        check(name, some, want, 5e-4);
    };
    const int blocks = COLUMNS / 256;
    columns("k191a", false, [&] { k191a<<<blocks, 256>>>(phi, t, q, surface, dha, dhb, COLUMNS, LEVELS); });
    columns("k191b", true, [&] { k191b<<<blocks, 256>>>(phi, t_turned, q_turned, surface, dha, dhb, COLUMNS); });
    columns("k191c", true, [&] { k191c<<<blocks, 256>>>(phi, t_turned, q_turned, surface, COLUMNS); });

    float *raw_a = input<float>(4 * A, 1914, 0.0, 40.0), *raw_b = input<float>(4 * B, 1915, 0.0, 40.0);
    std::vector<float> pa = on_host(raw_a, 4 * A), pb = on_host(raw_b, 4 * B), s(WAVES), scaled(WAVES);
    for (int i = 0; i < A; i++)
        pa[4 * i + 3] = 1.0f + pa[4 * i + 3] * 0.1f;
    for (int i = 0; i < B; i++)
        pb[4 * i + 3] = 1.0f + pb[4 * i + 3] * 0.1f;
    for (int w = 0; w < WAVES; w++) {
        s[w] = 0.02f * std::pow(1.25f, float(w));
        scaled[w] = TWO_PI * s[w];
    }
    float *fa = on_device(pa), *fb = on_device(pb), *ds = on_device(s);
    MUST(cudaMemcpyToSymbol(waves, scaled.data(), WAVES * sizeof(float)));
    const Atom *a = reinterpret_cast<const Atom *>(fa), *b = reinterpret_cast<const Atom *>(fb);
    const float4 *b4 = reinterpret_cast<const float4 *>(fb);
    float *out = output<float>((size_t)A * WAVES);

    // Every 257th atom.
    const int every = 257, chosen = (A - 1) / every + 1;
    std::vector<float> sums(chosen * WAVES);
    for (int c = 0; c < chosen; c++) {
        const float *me = &pa[4 * c * every];
        std::vector<double> total(WAVES, 0.0);
        for (int j = 0; j < B; j++) {
            double dx = pb[4 * j] - me[0], dy = pb[4 * j + 1] - me[1], dz = pb[4 * j + 2] - me[2];
            double r = std::sqrt(dx * dx + dy * dy + dz * dz + SOFT);
            for (int w = 0; w < WAVES; w++)
                total[w] += pb[4 * j + 3] * std::sin(scaled[w] * r) / (scaled[w] * r);
        }
        for (int w = 0; w < WAVES; w++)
            sums[w * chosen + c] = float(me[3] * total[w]);
    }
    float *picked = output<float>(sums.size());
    auto scatter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0, (size_t)A * WAVES * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int w = 0; w < WAVES; w++)
            MUST(cudaMemcpy2D(picked + w * chosen, sizeof(float), out + (size_t)w * A, every * sizeof(float),
                              sizeof(float), chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, sums, 5e-3);
    };
    dim3 by_wave(A / THREADS, WAVES), by_part(A / THREADS, B / PART);
    scatter("k191d", [&] { k191d<<<by_wave, THREADS>>>(out, a, b, ds, A, B); });
    scatter("k191e", [&] { k191e<<<by_wave, THREADS>>>(out, a, b, ds, A, B); });
    scatter("k191f", [&] { k191f<<<by_wave, THREADS>>>(out, a, b, ds, A, B); });
    scatter("k191g", [&] { k191g<<<by_wave, THREADS>>>(out, a, b4, ds, A, B); });
    scatter("k191h", [&] { k191h<<<by_part, THREADS>>>(out, a, b4, A); });
    return 0;
}
