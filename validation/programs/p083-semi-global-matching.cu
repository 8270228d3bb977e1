// Semi-global matching: aggregation of matching costs along image rows; an affine warp of an image with bilinear
// interpolation; and a 3 x 3 median.
#include "../harness.h"

#include <algorithm>
#include <functional>

const int DISPARITIES = 128;
const int ROWS = 4096, COLS = 640;
const int P1 = 7, P2 = 84;

__global__ void k83a(const unsigned char *cost, unsigned char *path)
{
    __shared__ int prev[DISPARITIES + 2];
    __shared__ int lowest[DISPARITIES];
    int d = threadIdx.x;
    size_t index = (size_t)blockIdx.x * COLS * DISPARITIES + d;
    if (d == 0) {
        prev[0] = 1 << 20;
        prev[DISPARITIES + 1] = 1 << 20;
    }

    int v = cost[index];
    path[index] = v;
    int least = 0;
    for (int x = 1; x < COLS; x++) {
        __syncthreads();
        prev[d + 1] = v;
        lowest[d] = v;
        __syncthreads();
        for (int s = DISPARITIES / 2; s > 0; s >>= 1) {
            if (d < s)
                lowest[d] = min(lowest[d], lowest[d + s]);
            __syncthreads();
        }
        least = lowest[0];
        index += DISPARITIES;
        int best = min(min(v, least + P2), min(prev[d], prev[d + 2]) + P1);
        v = cost[index] + best - least;
        path[index] = v;
    }
}

__device__ __forceinline__ int warp_min(int v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v = min(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}

__global__ void k83b(const unsigned char *cost, unsigned char *path)
{
    __shared__ int prev[DISPARITIES + 2];
    __shared__ int lowest[DISPARITIES / 32];
    int d = threadIdx.x;
    size_t index = (size_t)blockIdx.x * COLS * DISPARITIES + d;
    if (d == 0) {
        prev[0] = 1 << 20;
        prev[DISPARITIES + 1] = 1 << 20;
    }

    int v = cost[index];
    path[index] = v;
    for (int x = 1; x < COLS; x++) {
        int w = warp_min(v);
        __syncthreads();
        prev[d + 1] = v;
        if (d % 32 == 0)
            lowest[d / 32] = w;
        __syncthreads();
        int least = min(min(lowest[0], lowest[1]), min(lowest[2], lowest[3]));
        index += DISPARITIES;
        int best = min(min(v, least + P2), min(prev[d], prev[d + 2]) + P1);
        v = cost[index] + best - least;
        path[index] = v;
    }
}

__device__ __forceinline__ void step(uchar4 c, int &v0, int &v1, int &v2, int &v3, int lane)
{
    int before = __shfl_up_sync(0xffffffffu, v3, 1);
    int after = __shfl_down_sync(0xffffffffu, v0, 1);
    if (lane == 0)
        before = 1 << 20;
    if (lane == 31)
        after = 1 << 20;
    int least = warp_min(min(min(v0, v1), min(v2, v3)));
    int jump = least + P2;
    int n0 = c.x + min(min(v0, jump), min(before, v1) + P1) - least;
    int n1 = c.y + min(min(v1, jump), min(v0, v2) + P1) - least;
    int n2 = c.z + min(min(v2, jump), min(v1, v3) + P1) - least;
    int n3 = c.w + min(min(v3, jump), min(v2, after) + P1) - least;
    v0 = n0;
    v1 = n1;
    v2 = n2;
    v3 = n3;
}

// A warp for each row.
__global__ void k83c(const uchar4 *cost, uchar4 *path)
{
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    size_t index = (size_t)row * COLS * (DISPARITIES / 4) + lane;

    uchar4 c = cost[index];
    path[index] = c;
    int v0 = c.x, v1 = c.y, v2 = c.z, v3 = c.w;
    for (int x = 1; x < COLS; x++) {
        index += DISPARITIES / 4;
        step(cost[index], v0, v1, v2, v3, lane);
        path[index] = make_uchar4(v0, v1, v2, v3);
    }
}

const int AHEAD = 4;

__global__ void k83d(const uchar4 *cost, uchar4 *path)
{
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    size_t index = (size_t)row * COLS * (DISPARITIES / 4) + lane;

    uchar4 now[AHEAD], next[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        now[k] = cost[index + k * (DISPARITIES / 4)];
    int v0 = 0, v1 = 0, v2 = 0, v3 = 0;
    for (int x = 0; x < COLS; x += AHEAD) {
        if (x + AHEAD < COLS) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                next[k] = cost[index + (AHEAD + k) * (DISPARITIES / 4)];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            step(now[k], v0, v1, v2, v3, lane);
            path[index + k * (DISPARITIES / 4)] = make_uchar4(v0, v1, v2, v3);
        }
        index += AHEAD * (DISPARITIES / 4);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            now[k] = next[k];
    }
}

struct Affine {
    float a, b, c, d, e, f;
};

__global__ void k83e(const float *in, float *out, int width, int height, Affine m)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float sx = m.a * x + m.b * y + m.c;
    float sy = m.d * x + m.e * y + m.f;
    int x0 = (int)floorf(sx), y0 = (int)floorf(sy);
    float fx = sx - x0, fy = sy - y0;
    float v00 = 0.0f, v01 = 0.0f, v10 = 0.0f, v11 = 0.0f;
    if (y0 >= 0 && y0 < height) {
        if (x0 >= 0 && x0 < width)
            v00 = in[(size_t)y0 * width + x0];
        if (x0 + 1 >= 0 && x0 + 1 < width)
            v01 = in[(size_t)y0 * width + x0 + 1];
    }
    if (y0 + 1 >= 0 && y0 + 1 < height) {
        if (x0 >= 0 && x0 < width)
            v10 = in[(size_t)(y0 + 1) * width + x0];
        if (x0 + 1 >= 0 && x0 + 1 < width)
            v11 = in[(size_t)(y0 + 1) * width + x0 + 1];
    }
    out[(size_t)y * width + x] = (1.0f - fy) * ((1.0f - fx) * v00 + fx * v01) + fy * ((1.0f - fx) * v10 + fx * v11);
}

