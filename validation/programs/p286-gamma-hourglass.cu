// Gamma correction of an RGBA image, and the hourglass forces of hexahedral elements (Flanagan-Belytschko, as in LULESH).
#include "../harness.h"

constexpr int PIXELS = 8192 * 4096;
constexpr int ELEMENTS = 80 * 80 * 80;
constexpr int PER_THREAD = 16;

__constant__ double modes[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                   {1, -1, -1, 1, -1, 1, 1, -1},
                                   {1, -1, 1, -1, 1, -1, 1, -1},
                                   {-1, 1, -1, 1, 1, -1, 1, -1}};

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

__global__ void k286a(const uchar4 *in, uchar4 *out, double g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 p = in[i];
    p.x = static_cast<unsigned char>(pow(p.x / 255.0, g) * 255.0 + 0.5);
    p.y = static_cast<unsigned char>(pow(p.y / 255.0, g) * 255.0 + 0.5);
    p.z = static_cast<unsigned char>(pow(p.z / 255.0, g) * 255.0 + 0.5);
    out[i] = p;
}

__device__ unsigned char corrected(unsigned char v, float g)
{
    return static_cast<unsigned char>(powf(v / 255.0f, g) * 255.0f + 0.5f);
}

__global__ void k286b(const uchar4 *in, uchar4 *out, float g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 p = in[i];
    p.x = corrected(p.x, g);
    p.y = corrected(p.y, g);
    p.z = corrected(p.z, g);
    out[i] = p;
}

__global__ void k286c(const uchar4 *in, uchar4 *out, float g)
{
    __shared__ unsigned char table[256];
    table[threadIdx.x] = corrected(threadIdx.x, g);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 p = in[i];
    p.x = table[p.x];
    p.y = table[p.y];
    p.z = table[p.z];
    out[i] = p;
}

__global__ void k286d(const uchar4 *in, uchar4 *out, float g)
{
    __shared__ unsigned char table[256];
    table[threadIdx.x] = corrected(threadIdx.x, g);
    int i = blockIdx.x * 256 * PER_THREAD + threadIdx.x;
    uchar4 p[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        p[k] = in[i + k * 256];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        out[i + k * 256] = make_uchar4(table[p[k].x], table[p[k].y], table[p[k].z], p[k].w);
}

__global__ void k286e(const uchar4 *in, uchar4 *out, float g)
{
    __shared__ unsigned char table[256];
    table[threadIdx.x] =
        static_cast<unsigned char>(__powf(__fdividef(float(threadIdx.x), 255.0f), g) * 255.0f + 0.5f);
    int i = blockIdx.x * 256 * PER_THREAD + threadIdx.x;
    uchar4 p[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        p[k] = in[i + k * 256];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++)
        out[i + k * 256] = make_uchar4(table[p[k].x], table[p[k].y], table[p[k].z], p[k].w);
}

// Arrays hold for x, y and z the eight corners of every element: [component][element][corner].
__global__ void k286f(const double *place, const double *slope, const double *speed, const double *scale, double *force,
                      int n)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n)
        return;
    double base[4][8];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            base[m][k] = modes[m][k];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double sum[4] = {};
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double x = place[(size_t(c) * n + e) * 8 + k];
#pragma unroll
            for (int m = 0; m < 4; m++)
                sum[m] += x * modes[m][k];
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double d = slope[(size_t(c) * n + e) * 8 + k];
#pragma unroll
            for (int m = 0; m < 4; m++)
                base[m][k] -= d * sum[m];
        }
    }
    double s = scale[e];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double h[4] = {};
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double v = speed[(size_t(c) * n + e) * 8 + k];
#pragma unroll
            for (int m = 0; m < 4; m++)
                h[m] += base[m][k] * v;
        }
#pragma unroll
        for (int k = 0; k < 8; k++)
            force[(size_t(c) * n + e) * 8 + k] =
                s * (base[0][k] * h[0] + base[1][k] * h[1] + base[2][k] * h[2] + base[3][k] * h[3]);
    }
}

// Arrays as [component][corner][element].
__global__ void k286g(const double *place, const double *slope, const double *speed, const double *scale, double *force,
                      int n)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n)
        return;
    double base[4][8];
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            base[m][k] = modes[m][k];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double sum[4] = {};
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double x = place[size_t(c * 8 + k) * n + e];
#pragma unroll
            for (int m = 0; m < 4; m++)
                sum[m] += x * modes[m][k];
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double d = slope[size_t(c * 8 + k) * n + e];
#pragma unroll
            for (int m = 0; m < 4; m++)
                base[m][k] -= d * sum[m];
        }
    }
    double s = scale[e];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        double h[4] = {};
#pragma unroll
        for (int k = 0; k < 8; k++) {
            double v = speed[size_t(c * 8 + k) * n + e];
#pragma unroll
            for (int m = 0; m < 4; m++)
                h[m] += base[m][k] * v;
        }
