// Flow of a viscous fluid at 262144 places caused by 1024 regularised point forces, and the largest (squared) rate at
// which signals cross a cell of a hydrodynamics mesh, which limits the time step.
#include "../harness.h"

#include <functional>

const int PLACES = 1 << 18, FORCES = 1024, PER_THREAD = 4, BLOCK = 256;

struct Force {
    float x, y, z, fx, fy, fz;
};

__global__ void k200a(float *flow, const float *place, const Force *force, int places, int forces, float eps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < places) {
        float x = place[i], y = place[i + places], z = place[i + 2 * places];
        float u = 0.0f, v = 0.0f, w = 0.0f;
        for (int j = 0; j < forces; j++) {
            Force f = force[j];
            float dx = x - f.x, dy = y - f.y, dz = z - f.z;
            double squared = dx * dx + dy * dy + dz * dz, far = squared + 1.0 * eps * eps;
            double cube = far * sqrt(far);
            double s = (squared + 2.0 * eps * eps) / cube;
            double t = (f.fx * dx + f.fy * dy + f.fz * dz) / cube;
            u += f.fx * s + dx * t;
            v += f.fy * s + dy * t;
            w += f.fz * s + dz * t;
        }
        flow[i] = u;
        flow[i + places] = v;
        flow[i + 2 * places] = w;
    }
}

__global__ void k200b(float *flow, const float *place, const Force *force, int places, int forces, float eps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < places) {
        float x = place[i], y = place[i + places], z = place[i + 2 * places];
        float u = 0.0f, v = 0.0f, w = 0.0f;
        for (int j = 0; j < forces; j++) {
            Force f = force[j];
            float dx = x - f.x, dy = y - f.y, dz = z - f.z;
            float squared = dx * dx + dy * dy + dz * dz, far = squared + eps * eps;
            float cube = far * sqrtf(far);
            float s = (squared + 2.0f * eps * eps) / cube;
            float t = (f.fx * dx + f.fy * dy + f.fz * dz) / cube;
            u += f.fx * s + dx * t;
            v += f.fy * s + dy * t;
            w += f.fz * s + dz * t;
        }
        flow[i] = u;
        flow[i + places] = v;
        flow[i + 2 * places] = w;
    }
}

__device__ inline void push(float *u, float x, float y, float z, const Force &f, float eps2)
{
    float dx = x - f.x, dy = y - f.y, dz = z - f.z;
    float squared = dx * dx + dy * dy + dz * dz;
    float inverse = rsqrtf(squared + eps2), cube = inverse * inverse * inverse;
    float s = (squared + 2.0f * eps2) * cube;
    float t = (f.fx * dx + f.fy * dy + f.fz * dz) * cube;
    u[0] += f.fx * s + dx * t;
    u[1] += f.fy * s + dy * t;
    u[2] += f.fz * s + dz * t;
}

__global__ void k200c(float *__restrict__ flow, const float *__restrict__ place, const Force *__restrict__ force,
                      int places, int forces, float eps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < places) {
        float x = place[i], y = place[i + places], z = place[i + 2 * places], eps2 = eps * eps;
        float u[3] = {};
#pragma unroll 4
        for (int j = 0; j < forces; j++)
            push(u, x, y, z, force[j], eps2);
        flow[i] = u[0];
        flow[i + places] = u[1];
        flow[i + 2 * places] = u[2];
    }
}

__global__ void __launch_bounds__(BLOCK) k200d(float *__restrict__ flow, const float *__restrict__ place,
                                               const Force *__restrict__ force, int places, int forces, float eps)
{
    int first = blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
    float x[PER_THREAD], y[PER_THREAD], z[PER_THREAD], u[PER_THREAD][3] = {}, eps2 = eps * eps;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int i = first + k * BLOCK;
        x[k] = place[i];
        y[k] = place[i + places];
        z[k] = place[i + 2 * places];
    }
