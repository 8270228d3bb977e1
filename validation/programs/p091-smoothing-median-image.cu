// An 8-bit image smoothed with a 3x3 binomial filter, and the median of every 3x3 window of the same image. Pixels on the
// border of the image become 0.
#include "../harness.h"

#include <algorithm>
#include <functional>

typedef unsigned char byte;

__device__ byte weight_table[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
__constant__ byte weight_const[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

__global__ void k91a(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows)
        return;
    int result = 0;
    if (x > 0 && x < cols - 1 && y > 0 && y < rows - 1) {
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                result += weight_table[r * 3 + c] * in[(y + r - 1) * cols + x + c - 1];
        result >>= 4;
    }
    out[y * cols + x] = byte(result);
}

__global__ void k91b(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x0 >= cols || y >= rows)
        return;
    if (y == 0 || y == rows - 1) {
        for (int i = 0; i < 4; i++)
            out[y * cols + x0 + i] = 0;
        return;
    }

    int win[3][3];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const byte *row = in + (y + r - 1) * cols;
        win[r][1] = x0 > 0 ? row[x0 - 1] : 0;
        win[r][2] = row[x0];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int x = x0 + i;
        int result = 0;
#pragma unroll
        for (int r = 0; r < 3; r++) {
            win[r][0] = win[r][1];
            win[r][1] = win[r][2];
            win[r][2] = x < cols - 1 ? in[(y + r - 1) * cols + x + 1] : 0;
#pragma unroll
            for (int c = 0; c < 3; c++)
                result += weight_table[r * 3 + c] * win[r][c];
        }
        out[y * cols + x] = x > 0 && x < cols - 1 ? byte(result >> 4) : 0;
    }
}

__global__ void k91c(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x0 >= cols || y >= rows)
        return;
    uchar4 *dst = reinterpret_cast<uchar4 *>(out + y * cols + x0);
    if (y == 0 || y == rows - 1) {
        *dst = make_uchar4(0, 0, 0, 0);
        return;
    }

    int win[3][6];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const byte *row = in + (y + r - 1) * cols;
        uchar4 v = *reinterpret_cast<const uchar4 *>(row + x0);
        win[r][0] = x0 > 0 ? row[x0 - 1] : 0;
        win[r][1] = v.x;
        win[r][2] = v.y;
        win[r][3] = v.z;
        win[r][4] = v.w;
        win[r][5] = x0 + 4 < cols ? row[x0 + 4] : 0;
    }
    int result[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int sum = 0;
#pragma unroll
        for (int r = 0; r < 3; r++)
#pragma unroll
            for (int c = 0; c < 3; c++)
                sum += weight_table[r * 3 + c] * win[r][i + c];
        result[i] = sum >> 4;
    }
    if (x0 == 0)
        result[0] = 0;
    if (x0 + 4 == cols)
        result[3] = 0;
    *dst = make_uchar4(result[0], result[1], result[2], result[3]);
}

__global__ void k91d(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x0 >= cols || y >= rows)
        return;
    uchar4 *dst = reinterpret_cast<uchar4 *>(out + y * cols + x0);
    if (y == 0 || y == rows - 1) {
        *dst = make_uchar4(0, 0, 0, 0);
        return;
    }

    int win[3][6];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const byte *row = in + (y + r - 1) * cols;
        uchar4 v = *reinterpret_cast<const uchar4 *>(row + x0);
        win[r][0] = x0 > 0 ? row[x0 - 1] : 0;
        win[r][1] = v.x;
        win[r][2] = v.y;
        win[r][3] = v.z;
        win[r][4] = v.w;
        win[r][5] = x0 + 4 < cols ? row[x0 + 4] : 0;
    }
    int result[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int sum = 0;
#pragma unroll
        for (int r = 0; r < 3; r++)
#pragma unroll
            for (int c = 0; c < 3; c++)
                sum += weight_const[r * 3 + c] * win[r][i + c];
        result[i] = sum >> 4;
    }
    if (x0 == 0)
        result[0] = 0;
    if (x0 + 4 == cols)
        result[3] = 0;
    *dst = make_uchar4(result[0], result[1], result[2], result[3]);
}