#pragma unroll
        for (int k = 0; k < 8; k++)
            force[size_t(c * 8 + k) * n + e] =
                s * (base[0][k] * h[0] + base[1][k] * h[1] + base[2][k] * h[2] + base[3][k] * h[3]);
    }
}

static std::vector<double> by_corner(const std::vector<double> &a)
{
    std::vector<double> b(a.size());
    for (size_t c = 0; c < 3; c++)
        for (size_t e = 0; e < ELEMENTS; e++)
            for (size_t k = 0; k < 8; k++)
                b[(c * 8 + k) * ELEMENTS + e] = a[(c * ELEMENTS + e) * 8 + k];
    return b;
}

int main()
{
    {
        size_t bytes = size_t(PIXELS) * 4;
        unsigned char *in = input<unsigned char>(bytes, 1, 0, 256), *out = output<unsigned char>(bytes);
        const uchar4 *from = reinterpret_cast<uchar4 *>(in);
        uchar4 *to = reinterpret_cast<uchar4 *>(out);
        double g = 1.0 / 2.2;
        k286a<<<PIXELS / 256, 256>>>(from, to, g);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned char> want = on_host(out, bytes), source = on_host(in, bytes);
        for (size_t i = 0; i < bytes; i += 101)
            agree("gamma", want[i], i % 4 == 3 ? source[i] : std::floor(std::pow(source[i] / 255.0, g) * 255.0 + 0.5), 0.0);
        MUST(cudaMemset(out, 0, bytes));
        k286b<<<PIXELS / 256, 256>>>(from, to, float(g));
        check("k286b", out, want, 0.0);
        MUST(cudaMemset(out, 0, bytes));
        k286c<<<PIXELS / 256, 256>>>(from, to, float(g));
        check("k286c", out, want, 0.0);
        MUST(cudaMemset(out, 0, bytes));
        k286d<<<PIXELS / 256 / PER_THREAD, 256>>>(from, to, float(g));
        check("k286d", out, want, 0.0);
        MUST(cudaMemset(out, 0, bytes));
        k286e<<<PIXELS / 256 / PER_THREAD, 256>>>(from, to, float(g));
        check("k286e", out, want, 0.0);
        cudaFree(in), cudaFree(out);
    }
    size_t values = size_t(ELEMENTS) * 24;
    double *place = input<double>(values, 2, -1, 1), *slope = input<double>(values, 3, -0.5, 0.5);
    double *speed = input<double>(values, 4, -1, 1), *scale = input<double>(ELEMENTS, 5, 0.5, 2);
    double *force = output<double>(values);
    k286f<<<(ELEMENTS + 127) / 128, 128>>>(place, slope, speed, scale, force, ELEMENTS);
    MUST(cudaDeviceSynchronize());
    std::vector<double> first = on_host(force, values), p = on_host(place, values), d = on_host(slope, values);
    std::vector<double> v = on_host(speed, values), s = on_host(scale, ELEMENTS);
    static const double sign[4][8] = {{1, 1, -1, -1, -1, -1, 1, 1},
                                      {1, -1, -1, 1, -1, 1, 1, -1},
                                      {1, -1, 1, -1, 1, -1, 1, -1},
                                      {-1, 1, -1, 1, 1, -1, 1, -1}};
    for (size_t e = 0; e < ELEMENTS; e += 499) {
        double base[4][8];
        auto at = [&](const std::vector<double> &a, size_t c, int k) { return a[(c * ELEMENTS + e) * 8 + k]; };
        for (int m = 0; m < 4; m++) {
            double sum[3] = {};
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < 8; k++)
                    sum[c] += at(p, c, k) * sign[m][k];
            for (int k = 0; k < 8; k++)
                base[m][k] = sign[m][k] - at(d, 0, k) * sum[0] - at(d, 1, k) * sum[1] - at(d, 2, k) * sum[2];
        }
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 8; k++) {
                double f = 0;
                for (int m = 0; m < 4; m++) {
                    double h = 0;
                    for (int q = 0; q < 8; q++)
                        h += base[m][q] * at(v, c, q);
                    f += base[m][k] * h;
                }
                agree("force", at(first, c, k), s[e] * f, 1e-9);
            }
    }
    cudaFree(place), cudaFree(slope), cudaFree(speed);
    place = on_device(by_corner(p));
    slope = on_device(by_corner(d));
    speed = on_device(by_corner(v));
    MUST(cudaMemset(force, 0xA5, values * sizeof(double)));
    k286g<<<(ELEMENTS + 127) / 128, 128>>>(place, slope, speed, scale, force, ELEMENTS);
    check("k286g", force, by_corner(first), 1e-9);
    return 0;
}
