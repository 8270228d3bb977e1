// A second-order recursive filter of many channels, and a step of an excitable medium (FitzHugh-Nagumo) on a torus.
#include "../harness.h"

#include <functional>

const int CHANNELS = 65536, SAMPLES = 1024;

struct Section {
    float b0, b1, b2, a1, a2;
};

__global__ void k183a(float *y, const float *x, Section f)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= CHANNELS)
        return;
    float s1 = 0.0f, s2 = 0.0f;
    for (int t = 0; t < SAMPLES; t++) {
        float in = x[channel * SAMPLES + t];
        float out = f.b0 * in + s1;
        s1 = f.b1 * in - f.a1 * out + s2;
        s2 = f.b2 * in - f.a2 * out;
        y[channel * SAMPLES + t] = out;
    }
}

__global__ void k183b(float *y, const float *x, Section f)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    if (channel >= CHANNELS)
        return;
    float s1 = 0.0f, s2 = 0.0f;
    for (int t = 0; t < SAMPLES; t++) {
        float in = x[t * CHANNELS + channel];
        float out = f.b0 * in + s1;
        s1 = f.b1 * in - f.a1 * out + s2;
        s2 = f.b2 * in - f.a2 * out;
        y[t * CHANNELS + channel] = out;
    }
}

const int AHEAD = 16;

__global__ void __launch_bounds__(128) k183c(float *__restrict__ y, const float *__restrict__ x, Section f)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float s1 = 0.0f, s2 = 0.0f, next[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        next[k] = x[k * CHANNELS + channel];
    for (int t = 0; t < SAMPLES; t += AHEAD) {
        float now[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            now[k] = next[k];
        if (t + AHEAD < SAMPLES) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                next[k] = x[(t + AHEAD + k) * CHANNELS + channel];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            float out = f.b0 * now[k] + s1;
            s1 = f.b1 * now[k] - f.a1 * out + s2;
            s2 = f.b2 * now[k] - f.a2 * out;
            y[(t + k) * CHANNELS + channel] = out;
        }
    }
}

struct Medium {
    float diffusion, dt, rate, beta, gamma;
};

__global__ void k183d(float *u_out, float *v_out, const float *u, const float *v, Medium m, size_t nx, size_t ny)
{
    size_t x = blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    size_t at = y * nx + x;
    size_t left = y * nx + (x + nx - 1) % nx, right = y * nx + (x + 1) % nx;
    size_t up = (y + ny - 1) % ny * nx + x, down = (y + 1) % ny * nx + x;
    float lap = u[left] + u[right] + u[up] + u[down] - 4.0 * u[at];
    u_out[at] = u[at] + m.dt * (m.diffusion * lap + u[at] - pow(u[at], 3) - v[at]);
    v_out[at] = v[at] + m.dt * m.rate * (u[at] + m.beta - m.gamma * v[at]);
}

__global__ void k183e(float *u_out, float *v_out, const float *u, const float *v, Medium m, size_t nx, size_t ny)
{
    size_t x = blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    size_t at = y * nx + x;
    size_t left = y * nx + (x + nx - 1) % nx, right = y * nx + (x + 1) % nx;
    size_t up = (y + ny - 1) % ny * nx + x, down = (y + 1) % ny * nx + x;
    float lap = u[left] + u[right] + u[up] + u[down] - 4.0 * u[at];
    u_out[at] = u[at] + m.dt * (m.diffusion * lap + u[at] - pow(u[at], 3) - v[at]);
    v_out[at] = v[at] + m.dt * m.rate * (u[at] + m.beta - m.gamma * v[at]);
}

