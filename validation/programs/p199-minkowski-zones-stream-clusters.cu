// Minkowski distances of order 4 between the rows of A and the columns of B, zone volumes added up at the nodes of a
// mesh, and what the points of a stream clustering would gain if they moved to a candidate centre.
#include "../harness.h"

#include <functional>

const int M = 2048, P = 2048, K = 256;

__global__ void k199a(float *c, const float *a, const float *b, int m, int p, int k, float order)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < p) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += powf(fabsf(a[row * k + i] - b[i * p + column]), order);
        c[row * p + column] = powf(sum, 1.0f / order);
    }
}

__global__ void k199b(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int p,
                      int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < p) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) {
            float d = a[row * k + i] - b[i * p + column];
            float s = d * d;
            sum += s * s;
        }
        c[row * p + column] = sqrtf(sqrtf(sum));
    }
}

const int TILE = 32;

__global__ void k199c(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int p,
                      int k)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        as[ty][tx] = a[row * k + t + tx];
        bs[ty][tx] = b[(t + ty) * p + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            float d = as[ty][i] - bs[i][tx];
            float s = d * d;
            sum += s * s;
        }
        __syncthreads();
    }
    c[row * p + column] = sqrtf(sqrtf(sum));
}

const int BIG = 128, DEPTH = 8;

__global__ void __launch_bounds__(256, 2) k199d(float *__restrict__ c, const float *__restrict__ a,
                                                const float *__restrict__ b, int p, int k)
{
    __shared__ __align__(16) float as[2][DEPTH][BIG + 4], bs[2][DEPTH][BIG];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int ra = t / 2, ca = t % 2 * 4, rb = t / 32, cb = t % 32 * 4;
    const float *pa = a + (blockIdx.y * BIG + ra) * k + ca;
    const float *pb = b + rb * p + blockIdx.x * BIG + cb;
    float sum[8][8] = {};

    float4 na = *reinterpret_cast<const float4 *>(pa), nb = *reinterpret_cast<const float4 *>(pb);
    int stage = 0;
    for (int done = 0; done < k; done += DEPTH) {
        as[stage][ca][ra] = na.x;
        as[stage][ca + 1][ra] = na.y;
        as[stage][ca + 2][ra] = na.z;
        as[stage][ca + 3][ra] = na.w;
        *reinterpret_cast<float4 *>(&bs[stage][rb][cb]) = nb;
        __syncthreads();
        if (done + DEPTH < k) {
            pa += DEPTH;
            pb += DEPTH * p;
            na = *reinterpret_cast<const float4 *>(pa);
            nb = *reinterpret_cast<const float4 *>(pb);
        }
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float x[8], y[8];
            *reinterpret_cast<float4 *>(x) = *reinterpret_cast<const float4 *>(&as[stage][i][ty * 4]);
            *reinterpret_cast<float4 *>(x + 4) = *reinterpret_cast<const float4 *>(&as[stage][i][64 + ty * 4]);
            *reinterpret_cast<float4 *>(y) = *reinterpret_cast<const float4 *>(&bs[stage][i][tx * 4]);
            *reinterpret_cast<float4 *>(y + 4) = *reinterpret_cast<const float4 *>(&bs[stage][i][64 + tx * 4]);
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int q = 0; q < 8; q++) {
                    float d = x[r] - y[q];
                    float s = d * d;
                    sum[r][q] += s * s;
                }
        }
        stage ^= 1;
    }
#pragma unroll
    for (int r = 0; r < 8; r++) {
        float *to = c + (blockIdx.y * BIG + r / 4 * 64 + ty * 4 + r % 4) * p + blockIdx.x * BIG + tx * 4;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *s = sum[r] + half * 4;
            *reinterpret_cast<float4 *>(to + half * 64) =
                make_float4(sqrtf(sqrtf(s[0])), sqrtf(sqrtf(s[1])), sqrtf(sqrtf(s[2])), sqrtf(sqrtf(s[3])));
        }
    }
}

const int NODES = 320, ZONES = NODES - 1;

