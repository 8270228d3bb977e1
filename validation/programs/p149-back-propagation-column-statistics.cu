// Layers of a back-propagation network, mean and deviation of the columns of a matrix, and many tridiagonal systems.
#include "../harness.h"

#include <functional>

const int INPUTS = 1 << 22, HIDDEN = 16;

// Sums of 16 inputs times their weights, for 16 hidden units.
__global__ void k149a(float *__restrict__ partial, const float *__restrict__ in, const float *__restrict__ weight,
                      int hidden, int levels)
{
    __shared__ float node[16], product[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 16 + ty;
    if (tx == 0)
        node[ty] = in[row];
    __syncthreads();
    product[ty][tx] = weight[row * hidden + tx] * node[ty];
    __syncthreads();
    for (int i = 1; i <= levels; i++) {
        int power = int(__powf(2.0f, float(i)) + 0.5f);
        if (ty % power == 0)
            product[ty][tx] += product[ty + power / 2][tx];
        __syncthreads();
    }
    if (ty == 0)
        partial[blockIdx.x * hidden + tx] = product[0][tx];
}

__global__ void k149b(float *__restrict__ partial, const float *__restrict__ in, const float *__restrict__ weight,
                      int hidden, int levels)
{
    __shared__ float node[16], product[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.x * 16 + ty;
    if (tx == 0)
        node[ty] = in[row];
    __syncthreads();
    product[ty][tx] = weight[row * hidden + tx] * node[ty];
    __syncthreads();
    for (int i = 0; i < levels; i++) {
        if ((ty & ((2 << i) - 1)) == 0)
            product[ty][tx] += product[ty + (1 << i)][tx];
        __syncthreads();
    }
    if (ty == 0)
        partial[blockIdx.x * hidden + tx] = product[0][tx];
}

__global__ void k149c(float *__restrict__ partial, const float *__restrict__ in, const float *__restrict__ weight,
                      int tiles)
{
    __shared__ float product[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0.0f;
#pragma unroll 8
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int row = tile * 16 + ty;
        sum += weight[row * HIDDEN + tx] * in[row];
    }
    product[ty][tx] = sum;
    __syncthreads();
    for (int half = 8; half > 0; half /= 2) {
        if (ty < half)
            product[ty][tx] += product[ty + half][tx];
        __syncthreads();
    }
    if (ty == 0)
        partial[blockIdx.x * HIDDEN + tx] = product[0][tx];
}

__global__ void k149d(float *__restrict__ weight, float *__restrict__ change, const float *__restrict__ delta,
                      const float *__restrict__ in)
{
    int row = blockIdx.x * 16 + threadIdx.y, i = row * HIDDEN + threadIdx.x;
    float step = 0.3 * delta[threadIdx.x] * in[row] + 0.3 * change[i];
    weight[i] += step;
    change[i] = step;
}

__global__ void k149e(float *__restrict__ weight, float *__restrict__ change, const float *__restrict__ delta,
                      const float *__restrict__ in)
{
    int row = blockIdx.x * 16 + threadIdx.y, i = row * HIDDEN + threadIdx.x;
    float step = 0.3f * delta[threadIdx.x] * in[row] + 0.3f * change[i];
    weight[i] += step;
    change[i] = step;
}

const int ROWS = 8192, COLUMNS = 8192;

__global__ void k149f(float *__restrict__ mean, float *__restrict__ deviation, const float *__restrict__ data)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < ROWS; i++)
        sum += data[i * COLUMNS + j];
    float m = sum / ROWS, squares = 0.0f;
    for (int i = 0; i < ROWS; i++) {
        float d = data[i * COLUMNS + j] - m;
        squares += d * d;
    }
    mean[j] = m;
    deviation[j] = sqrtf(squares / ROWS);
}

__device__ inline float column_sum(float (*part)[33], float value)
{
    __syncthreads();
    part[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    float total = part[threadIdx.x][threadIdx.y];
    for (int offset = 16; offset > 0; offset /= 2)
        total += __shfl_xor_sync(~0u, total, offset);
    __syncthreads();
    if (threadIdx.x == 0)
        part[0][threadIdx.y] = total;
    __syncthreads();
    return part[0][threadIdx.x];
}

__global__ void __launch_bounds__(1024, 2) k149g(float *__restrict__ mean, float *__restrict__ deviation,
                                                 const float *__restrict__ data)
{
    __shared__ float part[32][33];
    int j = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.y; i < ROWS; i += 32)
        sum += data[i * COLUMNS + j];
    float m = column_sum(part, sum) / ROWS, squares = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.y; i < ROWS; i += 32) {
        float d = data[i * COLUMNS + j] - m;
        squares += d * d;
    }
    float variance = column_sum(part, squares) / ROWS;
    if (threadIdx.y == 0) {
        mean[j] = m;
        deviation[j] = sqrtf(variance);
    }
}

