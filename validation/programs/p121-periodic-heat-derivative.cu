// A time step of heat conduction in a periodic box, and the derivative of a periodic field along its second direction
// with a nine-point formula.
#include "../harness.h"

#include <functional>

const int SIDE = 384, DEPTH = 32;

// Thread number idx runs through z, then y, then x; x is the direction that is contiguous in memory.
__global__ void k121a(float *next, const float *now, float alpha, int nx, int ny, int nz)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= nx * ny * nz)
        return;
    int z = idx % nz, y = idx / nz % ny, x = idx / (nz * ny);
    int left = (x + nx - 1) % nx, right = (x + 1) % nx;
    int front = (y + ny - 1) % ny, back = (y + 1) % ny;
    int below = (z + nz - 1) % nz, above = (z + 1) % nz;
    float here = now[(z * ny + y) * nx + x];
    float sum = now[(z * ny + y) * nx + left] + now[(z * ny + y) * nx + right] + now[(z * ny + front) * nx + x] +
                now[(z * ny + back) * nx + x] + now[(below * ny + y) * nx + x] + now[(above * ny + y) * nx + x];
    next[(z * ny + y) * nx + x] = here + alpha * (sum - 6.0f * here);
}

__global__ void k121b(float *next, const float *now, float alpha, int nx, int ny, int nz)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= nx * ny * nz)
        return;
    int x = idx % nx, y = idx / nx % ny, z = idx / (nx * ny);
    int left = (x + nx - 1) % nx, right = (x + 1) % nx;
    int front = (y + ny - 1) % ny, back = (y + 1) % ny;
    int below = (z + nz - 1) % nz, above = (z + 1) % nz;
    float here = now[(z * ny + y) * nx + x];
    float sum = now[(z * ny + y) * nx + left] + now[(z * ny + y) * nx + right] + now[(z * ny + front) * nx + x] +
                now[(z * ny + back) * nx + x] + now[(below * ny + y) * nx + x] + now[(above * ny + y) * nx + x];
    next[(z * ny + y) * nx + x] = here + alpha * (sum - 6.0f * here);
}

// The sides are multiples of the block's.
__global__ void k121c(float *next, const float *now, float alpha, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    int left = x > 0 ? x - 1 : nx - 1, right = x + 1 < nx ? x + 1 : 0;
    int front = y > 0 ? y - 1 : ny - 1, back = y + 1 < ny ? y + 1 : 0;
    int below = z > 0 ? z - 1 : nz - 1, above = z + 1 < nz ? z + 1 : 0;
    float here = now[(z * ny + y) * nx + x];
    float sum = now[(z * ny + y) * nx + left] + now[(z * ny + y) * nx + right] + now[(z * ny + front) * nx + x] +
                now[(z * ny + back) * nx + x] + now[(below * ny + y) * nx + x] + now[(above * ny + y) * nx + x];
    next[(z * ny + y) * nx + x] = here + alpha * (sum - 6.0f * here);
}

__global__ void k121d(float *__restrict__ next, const float *__restrict__ now, float alpha, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int from = blockIdx.z * DEPTH;
    int left = x > 0 ? x - 1 : nx - 1, right = x + 1 < nx ? x + 1 : 0;
    int front = y > 0 ? y - 1 : ny - 1, back = y + 1 < ny ? y + 1 : 0;
    int plane = nx * ny, at = y * nx + x;
    float below = now[(from > 0 ? from - 1 : nz - 1) * plane + at];
    float here = now[from * plane + at];
#pragma unroll 4
    for (int z = from; z < from + DEPTH; z++) {
        const float *flat = now + z * plane;
        float above = now[(z + 1 < nz ? z + 1 : 0) * plane + at];
        float sum = flat[y * nx + left] + flat[y * nx + right] + flat[front * nx + x] + flat[back * nx + x] + below + above;
        next[z * plane + at] = here + alpha * (sum - 6.0f * here);
        below = here;
        here = above;
    }
}

