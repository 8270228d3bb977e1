// Gravitation between all bodies (the first `heavy` ones attract, the others are tracers), one sweep of Jacobi's method on
// a plane grid, and the triad of the STREAM benchmark.
#include "../harness.h"

#include <functional>

const int BODIES = 65536, HEAVY = 32768, BLOCK = 256;
#define SOFTENING 0.01f

struct Body {
    float x, y, z, vx, vy, vz;
};

__global__ void k226a(Body *p, float dt, int n, int heavy)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        for (int j = 0; j < heavy; j++) {
            float dx = p[j].x - p[i].x;
            float dy = p[j].y - p[i].y;
            float dz = p[j].z - p[i].z;
            float distSqr = dx * dx + dy * dy + dz * dz + SOFTENING;
            float invDist = 1.0f / sqrtf(distSqr);
            float invDist3 = invDist * invDist * invDist;
            Fx += dx * invDist3;
            Fy += dy * invDist3;
            Fz += dz * invDist3;
        }
        p[i].vx += dt * Fx;
        p[i].vy += dt * Fy;
        p[i].vz += dt * Fz;
    }
}

__global__ void k226b(const float4 *p, float4 *v, float dt, int n, int heavy)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        float4 mine = p[i];
        for (int j = 0; j < heavy; j++) {
            float4 other = p[j];
            float dx = other.x - mine.x;
            float dy = other.y - mine.y;
            float dz = other.z - mine.z;
            float distSqr = dx * dx + dy * dy + dz * dz + SOFTENING;
            float invDist = 1.0f / sqrtf(distSqr);
            float invDist3 = invDist * invDist * invDist;
            Fx += dx * invDist3;
            Fy += dy * invDist3;
            Fz += dz * invDist3;
        }
        v[i].x += dt * Fx;
        v[i].y += dt * Fy;
        v[i].z += dt * Fz;
    }
}

__device__ inline float inverse_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline void attract(float4 mine, float4 other, float &Fx, float &Fy, float &Fz)
{
    float dx = other.x - mine.x;
    float dy = other.y - mine.y;
    float dz = other.z - mine.z;
    float distSqr = dx * dx + dy * dy + dz * dz + SOFTENING;
    float invDist = inverse_root(distSqr);
    float invDist3 = invDist * invDist * invDist;
    Fx += dx * invDist3;
    Fy += dy * invDist3;
    Fz += dz * invDist3;
}

__global__ void k226c(const float4 *p, float4 *v, float dt, int n, int heavy)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
        float4 mine = p[i];
        for (int j = 0; j < heavy; j++)
            attract(mine, p[j], Fx, Fy, Fz);
        v[i].x += dt * Fx;
        v[i].y += dt * Fy;
        v[i].z += dt * Fz;
    }
}

__global__ void k226d(const float4 *p, float4 *v, float dt, int heavy)
{
    __shared__ float4 tile[BLOCK];
    int i = BLOCK * blockIdx.x + threadIdx.x;
    float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
    float4 mine = p[i];
    for (int start = 0; start < heavy; start += BLOCK) {
        tile[threadIdx.x] = p[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++)
            attract(mine, tile[j], Fx, Fy, Fz);
        __syncthreads();
    }
    v[i].x += dt * Fx;
    v[i].y += dt * Fy;
    v[i].z += dt * Fz;
}

__global__ void k226e(const float4 *p, float4 *v, float dt, int heavy)
{
    __shared__ float4 tile[BLOCK];
    int i = 2 * BLOCK * blockIdx.x + threadIdx.x;
    float Fx = 0.0f, Fy = 0.0f, Fz = 0.0f;
    float Gx = 0.0f, Gy = 0.0f, Gz = 0.0f;
    float4 mine = p[i], second = p[i + BLOCK];
    for (int start = 0; start < heavy; start += BLOCK) {
        tile[threadIdx.x] = p[start + threadIdx.x];
        __syncthreads();
#pragma unroll 32
        for (int j = 0; j < BLOCK; j++) {
            float4 other = tile[j];
            attract(mine, other, Fx, Fy, Fz);
            attract(second, other, Gx, Gy, Gz);
        }
        __syncthreads();
    }
    v[i].x += dt * Fx;
    v[i].y += dt * Fy;
    v[i].z += dt * Fz;
    v[i + BLOCK].x += dt * Gx;
    v[i + BLOCK].y += dt * Gy;
    v[i + BLOCK].z += dt * Gz;
}

__global__ void k226f(double *next, const double *u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
        next[i * n + j] = 0.25 * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1]);
}

__global__ void k226g(double *next, const double *u, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
        next[i * n + j] = 0.25 * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1]);
}

__global__ void k226h(double *a, const double *b, const double *c, double scalar, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + scalar * c[i];
}

__global__ void k226i(double2 *a, const double2 *b, const double2 *c, double scalar, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double2 left = b[i], right = c[i];
        a[i] = make_double2(left.x + scalar * right.x, left.y + scalar * right.y);
    }
}

__global__ void fill_bodies(Body *bodies, float4 *place, float4 *speed, const float *raw, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float *r = raw + (size_t)i * 6;
        bodies[i] = Body{r[0], r[1], r[2], r[3], r[4], r[5]};
        place[i] = make_float4(r[0], r[1], r[2], 0.0f);
        speed[i] = make_float4(r[3], r[4], r[5], 0.0f);
    }
}

double random_value(unsigned long long i, unsigned seed)
{
    return scrambled(i, seed) / 4294967296.0;
}