__global__ void k83f(cudaTextureObject_t in, float *out, int width, int height, Affine m)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float sx = m.a * x + m.b * y + m.c;
    float sy = m.d * x + m.e * y + m.f;
    out[(size_t)y * width + x] = tex2D<float>(in, sx + 0.5f, sy + 0.5f);
}

__device__ __forceinline__ void order(int &a, int &b)
{
    int t = min(a, b);
    b = max(a, b);
    a = t;
}

// The rim of the image is copied.
__global__ void k83g(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    size_t i = (size_t)y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = in[i];
        return;
    }

    int p0 = in[i - width - 1], p1 = in[i - width], p2 = in[i - width + 1];
    int p3 = in[i - 1], p4 = in[i], p5 = in[i + 1];
    int p6 = in[i + width - 1], p7 = in[i + width], p8 = in[i + width + 1];
    order(p1, p2); order(p4, p5); order(p7, p8);
    order(p0, p1); order(p3, p4); order(p6, p7);
    order(p1, p2); order(p4, p5); order(p7, p8);
    order(p0, p3); order(p5, p8); order(p4, p7);
    order(p3, p6); order(p1, p4); order(p2, p5);
    order(p4, p7); order(p4, p2); order(p6, p4);
    order(p4, p2);
    out[i] = p4;
}

__device__ __forceinline__ int middle(int a, int b, int c)
{
    return max(min(a, b), min(max(a, b), c));
}

// width is a multiple of 4.
__global__ void k83h(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    size_t i = (size_t)y * width + x;
    unsigned centre = *reinterpret_cast<const unsigned *>(in + i);
    if (y == 0 || y == height - 1) {
        *reinterpret_cast<unsigned *>(out + i) = centre;
        return;
    }
    unsigned above = *reinterpret_cast<const unsigned *>(in + i - width);
    unsigned below = *reinterpret_cast<const unsigned *>(in + i + width);

    int lo[6], mid[6], hi[6];
    int left = x > 0 ? -1 : 0, right = x + 4 < width ? 4 : 3;
    lo[0] = in[i - width + left];
    mid[0] = in[i + left];
    hi[0] = in[i + width + left];
    lo[5] = in[i - width + right];
    mid[5] = in[i + right];
    hi[5] = in[i + width + right];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        lo[k + 1] = above >> 8 * k & 0xff;
        mid[k + 1] = centre >> 8 * k & 0xff;
        hi[k + 1] = below >> 8 * k & 0xff;
    }
