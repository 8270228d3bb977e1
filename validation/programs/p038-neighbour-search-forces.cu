// Neighbours of 65,536 atoms of a sheet by comparing all pairs; Lennard-Jones forces in a crystal of 131,072 atoms.
#include "../harness.h"

#include <algorithm>
#include <functional>

const int LIST = 10;

template <class real>
__device__ void all_pairs(int *nn, int *nl, const real *x, const real *y, int n, real cutoff2)
{
    const int n1 = blockIdx.x * blockDim.x + threadIdx.x;
    if (n1 < n) {
        int count = 0;
        const real x1 = x[n1];
        const real y1 = y[n1];
        for (int n2 = 0; n2 < n; ++n2) {
            const real dx = x[n2] - x1;
            const real dy = y[n2] - y1;
            const real r2 = dx * dx + dy * dy;
            if (r2 < cutoff2 && n2 != n1)
                nl[(count++) * n + n1] = n2;
        }
        nn[n1] = count;
    }
}

__global__ void k38a(int *nn, int *nl, const double *x, const double *y, int n, double cutoff2)
{
    all_pairs<double>(nn, nl, x, y, n, cutoff2);
}

__global__ void k38b(int *nn, int *nl, const float *x, const float *y, int n, float cutoff2)
{
    all_pairs<float>(nn, nl, x, y, n, cutoff2);
}

const int BLOCK = 128;

// n is a multiple of BLOCK.
__global__ void k38c(int *nn, int *nl, const float *x, const float *y, int n, float cutoff2)
{
    __shared__ float sx[BLOCK], sy[BLOCK];
    const int tid = threadIdx.x;
    const int n1 = blockIdx.x * BLOCK + tid;
    const float x1 = x[n1];
    const float y1 = y[n1];
    int count = 0;
    for (int first = 0; first < n; first += BLOCK) {
        sx[tid] = x[first + tid];
        sy[tid] = y[first + tid];
        __syncthreads();
#pragma unroll 8
        for (int m = 0; m < BLOCK; ++m) {
            const float dx = sx[m] - x1;
            const float dy = sy[m] - y1;
            const float r2 = dx * dx + dy * dy;
            if (r2 < cutoff2 && first + m != n1)
                nl[(count++) * n + n1] = first + m;
        }
        __syncthreads();
    }
    nn[n1] = count;
}

struct Box {
    double lx, ly, lz, hx, hy, hz;
};

struct Pair {
    double cutoff2, e24s6, e48s12, e4s6, e4s12;
};

__host__ __device__ inline void nearest_image(const Box &box, double &x, double &y, double &z)
{
    if (x < -box.hx)
        x += box.lx;
    else if (x > +box.hx)
        x -= box.lx;
    if (y < -box.hy)
        y += box.ly;
    else if (y > +box.hy)
        y -= box.ly;
    if (z < -box.hz)
        z += box.lz;
    else if (z > +box.hz)
        z -= box.lz;
}

__host__ __device__ inline void interact(const Pair &lj, double r2, double &f, double &e)
{
    double r2inv = 1.0 / r2;
    double r4inv = r2inv * r2inv;
    double r6inv = r2inv * r4inv;
    double r8inv = r4inv * r4inv;
    double r12inv = r4inv * r8inv;
    double r14inv = r6inv * r8inv;
    f = lj.e24s6 * r8inv - lj.e48s12 * r14inv;
    e = lj.e4s12 * r12inv - lj.e4s6 * r6inv;
}

// force holds the three components and then the energies.
__global__ void k38d(Pair lj, Box box, int n, int mn, const int *nn, const int *nl, const double *x, const double *y,
                     const double *z, double *force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double fx = 0.0, fy = 0.0, fz = 0.0, energy = 0.0;
        int neighbours = nn[i];
        double xi = x[i], yi = y[i], zi = z[i];
        for (int k = 0; k < neighbours; ++k) {
            int j = nl[i * mn + k];
            double dx = x[j] - xi;
            double dy = y[j] - yi;
            double dz = z[j] - zi;
            nearest_image(box, dx, dy, dz);
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 > lj.cutoff2)
                continue;
            double f, e;
            interact(lj, r2, f, e);
            energy += e;
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
        force[i] = fx;
        force[n + i] = fy;
        force[2 * n + i] = fz;
        force[3 * n + i] = energy * 0.5;
    }
}

