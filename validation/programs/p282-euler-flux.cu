// Euler equations on an unstructured grid (finite volumes): the flux of every cell over its four faces.
#include "../harness.h"

constexpr int N = 4 << 20, WIDTH = 2048, FACES = 4, WALL = -1, FAR = -2;

enum How { PLAIN, POWERS, FAST };

template <How HOW, class Real> __host__ __device__ Real root(Real x)
{
#ifdef __CUDA_ARCH__
    if constexpr (HOW == POWERS)
        return pow(x, Real(0.5));
    else if constexpr (HOW == FAST)
        return x * rsqrtf(fmaxf(x, 1e-30f));
#endif
    return sqrt(x);
}

template <class Real> struct State {
    Real density, mx, my, mz, energy, vx, vy, vz, pressure, speed, sound;
};

template <How HOW, class Real> __host__ __device__ void derive(State<Real> &s)
{
    Real squared;
    if constexpr (HOW == POWERS) {
        s.vx = s.mx / s.density;
        s.vy = s.my / s.density;
        s.vz = s.mz / s.density;
        squared = pow(s.vx, Real(2)) + pow(s.vy, Real(2)) + pow(s.vz, Real(2));
        s.pressure = Real(0.4) * (s.energy - Real(0.5) * s.density * squared);
        s.sound = root<HOW>(Real(1.4) * s.pressure / s.density);
    } else {
        Real inverse = 1 / s.density;
#ifdef __CUDA_ARCH__
        if constexpr (HOW == FAST)
            inverse = __fdividef(1.0f, s.density);
#endif
        s.vx = s.mx * inverse;
        s.vy = s.my * inverse;
        s.vz = s.mz * inverse;
        squared = s.vx * s.vx + s.vy * s.vy + s.vz * s.vz;
        s.pressure = Real(0.4) * (s.energy - Real(0.5) * s.density * squared);
        s.sound = root<HOW>(Real(1.4) * s.pressure * inverse);
    }
    s.speed = root<HOW>(squared);
}

// Where the numbers of a cell are: field by field, or cell by cell.
template <bool BY_CELL> __host__ __device__ size_t place(int field, int fields, int cell)
{
    return BY_CELL ? (size_t)cell * fields + field : (size_t)field * N + cell;
}

template <bool BY_CELL, How HOW, class Real> __host__ __device__ State<Real> load(const float *values, int cell)
{
    State<Real> s;
    s.density = values[place<BY_CELL>(0, 5, cell)];
    s.mx = values[place<BY_CELL>(1, 5, cell)];
    s.my = values[place<BY_CELL>(2, 5, cell)];
    s.mz = values[place<BY_CELL>(3, 5, cell)];
    s.energy = values[place<BY_CELL>(4, 5, cell)];
    derive<HOW>(s);
    return s;
}

template <bool BY_CELL, How HOW, class Real>
__host__ __device__ void cell_flux(int cell, const float *__restrict__ values, const int *__restrict__ neighbours,
                                   const float *__restrict__ normals, float *__restrict__ flux, int field = -1)
{
    int others[FACES];
    float normal[3 * FACES];
#pragma unroll
    for (int j = 0; j < FACES; j++)
        others[j] = neighbours[place<BY_CELL>(j, FACES, cell)];
#pragma unroll
    for (int k = 0; k < 3 * FACES; k++)
        normal[k] = normals[place<BY_CELL>(k, 3 * FACES, cell)];
    State<Real> s = load<BY_CELL, HOW, Real>(values, cell);
    Real f0 = 0, f1 = 0, f2 = 0, f3 = 0, f4 = 0;
#pragma unroll
    for (int j = 0; j < FACES; j++) {
        int other = others[j];
        Real x = normal[3 * j], y = normal[3 * j + 1], z = normal[3 * j + 2];
        if (other == WALL) {
            f1 += x * s.pressure;
            f2 += y * s.pressure;
            f3 += z * s.pressure;
            continue;
        }
        State<Real> n;
        if (other == FAR) {
            n.density = Real(1.4);
            n.mx = Real(0.5);
            n.my = n.mz = 0;
            n.energy = Real(2.6);
            derive<HOW>(n);
        } else
            n = load<BY_CELL, HOW, Real>(values, other);
        Real k = -root<HOW>(x * x + y * y + z * z) * Real(0.1) * (s.speed + n.speed + s.sound + n.sound);
        Real through = Real(0.5) * (x * s.vx + y * s.vy + z * s.vz), back = Real(0.5) * (x * n.vx + y * n.vy + z * n.vz);
        Real p = Real(0.5) * (s.pressure + n.pressure);
        f0 += k * (s.density - n.density) + through * s.density + back * n.density;
        f1 += k * (s.mx - n.mx) + through * s.mx + back * n.mx + p * x;
        f2 += k * (s.my - n.my) + through * s.my + back * n.my + p * y;
        f3 += k * (s.mz - n.mz) + through * s.mz + back * n.mz + p * z;
        f4 += k * (s.energy - n.energy) + through * (s.energy + s.pressure) + back * (n.energy + n.pressure);
    }
    if (field >= 0) {
        flux[place<BY_CELL>(field, 5, cell)] = (float)(field == 0 ? f0 : field == 1 ? f1 : field == 2 ? f2 : field == 3 ? f3 : f4);
        return;
    }
    flux[place<BY_CELL>(0, 5, cell)] = (float)f0;
    flux[place<BY_CELL>(1, 5, cell)] = (float)f1;
    flux[place<BY_CELL>(2, 5, cell)] = (float)f2;
    flux[place<BY_CELL>(3, 5, cell)] = (float)f3;
    flux[place<BY_CELL>(4, 5, cell)] = (float)f4;
}

