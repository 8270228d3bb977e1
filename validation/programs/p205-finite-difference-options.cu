// European puts on two thousand parameter sets by explicit finite differences in the logarithm of the price, and the
// simulated value of the option to exchange one asset for another.
#include "../harness.h"

#include <functional>

const int OPTIONS = 2048, POINTS = 512, STEPS = 1024;

struct Weights {
    double down, mid, up, dx;
};

__host__ __device__ inline Weights weights(float rate, float vol, double dt)
{
    double dx = vol * sqrt(3.0 * dt);
    double drift = (rate - 0.5 * vol * vol) * dt / (2.0 * dx);
    return {1.0 / 6.0 - drift, 2.0 / 3.0 - rate * dt, 1.0 / 6.0 + drift, dx};
}

__host__ __device__ inline double payoff(float strike, double dx, int i)
{
    return fmax(strike - 100.0 * exp((i - POINTS / 2) * dx), 0.0);
}

__global__ void k205a(float *price, double *first, double *second, const float *strike, const float *rate,
                      const float *vol, double dt, int steps)
{
    int o = blockIdx.x, i = threadIdx.x;
    Weights w = weights(rate[o], vol[o], dt);
    double *now = first + o * POINTS, *next = second + o * POINTS;
    now[i] = payoff(strike[o], w.dx, i);
    __syncthreads();
    for (int n = 0; n < steps; n++) {
        double v = now[i];
        if (i > 0 && i < POINTS - 1)
            v = w.down * now[i - 1] + w.mid * v + w.up * now[i + 1];
        next[i] = v;
        __syncthreads();
        double *t = now;
        now = next;
        next = t;
    }
    price[o * POINTS + i] = (float)now[i];
}

__global__ void k205b(float *price, const float *strike, const float *rate, const float *vol, double dt, int steps)
{
    __shared__ double buffer[2][POINTS];
    int o = blockIdx.x, i = threadIdx.x, at = 0;
    Weights w = weights(rate[o], vol[o], dt);
    buffer[0][i] = payoff(strike[o], w.dx, i);
    __syncthreads();
    for (int n = 0; n < steps; n++) {
        double v = buffer[at][i];
        if (i > 0 && i < POINTS - 1)
            v = w.down * buffer[at][i - 1] + w.mid * v + w.up * buffer[at][i + 1];
        buffer[1 - at][i] = v;
        __syncthreads();
        at = 1 - at;
    }
    price[o * POINTS + i] = (float)buffer[at][i];
}

__global__ void k205c(float *price, const float *strike, const float *rate, const float *vol, double dt, int steps)
{
    __shared__ float buffer[2][POINTS];
    int o = blockIdx.x, i = threadIdx.x, at = 0;
    Weights w = weights(rate[o], vol[o], dt);
    float down = (float)w.down, mid = (float)w.mid, up = (float)w.up;
    buffer[0][i] = (float)payoff(strike[o], w.dx, i);
    __syncthreads();
    for (int n = 0; n < steps; n++) {
        float v = buffer[at][i];
        if (i > 0 && i < POINTS - 1)
            v = down * buffer[at][i - 1] + mid * v + up * buffer[at][i + 1];
        buffer[1 - at][i] = v;
        __syncthreads();
        at = 1 - at;
    }
    price[o * POINTS + i] = buffer[at][i];
}

const int EACH = 4, THREADS = POINTS / EACH;

__global__ void k205d(float *price, const float *strike, const float *rate, const float *vol, double dt, int steps)
{
    __shared__ float lowest[THREADS], highest[THREADS];
    int o = blockIdx.x, t = threadIdx.x;
    Weights w = weights(rate[o], vol[o], dt);
    float down = (float)w.down, mid = (float)w.mid, up = (float)w.up;
    float v[EACH];
#pragma unroll
    for (int p = 0; p < EACH; p++)
        v[p] = (float)payoff(strike[o], w.dx, t * EACH + p);
    for (int n = 0; n < steps; n++) {
        lowest[t] = v[0];
        highest[t] = v[EACH - 1];
        __syncthreads();
        float before = t > 0 ? highest[t - 1] : 0.0f;
        float after = t < THREADS - 1 ? lowest[t + 1] : 0.0f;
        float head = v[0], tail = v[EACH - 1];
#pragma unroll
        for (int p = 0; p < EACH; p++) {
            float old = v[p];
            v[p] = down * before + mid * old + up * (p < EACH - 1 ? v[p + 1] : after);
            before = old;
        }
        if (t == 0)
            v[0] = head;
        if (t == THREADS - 1)
            v[EACH - 1] = tail;
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < EACH; p++)
        price[o * POINTS + t * EACH + p] = v[p];
}