__global__ void k38e(Pair lj, Box box, int n, int mn, const int *nn, const int *nl, const double *x, const double *y,
                     const double *z, double *force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double fx = 0.0, fy = 0.0, fz = 0.0, energy = 0.0;
        int neighbours = nn[i];
        double xi = x[i], yi = y[i], zi = z[i];
        for (int k = 0; k < neighbours; ++k) {
            int j = nl[i + n * k];
            double dx = x[j] - xi;
            double dy = y[j] - yi;
            double dz = z[j] - zi;
            nearest_image(box, dx, dy, dz);
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 > lj.cutoff2)
                continue;
            double f, e;
            interact(lj, r2, f, e);
            energy += e;
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
        force[i] = fx;
        force[n + i] = fy;
        force[2 * n + i] = fz;
        force[3 * n + i] = energy * 0.5;
    }
}

__global__ void k38f(Pair lj, Box box, int n, int mn, const int *nn, const int *nl, const double *x, const double *y,
                     const double *z, double *force)
{
    __shared__ double sfx[BLOCK], sfy[BLOCK], sfz[BLOCK], spe[BLOCK];
    int tid = threadIdx.x;
    sfx[tid] = 0.0;
    sfy[tid] = 0.0;
    sfz[tid] = 0.0;
    spe[tid] = 0.0;

    int i = blockIdx.x;
    int neighbours = nn[i];
    double xi = x[i], yi = y[i], zi = z[i];
    int patches = (mn - 1) / blockDim.x + 1;
    for (int patch = 0; patch < patches; ++patch) {
        int k = tid + blockDim.x * patch;
        if (k >= neighbours)
            continue;
        int j = nl[i * mn + k];
        double dx = x[j] - xi;
        double dy = y[j] - yi;
        double dz = z[j] - zi;
        nearest_image(box, dx, dy, dz);
        double r2 = dx * dx + dy * dy + dz * dz;
        if (r2 > lj.cutoff2)
            continue;
        double f, e;
        interact(lj, r2, f, e);
        spe[tid] += e;
        sfx[tid] += f * dx;
        sfy[tid] += f * dy;
        sfz[tid] += f * dz;
    }
    __syncthreads();

    for (int offset = blockDim.x >> 1; offset > 0; offset >>= 1) {
        if (tid < offset) {
            sfx[tid] += sfx[tid + offset];
            sfy[tid] += sfy[tid + offset];
            sfz[tid] += sfz[tid + offset];
            spe[tid] += spe[tid + offset];
        }
        __syncthreads();
    }
    if (tid == 0) {
        force[i] = sfx[0];
        force[n + i] = sfy[0];
        force[2 * n + i] = sfz[0];
        force[3 * n + i] = spe[0] * 0.5;
    }
}

double shaken(size_t index, unsigned seed, double size)
{
    return size * (2.0 * (scrambled(index, seed) / 4294967296.0) - 1.0);
}

void neighbours()
{
    // Four atoms in each of side * side rectangles of a honeycomb; three neighbours inside, less at the rim.
    const int side = 128, n = 4 * side * side;
    const double bond = 1.42, wide = std::sqrt(3.0) * bond, high = 3.0 * bond, cutoff = 1.9;
    const double place[4][2] = {{0, 0}, {wide / 2, bond / 2}, {wide / 2, 1.5 * bond}, {0, 2 * bond}};
    std::vector<float> x(n), y(n);
    for (int c = 0; c < side * side; c++)
        for (int s = 0; s < 4; s++) {
            int i = 4 * c + s;
            x[i] = float(c / side * wide + place[s][0] + shaken(i, 381, 0.08));
            y[i] = float(c % side * high + place[s][1] + shaken(i, 382, 0.08));
        }

    const int poison = int(0xA5A5A5A5u);
    std::vector<int> want_nn(n, 0), want_nl((size_t)LIST * n, poison);
    for (int i = 0; i < n; i++) {
        int cx = i / 4 / side, cy = i / 4 % side;
        for (int ox = std::max(cx - 1, 0); ox <= std::min(cx + 1, side - 1); ox++)
            for (int oy = std::max(cy - 1, 0); oy <= std::min(cy + 1, side - 1); oy++)
                for (int s = 0; s < 4; s++) {
                    int j = 4 * (ox * side + oy) + s;
                    double dx = double(x[j]) - x[i], dy = double(y[j]) - y[i];
                    if (j != i && dx * dx + dy * dy < cutoff * cutoff)
                        want_nl[(size_t)want_nn[i]++ * n + i] = j;
                }
    }

    float *fx = on_device(x), *fy = on_device(y);
    double *dx = on_device(std::vector<double>(x.begin(), x.end()));
    double *dy = on_device(std::vector<double>(y.begin(), y.end()));
    int *nn = output<int>(n), *nl = output<int>((size_t)LIST * n);
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(nn, 0xA5, n * sizeof(int)));
        MUST(cudaMemset(nl, 0xA5, (size_t)LIST * n * sizeof(int)));
        launch();
        check(name, nn, want_nn, 0.0);
        check(name, nl, want_nl, 0.0);
    };
    launch_and_check("k38a", [&] { k38a<<<n / BLOCK, BLOCK>>>(nn, nl, dx, dy, n, cutoff * cutoff); });
    launch_and_check("k38b", [&] { k38b<<<n / BLOCK, BLOCK>>>(nn, nl, fx, fy, n, float(cutoff * cutoff)); });
    launch_and_check("k38c", [&] { k38c<<<n / BLOCK, BLOCK>>>(nn, nl, fx, fy, n, float(cutoff * cutoff)); });
}

