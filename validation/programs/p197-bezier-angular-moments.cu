// A Bezier surface of 5 x 5 control points sampled at 4096 x 4096 parameters, and the moments of the angular flux of a
// discrete ordinates transport sweep: phi[m][c] = sum over d of ell[m][d] * psi[d][c], c counting groups and zones.
#include "../harness.h"

#include <functional>

const int N = 5, ROWS = 4096, COLUMNS = 4096;

__constant__ float control_const[N * N * 3];

__device__ float blend_of(int k, float mu, int n)
{
    int nn = n, kn = k, nkn = n - k;
    float blend = 1.0f;
    while (nn >= 1) {
        blend *= nn;
        nn--;
        if (kn > 1) {
            blend /= float(kn);
            kn--;
        }
        if (nkn > 1) {
            blend /= float(nkn);
            nkn--;
        }
    }
    if (k > 0)
        blend *= powf(mu, float(k));
    if (n - k > 0)
        blend *= powf(1.0f - mu, float(n - k));
    return blend;
}

__global__ void k197a(float *out, const float *control, int ni, int nj, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        float u = row / float(rows - 1), v = column / float(columns - 1);
        float x = 0.0f, y = 0.0f, z = 0.0f;
        for (int i = 0; i <= ni; i++) {
            float bi = blend_of(i, u, ni);
            for (int j = 0; j <= nj; j++) {
                float bj = blend_of(j, v, nj);
                const float *p = control + (i * (nj + 1) + j) * 3;
                x += p[0] * bi * bj;
                y += p[1] * bi * bj;
                z += p[2] * bi * bj;
            }
        }
        size_t at = (size_t)row * columns + column, plane = (size_t)rows * columns;
        out[at] = x;
        out[at + plane] = y;
        out[at + 2 * plane] = z;
    }
}

__global__ void k197b(float *__restrict__ out, const float *__restrict__ control, const float *__restrict__ of_row,
                      const float *__restrict__ of_column, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        float bj[N];
#pragma unroll
        for (int j = 0; j < N; j++)
            bj[j] = of_column[j * columns + column];
        float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) {
            float bi = of_row[i * rows + row];
#pragma unroll
            for (int j = 0; j < N; j++) {
                const float *p = control + (i * N + j) * 3;
                float b = bi * bj[j];
                x += p[0] * b;
                y += p[1] * b;
                z += p[2] * b;
            }
        }
        size_t at = (size_t)row * columns + column, plane = (size_t)rows * columns;
        out[at] = x;
        out[at + plane] = y;
        out[at + 2 * plane] = z;
    }
}

__global__ void k197c(float *__restrict__ out, const float *__restrict__ of_row, const float *__restrict__ of_column,
                      int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        float bj[N];
#pragma unroll
        for (int j = 0; j < N; j++)
            bj[j] = of_column[j * columns + column];
        float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) {
            float bi = of_row[i * rows + row];
#pragma unroll
            for (int j = 0; j < N; j++) {
                const float *p = control_const + (i * N + j) * 3;
                float b = bi * bj[j];
                x += p[0] * b;
                y += p[1] * b;
                z += p[2] * b;
            }
        }
        size_t at = (size_t)row * columns + column, plane = (size_t)rows * columns;
        out[at] = x;
        out[at + plane] = y;
        out[at + 2 * plane] = z;
    }
}

const int STRIP = 16; // rows of a block

