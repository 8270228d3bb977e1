// Option pricing: Monte-Carlo paths of two correlated stocks, the Black-Scholes formula, and binomial trees.
#include "../harness.h"

#include <functional>

// ---- paths ----

__constant__ int c_steps;
__constant__ float c_rho, c_alpha, c_drift, c_spread, c_discount;

__global__ void k65a(const float *z, float *value)
{
    int path = threadIdx.x + blockIdx.x * blockDim.x;
    int at = 2 * c_steps * path;
    float s1 = 1.0f, s2 = 1.0f;
    for (int t = 0; t < c_steps; t++) {
        float y1 = z[at];
        at++;
        float y2 = c_rho * y1 + c_alpha * z[at];
        at++;
        s1 = s1 * (c_drift + c_spread * y1);
        s2 = s2 * (c_drift + c_spread * y2);
    }
    value[path] = c_discount * fmaxf(0.5f * (s1 + s2) - 1.0f, 0.0f);
}

__global__ void k65b(const float *z, float *value)
{
    int path = threadIdx.x + blockIdx.x * blockDim.x;
    int at = threadIdx.x + 2 * c_steps * blockIdx.x * blockDim.x;
    float s1 = 1.0f, s2 = 1.0f;
    for (int t = 0; t < c_steps; t++) {
        float y1 = z[at];
        at += blockDim.x;
        float y2 = c_rho * y1 + c_alpha * z[at];
        at += blockDim.x;
        s1 = s1 * (c_drift + c_spread * y1);
        s2 = s2 * (c_drift + c_spread * y2);
    }
    value[path] = c_discount * fmaxf(0.5f * (s1 + s2) - 1.0f, 0.0f);
}

__global__ void by_block(const float *from, float *to, int steps, int threads, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        size_t path = i / (2 * steps), k = i % (2 * steps);
        to[path / threads * threads * 2 * steps + k * threads + path % threads] = from[i];
    }
}

// ---- formula ----

__device__ float normal_c(float d)
{
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    float cnd = 0.39894228040143267794 * exp(-0.5 * d * d) * poly;
    if (d > 0)
        cnd = 1.0 - cnd;
    return cnd;
}

__global__ void k65c(float *call, float *put, const float *price, const float *strike, const float *years, float r,
                     float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float n1 = normal_c(d1), n2 = normal_c(d2);
    float present = exp(-r * t);
    call[i] = s * n1 - x * present * n2;
    put[i] = x * present * (1.0 - n2) - s * (1.0 - n1);
}

__device__ float normal_d(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float cnd = 0.39894228040143267794f * expf(-0.5f * d * d) * poly;
    if (d > 0)
        cnd = 1.0f - cnd;
    return cnd;
}

__global__ void k65d(float *call, float *put, const float *price, const float *strike, const float *years, float r,
                     float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float n1 = normal_d(d1), n2 = normal_d(d2);
    float present = expf(-r * t);
    call[i] = s * n1 - x * present * n2;
    put[i] = x * present * (1.0f - n2) - s * (1.0f - n1);
}

__device__ __forceinline__ float normal_e(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float cnd = 0.39894228040143267794f * __expf(-0.5f * d * d) * poly;
    if (d > 0)
        cnd = 1.0f - cnd;
    return cnd;
}

__device__ __forceinline__ void formula(float &call, float &put, float s, float x, float t, float r, float v)
{
    float root = __fdividef(1.0f, rsqrtf(t));
    float d1 = __fdividef(__logf(__fdividef(s, x)) + (r + 0.5f * v * v) * t, v * root);
    float d2 = d1 - v * root;
    float n1 = normal_e(d1), n2 = normal_e(d2);
    float present = __expf(-r * t);
    call = s * n1 - x * present * n2;
    put = x * present * (1.0f - n2) - s * (1.0f - n1);
}

__global__ void k65e(float *__restrict__ call, float *__restrict__ put, const float *__restrict__ price,
                     const float *__restrict__ strike, const float *__restrict__ years, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float c, p;
    formula(c, p, price[i], strike[i], years[i], r, v);
    call[i] = c;
    put[i] = p;
}

__global__ void k65f(float2 *__restrict__ call, float2 *__restrict__ put, const float2 *__restrict__ price,
                     const float2 *__restrict__ strike, const float2 *__restrict__ years, float r, float v, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    float2 s = price[i], x = strike[i], t = years[i], c, p;
    formula(c.x, p.x, s.x, x.x, t.x, r, v);
    formula(c.y, p.y, s.y, x.y, t.y, r, v);
    call[i] = c;
    put[i] = p;
}

// ---- trees ----

struct Option {
    float s, x, vdt, up, down;
};

