// Simulated share price paths from given normal numbers, and the year of the dates in a table of orders.
#include "../harness.h"

#include <functional>

const int PATHS = 1 << 18, STEPS = 128;
const float START = 100.0f, RATE = 0.03f, VOLATILITY = 0.2f, DT = 1.0f / 252.0f;

__host__ __device__ inline float normal(unsigned path, unsigned step)
{
    unsigned long long i = (unsigned long long)step << 32 | path;
    float sum = 0.0f;
    for (unsigned k = 0; k < 6; k++)
        sum += scrambled(i, 2190 + k) * (1.0f / 4294967296.0f) - 0.5f;
    return sum * 1.41421356f;
}

__global__ void fill_normals(float *by_path, float *by_step)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < STEPS; k++)
        by_path[p * STEPS + k] = by_step[k * PATHS + p] = normal(p, k);
}

// price[path][step]
__global__ void k219a(float *__restrict__ price, const float *__restrict__ z, int paths, int steps, float start,
                      float rate, float volatility, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths)
        return;
    float s = start;
    for (int k = 0; k < steps; k++) {
        s *= exp((rate - 0.5 * volatility * volatility) * dt + volatility * sqrt(dt) * z[p * steps + k]);
        price[p * steps + k] = s;
    }
}

// price[step][path]
__global__ void k219b(float *__restrict__ price, const float *__restrict__ z, int paths, int steps, float start,
                      float rate, float volatility, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths)
        return;
    float s = start;
#pragma unroll 8
    for (int k = 0; k < steps; k++) {
        s *= exp((rate - 0.5 * volatility * volatility) * dt + volatility * sqrt(dt) * z[k * paths + p]);
        price[k * paths + p] = s;
    }
}

__global__ void k219c(float *__restrict__ price, const float *__restrict__ z, int paths, int steps, float start,
                      float rate, float volatility, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths)
        return;
    float s = start;
    float drift = (rate - 0.5f * volatility * volatility) * dt, scale = volatility * sqrtf(dt);
#pragma unroll 8
    for (int k = 0; k < steps; k++) {
        s *= expf(drift + scale * z[k * paths + p]);
        price[k * paths + p] = s;
    }
}

__global__ void k219d(float *__restrict__ price, const float *__restrict__ z, int paths, int steps, float start,
                      float rate, float volatility, float dt)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= paths)
        return;
    float s = start;
    float drift = (rate - 0.5f * volatility * volatility) * dt, scale = volatility * sqrtf(dt);
#pragma unroll 8
    for (int k = 0; k < steps; k++) {
        s *= __expf(drift + scale * z[k * paths + p]);
        price[k * paths + p] = s;
    }
}

struct Order {
    int date, customer, part, supplier;
    float quantity, price, discount, tax;
};

const int ROWS = 1 << 25, DAYS = 19723;

__global__ void fill_orders(Order *orders, int *dates, int rows)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x) {
        unsigned r = scrambled(i, 2199);
        dates[i] = int(r % DAYS);
        orders[i] = Order{int(r % DAYS), int(r >> 8), int(r >> 12), int(r >> 16), 1.0f, 2.0f, 0.05f, 0.02f};
    }
}

// Dates are days since the first of January 1970.
__host__ __device__ inline int year_by_year(int days)
{
    int year = 1970;
    while (true) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        int length = leap ? 366 : 365;
        if (days < length)
            return year;
        days -= length;
        year++;
    }
}

// Years that begin in March, counted within centuries of 146097 / 4 days.
__device__ inline int year_of(int days)
{
    unsigned n = 4u * (unsigned(days) + 719468u) + 3u;
    unsigned century = n / 146097u, m = n % 146097u | 3u;
    unsigned year = m / 1461u, day = m % 1461u / 4u;
    return int(100u * century + year + (day >= 306u));
}

__global__ void k219e(int *year, const Order *orders, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        year[i] = year_by_year(orders[i].date);
}

__global__ void k219f(int *year, const Order *orders, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        year[i] = year_of(orders[i].date);
}

