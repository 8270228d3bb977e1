// Monte Carlo price of an average-price option from stored increments, and half a sweep of red-black over-relaxation for
// the Poisson equation in two dimensions.
#include "../harness.h"

#include <functional>

const int PATHS = 1 << 18, STEPS = 512;

struct Option {
    float spot, strike, drift, spread, discount;
};

__global__ void k182a(float *payoff, float *totals, const float *z, Option o)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= PATHS)
        return;
    float s = o.spot, sum = 0.0f;
    for (int t = 0; t < STEPS; t++) {
        s *= exp((double)o.drift + (double)o.spread * z[path * STEPS + t]);
        sum += s;
    }
    float gain = fmaxf(sum / STEPS - o.strike, 0.0f) * o.discount;
    payoff[path] = gain;
    atomicAdd(&totals[0], gain);
    atomicAdd(&totals[1], gain * gain);
}

__global__ void k182b(float *payoff, float *totals, const float *z, Option o)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= PATHS)
        return;
    float s = o.spot, sum = 0.0f;
    for (int t = 0; t < STEPS; t++) {
        s *= exp((double)o.drift + (double)o.spread * z[t * PATHS + path]);
        sum += s;
    }
    float gain = fmaxf(sum / STEPS - o.strike, 0.0f) * o.discount;
    payoff[path] = gain;
    atomicAdd(&totals[0], gain);
    atomicAdd(&totals[1], gain * gain);
}

__global__ void __launch_bounds__(256, 8) k182c(float *payoff, float *totals, const float *__restrict__ z, Option o)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= PATHS)
        return;
    float s = o.spot, sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < STEPS; t++) {
        s *= expf(o.drift + o.spread * z[t * PATHS + path]);
        sum += s;
    }
    float gain = fmaxf(sum / STEPS - o.strike, 0.0f) * o.discount;
    payoff[path] = gain;
    atomicAdd(&totals[0], gain);
    atomicAdd(&totals[1], gain * gain);
}

__global__ void __launch_bounds__(256, 8) k182d(float *payoff, float *totals, const float *__restrict__ z, Option o)
{
    __shared__ float first[8], second[8];
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    float s = o.spot, sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < STEPS; t++) {
        s *= expf(o.drift + o.spread * z[t * PATHS + path]);
        sum += s;
    }
    float gain = fmaxf(sum / STEPS - o.strike, 0.0f) * o.discount, square = gain * gain;
    payoff[path] = gain;
    for (int k = 16; k > 0; k >>= 1) {
        gain += __shfl_down_sync(0xffffffffu, gain, k);
        square += __shfl_down_sync(0xffffffffu, square, k);
    }
    if (threadIdx.x % 32 == 0) {
        first[threadIdx.x / 32] = gain;
        second[threadIdx.x / 32] = square;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) {
            gain += first[w];
            square += second[w];
        }
        atomicAdd(&totals[0], gain);
        atomicAdd(&totals[1], square);
    }
}

// Red: i + j even.
__global__ void k182e(float *phi, const float *rhs, float omega, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1)
        return;
    if ((i + j) % 2 == 0) {
        float around = phi[(i - 1) * n + j] + phi[(i + 1) * n + j] + phi[i * n + j - 1] + phi[i * n + j + 1];
        phi[i * n + j] += omega * (0.25f * (around - rhs[i * n + j]) - phi[i * n + j]);
    }
}

__global__ void k182f(float *phi, const float *rhs, float omega, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1)
        return;
    if ((i + j) % 2 == 0) {
        float around = phi[(i - 1) * n + j] + phi[(i + 1) * n + j] + phi[i * n + j - 1] + phi[i * n + j + 1];
        phi[i * n + j] += omega * (0.25f * (around - rhs[i * n + j]) - phi[i * n + j]);
    }
}

__global__ void k182g(float *__restrict__ red, const float *__restrict__ black, const float *__restrict__ rhs, float omega,
                      int n)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int width = n / 2, odd = i & 1, j = 2 * c + odd;
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1)
        return;
    int at = i * width + c;
    float around = black[at - width] + black[at + width] + black[at] + black[odd ? at + 1 : at - 1];
    float old = red[at];
    red[at] = old + omega * (0.25f * (around - rhs[at]) - old);
}

const int BX = 64, BY = 4;

__global__ void k182h(float *__restrict__ red, const float *__restrict__ black, const float *__restrict__ rhs, float omega,
                      int n)
{
    __shared__ float tile[BY + 2][BX + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int c = blockIdx.x * BX + tx;
    int i = blockIdx.y * BY + ty;
    int width = n / 2, odd = i & 1, j = 2 * c + odd;
    int at = i * width + c;
    tile[ty + 1][tx + 1] = black[at];
    if (ty == 0 && i > 0)
        tile[0][tx + 1] = black[at - width];
    if (ty == BY - 1 && i < n - 1)
        tile[BY + 1][tx + 1] = black[at + width];
    if (tx == 0 && c > 0)
        tile[ty + 1][0] = black[at - 1];
    if (tx == BX - 1 && c < width - 1)
        tile[ty + 1][BX + 1] = black[at + 1];
    __syncthreads();
    if (i < 1 || i >= n - 1 || j < 1 || j >= n - 1)
        return;
    float around = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx + 1] + tile[ty + 1][odd ? tx + 2 : tx];
    float old = red[at];
    red[at] = old + omega * (0.25f * (around - rhs[at]) - old);
}

