// Sixth-order first derivative along x of a scalar field on a grid that is periodic in x.
#include "../harness.h"

#include <functional>

struct Grid {
    int nx, ny, nz;
};

__global__ void k05a(const float *f, float *df, Grid g, float c1, float c2, float c3)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= g.nx || j >= g.ny)
        return;

    size_t row = ((size_t)k * g.ny + j) * g.nx;
    int m1 = i >= 1 ? i - 1 : i - 1 + g.nx;
    int m2 = i >= 2 ? i - 2 : i - 2 + g.nx;
    int m3 = i >= 3 ? i - 3 : i - 3 + g.nx;
    int p1 = i + 1 < g.nx ? i + 1 : i + 1 - g.nx;
    int p2 = i + 2 < g.nx ? i + 2 : i + 2 - g.nx;
    int p3 = i + 3 < g.nx ? i + 3 : i + 3 - g.nx;
    df[row + i] = c1 * (f[row + p1] - f[row + m1]) + c2 * (f[row + p2] - f[row + m2]) + c3 * (f[row + p3] - f[row + m3]);
}

__global__ void k05b(const float *f, float *df, Grid g, float c1, float c2, float c3)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= g.nx || j >= g.ny)
        return;

    size_t row = ((size_t)k * g.ny + j) * g.nx;
    int m1 = (i - 1 + g.nx) % g.nx;
    int m2 = (i - 2 + g.nx) % g.nx;
    int m3 = (i - 3 + g.nx) % g.nx;
    int p1 = (i + 1) % g.nx;
    int p2 = (i + 2) % g.nx;
    int p3 = (i + 3) % g.nx;
    df[row + i] = c1 * (f[row + p1] - f[row + m1]) + c2 * (f[row + p2] - f[row + m2]) + c3 * (f[row + p3] - f[row + m3]);
}

__global__ void k05c(const float *f, float *df, Grid g, float c1, float c2, float c3)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= g.nx || j >= g.ny)
        return;

    size_t row = ((size_t)k * g.ny + j) * g.nx;
    int m1 = i >= 1 ? i - 1 : i - 1 + g.nx;
    int m2 = i >= 2 ? i - 2 : i - 2 + g.nx;
    int m3 = i >= 3 ? i - 3 : i - 3 + g.nx;
    int p1 = i + 1 < g.nx ? i + 1 : i + 1 - g.nx;
    int p2 = i + 2 < g.nx ? i + 2 : i + 2 - g.nx;
    int p3 = i + 3 < g.nx ? i + 3 : i + 3 - g.nx;
    df[row + i] = c1 * (f[row + p1] - f[row + m1]) + c2 * (f[row + p2] - f[row + m2]) + c3 * (f[row + p3] - f[row + m3]);
}

const int BX = 96, BY = 4;

// nx is a multiple of BX, ny of BY.
__global__ void k05d(const float *f, float *df, Grid g, float c1, float c2, float c3)
{
    __shared__ float s[BY][BX + 6];
    int i = blockIdx.x * BX + threadIdx.x;
    int j = blockIdx.y * BY + threadIdx.y;
    int k = blockIdx.z;
    size_t row = ((size_t)k * g.ny + j) * g.nx;

    float *line = s[threadIdx.y];
    int si = threadIdx.x + 3;
    line[si] = f[row + i];
    if (threadIdx.x < 3) {
        int left = i >= 3 ? i - 3 : i - 3 + g.nx;
        int right = i + BX < g.nx ? i + BX : i + BX - g.nx;
        line[si - 3] = f[row + left];
        line[si + BX] = f[row + right];
    }
    __syncthreads();

    df[row + i] = c1 * (line[si + 1] - line[si - 1]) + c2 * (line[si + 2] - line[si - 2]) + c3 * (line[si + 3] - line[si - 3]);
}

int main()
{
    const Grid g = {480, 400, 300};
    const size_t n = (size_t)g.nx * g.ny * g.nz;
    float *f = input<float>(n, 7, -1.0, 1.0);
    float *df = output<float>(n);
    const float h = 0.25f, c1 = 45.0f / (60.0f * h), c2 = -9.0f / (60.0f * h), c3 = 1.0f / (60.0f * h);

    // Every 61st row of the grid, and the last one.
    const int rows = g.ny * g.nz;
    std::vector<int> chosen;
    for (int r = 0; r < rows; r += 61)
        chosen.push_back(r);
    chosen.push_back(rows - 1);
    float *picked = output<float>(chosen.size() * g.nx);
    std::vector<float> want(chosen.size() * g.nx);
    for (size_t c = 0; c < chosen.size(); c++) {
        std::vector<float> v = on_host(f + (size_t)chosen[c] * g.nx, g.nx);
        for (int i = 0; i < g.nx; i++) {
            auto at = [&](int d) { return double(v[(i + d + g.nx) % g.nx]); };
            want[c * g.nx + i] = float(c1 * (at(1) - at(-1)) + c2 * (at(2) - at(-2)) + c3 * (at(3) - at(-3)));
        }
    }
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(df, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t c = 0; c < chosen.size(); c++)
            MUST(cudaMemcpy(picked + c * g.nx, df + (size_t)chosen[c] * g.nx, g.nx * sizeof(float),
                            cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-5);
    };

    dim3 across(32, 8), along(BX, BY);
    dim3 blocks_across((g.ny + 31) / 32, (g.nx + 7) / 8, g.nz);
    dim3 blocks_along(g.nx / BX, g.ny / BY, g.nz);

    launch_and_check("k05a", [&] { k05a<<<blocks_across, across>>>(f, df, g, c1, c2, c3); });
    launch_and_check("k05b", [&] { k05b<<<blocks_along, along>>>(f, df, g, c1, c2, c3); });
    launch_and_check("k05c", [&] { k05c<<<blocks_along, along>>>(f, df, g, c1, c2, c3); });
    launch_and_check("k05d", [&] { k05d<<<blocks_along, along>>>(f, df, g, c1, c2, c3); });
    return 0;
}
