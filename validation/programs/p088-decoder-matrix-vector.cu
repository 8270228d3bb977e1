// Matrix-vector products of a decoder at batch 1, with half weights and with 4-bit weights in groups of 128, and the rotary
// embedding of a batch of queries.
#include "../harness.h"

#include <functional>

__device__ inline float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// A warp for each row.
__global__ void k88a(const half *__restrict__ matrix, const half *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const half2 *m = (const half2 *)(matrix + (size_t)row * cols);
    const half2 *v = (const half2 *)x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 2; i += 32) {
        float2 a = __half22float2(m[i]);
        float2 b = __half22float2(v[i]);
        sum += a.x * b.x + a.y * b.y;
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

__device__ inline float dot8(uint4 a, uint4 b)
{
    const half2 *p = (const half2 *)&a;
    const half2 *q = (const half2 *)&b;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 f = __half22float2(p[i]);
        float2 g = __half22float2(q[i]);
        sum += f.x * g.x + f.y * g.y;
    }
    return sum;
}

// cols is a multiple of 8.
__global__ void k88b(const half *__restrict__ matrix, const half *__restrict__ x, float *__restrict__ y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const uint4 *m = (const uint4 *)(matrix + (size_t)row * cols);
    const uint4 *v = (const uint4 *)x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 8; i += 32)
        sum += dot8(m[i], v[i]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

// cols is a multiple of 8, and rows of blockDim.y.
__global__ void k88c(const half *__restrict__ matrix, const half *__restrict__ x, float *__restrict__ y, int cols)
{
    extern __shared__ uint4 xs[];
    for (int i = threadIdx.y * 32 + threadIdx.x; i < cols / 8; i += 32 * blockDim.y)
        xs[i] = ((const uint4 *)x)[i];
    __syncthreads();

    int row = blockIdx.x * blockDim.y + threadIdx.y;
    const uint4 *m = (const uint4 *)(matrix + (size_t)row * cols);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 8; i += 32)
        sum += dot8(m[i], xs[i]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

const int PER_GROUP = 128;

// Eight weights to a word: nibble n holds weight 2n, nibble n + 4 holds weight 2n + 1; 8 stands for zero.
__global__ void k88d(const unsigned *__restrict__ packed, const half *__restrict__ scales, const half *__restrict__ x,
                     float *__restrict__ y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const unsigned *m = packed + (size_t)row * (cols / 8);
    const half *s = scales + (size_t)row * (cols / PER_GROUP);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 8; i += 32) {
        unsigned word = m[i];
        float scale = __half2float(s[i / (PER_GROUP / 8)]);
        uint4 v = ((const uint4 *)x)[i];
        const half2 *pair = (const half2 *)&v;
#pragma unroll
        for (int n = 0; n < 4; n++) {
            float2 f = __half22float2(pair[n]);
            int even = (word >> (4 * n)) & 0xF;
            int odd = (word >> (4 * n + 16)) & 0xF;
            sum += scale * float(even - 8) * f.x;
            sum += scale * float(odd - 8) * f.y;
        }
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

__device__ inline half2 as_half2(unsigned bits)
{
    return *(half2 *)&bits;
}

__global__ void k88e(const unsigned *__restrict__ packed, const half *__restrict__ scales, const half *__restrict__ x,
                     float *__restrict__ y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const half2 low_zero = __float2half2_rn(1032.0f);
    const half2 sixteenth = __float2half2_rn(0.0625f);
    const half2 high_zero = __float2half2_rn(-72.0f);
    const unsigned *m = packed + (size_t)row * (cols / 8);
    const half *s = scales + (size_t)row * (cols / PER_GROUP);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 8; i += 32) {
        unsigned word = m[i];
        float scale = __half2float(s[i / (PER_GROUP / 8)]);
        uint4 v = ((const uint4 *)x)[i];
        const half2 *pair = (const half2 *)&v;
        unsigned upper = word >> 8;
        half2 q0 = __hsub2(as_half2((word & 0x000f000fu) | 0x64006400u), low_zero);
        half2 q1 = __hfma2(as_half2((word & 0x00f000f0u) | 0x64006400u), sixteenth, high_zero);
        half2 q2 = __hsub2(as_half2((upper & 0x000f000fu) | 0x64006400u), low_zero);
        half2 q3 = __hfma2(as_half2((upper & 0x00f000f0u) | 0x64006400u), sixteenth, high_zero);
        half2 p = __hmul2(q0, pair[0]);
        p = __hfma2(q1, pair[1], p);
        p = __hfma2(q2, pair[2], p);
        p = __hfma2(q3, pair[3], p);
        float2 f = __half22float2(p);
        sum += scale * (f.x + f.y);
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

const int HEAD = 128;

// q is (tokens, heads, HEAD); the position of a token is its number modulo length. A thread for each pair.
__global__ void k88f(const half2 *__restrict__ q, half2 *__restrict__ out, int pairs, int heads, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    int d = i % (HEAD / 2);
    int position = i / (HEAD / 2) / heads % length;
    float frequency = 1.0f / powf(10000.0f, 2.0f * d / HEAD);
    float s, c;
    sincosf(position * frequency, &s, &c);
    float2 v = __half22float2(q[i]);
    out[i] = __floats2half2_rn(v.x * c - v.y * s, v.x * s + v.y * c);
}

// turn is (length, HEAD / 2): cosine and sine.
__global__ void k88g(const half2 *__restrict__ q, const float2 *__restrict__ turn, half2 *__restrict__ out, int pairs,
                     int heads, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs)
        return;
    int d = i % (HEAD / 2);
    int position = i / (HEAD / 2) / heads % length;
    float2 cs = turn[position * (HEAD / 2) + d];
    float2 v = __half22float2(q[i]);
    out[i] = __floats2half2_rn(v.x * cs.x - v.y * cs.y, v.x * cs.y + v.y * cs.x);
}

// A thread for four pairs.
__global__ void k88h(const uint4 *__restrict__ q, const float4 *__restrict__ turn, uint4 *__restrict__ out, int quads,
                     int heads, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    int d = i % (HEAD / 8);
    int position = i / (HEAD / 8) / heads % length;
    const float4 *at = turn + (position * (HEAD / 8) + d) * 2;
    float4 t0 = at[0], t1 = at[1];
    uint4 raw = q[i];
    half2 *v = (half2 *)&raw;
    float2 a = __half22float2(v[0]), b = __half22float2(v[1]), c = __half22float2(v[2]), e = __half22float2(v[3]);
    v[0] = __floats2half2_rn(a.x * t0.x - a.y * t0.y, a.x * t0.y + a.y * t0.x);
    v[1] = __floats2half2_rn(b.x * t0.z - b.y * t0.w, b.x * t0.w + b.y * t0.z);
    v[2] = __floats2half2_rn(c.x * t1.x - c.y * t1.y, c.x * t1.y + c.y * t1.x);
    v[3] = __floats2half2_rn(e.x * t1.z - e.y * t1.w, e.x * t1.w + e.y * t1.z);
    out[i] = raw;
}

// Every step-th line of a matrix.
template <class T> __global__ void every(const T *from, T *to, size_t width, int step, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i / width * step * width + i % width];
}

__global__ void widen(const half *from, float *to, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = __half2float(from[i]);
}

std::vector<float> as_floats(const half *data, size_t n)
{
    float *wide = output<float>(n);
    widen<<<1056, 256>>>(data, wide, n);
    MUST(cudaDeviceSynchronize());
    std::vector<float> host = on_host(wide, n);
    MUST(cudaFree(wide));
    return host;
}

int main()
{
    {
        const int rows = 14336, cols = 4096;
        half *matrix = input<half>((size_t)rows * cols, 881, -1.0, 1.0);
        half *x = input<half>(cols, 882, -1.0, 1.0);
        float *y = output<float>(rows);
        std::vector<float> want(rows);
        {
            std::vector<float> m = as_floats(matrix, (size_t)rows * cols), v = as_floats(x, cols);
            for (int r = 0; r < rows; r++) {
                double sum = 0.0;
                for (int c = 0; c < cols; c++)
                    sum += double(m[(size_t)r * cols + c]) * v[c];
                want[r] = float(sum);
            }
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(y, 0xA5, rows * sizeof(float)));
            launch();
            check(name, y, want, 1e-3);
        };
        launch_and_check("k88a", [&] { k88a<<<rows / 4, dim3(32, 4)>>>(matrix, x, y, rows, cols); });
        launch_and_check("k88b", [&] { k88b<<<rows / 4, dim3(32, 4)>>>(matrix, x, y, rows, cols); });
        launch_and_check("k88c",
                         [&] { k88c<<<rows / 4, dim3(32, 4), cols * sizeof(half)>>>(matrix, x, y, cols); });
        MUST(cudaFree(matrix));
    }
    {
        const int rows = 28672, cols = 8192, stride = 53;
        const size_t words = (size_t)rows * cols / 8;
        unsigned *packed = input<unsigned>(words, 883, 0.0, 4294967296.0);
        half *scales = input<half>((size_t)rows * cols / PER_GROUP, 884, 0.001, 0.01);
        half *x = input<half>(cols, 885, -1.0, 1.0);
        float *y = output<float>(rows), *picked = output<float>((rows + stride - 1) / stride);
        std::vector<float> want;
        {
            std::vector<float> s = as_floats(scales, (size_t)rows * cols / PER_GROUP), v = as_floats(x, cols);
            for (int r = 0; r < rows; r += stride) {
                std::vector<unsigned> m = on_host(packed + (size_t)r * (cols / 8), cols / 8);
                double sum = 0.0;
                for (int i = 0; i < cols / 8; i++)
                    for (int n = 0; n < 8; n++) {
                        int column = i * 8 + (n < 4 ? 2 * n : 2 * (n - 4) + 1);
                        double weight = (int(m[i] >> (4 * n) & 0xF) - 8) *
                                        double(s[(size_t)r * (cols / PER_GROUP) + column / PER_GROUP]);
                        sum += weight * v[column];
                    }
                want.push_back(float(sum));
            }
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(y, 0xA5, rows * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            every<<<16, 256>>>(y, picked, 1, stride, want.size());
            check(name, picked, want, 2e-2);
        };
        launch_and_check("k88d", [&] { k88d<<<rows / 4, dim3(32, 4)>>>(packed, scales, x, y, rows, cols); });
        launch_and_check("k88e", [&] { k88e<<<rows / 4, dim3(32, 4)>>>(packed, scales, x, y, rows, cols); });
        MUST(cudaFree(packed));
    }
    {
        const int length = 2048, tokens = 4 * length, heads = 32;
        const int pairs = tokens * heads * (HEAD / 2);
        half *q = input<half>((size_t)pairs * 2, 886, -1.0, 1.0);
        half *out = output<half>((size_t)pairs * 2);
        std::vector<float2> table((size_t)length * (HEAD / 2));
        for (int p = 0; p < length; p++)
            for (int d = 0; d < HEAD / 2; d++) {
                double angle = p * std::pow(10000.0, -2.0 * d / HEAD);
                table[(size_t)p * (HEAD / 2) + d] = make_float2(float(std::cos(angle)), float(std::sin(angle)));
            }
        float2 *turn = on_device(table);

        // Every 7th token.
        const size_t row = (size_t)heads * HEAD;
        const int chosen = (tokens + 6) / 7;
        half *picked = output<half>(chosen * row);
        float *wide = output<float>(chosen * row);
        auto pick = [&](const half *from) {
            every<<<1056, 256>>>(from, picked, row, 7, chosen * row);
            widen<<<1056, 256>>>(picked, wide, chosen * row);
            MUST(cudaDeviceSynchronize());
        };
        pick(q);
        std::vector<float> want = on_host(wide, chosen * row);
        for (int t = 0; t < chosen; t++)
            for (size_t i = 0; i < row / 2; i++) {
                float2 cs = table[(size_t)(7 * t % length) * (HEAD / 2) + i % (HEAD / 2)];
                float &a = want[t * row + 2 * i], &b = want[t * row + 2 * i + 1];
                float first = a * cs.x - b * cs.y, second = a * cs.y + b * cs.x;
                a = first;
                b = second;
            }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, (size_t)pairs * 2 * sizeof(half)));
            launch();
            MUST(cudaGetLastError());
            pick(out);
            check(name, wide, want, 5e-3);
        };
        launch_and_check("k88f", [&] {
            k88f<<<(pairs + 255) / 256, 256>>>((const half2 *)q, (half2 *)out, pairs, heads, length);
        });
        launch_and_check("k88g", [&] {
            k88g<<<(pairs + 255) / 256, 256>>>((const half2 *)q, turn, (half2 *)out, pairs, heads, length);
        });
        launch_and_check("k88h", [&] {
            k88h<<<(pairs / 4 + 255) / 256, 256>>>((const uint4 *)q, (const float4 *)turn, (uint4 *)out, pairs / 4, heads,
                                                   length);
        });
    }
    return 0;
}