__global__ void k219g(int *year, const int *dates, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        year[i] = year_of(dates[i]);
}

__global__ void k219h(int4 *__restrict__ year, const int4 *__restrict__ dates, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        int4 d = dates[i];
        year[i] = make_int4(year_of(d.x), year_of(d.y), year_of(d.z), year_of(d.w));
    }
}

int main()
{
    // Prices: one path in 64 is computed on the host; "some" holds [path][step].
    const size_t n = (size_t)PATHS * STEPS;
    float *z_path = output<float>(n), *z_step = output<float>(n), *price = output<float>(n);
    fill_normals<<<PATHS / 256, 256>>>(z_path, z_step);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    const int every = 64, chosen = PATHS / every;
    std::vector<float> by_path((size_t)chosen * STEPS), by_step((size_t)chosen * STEPS);
    const double drift = (RATE - 0.5 * VOLATILITY * VOLATILITY) * DT, scale = VOLATILITY * std::sqrt(double(DT));
    for (int i = 0; i < chosen; i++) {
        double s = START;
        for (int k = 0; k < STEPS; k++) {
            s *= std::exp(drift + scale * normal(i * every, k));
            by_path[(size_t)i * STEPS + k] = by_step[(size_t)k * chosen + i] = float(s);
        }
    }
    float *some = output<float>(by_path.size());
    auto simulate = [&](const char *name, bool path_major, std::function<void()> launch) {
        MUST(cudaMemset(price, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (path_major) {
            const size_t bytes = STEPS * sizeof(float);
            MUST(cudaMemcpy2D(some, bytes, price, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        } else {
            const size_t bytes = sizeof(float);
            MUST(cudaMemcpy2D(some, bytes, price, every * bytes, bytes, by_step.size(), cudaMemcpyDeviceToDevice));
        }
        check(name, some, path_major ? by_path : by_step, 2e-4);
    };
    const int blocks = PATHS / 256;
    simulate("k219a", true,
             [&] { k219a<<<blocks, 256>>>(price, z_path, PATHS, STEPS, START, RATE, VOLATILITY, DT); });
    simulate("k219b", false,
             [&] { k219b<<<blocks, 256>>>(price, z_step, PATHS, STEPS, START, RATE, VOLATILITY, DT); });
    simulate("k219c", false,
             [&] { k219c<<<blocks, 256>>>(price, z_step, PATHS, STEPS, START, RATE, VOLATILITY, DT); });
    simulate("k219d", false,
             [&] { k219d<<<blocks, 256>>>(price, z_step, PATHS, STEPS, START, RATE, VOLATILITY, DT); });

    // Years: stretches of 1024 rows, every 32nd is checked.
    Order *orders = output<Order>(ROWS);
    int *dates = output<int>(ROWS), *year = output<int>(ROWS);
    fill_orders<<<1056, 256>>>(orders, dates, ROWS);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    const int stretch = 1024, skip = 32, taken = ROWS / stretch / skip;
    std::vector<int> want((size_t)taken * stretch);
    for (int t = 0; t < taken; t++)
        for (int i = 0; i < stretch; i++)
            want[(size_t)t * stretch + i] = year_by_year(int(scrambled((size_t)t * skip * stretch + i, 2199) % DAYS));
    int *picked = output<int>(want.size());
    auto extract = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(year, 0xA5, (size_t)ROWS * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = stretch * sizeof(int);
        MUST(cudaMemcpy2D(picked, bytes, year, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
    };
    int4 *year4 = reinterpret_cast<int4 *>(year);
    const int4 *dates4 = reinterpret_cast<const int4 *>(dates);
    extract("k219e", [&] { k219e<<<ROWS / 256, 256>>>(year, orders, ROWS); });
    extract("k219f", [&] { k219f<<<ROWS / 256, 256>>>(year, orders, ROWS); });
    extract("k219g", [&] { k219g<<<ROWS / 256, 256>>>(year, dates, ROWS); });
    extract("k219h", [&] { k219h<<<ROWS / 1024, 256>>>(year4, dates4, ROWS / 4); });
    return 0;
}
