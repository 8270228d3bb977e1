// Periodogram of unevenly spaced samples (Lomb-Scargle), MD5 hashes of counted keys, and a chi-square test of single
// genetic markers.
#include "../harness.h"

#include <functional>

const int FREQUENCIES = 1 << 17, SAMPLES = 2048;

struct Sums {
    float yc, ys, cc, cs;
};

__host__ __device__ inline float power_of(const Sums &s, int samples)
{
    float ss = samples - s.cc;
    float tau = 0.5f * atan2f(2.0f * s.cs, s.cc - ss), c = cosf(tau), d = sinf(tau);
    float p = c * s.yc + d * s.ys, q = c * s.ys - d * s.yc, cross = 2.0f * c * d * s.cs;
    return 0.5f * (p * p / (c * c * s.cc + cross + d * d * ss) + q * q / (c * c * ss - cross + d * d * s.cc));
}

__global__ void k169a(float *power, const float *frequency, const float *t, const float *y, int frequencies, int samples)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= frequencies)
        return;
    Sums sum = {0, 0, 0, 0};
    for (int i = 0; i < samples; i++) {
        float c = cos(2.0 * 3.14159265358979 * frequency[k] * t[i]);
        float s = sin(2.0 * 3.14159265358979 * frequency[k] * t[i]);
        sum.yc += y[i] * c;
        sum.ys += y[i] * s;
        sum.cc += c * c;
        sum.cs += c * s;
    }
    power[k] = power_of(sum, samples);
}

__global__ void k169b(float *power, const float *frequency, const float *t, const float *y, int frequencies, int samples)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= frequencies)
        return;
    Sums sum = {0, 0, 0, 0};
    float omega = 2.0f * 3.14159265f * frequency[k];
    for (int i = 0; i < samples; i++) {
        float c = cosf(omega * t[i]);
        float s = sinf(omega * t[i]);
        sum.yc += y[i] * c;
        sum.ys += y[i] * s;
        sum.cc += c * c;
        sum.cs += c * s;
    }
    power[k] = power_of(sum, samples);
}

__global__ void k169c(float *__restrict__ power, const float *__restrict__ frequency, const float *__restrict__ t,
                      const float *__restrict__ y, int frequencies, int samples)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= frequencies)
        return;
    Sums sum = {0, 0, 0, 0};
    float omega = 2.0f * 3.14159265f * frequency[k];
#pragma unroll 8
    for (int i = 0; i < samples; i++) {
        float angle = omega * t[i], value = y[i];
        float c = __cosf(angle), s = __sinf(angle);
        sum.yc += value * c;
        sum.ys += value * s;
        sum.cc += c * c;
        sum.cs += c * s;
    }
    power[k] = power_of(sum, samples);
}

// Keys of eight bytes, sixteen of them for each thread; the smallest first word of their digests is kept.
const int THREADS = 1 << 20, KEYS = 16;

__constant__ unsigned sines[64];
__constant__ int turns[64];

__host__ __device__ inline unsigned md5_loop(unsigned low, unsigned high, const unsigned *table, const int *shifts, int steps)
{
    unsigned message[16] = {low, high, 0x80};
    message[14] = 64;
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int i = 0; i < steps; i++) {
        unsigned f;
        int g;
        if (i < 16) {
            f = (b & c) | (~b & d);
            g = i;
        } else if (i < 32) {
            f = (d & b) | (~d & c);
            g = (5 * i + 1) % 16;
        } else if (i < 48) {
            f = b ^ c ^ d;
            g = (3 * i + 5) % 16;
        } else {
            f = c ^ (b | ~d);
            g = (7 * i) % 16;
        }
        f += a + table[i] + message[g];
        a = d;
        d = c;
        c = b;
        b += (f << shifts[i]) | (f >> (32 - shifts[i]));
    }
    return a + 0x67452301;
}

__global__ void k169d(unsigned *smallest, int keys, int steps)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, best = 0xFFFFFFFFu;
    for (int k = 0; k < keys; k++) {
        unsigned hash = md5_loop(thread * keys + k, thread, sines, turns, steps);
        best = hash < best ? hash : best;
    }
    smallest[thread] = best;
}

__device__ inline unsigned rotated(unsigned x, int s)
{
    return __funnelshift_l(x, x, s);
}