#pragma unroll 4
    for (int j = 0; j < forces; j++) {
        Force f = force[j];
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++)
            push(u[k], x[k], y[k], z[k], f, eps2);
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int i = first + k * BLOCK;
        flow[i] = u[k][0];
        flow[i + places] = u[k][1];
        flow[i + 2 * places] = u[k][2];
    }
}

__global__ void __launch_bounds__(BLOCK) k200e(float *__restrict__ flow, const float *__restrict__ place,
                                               const Force *__restrict__ force, int places, int forces, float eps)
{
    __shared__ Force part[BLOCK];
    int first = blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
    float x[PER_THREAD], y[PER_THREAD], z[PER_THREAD], u[PER_THREAD][3] = {}, eps2 = eps * eps;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int i = first + k * BLOCK;
        x[k] = place[i];
        y[k] = place[i + places];
        z[k] = place[i + 2 * places];
    }
    for (int start = 0; start < forces; start += BLOCK) {
        part[threadIdx.x] = force[start + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < BLOCK; j++) {
            Force f = part[j];
#pragma unroll
            for (int k = 0; k < PER_THREAD; k++)
                push(u[k], x[k], y[k], z[k], f, eps2);
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int i = first + k * BLOCK;
        flow[i] = u[k][0];
        flow[i + places] = u[k][1];
        flow[i + 2 * places] = u[k][2];
    }
}

const int CELLS = 4096 * 4096, WIDE = 1024;

struct Mesh {
    const float *density, *viscosity, *sound, *xvel, *yvel;
    float per_dx, per_dy;
};

__device__ inline float rate_of(const Mesh &mesh, int i)
{
    float sound = mesh.sound[i], most = fmaxf(mesh.per_dx, mesh.per_dy);
    float fast = sound * sound + 2.0f * mesh.viscosity[i] / mesh.density[i];
    float u = mesh.xvel[i] * mesh.per_dx, v = mesh.yvel[i] * mesh.per_dy;
    return fmaxf(fast * most * most, fmaxf(u * u, v * v));
}

// Floats that are not negative are ordered like their bits.
__device__ inline void raise(float *most, float value)
{
    atomicMax(reinterpret_cast<int *>(most), __float_as_int(value));
}

__device__ inline void raise_by_block(float *most, float *shared, float mine)
{
    int tid = threadIdx.x;
    shared[tid] = mine;
    __syncthreads();
    for (int s = WIDE / 2; s > 0; s /= 2) {
        if (tid < s)
            shared[tid] = fmaxf(shared[tid], shared[tid + s]);
        __syncthreads();
    }
    if (tid == 0)
        raise(most, shared[0]);
}

__global__ void k200f(float *most, Mesh mesh, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells)
        raise(most, rate_of(mesh, i));
}

__global__ void __launch_bounds__(WIDE, 2) k200g(float *most, Mesh mesh, int cells)
{
    __shared__ float shared[WIDE];
    float mine = 0.0f;
    for (int i = blockIdx.x * WIDE + threadIdx.x; i < cells; i += gridDim.x * WIDE)
        mine = fmaxf(mine, rate_of(mesh, i));
    raise_by_block(most, shared, mine);
}

__global__ void __launch_bounds__(WIDE, 2) k200h(float *most, Mesh mesh, int cells)
{
    __shared__ float shared[WIDE];
    float mine = 0.0f;
    for (int i = blockIdx.x * WIDE + threadIdx.x; i < cells; i += gridDim.x * WIDE)
        mine = fmaxf(mine, rate_of(mesh, i));
    raise_by_block(most, shared, mine);
}

