// Morton codes of particles, the short-range force of a cosmology code, and sums of a column by 1024 groups.
#include "../harness.h"

#include <functional>

const int PARTICLES = 1 << 26;

__host__ __device__ inline float coordinate(size_t particle, int axis)
{
    return float(scrambled(particle * 3 + axis, 1701) >> 8) / 16777216.0f;
}

// A coordinate from 0 to 1 in 1024 steps.
__host__ __device__ inline unsigned cell_of(float x)
{
    return unsigned(fminf(fmaxf(x * 1024.0f, 0.0f), 1023.0f));
}

__host__ __device__ inline unsigned interleave(unsigned x, unsigned y, unsigned z, int bits)
{
    unsigned code = 0;
    for (int bit = 0; bit < bits; bit++) {
        code |= ((x >> bit) & 1) << (3 * bit + 2);
        code |= ((y >> bit) & 1) << (3 * bit + 1);
        code |= ((z >> bit) & 1) << (3 * bit);
    }
    return code;
}

__global__ void k170a(unsigned *code, const float *x, const float *y, const float *z, int bits, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    code[i] = interleave(cell_of(x[i]), cell_of(y[i]), cell_of(z[i]), bits);
}

// Two zeros after each of ten bits.
__device__ inline unsigned spread(unsigned v)
{
    v = (v * 0x00010001u) & 0xFF0000FFu;
    v = (v * 0x00000101u) & 0x0F00F00Fu;
    v = (v * 0x00000011u) & 0xC30C30C3u;
    v = (v * 0x00000005u) & 0x49249249u;
    return v;
}

__global__ void k170b(unsigned *__restrict__ code, const float *__restrict__ x, const float *__restrict__ y,
                      const float *__restrict__ z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    code[i] = spread(cell_of(x[i])) * 4 + spread(cell_of(y[i])) * 2 + spread(cell_of(z[i]));
}

const int TARGETS = 132 * 2048, SOURCES = 2304, TILE = 256, PER = 4;
const float REACH2 = 9.0f, SOFT2 = 0.03f;

// What a polynomial takes from the force, since the mesh already gives it.
template <class T> __host__ __device__ inline T smooth_part(T r2)
{
    return T(0.269327f) +
           r2 * (T(-0.0750978f) +
                 r2 * (T(0.0114808f) + r2 * (T(-0.00109313f) + r2 * (T(0.0000605491f) + r2 * T(-0.00000147177f)))));
}

__device__ inline float inverse_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k170c(float *force, const float *tx, const float *ty, const float *tz, const float *x, const float *y,
                      const float *z, const float *mass, int targets, int sources)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= targets)
        return;
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < sources; j++) {
        float dx = x[j] - tx[i], dy = y[j] - ty[i], dz = z[j] - tz[i];
        float r2 = dx * dx + dy * dy + dz * dz;
        float m = r2 < REACH2 ? mass[j] : 0.0f;
        float f = m * (powf(r2 + SOFT2, -1.5f) - smooth_part(r2));
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    force[i] = ax;
    force[targets + i] = ay;
    force[2 * targets + i] = az;
}

__global__ void k170d(float *force, const float *tx, const float *ty, const float *tz, const float *x, const float *y,
                      const float *z, const float *mass, int targets, int sources)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= targets)
        return;
    float px = tx[i], py = ty[i], pz = tz[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < sources; j++) {
        float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
        float r2 = dx * dx + dy * dy + dz * dz;
        float m = r2 < REACH2 ? mass[j] : 0.0f;
        float inverse = inverse_root(r2 + SOFT2);
        float f = m * (inverse * inverse * inverse - smooth_part(r2));
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    force[i] = ax;
    force[targets + i] = ay;
    force[2 * targets + i] = az;
}

