// Cone-beam back-projection of filtered projections into a volume, and look-ups of macroscopic neutron cross sections
// (energy grids of many nuclides, materials made of several nuclides).
#include "../harness.h"

#include <algorithm>
#include <numeric>

const int VIEWS = 64;
__constant__ float c_matrix[VIEWS * 12];

__device__ __forceinline__ float pixel(const float *image, int w, int h, int i, int j)
{
    if (i < 0 || j < 0 || i >= w || j >= h)
        return 0.0f;
    return image[j * w + i];
}

__device__ __forceinline__ float between(const float *image, int w, int h, float u, float v)
{
    int i = (int)floorf(u), j = (int)floorf(v);
    float a = u - i, b = v - j;
    return (1.0f - b) * ((1.0f - a) * pixel(image, w, h, i, j) + a * pixel(image, w, h, i + 1, j)) +
           b * ((1.0f - a) * pixel(image, w, h, i, j + 1) + a * pixel(image, w, h, i + 1, j + 1));
}

__global__ void k98a(const float *views, int w, int h, float *volume, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= n || y >= n)
        return;
    size_t at = ((size_t)z * n + y) * n + x;
    for (int p = 0; p < VIEWS; p++) {
        const float *m = c_matrix + p * 12;
        float d = m[8] * x + m[9] * y + m[10] * z + m[11];
        float inv = 1.0f / d;
        float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * inv;
        float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * inv;
        volume[at] += inv * inv * between(views + (size_t)p * w * h, w, h, u, v);
    }
}

__global__ void k98b(const float *views, int w, int h, float *volume, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= n || y >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < VIEWS; p++) {
        const float *m = c_matrix + p * 12;
        float d = m[8] * x + m[9] * y + m[10] * z + m[11];
        float inv = 1.0f / d;
        float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * inv;
        float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * inv;
        sum += inv * inv * between(views + (size_t)p * w * h, w, h, u, v);
    }
    volume[((size_t)z * n + y) * n + x] += sum;
}

__global__ void k98c(cudaTextureObject_t views, float *volume, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= n || y >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < VIEWS; p++) {
        const float *m = c_matrix + p * 12;
        float d = m[8] * x + m[9] * y + m[10] * z + m[11];
        float inv = 1.0f / d;
        float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * inv;
        float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * inv;
        sum += inv * inv * tex2DLayered<float>(views, u + 0.5f, v + 0.5f, p);
    }
    volume[((size_t)z * n + y) * n + x] += sum;
}

const int DEPTH = 8;

// n is a multiple of DEPTH.
__global__ void k98d(cudaTextureObject_t views, float *volume, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * DEPTH;
    if (x >= n || y >= n)
        return;
    float sum[DEPTH];
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        sum[k] = 0.0f;
    for (int p = 0; p < VIEWS; p++) {
        const float *m = c_matrix + p * 12;
        float d = m[8] * x + m[9] * y + m[10] * z + m[11];
        float a = m[0] * x + m[1] * y + m[2] * z + m[3];
        float b = m[4] * x + m[5] * y + m[6] * z + m[7];
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float inv = 1.0f / d;
            sum[k] += inv * inv * tex2DLayered<float>(views, a * inv + 0.5f, b * inv + 0.5f, p);
            a += m[2];
            b += m[6];
            d += m[10];
        }
    }
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        volume[((size_t)(z + k) * n + y) * n + x] += sum[k];
}

__global__ void k98e(cudaTextureObject_t views, float *volume, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * DEPTH;
    if (x >= n || y >= n)
        return;
    float sum[DEPTH];
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        sum[k] = 0.0f;
    for (int p = 0; p < VIEWS; p++) {
        const float *m = c_matrix + p * 12;
        float d = m[8] * x + m[9] * y + m[10] * z + m[11];
        float a = m[0] * x + m[1] * y + m[2] * z + m[3];
        float b = m[4] * x + m[5] * y + m[6] * z + m[7];
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float inv = __fdividef(1.0f, d);
            sum[k] += inv * inv * tex2DLayered<float>(views, a * inv + 0.5f, b * inv + 0.5f, p);
            a += m[2];
            b += m[6];
            d += m[10];
        }
    }
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
        volume[((size_t)(z + k) * n + y) * n + x] += sum[k];
}

