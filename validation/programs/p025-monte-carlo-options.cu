// Monte Carlo price of an Asian call option, and a generator of random numbers that keeps its states in memory.
#include "../harness.h"

struct Option {
    float spot, strike, rate, sigma, years;
    int steps;
};

__host__ __device__ inline unsigned seed_of(unsigned path)
{
    unsigned h = path * 2654435761u + 12345u;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    h ^= h >> 16;
    return h ? h : 1u;
}

__host__ __device__ inline float uniform(unsigned &state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return ((state >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__host__ __device__ inline float payoff(const Option &o, unsigned path)
{
    unsigned state = seed_of(path);
    float dt = o.years / o.steps;
    float drift = (o.rate - 0.5f * o.sigma * o.sigma) * dt, vol = o.sigma * sqrtf(dt);
    float s = o.spot, total = 0.0f;
    for (int i = 0; i < o.steps; i++) {
        float u = uniform(state), v = uniform(state);
        float z = sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
        s *= expf(drift + vol * z);
        total += s;
    }
    return fmaxf(total / o.steps - o.strike, 0.0f);
}

__global__ void k25a(Option o, int paths, double *sum)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path < paths)
        atomicAdd(sum, (double)payoff(o, path));
}

__device__ void add_block(double value, double *sum)
{
    __shared__ double partial[8];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            value += partial[w];
        atomicAdd(sum, value);
    }
}

__global__ void k25b(Option o, int paths, double *sum)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    add_block(path < paths ? (double)payoff(o, path) : 0.0, sum);
}

__global__ void k25c(Option o, int paths, double *sum)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seed_of(path);
    float dt = o.years / o.steps;
    float drift = (o.rate - 0.5f * o.sigma * o.sigma) * dt, vol = o.sigma * sqrtf(dt);
    float s = o.spot, total = 0.0f;
    for (int i = 0; i < o.steps; i++) {
        float u = uniform(state), v = uniform(state);
        float t = fmaxf(-2.0f * __logf(u), 1e-12f);
        float z = t * rsqrtf(t) * __cosf(6.2831853f * (v - 0.5f));
        s *= __expf(drift - vol * z);
        total += s;
    }
    add_block(path < paths ? (double)fmaxf(total / o.steps - o.strike, 0.0f) : 0.0, sum);
}

// Steps in pairs: both normals of a pair of uniforms are taken.
__global__ void k25d(Option o, int paths, double *sum)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = seed_of(path);
    float dt = o.years / o.steps;
    float drift = (o.rate - 0.5f * o.sigma * o.sigma) * dt, vol = o.sigma * sqrtf(dt);
    float s = o.spot, total = 0.0f;
    for (int i = 0; i < o.steps; i += 2) {
        float u = uniform(state), v = uniform(state);
        float t = fmaxf(-2.0f * __logf(u), 1e-12f), sine, cosine;
        float radius = vol * t * rsqrtf(t);
        __sincosf(6.2831853f * (v - 0.5f), &sine, &cosine);
        s *= __expf(drift - radius * cosine);
        total += s;
        s *= __expf(drift - radius * sine);
        total += s;
    }
    add_block(path < paths ? (double)fmaxf(total / o.steps - o.strike, 0.0f) : 0.0, sum);
}

struct State {
    unsigned x, y, z, w, v, d;
};

__host__ __device__ inline unsigned next(State &s)
{
    unsigned t = s.x ^ s.x >> 2;
    s.x = s.y;
    s.y = s.z;
    s.z = s.w;
    s.w = s.v;
    s.v = (s.v ^ s.v << 4) ^ (t ^ t << 1);
    s.d += 362437;
    return s.v + s.d;
}

// Two numbers of each of n generators.
__global__ void k25e(State *states, float *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    State s = states[i];
    numbers[i] = next(s) * 2.3283064e-10f;
    numbers[n + i] = next(s) * 2.3283064e-10f;
    states[i] = s;
}

__global__ void k25f(unsigned *states, float *numbers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    State s = {states[i],         states[n + i],     states[2 * n + i],
               states[3 * n + i], states[4 * n + i], states[5 * n + i]};
    numbers[i] = next(s) * 2.3283064e-10f;
    numbers[n + i] = next(s) * 2.3283064e-10f;
    states[i] = s.x;
    states[n + i] = s.y;
    states[2 * n + i] = s.z;
    states[3 * n + i] = s.w;
    states[4 * n + i] = s.v;
    states[5 * n + i] = s.d;
}

int main()
{
    const int paths = 1 << 20, blocks = paths / 256;
    Option o = {100.0f, 100.0f, 0.03f, 0.25f, 1.0f, 64};
    double few = 0.0;
    for (int path = 0; path < 20000; path++)
        few += payoff(o, path);
    std::vector<double> want = {few / 20000 * paths};

    double *sum = zeroed<double>(1);
    k25a<<<blocks, 256>>>(o, paths, sum);
    check("k25a", sum, want, 0.08);
    want = on_host(sum, 1);

    sum = zeroed<double>(1);
    k25b<<<blocks, 256>>>(o, paths, sum);
    check("k25b", sum, want, 1e-5);

    sum = zeroed<double>(1);
    k25c<<<blocks, 256>>>(o, paths, sum);
    check("k25c", sum, want, 1e-2);

    sum = zeroed<double>(1);
    k25d<<<blocks, 256>>>(o, paths, sum);
    check("k25d", sum, want, 3e-2);

    const int n = 4000000;
    std::vector<unsigned> rows(6 * (size_t)n), columns(6 * (size_t)n);
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t word = 0; word < 6; word++)
            rows[6 * i + word] = columns[word * n + i] = scrambled(6 * i + word, 251);
    std::vector<float> numbers(2 * (size_t)n);
    for (size_t i = 0; i < (size_t)n; i++) {
        State s = {rows[6 * i], rows[6 * i + 1], rows[6 * i + 2], rows[6 * i + 3], rows[6 * i + 4], rows[6 * i + 5]};
        numbers[i] = next(s) * 2.3283064e-10f;
        numbers[n + i] = next(s) * 2.3283064e-10f;
    }
    unsigned *states = on_device(rows);
    float *made = output<float>(2 * (size_t)n);
    k25e<<<(n + 255) / 256, 256>>>(reinterpret_cast<State *>(states), made, n);
    check("k25e", made, numbers, 1e-6);

    states = on_device(columns);
    made = output<float>(2 * (size_t)n);
    k25f<<<(n + 255) / 256, 256>>>(states, made, n);
    check("k25f", made, numbers, 1e-6);
    return 0;
}