#pragma unroll
    for (int k = 0; k < 6; k++) {
        order(lo[k], mid[k]);
        order(mid[k], hi[k]);
        order(lo[k], mid[k]);
    }
    unsigned result = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int a = max(max(lo[k], lo[k + 1]), lo[k + 2]);
        int b = middle(mid[k], mid[k + 1], mid[k + 2]);
        int c = min(min(hi[k], hi[k + 1]), hi[k + 2]);
        result |= (unsigned)middle(a, b, c) << 8 * k;
    }
    if (x == 0)
        result = (result & 0xffffff00u) | (centre & 0xffu);
    if (x + 4 == width)
        result = (result & 0x00ffffffu) | (centre & 0xff000000u);
    *reinterpret_cast<unsigned *>(out + i) = result;
}

// Checks chosen rows, of the given length, of what a launch wrote.
template <class T>
static void check_rows(const char *name, std::function<void()> launch, T *out, size_t n, size_t length,
                       const std::vector<int> &chosen, const std::vector<T> &want, double tolerance)
{
    MUST(cudaMemset(out, 0xA5, n * sizeof(T)));
    launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    T *picked = output<T>(want.size());
    for (size_t c = 0; c < chosen.size(); c++)
        MUST(cudaMemcpy(picked + c * length, out + chosen[c] * length, length * sizeof(T), cudaMemcpyDeviceToDevice));
    check(name, picked, want, tolerance);
    MUST(cudaFree(picked));
}

static std::vector<int> choose(int rows, int step)
{
    std::vector<int> chosen;
    for (int r = 0; r < rows; r += step)
        chosen.push_back(r);
    chosen.push_back(rows - 1);
    return chosen;
}