void forces()
{
    // Face-centred cubic crystal, periodic; the list holds the atoms of the first eight shells, the force six of them.
    const int cells = 32, n = 4 * cells * cells * cells, mn = 160;
    const double a = 5.45, listed = 11.2, cutoff = 9.8, sigma = 3.405, epsilon = 1.0;
    const double basis[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
    std::vector<double> x(n), y(n), z(n);
    for (int i = 0; i < n; i++) {
        int c = i / 4, s = i % 4;
        x[i] = a * (c / (cells * cells) + basis[s][0]) + shaken(i, 383, 0.05);
        y[i] = a * (c / cells % cells + basis[s][1]) + shaken(i, 384, 0.05);
        z[i] = a * (c % cells + basis[s][2]) + shaken(i, 385, 0.05);
    }

    struct Near {
        int cx, cy, cz, s;
    };
    std::vector<Near> around[4];
    for (int s = 0; s < 4; s++)
        for (int cx = -3; cx <= 3; cx++)
            for (int cy = -3; cy <= 3; cy++)
                for (int cz = -3; cz <= 3; cz++)
                    for (int t = 0; t < 4; t++) {
                        double dx = cx + basis[t][0] - basis[s][0], dy = cy + basis[t][1] - basis[s][1];
                        double dz = cz + basis[t][2] - basis[s][2], r2 = a * a * (dx * dx + dy * dy + dz * dz);
                        if (r2 > 0.0 && r2 < listed * listed)
                            around[s].push_back({cx, cy, cz, t});
                    }

    std::vector<int> nn(n), by_atom((size_t)mn * n, 0), by_rank((size_t)mn * n, 0);
    for (int i = 0; i < n; i++) {
        int c = i / 4, ix = c / (cells * cells), iy = c / cells % cells, iz = c % cells;
        nn[i] = int(around[i % 4].size());
        for (int k = 0; k < nn[i]; k++) {
            const Near &o = around[i % 4][k];
            int jx = (ix + o.cx + cells) % cells, jy = (iy + o.cy + cells) % cells, jz = (iz + o.cz + cells) % cells;
            int j = 4 * ((jx * cells + jy) * cells + jz) + o.s;
            by_atom[(size_t)i * mn + k] = j;
            by_rank[(size_t)k * n + i] = j;
        }
    }

    const double length = a * cells, s6 = std::pow(sigma, 6), s12 = s6 * s6;
    const Box box = {length, length, length, length / 2, length / 2, length / 2};
    const Pair lj = {cutoff * cutoff, 24.0 * epsilon * s6, 48.0 * epsilon * s12, 4.0 * epsilon * s6,
                     4.0 * epsilon * s12};
    std::vector<double> want((size_t)4 * n, 0.0);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < nn[i]; k++) {
            int j = by_atom[(size_t)i * mn + k];
            double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], f, e;
            nearest_image(box, dx, dy, dz);
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 > lj.cutoff2)
                continue;
            interact(lj, r2, f, e);
            want[i] += f * dx;
            want[n + i] += f * dy;
            want[2 * n + i] += f * dz;
            want[3 * n + i] += 0.5 * e;
        }
    }

    double *px = on_device(x), *py = on_device(y), *pz = on_device(z);
    int *count = on_device(nn), *atoms = on_device(by_atom), *ranks = on_device(by_rank);
    double *force = output<double>((size_t)4 * n);
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(force, 0xA5, (size_t)4 * n * sizeof(double)));
        launch();
        check(name, force, want, 1e-9);
    };
    launch_and_check("k38d", [&] { k38d<<<n / BLOCK, BLOCK>>>(lj, box, n, mn, count, atoms, px, py, pz, force); });
    launch_and_check("k38e", [&] { k38e<<<n / BLOCK, BLOCK>>>(lj, box, n, mn, count, ranks, px, py, pz, force); });
    launch_and_check("k38f", [&] { k38f<<<n, BLOCK>>>(lj, box, n, mn, count, atoms, px, py, pz, force); });
}

int main()
{
    neighbours();
    forces();
    return 0;
}
