// Accelerations of bodies that attract each other (all pairs), and the conversion of a colour image to grey.
#include "../harness.h"

#include <functional>

const int BODIES = 50688, THREADS = 128;
const float SOFT = 1e-4f;

struct Body {
    float x, y, z, vx, vy, vz, m;
};

__global__ void k133a(const Body *body, float *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = body[i].x, y = body[i].y, z = body[i].z;
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = body[j].x - x;
        float dy = body[j].y - y;
        float dz = body[j].z - z;
        float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + SOFT);
        float s = body[j].m * inv * inv * inv;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }
    acc[3 * i] = ax;
    acc[3 * i + 1] = ay;
    acc[3 * i + 2] = az;
}

// What the compiler makes of rsqrtf when it flushes denormal numbers.
__device__ inline float inverse_root(float v)
{
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

__global__ void k133b(const Body *body, float *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = body[i].x, y = body[i].y, z = body[i].z;
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = body[j].x - x;
        float dy = body[j].y - y;
        float dz = body[j].z - z;
        float inv = inverse_root(dx * dx + dy * dy + dz * dz + SOFT);
        float s = body[j].m * inv * inv * inv;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }
    acc[3 * i] = ax;
    acc[3 * i + 1] = ay;
    acc[3 * i + 2] = az;
}

__device__ inline void attract(float3 &a, float4 other, float x, float y, float z)
{
    float dx = other.x - x;
    float dy = other.y - y;
    float dz = other.z - z;
    float inv = inverse_root(dx * dx + dy * dy + dz * dz + SOFT);
    float s = other.w * inv * inv * inv;
    a.x += dx * s;
    a.y += dy * s;
    a.z += dz * s;
}

// The number of bodies is a multiple of the block size.
__global__ void k133c(const Body *body, float *acc, int n)
{
    __shared__ float4 some[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    float x = body[i].x, y = body[i].y, z = body[i].z;
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += THREADS) {
        const Body &b = body[first + threadIdx.x];
        some[threadIdx.x] = make_float4(b.x, b.y, b.z, b.m);
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < THREADS; j++)
            attract(a, some[j], x, y, z);
        __syncthreads();
    }
    acc[3 * i] = a.x;
    acc[3 * i + 1] = a.y;
    acc[3 * i + 2] = a.z;
}

__global__ void k133d(const float4 *body, float *acc, int n)
{
    __shared__ float4 some[THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    float4 me = body[i];
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += THREADS) {
        some[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int j = 0; j < THREADS; j++)
            attract(a, some[j], me.x, me.y, me.z);
        __syncthreads();
    }
    acc[3 * i] = a.x;
    acc[3 * i + 1] = a.y;
    acc[3 * i + 2] = a.z;
}

const int WIDTH = 8192, HEIGHT = 8192;

__global__ void k133e(const uchar3 *rgb, unsigned char *grey, int width, int height)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) {
        uchar3 p = rgb[row * width + column];
        grey[row * width + column] = (unsigned char)(0.299 * p.x + 0.587 * p.y + 0.114 * p.z);
    }
}

__global__ void k133f(const uchar3 *rgb, unsigned char *grey, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) {
        uchar3 p = rgb[row * width + column];
        grey[row * width + column] = (unsigned char)(0.299 * p.x + 0.587 * p.y + 0.114 * p.z);
    }
}

__global__ void k133g(const uchar3 *rgb, unsigned char *grey, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && column < width) {
        uchar3 p = rgb[row * width + column];
        grey[row * width + column] = (unsigned char)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
    }
}

__device__ inline unsigned byte_of(unsigned word, int k)
{
    return word >> 8 * k & 0xff;
}

// Four pixels of twelve bytes.
__device__ inline unsigned four(unsigned a, unsigned b, unsigned c)
{
    const unsigned word[3] = {a, b, c};
    unsigned result = 0;
#pragma unroll
    for (int p = 0; p < 4; p++) {
        float red = byte_of(word[3 * p / 4], 3 * p % 4);
        float green = byte_of(word[(3 * p + 1) / 4], (3 * p + 1) % 4);
        float blue = byte_of(word[(3 * p + 2) / 4], (3 * p + 2) % 4);
        result |= unsigned(0.299f * red + 0.587f * green + 0.114f * blue) << 8 * p;
    }
    return result;
}

// Sixteen pixels per thread.
__global__ void k133h(const uint4 *rgb, uint4 *grey, int groups)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < groups) {
        uint4 a = rgb[3 * i], b = rgb[3 * i + 1], c = rgb[3 * i + 2];
        grey[i] = make_uint4(four(a.x, a.y, a.z), four(a.w, b.x, b.y), four(b.z, b.w, c.x), four(c.y, c.z, c.w));
    }
}