__global__ void k183f(float *__restrict__ u_out, float *__restrict__ v_out, const float *__restrict__ u,
                      const float *__restrict__ v, Medium m, size_t nx, size_t ny)
{
    size_t x = blockIdx.x * blockDim.x + threadIdx.x;
    size_t y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    size_t at = y * nx + x;
    size_t left = y * nx + (x + nx - 1) % nx, right = y * nx + (x + 1) % nx;
    size_t up = (y + ny - 1) % ny * nx + x, down = (y + 1) % ny * nx + x;
    float a = u[at], b = v[at];
    float lap = u[left] + u[right] + u[up] + u[down] - 4.0f * a;
    u_out[at] = a + m.dt * (m.diffusion * lap + a - a * a * a - b);
    v_out[at] = b + m.dt * m.rate * (a + m.beta - m.gamma * b);
}

__global__ void k183g(float *__restrict__ u_out, float *__restrict__ v_out, const float *__restrict__ u,
                      const float *__restrict__ v, Medium m, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    int at = y * nx + x;
    int left = x > 0 ? at - 1 : at + nx - 1, right = x < nx - 1 ? at + 1 : at - nx + 1;
    int up = y > 0 ? at - nx : at + (ny - 1) * nx, down = y < ny - 1 ? at + nx : x;
    float a = u[at], b = v[at];
    float lap = u[left] + u[right] + u[up] + u[down] - 4.0f * a;
    u_out[at] = a + m.dt * (m.diffusion * lap + a - a * a * a - b);
    v_out[at] = b + m.dt * m.rate * (a + m.beta - m.gamma * b);
}

const int BX = 32, BY = 8;