__global__ void fill_by_step(float *to, const float *from)
{
    __shared__ float tile[32][33];
    int path = blockIdx.x * 32, t = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        tile[k][threadIdx.x] = from[(size_t)(path + k) * STEPS + t + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8)
        to[(size_t)(t + k) * PATHS + path + threadIdx.x] = tile[threadIdx.x][k];
}

__global__ void fill_colours(float *red, float *black, const float *all, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    float *to = (i + j) % 2 == 0 ? red : black;
    if (to)
        to[(size_t)i * (n / 2) + j / 2] = all[(size_t)i * n + j];
}

int main()
{
    {
        const size_t all = (size_t)PATHS * STEPS;
        float *z = input<float>(all, 1821, -1.7320508, 1.7320508), *by_step = output<float>(all);
        fill_by_step<<<dim3(PATHS / 32, STEPS / 32), dim3(32, 8)>>>(by_step, z);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const double rate = 0.03, sigma = 0.25, dt = 1.0 / STEPS;
        Option o = {100.0f, 95.0f, float((rate - 0.5 * sigma * sigma) * dt), float(sigma * std::sqrt(dt)),
                    float(std::exp(-rate))};
        // The first paths, then the totals of all payoffs.
        const int chosen = 4096;
        std::vector<float> hz = on_host(z, (size_t)chosen * STEPS), want(chosen);
        for (int p = 0; p < chosen; p++) {
            double s = o.spot, sum = 0;
            for (int t = 0; t < STEPS; t++) {
                s *= std::exp(double(o.drift) + double(o.spread) * hz[(size_t)p * STEPS + t]);
                sum += s;
            }
            want[p] = float(std::fmax(sum / STEPS - o.strike, 0.0) * o.discount);
        }
        float *payoff = output<float>(PATHS), *totals = output<float>(2);
        std::vector<float> every, sums(2);
        auto price = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(payoff, 0xA5, PATHS * sizeof(float)));
            MUST(cudaMemset(totals, 0, 2 * sizeof(float)));
            launch();
            check(name, payoff, want, 5e-3);
            if (every.empty()) {
                every = on_host(payoff, PATHS);
                double first = 0, second = 0;
                for (float gain : every) {
                    first += gain;
                    second += double(gain) * gain;
                }
                sums = {float(first), float(second)};
            }
            check(name, payoff, every, 5e-3);
            check(name, totals, sums, 2e-3);
        };
        const int blocks = PATHS / 256;
        price("k182a", [&] { k182a<<<blocks, 256>>>(payoff, totals, z, o); });
        price("k182b", [&] { k182b<<<blocks, 256>>>(payoff, totals, by_step, o); });
        price("k182c", [&] { k182c<<<blocks, 256>>>(payoff, totals, by_step, o); });
        price("k182d", [&] { k182d<<<blocks, 256>>>(payoff, totals, by_step, o); });
        MUST(cudaFree(z));
        MUST(cudaFree(by_step));
    }
    const int n = 8192, width = n / 2, every = 31, rows = (n - 1) / every + 1;
    const size_t all = (size_t)n * n, half = all / 2;
    const float omega = 1.7f;
    float *start = input<float>(all, 1822, -1.0, 1.0), *rhs = input<float>(all, 1823, -1.0, 1.0);
    float *phi = output<float>(all), *red_start = output<float>(half), *red = output<float>(half);
    float *black = output<float>(half), *red_rhs = output<float>(half);
    fill_colours<<<dim3(n / 256, n), 256>>>(red_start, black, start, n);
    fill_colours<<<dim3(n / 256, n), 256>>>(red_rhs, nullptr, rhs, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> want((size_t)rows * n), want_red((size_t)rows * width);
    {
        std::vector<float> p = on_host(start, all), f = on_host(rhs, all);
        for (int r = 0; r < rows; r++) {
            size_t i = (size_t)r * every;
            for (int j = 0; j < n; j++) {
                float v = p[i * n + j];
                if ((i + j) % 2 == 0 && i > 0 && i < n - 1 && j > 0 && j < n - 1) {
                    float around = p[(i - 1) * n + j] + p[(i + 1) * n + j] + p[i * n + j - 1] + p[i * n + j + 1];
                    v += omega * (0.25f * (around - f[i * n + j]) - v);
                }
                want[(size_t)r * n + j] = v;
                if ((i + j) % 2 == 0)
                    want_red[(size_t)r * width + j / 2] = v;
            }
        }
    }
    float *picked = output<float>((size_t)rows * n);
    auto pick = [&](const float *from, int wide) {
        const size_t bytes = wide * sizeof(float);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, bytes, from, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
    };
    auto sweep = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(phi, start, all * sizeof(float), cudaMemcpyDeviceToDevice));
        launch();
        pick(phi, n);
        check(name, picked, want, 1e-5);
    };
    auto sweep_red = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(red, red_start, half * sizeof(float), cudaMemcpyDeviceToDevice));
        launch();
        pick(red, width);
        check(name, picked, want_red, 1e-5);
    };
    sweep("k182e", [&] { k182e<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(phi, rhs, omega, n); });
    sweep("k182f", [&] { k182f<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(phi, rhs, omega, n); });
    dim3 grid(width / BX, n / BY), block(BX, BY);
    sweep_red("k182g", [&] { k182g<<<grid, block>>>(red, black, red_rhs, omega, n); });
    sweep_red("k182h", [&] { k182h<<<grid, block>>>(red, black, red_rhs, omega, n); });
    return 0;
}
