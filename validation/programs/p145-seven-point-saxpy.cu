// Seven-point stencil sweep over a grid of 512 x 512 x 256 points, and z = a * x + y.
#include "../harness.h"

#include <functional>

const int NX = 512, NY = 512, NZ = 256;
const float C0 = 0.4f, C1 = 0.1f;

__device__ __host__ inline size_t at(int i, int j, int k)
{
    return ((size_t)i * NY + j) * NX + k;
}

// Points on the faces of the grid are left alone.
__global__ void k145a(float *out, const float *in)
{
    int i = blockIdx.z * blockDim.z + threadIdx.z;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < NZ - 1 && j >= 1 && j < NY - 1 && k >= 1 && k < NX - 1)
        out[at(i, j, k)] = C0 * in[at(i, j, k)] + C1 * (in[at(i, j, k - 1)] + in[at(i, j, k + 1)] +
                                                        in[at(i, j - 1, k)] + in[at(i, j + 1, k)] +
                                                        in[at(i - 1, j, k)] + in[at(i + 1, j, k)]);
}

const int IN_TILE = 8, OUT_TILE = IN_TILE - 2;

__global__ void k145b(float *out, const float *in)
{
    __shared__ float in_s[IN_TILE][IN_TILE][IN_TILE];
    int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    int i = blockIdx.z * OUT_TILE + tz - 1;
    int j = blockIdx.y * OUT_TILE + ty - 1;
    int k = blockIdx.x * OUT_TILE + tx - 1;
    if (i >= 0 && i < NZ && j >= 0 && j < NY && k >= 0 && k < NX)
        in_s[tz][ty][tx] = in[at(i, j, k)];
    __syncthreads();
    if (i >= 1 && i < NZ - 1 && j >= 1 && j < NY - 1 && k >= 1 && k < NX - 1)
        if (tx >= 1 && tx < IN_TILE - 1 && ty >= 1 && ty < IN_TILE - 1 && tz >= 1 && tz < IN_TILE - 1)
            out[at(i, j, k)] = C0 * in_s[tz][ty][tx] + C1 * (in_s[tz][ty][tx - 1] + in_s[tz][ty][tx + 1] +
                                                             in_s[tz][ty - 1][tx] + in_s[tz][ty + 1][tx] +
                                                             in_s[tz - 1][ty][tx] + in_s[tz + 1][ty][tx]);
}

const int SIDE = 32, INNER = SIDE - 2, PLANES = 32;