// Blocks of 128 threads for 512 targets.
__global__ void __launch_bounds__(128) k170e(float *__restrict__ force, const float *__restrict__ tx,
                                             const float *__restrict__ ty, const float *__restrict__ tz,
                                             const float4 *__restrict__ source, int targets, int sources)
{
    __shared__ float4 tile[TILE];
    int first = blockIdx.x * 128 * PER + threadIdx.x;
    float px[PER], py[PER], pz[PER], ax[PER], ay[PER], az[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) {
        px[k] = tx[first + k * 128];
        py[k] = ty[first + k * 128];
        pz[k] = tz[first + k * 128];
        ax[k] = ay[k] = az[k] = 0.0f;
    }
    for (int j0 = 0; j0 < sources; j0 += TILE) {
        tile[threadIdx.x] = source[j0 + threadIdx.x];
        tile[threadIdx.x + 128] = source[j0 + threadIdx.x + 128];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < TILE; j++) {
            float4 s = tile[j];
#pragma unroll
            for (int k = 0; k < PER; k++) {
                float dx = s.x - px[k], dy = s.y - py[k], dz = s.z - pz[k];
                float r2 = dx * dx + dy * dy + dz * dz;
                float m = r2 < REACH2 ? s.w : 0.0f;
                float inverse = inverse_root(r2 + SOFT2);
                float f = m * (inverse * inverse * inverse - smooth_part(r2));
                ax[k] += f * dx;
                ay[k] += f * dy;
                az[k] += f * dz;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < PER; k++) {
        force[first + k * 128] = ax[k];
        force[targets + first + k * 128] = ay[k];
        force[2 * targets + first + k * 128] = az[k];
    }
}

const int ROWS = 1 << 26, GROUPS = 1024;

__global__ void k170f(int *sum, const int *key, const int *value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sum[key[i]], value[i]);
}

__global__ void k170g(int *sum, const int *key, const int *value, int n)
{
    __shared__ int mine[GROUPS];
    for (int g = threadIdx.x; g < GROUPS; g += blockDim.x)
        mine[g] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[key[i]], value[i]);
    __syncthreads();
    for (int g = threadIdx.x; g < GROUPS; g += blockDim.x)
        atomicAdd(&sum[g], mine[g]);
}

__global__ void k170h(int *__restrict__ sum, const int4 *__restrict__ key, const int4 *__restrict__ value, int quads)
{
    __shared__ int mine[GROUPS];
    for (int g = threadIdx.x; g < GROUPS; g += blockDim.x)
        mine[g] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        int4 k = key[i], v = value[i];
        atomicAdd(&mine[k.x], v.x);
        atomicAdd(&mine[k.y], v.y);
        atomicAdd(&mine[k.z], v.z);
        atomicAdd(&mine[k.w], v.w);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < GROUPS; g += blockDim.x)
        atomicAdd(&sum[g], mine[g]);
}

__global__ void fill_particles(float *x, float *y, float *z)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PARTICLES; i += gridDim.x * blockDim.x) {
        x[i] = coordinate(i, 0);
        y[i] = coordinate(i, 1);
        z[i] = coordinate(i, 2);
    }
}

// Runs a launch on poisoned output and checks some rows of it: 0, every, 2 * every, ...
template <class T>
void sampled(const char *name, T *out, int row, int every, int rows, const std::vector<T> &want, double tolerance,
             std::function<void()> launch)
{
    const size_t bytes = row * sizeof(T);
    T *some = output<T>(want.size());
    MUST(cudaMemset(out, 0xA5, bytes * rows));
    launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, out, every * bytes, bytes, want.size() / row, cudaMemcpyDeviceToDevice));
    check(name, some, want, tolerance);
    MUST(cudaFree(some));
}

