// Trailing update of a blocked LU factorisation, the drift of particles, and edit distances of many pairs of short
// sequences.
#include "../harness.h"

#include <functional>

const int SIZE = 8192, PANEL = 16;

__global__ void k151a(float *__restrict__ matrix, const float *__restrict__ lower, const float *__restrict__ upper,
                      int size)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < PANEL; k++)
        sum += lower[row * PANEL + k] * upper[k * size + column];
    matrix[row * size + column] -= sum;
}

__global__ void k151b(float *__restrict__ matrix, const float *__restrict__ lower, const float *__restrict__ upper,
                      int size)
{
    __shared__ float left[PANEL][PANEL], top[PANEL][PANEL];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * PANEL + tx, row = blockIdx.y * PANEL + ty;
    left[ty][tx] = lower[row * PANEL + tx];
    top[ty][tx] = upper[ty * size + column];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < PANEL; k++)
        sum += left[ty][k] * top[k][tx];
    matrix[row * size + column] -= sum;
}

// A block of 16 x 16 threads updates 64 x 64 numbers.
__global__ void __launch_bounds__(256) k151c(float *__restrict__ matrix, const float *__restrict__ lower,
                                             const float *__restrict__ upper, int size)
{
    __shared__ float4 left[PANEL][17], top[PANEL][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * 64 + tx * 4, row = blockIdx.y * 64 + ty * 4;
    float4 m[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        m[i] = *reinterpret_cast<const float4 *>(&matrix[(row + i) * size + column]);
    top[ty][tx] = *reinterpret_cast<const float4 *>(&upper[ty * size + column]);
    const float *from = lower + row * PANEL + tx;
    left[tx][ty] = make_float4(from[0], from[PANEL], from[2 * PANEL], from[3 * PANEL]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PANEL; k++) {
        float4 l = left[k][ty], u = top[k][tx];
        float rows[4] = {l.x, l.y, l.z, l.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            m[i].x -= rows[i] * u.x;
            m[i].y -= rows[i] * u.y;
            m[i].z -= rows[i] * u.z;
            m[i].w -= rows[i] * u.w;
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        *reinterpret_cast<float4 *>(&matrix[(row + i) * size + column]) = m[i];
}

const int PARTICLES = 1 << 24;

struct Particle {
    float x, y, z, vx, vy, vz, charge, mass;
};

__global__ void k151d(Particle *particle, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        particle[i].x += particle[i].vx * dt;
        particle[i].y += particle[i].vy * dt;
        particle[i].z += particle[i].vz * dt;
    }
}

__global__ void k151e(float *__restrict__ x, float *__restrict__ y, float *__restrict__ z, const float *__restrict__ vx,
                      const float *__restrict__ vy, const float *__restrict__ vz, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += vx[i] * dt;
        y[i] += vy[i] * dt;
        z[i] += vz[i] * dt;
    }
}

__device__ inline float4 drifted(float4 p, float4 v, float dt)
{
    return make_float4(p.x + v.x * dt, p.y + v.y * dt, p.z + v.z * dt, p.w + v.w * dt);
}

__global__ void k151f(float4 *__restrict__ x, float4 *__restrict__ y, float4 *__restrict__ z,
                      const float4 *__restrict__ vx, const float4 *__restrict__ vy, const float4 *__restrict__ vz,
                      float dt, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        x[i] = drifted(x[i], vx[i], dt);
        y[i] = drifted(y[i], vy[i], dt);
        z[i] = drifted(z[i], vz[i], dt);
    }
}

const int PAIRS = 1 << 21, LENGTH = 32;

// Letters are numbers from 0 to 3; letter i of pair p is at i * pairs + p.
__global__ void k151g(int *__restrict__ distance, const unsigned char *__restrict__ pattern,
                      const unsigned char *__restrict__ text, int pairs, int length)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs)
        return;
    int row[LENGTH + 1];
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 0; i < length; i++) {
        int letter = text[i * pairs + p], diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < length; j++) {
            int above = row[j + 1];
            int replaced = diagonal + (pattern[j * pairs + p] != letter);
            row[j + 1] = min(replaced, min(above, row[j]) + 1);
            diagonal = above;
        }
    }
    distance[p] = row[length];
}

__global__ void k151h(int *__restrict__ distance, const unsigned char *__restrict__ pattern,
                      const unsigned char *__restrict__ text, int pairs)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs)
        return;
    int row[LENGTH + 1], own[LENGTH];
    row[0] = 0;
#pragma unroll
    for (int j = 0; j < LENGTH; j++) {
        row[j + 1] = j + 1;
        own[j] = pattern[j * pairs + p];
    }
