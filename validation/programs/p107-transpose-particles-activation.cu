// Transpose of a matrix, a step of particles, and an activation of half-precision numbers.
#include "../harness.h"

#include <functional>

const int SIDE = 8192, TILE = 32, BLOCK_ROWS = 8;

__global__ void k107a(float *out, const float *in)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int width = gridDim.x * TILE;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        out[x * width + y + j] = in[(y + j) * width + x];
}

__global__ void k107b(float *out, const float *in)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int width = gridDim.x * TILE;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k107c(float *out, const float *in)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int width = gridDim.x * TILE;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k107d(float *out, const float *in)
{
    __shared__ float tile[TILE][TILE + 1];
    int block_y = blockIdx.x;
    int block_x = (blockIdx.x + blockIdx.y) % gridDim.x;
    int x = block_x * TILE + threadIdx.x;
    int y = block_y * TILE + threadIdx.y;
    int width = gridDim.x * TILE;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = block_y * TILE + threadIdx.x;
    y = block_x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

struct Particle {
    float x, y, z, mass, charge, radius, age, kind;
    float vx, vy, vz, ax, ay, az, heat, density;
};

const int PARTICLES = 1 << 23, FIELDS = 16;

__global__ void k107e(Particle *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        particles[i].x += particles[i].vx * dt;
        particles[i].y += particles[i].vy * dt;
        particles[i].z += particles[i].vz * dt;
    }
}

__global__ void k107f(float *__restrict__ x, float *__restrict__ y, float *__restrict__ z, const float *__restrict__ vx,
                      const float *__restrict__ vy, const float *__restrict__ vz, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += vx[i] * dt;
        y[i] += vy[i] * dt;
        z[i] += vz[i] * dt;
    }
}

// Field number `field` of every particle.
__global__ void fill_field(float *out, const Particle *particles, int field, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = reinterpret_cast<const float *>(particles)[(size_t)i * FIELDS + field];
}

const int NUMBERS = 1 << 27, SHARE = 64;

__device__ inline __half activated(__half v, float scale, float bias)
{
    return __float2half_rn(fmaxf(fmaf(scale, __half2float(v), bias), 0.0f));
}

__global__ void k107g(__half *out, const __half *in, float scale, float bias, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * SHARE;
    for (int i = first; i < first + SHARE; i++)
        if (i < n)
            out[i] = activated(in[i], scale, bias);
}

__global__ void k107h(__half *out, const __half *in, float scale, float bias, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = activated(in[i], scale, bias);
}

struct alignas(16) Eight {
    __half v[8];
};

__global__ void k107i(Eight *out, const Eight *in, float scale, float bias, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Eight e = in[i];
#pragma unroll
        for (int k = 0; k < 8; k++)
            e.v[k] = activated(e.v[k], scale, bias);
        out[i] = e;
    }
}

template <class T> void pick_rows(T *picked, const T *from, size_t width, int every, int count)
{
    const size_t bytes = width * sizeof(T);
    MUST(cudaMemcpy2D(picked, bytes, from, every * bytes, bytes, count, cudaMemcpyDeviceToDevice));
}

int main()
{
    const size_t n = (size_t)SIDE * SIDE;
    float *in = input<float>(n, 1071, -1.0, 1.0), *out = output<float>(n);
    // Rows 0, 61, 122, ... of the result.
    const int every = 61, rows = (SIDE - 1) / every + 1;
    std::vector<float> want((size_t)rows * SIDE);
    {
        std::vector<float> matrix = on_host(in, n);
        for (int i = 0; i < SIDE; i++)
            for (int r = 0; r < rows; r++)
                want[(size_t)r * SIDE + i] = matrix[(size_t)i * SIDE + r * every];
    }
    float *some = output<float>(want.size());
    auto transpose = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some, out, SIDE, every, rows);
        check(name, some, want, 0.0);
    };
    dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, BLOCK_ROWS);
    transpose("k107a", [&] { k107a<<<grid, block>>>(out, in); });
    transpose("k107b", [&] { k107b<<<grid, block>>>(out, in); });
    transpose("k107c", [&] { k107c<<<grid, block>>>(out, in); });
    transpose("k107d", [&] { k107d<<<grid, block>>>(out, in); });
    MUST(cudaFree(in));
    MUST(cudaFree(out));

    const int P = PARTICLES, threads = 256;
    const float dt = 0.01f;
    Particle *particles = reinterpret_cast<Particle *>(input<float>((size_t)P * FIELDS, 1072, -10.0, 10.0));
    const int wanted[6] = {0, 1, 2, 8, 9, 10};
    float *field[6];
    std::vector<float> host[6];
    for (int f = 0; f < 6; f++) {
        field[f] = output<float>(P);
        fill_field<<<P / threads, threads>>>(field[f], particles, wanted[f], P);
        MUST(cudaDeviceSynchronize());
        host[f] = on_host(field[f], P);
    }
    for (int f = 0; f < 3; f++)
        for (int i = 0; i < P; i++)
            host[f][i] += host[f + 3][i] * dt;
    k107e<<<P / threads, threads>>>(particles, dt, P);
    MUST(cudaGetLastError());
    float *moved = output<float>(P);
    for (int f = 0; f < 3; f++) {
        MUST(cudaMemset(moved, 0xA5, P * sizeof(float)));
        fill_field<<<P / threads, threads>>>(moved, particles, wanted[f], P);
        check("k107e", moved, host[f], 1e-6);
    }
    k107f<<<P / threads, threads>>>(field[0], field[1], field[2], field[3], field[4], field[5], dt, P);
    for (int f = 0; f < 3; f++)
        check("k107f", field[f], host[f], 1e-6);

    __half *half_in = input<__half>(NUMBERS, 1073, -4.0, 4.0), *half_out = output<__half>(NUMBERS);
    const float scale = 0.75f, bias = 0.125f;
    // Every 37th stretch of 2048 numbers.
    const int width = 2048, skip = 37, taken = (NUMBERS / width - 1) / skip + 1;
    const size_t sample = (size_t)taken * width;
    __half *half_some = output<__half>(sample);
    pick_rows(half_some, half_in, width, skip, taken);
    std::vector<__half> values = on_host(half_some, sample);
    std::vector<unsigned short> bits(sample);
    for (size_t i = 0; i < sample; i++) {
        float v = std::fmaf(scale, __half2float(values[i]), bias);
        __half h = __float2half_rn(v > 0.0f ? v : 0.0f);
        bits[i] = __half_as_ushort(h);
    }
    auto activate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(half_out, 0xA5, NUMBERS * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(half_some, half_out, width, skip, taken);
        check(name, reinterpret_cast<unsigned short *>(half_some), bits, 0.0);
    };
    activate("k107g", [&] { k107g<<<NUMBERS / SHARE / threads, threads>>>(half_out, half_in, scale, bias, NUMBERS); });
    activate("k107h", [&] { k107h<<<NUMBERS / threads, threads>>>(half_out, half_in, scale, bias, NUMBERS); });
    activate("k107i", [&] {
        k107i<<<NUMBERS / 8 / threads, threads>>>(reinterpret_cast<Eight *>(half_out),
                                                  reinterpret_cast<const Eight *>(half_in), scale, bias, NUMBERS / 8);
    });
    return 0;
}
