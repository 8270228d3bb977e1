// Simulation of a quantum computer: one-qubit gates on a state vector of 24 qubits; and Reed-Solomon parity of eight data
// shards over GF(256).
#include "../harness.h"

#include <complex>

// A unitary with complex numbers alpha and beta on qubit `target`, one pair of amplitudes a thread.
__global__ void k99a(double *re, double *im, int target, double ar, double ai, double br, double bi, long long int tasks)
{
    long long int task = (long long int)blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    long long int half = 1LL << target;
    long long int whole = 2LL * half;
    long long int block = task / half;
    long long int up = block * whole + task % half;
    long long int lo = up + half;

    double ur = re[up], ui = im[up];
    double lr = re[lo], li = im[lo];
    re[up] = ar * ur - ai * ui - br * lr - bi * li;
    im[up] = ar * ui + ai * ur - br * li + bi * lr;
    re[lo] = br * ur - bi * ui + ar * lr + ai * li;
    im[lo] = br * ui + bi * ur + ar * li - ai * lr;
}

__global__ void k99b(double *re, double *im, int target, double ar, double ai, double br, double bi, long long int tasks)
{
    long long int task = (long long int)blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    long long int half = 1LL << target;
    long long int up = ((task >> target) << (target + 1)) | (task & (half - 1));
    long long int lo = up | half;

    double ur = re[up], ui = im[up];
    double lr = re[lo], li = im[lo];
    re[up] = ar * ur - ai * ui - br * lr - bi * li;
    im[up] = ar * ui + ai * ur - br * li + bi * lr;
    re[lo] = br * ur - bi * ui + ar * lr + ai * li;
    im[lo] = br * ui + bi * ur + ar * li - ai * lr;
}

const int LOW = 10, TILE = 1 << LOW;

struct Gate {
    double ar, ai, br, bi;
};

__constant__ Gate c_gate[LOW];

__device__ __forceinline__ void turn(const Gate &g, double &ur, double &ui, double &lr, double &li)
{
    double a = g.ar * ur - g.ai * ui - g.br * lr - g.bi * li;
    double b = g.ar * ui + g.ai * ur - g.br * li + g.bi * lr;
    double c = g.br * ur - g.bi * ui + g.ar * lr + g.ai * li;
    double d = g.br * ui + g.bi * ur + g.ar * li - g.ai * lr;
    ur = a;
    ui = b;
    lr = c;
    li = d;
}

// A layer: one gate on each of the LOW lowest qubits.
__global__ void __launch_bounds__(TILE / 2) k99c(double *re, double *im)
{
    __shared__ double sr[TILE], si[TILE];
    size_t base = (size_t)blockIdx.x * TILE;
    int t = threadIdx.x;
    sr[t] = re[base + t];
    si[t] = im[base + t];
    sr[t + TILE / 2] = re[base + t + TILE / 2];
    si[t + TILE / 2] = im[base + t + TILE / 2];
    __syncthreads();
    for (int q = 0; q < LOW; q++) {
        int up = ((t >> q) << (q + 1)) | (t & ((1 << q) - 1));
        int lo = up | (1 << q);
        double ur = sr[up], ui = si[up], lr = sr[lo], li = si[lo];
        turn(c_gate[q], ur, ui, lr, li);
        sr[up] = ur;
        si[up] = ui;
        sr[lo] = lr;
        si[lo] = li;
        __syncthreads();
    }
    re[base + t] = sr[t];
    im[base + t] = si[t];
    re[base + t + TILE / 2] = sr[t + TILE / 2];
    im[base + t + TILE / 2] = si[t + TILE / 2];
}

template <int PAD> __device__ __forceinline__ int slot(int i)
{
    return PAD ? i + (i >> 4) : i;
}

template <int FIRST> __device__ __forceinline__ int spread(int t, int m)
{
    return ((t >> FIRST) << (FIRST + 3)) | (m << FIRST) | (t & ((1 << FIRST) - 1));
}

