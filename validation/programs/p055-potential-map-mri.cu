// Electrostatic potential of point charges on a slice of a grid, and the product F^H d of an image reconstruction.
#include "../harness.h"

#include <functional>

const int ATOMS = 2000;
__constant__ float atoms[4 * ATOMS];

__global__ void k55a(float *energy, int nx, int ny, float spacing, float z, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) {
        float x = spacing * i;
        float y = spacing * j;
        float sum = 0.0f;
        for (int n = 0; n < 4 * count; n += 4) {
            float dx = x - atoms[n];
            float dy = y - atoms[n + 1];
            float dz = z - atoms[n + 2];
            sum += atoms[n + 3] / sqrtf(dx * dx + dy * dy + dz * dz);
        }
        energy[nx * j + i] += sum;
    }
}

__global__ void k55b(float *energy, int nx, int ny, float spacing, float z, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) {
        float x = spacing * i;
        float y = spacing * j;
        float sum = 0.0f;
        for (int n = 0; n < 4 * count; n += 4) {
            float dx = x - atoms[n];
            float dy = y - atoms[n + 1];
            float dz = z - atoms[n + 2];
            sum += atoms[n + 3] * rsqrtf(dx * dx + dy * dy + dz * dz);
        }
        energy[nx * j + i] += sum;
    }
}

const int POINTS = 8;

__global__ void k55c(float *energy, int nx, int ny, float spacing, float z, int count)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * POINTS;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= ny)
        return;
    float x = spacing * first;
    float y = spacing * j;
    float sum[POINTS];
    for (int p = 0; p < POINTS; p++)
        sum[p] = 0.0f;
    for (int n = 0; n < 4 * count; n += 4) {
        float dx = x - atoms[n];
        float dy = y - atoms[n + 1];
        float dz = z - atoms[n + 2];
        float plane = dy * dy + dz * dz;
        float charge = atoms[n + 3];
        for (int p = 0; p < POINTS; p++) {
            float d = dx + p * spacing;
            sum[p] += charge * rsqrtf(d * d + plane);
        }
    }
    for (int p = 0; p < POINTS; p++)
        if (first + p < nx)
            energy[nx * j + first + p] += sum[p];
}

__global__ void k55d(float *energy, int nx, int ny, float spacing, float z, int count)
{
    int first = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= ny)
        return;
    float x = spacing * first;
    float y = spacing * j;
    float step = spacing * blockDim.x;
    float sum[POINTS];
    for (int p = 0; p < POINTS; p++)
        sum[p] = 0.0f;
    for (int n = 0; n < 4 * count; n += 4) {
        float dx = x - atoms[n];
        float dy = y - atoms[n + 1];
        float dz = z - atoms[n + 2];
        float plane = dy * dy + dz * dz;
        float charge = atoms[n + 3];
        for (int p = 0; p < POINTS; p++) {
            float d = dx + p * step;
            sum[p] += charge * rsqrtf(d * d + plane);
        }
    }
    for (int p = 0; p < POINTS; p++) {
        int i = first + p * blockDim.x;
        if (i < nx)
            energy[nx * j + i] += sum[p];
    }
}

const float TWO_PI = 6.2831853071795864769f;

__global__ void k55e(const float *rmu, const float *imu, const float *x, const float *y, const float *z,
                     const float *kx, const float *ky, const float *kz, float *rfhd, float *ifhd, int samples,
                     int voxels)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < voxels) {
        for (int m = 0; m < samples; m++) {
            float angle = TWO_PI * (kx[m] * x[n] + ky[m] * y[n] + kz[m] * z[n]);
            float c = cosf(angle);
            float s = sinf(angle);
            rfhd[n] += rmu[m] * c - imu[m] * s;
            ifhd[n] += imu[m] * c + rmu[m] * s;
        }
    }
}

__global__ void k55f(const float *rmu, const float *imu, const float *x, const float *y, const float *z,
                     const float *kx, const float *ky, const float *kz, float *rfhd, float *ifhd, int samples,
                     int voxels)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < voxels) {
        float xn = x[n], yn = y[n], zn = z[n];
        float real = rfhd[n], imaginary = ifhd[n];
        for (int m = 0; m < samples; m++) {
            float angle = TWO_PI * (kx[m] * xn + ky[m] * yn + kz[m] * zn);
            float c = cosf(angle);
            float s = sinf(angle);
            real += rmu[m] * c - imu[m] * s;
            imaginary += imu[m] * c + rmu[m] * s;
        }
        rfhd[n] = real;
        ifhd[n] = imaginary;
    }
}

__global__ void k55g(const float *rmu, const float *imu, const float *x, const float *y, const float *z,
                     const float *kx, const float *ky, const float *kz, float *rfhd, float *ifhd, int samples,
                     int voxels)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < voxels) {
        float xn = x[n], yn = y[n], zn = z[n];
        float real = rfhd[n], imaginary = ifhd[n];
        for (int m = 0; m < samples; m++) {
            float angle = TWO_PI * (kx[m] * xn + ky[m] * yn + kz[m] * zn);
            float c = __cosf(angle);
            float s = __sinf(angle);
            real += rmu[m] * c - imu[m] * s;
            imaginary += imu[m] * c + rmu[m] * s;
        }
        rfhd[n] = real;
        ifhd[n] = imaginary;
    }
}