__device__ inline unsigned md5_steps(unsigned low, unsigned high)
{
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    const int amount[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
#pragma unroll
    for (int i = 0; i < 64; i++) {
        unsigned f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
        int g = (i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i) & 15;
        unsigned word = g == 0 ? low : g == 1 ? high : g == 2 ? 0x80 : g == 14 ? 64 : 0;
        f += a + sines[i] + word;
        a = d;
        d = c;
        c = b;
        b += rotated(f, amount[i / 16][i % 4]);
    }
    return a + 0x67452301;
}

__global__ void k169e(unsigned *smallest, int keys)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, best = 0xFFFFFFFFu;
#pragma unroll 1
    for (int k = 0; k < keys; k++)
        best = min(best, md5_steps(thread * keys + k, thread));
    smallest[thread] = best;
}

// Genotypes (0, 1 or 2) of 768 Ki markers; 256 cases and then 256 controls.
const int MARKERS = 768 * 1024, GROUP = 256, ALL = 2 * GROUP;

__host__ __device__ inline unsigned char genotype(size_t marker, int person)
{
    unsigned r = scrambled(marker * ALL + person, 1699) >> 29;
    return r < 4 ? 0 : r < 7 ? 1 : 2;
}

__host__ __device__ inline float chi_square(const int *cases, const int *controls)
{
    float sum = 0.0f;
    for (int g = 0; g < 3; g++) {
        float all = float(cases[g] + controls[g]), d = float(cases[g] - controls[g]);
        sum += all > 0.0f ? d * d / all : 0.0f;
    }
    return sum;
}

// data: [marker][person]
__global__ void k169f(float *chi, const unsigned char *data, int markers)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= markers)
        return;
    int count[2][3] = {};
#pragma unroll
    for (int c = 0; c < 2; c++)
        for (int p = 0; p < GROUP; p++) {
            unsigned char g = data[(size_t)m * ALL + c * GROUP + p];
            if (g == 0)
                count[c][0]++;
            else if (g == 1)
                count[c][1]++;
            else
                count[c][2]++;
        }
    chi[m] = chi_square(count[0], count[1]);
}

// data: [person][marker]
__global__ void k169g(float *chi, const unsigned char *data, int markers)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= markers)
        return;
    int count[2][3] = {};
#pragma unroll
    for (int c = 0; c < 2; c++)
        for (int p = 0; p < GROUP; p++) {
            unsigned char g = data[(size_t)(c * GROUP + p) * markers + m];
            if (g == 0)
                count[c][0]++;
            else if (g == 1)
                count[c][1]++;
            else
                count[c][2]++;
        }
    chi[m] = chi_square(count[0], count[1]);
}

__global__ void k169h(float4 *__restrict__ chi, const unsigned *__restrict__ data, int quads)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= quads)
        return;
    int count[4][2][3] = {};
#pragma unroll
    for (int c = 0; c < 2; c++)
        for (int half = 0; half < 2; half++) {
            unsigned ones = 0, twos = 0;
            const unsigned *row = data + (size_t)(c * GROUP + half * 128) * quads + m;
#pragma unroll 16
            for (int p = 0; p < 128; p++) {
                unsigned g = row[(size_t)p * quads];
                ones += g & 0x01010101u;
                twos += g >> 1 & 0x01010101u;
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int one = ones >> (8 * k) & 255, two = twos >> (8 * k) & 255;
                count[k][c][0] += 128 - one - two;
                count[k][c][1] += one;
                count[k][c][2] += two;
            }
        }
    chi[m] = make_float4(chi_square(count[0][0], count[0][1]), chi_square(count[1][0], count[1][1]),
                         chi_square(count[2][0], count[2][1]), chi_square(count[3][0], count[3][1]));
}

__global__ void fill_genotypes(unsigned char *by_marker, unsigned char *by_person)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)MARKERS * ALL; i += (size_t)gridDim.x * blockDim.x) {
        size_t m = i % MARKERS;
        int p = int(i / MARKERS);
        by_person[i] = by_marker[m * ALL + p] = genotype(m, p);
    }
}

// Runs a launch on poisoned output and checks some rows of it: 0, every, 2 * every, ...
template <class T>
void sampled(const char *name, T *out, int row, int every, int rows, const std::vector<T> &want, double tolerance,
             std::function<void()> launch)
{
    static T *some = output<T>(1 << 20);
    const size_t bytes = row * sizeof(T);
    MUST(cudaMemset(out, 0xA5, bytes * rows));
    launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, out, every * bytes, bytes, want.size() / row, cudaMemcpyDeviceToDevice));
    check(name, some, want, tolerance);
}

