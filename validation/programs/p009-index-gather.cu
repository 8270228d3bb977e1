// Reordering through an index array: particles brought into a new order, and a field rearranged into bricks of cells.
#include "../harness.h"

#include <numeric>
#include <utility>

struct ParticleArrays {
    float *x, *y, *z, *mass;
    float *vx, *vy, *vz, *charge;
};

struct Particle {
    float4 position; // mass in w
    float4 velocity; // charge in w
};

__global__ void k09a(ParticleArrays from, ParticleArrays to, const int *__restrict__ order, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int source = order[i];
    float x = from.x[source], y = from.y[source], z = from.z[source], mass = from.mass[source];
    float vx = from.vx[source], vy = from.vy[source], vz = from.vz[source], charge = from.charge[source];
    to.x[i] = x;
    to.y[i] = y;
    to.z[i] = z;
    to.mass[i] = mass;
    to.vx[i] = vx;
    to.vy[i] = vy;
    to.vz[i] = vz;
    to.charge[i] = charge;
}

__global__ void k09b(const Particle *from, Particle *to, const int *__restrict__ order, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int source = order[i];
    float4 position = from[source].position;
    float4 velocity = from[source].velocity;
    to[i].position = position;
    to[i].velocity = velocity;
}

__global__ void k09c(const float *__restrict__ field, const int *__restrict__ cell, float *__restrict__ bricks, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        bricks[i] = field[cell[i]];
}

// n is a multiple of 1024.
__global__ void k09d(const float *__restrict__ field, const int *__restrict__ cell, float *__restrict__ bricks)
{
    int i = blockIdx.x * 1024 + threadIdx.x;
    int c0 = cell[i], c1 = cell[i + 256], c2 = cell[i + 512], c3 = cell[i + 768];
    float f0 = field[c0], f1 = field[c1], f2 = field[c2], f3 = field[c3];
    bricks[i] = f0;
    bricks[i + 256] = f1;
    bricks[i + 512] = f2;
    bricks[i + 768] = f3;
}

__global__ void k09e(const float *__restrict__ field, const int4 *__restrict__ cell, float4 *__restrict__ bricks)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int4 c = cell[i];
    float4 f;
    f.x = field[c.x];
    f.y = field[c.y];
    f.z = field[c.z];
    f.w = field[c.w];
    bricks[i] = f;
}

static void particles()
{
    const int n = 6000000;
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; i--)
        std::swap(order[i], order[(unsigned)(((unsigned long long)scrambled(i, 16) * (unsigned)(i + 1)) >> 32)]);
    int *d_order = on_device(order);

    float *from[8], *to[8];
    for (int c = 0; c < 8; c++) {
        from[c] = input<float>(n, 17 + c, -1.0, 1.0);
        to[c] = output<float>(n);
    }
    std::vector<float> records(8 * (size_t)n), want(n);
    for (int c = 0; c < 8; c++) {
        std::vector<float> column = on_host(from[c], n);
        for (int i = 0; i < n; i++)
            records[8 * (size_t)i + c] = column[i];
    }
    float *d_records = on_device(records), *d_moved = output<float>(records.size());

    ParticleArrays a = {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]};
    ParticleArrays b = {to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]};
    k09a<<<(n + 255) / 256, 256>>>(a, b, d_order, n);
    for (int c = 0; c < 8; c++) {
        for (int i = 0; i < n; i++)
            want[i] = records[8 * (size_t)order[i] + c];
        check("k09a", to[c], want, 0);
    }

    k09b<<<(n + 255) / 256, 256>>>((const Particle *)d_records, (Particle *)d_moved, d_order, n);
    want.resize(records.size());
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 8; c++)
            want[8 * (size_t)i + c] = records[8 * (size_t)order[i] + c];
    check("k09b", d_moved, want, 0);

    MUST(cudaFree(d_order));
    MUST(cudaFree(d_records));
    MUST(cudaFree(d_moved));
    for (int c = 0; c < 8; c++) {
        MUST(cudaFree(from[c]));
        MUST(cudaFree(to[c]));
    }
}

static void relayout()
{
    // bricks of 8 x 4 x 4 cells
    const int nx = 400, ny = 320, nz = 384, n = nx * ny * nz;
    std::vector<int> cell(n);
    int i = 0;
    for (int bz = 0; bz < nz; bz += 4)
        for (int by = 0; by < ny; by += 4)
            for (int bx = 0; bx < nx; bx += 8)
                for (int z = bz; z < bz + 4; z++)
                    for (int y = by; y < by + 4; y++)
                        for (int x = bx; x < bx + 8; x++)
                            cell[i++] = (z * ny + y) * nx + x;
    int *d_cell = on_device(cell);
    float *field = input<float>(n, 25, 0.0, 1.0);
    float *bricks = output<float>(n);
    std::vector<float> source = on_host(field, n), want(n);
    for (int k = 0; k < n; k++)
        want[k] = source[cell[k]];

    k09c<<<(n + 255) / 256, 256>>>(field, d_cell, bricks, n);
    check("k09c", bricks, want, 0);
    MUST(cudaMemset(bricks, 0xA5, n * sizeof(float)));
    k09d<<<n / 1024, 256>>>(field, d_cell, bricks);
    check("k09d", bricks, want, 0);
    MUST(cudaMemset(bricks, 0xA5, n * sizeof(float)));
    k09e<<<n / 1024, 256>>>(field, (const int4 *)d_cell, (float4 *)bricks);
    check("k09e", bricks, want, 0);
}

int main()
{
    particles();
    relayout();
    return 0;
}