__device__ inline int pick(const uint4 &v, int i)
{
    unsigned word = i < 4 ? v.x : i < 8 ? v.y : i < 12 ? v.z : v.w;
    return (word >> (i % 4 * 8)) & 0xff;
}

__global__ void k91e(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x0 >= cols || y >= rows)
        return;
    uint4 *dst = reinterpret_cast<uint4 *>(out + y * cols + x0);
    if (y == 0 || y == rows - 1) {
        *dst = make_uint4(0, 0, 0, 0);
        return;
    }

    int sum[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i] = 0;
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const byte *row = in + (y + r - 1) * cols;
        uint4 v = *reinterpret_cast<const uint4 *>(row + x0);
        int left = x0 > 0 ? row[x0 - 1] : 0;
        int right = x0 + 16 < cols ? row[x0 + 16] : 0;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            int a = i > 0 ? pick(v, i - 1) : left;
            int b = pick(v, i);
            int c = i < 15 ? pick(v, i + 1) : right;
            sum[i] += weight_const[r * 3] * a + weight_const[r * 3 + 1] * b + weight_const[r * 3 + 2] * c;
        }
    }
    if (x0 == 0)
        sum[0] = 0;
    if (x0 + 16 == cols)
        sum[15] = 0;
    unsigned packed[4];
#pragma unroll
    for (int w = 0; w < 4; w++)
        packed[w] = unsigned(sum[w * 4] >> 4) | unsigned(sum[w * 4 + 1] >> 4) << 8 |
                    unsigned(sum[w * 4 + 2] >> 4) << 16 | unsigned(sum[w * 4 + 3] >> 4) << 24;
    *dst = make_uint4(packed[0], packed[1], packed[2], packed[3]);
}

__global__ void k91f(const byte *in, byte *out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows)
        return;
    if (x == 0 || y == 0 || x == cols - 1 || y == rows - 1) {
        out[y * cols + x] = 0;
        return;
    }
    byte v[9];
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            v[n++] = in[(y + dy) * cols + x + dx];
    for (int i = 0; i < 9; i++)
        for (int j = i + 1; j < 9; j++)
            if (v[i] > v[j]) {
                byte t = v[i];
                v[i] = v[j];
                v[j] = t;
            }
    out[y * cols + x] = v[4];
}

__device__ inline void order(int &a, int &b)
{
    int t = a;
    a = min(a, b);
    b = max(t, b);
}

__global__ void k91g(const byte *in, byte *out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols || y >= rows)
        return;
    if (x == 0 || y == 0 || x == cols - 1 || y == rows - 1) {
        out[y * cols + x] = 0;
        return;
    }
    const byte *up = in + (y - 1) * cols + x, *mid = up + cols, *low = mid + cols;
    int v0 = up[-1], v1 = up[0], v2 = up[1];
    int v3 = mid[-1], v4 = mid[0], v5 = mid[1];
    int v6 = low[-1], v7 = low[0], v8 = low[1];

    // Of six values the smallest and the largest cannot be the median; then five with one more, and so on.
    order(v0, v3), order(v1, v4), order(v2, v5);
    order(v0, v1), order(v0, v2), order(v4, v5), order(v3, v5);
    order(v1, v2), order(v3, v4), order(v1, v3), order(v1, v6), order(v4, v6), order(v2, v6);
    order(v2, v3), order(v4, v7), order(v2, v4), order(v3, v7);
    order(v4, v8), order(v3, v8), order(v3, v4);
    out[y * cols + x] = byte(v4);
}

__device__ inline int middle(int a, int b, int c)
{
    return max(min(a, b), min(max(a, b), c));
}