int main()
{
    float *x = output<float>(PARTICLES), *y = output<float>(PARTICLES), *z = output<float>(PARTICLES);
    unsigned *code = output<unsigned>(PARTICLES);
    fill_particles<<<1056, 256>>>(x, y, z);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    const int row = 1024, rows = PARTICLES / row, every = 32;
    std::vector<unsigned> codes;
    for (int r = 0; r < rows; r += every)
        for (int i = r * row; i < (r + 1) * row; i++)
            codes.push_back(interleave(cell_of(coordinate(i, 0)), cell_of(coordinate(i, 1)), cell_of(coordinate(i, 2)), 10));
    auto morton = [&](const char *name, std::function<void()> launch) {
        sampled(name, code, row, every, rows, codes, 0.0, launch);
    };
    const int blocks = PARTICLES / 256;
    morton("k170a", [&] { k170a<<<blocks, 256>>>(code, x, y, z, 10, PARTICLES); });
    morton("k170b", [&] { k170b<<<blocks, 256>>>(code, x, y, z, PARTICLES); });

    float *target[3], *source[3], *mass = input<float>(SOURCES, 1709, 0.5, 1.5), *force = output<float>(3 * TARGETS);
    std::vector<float> ht[3], hs[3], hm = on_host(mass, SOURCES), forces;
    for (int a = 0; a < 3; a++) {
        target[a] = input<float>(TARGETS, 1702 + a, 0.0, 8.0);
        source[a] = input<float>(SOURCES, 1705 + a, 0.0, 8.0);
        ht[a] = on_host(target[a], TARGETS);
        hs[a] = on_host(source[a], SOURCES);
    }
    std::vector<float4> packed(SOURCES);
    for (int j = 0; j < SOURCES; j++)
        packed[j] = make_float4(hs[0][j], hs[1][j], hs[2][j], hm[j]);
    float4 *sources = on_device(packed);
    // Rows of 256 targets of one component: x, y and z lie one after the other.
    const int strips = 3 * TARGETS / 256, skip = 96;
    for (int r = 0; r < strips; r += skip)
        for (int k = r * 256; k < (r + 1) * 256; k++) {
            int axis = k / TARGETS, i = k % TARGETS;
            double sum = 0;
            for (int j = 0; j < SOURCES; j++) {
                double dx = double(hs[0][j]) - ht[0][i], dy = double(hs[1][j]) - ht[1][i], dz = double(hs[2][j]) - ht[2][i];
                double r2 = dx * dx + dy * dy + dz * dz, soft = r2 + SOFT2;
                if (r2 < REACH2)
                    sum += hm[j] * (1 / (soft * std::sqrt(soft)) - smooth_part(r2)) * (axis == 0 ? dx : axis == 1 ? dy : dz);
            }
            forces.push_back(float(sum));
        }
    auto pulls = [&](const char *name, std::function<void()> launch) {
        sampled(name, force, 256, skip, strips, forces, 1e-3, launch);
    };
    float *tx = target[0], *ty = target[1], *tz = target[2], *sx = source[0], *sy = source[1], *sz = source[2];
    const int many = TARGETS / 256, few = TARGETS / (128 * PER);
    pulls("k170c", [&] { k170c<<<many, 256>>>(force, tx, ty, tz, sx, sy, sz, mass, TARGETS, SOURCES); });
    pulls("k170d", [&] { k170d<<<many, 256>>>(force, tx, ty, tz, sx, sy, sz, mass, TARGETS, SOURCES); });
    pulls("k170e", [&] { k170e<<<few, 128>>>(force, tx, ty, tz, sources, TARGETS, SOURCES); });

    int *key = input<int>(ROWS, 1710, 0, GROUPS), *value = input<int>(ROWS, 1711, 0, 100), *sum = output<int>(GROUPS);
    std::vector<int> sums(GROUPS, 0);
    {
        std::vector<int> hk = on_host(key, ROWS), hv = on_host(value, ROWS);
        for (int i = 0; i < ROWS; i++)
            sums[hk[i]] += hv[i];
    }
    auto grouped = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sum, 0, GROUPS * sizeof(int)));
        launch();
        check(name, sum, sums, 0.0);
    };
    const int4 *keys = reinterpret_cast<const int4 *>(key), *values = reinterpret_cast<const int4 *>(value);
    grouped("k170f", [&] { k170f<<<ROWS / 256, 256>>>(sum, key, value, ROWS); });
    grouped("k170g", [&] { k170g<<<132 * 8, 256>>>(sum, key, value, ROWS); });
    grouped("k170h", [&] { k170h<<<132 * 8, 256>>>(sum, keys, values, ROWS / 4); });
    return 0;
}
