// One lower triangular matrix of 32 x 32 solved for many right-hand sides (the reciprocals stand on its diagonal), and
// the rank-one update A += alpha x y' of a matrix stored by rows.
#include "../harness.h"

#include <functional>

const int N = 32, SIDES = 768 * 1024;

__constant__ float lower_const[N * N];

// Right-hand side c is b[32 c], ..., b[32 c + 31].
__global__ void k177a(float *x, const float *b, const float *lower, int sides)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= sides)
        return;
    for (int i = 0; i < N; i++) {
        float sum = b[c * N + i];
        for (int j = 0; j < i; j++)
            sum -= lower[i * N + j] * x[c * N + j];
        x[c * N + i] = sum * lower[i * N + i];
    }
}

// From here on b[i * sides + c].
__global__ void k177b(float *x, const float *b, const float *lower, int sides)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= sides)
        return;
    for (int i = 0; i < N; i++) {
        float sum = b[i * sides + c];
        for (int j = 0; j < i; j++)
            sum -= lower[i * N + j] * x[j * sides + c];
        x[i * sides + c] = sum * lower[i * N + i];
    }
}

__global__ void __launch_bounds__(128) k177c(float *__restrict__ x, const float *__restrict__ b,
                                             const float *__restrict__ lower, int sides)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= sides)
        return;
    float v[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        v[i] = b[i * sides + c];
#pragma unroll
    for (int j = 0; j < N; j++) {
        v[j] *= lower[j * N + j];
#pragma unroll
        for (int i = j + 1; i < N; i++)
            v[i] -= lower[i * N + j] * v[j];
        x[j * sides + c] = v[j];
    }
}

__global__ void __launch_bounds__(128) k177d(float *__restrict__ x, const float *__restrict__ b, int sides)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= sides)
        return;
    float v[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        v[i] = b[i * sides + c];
#pragma unroll
    for (int j = 0; j < N; j++) {
        v[j] *= lower_const[j * N + j];
#pragma unroll
        for (int i = j + 1; i < N; i++)
            v[i] -= lower_const[i * N + j] * v[j];
        x[j * sides + c] = v[j];
    }
}

__global__ void __launch_bounds__(128) k177e(float2 *__restrict__ x, const float2 *__restrict__ b, int pairs)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= pairs)
        return;
    float2 v[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        v[i] = b[i * pairs + c];
#pragma unroll
    for (int j = 0; j < N; j++) {
        v[j].x *= lower_const[j * N + j];
        v[j].y *= lower_const[j * N + j];
#pragma unroll
        for (int i = j + 1; i < N; i++) {
            v[i].x -= lower_const[i * N + j] * v[j].x;
            v[i].y -= lower_const[i * N + j] * v[j].y;
        }
        x[j * pairs + c] = v[j];
    }
}

__global__ void k177f(float *a, const float *x, const float *y, float alpha, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns)
        a[(size_t)row * columns + column] += alpha * x[row] * y[column];
}

__global__ void k177g(float *a, const float *x, const float *y, float alpha, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns)
        a[(size_t)row * columns + column] += alpha * x[row] * y[column];
}

const int DOWN = 4;

// Rows are a multiple of 16, columns of 256.
__global__ void k177h(float4 *__restrict__ a, const float *__restrict__ x, const float4 *__restrict__ y, float alpha,
                      int quads)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * DOWN;
    float4 *at = a + (size_t)row * quads + column;
    float4 v[DOWN], w = y[column];
#pragma unroll
    for (int k = 0; k < DOWN; k++)
        v[k] = at[(size_t)k * quads];
#pragma unroll
    for (int k = 0; k < DOWN; k++) {
        float s = alpha * x[row + k];
        at[(size_t)k * quads] = make_float4(v[k].x + s * w.x, v[k].y + s * w.y, v[k].z + s * w.z, v[k].w + s * w.w);
    }
}

__global__ void fill_transposed(float *by_side, const float *b, int sides)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < sides)
        for (int i = 0; i < N; i++)
            by_side[c * N + i] = b[i * sides + c];
}

__global__ void fill_picked(float *picked, const float *x, int every, int side_step, int row_step)
{
    picked[blockIdx.x * N + threadIdx.x] = x[blockIdx.x * every * side_step + threadIdx.x * row_step];
}

