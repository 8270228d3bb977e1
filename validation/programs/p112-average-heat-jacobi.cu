// Three grid sweeps: the seven-point average of a 512 x 512 x 128 grid, one step of the heat of a chip (temperature and
// power on 8192 x 4096 cells), and a Jacobi sweep with its residual on 8192 x 4096 cells.
#include "../harness.h"

#include <functional>

const int NX = 512, NY = 512, NZ = 128, PLANES = 32;
const int COLS = 8192, LINES = 4096, STRIP = 32;

__device__ inline bool inside(int x, int y, int z, int nx, int ny, int nz)
{
    return x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1;
}

__global__ void k112a(float *out, const float *in, int nx, int ny, int nz, float c0, float c1)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z;
    if (y >= ny || z >= nz)
        return;
    int at = (z * ny + y) * nx + x;
    float v = in[at];
    if (inside(x, y, z, nx, ny, nz))
        v = c0 * v + c1 * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
    out[at] = v;
}

__global__ void k112b(float *out, const float *in, int nx, int ny, int nz, float c0, float c1)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= nx || y >= ny)
        return;
    int at = (z * ny + y) * nx + x;
    float v = in[at];
    if (inside(x, y, z, nx, ny, nz))
        v = c0 * v + c1 * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
    out[at] = v;
}

__global__ void k112c(float *__restrict__ out, const float *__restrict__ in, int nx, int ny, int nz, float c0, float c1)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int first = blockIdx.z * PLANES;
    if (x >= nx || y >= ny)
        return;
    const int plane = nx * ny;
    bool edge = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    int at = first * plane + y * nx + x;
    float below = first > 0 ? in[at - plane] : 0.0f;
    float here = in[at];
#pragma unroll 4
    for (int z = first; z < first + PLANES; z++) {
        float above = z < nz - 1 ? in[at + plane] : 0.0f;
        float v = here;
        if (!edge && z > 0 && z < nz - 1)
            v = c0 * here + c1 * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above);
        out[at] = v;
        below = here;
        here = above;
        at += plane;
    }
}

// Blocks of 32 x 8 threads; the planes alternate between two tiles.
__global__ void k112d(float *__restrict__ out, const float *__restrict__ in, int nx, int ny, int nz, float c0, float c1)
{
    __shared__ float tile[2][10][34];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    int first = blockIdx.z * PLANES;
    const int plane = nx * ny;
    bool edge = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    int at = first * plane + y * nx + x;
    float below = first > 0 ? in[at - plane] : 0.0f;
    float here = in[at];
#pragma unroll 4
    for (int z = first; z < first + PLANES; z++) {
        float(*now)[34] = tile[z & 1];
        float above = z < nz - 1 ? in[at + plane] : 0.0f;
        now[ty][tx] = here;
        if (threadIdx.x == 0 && x > 0)
            now[ty][0] = in[at - 1];
        if (threadIdx.x == 31 && x < nx - 1)
            now[ty][33] = in[at + 1];
        if (threadIdx.y == 0 && y > 0)
            now[0][tx] = in[at - nx];
        if (threadIdx.y == 7 && y < ny - 1)
            now[9][tx] = in[at + nx];
        __syncthreads();
        float v = here;
        if (!edge && z > 0 && z < nz - 1)
            v = c0 * here +
                c1 * (now[ty][tx - 1] + now[ty][tx + 1] + now[ty - 1][tx] + now[ty + 1][tx] + below + above);
        out[at] = v;
        below = here;
        here = above;
        at += plane;
    }
}

__global__ void k112e(float *out, const float *temp, const float *power, int cols, int lines, float cap, float rx,
                      float ry, float rz, float step)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= lines)
        return;
    int at = y * cols + x;
    int north = y > 0 ? at - cols : at, south = y < lines - 1 ? at + cols : at;
    int west = x > 0 ? at - 1 : at, east = x < cols - 1 ? at + 1 : at;
    float t = temp[at];
    out[at] = t + step / cap *
                      (power[at] + (temp[south] + temp[north] - 2.0 * t) / ry +
                       (temp[east] + temp[west] - 2.0 * t) / rx + (80.0 - t) / rz);
}

