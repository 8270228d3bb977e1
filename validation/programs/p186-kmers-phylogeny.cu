// Canonical 31-mers at every position of a sequence, partial likelihoods of an inner node of a tree (4 states, 4 rates),
// and the log-likelihood of every gene at the root.
#include "../harness.h"

#include <algorithm>
#include <functional>

typedef unsigned long long Code;

const int K = 31;
const Code LOW = (1ull << 2 * K) - 1, EVEN = 0x5555555555555555ull;

__global__ void k186a(Code *codes, const unsigned char *bases, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Code forward = 0, backward = 0;
    for (int j = 0; j < K; j++) {
        Code f = 0, b = 0;
        switch (bases[i + j]) {
        case 'A':
        case 'a':
            f = 0, b = 2;
            break;
        case 'C':
        case 'c':
            f = 1, b = 3;
            break;
        case 'T':
        case 't':
            f = 2, b = 0;
            break;
        case 'G':
        case 'g':
            f = 3, b = 1;
            break;
        }
        forward = forward << 2 | f;
        backward |= b << 2 * j;
    }
    codes[i] = forward < backward ? forward : backward;
}

__global__ void k186b(Code *codes, const unsigned char *bases, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Code forward = 0, backward = 0;
    for (int j = 0; j < K; j++) {
        Code f = bases[i + j] >> 1 & 3;
        forward = forward << 2 | f;
        backward |= (f ^ 2) << 2 * j;
    }
    codes[i] = forward < backward ? forward : backward;
}

const int SPAN = 4096;

// A block of 256 threads makes the codes of 4096 positions.
__global__ void __launch_bounds__(256) k186c(Code *codes, const unsigned char *bases)
{
    __shared__ unsigned packed[SPAN / 16 + 2];
    size_t start = blockIdx.x * (size_t)SPAN;
    const uint4 *from = reinterpret_cast<const uint4 *>(bases + start);
    for (int w = threadIdx.x; w < SPAN / 16 + 2; w += 256) {
        uint4 v = from[w];
        packed[w] = (v.x >> 1 & 0x03030303u) * 0x40100401u >> 24 << 24 | (v.y >> 1 & 0x03030303u) * 0x40100401u >> 24 << 16 |
                    (v.z >> 1 & 0x03030303u) * 0x40100401u >> 24 << 8 | (v.w >> 1 & 0x03030303u) * 0x40100401u >> 24;
    }
    __syncthreads();
#pragma unroll 4
    for (int i = threadIdx.x; i < SPAN; i += 256) {
        unsigned a = packed[i / 16], b = packed[i / 16 + 1], c = packed[i / 16 + 2];
        int turn = i % 16 * 2;
        Code both = (Code)__funnelshift_l(b, a, turn) << 32 | __funnelshift_l(c, b, turn);
        Code forward = both >> 2, x = __brevll(both);
        Code backward = (((x & EVEN) << 1 | (x >> 1 & EVEN)) ^ ~EVEN) & LOW;
        codes[start + i] = forward < backward ? forward : backward;
    }
}

const int RATES = 4, STATES = 4;

struct Evolution {
    double u[16], v[16], lambda[4], rate[4], length[2];
};

// Layout of partial likelihoods: [site][rate][state].
__global__ void k186d(float *__restrict__ out, const float *__restrict__ left, const float *__restrict__ right,
                      Evolution e, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;
    for (int r = 0; r < RATES; r++) {
        size_t at = ((size_t)site * RATES + r) * STATES;
        double product[STATES] = {1.0, 1.0, 1.0, 1.0};
        for (int child = 0; child < 2; child++) {
            const float *from = child == 0 ? left : right;
            double grown[4];
            for (int k = 0; k < 4; k++)
                grown[k] = exp(e.lambda[k] * e.rate[r] * e.length[child]);
            for (int i = 0; i < STATES; i++) {
                double sum = 0.0;
                for (int j = 0; j < STATES; j++) {
                    double p = 0.0;
                    for (int k = 0; k < 4; k++)
                        p += e.u[i * 4 + k] * grown[k] * e.v[k * 4 + j];
                    sum += p * from[at + j];
                }
                product[i] *= sum;
            }
        }
        for (int i = 0; i < STATES; i++)
            out[at + i] = float(product[i]);
    }
}