int main()
{
    const size_t size = (size_t)SIDES * N;
    float *b = input<float>(size, 1771, -1.0, 1.0), *by_side = output<float>(size), *x = output<float>(size);
    fill_transposed<<<SIDES / 256, 256>>>(by_side, b, SIDES);
    MUST(cudaDeviceSynchronize());
    std::vector<float> triangle(N * N, 0.0f);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            float u = float(scrambled(i * N + j, 1772) / 4294967296.0);
            triangle[i * N + j] = i == j ? 0.5f + u : 0.4f * u - 0.2f;
        }
    float *lower = on_device(triangle);
    MUST(cudaMemcpyToSymbol(lower_const, triangle.data(), N * N * sizeof(float)));

    const int every = 53, chosen = (SIDES - 1) / every + 1;
    std::vector<float> hb = on_host(b, size), solved((size_t)chosen * N);
    for (int k = 0; k < chosen; k++) {
        double v[N];
        for (int i = 0; i < N; i++) {
            v[i] = hb[(size_t)i * SIDES + k * every];
            for (int j = 0; j < i; j++)
                v[i] -= double(triangle[i * N + j]) * v[j];
            v[i] *= triangle[i * N + i];
            solved[(size_t)k * N + i] = float(v[i]);
        }
    }
    float *picked = output<float>(solved.size());
    auto solve = [&](const char *name, int side_step, int row_step, std::function<void()> launch) {
        MUST(cudaMemset(x, 0xA5, size * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_picked<<<chosen, N>>>(picked, x, every, side_step, row_step);
        check(name, picked, solved, 1e-4);
    };
    const float2 *b2 = reinterpret_cast<const float2 *>(b);
    float2 *x2 = reinterpret_cast<float2 *>(x);
    solve("k177a", N, 1, [&] { k177a<<<SIDES / 128, 128>>>(x, by_side, lower, SIDES); });
    solve("k177b", 1, SIDES, [&] { k177b<<<SIDES / 128, 128>>>(x, b, lower, SIDES); });
    solve("k177c", 1, SIDES, [&] { k177c<<<SIDES / 128, 128>>>(x, b, lower, SIDES); });
    solve("k177d", 1, SIDES, [&] { k177d<<<SIDES / 128, 128>>>(x, b, SIDES); });
    solve("k177e", 1, SIDES, [&] { k177e<<<SIDES / 256, 128>>>(x2, b2, SIDES / 2); });

    const int rows = 8192, columns = 16384, skip = 61, taken = (rows - 1) / skip + 1;
    const size_t cells = (size_t)rows * columns, line = columns * sizeof(float);
    const float alpha = 0.75f;
    float *start = input<float>(cells, 1773, -1.0, 1.0), *a = output<float>(cells);
    float *left = input<float>(rows, 1774, -2.0, 2.0), *right = input<float>(columns, 1775, -2.0, 2.0);
    std::vector<float> hl = on_host(left, rows), hr = on_host(right, columns);
    float *sample = output<float>((size_t)taken * columns);
    MUST(cudaMemcpy2D(sample, line, start, skip * line, line, taken, cudaMemcpyDeviceToDevice));
    std::vector<float> updated = on_host(sample, (size_t)taken * columns);
    for (int k = 0; k < taken; k++)
        for (int c = 0; c < columns; c++)
            updated[(size_t)k * columns + c] += alpha * hl[k * skip] * hr[c];
    auto update = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(a, start, cells * sizeof(float), cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(sample, line, a, skip * line, line, taken, cudaMemcpyDeviceToDevice));
        check(name, sample, updated, 1e-5);
    };
    float4 *a4 = reinterpret_cast<float4 *>(a);
    const float4 *right4 = reinterpret_cast<const float4 *>(right);
    dim3 square(16, 16), flat(32, 8), wide(64, 4);
    update("k177f", [&] { k177f<<<dim3(rows / 16, columns / 16), square>>>(a, left, right, alpha, rows, columns); });
    update("k177g", [&] { k177g<<<dim3(columns / 32, rows / 8), flat>>>(a, left, right, alpha, rows, columns); });
    update("k177h", [&] { k177h<<<dim3(columns / 256, rows / 16), wide>>>(a4, left, right4, alpha, columns / 4); });
    return 0;
}