__global__ void k121e(float *__restrict__ next, const float *__restrict__ now, float alpha, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int from = blockIdx.z * DEPTH;
    int left = x > 0 ? x - 1 : nx - 1, right = x + 1 < nx ? x + 1 : 0;
    int front = y > 0 ? y - 1 : ny - 1, back = y + 1 < ny ? y + 1 : 0;
    int plane = nx * ny, at = y * nx + x;
    float below = __ldg(&now[(from > 0 ? from - 1 : nz - 1) * plane + at]);
    float here = __ldg(&now[from * plane + at]);
#pragma unroll 4
    for (int z = from; z < from + DEPTH; z++) {
        const float *flat = now + z * plane;
        float above = __ldg(&now[(z + 1 < nz ? z + 1 : 0) * plane + at]);
        float sum = __ldg(&flat[y * nx + left]) + __ldg(&flat[y * nx + right]) + __ldg(&flat[front * nx + x]) +
                    __ldg(&flat[back * nx + x]) + below + above;
        next[z * plane + at] = here + alpha * (sum - 6.0f * here);
        below = here;
        here = above;
    }
}

const int NX = 512, NY = 128, NZ = 768;
const float C1 = 4.0f / 5.0f, C2 = -1.0f / 5.0f, C3 = 4.0f / 105.0f, C4 = -1.0f / 280.0f;

__global__ void k121f(float *df, const float *f, float scale, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    const float *flat = f + (size_t)z * ny * nx + x;
    int p1 = y + 1 < ny ? y + 1 : y + 1 - ny, m1 = y >= 1 ? y - 1 : y - 1 + ny;
    int p2 = y + 2 < ny ? y + 2 : y + 2 - ny, m2 = y >= 2 ? y - 2 : y - 2 + ny;
    int p3 = y + 3 < ny ? y + 3 : y + 3 - ny, m3 = y >= 3 ? y - 3 : y - 3 + ny;
    int p4 = y + 4 < ny ? y + 4 : y + 4 - ny, m4 = y >= 4 ? y - 4 : y - 4 + ny;
    float d = C1 * (flat[p1 * nx] - flat[m1 * nx]) + C2 * (flat[p2 * nx] - flat[m2 * nx]) +
              C3 * (flat[p3 * nx] - flat[m3 * nx]) + C4 * (flat[p4 * nx] - flat[m4 * nx]);
    df[((size_t)z * ny + y) * nx + x] = scale * d;
}

// Four lines of NY points for a block.
__global__ void k121g(float *df, const float *f, float scale, int nx)
{
    __shared__ float tile[NY + 8][4];
    int tx = threadIdx.x, y = threadIdx.y, j = y + 4;
    size_t at = ((size_t)blockIdx.y * NY + y) * nx + blockIdx.x * 4 + tx;
    tile[j][tx] = f[at];
    __syncthreads();
    if (y < 4) {
        tile[y][tx] = tile[y + NY][tx];
        tile[y + NY + 4][tx] = tile[y + 4][tx];
    }
    __syncthreads();
    float d = C1 * (tile[j + 1][tx] - tile[j - 1][tx]) + C2 * (tile[j + 2][tx] - tile[j - 2][tx]) +
              C3 * (tile[j + 3][tx] - tile[j - 3][tx]) + C4 * (tile[j + 4][tx] - tile[j - 4][tx]);
    df[at] = scale * d;
}

const int PER = 8;

// 32 lines of NY points for a block of 32 x 16 threads.
__global__ void k121h(float *__restrict__ df, const float *__restrict__ f, float scale, int nx)
{
    __shared__ float tile[NY + 8][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    size_t base = (size_t)blockIdx.y * NY * nx + blockIdx.x * 32 + tx;
#pragma unroll
    for (int i = 0; i < PER; i++) {
        int y = ty + i * (NY / PER);
        tile[y + 4][tx] = f[base + (size_t)y * nx];
    }
    __syncthreads();
    if (ty < 4) {
        tile[ty][tx] = tile[ty + NY][tx];
        tile[ty + NY + 4][tx] = tile[ty + 4][tx];
    }
    __syncthreads();
    float v[PER + 8];
#pragma unroll
    for (int i = 0; i < PER + 8; i++)
        v[i] = tile[ty * PER + i][tx];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        float d = C1 * (v[i + 5] - v[i + 3]) + C2 * (v[i + 6] - v[i + 2]) + C3 * (v[i + 7] - v[i + 1]) +
                  C4 * (v[i + 8] - v[i]);
        df[base + (size_t)(ty * PER + i) * nx] = scale * d;
    }
}