template <int FIRST, int GATES> __device__ __forceinline__ void gates(double r[8], double i[8])
{
#pragma unroll
    for (int b = 0; b < GATES; b++) {
#pragma unroll
        for (int m = 0; m < 8; m++)
            if (!(m >> b & 1))
                turn(c_gate[FIRST + b], r[m], i[m], r[m | 1 << b], i[m | 1 << b]);
    }
}

template <int FROM, int TO, int PAD>
__device__ __forceinline__ void exchange(double *sr, double *si, int t, double r[8], double i[8])
{
    __syncthreads();
#pragma unroll
    for (int m = 0; m < 8; m++) {
        sr[slot<PAD>(spread<FROM>(t, m))] = r[m];
        si[slot<PAD>(spread<FROM>(t, m))] = i[m];
    }
    __syncthreads();
#pragma unroll
    for (int m = 0; m < 8; m++) {
        r[m] = sr[slot<PAD>(spread<TO>(t, m))];
        i[m] = si[slot<PAD>(spread<TO>(t, m))];
    }
}

template <int PAD> __device__ __forceinline__ void layer(double *re, double *im)
{
    __shared__ double sr[TILE + TILE / 16], si[TILE + TILE / 16];
    size_t base = (size_t)blockIdx.x * TILE;
    int t = threadIdx.x;
    double r[8], i[8];
#pragma unroll
    for (int m = 0; m < 8; m++) {
        r[m] = re[base + spread<7>(t, m)];
        i[m] = im[base + spread<7>(t, m)];
    }
    gates<7, 3>(r, i);
    exchange<7, 4, PAD>(sr, si, t, r, i);
    gates<4, 3>(r, i);
    exchange<4, 1, PAD>(sr, si, t, r, i);
    gates<1, 3>(r, i);
    exchange<1, 0, PAD>(sr, si, t, r, i);
    gates<0, 1>(r, i);
    exchange<0, 7, PAD>(sr, si, t, r, i);
#pragma unroll
    for (int m = 0; m < 8; m++) {
        re[base + spread<7>(t, m)] = r[m];
        im[base + spread<7>(t, m)] = i[m];
    }
}

__global__ void __launch_bounds__(TILE / 8) k99d(double *re, double *im)
{
    layer<0>(re, im);
}

__global__ void __launch_bounds__(TILE / 8) k99e(double *re, double *im)
{
    layer<1>(re, im);
}

const int DATA = 8, PARITY = 4;

__constant__ unsigned char c_exp[512], c_log[256], c_coef[PARITY * DATA];

__global__ void k99f(const unsigned char *data, unsigned char *parity, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length)
        return;
    unsigned char sum[PARITY] = {0, 0, 0, 0};
    for (int d = 0; d < DATA; d++) {
        unsigned char v = data[(size_t)d * length + i];
        for (int p = 0; p < PARITY; p++) {
            unsigned char c = c_coef[p * DATA + d];
            sum[p] ^= v == 0 || c == 0 ? 0 : c_exp[c_log[v] + c_log[c]];
        }
    }
    for (int p = 0; p < PARITY; p++)
        parity[(size_t)p * length + i] = sum[p];
}

__global__ void k99g(const unsigned char *data, unsigned char *parity, int length)
{
    __shared__ unsigned char s_exp[512], s_log[256];
    for (int k = threadIdx.x; k < 512; k += blockDim.x) {
        s_exp[k] = c_exp[k];
        if (k < 256)
            s_log[k] = c_log[k];
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length)
        return;
    unsigned char sum[PARITY] = {0, 0, 0, 0};
    for (int d = 0; d < DATA; d++) {
        unsigned char v = data[(size_t)d * length + i];
        for (int p = 0; p < PARITY; p++) {
            unsigned char c = c_coef[p * DATA + d];
            sum[p] ^= v == 0 || c == 0 ? 0 : s_exp[s_log[v] + s_log[c]];
        }
    }
    for (int p = 0; p < PARITY; p++)
        parity[(size_t)p * length + i] = sum[p];
}