__global__ void __launch_bounds__(1024, 2) k149h(float *__restrict__ mean, float *__restrict__ deviation,
                                                 const float *__restrict__ data)
{
    __shared__ float part[32][33];
    int j = blockIdx.x * 32 + threadIdx.x;
    float origin = data[j], sum = 0.0f, squares = 0.0f;
#pragma unroll 8
    for (int i = threadIdx.y; i < ROWS; i += 32) {
        float d = data[i * COLUMNS + j] - origin;
        sum += d;
        squares += d * d;
    }
    float m = column_sum(part, sum) / ROWS;
    float variance = column_sum(part, squares) / ROWS - m * m;
    if (threadIdx.y == 0) {
        mean[j] = origin + m;
        deviation[j] = sqrtf(variance);
    }
}

const int SYSTEMS = 524288, N = 64;

__global__ void k149i(float *__restrict__ x, float *__restrict__ cp, float *__restrict__ dp,
                      const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ c,
                      const float *__restrict__ d)
{
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * N;
    float upper = 0.0f, right = 0.0f;
    for (int k = 0; k < N; k++) {
        float scale = 1.0f / (b[at + k] - a[at + k] * upper);
        right = (d[at + k] - a[at + k] * right) * scale;
        upper = c[at + k] * scale;
        cp[at + k] = upper;
        dp[at + k] = right;
    }
    float last = 0.0f;
    for (int k = N - 1; k >= 0; k--) {
        last = dp[at + k] - cp[at + k] * last;
        x[at + k] = last;
    }
}

__global__ void k149j(float *__restrict__ x, float *__restrict__ cp, float *__restrict__ dp,
                      const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ c,
                      const float *__restrict__ d)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float upper = 0.0f, right = 0.0f;
    for (int k = 0; k < N; k++) {
        int i = k * SYSTEMS + at;
        float scale = 1.0f / (b[i] - a[i] * upper);
        right = (d[i] - a[i] * right) * scale;
        upper = c[i] * scale;
        cp[i] = upper;
        dp[i] = right;
    }
    float last = 0.0f;
    for (int k = N - 1; k >= 0; k--) {
        int i = k * SYSTEMS + at;
        last = dp[i] - cp[i] * last;
        x[i] = last;
    }
}

__global__ void fill_transposed(float *to, const float *from, int rows, int columns)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * columns; i += gridDim.x * blockDim.x)
        to[i % columns * rows + i / columns] = from[i];
}