__global__ void k112f(float *out, const float *temp, const float *power, int cols, int lines, float gain, float gx,
                      float gy, float gz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= lines)
        return;
    int at = y * cols + x;
    int north = y > 0 ? at - cols : at, south = y < lines - 1 ? at + cols : at;
    int west = x > 0 ? at - 1 : at, east = x < cols - 1 ? at + 1 : at;
    float t = temp[at];
    out[at] = t + gain * (power[at] + (temp[south] + temp[north] - 2.0f * t) * gy +
                          (temp[east] + temp[west] - 2.0f * t) * gx + (80.0f - t) * gz);
}

__device__ inline float heated(float t, float p, float n, float s, float w, float e, float gain, float gx, float gy,
                               float gz)
{
    return t + gain * (p + (s + n - 2.0f * t) * gy + (e + w - 2.0f * t) * gx + (80.0f - t) * gz);
}

__global__ void k112g(float *__restrict__ out, const float *__restrict__ temp, const float *__restrict__ power, int cols,
                      int lines, float gain, float gx, float gy, float gz)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= lines)
        return;
    int at = y * cols + x;
    int north = y > 0 ? at - cols : at, south = y < lines - 1 ? at + cols : at;
    float4 t = *reinterpret_cast<const float4 *>(&temp[at]);
    float4 n = *reinterpret_cast<const float4 *>(&temp[north]);
    float4 s = *reinterpret_cast<const float4 *>(&temp[south]);
    float4 p = *reinterpret_cast<const float4 *>(&power[at]);
    float west = x > 0 ? temp[at - 1] : t.x, east = x + 4 < cols ? temp[at + 4] : t.w;
    float4 v;
    v.x = heated(t.x, p.x, n.x, s.x, west, t.y, gain, gx, gy, gz);
    v.y = heated(t.y, p.y, n.y, s.y, t.x, t.z, gain, gx, gy, gz);
    v.z = heated(t.z, p.z, n.z, s.z, t.y, t.w, gain, gx, gy, gz);
    v.w = heated(t.w, p.w, n.w, s.w, t.z, east, gain, gx, gy, gz);
    *reinterpret_cast<float4 *>(&out[at]) = v;
}

// Edge cells stay as they are. The residual is the sum of the squared changes.
__global__ void k112h(float *out, const float *in, float *residual, int cols, int lines)
{
    __shared__ float part[1024];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    int t = threadIdx.y * 32 + threadIdx.x;
    int at = y * cols + x;
    float old = in[at], v = old;
    if (x > 0 && x < cols - 1 && y > 0 && y < lines - 1)
        v = 0.25f * (in[at - 1] + in[at + 1] + in[at - cols] + in[at + cols]);
    out[at] = v;
    part[t] = (v - old) * (v - old);
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(residual, part[0]);
}

__device__ inline float over_warp(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void k112i(float *out, const float *in, float *residual, int cols, int lines)
{
    __shared__ float part[32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    int at = y * cols + x;
    float old = in[at], v = old;
    if (x > 0 && x < cols - 1 && y > 0 && y < lines - 1)
        v = 0.25f * (in[at - 1] + in[at + 1] + in[at - cols] + in[at + cols]);
    out[at] = v;
    float sum = over_warp((v - old) * (v - old));
    if (threadIdx.x == 0)
        part[threadIdx.y] = sum;
    __syncthreads();
    if (threadIdx.y == 0) {
        sum = over_warp(part[threadIdx.x]);
        if (threadIdx.x == 0)
            atomicAdd(residual, sum);
    }
}

__global__ void k112j(float *__restrict__ out, const float *__restrict__ in, float *__restrict__ residual, int cols,
                      int lines)
{
    __shared__ float part[8];
    int x = blockIdx.x * 256 + threadIdx.x;
    int first = blockIdx.y * STRIP;
    int at = first * cols + x;
    bool edge = x == 0 || x == cols - 1;
    float above = first > 0 ? in[at - cols] : 0.0f, here = in[at], sum = 0.0f;
#pragma unroll 8
    for (int y = first; y < first + STRIP; y++) {
        float below = y < lines - 1 ? in[at + cols] : 0.0f;
        float v = here;
        if (!edge && y > 0 && y < lines - 1)
            v = 0.25f * (in[at - 1] + in[at + 1] + above + below);
        out[at] = v;
        sum += (v - here) * (v - here);
        above = here;
        here = below;
        at += cols;
    }
    sum = over_warp(sum);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++)
            sum += part[i];
        atomicAdd(residual, sum);
    }
}