// Every step-th number, counted from the end.
__global__ void pick_every(float *dst, const float *src, int count, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        dst[i] = src[n - 1 - i * step];
}

int main()
{
    const int step = 61;
    {
        const int nx = SIDE, ny = SIDE, nz = SIDE, n = nx * ny * nz, count = (n - 1) / step + 1;
        const float alpha = 0.15f;
        float *now = input<float>(n, 1211, 0.0, 10.0), *next = output<float>(n), *some = output<float>(count);
        std::vector<float> u = on_host(now, n), want(count);
        for (int i = 0; i < count; i++) {
            int at = n - 1 - i * step, x = at % nx, y = at / nx % ny, z = at / (nx * ny);
            auto value = [&](int a, int b, int c) {
                return double(u[((c + nz) % nz * ny + (b + ny) % ny) * nx + (a + nx) % nx]);
            };
            double sum = value(x - 1, y, z) + value(x + 1, y, z) + value(x, y - 1, z) + value(x, y + 1, z) +
                         value(x, y, z - 1) + value(x, y, z + 1);
            want[i] = float(u[at] + alpha * (sum - 6 * double(u[at])));
        }
        auto heat = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(next, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            pick_every<<<(count + 255) / 256, 256>>>(some, next, count, step, n);
            check(name, some, want, 1e-5);
        };
        const int linear = (n + 255) / 256;
        dim3 block(32, 8), flat(nx / 32, ny / 8, nz), thick(nx / 32, ny / 8, nz / DEPTH);
        heat("k121a", [&] { k121a<<<linear, 256>>>(next, now, alpha, nx, ny, nz); });
        heat("k121b", [&] { k121b<<<linear, 256>>>(next, now, alpha, nx, ny, nz); });
        heat("k121c", [&] { k121c<<<flat, block>>>(next, now, alpha, nx, ny, nz); });
        heat("k121d", [&] { k121d<<<thick, block>>>(next, now, alpha, nx, ny, nz); });
        heat("k121e", [&] { k121e<<<thick, block>>>(next, now, alpha, nx, ny, nz); });
        for (float *p : {now, next, some})
            MUST(cudaFree(p));
    }

    const int n = NX * NY * NZ, count = (n - 1) / step + 1;
    const float scale = 3.0f;
    float *f = input<float>(n, 1212, -1.0, 1.0), *df = output<float>(n), *some = output<float>(count);
    std::vector<float> h = on_host(f, n), want(count);
    const double c[5] = {0.0, 0.8, -0.2, 4.0 / 105, -1.0 / 280};
    for (int i = 0; i < count; i++) {
        int at = n - 1 - i * step, x = at % NX, y = at / NX % NY, z = at / (NX * NY);
        double sum = 0;
        for (int k = 1; k <= 4; k++)
            sum += c[k] * (double(h[(z * NY + (y + k) % NY) * NX + x]) - h[(z * NY + (y + NY - k) % NY) * NX + x]);
        want[i] = float(scale * sum);
    }
    auto derivative = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(df, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<(count + 255) / 256, 256>>>(some, df, count, step, n);
        check(name, some, want, 1e-5);
    };
    derivative("k121f", [&] { k121f<<<dim3(NX / 256, NY, NZ), 256>>>(df, f, scale, NX, NY); });
    derivative("k121g", [&] { k121g<<<dim3(NX / 4, NZ), dim3(4, NY)>>>(df, f, scale, NX); });
    derivative("k121h", [&] { k121h<<<dim3(NX / 32, NZ), dim3(32, NY / PER)>>>(df, f, scale, NX); });
    return 0;
}