struct Point {
    double energy, total, elastic, absorption, fission, nu_fission;
};

const int NUCLIDES = 68, POINTS = 11303, MATERIALS = 12, MOST = 34, BINS = 10000;

struct Tables {
    const Point *grid;      // NUCLIDES x POINTS
    const int *hash;        // (BINS + 1) x NUCLIDES
    const int *parts;       // MATERIALS
    const int *member;      // MATERIALS x MOST
    const double *density;  // MATERIALS x MOST
};

__host__ __device__ inline int find(const Point *points, double energy, int low, int high)
{
    int length = high - low;
    while (length > 1) {
        int middle = low + length / 2;
        if (points[middle].energy > energy)
            high = middle;
        else
            low = middle;
        length = high - low;
    }
    return low;
}

__host__ __device__ inline void add_nuclide(const Point *points, int at, double energy, double density, double sum[5])
{
    const Point *low = points + at, *high = low + 1;
    double f = (high->energy - energy) / (high->energy - low->energy);
    sum[0] += density * (high->total - f * (high->total - low->total));
    sum[1] += density * (high->elastic - f * (high->elastic - low->elastic));
    sum[2] += density * (high->absorption - f * (high->absorption - low->absorption));
    sum[3] += density * (high->fission - f * (high->fission - low->fission));
    sum[4] += density * (high->nu_fission - f * (high->nu_fission - low->nu_fission));
}

__global__ void k98f(Tables t, const double *__restrict__ energy, const int *__restrict__ material, double *__restrict__ out,
                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double e = energy[i];
    int m = material[i];
    double sum[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < t.parts[m]; k++) {
        int nuclide = t.member[m * MOST + k];
        const Point *points = t.grid + nuclide * POINTS;
        int at = find(points, e, 0, POINTS - 1);
        add_nuclide(points, at, e, t.density[m * MOST + k], sum);
    }
    for (int c = 0; c < 5; c++)
        out[(size_t)c * n + i] = sum[c];
}

__global__ void k98g(Tables t, const double *__restrict__ energy, const int *__restrict__ material, double *__restrict__ out,
                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double e = energy[i];
    int m = material[i];
    int bin = (int)(e * BINS);
    double sum[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < t.parts[m]; k++) {
        int nuclide = t.member[m * MOST + k];
        const Point *points = t.grid + nuclide * POINTS;
        int at = find(points, e, t.hash[bin * NUCLIDES + nuclide], t.hash[(bin + 1) * NUCLIDES + nuclide] + 1);
        add_nuclide(points, at, e, t.density[m * MOST + k], sum);
    }
    for (int c = 0; c < 5; c++)
        out[(size_t)c * n + i] = sum[c];
}

__global__ void k98h(Tables t, const double *__restrict__ energy, const int *__restrict__ material, double *__restrict__ out,
                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double e = energy[i];
    int m = material[i];
    int bin = (int)(e * BINS);
    double sum[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < t.parts[m]; k++) {
        int nuclide = t.member[m * MOST + k];
        const Point *points = t.grid + nuclide * POINTS;
        int at = find(points, e, t.hash[bin * NUCLIDES + nuclide], t.hash[(bin + 1) * NUCLIDES + nuclide] + 1);
        add_nuclide(points, at, e, t.density[m * MOST + k], sum);
    }
    for (int c = 0; c < 5; c++)
        out[(size_t)c * n + i] = sum[c];
}