int main()
{
    const float eps = 0.05f;
    float *place = input<float>(3 * PLACES, 2001, 0.0, 4.0), *flow = output<float>(3 * PLACES);
    std::vector<float> at = on_host(place, 3 * PLACES);
    std::vector<Force> forces(FORCES);
    for (int j = 0; j < FORCES; j++) {
        auto draw = [&](int k, double low, double high) {
            return float(low + (high - low) * (scrambled(j * 6 + k, 2002) / 4294967296.0));
        };
        forces[j] = {draw(0, 0, 4), draw(1, 0, 4), draw(2, 0, 4), draw(3, -1, 1), draw(4, -1, 1), draw(5, -1, 1)};
    }
    Force *force = on_device(forces);

    // Every 97th number of the three components.
    const int every = 97, chosen = (3 * PLACES - 1) / every + 1;
    std::vector<float> want(chosen);
    for (int t = 0; t < chosen; t++) {
        int i = t * every % PLACES, component = t * every / PLACES;
        double sum = 0;
        for (const Force &f : forces) {
            double d[3] = {double(at[i]) - f.x, double(at[i + PLACES]) - f.y, double(at[i + 2 * PLACES]) - f.z};
            double q[3] = {f.fx, f.fy, f.fz};
            double squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], eps2 = double(eps) * eps;
            double far = squared + eps2, along = q[0] * d[0] + q[1] * d[1] + q[2] * d[2];
            sum += (q[component] * (squared + 2 * eps2) + along * d[component]) / (far * std::sqrt(far));
        }
        want[t] = float(sum);
    }
    float *picked = output<float>(chosen);
    auto stir = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(flow, 0xA5, 3 * PLACES * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, sizeof(float), flow, every * sizeof(float), sizeof(float), chosen,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
    };
    const int one_each = PLACES / BLOCK, four_each = PLACES / BLOCK / PER_THREAD;
    stir("k200a", [&] { k200a<<<one_each, BLOCK>>>(flow, place, force, PLACES, FORCES, eps); });
    stir("k200b", [&] { k200b<<<one_each, BLOCK>>>(flow, place, force, PLACES, FORCES, eps); });
    stir("k200c", [&] { k200c<<<one_each, BLOCK>>>(flow, place, force, PLACES, FORCES, eps); });
    stir("k200d", [&] { k200d<<<four_each, BLOCK>>>(flow, place, force, PLACES, FORCES, eps); });
    stir("k200e", [&] { k200e<<<four_each, BLOCK>>>(flow, place, force, PLACES, FORCES, eps); });

    float *xvel = input<float>(CELLS, 2006, -1.5, 1.5);
    const float gust = 9.0f; // in the last cell
    MUST(cudaMemcpy(xvel + CELLS - 1, &gust, sizeof(float), cudaMemcpyHostToDevice));
    Mesh mesh = {input<float>(CELLS, 2003, 0.2, 1.2), input<float>(CELLS, 2004, 0.0, 0.1),
                 input<float>(CELLS, 2005, 0.5, 1.5), xvel, input<float>(CELLS, 2007, -1.5, 1.5), 100.0f, 80.0f};
    std::vector<float> fastest(1, 0.0f);
    {
        std::vector<float> density = on_host(mesh.density, CELLS), viscosity = on_host(mesh.viscosity, CELLS);
        std::vector<float> sound = on_host(mesh.sound, CELLS);
        std::vector<float> u = on_host(mesh.xvel, CELLS), v = on_host(mesh.yvel, CELLS);
        for (int i = 0; i < CELLS; i++) {
            double fast = double(sound[i]) * sound[i] + 2.0 * viscosity[i] / density[i];
            double x = double(u[i]) * mesh.per_dx, y = double(v[i]) * mesh.per_dy;
            fastest[0] = std::fmax(fastest[0], float(std::fmax(fast * 100.0 * 100.0, std::fmax(x * x, y * y))));
        }
    }
    float *most = output<float>(1);
    auto limit = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(most, 0, sizeof(float)));
        launch();
        check(name, most, fastest, 1e-6);
    };
    limit("k200f", [&] { k200f<<<CELLS / 256, 256>>>(most, mesh, CELLS); });
    limit("k200g", [&] { k200g<<<64, WIDE>>>(most, mesh, CELLS); });
    limit("k200h", [&] { k200h<<<264, WIDE>>>(most, mesh, CELLS); });
    return 0;
}