__global__ void k199e(float *sum, const float *volume, int zones)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x < zones && y < zones) {
        int nodes = zones + 1, at = (z * nodes + y) * nodes + x;
        float part = 0.125f * volume[(z * zones + y) * zones + x];
        atomicAdd(&sum[at], part);
        atomicAdd(&sum[at + 1], part);
        atomicAdd(&sum[at + nodes], part);
        atomicAdd(&sum[at + nodes + 1], part);
        atomicAdd(&sum[at + nodes * nodes], part);
        atomicAdd(&sum[at + nodes * nodes + 1], part);
        atomicAdd(&sum[at + nodes * nodes + nodes], part);
        atomicAdd(&sum[at + nodes * nodes + nodes + 1], part);
    }
}

const int CHUNK = 32; // planes of a block

__global__ void k199f(float *__restrict__ sum, const float *__restrict__ volume)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * CHUNK;
    bool left = x > 0, right = x < ZONES, up = y > 0, down = y < ZONES;
    const int plane = ZONES * ZONES, corner = (y - 1) * ZONES + x - 1;
    auto around = [&](int level) {
        int at = level * plane + corner;
        float a = left && up ? volume[at] : 0.0f;
        float b = right && up ? volume[at + 1] : 0.0f;
        float c = left && down ? volume[at + ZONES] : 0.0f;
        float d = right && down ? volume[at + ZONES + 1] : 0.0f;
        return (a + b) + (c + d);
    };
    float below = z > 0 ? around(z - 1) : 0.0f;
#pragma unroll 4
    for (int i = 0; i < CHUNK; i++) {
        float above = z + i < ZONES ? around(z + i) : 0.0f;
        sum[((z + i) * NODES + y) * NODES + x] = 0.125f * (below + above);
        below = above;
    }
}

const int POINTS = 1 << 20, DIMS = 64, CANDIDATE = 123457;

__global__ void k199g(float *gain, const float *coord, const float *weight, const float *cost, int points, int dims,
                      int candidate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) {
        float distance = 0.0f;
        for (int d = 0; d < dims; d++) {
            float difference = coord[(size_t)i * dims + d] - coord[(size_t)candidate * dims + d];
            distance += difference * difference;
        }
        gain[i] = fmaxf(cost[i] - distance * weight[i], 0.0f);
    }
}

__global__ void k199h(float *__restrict__ gain, const float *__restrict__ coord, const float *__restrict__ weight,
                      const float *__restrict__ cost, int points, int candidate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) {
        float distance = 0.0f;
#pragma unroll 16
        for (int d = 0; d < DIMS; d++) {
            float difference = coord[(size_t)d * points + i] - coord[(size_t)d * points + candidate];
            distance += difference * difference;
        }
        gain[i] = fmaxf(cost[i] - distance * weight[i], 0.0f);
    }
}

__global__ void fill_turned(float *turned, const float *coord, int points, int dims)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points)
        turned[(size_t)blockIdx.y * points + i] = coord[(size_t)i * dims + blockIdx.y];
}

// Compares every step-th piece of so many numbers.
struct Samples {
    size_t piece, step, count;
    float *picked;
    std::vector<float> want;

    Samples(size_t total, size_t piece, size_t step)
        : piece(piece), step(step), count((total / piece - 1) / step + 1), picked(output<float>(count * piece)),
          want(count * piece)
    {
    }
    void compare(const char *name, const float *got, double tolerance)
    {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = piece * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, got, step * bytes, bytes, count, cudaMemcpyDeviceToDevice));
        check(name, picked, want, tolerance);
    }
};

double drawn(size_t i, unsigned seed, double low, double high)
{
    return float(low + (high - low) * (scrambled(i, seed) / 4294967296.0));
}

