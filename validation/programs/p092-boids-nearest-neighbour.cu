// One step of a flock (each boid looks at the others within 5 units, through a uniform grid), and the nearest of many
// reference points in 16 dimensions for each of a set of query points.
#include "../harness.h"

#include <algorithm>
#include <functional>

struct Vec {
    float x, y, z;
};

__host__ __device__ inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__host__ __device__ inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__host__ __device__ inline float length(Vec a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }

const float half_side = 100.0f, rule1_distance = 5.0f, rule2_distance = 3.0f, rule3_distance = 5.0f;
const float rule1_scale = 0.01f, rule2_scale = 0.1f, rule3_scale = 0.1f, max_speed = 1.0f;
const float reach = 5.0f;

struct Cells {
    float inverse_width;
    int across;
};

__host__ __device__ inline int cell_of(float offset, Cells g)
{
    int c = int(floorf(offset * g.inverse_width));
    return c < 0 ? 0 : c >= g.across ? g.across - 1 : c;
}

struct Sums {
    Vec center, away, velocity;
    int near1, near3;
};

__host__ __device__ inline void look_at(Sums &s, Vec self, Vec pos, Vec vel)
{
    float distance = length(pos - self);
    if (distance < rule1_distance) {
        s.center = s.center + pos;
        s.near1++;
    }
    if (distance < rule2_distance)
        s.away = s.away - (pos - self);
    if (distance < rule3_distance) {
        s.velocity = s.velocity + vel;
        s.near3++;
    }
}

__host__ __device__ inline Vec new_velocity(const Sums &s, Vec pos, Vec vel)
{
    if (s.near1 > 0)
        vel = vel + (s.center * (1.0f / s.near1) - pos) * rule1_scale;
    vel = vel + s.away * rule2_scale;
    if (s.near3 > 0)
        vel = vel + s.velocity * (1.0f / s.near3) * rule3_scale;
    float speed = length(vel);
    if (speed > max_speed)
        vel = vel * (max_speed / speed);
    return vel;
}

__global__ void k92a(int n, Cells g, const int *start, const int *end, const int *boid, const Vec *pos, const Vec *vel,
                     Vec *out)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= n)
        return;
    Vec p = pos[me];
    int x0 = cell_of(p.x + half_side - reach, g), x1 = cell_of(p.x + half_side + reach, g);
    int y0 = cell_of(p.y + half_side - reach, g), y1 = cell_of(p.y + half_side + reach, g);
    int z0 = cell_of(p.z + half_side - reach, g), z1 = cell_of(p.z + half_side + reach, g);
    Sums s = {};
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                int cell = (z * g.across + y) * g.across + x;
                for (int j = start[cell]; j < end[cell]; j++) {
                    int other = boid[j];
                    if (other != me)
                        look_at(s, p, pos[other], vel[other]);
                }
            }
    out[me] = new_velocity(s, p, vel[me]);
}

__global__ void k92b(int n, Cells g, const int *start, const int *end, const Vec *pos, const Vec *vel, Vec *out)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= n)
        return;
    Vec p = pos[me];
    int x0 = cell_of(p.x + half_side - reach, g), x1 = cell_of(p.x + half_side + reach, g);
    int y0 = cell_of(p.y + half_side - reach, g), y1 = cell_of(p.y + half_side + reach, g);
    int z0 = cell_of(p.z + half_side - reach, g), z1 = cell_of(p.z + half_side + reach, g);
    Sums s = {};
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                int cell = (z * g.across + y) * g.across + x;
                for (int j = start[cell]; j < end[cell]; j++)
                    if (j != me)
                        look_at(s, p, pos[j], vel[j]);
            }
    out[me] = new_velocity(s, p, vel[me]);
}

