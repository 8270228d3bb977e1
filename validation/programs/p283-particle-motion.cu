// Particle filter: particles move by a normally distributed step in the plane; every particle has its own generator
// (seed = (A seed + C) mod M), two uniform numbers make two normal ones (Box-Muller).
#include "../harness.h"

constexpr size_t N = 16 << 20;
constexpr int A = 48271, M = 2147483647;
constexpr int BLOCKS = 1024, THREADS = 256;

struct Particle {
    float x, y;
    int seed;
    float weight, likelihood;
    int index, parent, frame;
};


// Remainder by 2^31 - 1 of the product.
__device__ int next_seed(int seed)
{
    unsigned long long product = (unsigned long long)seed * A;
    unsigned sum = (unsigned)(product & M) + (unsigned)(product >> 31);
    return sum >= M ? sum - M : sum;
}

__device__ int next_seed(int seed, long long a, long long c, long long m)
{
    return (int)((a * seed + c) % m);
}

__device__ void normal_pair(int u, int v, float &a, float &b)
{
    float radius = sqrtf(-2.0f * logf(u * (1.0f / M))), sine, cosine;
    __sincosf(6.2831853f * (v * (1.0f / M)), &sine, &cosine);
    a = radius * cosine;
    b = radius * sine;
}
__device__ void normal_pair_fast(int u, int v, float &a, float &b)
{
    float t = fmaxf(-2.0f * __logf(u * (1.0f / M)), 1e-30f), radius = t * rsqrtf(t), sine, cosine;
    __sincosf(6.2831853f * (v * (1.0f / M)), &sine, &cosine);
    a = radius * cosine;
    b = radius * sine;
}
__device__ void normal_pair_double(int u, int v, float &a, float &b)
{
    double radius = sqrt(-2.0 * log((double)u / M)), angle = 6.283185307179586 * ((double)v / M);
    a = (float)(radius * cos(angle));
    b = (float)(radius * sin(angle));
}

struct Fields {
    const float *x, *y;
    const int *seed;
    float *new_x, *new_y;
    int *new_seed;

    __device__ void load(size_t i, float &px, float &py, int &s) const
    {
        px = __ldcs(x + i);
        py = __ldcs(y + i);
        s = __ldcs(seed + i);
    }
    __device__ void store(size_t i, float px, float py, int s) const
    {
        new_x[i] = px;
        new_y[i] = py;
        new_seed[i] = s;
    }
};

struct Records {
    const Particle *from;
    Particle *to;

    __device__ void load(size_t i, float &px, float &py, int &s) const
    {
        px = __ldcs(&from[i].x);
        py = __ldcs(&from[i].y);
        s = __ldcs(&from[i].seed);
    }
    __device__ void store(size_t i, float px, float py, int s) const
    {
        to[i].x = px;
        to[i].y = py;
        to[i].seed = s;
    }
};

// Moves turns particles from first on, stride apart, two at a time. Motion makes two normal numbers and the next seed.
template <class Where, class Motion>
__device__ void move_all(const Where &where, size_t first, size_t stride, int turns, Motion motion)
{
    for (int k = 0; k < turns; k += 2) {
        float x[2], y[2], a, b;
        int s[2];
#pragma unroll
        for (int j = 0; j < 2; j++)
            where.load(first + (k + j) * stride, x[j], y[j], s[j]);
#pragma unroll
        for (int j = 0; j < 2; j++) {
            motion(s[j], a, b);
            where.store(first + (k + j) * stride, x[j] + 1.0f + 5.0f * a, y[j] - 2.0f + 2.0f * b, s[j]);
        }
    }
}

struct Single {
    __device__ void operator()(int &seed, float &a, float &b) const
    {
        int u = next_seed(seed);
        seed = next_seed(u);
        normal_pair(u, seed, a, b);
    }
};

#define THREAD (blockIdx.x * (size_t)blockDim.x + threadIdx.x)
#define STRIDE ((size_t)gridDim.x * blockDim.x)
#define TURNS ((int)(N / STRIDE))

__global__ void k283a(Records p)
{
    move_all(p, THREAD, STRIDE, TURNS, Single());
}

// Each thread moves a run of particles.
__global__ void k283b(Fields p)
{
    move_all(p, THREAD * TURNS, 1, TURNS, Single());
}

