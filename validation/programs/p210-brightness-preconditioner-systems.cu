// Brightness temperatures of a thermal satellite image, a block-diagonal preconditioner of 32 x 32 blocks, and an
// implicit step that solves a 6 x 6 system in every cell.
#include "../harness.h"

#include <functional>

const int PIXELS = 8192 * 8192;

__global__ void k210a(float *__restrict__ kelvin, const unsigned short *__restrict__ number, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double radiance = 3.342e-4 * number[i] + 0.1;
        kelvin[i] = 1321.0789 / log(774.8853 / radiance + 1.0);
    }
}

__global__ void k210b(float *__restrict__ kelvin, const unsigned short *__restrict__ number, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float radiance = 3.342e-4f * number[i] + 0.1f;
        kelvin[i] = __fdividef(1321.0789f, __logf(__fdividef(774.8853f, radiance) + 1.0f));
    }
}

__device__ inline float temperature(unsigned number)
{
    float radiance = 3.342e-4f * number + 0.1f;
    return __fdividef(1321.0789f, __logf(__fdividef(774.8853f, radiance) + 1.0f));
}

__global__ void k210c(float4 *__restrict__ kelvin, const uint2 *__restrict__ number, int quads)
{
    int i = blockIdx.x * (2 * blockDim.x) + threadIdx.x, j = i + blockDim.x;
    if (j < quads) {
        uint2 p = number[i], q = number[j];
        kelvin[i] = make_float4(temperature(p.x & 0xFFFF), temperature(p.x >> 16), temperature(p.y & 0xFFFF), temperature(p.y >> 16));
        kelvin[j] = make_float4(temperature(q.x & 0xFFFF), temperature(q.x >> 16), temperature(q.y & 0xFFFF), temperature(q.y >> 16));
    }
}

const int BLOCKS = 65536, B = 32;

// inverse[block][row][column]
__global__ void k210d(float *__restrict__ z, const float *__restrict__ inverse, const float *__restrict__ r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int block = i / B, row = i % B;
    const float *m = inverse + (size_t)block * B * B + row * B;
    const float *v = r + block * B;
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < B; c++)
        sum += m[c] * v[c];
    z[i] = sum;
}

// inverse[block][column][row]
__global__ void k210e(float *__restrict__ z, const float *__restrict__ inverse, const float *__restrict__ r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int block = i / B, row = i % B;
    const float *m = inverse + (size_t)block * B * B + row;
    const float *v = r + block * B;
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < B; c++)
        sum += m[c * B] * v[c];
    z[i] = sum;
}

const int CELLS = 3 << 19, N = 6;

// matrix[cell][row][column], right side and solution [cell][row]
__global__ void k210f(float *__restrict__ x, const float *__restrict__ matrix, const float *__restrict__ rhs, int cells, int n)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float a[N][N], b[N];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i][j] = matrix[(cell * n + i) * n + j];
        b[i] = rhs[cell * n + i];
    }
    for (int k = 0; k < n; k++) {
        float pivot = 1.0f / a[k][k];
        for (int i = k + 1; i < n; i++) {
            float factor = a[i][k] * pivot;
            for (int j = k + 1; j < n; j++)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        float sum = b[i];
        for (int j = i + 1; j < n; j++)
            sum -= a[i][j] * b[j];
        b[i] = sum / a[i][i];
        x[cell * n + i] = b[i];
    }
}

// matrix[row][column][cell], right side and solution [row][cell]
__global__ void k210g(float *__restrict__ x, const float *__restrict__ matrix, const float *__restrict__ rhs, int cells, int n)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float a[N][N], b[N];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i][j] = matrix[(i * n + j) * cells + cell];
        b[i] = rhs[i * cells + cell];
    }
    for (int k = 0; k < n; k++) {
        float pivot = 1.0f / a[k][k];
        for (int i = k + 1; i < n; i++) {
            float factor = a[i][k] * pivot;
            for (int j = k + 1; j < n; j++)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        float sum = b[i];
        for (int j = i + 1; j < n; j++)
            sum -= a[i][j] * b[j];
        b[i] = sum / a[i][i];
        x[i * cells + cell] = b[i];
    }
}

__global__ void k210h(float *__restrict__ x, const float *__restrict__ matrix, const float *__restrict__ rhs, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float a[N][N], b[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int j = 0; j < N; j++)
            a[i][j] = matrix[(i * N + j) * cells + cell];
        b[i] = rhs[i * cells + cell];
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        float pivot = 1.0f / a[k][k];
#pragma unroll
        for (int i = k + 1; i < N; i++) {
            float factor = a[i][k] * pivot;
#pragma unroll
            for (int j = k + 1; j < N; j++)
                a[i][j] -= factor * a[k][j];
            b[i] -= factor * b[k];
        }
    }
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        float sum = b[i];
#pragma unroll
        for (int j = i + 1; j < N; j++)
            sum -= a[i][j] * b[j];
        b[i] = sum / a[i][i];
        x[i * cells + cell] = b[i];
    }
}

// to[batch][column][row] = from[batch][row][column]
__global__ void fill_swapped(float *to, const float *from, size_t batches, int rows, int columns)
{
    size_t each = (size_t)rows * columns, n = batches * each;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        size_t batch = i / each, r = i % each / columns, c = i % columns;
        to[batch * each + c * rows + r] = from[i];
    }
}

// Numbers on the diagonal that are larger than the rest of their row.
__global__ void fill_diagonal(float *matrix, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells * N)
        matrix[i / N * N * N + i % N * (N + 1)] += 8.0f;
}