__global__ void k92c(int n, Cells g, const int *start, const int *end, const Vec *pos, const Vec *vel, Vec *out)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= n)
        return;
    Vec p = pos[me];
    int x0 = cell_of(p.x + half_side - reach, g), x1 = cell_of(p.x + half_side + reach, g);
    int y0 = cell_of(p.y + half_side - reach, g), y1 = cell_of(p.y + half_side + reach, g);
    int z0 = cell_of(p.z + half_side - reach, g), z1 = cell_of(p.z + half_side + reach, g);
    Sums s = {};
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                int cell = (z * g.across + y) * g.across + x;
                for (int j = start[cell]; j < end[cell]; j++)
                    if (j != me)
                        look_at(s, p, pos[j], vel[j]);
            }
    out[me] = new_velocity(s, p, vel[me]);
}

__global__ void k92d(int n, Cells g, const int *start, const int *end, const float4 *pos, const float4 *vel, Vec *out)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= n)
        return;
    float4 p4 = pos[me];
    Vec p = {p4.x, p4.y, p4.z};
    int x0 = cell_of(p.x + half_side - reach, g), x1 = cell_of(p.x + half_side + reach, g);
    int y0 = cell_of(p.y + half_side - reach, g), y1 = cell_of(p.y + half_side + reach, g);
    int z0 = cell_of(p.z + half_side - reach, g), z1 = cell_of(p.z + half_side + reach, g);
    Sums s = {};
    for (int z = z0; z <= z1; z++)
        for (int y = y0; y <= y1; y++)
            for (int x = x0; x <= x1; x++) {
                int cell = (z * g.across + y) * g.across + x;
                for (int j = start[cell]; j < end[cell]; j++)
                    if (j != me) {
                        float4 q = pos[j], v = vel[j];
                        look_at(s, p, Vec{q.x, q.y, q.z}, Vec{v.x, v.y, v.z});
                    }
            }
    float4 v = vel[me];
    out[me] = new_velocity(s, p, Vec{v.x, v.y, v.z});
}

const int CELL_THREADS = 64;

// One block for each cell; the cells are as wide as the reach.
__global__ void k92e(Cells g, const int *start, const int *end, const float4 *pos, const float4 *vel, Vec *out)
{
    __shared__ float4 some_pos[CELL_THREADS], some_vel[CELL_THREADS];
    int cx = blockIdx.x, cy = blockIdx.y, cz = blockIdx.z;
    int cell = (cz * g.across + cy) * g.across + cx;
    int first = start[cell], last = end[cell];
    for (int base = first; base < last; base += CELL_THREADS) {
        int me = base + threadIdx.x;
        bool mine = me < last;
        float4 p4 = mine ? pos[me] : make_float4(0, 0, 0, 0);
        Vec p = {p4.x, p4.y, p4.z};
        Sums s = {};
        for (int z = max(cz - 1, 0); z <= min(cz + 1, g.across - 1); z++)
            for (int y = max(cy - 1, 0); y <= min(cy + 1, g.across - 1); y++) {
                int row = (z * g.across + y) * g.across;
                int from = start[row + max(cx - 1, 0)], to = end[row + min(cx + 1, g.across - 1)];
                for (int j = from; j < to; j += CELL_THREADS) {
                    int count = min(CELL_THREADS, to - j);
                    if (threadIdx.x < count) {
                        some_pos[threadIdx.x] = pos[j + threadIdx.x];
                        some_vel[threadIdx.x] = vel[j + threadIdx.x];
                    }
                    __syncthreads();
                    if (mine)
                        for (int k = 0; k < count; k++)
                            if (j + k != me) {
                                float4 q = some_pos[k], v = some_vel[k];
                                look_at(s, p, Vec{q.x, q.y, q.z}, Vec{v.x, v.y, v.z});
                            }
                    __syncthreads();
                }
            }
        if (mine) {
            float4 v = vel[me];
            out[me] = new_velocity(s, p, Vec{v.x, v.y, v.z});
        }
    }
}

const int SEARCH_THREADS = 256, DIM = 16, QUERIES = 8;