__global__ void k197d(float *__restrict__ out, const float *__restrict__ of_row, const float *__restrict__ of_column,
                      int rows, int columns)
{
    __shared__ float4 curve[STRIP][N];
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int top = blockIdx.y * STRIP;
    if (threadIdx.x < STRIP * N) {
        int r = threadIdx.x / N, j = threadIdx.x % N;
        float4 q = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        for (int i = 0; i < N; i++) {
            float bi = of_row[i * rows + top + r];
            q.x += bi * control_const[(i * N + j) * 3];
            q.y += bi * control_const[(i * N + j) * 3 + 1];
            q.z += bi * control_const[(i * N + j) * 3 + 2];
        }
        curve[r][j] = q;
    }
    float bj[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        bj[j] = of_column[j * columns + column];
    __syncthreads();

    size_t at = (size_t)top * columns + column, plane = (size_t)rows * columns;
#pragma unroll 4
    for (int r = 0; r < STRIP; r++) {
        float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
        for (int j = 0; j < N; j++) {
            float4 q = curve[r][j];
            x += q.x * bj[j];
            y += q.y * bj[j];
            z += q.z * bj[j];
        }
        out[at] = x;
        out[at + plane] = y;
        out[at + 2 * plane] = z;
        at += columns;
    }
}

const int MOMENTS = 9, DIRECTIONS = 96, GROUPS = 32, ZONES = 32768, CELLS = GROUPS * ZONES;

__constant__ float ell_const[MOMENTS * DIRECTIONS];

__global__ void k197e(float *phi, const float *psi, const float *ell, int directions, int cells)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y;
    if (c < cells) {
        float sum = 0.0f;
        for (int d = 0; d < directions; d++)
            sum += ell[m * directions + d] * psi[(size_t)d * cells + c];
        phi[(size_t)m * cells + c] = sum;
    }
}

__global__ void k197f(float *__restrict__ phi, const float *__restrict__ psi, const float *__restrict__ ell, int cells)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cells) {
        float sum[MOMENTS] = {};
#pragma unroll 8
        for (int d = 0; d < DIRECTIONS; d++) {
            float flux = psi[(size_t)d * cells + c];
#pragma unroll
            for (int m = 0; m < MOMENTS; m++)
                sum[m] += ell[m * DIRECTIONS + d] * flux;
        }
#pragma unroll
        for (int m = 0; m < MOMENTS; m++)
            phi[(size_t)m * cells + c] = sum[m];
    }
}

__global__ void k197g(float *__restrict__ phi, const float *__restrict__ psi, int cells)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cells) {
        float sum[MOMENTS] = {};
#pragma unroll 8
        for (int d = 0; d < DIRECTIONS; d++) {
            float flux = psi[(size_t)d * cells + c];
#pragma unroll
            for (int m = 0; m < MOMENTS; m++)
                sum[m] += ell_const[m * DIRECTIONS + d] * flux;
        }
#pragma unroll
        for (int m = 0; m < MOMENTS; m++)
            phi[(size_t)m * cells + c] = sum[m];
    }
}

__global__ void k197h(float4 *__restrict__ phi, const float4 *__restrict__ psi, int quads)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < quads) {
        float4 sum[MOMENTS] = {};
#pragma unroll 4
        for (int d = 0; d < DIRECTIONS; d++) {
            float4 flux = psi[(size_t)d * quads + c];
#pragma unroll
            for (int m = 0; m < MOMENTS; m++) {
                float e = ell_const[m * DIRECTIONS + d];
                sum[m].x += e * flux.x;
                sum[m].y += e * flux.y;
                sum[m].z += e * flux.z;
                sum[m].w += e * flux.w;
            }
        }
#pragma unroll
        for (int m = 0; m < MOMENTS; m++)
            phi[(size_t)m * quads + c] = sum[m];
    }
}