__global__ void fill_chosen(float *to, const float *from, int count, int every, int per_cell, int per_row)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * N)
        to[i] = from[i / N * every * per_cell + i % N * per_row];
}

int main()
{
    {
        unsigned short *number = input<unsigned short>(PIXELS, 2101, 20000, 50000);
        float *kelvin = output<float>(PIXELS);
        std::vector<unsigned short> numbers = on_host(number, PIXELS);
        const int band = 8192, every = 37, bands = (PIXELS / band - 1) / every + 1;
        std::vector<float> want;
        for (int b = 0; b < bands; b++)
            for (int i = 0; i < band; i++) {
                double radiance = 3.342e-4 * numbers[(size_t)b * every * band + i] + 0.1;
                want.push_back(float(1321.0789 / std::log(774.8853 / radiance + 1.0)));
            }
        float *some = output<float>(want.size());
        auto convert = [&](const char *name, std::function<void()> launch) {
            const size_t bytes = band * sizeof(float);
            MUST(cudaMemset(kelvin, 0xA5, PIXELS * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(some, bytes, kelvin, every * bytes, bytes, bands, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-5);
        };
        float4 *four = reinterpret_cast<float4 *>(kelvin);
        const uint2 *packed = reinterpret_cast<const uint2 *>(number);
        convert("k210a", [&] { k210a<<<PIXELS / 256, 256>>>(kelvin, number, PIXELS); });
        convert("k210b", [&] { k210b<<<PIXELS / 256, 256>>>(kelvin, number, PIXELS); });
        convert("k210c", [&] { k210c<<<PIXELS / 2048, 256>>>(four, packed, PIXELS / 4); });
        MUST(cudaFree(number));
        MUST(cudaFree(kelvin));
    }
    {
        const size_t n = (size_t)BLOCKS * B * B;
        float *by_row = input<float>(n, 2102, -1.0, 1.0), *by_column = output<float>(n);
        float *r = input<float>((size_t)BLOCKS * B, 2103, -1.0, 1.0), *z = output<float>((size_t)BLOCKS * B);
        fill_swapped<<<1056, 256>>>(by_column, by_row, BLOCKS, B, B);
        MUST(cudaDeviceSynchronize());
        std::vector<float> m = on_host(by_row, n), v = on_host(r, (size_t)BLOCKS * B), want((size_t)BLOCKS * B);
        for (size_t i = 0; i < want.size(); i++) {
            double sum = 0;
            for (int c = 0; c < B; c++)
                sum += double(m[i * B + c]) * v[i / B * B + c];
            want[i] = float(sum);
        }
        const int blocks = BLOCKS * B / 256;
        auto apply = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(z, 0xA5, want.size() * sizeof(float)));
            launch();
            check(name, z, want, 1e-5);
        };
        apply("k210d", [&] { k210d<<<blocks, 256>>>(z, by_row, r); });
        apply("k210e", [&] { k210e<<<blocks, 256>>>(z, by_column, r); });
        MUST(cudaFree(by_row));
        MUST(cudaFree(by_column));
    }
    {
        const size_t n = (size_t)CELLS * N;
        float *by_cell = input<float>(n * N, 2104, -1.0, 1.0), *rhs = input<float>(n, 2105, -1.0, 1.0);
        float *planes = output<float>(n * N), *sides = output<float>(n), *x = output<float>(n);
        fill_diagonal<<<(CELLS * N + 255) / 256, 256>>>(by_cell, CELLS);
        fill_swapped<<<1056, 256>>>(planes, by_cell, 1, CELLS, N * N);
        fill_swapped<<<1056, 256>>>(sides, rhs, 1, CELLS, N);
        MUST(cudaDeviceSynchronize());
        std::vector<float> m = on_host(by_cell, n * N), side = on_host(rhs, n);
        const int every = 29, count = CELLS / every;
        std::vector<float> want((size_t)count * N);
        for (int s = 0; s < count; s++) {
            double a[N][N], b[N];
            for (int i = 0; i < N; i++) {
                for (int j = 0; j < N; j++)
                    a[i][j] = m[((size_t)s * every * N + i) * N + j];
                b[i] = side[(size_t)s * every * N + i];
            }
            for (int k = 0; k < N; k++)
                for (int i = k + 1; i < N; i++) {
                    double factor = a[i][k] / a[k][k];
                    for (int j = k; j < N; j++)
                        a[i][j] -= factor * a[k][j];
                    b[i] -= factor * b[k];
                }
            for (int i = N - 1; i >= 0; i--) {
                for (int j = i + 1; j < N; j++)
                    b[i] -= a[i][j] * b[j];
                b[i] /= a[i][i];
                want[(size_t)s * N + i] = float(b[i]);
            }
        }
        float *some = output<float>(want.size());
        auto solve = [&](const char *name, int per_cell, int per_row, std::function<void()> launch) {
            MUST(cudaMemset(x, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            fill_chosen<<<(count * N + 255) / 256, 256>>>(some, x, count, every, per_cell, per_row);
            check(name, some, want, 1e-5);
        };
        const int blocks = CELLS / 128;
        solve("k210f", N, 1, [&] { k210f<<<blocks, 128>>>(x, by_cell, rhs, CELLS, N); });
        solve("k210g", 1, CELLS, [&] { k210g<<<blocks, 128>>>(x, planes, sides, CELLS, N); });
        solve("k210h", 1, CELLS, [&] { k210h<<<blocks, 128>>>(x, planes, sides, CELLS); });
    }
    return 0;
}