int main()
{
    float *a = input<float>(M * K, 1991, -1.0, 1.0), *b = input<float>(K * P, 1992, -1.0, 1.0);
    float *c = output<float>(M * P);
    std::vector<float> ha = on_host(a, M * K), hb = on_host(b, K * P);
    Samples rows((size_t)M * P, P, 31);
    for (size_t t = 0; t < rows.count; t++) {
        std::vector<double> sum(P, 0.0);
        for (int i = 0; i < K; i++)
            for (int j = 0; j < P; j++) {
                double d = double(ha[t * 31 * K + i]) - hb[i * P + j];
                sum[j] += d * d * d * d;
            }
        for (int j = 0; j < P; j++)
            rows.want[t * P + j] = float(std::sqrt(std::sqrt(sum[j])));
    }
    auto distances = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(c, 0xA5, M * P * sizeof(float)));
        launch();
        rows.compare(name, c, 2e-5);
    };
    dim3 small(16, 16), by_small(P / 16, M / 16), square(TILE, TILE), by_tile(P / TILE, M / TILE);
    distances("k199a", [&] { k199a<<<by_small, small>>>(c, a, b, M, P, K, 4.0f); });
    distances("k199b", [&] { k199b<<<by_small, small>>>(c, a, b, M, P, K); });
    distances("k199c", [&] { k199c<<<by_tile, square>>>(c, a, b, M, P, K); });
    distances("k199d", [&] { k199d<<<dim3(P / BIG, M / BIG), 256>>>(c, a, b, P, K); });

    const size_t zones = (size_t)ZONES * ZONES * ZONES, nodes = (size_t)NODES * NODES * NODES;
    float *volume = input<float>(zones, 1993, 0.5, 1.5), *sum = output<float>(nodes);
    Samples corners(nodes, 1, 211);
    for (size_t t = 0; t < corners.count; t++) {
        size_t at = t * 211;
        int x = at % NODES, y = at / NODES % NODES, z = at / NODES / NODES;
        double total = 0;
        for (int dz = z - 1; dz <= z; dz++)
            for (int dy = y - 1; dy <= y; dy++)
                for (int dx = x - 1; dx <= x; dx++)
                    if (dx >= 0 && dx < ZONES && dy >= 0 && dy < ZONES && dz >= 0 && dz < ZONES)
                        total += 0.125 * drawn(((size_t)dz * ZONES + dy) * ZONES + dx, 1993, 0.5, 1.5);
        corners.want[t] = float(total);
    }
    auto accumulate = [&](const char *name, int start, std::function<void()> launch) {
        MUST(cudaMemset(sum, start, nodes * sizeof(float)));
        launch();
        corners.compare(name, sum, 1e-5);
    };
    dim3 patch(32, 8), by_zone((ZONES + 31) / 32, (ZONES + 7) / 8, ZONES), by_node(NODES / 32, NODES / 8, NODES / CHUNK);
    accumulate("k199e", 0, [&] { k199e<<<by_zone, patch>>>(sum, volume, ZONES); });
    accumulate("k199f", 0xA5, [&] { k199f<<<by_node, patch>>>(sum, volume); });

    float *coord = input<float>((size_t)POINTS * DIMS, 1994, 0.0, 1.0), *turned = output<float>((size_t)POINTS * DIMS);
    float *weight = input<float>(POINTS, 1995, 0.5, 1.5), *cost = input<float>(POINTS, 1996, 0.0, 30.0);
    float *gain = output<float>(POINTS);
    fill_turned<<<dim3(POINTS / 256, DIMS), 256>>>(turned, coord, POINTS, DIMS);
    Samples points(POINTS, 1, 13);
    std::vector<double> centre(DIMS);
    for (int d = 0; d < DIMS; d++)
        centre[d] = drawn((size_t)CANDIDATE * DIMS + d, 1994, 0.0, 1.0);
    for (size_t t = 0; t < points.count; t++) {
        size_t i = t * 13;
        double distance = 0;
        for (int d = 0; d < DIMS; d++) {
            double difference = drawn(i * DIMS + d, 1994, 0.0, 1.0) - centre[d];
            distance += difference * difference;
        }
        points.want[t] =
            float(std::fmax(drawn(i, 1996, 0.0, 30.0) - distance * drawn(i, 1995, 0.5, 1.5), 0.0));
    }
    auto moving = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(gain, 0xA5, POINTS * sizeof(float)));
        launch();
        points.compare(name, gain, 1e-4);
    };
    const int blocks = POINTS / 256;
    moving("k199g", [&] { k199g<<<blocks, 256>>>(gain, coord, weight, cost, POINTS, DIMS, CANDIDATE); });
    moving("k199h", [&] { k199h<<<blocks, 256>>>(gain, turned, weight, cost, POINTS, CANDIDATE); });
    return 0;
}