const int STEPS = 2048;

__device__ __forceinline__ float at_expiry(const Option &o, int i)
{
    return fmaxf(o.s * expf(o.vdt * (2.0f * i - STEPS)) - o.x, 0.0f);
}

__global__ void k65g(const Option *options, float *value)
{
    __shared__ float level_a[STEPS + 1], level_b[STEPS + 1];
    Option o = options[blockIdx.x];
    for (int i = threadIdx.x; i <= STEPS; i += blockDim.x)
        level_a[i] = at_expiry(o, i);
    __syncthreads();

    float *from = level_a, *to = level_b;
    for (int t = STEPS; t > 0; t--) {
        for (int i = threadIdx.x; i < t; i += blockDim.x)
            to[i] = o.up * from[i + 1] + o.down * from[i];
        __syncthreads();
        float *swap = from;
        from = to;
        to = swap;
    }
    if (threadIdx.x == 0)
        value[blockIdx.x] = from[0];
}

const int THREADS = 128, NODES = STEPS / THREADS;

__global__ void k65h(const Option *options, float *value)
{
    __shared__ float edge[THREADS + 1];
    int tid = threadIdx.x;
    Option o = options[blockIdx.x];

    float node[NODES + 1];
#pragma unroll
    for (int i = 0; i < NODES; i++)
        node[i] = at_expiry(o, tid * NODES + i);
    if (tid == 0)
        edge[THREADS] = at_expiry(o, STEPS);

    int done = max(0, tid * NODES - 1);
    for (int t = STEPS; t > 0; t--) {
        edge[tid] = node[0];
        __syncthreads();
        node[NODES] = edge[tid + 1];
        __syncthreads();
        if (t > done) {
#pragma unroll
            for (int i = 0; i < NODES; i++)
                node[i] = o.up * node[i + 1] + o.down * node[i];
        }
    }
    if (tid == 0)
        value[blockIdx.x] = node[0];
}