int main()
{
    const size_t points = (size_t)ROWS * COLUMNS;
    float *control = input<float>(N * N * 3, 1971, -2.0, 2.0), *out = output<float>(3 * points);
    std::vector<float> hc = on_host(control, N * N * 3);
    MUST(cudaMemcpyToSymbol(control_const, hc.data(), hc.size() * sizeof(float)));

    const double binomial[N] = {1, 4, 6, 4, 1};
    std::vector<double> exact_row(N * ROWS), exact_column(N * COLUMNS);
    for (int k = 0; k < N; k++) {
        for (int i = 0; i < ROWS; i++) {
            double u = i / double(ROWS - 1);
            exact_row[k * ROWS + i] = binomial[k] * std::pow(u, k) * std::pow(1 - u, N - 1 - k);
        }
        for (int j = 0; j < COLUMNS; j++) {
            double v = j / double(COLUMNS - 1);
            exact_column[k * COLUMNS + j] = binomial[k] * std::pow(v, k) * std::pow(1 - v, N - 1 - k);
        }
    }
    float *of_row = on_device(std::vector<float>(exact_row.begin(), exact_row.end()));
    float *of_column = on_device(std::vector<float>(exact_column.begin(), exact_column.end()));

    // Every 61st row of the three planes.
    const int every = 61, chosen = (3 * ROWS - 1) / every + 1;
    std::vector<float> want((size_t)chosen * COLUMNS);
    for (int t = 0; t < chosen; t++) {
        int plane = t * every / ROWS, row = t * every % ROWS;
        double curve[N] = {};
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                curve[j] += exact_row[i * ROWS + row] * hc[(i * N + j) * 3 + plane];
        for (int c = 0; c < COLUMNS; c++) {
            double sum = 0;
            for (int j = 0; j < N; j++)
                sum += curve[j] * exact_column[j * COLUMNS + c];
            want[(size_t)t * COLUMNS + c] = float(sum);
        }
    }
    float *picked = output<float>(want.size());
    auto surface = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, 3 * points * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = COLUMNS * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 5e-5);
    };
    dim3 block(32, 8), grid(COLUMNS / 32, ROWS / 8), strips(COLUMNS / 256, ROWS / STRIP);
    surface("k197a", [&] { k197a<<<grid, block>>>(out, control, N - 1, N - 1, ROWS, COLUMNS); });
    surface("k197b", [&] { k197b<<<grid, block>>>(out, control, of_row, of_column, ROWS, COLUMNS); });
    surface("k197c", [&] { k197c<<<grid, block>>>(out, of_row, of_column, ROWS, COLUMNS); });
    surface("k197d", [&] { k197d<<<strips, 256>>>(out, of_row, of_column, ROWS, COLUMNS); });
    MUST(cudaFree(out));

    const size_t fluxes = (size_t)DIRECTIONS * CELLS, moments = (size_t)MOMENTS * CELLS;
    float *psi = input<float>(fluxes, 1972, 0.0, 1.0), *ell = input<float>(MOMENTS * DIRECTIONS, 1973, -1.0, 1.0);
    float *phi = output<float>(moments);
    std::vector<float> he = on_host(ell, MOMENTS * DIRECTIONS);
    MUST(cudaMemcpyToSymbol(ell_const, he.data(), he.size() * sizeof(float)));

    // Every 509th moment.
    const int step = 509, taken = int((moments - 1) / step + 1);
    std::vector<float> sums(taken);
    for (int t = 0; t < taken; t++) {
        size_t at = (size_t)t * step, m = at / CELLS, c = at % CELLS;
        double sum = 0;
        for (int d = 0; d < DIRECTIONS; d++)
            sum += double(he[m * DIRECTIONS + d]) * float(scrambled((size_t)d * CELLS + c, 1972) / 4294967296.0);
        sums[t] = float(sum);
    }
    float *some = output<float>(taken);
    auto project = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(phi, 0xA5, moments * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, sizeof(float), phi, step * sizeof(float), sizeof(float), taken,
                          cudaMemcpyDeviceToDevice));
        check(name, some, sums, 5e-5);
    };
    float4 *phi4 = reinterpret_cast<float4 *>(phi), *psi4 = reinterpret_cast<float4 *>(psi);
    project("k197e", [&] { k197e<<<dim3(CELLS / 256, MOMENTS), 256>>>(phi, psi, ell, DIRECTIONS, CELLS); });
    project("k197f", [&] { k197f<<<CELLS / 256, 256>>>(phi, psi, ell, CELLS); });
    project("k197g", [&] { k197g<<<CELLS / 256, 256>>>(phi, psi, CELLS); });
    project("k197h", [&] { k197h<<<CELLS / 4 / 256, 256>>>(phi4, psi4, CELLS / 4); });
    return 0;
}