#define ARGUMENTS const float *__restrict__ values, const int *__restrict__ neighbours, const float *__restrict__ normals, \
                  float *__restrict__ flux
#define CELL (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void k282a(ARGUMENTS) { cell_flux<true, PLAIN, float>(CELL, values, neighbours, normals, flux); }
__global__ void k282b(ARGUMENTS) { cell_flux<false, PLAIN, double>(CELL, values, neighbours, normals, flux); }
__global__ void k282c(ARGUMENTS) { cell_flux<false, POWERS, float>(CELL, values, neighbours, normals, flux); }
__global__ void k282d(ARGUMENTS) { cell_flux<false, PLAIN, float>(CELL, values, neighbours, normals, flux); }
__global__ void k282e(ARGUMENTS) { cell_flux<false, FAST, float>(CELL, values, neighbours, normals, flux); }
__global__ void k282f(ARGUMENTS) { cell_flux<false, FAST, float>(CELL, values, neighbours, normals, flux); }

// A thread for each cell and each of its five fluxes.
__global__ void k282g(ARGUMENTS) { cell_flux<false, PLAIN, float>(CELL, values, neighbours, normals, flux, blockIdx.y); }

__global__ void by_cell(const float *from, float *to, int fields)
{
    for (int f = 0; f < fields; f++)
        to[place<true>(f, fields, CELL)] = from[place<false>(f, fields, CELL)];
}
__global__ void by_field(const float *from, float *to, int fields)
{
    for (int f = 0; f < fields; f++)
        to[place<false>(f, fields, CELL)] = from[place<true>(f, fields, CELL)];
}

int main()
{
    std::vector<float> values((size_t)5 * N);
    std::vector<int> neighbours((size_t)FACES * N);
    for (int i = 0; i < N; i++) {
        for (int f = 0; f < 5; f++) {
            float low = f == 0 ? 1 : f == 4 ? 4 : 0, high = f == 0 ? 2 : f == 4 ? 6 : 1;
            values[(size_t)f * N + i] = low + (high - low) * (scrambled((size_t)f * N + i, 1) / 4294967296.0f);
        }
        int column = i % WIDTH;
        neighbours[i] = column ? i - 1 : WALL;
        neighbours[(size_t)N + i] = column < WIDTH - 1 ? i + 1 : WALL;
        neighbours[(size_t)2 * N + i] = i >= WIDTH ? i - WIDTH : FAR;
        neighbours[(size_t)3 * N + i] = i + WIDTH < N ? i + WIDTH : FAR;
    }
    float *v = on_device(values), *normal = input<float>((size_t)3 * FACES * N, 2, -1, 1);
    int *nb = on_device(neighbours);
    float *v_cell = output<float>((size_t)5 * N), *normal_cell = output<float>((size_t)3 * FACES * N);
    int *nb_cell = output<int>((size_t)FACES * N);
    float *flux = output<float>((size_t)5 * N), *flux_cell = output<float>((size_t)5 * N);
    by_cell<<<N / 256, 256>>>(v, v_cell, 5);
    by_cell<<<N / 256, 256>>>(normal, normal_cell, 3 * FACES);
    by_cell<<<N / 256, 256>>>((const float *)nb, (float *)nb_cell, FACES);

    k282a<<<N / 128, 128>>>(v_cell, nb_cell, normal_cell, flux_cell);
    MUST(cudaDeviceSynchronize());
    by_field<<<N / 256, 256>>>(flux_cell, flux, 5);
    std::vector<float> first = on_host(flux, (size_t)5 * N), normals = on_host(normal, (size_t)3 * FACES * N);
    std::vector<float> want((size_t)5 * N);
    for (int k = 0; k < 50000; k++) {
        int i = k < 2100 ? k : k < 4200 ? N - 1 - (k - 2100) : scrambled(k, 4) % N;
        cell_flux<false, PLAIN, double>(i, values.data(), neighbours.data(), normals.data(), want.data());
        for (int f = 0; f < 5; f++) {
            float a = first[(size_t)f * N + i], b = want[(size_t)f * N + i];
            if (!(std::fabs(a - b) <= 1e-4 * std::fmax(1.0, std::fabs(b))))
                return std::printf("k282a: field %d of cell %d is %g, not %g\n", f, i, a, b), 2;
        }
    }
    check("k282a", flux, first, 0);
    auto clear = [&] { MUST(cudaMemset(flux, 0xA5, (size_t)5 * N * 4)); };
    clear();
    k282b<<<N / 128, 128>>>(v, nb, normal, flux);
    check("k282b", flux, first, 1e-4);
    clear();
    k282c<<<N / 128, 128>>>(v, nb, normal, flux);
    check("k282c", flux, first, 1e-4);
    clear();
    k282d<<<N / 128, 128>>>(v, nb, normal, flux);
    check("k282d", flux, first, 1e-4);
    clear();
    k282e<<<N / 128, 128>>>(v, nb, normal, flux);
    check("k282e", flux, first, 1e-4);
    clear();
    k282f<<<N / 256, 256>>>(v, nb, normal, flux);
    check("k282f", flux, first, 1e-4);
    clear();
    k282g<<<dim3(N / 128, 5), 128>>>(v, nb, normal, flux);
    check("k282g", flux, first, 1e-4);
}