int main()
{
    {
        const size_t length = (size_t)COLS * DISPARITIES, n = ROWS * length;
        unsigned char *cost = input<unsigned char>(n, 831, 0, 64);
        unsigned char *path = output<unsigned char>(n);
        std::vector<int> chosen = choose(ROWS, 43);
        std::vector<unsigned char> want(chosen.size() * length);
        for (size_t r = 0; r < chosen.size(); r++) {
            std::vector<unsigned char> c = on_host(cost + chosen[r] * length, length);
            unsigned char *w = &want[r * length];
            std::copy(c.begin(), c.begin() + DISPARITIES, w);
            for (int x = 1; x < COLS; x++) {
                const unsigned char *p = w + (size_t)(x - 1) * DISPARITIES;
                int least = *std::min_element(p, p + DISPARITIES);
                for (int d = 0; d < DISPARITIES; d++) {
                    int best = std::min(int(p[d]), least + P2);
                    if (d > 0)
                        best = std::min(best, p[d - 1] + P1);
                    if (d + 1 < DISPARITIES)
                        best = std::min(best, p[d + 1] + P1);
                    w[(size_t)x * DISPARITIES + d] = (unsigned char)(c[(size_t)x * DISPARITIES + d] + best - least);
                }
            }
        }
        const uchar4 *cost4 = reinterpret_cast<uchar4 *>(cost);
        uchar4 *path4 = reinterpret_cast<uchar4 *>(path);
        check_rows("k83a", [&] { k83a<<<ROWS, DISPARITIES>>>(cost, path); }, path, n, length, chosen, want, 0.0);
        check_rows("k83b", [&] { k83b<<<ROWS, DISPARITIES>>>(cost, path); }, path, n, length, chosen, want, 0.0);
        check_rows("k83c", [&] { k83c<<<ROWS / 4, 128>>>(cost4, path4); }, path, n, length, chosen, want, 0.0);
        check_rows("k83d", [&] { k83d<<<ROWS / 4, 128>>>(cost4, path4); }, path, n, length, chosen, want, 0.0);
        MUST(cudaFree(cost));
        MUST(cudaFree(path));
    }
    {
        const int width = 4096, height = 4096;
        const size_t n = (size_t)width * height;
        float *in = input<float>(n, 832, 0.0, 1.0);
        float *out = output<float>(n);
        const float co = 0.8660254f, si = 0.5f, cx = 0.5f * width, cy = 0.5f * height;
        const Affine m = {co, si, cx - co * cx - si * cy, -si, co, cy + si * cx - co * cy};

        std::vector<int> chosen = choose(height, 61);
        std::vector<float> want(chosen.size() * width);
        {
            std::vector<float> host = on_host(in, n);
            auto at = [&](int x, int y) {
                return x >= 0 && x < width && y >= 0 && y < height ? double(host[(size_t)y * width + x]) : 0.0;
            };
            for (size_t r = 0; r < chosen.size(); r++)
                for (int x = 0; x < width; x++) {
                    double sx = double(m.a) * x + double(m.b) * chosen[r] + m.c;
                    double sy = double(m.d) * x + double(m.e) * chosen[r] + m.f;
                    int x0 = int(std::floor(sx)), y0 = int(std::floor(sy));
                    double fx = sx - x0, fy = sy - y0;
                    want[r * width + x] = float((1 - fy) * ((1 - fx) * at(x0, y0) + fx * at(x0 + 1, y0)) +
                                                fy * ((1 - fx) * at(x0, y0 + 1) + fx * at(x0 + 1, y0 + 1)));
                }
        }

        cudaArray_t array;
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        MUST(cudaMallocArray(&array, &format, width, height));
        MUST(cudaMemcpy2DToArray(array, 0, 0, in, width * sizeof(float), width * sizeof(float), height,
                                 cudaMemcpyDeviceToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc description = {};
        description.addressMode[0] = cudaAddressModeBorder;
        description.addressMode[1] = cudaAddressModeBorder;
        description.filterMode = cudaFilterModeLinear;
        description.readMode = cudaReadModeElementType;
        description.normalizedCoords = 0;
        cudaTextureObject_t texture = 0;
        MUST(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

        dim3 threads(16, 16), blocks(width / 16, height / 16);
        check_rows("k83e", [&] { k83e<<<blocks, threads>>>(in, out, width, height, m); }, out, n, width, chosen, want,
                   1e-2);
        check_rows("k83f", [&] { k83f<<<blocks, threads>>>(texture, out, width, height, m); }, out, n, width, chosen,
                   want, 2e-2);
        MUST(cudaDestroyTextureObject(texture));
        MUST(cudaFreeArray(array));
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const int width = 8192, height = 8192;
        const size_t n = (size_t)width * height;
        unsigned char *in = input<unsigned char>(n, 833, 0, 256);
        unsigned char *out = output<unsigned char>(n);
        std::vector<int> chosen = choose(height, 61);
        std::vector<unsigned char> want(chosen.size() * width);
        for (size_t r = 0; r < chosen.size(); r++) {
            int y = chosen[r], first = std::max(y - 1, 0), last = std::min(y + 1, height - 1);
            std::vector<unsigned char> v = on_host(in + (size_t)first * width, (size_t)(last - first + 1) * width);
            for (int x = 0; x < width; x++) {
                unsigned char *w = &want[r * width + x];
                *w = v[(size_t)(y - first) * width + x];
                if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
                    continue;
                unsigned char p[9];
                for (int k = 0; k < 9; k++)
                    p[k] = v[(size_t)(k / 3) * width + x - 1 + k % 3];
                std::nth_element(p, p + 4, p + 9);
                *w = p[4];
            }
        }
        check_rows("k83g",
                   [&] { k83g<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(in, out, width, height); }, out, n, width,
                   chosen, want, 0.0);
        check_rows("k83h",
                   [&] { k83h<<<dim3(width / 128, height / 8), dim3(32, 8)>>>(in, out, width, height); }, out, n, width,
                   chosen, want, 0.0);
    }
    return 0;
}
