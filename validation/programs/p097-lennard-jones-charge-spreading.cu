// Short-range Lennard-Jones forces of atoms with neighbour lists in a periodic box, and the spreading of point charges
// onto a periodic grid with cubic B-splines.
#include "../harness.h"

#include <algorithm>
#include <numeric>

const int MAXN = 128;

struct Box {
    float lx, ly, lz, ix, iy, iz;
};

__device__ __forceinline__ void pair_force(float4 a, float4 b, Box box, float cut2, float lj1, float lj2, float4 &f)
{
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    dx -= box.lx * rintf(dx * box.ix);
    dy -= box.ly * rintf(dy * box.iy);
    dz -= box.lz * rintf(dz * box.iz);
    float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < cut2) {
        float inv = 1.0f / r2;
        float r6 = inv * inv * inv;
        float s = inv * r6 * (lj1 * r6 - lj2);
        f.x += dx * s;
        f.y += dy * s;
        f.z += dz * s;
    }
}

__global__ void k97a(int n, const float4 *__restrict__ pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = pos[i];
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    int mine = count[i];
    for (int k = 0; k < mine; k++) {
        int j = list[i * MAXN + k];
        pair_force(me, pos[j], box, cut2, lj1, lj2, f);
    }
    force[i] = f;
}

__global__ void k97b(int n, const float4 *__restrict__ pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = pos[i];
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    int mine = count[i];
    for (int k = 0; k < mine; k++) {
        int j = list[k * n + i];
        pair_force(me, pos[j], box, cut2, lj1, lj2, f);
    }
    force[i] = f;
}

__global__ void k97c(int n, const float4 *__restrict__ pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = pos[i];
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    int mine = count[i];
    for (int k = 0; k < mine; k++) {
        int j = list[k * n + i];
        pair_force(me, pos[j], box, cut2, lj1, lj2, f);
    }
    force[i] = f;
}

__global__ void k97d(int n, cudaTextureObject_t pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = tex1Dfetch<float4>(pos, i);
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    int mine = count[i];
    for (int k = 0; k < mine; k++) {
        int j = list[k * n + i];
        pair_force(me, tex1Dfetch<float4>(pos, j), box, cut2, lj1, lj2, f);
    }
    force[i] = f;
}

__global__ void k97e(int n, const float4 *__restrict__ pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = pos[i];
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    int mine = count[i];
    for (int k = 0; k < mine; k++) {
        int j = list[i * MAXN + k];
        pair_force(me, pos[j], box, cut2, lj1, lj2, f);
    }
    force[i] = f;
}

const int LANES = 8;

__global__ void k97f(int n, const float4 *__restrict__ pos, const int *__restrict__ count, const int *__restrict__ list,
                     Box box, float cut2, float lj1, float lj2, float4 *__restrict__ force)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    float4 f = {0.0f, 0.0f, 0.0f, 0.0f};
    if (i < n) {
        float4 me = pos[i];
        int mine = count[i];
        for (int k = lane; k < mine; k += LANES) {
            int j = list[i * MAXN + k];
            pair_force(me, pos[j], box, cut2, lj1, lj2, f);
        }
    }
    for (int offset = LANES / 2; offset > 0; offset /= 2) {
        f.x += __shfl_down_sync(0xffffffffu, f.x, offset, LANES);
        f.y += __shfl_down_sync(0xffffffffu, f.y, offset, LANES);
        f.z += __shfl_down_sync(0xffffffffu, f.z, offset, LANES);
    }
    if (i < n && lane == 0)
        force[i] = f;
}

__host__ __device__ inline void cubic(float x, float w[4])
{
    float y = 1.0f - x;
    w[0] = y * y * y * (1.0f / 6.0f);
    w[1] = 2.0f / 3.0f - x * x * (1.0f - 0.5f * x);
    w[2] = 2.0f / 3.0f - y * y * (1.0f - 0.5f * y);
    w[3] = x * x * x * (1.0f / 6.0f);
}

// x, y and z of an atom are in units of the grid, from 0 to g; w is its charge.
__global__ void k97g(int n, const float4 *__restrict__ atom, int g, float *__restrict__ grid)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= n)
        return;
    float4 p = atom[a];
    int bx = (int)p.x, by = (int)p.y, bz = (int)p.z;
    float wx[4], wy[4], wz[4];
    cubic(p.x - bx, wx);
    cubic(p.y - by, wy);
    cubic(p.z - bz, wz);
    for (int i = 0; i < 4; i++) {
        int x = bx + i >= g ? bx + i - g : bx + i;
        float vx = p.w * wx[i];
        for (int j = 0; j < 4; j++) {
            int y = by + j >= g ? by + j - g : by + j;
            float vy = vx * wy[j];
            for (int k = 0; k < 4; k++) {
                int z = bz + k >= g ? bz + k - g : bz + k;
                atomicAdd(&grid[(x * g + y) * g + z], vy * wz[k]);
            }
        }
    }
}