int main()
{
    {
        const int steps = 100, threads = 128, paths = 960000;
        const size_t n = (size_t)2 * steps * paths;
        const float r = 0.05f, sigma = 0.1f, rho = 0.5f, alpha = std::sqrt(1.0f - rho * rho), dt = 1.0f / steps;
        const float drift = 1.0f + r * dt, spread = std::sqrt(dt) * sigma, discount = std::exp(-r);
        MUST(cudaMemcpyToSymbol(c_steps, &steps, sizeof steps));
        MUST(cudaMemcpyToSymbol(c_rho, &rho, sizeof rho));
        MUST(cudaMemcpyToSymbol(c_alpha, &alpha, sizeof alpha));
        MUST(cudaMemcpyToSymbol(c_drift, &drift, sizeof drift));
        MUST(cudaMemcpyToSymbol(c_spread, &spread, sizeof spread));
        MUST(cudaMemcpyToSymbol(c_discount, &discount, sizeof discount));

        // Uniform numbers of variance 1.
        float *z = input<float>(n, 651, -1.7320508, 1.7320508), *z2 = output<float>(n);
        by_block<<<1056, 256>>>(z, z2, steps, threads, n);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());

        const int step = 311;
        std::vector<float> want;
        for (int p = 0; p < paths; p += step) {
            std::vector<float> v = on_host(z + (size_t)2 * steps * p, 2 * steps);
            double s1 = 1.0, s2 = 1.0;
            for (int t = 0; t < steps; t++) {
                double y1 = v[2 * t], y2 = rho * y1 + alpha * v[2 * t + 1];
                s1 *= drift + spread * y1;
                s2 *= drift + spread * y2;
            }
            want.push_back(float(discount * std::fmax(0.5 * (s1 + s2) - 1.0, 0.0)));
        }
        auto expect = [&](const char *name, const float *value) {
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            std::vector<float> all = on_host(value, paths), few;
            for (int p = 0; p < paths; p += step)
                few.push_back(all[p]);
            float *d_few = on_device(few);
            check(name, d_few, want, 1e-4);
            MUST(cudaFree(d_few));
        };
        // A value of -1 cannot be a result.
        float *value = input<float>(paths, 0, -1.0, -1.0);
        k65a<<<paths / threads, threads>>>(z, value);
        expect("k65a", value);

        value = input<float>(paths, 0, -1.0, -1.0);
        k65b<<<paths / threads, threads>>>(z2, value);
        expect("k65b", value);
        MUST(cudaFree(z));
        MUST(cudaFree(z2));
    }
    {
        const int n = 16000000;
        const float r = 0.02f, v = 0.30f;
        float *price = input<float>(n, 652, 5.0, 30.0), *strike = input<float>(n, 653, 1.0, 100.0);
        float *years = input<float>(n, 654, 0.25, 10.0);
        float *call = output<float>(n), *put = output<float>(n);

        const int count = 200000, start[2] = {0, n - count};
        std::vector<float> want;
        auto normal = [](double d) {
            double k = 1.0 / (1.0 + 0.2316419 * std::fabs(d));
            double cnd = 0.39894228040143267794 * std::exp(-0.5 * d * d) *
                         (k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))));
            return d > 0 ? 1.0 - cnd : cnd;
        };
        for (int q = 0; q < 2; q++) {
            std::vector<float> s = on_host(price + start[q], count), x = on_host(strike + start[q], count),
                               t = on_host(years + start[q], count);
            std::vector<float> puts;
            for (int i = 0; i < count; i++) {
                double root = std::sqrt(double(t[i]));
                double d1 = (std::log(double(s[i]) / x[i]) + (r + 0.5 * v * v) * t[i]) / (v * root), d2 = d1 - v * root;
                double n1 = normal(d1), n2 = normal(d2), present = std::exp(-double(r) * t[i]);
                want.push_back(float(s[i] * n1 - x[i] * present * n2));
                puts.push_back(float(x[i] * present * (1.0 - n2) - s[i] * (1.0 - n1)));
            }
            want.insert(want.end(), puts.begin(), puts.end());
        }
        float *few = output<float>(want.size());
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            // Prices of -1000 cannot be a result.
            harness_fill<<<1056, 256>>>(call, n, 0, -1000.0, -1000.0);
            harness_fill<<<1056, 256>>>(put, n, 0, -1000.0, -1000.0);
            MUST(cudaDeviceSynchronize());
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            for (int q = 0; q < 2; q++) {
                MUST(cudaMemcpy(few + (size_t)2 * q * count, call + start[q], count * sizeof(float),
                                cudaMemcpyDeviceToDevice));
                MUST(cudaMemcpy(few + (size_t)(2 * q + 1) * count, put + start[q], count * sizeof(float),
                                cudaMemcpyDeviceToDevice));
            }
            check(name, few, want, 1e-3);
        };
        const int blocks = (n + 255) / 256;
        launch_and_check("k65c", [&] { k65c<<<blocks, 256>>>(call, put, price, strike, years, r, v, n); });
        launch_and_check("k65d", [&] { k65d<<<blocks, 256>>>(call, put, price, strike, years, r, v, n); });
        launch_and_check("k65e", [&] { k65e<<<blocks, 256>>>(call, put, price, strike, years, r, v, n); });
        launch_and_check("k65f", [&] {
            k65f<<<(n / 2 + 127) / 128, 128>>>((float2 *)call, (float2 *)put, (float2 *)price, (float2 *)strike,
                                               (float2 *)years, r, v, n / 2);
        });
    }
    {
        const int count = 2048, step = 137;
        const double r = 0.06, v = 0.10;
        std::vector<Option> options(count);
        std::vector<float> want;
        for (int k = 0; k < count; k++) {
            double s = 5.0 + 25.0 * (scrambled(k, 655) / 4294967296.0);
            double x = s * (0.5 + scrambled(k, 656) / 4294967296.0);
            double t = 0.25 + 9.75 * (scrambled(k, 657) / 4294967296.0);
            double dt = t / STEPS, vdt = v * std::sqrt(dt), growth = std::exp(r * dt), u = std::exp(vdt), d = 1.0 / u;
            double pu = (growth - d) / (u - d);
            options[k] = {float(s), float(x), float(vdt), float(pu / growth), float((1.0 - pu) / growth)};
            if (k % step == 0) {
                const Option &o = options[k];
                std::vector<double> node(STEPS + 1);
                for (int i = 0; i <= STEPS; i++)
                    node[i] = std::fmax(o.s * std::exp(double(o.vdt) * (2.0 * i - STEPS)) - o.x, 0.0);
                for (int i = STEPS; i > 0; i--)
                    for (int j = 0; j < i; j++)
                        node[j] = double(o.up) * node[j + 1] + double(o.down) * node[j];
                want.push_back(float(node[0]));
            }
        }
        Option *d_options = on_device(options);
        float *first = input<float>(count, 0, -1000.0, -1000.0);
        k65g<<<count, 256>>>(d_options, first);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> full = on_host(first, count), few;
        for (int k = 0; k < count; k += step)
            few.push_back(full[k]);
        check("k65g", on_device(few), want, 1e-3);

        float *second = input<float>(count, 0, -1000.0, -1000.0);
        k65h<<<count, THREADS>>>(d_options, second);
        check("k65h", second, full, 1e-3);
    }
    return 0;
}
