// Two sums over constant sets: the adjoint Fourier sum of non-Cartesian magnetic-resonance samples at every voxel, and
// the electrostatic potential of a set of atoms on a slice of a grid.
#include "../harness.h"

#include <functional>

const float TWO_PI = 6.2831853071795864769f;
const int SAMPLES = 1536, ATOMS = 2000;

struct Sample {
    float kx, ky, kz, re, im;
};

__constant__ Sample samples[SAMPLES];
__constant__ float4 atoms[ATOMS]; // x, y, squared distance from the slice, charge

__global__ void k78a(const float *mu_re, const float *mu_im, const float *kx, const float *ky, const float *kz,
                     const float *x, const float *y, const float *z, float *f_re, float *f_im, int m)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < m; i++) {
        float arg = TWO_PI * (kx[i] * x[n] + ky[i] * y[n] + kz[i] * z[n]);
        float c = cosf(arg);
        float s = sinf(arg);
        f_re[n] += mu_re[i] * c - mu_im[i] * s;
        f_im[n] += mu_im[i] * c + mu_re[i] * s;
    }
}

__global__ void k78b(const float *mu_re, const float *mu_im, const float *kx, const float *ky, const float *kz,
                     const float *x, const float *y, const float *z, float *f_re, float *f_im, int m)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    float xn = x[n], yn = y[n], zn = z[n];
    float re = f_re[n], im = f_im[n];
    for (int i = 0; i < m; i++) {
        float arg = TWO_PI * (kx[i] * xn + ky[i] * yn + kz[i] * zn);
        float c = cosf(arg);
        float s = sinf(arg);
        re += mu_re[i] * c - mu_im[i] * s;
        im += mu_im[i] * c + mu_re[i] * s;
    }
    f_re[n] = re;
    f_im[n] = im;
}

__global__ void k78c(const float *mu_re, const float *mu_im, const float *kx, const float *ky, const float *kz,
                     const float *x, const float *y, const float *z, float *f_re, float *f_im, int m)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    float xn = x[n], yn = y[n], zn = z[n];
    float re = f_re[n], im = f_im[n];
    for (int i = 0; i < m; i++) {
        float arg = TWO_PI * (kx[i] * xn + ky[i] * yn + kz[i] * zn);
        float c = __cosf(arg);
        float s = __sinf(arg);
        re += mu_re[i] * c - mu_im[i] * s;
        im += mu_im[i] * c + mu_re[i] * s;
    }
    f_re[n] = re;
    f_im[n] = im;
}

__global__ void k78d(const float *x, const float *y, const float *z, float *f_re, float *f_im, int m)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    float xn = x[n], yn = y[n], zn = z[n];
    float re = f_re[n], im = f_im[n];
    for (int i = 0; i < m; i++) {
        float arg = TWO_PI * (samples[i].kx * xn + samples[i].ky * yn + samples[i].kz * zn);
        float c = __cosf(arg);
        float s = __sinf(arg);
        re += samples[i].re * c - samples[i].im * s;
        im += samples[i].im * c + samples[i].re * s;
    }
    f_re[n] = re;
    f_im[n] = im;
}

__global__ void k78e(int count, float spacing, float *energy)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int out = gridDim.x * blockDim.x * iy + ix;
    float x = spacing * ix, y = spacing * iy;
    float sum = 0.0f;
    for (int a = 0; a < count; a++) {
        float dx = x - atoms[a].x;
        float dy = y - atoms[a].y;
        sum += atoms[a].w * rsqrtf(dx * dx + dy * dy + atoms[a].z);
    }
    energy[out] += sum;
}

const int POINTS = 8;