__device__ inline void nearest_of_block(float *dist, int *where)
{
    int t = threadIdx.x;
    __syncthreads();
    for (int s = SEARCH_THREADS / 2; s > 0; s >>= 1) {
        if (t < s && dist[t + s] < dist[t]) {
            dist[t] = dist[t + s];
            where[t] = where[t + s];
        }
        __syncthreads();
    }
}

__global__ void k92f(int dim, int n, const float *query, const float *ref, int *nearest)
{
    __shared__ float dist[SEARCH_THREADS];
    __shared__ int where[SEARCH_THREADS];
    int id = blockIdx.x;
    float best = INFINITY;
    int index = 0;
    for (int j = threadIdx.x; j < n; j += SEARCH_THREADS) {
        float sum = 0;
        for (int d = 0; d < dim; d++) {
            float diff = query[id * dim + d] - ref[j * dim + d];
            sum += diff * diff;
        }
        if (sum < best) {
            best = sum;
            index = j;
        }
    }
    dist[threadIdx.x] = best;
    where[threadIdx.x] = index;
    nearest_of_block(dist, where);
    if (threadIdx.x == 0)
        nearest[id] = where[0];
}

__global__ void k92g(int dim, int n, const float *query, const float *ref, int *nearest)
{
    __shared__ float dist[SEARCH_THREADS];
    __shared__ int where[SEARCH_THREADS];
    int id = blockIdx.x;
    float best = INFINITY;
    int index = 0;
    for (int j = threadIdx.x; j < n; j += SEARCH_THREADS) {
        float sum = 0;
        for (int d = 0; d < dim; d++) {
            float diff = query[id * dim + d] - ref[d * n + j];
            sum += diff * diff;
        }
        if (sum < best) {
            best = sum;
            index = j;
        }
    }
    dist[threadIdx.x] = best;
    where[threadIdx.x] = index;
    nearest_of_block(dist, where);
    if (threadIdx.x == 0)
        nearest[id] = where[0];
}