// A block of 32 x 32 threads goes through PLANES planes.
__global__ void k145c(float *out, const float *in)
{
    __shared__ float prev_s[SIDE][SIDE], curr_s[SIDE][SIDE], next_s[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int first = blockIdx.z * PLANES;
    int j = blockIdx.y * INNER + ty - 1;
    int k = blockIdx.x * INNER + tx - 1;
    bool inside = j >= 0 && j < NY && k >= 0 && k < NX;
    if (first >= 1 && inside)
        prev_s[ty][tx] = in[at(first - 1, j, k)];
    if (inside)
        curr_s[ty][tx] = in[at(first, j, k)];
    for (int i = first; i < first + PLANES; i++) {
        if (i + 1 < NZ && inside)
            next_s[ty][tx] = in[at(i + 1, j, k)];
        __syncthreads();
        if (i >= 1 && i < NZ - 1 && j >= 1 && j < NY - 1 && k >= 1 && k < NX - 1)
            if (tx >= 1 && tx < SIDE - 1 && ty >= 1 && ty < SIDE - 1)
                out[at(i, j, k)] = C0 * curr_s[ty][tx] + C1 * (curr_s[ty][tx - 1] + curr_s[ty][tx + 1] +
                                                               curr_s[ty - 1][tx] + curr_s[ty + 1][tx] +
                                                               prev_s[ty][tx] + next_s[ty][tx]);
        __syncthreads();
        prev_s[ty][tx] = curr_s[ty][tx];
        curr_s[ty][tx] = next_s[ty][tx];
    }
}

__global__ void k145d(float *out, const float *in)
{
    __shared__ float curr_s[SIDE][SIDE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int first = blockIdx.z * PLANES;
    int j = blockIdx.y * INNER + ty - 1;
    int k = blockIdx.x * INNER + tx - 1;
    bool inside = j >= 0 && j < NY && k >= 0 && k < NX;
    float prev = 0.0f, curr = 0.0f, next = 0.0f;
    if (first >= 1 && inside)
        prev = in[at(first - 1, j, k)];
    if (inside)
        curr = in[at(first, j, k)];
    curr_s[ty][tx] = curr;
    for (int i = first; i < first + PLANES; i++) {
        if (i + 1 < NZ && inside)
            next = in[at(i + 1, j, k)];
        __syncthreads();
        if (i >= 1 && i < NZ - 1 && j >= 1 && j < NY - 1 && k >= 1 && k < NX - 1)
            if (tx >= 1 && tx < SIDE - 1 && ty >= 1 && ty < SIDE - 1)
                out[at(i, j, k)] = C0 * curr + C1 * (curr_s[ty][tx - 1] + curr_s[ty][tx + 1] +
                                                     curr_s[ty - 1][tx] + curr_s[ty + 1][tx] + prev + next);
        __syncthreads();
        prev = curr;
        curr = next;
        curr_s[ty][tx] = next;
    }
}

const int LAYERS = 16;

__device__ inline float4 quad(const float *p)
{
    return *reinterpret_cast<const float4 *>(p);
}

// A block of 32 x 8 threads: 128 x 8 points of LAYERS planes.
__global__ void __launch_bounds__(256) k145e(float *__restrict__ out, const float *__restrict__ in)
{
    int k = (blockIdx.x * 32 + threadIdx.x) * 4;
    int j = blockIdx.y * 8 + threadIdx.y;
    int first = blockIdx.z * LAYERS;
    if (j < 1 || j >= NY - 1)
        return;
    const float *p = in + at(first, j, k);
    float *q = out + at(first, j, k);
    const size_t plane = (size_t)NY * NX;
    float4 prev = first ? quad(p - plane) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 curr = quad(p), next = quad(p + plane);
#pragma unroll 4
    for (int i = first; i < first + LAYERS; i++) {
        float4 after = i + 2 < NZ ? quad(p + 2 * plane) : next;
        float4 north = quad(p - NX), south = quad(p + NX);
        float left = k > 0 ? p[-1] : 0.0f, right = k + 4 < NX ? p[4] : 0.0f;
        float4 r;
        r.x = C0 * curr.x + C1 * (left + curr.y + north.x + south.x + prev.x + next.x);
        r.y = C0 * curr.y + C1 * (curr.x + curr.z + north.y + south.y + prev.y + next.y);
        r.z = C0 * curr.z + C1 * (curr.y + curr.w + north.z + south.z + prev.z + next.z);
        r.w = C0 * curr.w + C1 * (curr.z + right + north.w + south.w + prev.w + next.w);
        if (i >= 1 && i < NZ - 1) {
            if (k > 0 && k + 4 < NX) {
                *reinterpret_cast<float4 *>(q) = r;
            } else {
                if (k > 0)
                    q[0] = r.x;
                q[1] = r.y;
                q[2] = r.z;
                if (k == 0)
                    q[3] = r.w;
            }
        }
        prev = curr;
        curr = next;
        next = after;
        p += plane;
        q += plane;
    }
}

const int LENGTH = 1 << 25, CHUNK = 64;

__global__ void k145f(int n, float a, const float *x, const float *y, float *z)
{
    int begin = (blockIdx.x * blockDim.x + threadIdx.x) * CHUNK;
    for (int i = begin; i < begin + CHUNK && i < n; i++)
        z[i] = a * x[i] + y[i];
}

__global__ void k145g(int n, float a, const float *__restrict__ x, const float *__restrict__ y,
                      float *__restrict__ z)
{
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        z[i] = a * x[i] + y[i];
}

__global__ void k145h(int n4, float a, const float4 *__restrict__ x, const float4 *__restrict__ y,
                      float4 *__restrict__ z)
{
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 u = x[i], v = y[i];
        v.x = a * u.x + v.x;
        v.y = a * u.y + v.y;
        v.z = a * u.z + v.z;
        v.w = a * u.w + v.w;
        z[i] = v;
    }
}

int main()
{
    const size_t plane = (size_t)NY * NX, points = plane * NZ;
    float *in = input<float>(points, 1451, 0.0, 1.0), *out = output<float>(points);
    // Every fifth plane: 0, 5, ..., 255. Points on faces keep the fill of the output.
    const int skip = 5, taken = (NZ - 1) / skip + 1;
    float *some = output<float>(taken * plane);
    std::vector<float> want = on_host(some, taken * plane);
    {
        std::vector<float> h = on_host(in, points);
        for (int t = 0; t < taken; t++) {
            int i = t * skip;
            if (i < 1 || i >= NZ - 1)
                continue;
            for (int j = 1; j < NY - 1; j++)
                for (int k = 1; k < NX - 1; k++)
                    want[at(t, j, k)] = C0 * h[at(i, j, k)] + C1 * (h[at(i, j, k - 1)] + h[at(i, j, k + 1)] +
                                                                    h[at(i, j - 1, k)] + h[at(i, j + 1, k)] +
                                                                    h[at(i - 1, j, k)] + h[at(i + 1, j, k)]);
        }
    }
    auto sweep = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, points * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = plane * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, out, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-5);
    };
    auto blocks = [](int n, int per) { return (n + per - 1) / per; };
    dim3 cube(8, 8, 8), square(SIDE, SIDE);
    dim3 cubes(NX / 8, NY / 8, NZ / 8);
    dim3 tiles(blocks(NX, OUT_TILE), blocks(NY, OUT_TILE), blocks(NZ, OUT_TILE));
    dim3 columns(blocks(NX, INNER), blocks(NY, INNER), NZ / PLANES);
    sweep("k145a", [&] { k145a<<<cubes, cube>>>(out, in); });
    sweep("k145b", [&] { k145b<<<tiles, cube>>>(out, in); });
    sweep("k145c", [&] { k145c<<<columns, square>>>(out, in); });
    sweep("k145d", [&] { k145d<<<columns, square>>>(out, in); });
    sweep("k145e", [&] { k145e<<<dim3(NX / 128, NY / 8, NZ / LAYERS), dim3(32, 8)>>>(out, in); });

    const float a = 1.75f;
    float *x = input<float>(LENGTH, 1452, -1.0, 1.0), *y = input<float>(LENGTH, 1453, -1.0, 1.0);
    float *z = output<float>(LENGTH);
    std::vector<float> hx = on_host(x, LENGTH), sum = on_host(y, LENGTH);
    for (int i = 0; i < LENGTH; i++)
        sum[i] = a * hx[i] + sum[i];
    auto saxpy = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(z, 0xA5, LENGTH * sizeof(float)));
        launch();
        check(name, z, sum, 1e-6);
    };
    const float4 *x4 = reinterpret_cast<const float4 *>(x), *y4 = reinterpret_cast<const float4 *>(y);
    float4 *z4 = reinterpret_cast<float4 *>(z);
    saxpy("k145f", [&] { k145f<<<LENGTH / CHUNK / 256, 256>>>(LENGTH, a, x, y, z); });
    saxpy("k145g", [&] { k145g<<<132 * 8, 256>>>(LENGTH, a, x, y, z); });
    saxpy("k145h", [&] { k145h<<<132 * 8, 256>>>(LENGTH / 4, a, x4, y4, z4); });
    return 0;
}