int main()
{
    const size_t cells = (size_t)NX * NY * NZ;
    const float c0 = 0.4f, c1 = 0.1f;
    float *grid = input<float>(cells, 1121, 0.0, 1.0), *out = output<float>(cells);
    std::vector<float> in = on_host(grid, cells), want(cells);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                size_t at = ((size_t)z * NY + y) * NX + x;
                bool core = x > 0 && x < NX - 1 && y > 0 && y < NY - 1 && z > 0 && z < NZ - 1;
                want[at] = core ? c0 * in[at] + c1 * (in[at - 1] + in[at + 1] + in[at - NX] + in[at + NX] +
                                                      in[at - NX * NY] + in[at + NX * NY])
                                : in[at];
            }
    auto average = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, cells * sizeof(float)));
        launch();
        check(name, out, want, 1e-5);
    };
    dim3 wide(32, 8), turned((NZ + 31) / 32, NY / 8, NX), flat(NX / 32, NY / 8, NZ), tall(NX / 32, NY / 8, NZ / PLANES);
    average("k112a", [&] { k112a<<<turned, wide>>>(out, grid, NX, NY, NZ, c0, c1); });
    average("k112b", [&] { k112b<<<flat, wide>>>(out, grid, NX, NY, NZ, c0, c1); });
    average("k112c", [&] { k112c<<<tall, wide>>>(out, grid, NX, NY, NZ, c0, c1); });
    average("k112d", [&] { k112d<<<tall, wide>>>(out, grid, NX, NY, NZ, c0, c1); });
    MUST(cudaFree(grid));
    MUST(cudaFree(out));

    const size_t area = (size_t)COLS * LINES;
    const float cap = 0.5f, rx = 1.6f, ry = 1.7f, rz = 60.0f, step = 0.05f;
    float *temp = input<float>(area, 1122, 60.0, 100.0), *power = input<float>(area, 1123, 0.0, 8.0);
    out = output<float>(area);
    in = on_host(temp, area);
    std::vector<float> watts = on_host(power, area);
    want.assign(area, 0.0f);
    for (int y = 0; y < LINES; y++)
        for (int x = 0; x < COLS; x++) {
            size_t at = (size_t)y * COLS + x;
            float t = in[at], n = y > 0 ? in[at - COLS] : t, s = y < LINES - 1 ? in[at + COLS] : t;
            float w = x > 0 ? in[at - 1] : t, e = x < COLS - 1 ? in[at + 1] : t;
            want[at] = t + step / cap * (watts[at] + (s + n - 2.0f * t) / ry + (e + w - 2.0f * t) / rx + (80.0f - t) / rz);
        }
    auto heat = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, area * sizeof(float)));
        launch();
        check(name, out, want, 1e-5);
    };
    const float gain = step / cap, gx = 1.0f / rx, gy = 1.0f / ry, gz = 1.0f / rz;
    dim3 square(16, 16), squares(COLS / 16, LINES / 16), quads(COLS / 128, LINES / 8);
    heat("k112e", [&] { k112e<<<squares, square>>>(out, temp, power, COLS, LINES, cap, rx, ry, rz, step); });
    heat("k112f", [&] { k112f<<<squares, square>>>(out, temp, power, COLS, LINES, gain, gx, gy, gz); });
    heat("k112g", [&] { k112g<<<quads, wide>>>(out, temp, power, COLS, LINES, gain, gx, gy, gz); });

    double total = 0;
    float *residual = zeroed<float>(1);
    for (int y = 0; y < LINES; y++)
        for (int x = 0; x < COLS; x++) {
            size_t at = (size_t)y * COLS + x;
            bool core = x > 0 && x < COLS - 1 && y > 0 && y < LINES - 1;
            want[at] = core ? 0.25f * (in[at - 1] + in[at + 1] + in[at - COLS] + in[at + COLS]) : in[at];
            total += double(want[at] - in[at]) * (want[at] - in[at]);
        }
    std::vector<float> change(1, float(total));
    auto sweep = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, area * sizeof(float)));
        MUST(cudaMemset(residual, 0, sizeof(float)));
        launch();
        check(name, out, want, 1e-5);
        check(name, residual, change, 1e-3);
    };
    dim3 full(32, 32), fulls(COLS / 32, LINES / 32), strips(COLS / 256, LINES / STRIP);
    sweep("k112h", [&] { k112h<<<fulls, full>>>(out, temp, residual, COLS, LINES); });
    sweep("k112i", [&] { k112i<<<fulls, full>>>(out, temp, residual, COLS, LINES); });
    sweep("k112j", [&] { k112j<<<strips, 256>>>(out, temp, residual, COLS, LINES); });
    return 0;
}