__global__ void k183h(float *__restrict__ u_out, float *__restrict__ v_out, const float *__restrict__ u,
                      const float *__restrict__ v, Medium m, int nx, int ny)
{
    __shared__ float tile[BY + 2][BX + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;
    int at = y * nx + x;
    float a = u[at], b = v[at];
    tile[ty + 1][tx + 1] = a;
    if (tx == 0)
        tile[ty + 1][0] = u[x > 0 ? at - 1 : at + nx - 1];
    if (tx == BX - 1)
        tile[ty + 1][BX + 1] = u[x < nx - 1 ? at + 1 : at - nx + 1];
    if (ty == 0)
        tile[0][tx + 1] = u[y > 0 ? at - nx : at + (ny - 1) * nx];
    if (ty == BY - 1)
        tile[BY + 1][tx + 1] = u[y < ny - 1 ? at + nx : x];
    __syncthreads();
    float lap = tile[ty + 1][tx] + tile[ty + 1][tx + 2] + tile[ty][tx + 1] + tile[ty + 2][tx + 1] - 4.0f * a;
    u_out[at] = a + m.dt * (m.diffusion * lap + a - a * a * a - b);
    v_out[at] = b + m.dt * m.rate * (a + m.beta - m.gamma * b);
}

// A table of rows x columns to columns x rows.
__global__ void fill_turned(float *to, const float *from, int rows, int columns)
{
    __shared__ float tile[32][33];
    int r = blockIdx.x * 32, c = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        tile[k][threadIdx.x] = from[(size_t)(r + k) * columns + c + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8)
        to[(size_t)(c + k) * rows + r + threadIdx.x] = tile[threadIdx.x][k];
}

void turn(float *to, const float *from, int rows, int columns)
{
    fill_turned<<<dim3(rows / 32, columns / 32), dim3(32, 8)>>>(to, from, rows, columns);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
}

// Rows 0, every, 2 * every, ... of a table, one after the other.
std::vector<float> some_rows(const float *from, int width, int every, int rows)
{
    std::vector<float> to((size_t)width * rows);
    const size_t bytes = width * sizeof(float);
    MUST(cudaMemcpy2D(to.data(), bytes, from, every * bytes, bytes, rows, cudaMemcpyDeviceToHost));
    return to;
}

int main()
{
    {
        const size_t all = (size_t)CHANNELS * SAMPLES;
        const int every = 331, rows = (CHANNELS - 1) / every + 1;
        const Section f = {0.0674553f, 0.1349105f, 0.0674553f, -1.1429805f, 0.4128016f};
        float *x = input<float>(all, 1831, -1.0, 1.0), *by_time = output<float>(all);
        float *y = output<float>(all), *by_channel = output<float>(all);
        turn(by_time, x, CHANNELS, SAMPLES);
        std::vector<float> some = some_rows(x, SAMPLES, every, rows), want(some.size());
        for (int r = 0; r < rows; r++) {
            double s1 = 0, s2 = 0;
            for (int t = 0; t < SAMPLES; t++) {
                double in = some[(size_t)r * SAMPLES + t], out = f.b0 * in + s1;
                s1 = f.b1 * in - f.a1 * out + s2;
                s2 = f.b2 * in - f.a2 * out;
                want[(size_t)r * SAMPLES + t] = float(out);
            }
        }
        auto filter = [&](const char *name, bool timewise, std::function<void()> launch) {
            MUST(cudaMemset(y, 0xA5, all * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            if (timewise)
                turn(by_channel, y, SAMPLES, CHANNELS);
            float *got = on_device(some_rows(timewise ? by_channel : y, SAMPLES, every, rows));
            check(name, got, want, 1e-5);
            MUST(cudaFree(got));
        };
        filter("k183a", false, [&] { k183a<<<CHANNELS / 128, 128>>>(y, x, f); });
        filter("k183b", true, [&] { k183b<<<CHANNELS / 128, 128>>>(y, by_time, f); });
        filter("k183c", true, [&] { k183c<<<CHANNELS / 128, 128>>>(y, by_time, f); });
        MUST(cudaFree(x));
        MUST(cudaFree(y));
        MUST(cudaFree(by_time));
        MUST(cudaFree(by_channel));
    }
    const int nx = 8192, ny = 4096;
    const size_t cells = (size_t)nx * ny;
    const Medium m = {1.0f, 0.1f, 0.08f, 0.7f, 0.8f};
    float *u = input<float>(cells, 1832, -1.5, 1.5), *v = input<float>(cells, 1833, -0.5, 0.5);
    float *next_u = output<float>(cells), *next_v = output<float>(cells);
    std::vector<float> hu = on_host(u, cells), hv = on_host(v, cells), want_u(cells), want_v(cells);
    for (int y = 0; y < ny; y++) {
        const float *row = &hu[(size_t)y * nx], *above = &hu[(size_t)(y > 0 ? y - 1 : ny - 1) * nx];
        const float *below = &hu[(size_t)(y < ny - 1 ? y + 1 : 0) * nx];
        for (int x = 0; x < nx; x++) {
            size_t at = (size_t)y * nx + x;
            float a = row[x], b = hv[at];
            float lap = row[x > 0 ? x - 1 : nx - 1] + row[x < nx - 1 ? x + 1 : 0] + above[x] + below[x] - 4.0f * a;
            want_u[at] = a + m.dt * (m.diffusion * lap + a - a * a * a - b);
            want_v[at] = b + m.dt * m.rate * (a + m.beta - m.gamma * b);
        }
    }
    auto step = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(next_u, 0xA5, cells * sizeof(float)));
        MUST(cudaMemset(next_v, 0xA5, cells * sizeof(float)));
        launch();
        check(name, next_u, want_u, 1e-5);
        check(name, next_v, want_v, 1e-5);
    };
    dim3 small(4, 4), block(BX, BY), many(nx / 4, ny / 4), grid(nx / BX, ny / BY);
    step("k183d", [&] { k183d<<<many, small>>>(next_u, next_v, u, v, m, nx, ny); });
    step("k183e", [&] { k183e<<<grid, block>>>(next_u, next_v, u, v, m, nx, ny); });
    step("k183f", [&] { k183f<<<grid, block>>>(next_u, next_v, u, v, m, nx, ny); });
    step("k183g", [&] { k183g<<<grid, block>>>(next_u, next_v, u, v, m, nx, ny); });
    step("k183h", [&] { k183h<<<grid, block>>>(next_u, next_v, u, v, m, nx, ny); });
    return 0;
}