// 1 where the grey value is off by more than one step.
__global__ void fill_off(const unsigned char *got, const unsigned char *want, int *off, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        off[i] = abs(int(got[i]) - int(want[i])) > 1;
}

int main()
{
    std::vector<Body> bodies(BODIES);
    std::vector<float4> packed(BODIES);
    for (int i = 0; i < BODIES; i++) {
        float v[7];
        for (int k = 0; k < 7; k++)
            v[k] = float(scrambled(i * 7ull + k, 1331) / 2147483648.0 - 1.0);
        float mass = (1.5f + 0.5f * v[6]) / BODIES;
        bodies[i] = {v[0], v[1], v[2], v[3], v[4], v[5], mass};
        packed[i] = make_float4(v[0], v[1], v[2], mass);
    }
    // Every 251st body: 0, 251, ..., 50451.
    const int every = 251, chosen = (BODIES - 1) / every + 1;
    std::vector<float> want(3 * chosen);
    for (int c = 0; c < chosen; c++) {
        const Body &me = bodies[c * every];
        double a[3] = {0, 0, 0};
        for (const Body &b : bodies) {
            double dx = double(b.x) - me.x, dy = double(b.y) - me.y, dz = double(b.z) - me.z;
            double d2 = dx * dx + dy * dy + dz * dz + SOFT, s = b.m / (d2 * std::sqrt(d2));
            a[0] += dx * s;
            a[1] += dy * s;
            a[2] += dz * s;
        }
        for (int k = 0; k < 3; k++)
            want[3 * c + k] = float(a[k]);
    }
    Body *body = on_device(bodies);
    float4 *body4 = on_device(packed);
    float *acc = output<float>(3 * BODIES), *picked = output<float>(3 * chosen);
    auto attraction = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(acc, 0xA5, 3 * BODIES * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = 3 * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, acc, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-4);
    };
    const int blocks = BODIES / THREADS;
    attraction("k133a", [&] { k133a<<<blocks, THREADS>>>(body, acc, BODIES); });
    attraction("k133b", [&] { k133b<<<blocks, THREADS>>>(body, acc, BODIES); });
    attraction("k133c", [&] { k133c<<<blocks, THREADS>>>(body, acc, BODIES); });
    attraction("k133d", [&] { k133d<<<blocks, THREADS>>>(body4, acc, BODIES); });

    const int pixels = WIDTH * HEIGHT;
    unsigned char *rgb = input<unsigned char>((size_t)pixels * 3, 1332, 0.0, 256.0);
    unsigned char *grey = output<unsigned char>(pixels);
    // Every eighth row.
    const int skip = 8, rows = HEIGHT / skip, sampled = rows * WIDTH;
    std::vector<unsigned char> wanted(sampled);
    {
        std::vector<unsigned char> h = on_host(rgb, (size_t)pixels * 3);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < WIDTH; x++) {
                const unsigned char *p = &h[((size_t)r * skip * WIDTH + x) * 3];
                wanted[r * WIDTH + x] = (unsigned char)(0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]);
            }
    }
    unsigned char *reference = on_device(wanted), *part = output<unsigned char>(sampled);
    int *off = output<int>(sampled);
    const std::vector<int> none(sampled, 0);
    auto convert = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(grey, 0xA5, pixels));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(part, WIDTH, grey, skip * WIDTH, WIDTH, rows, cudaMemcpyDeviceToDevice));
        fill_off<<<sampled / 256, 256>>>(part, reference, off, sampled);
        check(name, off, none, 0.0);
    };
    const uchar3 *colour = reinterpret_cast<const uchar3 *>(rgb);
    const uint4 *rgb16 = reinterpret_cast<const uint4 *>(rgb);
    uint4 *grey16 = reinterpret_cast<uint4 *>(grey);
    const dim3 block(16, 16), grid(WIDTH / 16, HEIGHT / 16);
    convert("k133e", [&] { k133e<<<dim3(HEIGHT / 16, WIDTH / 16), block>>>(colour, grey, WIDTH, HEIGHT); });
    convert("k133f", [&] { k133f<<<grid, block>>>(colour, grey, WIDTH, HEIGHT); });
    convert("k133g", [&] { k133g<<<grid, block>>>(colour, grey, WIDTH, HEIGHT); });
    convert("k133h", [&] { k133h<<<pixels / 16 / 256, 256>>>(rgb16, grey16, pixels / 16); });
    return 0;
}