// Four bytes at once; words is the length of a shard in words.
__global__ void k99h(const unsigned *data, unsigned *parity, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    unsigned sum[PARITY] = {0, 0, 0, 0};
#pragma unroll
    for (int d = 0; d < DATA; d++) {
        unsigned v = data[(size_t)d * words + i];
#pragma unroll
        for (int b = 0; b < 8; b++) {
#pragma unroll
            for (int p = 0; p < PARITY; p++)
                sum[p] ^= v & (0u - (c_coef[p * DATA + d] >> b & 1u));
            unsigned high = v & 0x80808080u;
            v = (v << 1 & 0xfefefefeu) ^ (high >> 7) * 0x1du;
        }
    }
#pragma unroll
    for (int p = 0; p < PARITY; p++)
        parity[(size_t)p * words + i] = sum[p];
}

__global__ void sample(const double *from, double *to, size_t stride, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i * stride];
}

static void quantum()
{
    const int qubits = 24, target = 13;
    const size_t n = (size_t)1 << qubits;
    const size_t bytes = n * sizeof(double);
    double *re0 = input<double>(n, 991, -1.0, 1.0), *im0 = input<double>(n, 992, -1.0, 1.0);
    double *re = output<double>(n), *im = output<double>(n);
    Gate gate[LOW + 1];
    for (int q = 0; q <= LOW; q++) {
        double t = 0.3 + 0.11 * q, f = 0.2 * q;
        gate[q] = {std::cos(t) * std::cos(f), std::cos(t) * std::sin(f), std::sin(t) * std::cos(2 * f), std::sin(t) * std::sin(2 * f)};
    }
    MUST(cudaMemcpyToSymbol(c_gate, gate, LOW * sizeof(Gate)));
    const Gate one = gate[LOW];
    std::vector<double> hr = on_host(re0, n), hi = on_host(im0, n);

    auto start = [&] {
        MUST(cudaMemcpy(re, re0, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(im, im0, bytes, cudaMemcpyDeviceToDevice));
    };
    const size_t stride = 13, some = n / stride;
    double *picked = output<double>(2 * some);
    auto pick_and_check = [&](const char *name, const std::vector<double> &want) {
        MUST(cudaGetLastError());
        sample<<<1056, 256>>>(re, picked, stride, some);
        sample<<<1056, 256>>>(im, picked + some, stride, some);
        check(name, picked, want, 1e-11);
    };

    typedef std::complex<double> Amp;
    std::vector<double> want(2 * some);
    for (size_t s = 0; s < some; s++) {
        size_t at = s * stride, up = at & ~((size_t)1 << target), lo = up | (size_t)1 << target;
        Amp alpha(one.ar, one.ai), beta(one.br, one.bi), u(hr[up], hi[up]), l(hr[lo], hi[lo]);
        Amp v = at == up ? alpha * u - std::conj(beta) * l : beta * u + std::conj(alpha) * l;
        want[s] = v.real();
        want[some + s] = v.imag();
    }
    const long long int tasks = (long long int)(n / 2);
    start();
    k99a<<<(unsigned)(tasks / 128), 128>>>(re, im, target, one.ar, one.ai, one.br, one.bi, tasks);
    pick_and_check("k99a", want);
    start();
    k99b<<<(unsigned)(tasks / 128), 128>>>(re, im, target, one.ar, one.ai, one.br, one.bi, tasks);
    pick_and_check("k99b", want);

    // The layer on the host, for every 32nd tile; the other launches against the first one.
    start();
    k99c<<<(unsigned)(n / TILE), TILE / 2>>>(re, im);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<double> few, got;
    for (size_t tile = 0; tile < n / TILE; tile += 32) {
        std::vector<double> a(hr.begin() + tile * TILE, hr.begin() + (tile + 1) * TILE);
        std::vector<double> b(hi.begin() + tile * TILE, hi.begin() + (tile + 1) * TILE);
        for (int q = 0; q < LOW; q++)
            for (int up = 0; up < TILE; up++) {
                if (up >> q & 1)
                    continue;
                int lo = up | 1 << q;
                const Gate &g = gate[q];
                double ur = a[up], ui = b[up], lr = a[lo], li = b[lo];
                a[up] = g.ar * ur - g.ai * ui - g.br * lr - g.bi * li;
                b[up] = g.ar * ui + g.ai * ur - g.br * li + g.bi * lr;
                a[lo] = g.br * ur - g.bi * ui + g.ar * lr + g.ai * li;
                b[lo] = g.br * ui + g.bi * ur + g.ar * li - g.ai * lr;
            }
        few.insert(few.end(), a.begin(), a.end());
        few.insert(few.end(), b.begin(), b.end());
        std::vector<double> x = on_host(re + tile * TILE, TILE), y = on_host(im + tile * TILE, TILE);
        got.insert(got.end(), x.begin(), x.end());
        got.insert(got.end(), y.begin(), y.end());
    }
    double *d_got = on_device(got);
    check("k99c", d_got, few, 1e-11);
    sample<<<1056, 256>>>(re, picked, stride, some);
    sample<<<1056, 256>>>(im, picked + some, stride, some);
    MUST(cudaDeviceSynchronize());
    want = on_host(picked, 2 * some);
    start();
    k99d<<<(unsigned)(n / TILE), TILE / 8>>>(re, im);
    pick_and_check("k99d", want);
    start();
    k99e<<<(unsigned)(n / TILE), TILE / 8>>>(re, im);
    pick_and_check("k99e", want);
}

static void parity_of_shards()
{
    const int length = 8 << 20;
    std::vector<unsigned char> exponent(512), logarithm(256, 0), coef(PARITY * DATA);
    unsigned x = 1;
    for (int k = 0; k < 255; k++) {
        exponent[k] = exponent[k + 255] = (unsigned char)x;
        logarithm[x] = (unsigned char)k;
        x = x << 1 ^ (x & 0x80 ? 0x11d : 0);
    }
    exponent[510] = exponent[0];
    exponent[511] = exponent[1];
    for (int p = 0; p < PARITY; p++)
        for (int d = 0; d < DATA; d++)
            coef[p * DATA + d] = exponent[p * (d + 1) % 255];
    MUST(cudaMemcpyToSymbol(c_exp, exponent.data(), 512));
    MUST(cudaMemcpyToSymbol(c_log, logarithm.data(), 256));
    MUST(cudaMemcpyToSymbol(c_coef, coef.data(), PARITY * DATA));

    unsigned *words = input<unsigned>((size_t)DATA * length / 4, 993, 0.0, 4294967296.0);
    unsigned char *data = reinterpret_cast<unsigned char *>(words);
    unsigned char *parity = output<unsigned char>((size_t)PARITY * length);
    k99f<<<length / 256, 256>>>(data, parity, length);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned char> h = on_host(data, (size_t)DATA * length), first = on_host(parity, (size_t)PARITY * length);
    std::vector<unsigned char> some, picked;
    for (int i = 0; i < length; i += 7)
        for (int p = 0; p < PARITY; p++) {
            unsigned char sum = 0;
            for (int d = 0; d < DATA; d++) {
                unsigned char v = h[(size_t)d * length + i], c = coef[p * DATA + d];
                sum ^= v && c ? exponent[logarithm[v] + logarithm[c]] : 0;
            }
            some.push_back(sum);
            picked.push_back(first[(size_t)p * length + i]);
        }
    unsigned char *d_picked = on_device(picked);
    check("k99f", d_picked, some, 0.0);

    MUST(cudaMemset(parity, 0xA5, (size_t)PARITY * length));
    k99g<<<length / 256, 256>>>(data, parity, length);
    check("k99g", parity, first, 0.0);
    MUST(cudaMemset(parity, 0xA5, (size_t)PARITY * length));
    k99h<<<length / 4 / 256, 256>>>(words, reinterpret_cast<unsigned *>(parity), length / 4);
    check("k99h", parity, first, 0.0);
}

int main()
{
    quantum();
    parity_of_shards();
    return 0;
}