__global__ void k283c(Fields p)
{
    move_all(p, THREAD, STRIDE, TURNS, [](int &seed, float &a, float &b) {
        int u = next_seed(seed);
        seed = next_seed(u);
        normal_pair_double(u, seed, a, b);
    });
}

__global__ void k283d(Fields p, long long a0, long long c0, long long m0)
{
    move_all(p, THREAD, STRIDE, TURNS, [=](int &seed, float &a, float &b) {
        int u = next_seed(seed, a0, c0, m0);
        seed = next_seed(u, a0, c0, m0);
        normal_pair(u, seed, a, b);
    });
}

// Launched with 128 blocks of 64 threads.
__global__ void k283e(Fields p)
{
    move_all(p, THREAD, STRIDE, TURNS, Single());
}

__global__ void k283f(Fields p)
{
    move_all(p, THREAD, STRIDE, TURNS, Single());
}

__global__ void k283g(Fields p)
{
    move_all(p, THREAD, STRIDE, TURNS, [](int &seed, float &a, float &b) {
        int u = next_seed(seed);
        seed = next_seed(u);
        normal_pair_fast(u, seed, a, b);
    });
}

__global__ void to_records(const float *x, const float *y, const int *seed, Particle *p)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < N; i += (size_t)gridDim.x * blockDim.x)
        p[i] = Particle{x[i], y[i], seed[i], 0, 0, (int)i, (int)i, 0};
}
__global__ void from_records(const Particle *p, float *x, float *y, int *seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < N; i += (size_t)gridDim.x * blockDim.x) {
        x[i] = p[i].x;
        y[i] = p[i].y;
        seed[i] = p[i].seed;
    }
}

int main()
{
    float *x = input<float>(N, 1, 0, 100), *y = input<float>(N, 2, 0, 100);
    int *seed = input<int>(N, 3, 1, M);
    float *new_x = output<float>(N), *new_y = output<float>(N);
    int *new_seed = output<int>(N);
    Particle *from = output<Particle>(N), *to = output<Particle>(N);
    to_records<<<BLOCKS, THREADS>>>(x, y, seed, from);

    k283a<<<BLOCKS, THREADS>>>(Records{from, to});
    MUST(cudaDeviceSynchronize());
    from_records<<<BLOCKS, THREADS>>>(to, new_x, new_y, new_seed);
    std::vector<float> hx = on_host(x, N), hy = on_host(y, N), want_x = on_host(new_x, N), want_y = on_host(new_y, N);
    std::vector<int> hs = on_host(seed, N), want_seed = on_host(new_seed, N);
    for (size_t i = 0; i < N; i += 37) {
        long long u = (long long)hs[i] * A % M, v = u * A % M;
        double radius = std::sqrt(-2 * std::log((double)u / M)), angle = 6.283185307179586 * v / M;
        double wx = hx[i] + 1 + 5 * radius * std::cos(angle), wy = hy[i] - 2 + 2 * radius * std::sin(angle);
        if (v != want_seed[i] || std::fabs(wx - want_x[i]) > 1e-2 || std::fabs(wy - want_y[i]) > 1e-2)
            return std::printf("k283a: particle %zu\n", i), 2;
    }
    auto verify = [&](const char *name) {
        check(name, new_x, want_x, 1e-2);
        check(name, new_y, want_y, 1e-2);
        check(name, new_seed, want_seed, 0);
        MUST(cudaMemset(new_x, 0xA5, N * 4));
        MUST(cudaMemset(new_y, 0xA5, N * 4));
        MUST(cudaMemset(new_seed, 0xA5, N * 4));
    };
    verify("k283a");
    Fields p{x, y, seed, new_x, new_y, new_seed};
    k283b<<<BLOCKS, THREADS>>>(p);
    verify("k283b");
    k283c<<<BLOCKS, THREADS>>>(p);
    verify("k283c");
    k283d<<<BLOCKS, THREADS>>>(p, A, 0, M);
    verify("k283d");
    k283e<<<128, 64>>>(p);
    verify("k283e");
    k283f<<<BLOCKS, THREADS>>>(p);
    verify("k283f");
    k283g<<<BLOCKS, THREADS>>>(p);
    verify("k283g");
}