int main()
{
    // Velocities of every 1021st body are compared.
    const int every = 1021, chosen = (BODIES - 1) / every + 1;
    const float dt = 1e-4f;
    float *raw = input<float>((size_t)BODIES * 6, 2261, -1.0, 1.0);
    std::vector<float> host = on_host(raw, (size_t)BODIES * 6);
    Body *bodies = output<Body>(BODIES);
    float4 *place = output<float4>(BODIES), *speed = output<float4>(BODIES);
    float *some = output<float>((size_t)chosen * 3);
    std::vector<float> want((size_t)chosen * 3);
    for (int s = 0; s < chosen; s++) {
        const float *mine = &host[(size_t)s * every * 6];
        double F[3] = {0.0, 0.0, 0.0};
        for (int j = 0; j < HEAVY; j++) {
            double d[3], r2 = SOFTENING;
            for (int k = 0; k < 3; k++) {
                d[k] = double(host[(size_t)j * 6 + k]) - mine[k];
                r2 += d[k] * d[k];
            }
            double inverse = 1.0 / (r2 * std::sqrt(r2));
            for (int k = 0; k < 3; k++)
                F[k] += d[k] * inverse;
        }
        for (int k = 0; k < 3; k++)
            want[s * 3 + k] = float(mine[3 + k] + dt * F[k]);
    }
    auto gravity = [&](const char *name, const float *where, size_t stride, std::function<void()> launch) {
        fill_bodies<<<BODIES / 256, 256>>>(bodies, place, speed, raw, BODIES);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = 3 * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, where, every * stride, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 2e-4);
    };
    const float *old = &bodies->vx, *now = &speed->x;
    const int grid = BODIES / BLOCK;
    gravity("k226a", old, sizeof(Body), [&] { k226a<<<grid, BLOCK>>>(bodies, dt, BODIES, HEAVY); });
    gravity("k226b", now, sizeof(float4), [&] { k226b<<<grid, BLOCK>>>(place, speed, dt, BODIES, HEAVY); });
    gravity("k226c", now, sizeof(float4), [&] { k226c<<<grid, BLOCK>>>(place, speed, dt, BODIES, HEAVY); });
    gravity("k226d", now, sizeof(float4), [&] { k226d<<<grid, BLOCK>>>(place, speed, dt, HEAVY); });
    gravity("k226e", now, sizeof(float4), [&] { k226e<<<grid / 2, BLOCK>>>(place, speed, dt, HEAVY); });

    // Rows 1, 62, 123, ... of the grid are compared, without the two ends of each.
    const int side = 8192, skip = 61, rows = (side - 3) / skip + 1, inner = side - 2;
    const size_t cells = (size_t)side * side;
    double *u = input<double>(cells, 2262, 0.0, 1.0), *next = output<double>(cells);
    double *picked = output<double>((size_t)rows * inner);
    std::vector<double> relaxed((size_t)rows * inner);
    for (int t = 0; t < rows; t++)
        for (int c = 0; c < inner; c++) {
            size_t at = (size_t)(1 + t * skip) * side + c + 1;
            relaxed[(size_t)t * inner + c] = 0.25 * (random_value(at - side, 2262) + random_value(at + side, 2262) +
                                                     random_value(at - 1, 2262) + random_value(at + 1, 2262));
        }
    auto sweep = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, cells * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = inner * sizeof(double);
        MUST(cudaMemcpy2D(picked, bytes, next + side + 1, (size_t)skip * side * sizeof(double), bytes, rows,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, relaxed, 1e-12);
    };
    dim3 block(32, 8), thirds(side / 32, side / 8);
    sweep("k226f", [&] { k226f<<<thirds, block>>>(next, u, side); });
    sweep("k226g", [&] { k226g<<<thirds, block>>>(next, u, side); });
    MUST(cudaFree(u));
    MUST(cudaFree(next));

    // Pieces of 1000 elements, 100 003 apart, and the last 1000 are compared.
    const int n = 1 << 25, piece = 1000, apart = 100003, pieces = (n - piece) / apart + 1;
    const double scalar = 3.0;
    double *a = output<double>(n), *b = input<double>(n, 2263, 0.0, 1.0), *c = input<double>(n, 2264, 0.0, 1.0);
    double *shown = output<double>((size_t)(pieces + 1) * piece);
    std::vector<double> triads((size_t)(pieces + 1) * piece);
    for (int t = 0; t <= pieces; t++)
        for (int i = 0; i < piece; i++) {
            size_t at = t < pieces ? (size_t)t * apart + i : (size_t)n - piece + i;
            triads[(size_t)t * piece + i] = random_value(at, 2263) + scalar * random_value(at, 2264);
        }
    auto stream = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(a, 0xA5, n * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = piece * sizeof(double);
        MUST(cudaMemcpy2D(shown, bytes, a, apart * sizeof(double), bytes, pieces, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(shown + (size_t)pieces * piece, a + n - piece, bytes, cudaMemcpyDeviceToDevice));
        check(name, shown, triads, 1e-12);
    };
    double2 *a2 = reinterpret_cast<double2 *>(a);
    const double2 *b2 = reinterpret_cast<const double2 *>(b), *c2 = reinterpret_cast<const double2 *>(c);
    stream("k226h", [&] { k226h<<<n / 256, 256>>>(a, b, c, scalar, n); });
    stream("k226i", [&] { k226i<<<n / 512, 256>>>(a2, b2, c2, scalar, n / 2); });
    return 0;
}
