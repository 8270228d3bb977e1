// Displacement field of a thin-plate spline with 128 control points, the class of every pixel from 21 scores
// (segmentation), and tone mapping of a high dynamic range picture.
#include "../harness.h"

#include <functional>

const int WIDTH = 2048, HEIGHT = 2048, CONTROLS = 128;

// control: x, y, weight in x, weight in y.
__global__ void k213a(float2 *moved, const float4 *control, int controls, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float fx = x * (2.0f / width) - 1.0f, fy = y * (2.0f / height) - 1.0f;
    float sx = fx, sy = fy;
    for (int i = 0; i < controls; i++) {
        float4 c = control[i];
        float dx = fx - c.x, dy = fy - c.y;
        float r = sqrtf(dx * dx + dy * dy);
        float u = 0.0f;
        if (r > 0.0f)
            u = r * r * logf(r);
        sx += c.z * u;
        sy += c.w * u;
    }
    moved[y * width + x] = make_float2(sx, sy);
}

__global__ void k213b(float2 *moved, const float4 *control, int controls, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float fx = x * (2.0f / width) - 1.0f, fy = y * (2.0f / height) - 1.0f;
    float sx = 0.0f, sy = 0.0f;
    for (int i = 0; i < controls; i++) {
        float4 c = control[i];
        float dx = fx - c.x, dy = fy - c.y;
        float r2 = fmaxf(dx * dx + dy * dy, 1e-20f);
        float u = r2 * logf(r2);
        sx += c.z * u;
        sy += c.w * u;
    }
    moved[y * width + x] = make_float2(fx + 0.5f * sx, fy + 0.5f * sy);
}

__global__ void k213c(float2 *moved, const float4 *control, int controls, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float fx = x * (2.0f / width) - 1.0f, fy = y * (2.0f / height) - 1.0f;
    float sx = 0.0f, sy = 0.0f;
    for (int i = 0; i < controls; i++) {
        float4 c = control[i];
        float dx = fx - c.x, dy = fy - c.y;
        float r2 = fmaxf(dx * dx + dy * dy, 1e-20f);
        float u = r2 * __logf(r2);
        sx += c.z * u;
        sy += c.w * u;
    }
    moved[y * width + x] = make_float2(fx + 0.5f * sx, fy + 0.5f * sy);
}

__device__ inline float log_two(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// A block of 32 x 8 threads makes 128 x 8 pixels.
__global__ void k213d(float2 *__restrict__ moved, const float4 *__restrict__ control, int controls, int width,
                      int height)
{
    int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float fy = y * (2.0f / height) - 1.0f;
    float fx[4], sx[4], sy[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        fx[j] = (x + 32 * j) * (2.0f / width) - 1.0f;
        sx[j] = sy[j] = 0.0f;
    }
#pragma unroll 2
    for (int i = 0; i < controls; i++) {
        float4 c = control[i];
        float dy = fy - c.y;
        float dy2 = fmaf(dy, dy, 1e-20f);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float dx = fx[j] - c.x;
            float r2 = fmaf(dx, dx, dy2);
            float u = r2 * log_two(r2);
            sx[j] = fmaf(c.z, u, sx[j]);
            sy[j] = fmaf(c.w, u, sy[j]);
        }
    }
    const float scale = 0.5f * 0.69314718f;
#pragma unroll
    for (int j = 0; j < 4; j++)
        moved[y * width + x + 32 * j] = make_float2(fmaf(scale, sx[j], fx[j]), fmaf(scale, sy[j], fy));
}

const int CLASSES = 21;

// score[pixel][class]
__global__ void k213e(unsigned char *label, const float *score, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels)
        return;
    float best = score[(size_t)p * CLASSES];
    int at = 0;
    for (int c = 1; c < CLASSES; c++) {
        float s = score[(size_t)p * CLASSES + c];
        if (s > best) {
            best = s;
            at = c;
        }
    }
    label[p] = at;
}