int main()
{
    float *frequency = input<float>(FREQUENCIES, 1691, 0.1, 4.0), *t = input<float>(SAMPLES, 1692, 0.0, 10.0);
    float *y = input<float>(SAMPLES, 1693, -1.0, 1.0), *power = output<float>(FREQUENCIES);
    std::vector<float> hf = on_host(frequency, FREQUENCIES), ht = on_host(t, SAMPLES), hy = on_host(y, SAMPLES), wanted;
    const int row = 256, rows = FREQUENCIES / row, every = 64;
    for (int r = 0; r < rows; r += every)
        for (int k = r * row; k < (r + 1) * row; k++) {
            double yc = 0, ys = 0, cc = 0, cs = 0;
            for (int i = 0; i < SAMPLES; i++) {
                double angle = 2.0 * 3.14159265358979 * hf[k] * ht[i], c = std::cos(angle), s = std::sin(angle);
                yc += hy[i] * c;
                ys += hy[i] * s;
                cc += c * c;
                cs += c * s;
            }
            Sums sum = {float(yc), float(ys), float(cc), float(cs)};
            wanted.push_back(power_of(sum, SAMPLES));
        }
    auto spectrum = [&](const char *name, std::function<void()> launch) {
        sampled(name, power, row, every, rows, wanted, 1e-3, launch);
    };
    const int blocks = FREQUENCIES / 128;
    spectrum("k169a", [&] { k169a<<<blocks, 128>>>(power, frequency, t, y, FREQUENCIES, SAMPLES); });
    spectrum("k169b", [&] { k169b<<<blocks, 128>>>(power, frequency, t, y, FREQUENCIES, SAMPLES); });
    spectrum("k169c", [&] { k169c<<<blocks, 128>>>(power, frequency, t, y, FREQUENCIES, SAMPLES); });

    std::vector<unsigned> table(64), digests;
    const int amount[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    std::vector<int> shifts(64);
    for (int i = 0; i < 64; i++) {
        table[i] = unsigned(std::floor(std::fabs(std::sin(double(i + 1))) * 4294967296.0));
        shifts[i] = amount[i / 16][i % 4];
    }
    MUST(cudaMemcpyToSymbol(sines, table.data(), 64 * sizeof(unsigned)));
    MUST(cudaMemcpyToSymbol(turns, shifts.data(), 64 * sizeof(int)));
    unsigned *smallest = output<unsigned>(THREADS);
    for (unsigned r = 0; r < THREADS / 256; r += 64)
        for (unsigned thread = r * 256; thread < (r + 1) * 256; thread++) {
            unsigned best = 0xFFFFFFFFu;
            for (int k = 0; k < KEYS; k++) {
                unsigned hash = md5_loop(thread * KEYS + k, thread, table.data(), shifts.data(), 64);
                best = hash < best ? hash : best;
            }
            digests.push_back(best);
        }
    auto hashes = [&](const char *name, std::function<void()> launch) {
        sampled(name, smallest, 256, 64, THREADS / 256, digests, 0.0, launch);
    };
    hashes("k169d", [&] { k169d<<<THREADS / 256, 256>>>(smallest, KEYS, 64); });
    hashes("k169e", [&] { k169e<<<THREADS / 256, 256>>>(smallest, KEYS); });

    unsigned char *by_marker = output<unsigned char>((size_t)MARKERS * ALL);
    unsigned char *by_person = output<unsigned char>((size_t)MARKERS * ALL);
    float *chi = output<float>(MARKERS);
    fill_genotypes<<<1056, 256>>>(by_marker, by_person);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> tests;
    for (int r = 0; r < MARKERS / 1024; r += 64)
        for (int m = r * 1024; m < (r + 1) * 1024; m++) {
            int count[2][3] = {};
            for (int p = 0; p < ALL; p++)
                count[p / GROUP][genotype(m, p)]++;
            tests.push_back(chi_square(count[0], count[1]));
        }
    auto markers = [&](const char *name, std::function<void()> launch) {
        sampled(name, chi, 1024, 64, MARKERS / 1024, tests, 1e-5, launch);
    };
    float4 *chi4 = reinterpret_cast<float4 *>(chi);
    const unsigned *words = reinterpret_cast<const unsigned *>(by_person);
    markers("k169f", [&] { k169f<<<MARKERS / 256, 256>>>(chi, by_marker, MARKERS); });
    markers("k169g", [&] { k169g<<<MARKERS / 256, 256>>>(chi, by_person, MARKERS); });
    markers("k169h", [&] { k169h<<<MARKERS / 512, 128>>>(chi4, words, MARKERS / 4); });
    return 0;
}