__global__ void __launch_bounds__(SEARCH_THREADS)
    k92h(int n, const float *__restrict__ query, const float *__restrict__ ref, int *__restrict__ nearest)
{
    __shared__ float4 q[QUERIES][DIM / 4];
    __shared__ float dist[SEARCH_THREADS];
    __shared__ int where[SEARCH_THREADS];
    int first = blockIdx.x * QUERIES;
    if (threadIdx.x < QUERIES * DIM / 4)
        (&q[0][0])[threadIdx.x] = reinterpret_cast<const float4 *>(query)[first * (DIM / 4) + threadIdx.x];
    __syncthreads();

    float best[QUERIES];
    int index[QUERIES];
#pragma unroll
    for (int k = 0; k < QUERIES; k++) {
        best[k] = INFINITY;
        index[k] = 0;
    }
    for (int j = threadIdx.x; j < n; j += SEARCH_THREADS) {
        float r[DIM];
#pragma unroll
        for (int d = 0; d < DIM; d++)
            r[d] = ref[d * n + j];
#pragma unroll
        for (int k = 0; k < QUERIES; k++) {
            float sum = 0;
#pragma unroll
            for (int d = 0; d < DIM / 4; d++) {
                float4 v = q[k][d];
                float a = v.x - r[4 * d], b = v.y - r[4 * d + 1], c = v.z - r[4 * d + 2], e = v.w - r[4 * d + 3];
                sum += a * a;
                sum += b * b;
                sum += c * c;
                sum += e * e;
            }
            if (sum < best[k]) {
                best[k] = sum;
                index[k] = j;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < QUERIES; k++) {
        dist[threadIdx.x] = best[k];
        where[threadIdx.x] = index[k];
        nearest_of_block(dist, where);
        if (threadIdx.x == 0)
            nearest[first + k] = where[0];
        __syncthreads();
    }
}

struct Sorted {
    std::vector<int> start, end, boid;
};

static Sorted sort_into_cells(const std::vector<Vec> &pos, Cells g)
{
    int cells = g.across * g.across * g.across;
    Sorted s;
    std::vector<int> of(pos.size()), next(cells + 1, 0);
    for (size_t i = 0; i < pos.size(); i++) {
        of[i] = (cell_of(pos[i].z + half_side, g) * g.across + cell_of(pos[i].y + half_side, g)) * g.across +
                cell_of(pos[i].x + half_side, g);
        next[of[i] + 1]++;
    }
    for (int c = 0; c < cells; c++)
        next[c + 1] += next[c];
    s.start.assign(next.begin(), next.end() - 1);
    s.end.assign(next.begin() + 1, next.end());
    s.boid.resize(pos.size());
    std::vector<int> at = s.start;
    for (size_t i = 0; i < pos.size(); i++)
        s.boid[at[of[i]]++] = int(i);
    return s;
}

static std::vector<float> flat(const std::vector<Vec> &v)
{
    std::vector<float> f(v.size() * 3);
    for (size_t i = 0; i < v.size(); i++) {
        f[3 * i] = v[i].x;
        f[3 * i + 1] = v[i].y;
        f[3 * i + 2] = v[i].z;
    }
    return f;
}

int main()
{
    const int n = 400000;
    std::vector<Vec> pos(n), vel(n);
    // Positions are multiples of 1/64.
    auto place = [](int i, unsigned seed) { return float(int(scrambled(i, seed) % 12800) - 6400) / 64.0f; };
    auto speed = [](int i, unsigned seed) { return float(scrambled(i, seed) / 4294967296.0 - 0.5); };
    for (int i = 0; i < n; i++) {
        pos[i] = {place(i, 921), place(i, 922), place(i, 923)};
        vel[i] = {speed(i, 924), speed(i, 925), speed(i, 926)};
    }
    const Cells wide = {1.0f / 10.0f, 20}, narrow = {1.0f / 5.0f, 40};
    Sorted in_wide = sort_into_cells(pos, wide), in_narrow = sort_into_cells(pos, narrow);

    auto gather = [&](const std::vector<Vec> &v, const Sorted &s) {
        std::vector<Vec> r(n);
        for (int i = 0; i < n; i++)
            r[i] = v[s.boid[i]];
        return r;
    };
    auto four = [&](const std::vector<Vec> &v) {
        std::vector<float4> r(n);
        for (int i = 0; i < n; i++)
            r[i] = make_float4(v[i].x, v[i].y, v[i].z, 0.0f);
        return r;
    };
    std::vector<Vec> pos_wide = gather(pos, in_wide), vel_wide = gather(vel, in_wide);
    std::vector<Vec> pos_narrow = gather(pos, in_narrow), vel_narrow = gather(vel, in_narrow);

    std::vector<Vec> next(n);
    for (int i = 0; i < n; i++) {
        Vec p = pos_narrow[i];
        int cx = cell_of(p.x + half_side, narrow), cy = cell_of(p.y + half_side, narrow);
        int cz = cell_of(p.z + half_side, narrow), m = narrow.across;
        Sums s = {};
        for (int z = std::max(cz - 1, 0); z <= std::min(cz + 1, m - 1); z++)
            for (int y = std::max(cy - 1, 0); y <= std::min(cy + 1, m - 1); y++) {
                int row = (z * m + y) * m;
                int to = in_narrow.end[row + std::min(cx + 1, m - 1)];
                for (int j = in_narrow.start[row + std::max(cx - 1, 0)]; j < to; j++) {
                    Vec d = pos_narrow[j] - p;
                    if (j != i && d.x * d.x + d.y * d.y + d.z * d.z < 26.0f)
                        look_at(s, p, pos_narrow[j], vel_narrow[j]);
                }
            }
        next[in_narrow.boid[i]] = new_velocity(s, p, vel_narrow[i]);
    }
    std::vector<float> want = flat(next), want_wide = flat(gather(next, in_wide)), want_narrow = flat(gather(next, in_narrow));

    int *start_w = on_device(in_wide.start), *end_w = on_device(in_wide.end), *boid_w = on_device(in_wide.boid);
    int *start_n = on_device(in_narrow.start), *end_n = on_device(in_narrow.end);
    Vec *pos_d = on_device(pos), *vel_d = on_device(vel);
    Vec *pos_w = on_device(pos_wide), *vel_w = on_device(vel_wide);
    Vec *pos_n = on_device(pos_narrow), *vel_n = on_device(vel_narrow);
    float4 *pos_4 = on_device(four(pos_narrow)), *vel_4 = on_device(four(vel_narrow));
    Vec *out = output<Vec>(n);
    auto flock = [&](const char *name, const std::vector<float> &expected, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(Vec)));
        launch();
        check(name, reinterpret_cast<float *>(out), expected, 2e-5);
    };
    const int block = 128, grid = (n + block - 1) / block;
    flock("k92a", want, [&] { k92a<<<grid, block>>>(n, wide, start_w, end_w, boid_w, pos_d, vel_d, out); });
    flock("k92b", want_wide, [&] { k92b<<<grid, block>>>(n, wide, start_w, end_w, pos_w, vel_w, out); });
    flock("k92c", want_narrow, [&] { k92c<<<grid, block>>>(n, narrow, start_n, end_n, pos_n, vel_n, out); });
    flock("k92d", want_narrow, [&] { k92d<<<grid, block>>>(n, narrow, start_n, end_n, pos_4, vel_4, out); });
    dim3 cells(narrow.across, narrow.across, narrow.across);
    flock("k92e", want_narrow, [&] { k92e<<<cells, CELL_THREADS>>>(narrow, start_n, end_n, pos_4, vel_4, out); });

    const int queries = 4096, refs = 32768;
    float *query = input<float>((size_t)queries * DIM, 927, 0.0, 1.0), *ref = input<float>((size_t)refs * DIM, 928, 0.0, 1.0);
    std::vector<float> q = on_host(query, (size_t)queries * DIM), r = on_host(ref, (size_t)refs * DIM);
    std::vector<float> by_dim(r.size());
    for (int j = 0; j < refs; j++)
        for (int d = 0; d < DIM; d++)
            by_dim[(size_t)d * refs + j] = r[(size_t)j * DIM + d];
    float *ref_by_dim = on_device(by_dim);
    auto distance = [&](int i, int j) {
        float sum = 0;
        for (int d = 0; d < DIM; d++) {
            float diff = q[(size_t)i * DIM + d] - r[(size_t)j * DIM + d];
            sum += diff * diff;
        }
        return sum;
    };
    // Every 16th query is searched here; what the first launch finds for the others is what the later ones must find.
    std::vector<float> least(queries, -1.0f);
    for (int i = 0; i < queries; i += 16) {
        float best = INFINITY;
        for (int j = 0; j < refs; j++)
            best = std::min(best, distance(i, j));
        least[i] = best;
    }
    int *nearest = output<int>(queries);
    auto search = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(nearest, 0xA5, queries * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<int> found = on_host(nearest, queries);
        std::vector<float> got(queries);
        for (int i = 0; i < queries; i++) {
            got[i] = found[i] >= 0 && found[i] < refs ? distance(i, found[i]) : -2.0f;
            if (least[i] < 0 && got[i] >= 0)
                least[i] = got[i];
        }
        float *on_dev = on_device(got);
        check(name, on_dev, least, 1e-5);
        MUST(cudaFree(on_dev));
    };
    search("k92f", [&] { k92f<<<queries, SEARCH_THREADS>>>(DIM, refs, query, ref, nearest); });
    search("k92g", [&] { k92g<<<queries, SEARCH_THREADS>>>(DIM, refs, query, ref_by_dim, nearest); });
    search("k92h", [&] { k92h<<<queries / QUERIES, SEARCH_THREADS>>>(refs, query, ref_by_dim, nearest); });
    return 0;
}