const int OWN = POINTS / 32;

// A warp carries an option.
__global__ void __launch_bounds__(128) k205e(float *price, const float *strike, const float *rate, const float *vol,
                                             double dt, int steps)
{
    int o = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    Weights w = weights(rate[o], vol[o], dt);
    float down = (float)w.down, mid = (float)w.mid, up = (float)w.up;
    float v[OWN];
#pragma unroll
    for (int p = 0; p < OWN; p++)
        v[p] = (float)payoff(strike[o], w.dx, lane * OWN + p);
#pragma unroll 4
    for (int n = 0; n < steps; n++) {
        float before = __shfl_up_sync(0xffffffff, v[OWN - 1], 1);
        float after = __shfl_down_sync(0xffffffff, v[0], 1);
        float head = v[0], tail = v[OWN - 1];
#pragma unroll
        for (int p = 0; p < OWN; p++) {
            float old = v[p];
            v[p] = down * before + mid * old + up * (p < OWN - 1 ? v[p + 1] : after);
            before = old;
        }
        v[0] = lane == 0 ? head : v[0];
        v[OWN - 1] = lane == 31 ? tail : v[OWN - 1];
    }
    float4 *out = reinterpret_cast<float4 *>(price + o * POINTS + lane * OWN);
#pragma unroll
    for (int q = 0; q < OWN / 4; q++)
        out[q] = make_float4(v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
}

const int PATHS = 1 << 20, MOVES = 64;

__global__ void k205f(float *value, const float *__restrict__ z, float con1, float con2, float rho, float alpha,
                      float discount)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    int at = path * 2 * MOVES;
    float s1 = 1.0f, s2 = 1.0f;
#pragma unroll 8
    for (int n = 0; n < MOVES; n++) {
        float y1 = z[at++];
        float y2 = rho * y1 + alpha * z[at++];
        s1 *= con1 + con2 * y1;
        s2 *= con1 + con2 * y2;
    }
    value[path] = discount * fmaxf(s1 - s2, 0.0f);
}

__global__ void k205g(float *value, const float *__restrict__ z, int paths, float con1, float con2, float rho,
                      float alpha, float discount)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    int at = path;
    float s1 = 1.0f, s2 = 1.0f;
#pragma unroll 8
    for (int n = 0; n < MOVES; n++) {
        float y1 = z[at];
        at += paths;
        float y2 = rho * y1 + alpha * z[at];
        at += paths;
        s1 *= con1 + con2 * y1;
        s2 *= con1 + con2 * y2;
    }
    value[path] = discount * fmaxf(s1 - s2, 0.0f);
}

__constant__ int paths_c;
__constant__ float con1_c, con2_c, rho_c, alpha_c, discount_c;

__global__ void k205h(float *value, const float *__restrict__ z)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    int at = path;
    float s1 = 1.0f, s2 = 1.0f;
#pragma unroll 8
    for (int n = 0; n < MOVES; n++) {
        float y1 = z[at];
        at += paths_c;
        float y2 = rho_c * y1 + alpha_c * z[at];
        at += paths_c;
        s1 *= con1_c + con2_c * y1;
        s2 *= con1_c + con2_c * y2;
    }
    value[path] = discount_c * fmaxf(s1 - s2, 0.0f);
}

// The same numbers with the paths side by side.
__global__ void fill_by_move(float *by_move, const float *by_path)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)PATHS * 2 * MOVES) {
        size_t path = i % PATHS, k = i / PATHS;
        by_move[i] = by_path[path * 2 * MOVES + k];
    }
}