const int PER_BLOCK = 16;

// Sixteen threads for an atom, n is a multiple of PER_BLOCK.
__global__ void k97h(int n, const float4 *__restrict__ atom, int g, float *__restrict__ grid)
{
    __shared__ float4 s_atom[PER_BLOCK];
    __shared__ float s_weight[PER_BLOCK][3][4];
    int first = blockIdx.x * PER_BLOCK;
    int t = threadIdx.x;
    if (t < PER_BLOCK)
        s_atom[t] = atom[first + t];
    __syncthreads();
    if (t < PER_BLOCK * 3) {
        int which = t / 3, axis = t % 3;
        float4 p = s_atom[which];
        float c = axis == 0 ? p.x : axis == 1 ? p.y : p.z;
        float w[4];
        cubic(c - (int)c, w);
        for (int i = 0; i < 4; i++)
            s_weight[which][axis][i] = w[i];
    }
    __syncthreads();

    int which = t / 16, j = t % 16 / 4, k = t % 4;
    float4 p = s_atom[which];
    int bx = (int)p.x;
    int y = (int)p.y + j, z = (int)p.z + k;
    y = y >= g ? y - g : y;
    z = z >= g ? z - g : z;
    float v = p.w * s_weight[which][1][j] * s_weight[which][2][k];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int x = bx + i >= g ? bx + i - g : bx + i;
        atomicAdd(&grid[(x * g + y) * g + z], v * s_weight[which][0][i]);
    }
}