int main()
{
    const int nx = 1024, ny = 1024;
    const float spacing = 0.125f, z = 64.0f;
    std::vector<float> charges(4 * ATOMS);
    for (int n = 0; n < ATOMS; n++) {
        for (int d = 0; d < 3; d++)
            charges[4 * n + d] = float(scrambled(3 * n + d, 551) / 4294967296.0 * 128.0);
        charges[4 * n + 3] = float(scrambled(n, 552) / 2147483648.0 - 1.0);
    }
    MUST(cudaMemcpyToSymbol(atoms, charges.data(), charges.size() * sizeof(float)));
    float *energy = zeroed<float>((size_t)nx * ny);
    std::vector<float> want;

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(energy, 0, (size_t)nx * ny * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            // Some rows come from the host, the others from the first launch.
            want = on_host(energy, (size_t)nx * ny);
            for (int j : {0, 333, ny - 1})
                for (int i = 0; i < nx; i++) {
                    double sum = 0.0;
                    for (int n = 0; n < ATOMS; n++) {
                        double dx = double(spacing) * i - charges[4 * n], dy = double(spacing) * j - charges[4 * n + 1];
                        double dz = double(z) - charges[4 * n + 2];
                        sum += charges[4 * n + 3] / std::sqrt(dx * dx + dy * dy + dz * dz);
                    }
                    want[(size_t)j * nx + i] = float(sum);
                }
        }
        check(name, energy, want, 2e-4);
    };

    dim3 threads(16, 16), grid(nx / 16, ny / 16), narrow(nx / (16 * POINTS), ny / 16);
    launch_and_check("k55a", [&] { k55a<<<grid, threads>>>(energy, nx, ny, spacing, z, ATOMS); });
    launch_and_check("k55b", [&] { k55b<<<grid, threads>>>(energy, nx, ny, spacing, z, ATOMS); });
    launch_and_check("k55c", [&] { k55c<<<narrow, threads>>>(energy, nx, ny, spacing, z, ATOMS); });
    launch_and_check("k55d", [&] { k55d<<<narrow, threads>>>(energy, nx, ny, spacing, z, ATOMS); });

    const int samples = 2048, voxels = 64 * 64 * 64;
    float *rmu = input<float>(samples, 553, -1.0, 1.0), *imu = input<float>(samples, 554, -1.0, 1.0);
    float *kx = input<float>(samples, 555, -32.0, 32.0), *ky = input<float>(samples, 556, -32.0, 32.0);
    float *kz = input<float>(samples, 557, -32.0, 32.0);
    float *px = input<float>(voxels, 558, 0.0, 1.0), *py = input<float>(voxels, 559, 0.0, 1.0);
    float *pz = input<float>(voxels, 550, 0.0, 1.0);

    // The real parts and then the imaginary ones.
    float *fhd = zeroed<float>(2 * voxels), *rfhd = fhd, *ifhd = fhd + voxels;
    std::vector<float> parts;
    auto launch_and_compare = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(fhd, 0, 2 * voxels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (parts.empty()) {
            // Two stretches of voxels come from the host, the others from the first launch.
            parts = on_host(fhd, 2 * voxels);
            std::vector<float> a = on_host(rmu, samples), b = on_host(imu, samples);
            std::vector<float> u = on_host(kx, samples), v = on_host(ky, samples), w = on_host(kz, samples);
            std::vector<float> hx = on_host(px, voxels), hy = on_host(py, voxels), hz = on_host(pz, voxels);
            for (int begin : {0, voxels - 128})
                for (int n = begin; n < begin + 128; n++) {
                    double re = 0.0, im = 0.0;
                    for (int m = 0; m < samples; m++) {
                        double turns = double(u[m]) * hx[n] + double(v[m]) * hy[n] + double(w[m]) * hz[n];
                        double c = std::cos(6.283185307179586 * turns), s = std::sin(6.283185307179586 * turns);
                        re += a[m] * c - b[m] * s;
                        im += b[m] * c + a[m] * s;
                    }
                    parts[n] = float(re);
                    parts[voxels + n] = float(im);
                }
        }
        check(name, fhd, parts, 2e-2);
    };
    const int blocks = voxels / 256;
    launch_and_compare("k55e", [&] {
        k55e<<<blocks, 256>>>(rmu, imu, px, py, pz, kx, ky, kz, rfhd, ifhd, samples, voxels);
    });
    launch_and_compare("k55f", [&] {
        k55f<<<blocks, 256>>>(rmu, imu, px, py, pz, kx, ky, kz, rfhd, ifhd, samples, voxels);
    });
    launch_and_compare("k55g", [&] {
        k55g<<<blocks, 256>>>(rmu, imu, px, py, pz, kx, ky, kz, rfhd, ifhd, samples, voxels);
    });
    return 0;
}