// 256 pixels per block; the number of pixels is a multiple of 256.
__global__ void k213f(unsigned char *__restrict__ label, const float *__restrict__ score)
{
    const int group = 256, quads = group * CLASSES / 4;
    __shared__ float4 stage[quads];
    const float4 *src = reinterpret_cast<const float4 *>(score) + (size_t)blockIdx.x * quads;
#pragma unroll
    for (int i = 0; i < quads; i += group)
        if (i + threadIdx.x < quads)
            stage[i + threadIdx.x] = src[i + threadIdx.x];
    __syncthreads();
    const float *mine = reinterpret_cast<const float *>(stage) + threadIdx.x * CLASSES;
    float best = mine[0];
    int at = 0;
#pragma unroll
    for (int c = 1; c < CLASSES; c++) {
        float s = mine[c];
        if (s > best) {
            best = s;
            at = c;
        }
    }
    label[blockIdx.x * group + threadIdx.x] = at;
}

__global__ void k213g(uchar4 *out, const float4 *in, float exposure, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = in[i];
    float c[3] = {v.x, v.y, v.z};
    for (int k = 0; k < 3; k++) {
        float l = c[k] * exposure;
        l = l * (2.51 * l + 0.03) / (l * (2.43 * l + 0.59) + 0.14);
        l = pow(l, 1.0 / 2.2);
        c[k] = fminf(l, 1.0f) * 255.0 + 0.5;
    }
    out[i] = make_uchar4(c[0], c[1], c[2], 255);
}

__global__ void k213h(uchar4 *out, const float4 *in, float exposure, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = in[i];
    float c[3] = {v.x, v.y, v.z};
    for (int k = 0; k < 3; k++) {
        float l = c[k] * exposure;
        l = l * (2.51f * l + 0.03f) / (l * (2.43f * l + 0.59f) + 0.14f);
        l = powf(l, 1.0f / 2.2f);
        c[k] = fminf(l, 1.0f) * 255.0f + 0.5f;
    }
    out[i] = make_uchar4(c[0], c[1], c[2], 255);
}

__global__ void k213i(uchar4 *__restrict__ out, const float4 *__restrict__ in, float exposure, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = in[i];
    float c[3] = {v.x, v.y, v.z};
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float l = c[k] * exposure;
        l = __fdividef(l * (2.51f * l + 0.03f), l * (2.43f * l + 0.59f) + 0.14f);
        l = __powf(l, 1.0f / 2.2f);
        c[k] = fminf(l, 1.0f) * 255.0f + 0.5f;
    }
    out[i] = make_uchar4(c[0], c[1], c[2], 255);
}

// Bytes as numbers from 1 to 2, to compare within about one level.
__global__ void fill_levels(float *out, const unsigned char *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 1.0f + in[i] / 256.0f;
}