int main()
{
    const double dt = 1.0 / STEPS;
    const size_t grid = (size_t)OPTIONS * POINTS;
    float *strike = input<float>(OPTIONS, 2051, 70.0, 140.0), *rate = input<float>(OPTIONS, 2052, 0.01, 0.05);
    float *vol = input<float>(OPTIONS, 2053, 0.15, 0.35), *price = output<float>(grid);
    double *first = output<double>(grid), *second = output<double>(grid);
    std::vector<float> hs = on_host(strike, OPTIONS), hr = on_host(rate, OPTIONS), hv = on_host(vol, OPTIONS);

    // Every 67th option.
    const int every = 67, chosen = (OPTIONS - 1) / every + 1;
    std::vector<float> want((size_t)chosen * POINTS);
    for (int c = 0; c < chosen; c++) {
        int o = c * every;
        Weights w = weights(hr[o], hv[o], dt);
        std::vector<double> v(POINTS), next(POINTS);
        for (int i = 0; i < POINTS; i++)
            v[i] = next[i] = payoff(hs[o], w.dx, i);
        for (int n = 0; n < STEPS; n++) {
            for (int i = 1; i < POINTS - 1; i++)
                next[i] = w.down * v[i - 1] + w.mid * v[i] + w.up * v[i + 1];
            v.swap(next);
        }
        for (int i = 0; i < POINTS; i++)
            want[(size_t)c * POINTS + i] = (float)v[i];
    }
    float *picked = output<float>(want.size());
    auto puts = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(price, 0xA5, grid * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = POINTS * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, price, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 5e-4);
    };
    puts("k205a", [&] { k205a<<<OPTIONS, POINTS>>>(price, first, second, strike, rate, vol, dt, STEPS); });
    puts("k205b", [&] { k205b<<<OPTIONS, POINTS>>>(price, strike, rate, vol, dt, STEPS); });
    puts("k205c", [&] { k205c<<<OPTIONS, POINTS>>>(price, strike, rate, vol, dt, STEPS); });
    puts("k205d", [&] { k205d<<<OPTIONS, THREADS>>>(price, strike, rate, vol, dt, STEPS); });
    puts("k205e", [&] { k205e<<<OPTIONS / 4, 128>>>(price, strike, rate, vol, dt, STEPS); });

    // Shocks of mean 0 and variance 1.
    const size_t shocks = (size_t)PATHS * 2 * MOVES;
    float *z = input<float>(shocks, 2054, -1.7320508, 1.7320508), *z_by_move = output<float>(shocks);
    fill_by_move<<<(unsigned)(shocks / 256), 256>>>(z_by_move, z);
    MUST(cudaGetLastError());
    float *value = output<float>(PATHS);
    const float step = 1.0f / MOVES, rho = 0.5f, alpha = std::sqrt(1.0f - rho * rho);
    const float con1 = 1.0f + 0.05f * step, con2 = 0.2f * std::sqrt(step), discount = std::exp(-0.05f);
    const int paths = PATHS;
    MUST(cudaMemcpyToSymbol(paths_c, &paths, sizeof(int)));
    MUST(cudaMemcpyToSymbol(con1_c, &con1, sizeof(float)));
    MUST(cudaMemcpyToSymbol(con2_c, &con2, sizeof(float)));
    MUST(cudaMemcpyToSymbol(rho_c, &rho, sizeof(float)));
    MUST(cudaMemcpyToSymbol(alpha_c, &alpha, sizeof(float)));
    MUST(cudaMemcpyToSymbol(discount_c, &discount, sizeof(float)));

    // The first 65536 paths.
    const int tried = 65536;
    std::vector<float> hz = on_host(z, (size_t)tried * 2 * MOVES), worth(tried);
    for (int p = 0; p < tried; p++) {
        double s1 = 1, s2 = 1;
        for (int n = 0; n < MOVES; n++) {
            double y1 = hz[((size_t)p * MOVES + n) * 2], y2 = rho * y1 + alpha * hz[((size_t)p * MOVES + n) * 2 + 1];
            s1 *= con1 + con2 * y1;
            s2 *= con1 + con2 * y2;
        }
        worth[p] = float(discount * std::fmax(s1 - s2, 0.0));
    }
    std::vector<float> all;
    auto exchange = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(value, 0xA5, PATHS * sizeof(float)));
        launch();
        check(name, value, all.empty() ? worth : all, 1e-4);
        if (all.empty())
            all = on_host(value, PATHS);
    };
    const int block = 256, blocks = PATHS / block;
    exchange("k205f", [&] { k205f<<<blocks, block>>>(value, z, con1, con2, rho, alpha, discount); });
    exchange("k205g", [&] { k205g<<<blocks, block>>>(value, z_by_move, PATHS, con1, con2, rho, alpha, discount); });
    exchange("k205h", [&] { k205h<<<blocks, block>>>(value, z_by_move); });
    return 0;
}