#pragma unroll 1
    for (int i = 0; i < LENGTH; i++) {
        int letter = text[i * pairs + p], diagonal = row[0];
        row[0] = i + 1;
#pragma unroll
        for (int j = 0; j < LENGTH; j++) {
            int above = row[j + 1];
            int replaced = diagonal + (own[j] != letter);
            row[j + 1] = min(replaced, min(above, row[j]) + 1);
            diagonal = above;
        }
    }
    distance[p] = row[LENGTH];
}

__global__ void k151i(int *__restrict__ distance, const unsigned char *__restrict__ pattern,
                      const unsigned char *__restrict__ text, int pairs)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pairs)
        return;
    unsigned low = 0, high = 0;
#pragma unroll
    for (int j = 0; j < LENGTH; j++) {
        unsigned letter = pattern[j * pairs + p];
        low |= (letter & 1) << j;
        high |= (letter >> 1) << j;
    }
    unsigned plus = ~0u, minus = 0;
    int score = LENGTH;
#pragma unroll
    for (int i = 0; i < LENGTH; i++) {
        unsigned letter = text[i * pairs + p];
        unsigned equal = ~(low ^ (0u - (letter & 1))) & ~(high ^ (0u - (letter >> 1)));
        unsigned zero = (((equal & plus) + plus) ^ plus) | equal | minus;
        unsigned up = minus | ~(zero | plus), down = zero & plus;
        score += int(up >> 31) - int(down >> 31);
        up = up << 1 | 1;
        plus = down << 1 | ~(zero | up);
        minus = up & zero;
    }
    distance[p] = score;
}

// The second sequence is the first with some letters changed, and shifted by one place in every other pair.
__global__ void fill_text(unsigned char *text, const unsigned char *pattern)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PAIRS * LENGTH; i += gridDim.x * blockDim.x) {
        unsigned r = scrambled(i, 1519);
        int from = i % PAIRS % 2 ? (i + PAIRS) % (PAIRS * LENGTH) : i;
        text[i] = r % 4 ? pattern[from] : (unsigned char)(r >> 30);
    }
}

// The particles array by array: x of all, then y, and so on.
__global__ void fill_arrays(float *arrays, const float *particles)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PARTICLES * 6; i += gridDim.x * blockDim.x)
        arrays[i] = particles[(i % PARTICLES) * 8 + i / PARTICLES];
}

