// Transpose of a matrix, enlarging of images to twice the size, and adding of rows to the rows of a table.
#include "../harness.h"

#include <algorithm>

const int SIDE = 16;

__global__ void k45a(const float *x, float *y, int rows, int cols)
{
    const int gx = blockIdx.x * blockDim.x + threadIdx.x;
    const int gy = blockIdx.y * blockDim.y + threadIdx.y;
    if (gx < cols && gy < rows)
        y[gx * rows + gy] = x[gy * cols + gx];
}

// The sides are multiples of 64.
__global__ void k45b(const float *x, float *y, int rows, int cols)
{
    __shared__ __align__(16) float tile[SIDE][SIDE * 4];
    const int gx = blockIdx.x * SIDE + threadIdx.x;
    const int gy = blockIdx.y * SIDE + threadIdx.y;
    const int lx = threadIdx.x, ly = threadIdx.y;

    *reinterpret_cast<float4 *>(&tile[ly][lx * 4]) = reinterpret_cast<const float4 *>(x)[gy * cols / 4 + gx];
    __syncthreads();

    const int PART = SIDE / 4;
    const int first = ly % PART * 4, line = lx * 4 + ly / PART;
    float4 v;
    v.x = tile[first][line];
    v.y = tile[first + 1][line];
    v.z = tile[first + 2][line];
    v.w = tile[first + 3][line];
    const int oy = gx * 4 + ly / PART;
    const int ox = blockIdx.y * SIDE + first;
    reinterpret_cast<float4 *>(y)[(oy * rows + ox) / 4] = v;
}

__global__ void k45c(const float *x, float *y, int rows, int cols)
{
    __shared__ float tile[SIDE][SIDE * 4 + 1];
    const int gx = blockIdx.x * SIDE + threadIdx.x;
    const int gy = blockIdx.y * SIDE + threadIdx.y;
    const int lx = threadIdx.x, ly = threadIdx.y;

    float4 in = reinterpret_cast<const float4 *>(x)[gy * cols / 4 + gx];
    tile[ly][lx * 4] = in.x;
    tile[ly][lx * 4 + 1] = in.y;
    tile[ly][lx * 4 + 2] = in.z;
    tile[ly][lx * 4 + 3] = in.w;
    __syncthreads();

    const int PART = SIDE / 4;
    const int first = ly % PART * 4, line = lx * 4 + ly / PART;
    float4 v;
    v.x = tile[first][line];
    v.y = tile[first + 1][line];
    v.z = tile[first + 2][line];
    v.w = tile[first + 3][line];
    const int oy = gx * 4 + ly / PART;
    const int ox = blockIdx.y * SIDE + first;
    reinterpret_cast<float4 *>(y)[(oy * rows + ox) / 4] = v;
}

struct Places {
    long long stride[4];

    Places(long long c, long long h, long long w) : stride{c * h * w, h * w, w, 1} {}
    __device__ void split(long long offset, long long *index) const
    {
        for (int d = 0; d < 3; d++) {
            index[d] = offset / stride[d];
            offset -= index[d] * stride[d];
        }
        index[3] = offset;
    }
    __device__ long long offset(const long long *index) const
    {
        long long sum = 0;
        for (int d = 0; d < 3; d++)
            sum += index[d] * stride[d];
        return sum + index[3];
    }
};

__device__ inline long long nearest(long long place, float scale, long long size)
{
    long long from = static_cast<long long>(floorf(static_cast<float>(place) * scale));
    return from > size - 1 ? size - 1 : from;
}

__global__ void k45d(long long n, const float *x, Places in, Places out, long long h, long long w, float scale_h,
                     float scale_w, float *y)
{
    const long long step = blockDim.x * gridDim.x;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        long long index[4];
        out.split(i, index);
        index[2] = nearest(index[2], scale_h, h);
        index[3] = nearest(index[3], scale_w, w);
        y[i] = x[in.offset(index)];
    }
}

__global__ void k45e(int n, const float *x, int h, int w, float *y)
{
    const int size = h * w;
    const int step = blockDim.x * gridDim.x;
    float2 *pairs = reinterpret_cast<float2 *>(y);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        const int plane = i / size;
        const int place = i - plane * size;
        const int row = place / w;
        const int col = place - row * w;
        const float2 twice = make_float2(v, v);
        pairs[plane * size * 2 + row * 2 * w + col] = twice;
        pairs[plane * size * 2 + (row * 2 + 1) * w + col] = twice;
    }
}