// Chances: [rate][child][from][to].
__constant__ float chance_const[RATES * 32];

__global__ void k186e(float *__restrict__ out, const float *__restrict__ left, const float *__restrict__ right, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;
    for (int r = 0; r < RATES; r++) {
        size_t at = ((size_t)site * RATES + r) * STATES;
        for (int i = 0; i < STATES; i++) {
            float a = 0.0f, b = 0.0f;
            for (int j = 0; j < STATES; j++) {
                a += chance_const[r * 32 + i * 4 + j] * left[at + j];
                b += chance_const[r * 32 + 16 + i * 4 + j] * right[at + j];
            }
            out[at + i] = a * b;
        }
    }
}

__device__ inline float dot(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

__global__ void k186f(float4 *out, const float4 *left, const float4 *right, const float4 *chance, int n)
{
    __shared__ float4 rows[RATES][9];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f), b = a;
    if (i < n) {
        a = left[i];
        b = right[i];
    }
    if (threadIdx.x < RATES * 8)
        rows[threadIdx.x / 8][threadIdx.x % 8] = chance[threadIdx.x];
    __syncthreads();
    if (i < n) {
        const float4 *p = rows[i % RATES];
        out[i] = make_float4(dot(p[0], a) * dot(p[4], b), dot(p[1], a) * dot(p[5], b), dot(p[2], a) * dot(p[6], b),
                             dot(p[3], a) * dot(p[7], b));
    }
}

const int GENE = 4096;

__device__ inline double site_log(const float4 *root, int site, int sites, float4 frequency)
{
    float4 a = root[site], b = root[sites + site], c = root[2 * sites + site], d = root[3 * sites + site];
    return logf(0.25f * (dot(a, frequency) + dot(b, frequency) + dot(c, frequency) + dot(d, frequency)));
}

// Layout at the root: [rate][site][state].
__global__ void k186g(double *total, const float4 *root, float4 frequency, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site < sites)
        atomicAdd(&total[site / GENE], site_log(root, site, sites, frequency));
}

__global__ void __launch_bounds__(256) k186h(double *total, const float4 *root, float4 frequency, int sites)
{
    __shared__ double parts[8];
    int site = blockIdx.x * 256 + threadIdx.x;
    double sum = site < sites ? site_log(root, site, sites, frequency) : 0.0;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            sum += parts[w];
        atomicAdd(&total[site / GENE], sum);
    }
}

__global__ void fill_bases(unsigned char *bases, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        bases[i] = "ACGTacgt"[scrambled(i, 1861) >> 29];
}