int main()
{
    const int NX = 64, NY = 64, NZ = 32, n = NX * NY * NZ;
    const float space = 1.0625f, cut = 2.5f, skin = 0.3f, cut2 = cut * cut, lj1 = 48.0f, lj2 = 24.0f;
    const Box box = {NX * space, NY * space, NZ * space, 1 / (NX * space), 1 / (NY * space), 1 / (NZ * space)};

    // A liquid: a lattice with every site moved a little, the atoms numbered by bricks of 4 x 4 x 4 sites.
    auto number = [&](int x, int y, int z) {
        int brick = ((z / 4) * (NY / 4) + y / 4) * (NX / 4) + x / 4;
        return brick * 64 + ((z % 4) * 4 + y % 4) * 4 + x % 4;
    };
    std::vector<float4> pos(n);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int i = number(x, y, z);
                auto move = [&](int axis) { return 0.2f * (scrambled(3ull * i + axis, 971) / 4294967296.0f - 0.5f); };
                pos[i] = {(x + 0.5f + move(0)) * space, (y + 0.5f + move(1)) * space, (z + 0.5f + move(2)) * space, 1.0f};
            }

    std::vector<int> count(n, 0), rows((size_t)n * MAXN, 0);
    std::vector<float4> want(n);
    const double reach2 = (cut + skin) * (cut + skin);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int i = number(x, y, z);
                double fx = 0.0, fy = 0.0, fz = 0.0;
                for (int oz = -3; oz <= 3; oz++)
                    for (int oy = -3; oy <= 3; oy++)
                        for (int ox = -3; ox <= 3; ox++) {
                            if ((ox | oy | oz) == 0 || ox * ox + oy * oy + oz * oz > 11)
                                continue;
                            int j = number((x + ox) & (NX - 1), (y + oy) & (NY - 1), (z + oz) & (NZ - 1));
                            float dx = pos[i].x - pos[j].x, dy = pos[i].y - pos[j].y, dz = pos[i].z - pos[j].z;
                            dx -= box.lx * (dx > 0.5f * box.lx ? 1.0f : dx < -0.5f * box.lx ? -1.0f : 0.0f);
                            dy -= box.ly * (dy > 0.5f * box.ly ? 1.0f : dy < -0.5f * box.ly ? -1.0f : 0.0f);
                            dz -= box.lz * (dz > 0.5f * box.lz ? 1.0f : dz < -0.5f * box.lz ? -1.0f : 0.0f);
                            double r2 = double(dx) * dx + double(dy) * dy + double(dz) * dz;
                            if (r2 > reach2 || std::fabs(r2 - cut2) < 2e-5 || count[i] == MAXN)
                                continue;
                            rows[(size_t)i * MAXN + count[i]++] = j;
                            if (r2 < cut2) {
                                double inv = 1.0 / r2, r6 = inv * inv * inv, s = inv * r6 * (lj1 * r6 - lj2);
                                fx += dx * s;
                                fy += dy * s;
                                fz += dz * s;
                            }
                        }
                want[i] = {float(fx), float(fy), float(fz), 0.0f};
            }

    // The same atoms in an order that has nothing to do with where they are.
    std::vector<int> place(n);
    std::iota(place.begin(), place.end(), 0);
    for (int i = n - 1; i > 0; i--)
        std::swap(place[i], place[scrambled(i, 972) % (unsigned)(i + 1)]);
    std::vector<float4> pos_mixed(n), want_mixed(n);
    std::vector<int> count_mixed(n), rows_mixed((size_t)n * MAXN, 0);
    for (int i = 0; i < n; i++) {
        int q = place[i];
        pos_mixed[q] = pos[i];
        want_mixed[q] = want[i];
        count_mixed[q] = count[i];
        for (int k = 0; k < count[i]; k++)
            rows_mixed[(size_t)q * MAXN + k] = place[rows[(size_t)i * MAXN + k]];
    }
    auto turned = [&](const std::vector<int> &r) {
        std::vector<int> t((size_t)n * MAXN);
        for (int i0 = 0; i0 < n; i0 += 64)
            for (int k = 0; k < MAXN; k++)
                for (int i = i0; i < i0 + 64; i++)
                    t[(size_t)k * n + i] = r[(size_t)i * MAXN + k];
        return t;
    };
    float4 *d_pos = on_device(pos), *d_pos_mixed = on_device(pos_mixed);
    int *d_count = on_device(count), *d_count_mixed = on_device(count_mixed);
    int *d_rows = on_device(rows), *d_rows_mixed = on_device(rows_mixed);
    int *d_columns = on_device(turned(rows)), *d_columns_mixed = on_device(turned(rows_mixed));
    float4 *force = output<float4>(n);

    auto flat = [&](const std::vector<float4> &v) {
        const float *p = reinterpret_cast<const float *>(v.data());
        return std::vector<float>(p, p + (size_t)4 * n);
    };
    std::vector<float> right = flat(want), right_mixed = flat(want_mixed);
    const float *got = reinterpret_cast<const float *>(force);
    auto again = [&] { MUST(cudaMemset(force, 0xA5, n * sizeof(float4))); };
    const int threads = 128, blocks = (n + threads - 1) / threads;

    k97a<<<blocks, threads>>>(n, d_pos_mixed, d_count_mixed, d_rows_mixed, box, cut2, lj1, lj2, force);
    check("k97a", got, right_mixed, 5e-3);
    again();
    k97b<<<blocks, threads>>>(n, d_pos_mixed, d_count_mixed, d_columns_mixed, box, cut2, lj1, lj2, force);
    check("k97b", got, right_mixed, 5e-3);
    again();
    k97c<<<blocks, threads>>>(n, d_pos, d_count, d_columns, box, cut2, lj1, lj2, force);
    check("k97c", got, right, 5e-3);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = d_pos;
    resource.res.linear.desc = cudaCreateChannelDesc<float4>();
    resource.res.linear.sizeInBytes = n * sizeof(float4);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    MUST(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    again();
    k97d<<<blocks, threads>>>(n, texture, d_count, d_columns, box, cut2, lj1, lj2, force);
    check("k97d", got, right, 5e-3);
    again();
    k97e<<<blocks, threads>>>(n, d_pos, d_count, d_rows, box, cut2, lj1, lj2, force);
    check("k97e", got, right, 5e-3);
    again();
    k97f<<<(n * LANES + threads - 1) / threads, threads>>>(n, d_pos, d_count, d_rows, box, cut2, lj1, lj2, force);
    check("k97f", got, right, 5e-3);

    // Charges on a grid of 96^3 points.
    const int g = 96;
    std::vector<float4> atom(n);
    for (int i = 0; i < n; i++)
        atom[i] = {std::min(pos[i].x * box.ix * g, g - 0.001f), std::min(pos[i].y * box.iy * g, g - 0.001f),
                   std::min(pos[i].z * box.iz * g, g - 0.001f), scrambled(i, 973) % 2 ? 0.8f : -0.4f};
    std::vector<double> sums((size_t)g * g * g, 0.0);
    for (int a = 0; a < n; a++) {
        float4 p = atom[a];
        int bx = (int)p.x, by = (int)p.y, bz = (int)p.z;
        float wx[4], wy[4], wz[4];
        cubic(p.x - bx, wx);
        cubic(p.y - by, wy);
        cubic(p.z - bz, wz);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < 4; k++)
                    sums[((size_t)((bx + i) % g) * g + (by + j) % g) * g + (bz + k) % g] += double(p.w) * wx[i] * wy[j] * wz[k];
    }
    std::vector<float> charge(sums.begin(), sums.end());
    float4 *d_atom = on_device(atom);
    float *grid = zeroed<float>(charge.size());
    k97g<<<blocks, threads>>>(n, d_atom, g, grid);
    check("k97g", grid, charge, 1e-4);
    MUST(cudaMemset(grid, 0, charge.size() * sizeof(float)));
    k97h<<<n / PER_BLOCK, PER_BLOCK * 16>>>(n, d_atom, g, grid);
    check("k97h", grid, charge, 1e-4);
    return 0;
}