__global__ void k91h(const byte *__restrict__ in, byte *__restrict__ out, int rows, int cols)
{
    int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x0 >= cols || y >= rows)
        return;
    uchar4 *dst = reinterpret_cast<uchar4 *>(out + y * cols + x0);
    if (y == 0 || y == rows - 1) {
        *dst = make_uchar4(0, 0, 0, 0);
        return;
    }

    int v[3][6];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const byte *row = in + (y + r - 1) * cols;
        uchar4 q = *reinterpret_cast<const uchar4 *>(row + x0);
        v[r][0] = x0 > 0 ? row[x0 - 1] : 0;
        v[r][1] = q.x;
        v[r][2] = q.y;
        v[r][3] = q.z;
        v[r][4] = q.w;
        v[r][5] = x0 + 4 < cols ? row[x0 + 4] : 0;
    }
#pragma unroll
    for (int c = 0; c < 6; c++) {
        order(v[0][c], v[1][c]);
        order(v[1][c], v[2][c]);
        order(v[0][c], v[1][c]);
    }
    int result[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int low = max(max(v[0][i], v[0][i + 1]), v[0][i + 2]);
        int mid = middle(v[1][i], v[1][i + 1], v[1][i + 2]);
        int high = min(min(v[2][i], v[2][i + 1]), v[2][i + 2]);
        result[i] = middle(low, mid, high);
    }
    if (x0 == 0)
        result[0] = 0;
    if (x0 + 4 == cols)
        result[3] = 0;
    *dst = make_uchar4(result[0], result[1], result[2], result[3]);
}

int main()
{
    const int rows = 8192, cols = 8192, every = 15, chosen = (rows - 1) / every + 1;
    const size_t n = (size_t)rows * cols;
    byte *in = input<byte>(n, 911, 0, 256), *out = output<byte>(n);
    byte *picked = output<byte>((size_t)(chosen + 1) * cols);
    std::vector<byte> image = on_host(in, n);

    // Every 15th row, and the last one.
    auto row_of = [&](int c) { return c < chosen ? c * every : rows - 1; };
    std::vector<byte> smooth((size_t)(chosen + 1) * cols, 0), median = smooth;
    const int weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    for (int c = 0; c <= chosen; c++) {
        int y = row_of(c);
        if (y == 0 || y == rows - 1)
            continue;
        for (int x = 1; x < cols - 1; x++) {
            byte w[9];
            int sum = 0;
            for (int k = 0; k < 9; k++) {
                w[k] = image[(size_t)(y + k / 3 - 1) * cols + x + k % 3 - 1];
                sum += weights[k] * w[k];
            }
            smooth[(size_t)c * cols + x] = byte(sum >> 4);
            std::nth_element(w, w + 4, w + 9);
            median[(size_t)c * cols + x] = w[4];
        }
    }
    auto launch_and_check = [&](const char *name, const std::vector<byte> &want, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, cols, out, (size_t)every * cols, cols, chosen, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(picked + (size_t)chosen * cols, out + n - cols, cols, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
    };

    dim3 square(32, 32), tile(16, 16), wide(32, 8);
    dim3 by_pixel(cols / 32, rows / 32), by_four(cols / 128, rows / 32), by_sixteen(cols / 512, rows / 8);
    dim3 tiles(cols / 16, rows / 16), wides(cols / 128, rows / 8);

    launch_and_check("k91a", smooth, [&] { k91a<<<by_pixel, square>>>(in, out, rows, cols); });
    launch_and_check("k91b", smooth, [&] { k91b<<<by_four, square>>>(in, out, rows, cols); });
    launch_and_check("k91c", smooth, [&] { k91c<<<by_four, square>>>(in, out, rows, cols); });
    launch_and_check("k91d", smooth, [&] { k91d<<<by_four, square>>>(in, out, rows, cols); });
    launch_and_check("k91e", smooth, [&] { k91e<<<by_sixteen, wide>>>(in, out, rows, cols); });
    launch_and_check("k91f", median, [&] { k91f<<<tiles, tile>>>(in, out, rows, cols); });
    launch_and_check("k91g", median, [&] { k91g<<<tiles, tile>>>(in, out, rows, cols); });
    launch_and_check("k91h", median, [&] { k91h<<<wides, wide>>>(in, out, rows, cols); });
    return 0;
}