int main()
{
    const int n = 64 << 20, every = 997, chosen = (n - 1) / every + 1;
    const size_t length = (size_t)n + 64;
    unsigned char *bases = output<unsigned char>(length);
    fill_bases<<<1056, 256>>>(bases, length);
    MUST(cudaDeviceSynchronize());
    Code *codes = output<Code>(n);
    unsigned *some = output<unsigned>((size_t)chosen * 2);
    std::vector<unsigned char> text = on_host(bases, length);
    std::vector<unsigned> want((size_t)chosen * 2);
    for (int s = 0; s < chosen; s++) {
        Code forward = 0, backward = 0;
        for (int j = 0; j < K; j++) {
            unsigned char base = text[(size_t)s * every + j] & 0xdf;
            Code f = base == 'A' ? 0 : base == 'C' ? 1 : base == 'T' ? 2 : 3;
            forward = forward * 4 + f;
            backward += (f + 2) % 4 << 2 * j;
        }
        Code code = std::min(forward, backward);
        want[s * 2] = unsigned(code);
        want[s * 2 + 1] = unsigned(code >> 32);
    }
    auto encode = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(codes, 0xA5, n * sizeof(Code)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, 8, codes, every * 8, 8, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 0.0);
    };
    encode("k186a", [&] { k186a<<<n / 256, 256>>>(codes, bases, n); });
    encode("k186b", [&] { k186b<<<n / 256, 256>>>(codes, bases, n); });
    encode("k186c", [&] { k186c<<<n / SPAN, 256>>>(codes, bases); });

    const int sites = 4 << 20, per_site = RATES * STATES, step = 101, picked = (sites - 1) / step + 1;
    float *left = input<float>((size_t)sites * per_site, 1862, 0.01, 1.0);
    float *right = input<float>((size_t)sites * per_site, 1863, 0.01, 1.0);
    float *out = output<float>((size_t)sites * per_site), *part = output<float>((size_t)picked * per_site);
    // Kimura's model with three kinds of changes.
    Evolution e = {};
    const double lambda[4] = {0.0, -1.1, -0.7, -1.6}, rate[4] = {0.14, 0.48, 1.0, 2.38};
    for (int i = 0; i < 4; i++) {
        e.lambda[i] = lambda[i], e.rate[i] = rate[i];
        for (int k = 0; k < 4; k++)
            e.u[i * 4 + k] = e.v[i * 4 + k] = ((i & k & 1) ^ (i & k) >> 1) ? -0.5 : 0.5;
    }
    e.length[0] = 0.3, e.length[1] = 0.7;
    std::vector<float> chance(RATES * 32);
    for (int r = 0; r < RATES; r++)
        for (int child = 0; child < 2; child++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    double p = 0;
                    for (int k = 0; k < 4; k++)
                        p += e.u[i * 4 + k] * std::exp(e.lambda[k] * e.rate[r] * e.length[child]) * e.v[k * 4 + j];
                    chance[((r * 2 + child) * 4 + i) * 4 + j] = float(p);
                }
    float *table = on_device(chance);
    MUST(cudaMemcpyToSymbol(chance_const, chance.data(), sizeof(chance_const)));
    const size_t row = per_site * sizeof(float);
    auto pick = [&](const float *all) {
        MUST(cudaMemcpy2D(part, row, all, step * row, row, picked, cudaMemcpyDeviceToDevice));
        return on_host(part, (size_t)picked * per_site);
    };
    std::vector<float> hl = pick(left), hr = pick(right), node(hl.size());
    for (int s = 0; s < picked; s++)
        for (int r = 0; r < RATES; r++)
            for (int i = 0; i < 4; i++) {
                double a = 0, b = 0;
                for (int j = 0; j < 4; j++) {
                    a += double(chance[r * 32 + i * 4 + j]) * hl[s * 16 + r * 4 + j];
                    b += double(chance[r * 32 + 16 + i * 4 + j]) * hr[s * 16 + r * 4 + j];
                }
                node[s * 16 + r * 4 + i] = float(a * b);
            }
    auto prune = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, sites * row));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick(out);
        check(name, part, node, 2e-6);
    };
    float4 *out4 = reinterpret_cast<float4 *>(out);
    const float4 *left4 = reinterpret_cast<const float4 *>(left), *right4 = reinterpret_cast<const float4 *>(right);
    const float4 *table4 = reinterpret_cast<const float4 *>(table);
    prune("k186d", [&] { k186d<<<sites / 256, 256>>>(out, left, right, e, sites); });
    prune("k186e", [&] { k186e<<<sites / 256, 256>>>(out, left, right, sites); });
    prune("k186f", [&] { k186f<<<sites * RATES / 256, 256>>>(out4, left4, right4, table4, sites * RATES); });

    const float4 frequency = make_float4(0.3f, 0.2f, 0.27f, 0.23f);
    std::vector<float> hroot = on_host(left, (size_t)sites * per_site);
    std::vector<double> genes(sites / GENE, 0.0);
    for (int s = 0; s < sites; s++) {
        float sum = 0.0f;
        for (int r = 0; r < RATES; r++) {
            const float *p = &hroot[((size_t)r * sites + s) * 4];
            sum += p[0] * 0.3f + p[1] * 0.2f + p[2] * 0.27f + p[3] * 0.23f;
        }
        genes[s / GENE] += std::log(0.25f * sum);
    }
    double *total = zeroed<double>(genes.size());
    auto finish = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(total, 0, genes.size() * sizeof(double)));
        launch();
        check(name, total, genes, 1e-5);
    };
    finish("k186g", [&] { k186g<<<sites / 256, 256>>>(total, left4, frequency, sites); });
    finish("k186h", [&] { k186h<<<sites / 256, 256>>>(total, left4, frequency, sites); });
    return 0;
}