int main()
{
    {
        const size_t n = (size_t)WIDTH * HEIGHT;
        std::vector<float4> control(CONTROLS);
        for (int i = 0; i < CONTROLS; i++) {
            auto number = [&](int k) { return float(scrambled(i * 4 + k, 2131) / 2147483648.0 - 1.0); };
            control[i] = make_float4(number(0), number(1), 0.2f * number(2), 0.2f * number(3));
        }
        float4 *points = on_device(control);
        float2 *moved = output<float2>(n);
        // Every 129th row: 0, 129, ..., 1935.
        const int every = 129, rows = (HEIGHT - 1) / every + 1;
        std::vector<float> want((size_t)rows * WIDTH * 2);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < WIDTH; x++) {
                double fx = x * (2.0 / WIDTH) - 1.0, fy = r * every * (2.0 / HEIGHT) - 1.0, sx = 0.0, sy = 0.0;
                for (const float4 &c : control) {
                    double dx = fx - c.x, dy = fy - c.y, r2 = dx * dx + dy * dy;
                    double u = r2 > 0.0 ? 0.5 * r2 * std::log(r2) : 0.0;
                    sx += c.z * u;
                    sy += c.w * u;
                }
                want[((size_t)r * WIDTH + x) * 2] = float(fx + sx);
                want[((size_t)r * WIDTH + x) * 2 + 1] = float(fy + sy);
            }
        float *picked = output<float>(want.size());
        auto spline = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(moved, 0xA5, n * sizeof(float2)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const size_t bytes = WIDTH * sizeof(float2);
            MUST(cudaMemcpy2D(picked, bytes, moved, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-4);
        };
        dim3 block(32, 8), all(WIDTH / 32, HEIGHT / 8), wide(WIDTH / 128, HEIGHT / 8);
        spline("k213a", [&] { k213a<<<all, block>>>(moved, points, CONTROLS, WIDTH, HEIGHT); });
        spline("k213b", [&] { k213b<<<all, block>>>(moved, points, CONTROLS, WIDTH, HEIGHT); });
        spline("k213c", [&] { k213c<<<all, block>>>(moved, points, CONTROLS, WIDTH, HEIGHT); });
        spline("k213d", [&] { k213d<<<wide, block>>>(moved, points, CONTROLS, WIDTH, HEIGHT); });
        MUST(cudaFree(moved));
    }
    {
        const int pixels = 8 << 20, part = 1 << 18;
        float *score = input<float>((size_t)pixels * CLASSES, 2132, -8.0, 8.0);
        unsigned char *label = output<unsigned char>(pixels);
        // The last quarter of a million pixels.
        std::vector<float> some = on_host(score + (size_t)(pixels - part) * CLASSES, (size_t)part * CLASSES);
        std::vector<unsigned char> want(part);
        for (int p = 0; p < part; p++) {
            int at = 0;
            for (int c = 1; c < CLASSES; c++)
                if (some[(size_t)p * CLASSES + c] > some[(size_t)p * CLASSES + at])
                    at = c;
            want[p] = at;
        }
        auto classify = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(label, 0xA5, pixels));
            launch();
            check(name, label + pixels - part, want, 0.0);
        };
        classify("k213e", [&] { k213e<<<pixels / 256, 256>>>(label, score, pixels); });
        classify("k213f", [&] { k213f<<<pixels / 256, 256>>>(label, score); });
        MUST(cudaFree(score));
    }
    {
        const int n = 32 << 20, part = 1 << 16;
        const float exposure = 0.8f;
        float4 *in = reinterpret_cast<float4 *>(input<float>((size_t)n * 4, 2133, 0.001, 2.0));
        uchar4 *out = output<uchar4>(n);
        std::vector<float4> some = on_host(in + n - part, part);
        std::vector<float> want((size_t)part * 4);
        for (int i = 0; i < part; i++) {
            double c[3] = {some[i].x, some[i].y, some[i].z};
            for (int k = 0; k < 3; k++) {
                double l = c[k] * exposure;
                l = l * (2.51 * l + 0.03) / (l * (2.43 * l + 0.59) + 0.14);
                l = std::fmin(std::pow(l, 1.0 / 2.2), 1.0) * 255.0 + 0.5;
                want[i * 4 + k] = float(1.0 + std::floor(l) / 256.0);
            }
            want[i * 4 + 3] = float(1.0 + 255 / 256.0);
        }
        float *levels = output<float>(want.size());
        auto tones = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(uchar4)));
            launch();
            MUST(cudaGetLastError());
            fill_levels<<<part * 4 / 256, 256>>>(levels, reinterpret_cast<unsigned char *>(out + n - part), part * 4);
            check(name, levels, want, 0.005);
        };
        tones("k213g", [&] { k213g<<<n / 256, 256>>>(out, in, exposure, n); });
        tones("k213h", [&] { k213h<<<n / 256, 256>>>(out, in, exposure, n); });
        tones("k213i", [&] { k213i<<<n / 256, 256>>>(out, in, exposure, n); });
    }
    return 0;
}