__global__ void k78f(int count, float spacing, float *energy)
{
    int ix = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    int out = gridDim.x * blockDim.x * POINTS * iy + ix;
    float x = spacing * ix, y = spacing * iy;
    float stride = spacing * blockDim.x;
    float sum[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        sum[p] = 0.0f;
    for (int a = 0; a < count; a++) {
        float dy = y - atoms[a].y;
        float dyz = dy * dy + atoms[a].z;
        float dx = x - atoms[a].x;
        float charge = atoms[a].w;
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            sum[p] += charge * rsqrtf(dx * dx + dyz);
            dx += stride;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        energy[out + p * blockDim.x] += sum[p];
}

int main()
{
    {
        const int n = 64 * 64 * 64, m = SAMPLES;
        float *k = input<float>(3 * m, 781, -0.5, 0.5), *mu = input<float>(2 * m, 782, -1.0, 1.0);
        float *at = input<float>((size_t)3 * n, 783, 0.0, 8.0);
        const std::vector<float> hk = on_host(k, 3 * m), hmu = on_host(mu, 2 * m), hat = on_host(at, (size_t)3 * n);
        std::vector<Sample> packed(m);
        for (int i = 0; i < m; i++)
            packed[i] = {hk[i], hk[m + i], hk[2 * m + i], hmu[i], hmu[m + i]};
        MUST(cudaMemcpyToSymbol(samples, packed.data(), m * sizeof(Sample)));

        // The first voxels on the host.
        const int sample = 512;
        std::vector<float> want_re(sample), want_im(sample);
        for (int v = 0; v < sample; v++) {
            double re = 0.0, im = 0.0;
            for (int i = 0; i < m; i++) {
                double arg = 6.283185307179586 * (double(hk[i]) * hat[v] + double(hk[m + i]) * hat[n + v] +
                                                  double(hk[2 * m + i]) * hat[2 * n + v]);
                re += hmu[i] * std::cos(arg) - hmu[m + i] * std::sin(arg);
                im += hmu[m + i] * std::cos(arg) + hmu[i] * std::sin(arg);
            }
            want_re[v] = float(re);
            want_im[v] = float(im);
        }
        const float *kx = k, *ky = k + m, *kz = k + 2 * m, *x = at, *y = at + n, *z = at + 2 * n;
        const int block = 256, blocks = n / block;

        float *f = zeroed<float>((size_t)2 * n);
        k78a<<<blocks, block>>>(mu, mu + m, kx, ky, kz, x, y, z, f, f + n, m);
        check("k78a", f, want_re, 5e-3);
        check("k78a", f + n, want_im, 5e-3);
        const std::vector<float> all = on_host(f, (size_t)2 * n);

        f = zeroed<float>((size_t)2 * n);
        k78b<<<blocks, block>>>(mu, mu + m, kx, ky, kz, x, y, z, f, f + n, m);
        check("k78b", f, all, 5e-3);

        f = zeroed<float>((size_t)2 * n);
        k78c<<<blocks, block>>>(mu, mu + m, kx, ky, kz, x, y, z, f, f + n, m);
        check("k78c", f, all, 5e-3);

        f = zeroed<float>((size_t)2 * n);
        k78d<<<blocks, block>>>(x, y, z, f, f + n, m);
        check("k78d", f, all, 5e-3);
    }
    {
        const int nx = 1024, ny = 1024, count = ATOMS;
        const float spacing = 0.1f;
        std::vector<float4> hatoms(count);
        for (int a = 0; a < count; a++) {
            auto random = [&](unsigned seed) { return scrambled(a, seed) / 4294967296.0f; };
            float dz = 1.0f + 20.0f * random(787);
            hatoms[a] = make_float4(102.4f * random(785), 102.4f * random(786), dz * dz, 2.0f * random(788) - 1.0f);
        }
        MUST(cudaMemcpyToSymbol(atoms, hatoms.data(), count * sizeof(float4)));

        // Every 128th row on the host.
        const int step = 128, rows = ny / step;
        std::vector<float> want((size_t)rows * nx);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < nx; i++) {
                const float x = spacing * i, y = spacing * (r * step);
                double sum = 0.0;
                for (int a = 0; a < count; a++) {
                    double dx = x - hatoms[a].x, dy = y - hatoms[a].y;
                    sum += hatoms[a].w / std::sqrt(dx * dx + dy * dy + hatoms[a].z);
                }
                want[(size_t)r * nx + i] = float(sum);
            }
        float *picked = output<float>(want.size());
        const dim3 threads(16, 16);
        auto launch_and_check = [&](const char *name, std::function<void(float *)> launch) {
            float *energy = zeroed<float>((size_t)nx * ny);
            launch(energy);
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, nx * sizeof(float), energy, step * nx * sizeof(float), nx * sizeof(float), rows,
                              cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-3);
        };
        launch_and_check("k78e", [&](float *energy) {
            k78e<<<dim3(nx / 16, ny / 16), threads>>>(count, spacing, energy);
        });
        launch_and_check("k78f", [&](float *energy) {
            k78f<<<dim3(nx / (16 * POINTS), ny / 16), threads>>>(count, spacing, energy);
        });
    }
    return 0;
}