__global__ void k45f(const half *x, const int *to, half *table, int n, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int row = i / width;
        int col = i % width;
        atomicAdd(&table[to[row] * width + col], x[i]);
    }
}

__global__ void k45g(const half2 *x, const int *to, half2 *table, int n, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int row = i / width;
        int col = i % width;
        atomicAdd(&table[to[row] * width + col], x[i]);
    }
}

__global__ void small_numbers(half *x, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        x[i] = __float2half(float(scrambled(i, seed) % 3));
}

int main()
{
    {
        const int rows = 4096, cols = 4096;
        const size_t n = (size_t)rows * cols;
        float *x = input<float>(n, 451, -1.0, 1.0);
        std::vector<float> want(n);
        {
            std::vector<float> host = on_host(x, n);
            for (int r0 = 0; r0 < rows; r0 += 32)
                for (int c = 0; c < cols; c++)
                    for (int r = r0; r < r0 + 32; r++)
                        want[(size_t)c * rows + r] = host[(size_t)r * cols + c];
        }
        const dim3 block(SIDE, SIDE);
        float *y = output<float>(n);
        k45a<<<dim3(cols / SIDE, rows / SIDE), block>>>(x, y, rows, cols);
        check("k45a", y, want, 0.0);

        y = output<float>(n);
        k45b<<<dim3(cols / SIDE / 4, rows / SIDE), block>>>(x, y, rows, cols);
        check("k45b", y, want, 0.0);

        y = output<float>(n);
        k45c<<<dim3(cols / SIDE / 4, rows / SIDE), block>>>(x, y, rows, cols);
        check("k45c", y, want, 0.0);
    }
    {
        const int images = 32, channels = 64, h = 80, w = 80, planes = images * channels;
        const size_t n = (size_t)planes * h * w;
        float *x = input<float>(n, 452, -1.0, 1.0);
        // Every 23rd of the 2048 planes, the last one among them.
        const int step = 23, count = (planes + step - 1) / step;
        std::vector<float> want((size_t)count * 4 * h * w);
        {
            std::vector<float> host = on_host(x, n);
            for (int p = 0; p < count; p++)
                for (int r = 0; r < 2 * h; r++)
                    for (int c = 0; c < 2 * w; c++)
                        want[((size_t)p * 2 * h + r) * 2 * w + c] = host[((size_t)p * step * h + r / 2) * w + c / 2];
        }
        float *y = output<float>(4 * n), *picked = output<float>(want.size());
        auto check_planes = [&](const char *kernel) {
            const size_t bytes = (size_t)4 * h * w * sizeof(float);
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, bytes, y, step * bytes, bytes, count, cudaMemcpyDeviceToDevice));
            check(kernel, picked, want, 0.0);
        };
        const int threads = 512, most = 8192;
        k45d<<<std::min<int>((4 * n + threads - 1) / threads, most), threads>>>(
            4 * n, x, Places(channels, h, w), Places(channels, 2 * h, 2 * w), h, w, 0.5f, 0.5f, y);
        check_planes("k45d");

        MUST(cudaMemset(y, 0xA5, 4 * n * sizeof(float)));
        k45e<<<std::min<int>((n + threads - 1) / threads, most), threads>>>(int(n), x, h, w, y);
        check_planes("k45e");
    }
    {
        const int rows = 1024 * 1024, width = 64, lines = 4096;
        const size_t n = (size_t)rows * width;
        half *x = output<half>(n);
        small_numbers<<<1056, 256>>>(x, n, 453);
        MUST(cudaGetLastError());
        int *to = input<int>(rows, 454, 0, lines);
        std::vector<int> sums((size_t)lines * width, 0);
        {
            std::vector<int> line = on_host(to, rows);
            for (int r = 0; r < rows; r++)
                for (int j = 0; j < width; j++)
                    sums[(size_t)line[r] * width + j] += scrambled((size_t)r * width + j, 453) % 3;
        }
        std::vector<half> want(sums.size());
        for (size_t i = 0; i < sums.size(); i++)
            want[i] = __float2half(float(sums[i]));
        half *table = zeroed<half>(want.size());
        k45f<<<n / 256, 256>>>(x, to, table, int(n), width);
        check("k45f", table, want, 0.0);

        table = zeroed<half>(want.size());
        k45g<<<n / 2 / 256, 256>>>(reinterpret_cast<half2 *>(x), to, reinterpret_cast<half2 *>(table), int(n / 2),
                                   width / 2);
        check("k45g", table, want, 0.0);
    }
    return 0;
}