int main()
{
    const size_t weights = (size_t)INPUTS * HIDDEN, bytes = weights * sizeof(float);
    float *in = input<float>(INPUTS, 1491, 0.0, 1.0), *weight = input<float>(weights, 1492, -1.0, 1.0);
    float *partial = output<float>(INPUTS);
    std::vector<float> hin = on_host(in, INPUTS), hw = on_host(weight, weights);
    const int tiles = INPUTS / 16, groups = 1024;
    std::vector<float> want(INPUTS), grouped(groups * HIDDEN);
    std::vector<double> running(groups * HIDDEN, 0.0);
    for (int t = 0; t < tiles; t++) {
        double sum[HIDDEN] = {};
        for (int i = t * 16; i < t * 16 + 16; i++)
            for (int h = 0; h < HIDDEN; h++)
                sum[h] += double(hw[(size_t)i * HIDDEN + h]) * hin[i];
        for (int h = 0; h < HIDDEN; h++) {
            want[t * HIDDEN + h] = float(sum[h]);
            running[t % groups * HIDDEN + h] += sum[h];
        }
    }
    for (int i = 0; i < groups * HIDDEN; i++)
        grouped[i] = float(running[i]);
    auto forward = [&](const char *name, const std::vector<float> &expected, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, INPUTS * sizeof(float)));
        launch();
        check(name, partial, expected, 1e-4);
    };
    dim3 square(16, 16);
    forward("k149a", want, [&] { k149a<<<tiles, square>>>(partial, in, weight, HIDDEN, 4); });
    forward("k149b", want, [&] { k149b<<<tiles, square>>>(partial, in, weight, HIDDEN, 4); });
    forward("k149c", grouped, [&] { k149c<<<groups, square>>>(partial, in, weight, tiles); });

    float *change = input<float>(weights, 1493, -0.1, 0.1), *delta = input<float>(HIDDEN, 1494, -1.0, 1.0);
    float *new_weight = output<float>(weights), *new_change = output<float>(weights);
    std::vector<float> hc = on_host(change, weights), hd = on_host(delta, HIDDEN);
    // The first 1024 of every 65536 weights.
    const int part = 1024, skip = 65536, parts = int(weights / skip);
    std::vector<float> moved(parts * part), steps(parts * part);
    float *some = output<float>(parts * part);
    for (int p = 0; p < parts; p++)
        for (int i = 0; i < part; i++) {
            size_t at = (size_t)p * skip + i;
            double step = 0.3 * hd[at % HIDDEN] * hin[at / HIDDEN] + 0.3 * hc[at];
            steps[p * part + i] = float(step);
            moved[p * part + i] = float(hw[at] + step);
        }
    auto adjust = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(new_weight, weight, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(new_change, change, bytes, cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, part * 4, new_weight, skip * 4, part * 4, parts, cudaMemcpyDeviceToDevice));
        check(name, some, moved, 2e-6);
        MUST(cudaMemcpy2D(some, part * 4, new_change, skip * 4, part * 4, parts, cudaMemcpyDeviceToDevice));
        check(name, some, steps, 2e-6);
    };
    adjust("k149d", [&] { k149d<<<tiles, square>>>(new_weight, new_change, delta, in); });
    adjust("k149e", [&] { k149e<<<tiles, square>>>(new_weight, new_change, delta, in); });
    for (float *array : {weight, change, new_weight, new_change})
        MUST(cudaFree(array));

    float *data = input<float>((size_t)ROWS * COLUMNS, 1495, 2.0, 5.0), *result = output<float>(2 * COLUMNS);
    std::vector<float> hdata = on_host(data, (size_t)ROWS * COLUMNS), statistics(2 * COLUMNS);
    std::vector<double> sums(COLUMNS, 0.0), squares(COLUMNS, 0.0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double v = hdata[(size_t)i * COLUMNS + j] - 3.5;
            sums[j] += v;
            squares[j] += v * v;
        }
    for (int j = 0; j < COLUMNS; j++) {
        double m = sums[j] / ROWS;
        statistics[j] = float(3.5 + m);
        statistics[COLUMNS + j] = float(std::sqrt(squares[j] / ROWS - m * m));
    }
    auto columns = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(result, 0xA5, 2 * COLUMNS * sizeof(float)));
        launch();
        check(name, result, statistics, 2e-4);
    };
    columns("k149f", [&] { k149f<<<COLUMNS / 256, 256>>>(result, result + COLUMNS, data); });
    columns("k149g", [&] { k149g<<<COLUMNS / 32, dim3(32, 32)>>>(result, result + COLUMNS, data); });
    columns("k149h", [&] { k149h<<<COLUMNS / 32, dim3(32, 32)>>>(result, result + COLUMNS, data); });
    MUST(cudaFree(data));

    const size_t unknowns = (size_t)SYSTEMS * N;
    float *rows[4], *mixed[4];
    std::vector<float> host[4];
    for (int i = 0; i < 4; i++) {
        rows[i] = input<float>(unknowns, 1496 + i, i == 1 ? 4.0 : -1.0, i == 1 ? 5.0 : 1.0);
        mixed[i] = output<float>(unknowns);
        fill_transposed<<<1056, 256>>>(mixed[i], rows[i], SYSTEMS, N);
        MUST(cudaDeviceSynchronize());
        host[i] = on_host(rows[i], unknowns);
    }
    float *x = output<float>(unknowns), *cp = output<float>(unknowns), *dp = output<float>(unknowns);
    // Every 256th system.
    const int every = 256, taken = SYSTEMS / every;
    std::vector<float> by_system(taken * N), by_row(taken * N);
    for (int s = 0; s < taken; s++) {
        const size_t at = (size_t)s * every * N;
        double upper[N], right[N], last = 0;
        for (int k = 0; k < N; k++) {
            double a = k ? host[0][at + k] : 0.0;
            double scale = 1 / (host[1][at + k] - a * (k ? upper[k - 1] : 0.0));
            right[k] = (host[3][at + k] - a * (k ? right[k - 1] : 0.0)) * scale;
            upper[k] = host[2][at + k] * scale;
        }
        for (int k = N - 1; k >= 0; k--) {
            last = right[k] - upper[k] * last;
            by_system[s * N + k] = by_row[k * taken + s] = float(last);
        }
    }
    float *picked = output<float>(taken * N);
    auto solve = [&](const char *name, bool systems, std::function<void()> launch) {
        for (float *array : {x, cp, dp})
            MUST(cudaMemset(array, 0xA5, unknowns * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (systems)
            MUST(cudaMemcpy2D(picked, N * 4, x, every * N * 4, N * 4, taken, cudaMemcpyDeviceToDevice));
        else
            MUST(cudaMemcpy2D(picked, 4, x, every * 4, 4, taken * N, cudaMemcpyDeviceToDevice));
        check(name, picked, systems ? by_system : by_row, 1e-5);
    };
    float *const *r = rows, *const *m = mixed;
    solve("k149i", true, [&] { k149i<<<SYSTEMS / 256, 256>>>(x, cp, dp, r[0], r[1], r[2], r[3]); });
    solve("k149j", false, [&] { k149j<<<SYSTEMS / 256, 256>>>(x, cp, dp, m[0], m[1], m[2], m[3]); });
    return 0;
}