int main()
{
    const size_t numbers = (size_t)SIZE * SIZE;
    float *matrix = input<float>(numbers, 1511, -1.0, 1.0), *updated = output<float>(numbers);
    float *lower = input<float>(SIZE * PANEL, 1512, -1.0, 1.0), *upper = input<float>(SIZE * PANEL, 1513, -1.0, 1.0);
    std::vector<float> hm = on_host(matrix, numbers), hl = on_host(lower, SIZE * PANEL);
    std::vector<float> hu = on_host(upper, SIZE * PANEL), first;
    // Every 31st row: 0, 31, ..., 8184.
    const int apart = 31, rows = (SIZE - 1) / apart + 1;
    std::vector<float> sample((size_t)rows * SIZE);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < SIZE; c++) {
            double sum = 0;
            for (int k = 0; k < PANEL; k++)
                sum += double(hl[r * apart * PANEL + k]) * hu[k * SIZE + c];
            sample[r * SIZE + c] = float(hm[(size_t)r * apart * SIZE + c] - sum);
        }
    float *some = output<float>((size_t)rows * SIZE);
    auto trailing = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(updated, matrix, numbers * sizeof(float), cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = SIZE * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, updated, apart * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
        check(name, some, sample, 1e-5);
        if (first.empty())
            first = on_host(updated, numbers);
        else
            check(name, updated, first, 1e-5);
    };
    dim3 square(16, 16);
    trailing("k151a", [&] { k151a<<<dim3(SIZE / 16, SIZE / 16), square>>>(updated, lower, upper, SIZE); });
    trailing("k151b", [&] { k151b<<<dim3(SIZE / 16, SIZE / 16), square>>>(updated, lower, upper, SIZE); });
    trailing("k151c", [&] { k151c<<<dim3(SIZE / 64, SIZE / 64), square>>>(updated, lower, upper, SIZE); });
    MUST(cudaFree(matrix));
    MUST(cudaFree(updated));

    const float dt = 0.25f;
    float *particles = input<float>((size_t)PARTICLES * 8, 1514, -1.0, 1.0);
    float *arrays = output<float>((size_t)PARTICLES * 6);
    fill_arrays<<<1056, 256>>>(arrays, particles);
    MUST(cudaDeviceSynchronize());
    // 64 of every 1024 particles.
    const int part = 64, skip = 1024, parts = PARTICLES / skip;
    std::vector<float> hp = on_host(particles, (size_t)PARTICLES * 8);
    std::vector<float> together((size_t)parts * part * 8), apiece((size_t)parts * part * 3);
    for (int c = 0; c < parts; c++)
        for (int i = 0; i < part; i++)
            for (int d = 0; d < 8; d++) {
                const float *p = &hp[((size_t)c * skip + i) * 8];
                float v = d < 3 ? float(double(p[d]) + double(p[d + 3]) * dt) : p[d];
                together[((size_t)c * part + i) * 8 + d] = v;
                if (d < 3)
                    apiece[((size_t)d * parts + c) * part + i] = v;
            }
    float *chosen = output<float>(together.size());
    float *moving = output<float>((size_t)PARTICLES * 8);
    auto drift = [&](const char *name, bool structs, std::function<void()> launch) {
        const float *from = structs ? particles : arrays;
        MUST(cudaMemcpy(moving, from, (size_t)PARTICLES * (structs ? 32 : 24), cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (structs)
            MUST(cudaMemcpy2D(chosen, part * 32, moving, skip * 32, part * 32, parts, cudaMemcpyDeviceToDevice));
        else
            MUST(cudaMemcpy2D(chosen, part * 4, moving, skip * 4, part * 4, 3 * parts, cudaMemcpyDeviceToDevice));
        check(name, chosen, structs ? together : apiece, 1e-6);
    };
    float *p[6];
    float4 *q[6];
    for (int d = 0; d < 6; d++) {
        p[d] = moving + (size_t)d * PARTICLES;
        q[d] = reinterpret_cast<float4 *>(p[d]);
    }
    const int blocks = PARTICLES / 256;
    Particle *all = reinterpret_cast<Particle *>(moving);
    drift("k151d", true, [&] { k151d<<<blocks, 256>>>(all, dt, PARTICLES); });
    drift("k151e", false, [&] { k151e<<<blocks, 256>>>(p[0], p[1], p[2], p[3], p[4], p[5], dt, PARTICLES); });
    drift("k151f", false, [&] { k151f<<<blocks / 4, 256>>>(q[0], q[1], q[2], q[3], q[4], q[5], dt, PARTICLES / 4); });

    const size_t letters = (size_t)PAIRS * LENGTH;
    unsigned char *pattern = input<unsigned char>(letters, 1515, 0.0, 4.0), *text = output<unsigned char>(letters);
    fill_text<<<1056, 256>>>(text, pattern);
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned char> ha = on_host(pattern, letters), hb = on_host(text, letters);
    int *distance = output<int>(PAIRS), *few = output<int>(PAIRS / 64);
    std::vector<int> known(PAIRS / 64), before;
    // Every 64th pair and the one after it in turn: 0, 65, 128, 193, ...
    for (int s = 0; s < PAIRS / 64; s++) {
        int pair = s * 64 + s % 2, row[2][LENGTH + 1];
        for (int j = 0; j <= LENGTH; j++)
            row[0][j] = j;
        for (int i = 0; i < LENGTH; i++) {
            const int *above = row[i % 2];
            int *below = row[(i + 1) % 2];
            below[0] = i + 1;
            for (int j = 0; j < LENGTH; j++) {
                int change = ha[(size_t)j * PAIRS + pair] != hb[(size_t)i * PAIRS + pair];
                below[j + 1] = std::min(above[j] + change, std::min(above[j + 1], below[j]) + 1);
            }
        }
        known[s] = row[LENGTH % 2][LENGTH];
    }
    auto edits = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(distance, 0xA5, PAIRS * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(few, 8, distance, 512, 4, PAIRS / 128, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy2D(few + 1, 8, distance + 65, 512, 4, PAIRS / 128, cudaMemcpyDeviceToDevice));
        check(name, few, known, 0);
        if (before.empty())
            before = on_host(distance, PAIRS);
        else
            check(name, distance, before, 0);
    };
    edits("k151g", [&] { k151g<<<PAIRS / 128, 128>>>(distance, pattern, text, PAIRS, LENGTH); });
    edits("k151h", [&] { k151h<<<PAIRS / 128, 128>>>(distance, pattern, text, PAIRS); });
    edits("k151i", [&] { k151i<<<PAIRS / 128, 128>>>(distance, pattern, text, PAIRS); });
    return 0;
}