static void tomography()
{
    const int n = 256, w = 384, h = 384;
    const size_t voxels = (size_t)n * n * n;
    std::vector<float> views((size_t)VIEWS * w * h), matrix(VIEWS * 12);
    for (int p = 0; p < VIEWS; p++) {
        std::vector<float> across(w);
        for (int i = 0; i < w; i++)
            across[i] = 0.5f * std::sin(0.03f * i + 0.4f * p);
        for (int j = 0; j < h; j++) {
            float down = std::cos(0.02f * j + 0.1f * p);
            for (int i = 0; i < w; i++)
                views[((size_t)p * h + j) * w + i] = 1.0f + across[i] * down;
        }
        const double source = 600.0, detector = 1000.0, pitch = 1.6, angle = 2.0 * 3.14159265358979 * p / VIEWS;
        const double mag = detector / source / pitch, c = std::cos(angle), s = std::sin(angle), mid = (n - 1) / 2.0;
        double d[4] = {s / source, -c / source, 0.0, 0.0};
        d[3] = 1.0 - mid * (d[0] + d[1]);
        double a[4] = {mag * c, mag * s, 0.0, -mag * mid * (c + s)}, b[4] = {0.0, 0.0, mag, -mag * mid};
        for (int q = 0; q < 4; q++) {
            matrix[p * 12 + q] = float(a[q] + (w - 1) / 2.0 * d[q]);
            matrix[p * 12 + 4 + q] = float(b[q] + (h - 1) / 2.0 * d[q]);
            matrix[p * 12 + 8 + q] = float(d[q]);
        }
    }
    MUST(cudaMemcpyToSymbol(c_matrix, matrix.data(), matrix.size() * sizeof(float)));
    float *d_views = on_device(views);
    float *volume = zeroed<float>(voxels);

    cudaArray_t layers;
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    MUST(cudaMalloc3DArray(&layers, &channel, make_cudaExtent(w, h, VIEWS), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(d_views, w * sizeof(float), w, h);
    copy.dstArray = layers;
    copy.extent = make_cudaExtent(w, h, VIEWS);
    copy.kind = cudaMemcpyDeviceToDevice;
    MUST(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = layers;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeBorder;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    MUST(cudaCreateTextureObject(&texture, &resource, &how, nullptr));

    dim3 block(16, 16), all(n / 16, n / 16, n), deep(n / 16, n / 16, n / DEPTH);
    k98a<<<all, block>>>(d_views, w, h, volume, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> first = on_host(volume, voxels);
    std::vector<float> some, picked;
    for (size_t at = 0; at < voxels; at += 9973) {
        int x = int(at % n), y = int(at / n % n), z = int(at / n / n);
        double sum = 0.0;
        for (int p = 0; p < VIEWS; p++) {
            const float *m = matrix.data() + p * 12;
            double d = double(m[8]) * x + double(m[9]) * y + double(m[10]) * z + m[11];
            double u = (double(m[0]) * x + double(m[1]) * y + double(m[2]) * z + m[3]) / d;
            double v = (double(m[4]) * x + double(m[5]) * y + double(m[6]) * z + m[7]) / d;
            int i = (int)std::floor(u), j = (int)std::floor(v);
            double a = u - i, b = v - j;
            auto at_pixel = [&](int r, int q) {
                return r < 0 || q < 0 || r >= w || q >= h ? 0.0 : double(views[((size_t)p * h + q) * w + r]);
            };
            sum += ((1 - b) * ((1 - a) * at_pixel(i, j) + a * at_pixel(i + 1, j)) +
                    b * ((1 - a) * at_pixel(i, j + 1) + a * at_pixel(i + 1, j + 1))) / (d * d);
        }
        some.push_back(float(sum));
        picked.push_back(first[at]);
    }
    float *d_picked = on_device(picked);
    check("k98a", d_picked, some, 1e-3);

    auto again = [&] { MUST(cudaMemset(volume, 0, voxels * sizeof(float))); };
    again();
    k98b<<<all, block>>>(d_views, w, h, volume, n);
    check("k98b", volume, first, 1e-3);
    again();
    k98c<<<all, block>>>(texture, volume, n);
    check("k98c", volume, first, 4e-3);
    again();
    k98d<<<deep, block>>>(texture, volume, n);
    check("k98d", volume, first, 4e-3);
    again();
    k98e<<<deep, block>>>(texture, volume, n);
    check("k98e", volume, first, 4e-3);
    MUST(cudaDestroyTextureObject(texture));
    MUST(cudaFreeArray(layers));
    MUST(cudaFree(d_views));
    MUST(cudaFree(volume));
}

static void cross_sections()
{
    const int n = 1000000;
    auto uniform = [](unsigned long long i, unsigned seed) { return scrambled(i, seed) / 4294967296.0; };
    std::vector<Point> grid((size_t)NUCLIDES * POINTS);
    std::vector<int> hash((size_t)(BINS + 1) * NUCLIDES);
    for (int c = 0; c < NUCLIDES; c++) {
        std::vector<double> e(POINTS);
        for (int k = 0; k < POINTS; k++)
            e[k] = uniform((size_t)c * POINTS + k, 981);
        e[0] = 0.0;
        e[POINTS - 1] = 1.0;
        std::sort(e.begin(), e.end());
        Point *p = grid.data() + (size_t)c * POINTS;
        for (int k = 0; k < POINTS; k++) {
            unsigned long long s = 5ull * ((size_t)c * POINTS + k);
            p[k] = {e[k],
                    uniform(s, 982),
                    uniform(s + 1, 982),
                    uniform(s + 2, 982),
                    uniform(s + 3, 982),
                    uniform(s + 4, 982)};
        }
        int at = 0;
        for (int b = 0; b <= BINS; b++) {
            while (at + 1 <= POINTS - 2 && e[at + 1] <= double(b) / BINS)
                at++;
            hash[(size_t)b * NUCLIDES + c] = at;
        }
    }
    const int sizes[MATERIALS] = {34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
    const double share[MATERIALS] = {0.140, 0.052, 0.275, 0.134, 0.154, 0.064, 0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
    std::vector<int> parts(sizes, sizes + MATERIALS), member(MATERIALS * MOST, 0);
    std::vector<double> density(MATERIALS * MOST, 0.0);
    for (int m = 0; m < MATERIALS; m++)
        for (int k = 0; k < parts[m]; k++) {
            member[m * MOST + k] = m == 0 ? k : (34 + m * 7 + k * 5) % NUCLIDES;
            density[m * MOST + k] = uniform(m * MOST + k, 983);
        }
    std::vector<double> energy(n);
    std::vector<int> material(n);
    for (int i = 0; i < n; i++) {
        energy[i] = uniform(i, 984);
        double r = uniform(i, 985), sum = 0.0;
        int m = 0;
        while (m < MATERIALS - 1 && r >= (sum += share[m]))
            m++;
        material[i] = m;
    }
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
        return material[a] != material[b] ? material[a] < material[b] : energy[a] < energy[b];
    });
    std::vector<double> energy_sorted(n);
    std::vector<int> material_sorted(n);
    for (int i = 0; i < n; i++) {
        energy_sorted[i] = energy[order[i]];
        material_sorted[i] = material[order[i]];
    }

    Tables t = {on_device(grid), on_device(hash), on_device(parts), on_device(member), on_device(density)};
    double *d_energy = on_device(energy), *d_energy_sorted = on_device(energy_sorted);
    int *d_material = on_device(material), *d_material_sorted = on_device(material_sorted);
    double *out = output<double>((size_t)5 * n);

    k98f<<<(n + 255) / 256, 256>>>(t, d_energy, d_material, out, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<double> first = on_host(out, (size_t)5 * n), some, picked;
    for (int i = 0; i < n; i += 61) {
        double sum[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
        int m = material[i];
        for (int k = 0; k < parts[m]; k++) {
            const Point *points = grid.data() + (size_t)member[m * MOST + k] * POINTS;
            add_nuclide(points, find(points, energy[i], 0, POINTS - 1), energy[i], density[m * MOST + k], sum);
        }
        for (int c = 0; c < 5; c++) {
            some.push_back(sum[c]);
            picked.push_back(first[(size_t)c * n + i]);
        }
    }
    double *d_picked = on_device(picked);
    check("k98f", d_picked, some, 1e-8);

    MUST(cudaMemset(out, 0xA5, (size_t)5 * n * sizeof(double)));
    k98g<<<(n + 255) / 256, 256>>>(t, d_energy, d_material, out, n);
    check("k98g", out, first, 1e-8);

    std::vector<double> want((size_t)5 * n);
    for (int c = 0; c < 5; c++)
        for (int i = 0; i < n; i++)
            want[(size_t)c * n + i] = first[(size_t)c * n + order[i]];
    MUST(cudaMemset(out, 0xA5, (size_t)5 * n * sizeof(double)));
    k98h<<<(n + 255) / 256, 256>>>(t, d_energy_sorted, d_material_sorted, out, n);
    check("k98h", out, want, 1e-8);
}

int main()
{
    tomography();
    cross_sections();
    return 0;
}
