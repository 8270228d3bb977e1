// Median of nine 16-bit frames at every pixel, colours of points from spherical harmonics, and overlapping frames of a
// signal times a Blackman-Harris window.
#include "../harness.h"

#include <functional>

const int FRAMES = 9;

__global__ void k216a(unsigned short *median, const unsigned short *frame, int frames, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels)
        return;
    unsigned short v[32];
    for (int i = 0; i < frames; i++) {
        unsigned short now = frame[(size_t)i * pixels + p];
        int j = i;
        while (j > 0 && v[j - 1] > now) {
            v[j] = v[j - 1];
            j--;
        }
        v[j] = now;
    }
    median[p] = v[frames / 2];
}

__global__ void k216b(unsigned short *__restrict__ median, const unsigned short *__restrict__ frame, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pixels)
        return;
    unsigned v[FRAMES];
#pragma unroll
    for (int i = 0; i < FRAMES; i++)
        v[i] = frame[(size_t)i * pixels + p];
#pragma unroll
    for (int i = FRAMES - 1; i > 0; i--)
#pragma unroll
        for (int j = 0; j < i; j++) {
            unsigned low = min(v[j], v[j + 1]), high = max(v[j], v[j + 1]);
            v[j] = low;
            v[j + 1] = high;
        }
    median[p] = v[FRAMES / 2];
}

__device__ inline void order(unsigned &a, unsigned &b)
{
    unsigned low = __vminu2(a, b);
    b = __vmaxu2(a, b);
    a = low;
}

// Two pixels per word.
__global__ void k216c(unsigned *__restrict__ median, const unsigned *__restrict__ frame, int words)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= words)
        return;
    unsigned v[FRAMES];
#pragma unroll
    for (int i = 0; i < FRAMES; i++)
        v[i] = frame[(size_t)i * words + p];
    order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
    order(v[0], v[1]), order(v[3], v[4]), order(v[6], v[7]);
    order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
    order(v[0], v[3]), order(v[5], v[8]), order(v[4], v[7]);
    order(v[3], v[6]), order(v[1], v[4]), order(v[2], v[5]);
    order(v[4], v[7]), order(v[4], v[2]), order(v[6], v[4]);
    order(v[4], v[2]);
    median[p] = v[4];
}

const int TERMS = 16;

// The sixteen harmonics up to degree 3 in direction (x, y, z).
template <class T> __host__ __device__ inline void harmonics(T x, T y, T z, T *b)
{
    T xx = x * x, yy = y * y, zz = z * z;
    b[0] = T(0.28209479177387814);
    b[1] = T(-0.4886025119029199) * y;
    b[2] = T(0.4886025119029199) * z;
    b[3] = T(-0.4886025119029199) * x;
    b[4] = T(1.0925484305920792) * x * y;
    b[5] = T(-1.0925484305920792) * y * z;
    b[6] = T(0.31539156525252005) * (zz + zz - xx - yy);
    b[7] = T(-1.0925484305920792) * x * z;
    b[8] = T(0.5462742152960396) * (xx - yy);
    b[9] = T(-0.5900435899266435) * y * (xx + xx + xx - yy);
    b[10] = T(2.890611442640554) * x * y * z;
    b[11] = T(-0.4570457994644658) * y * (T(4) * zz - xx - yy);
    b[12] = T(0.3731763325901154) * z * (zz + zz - T(3) * (xx + yy));
    b[13] = T(-0.4570457994644658) * x * (T(4) * zz - xx - yy);
    b[14] = T(1.445305721320277) * z * (xx - yy);
    b[15] = T(-0.5900435899266435) * x * (xx - yy - yy - yy);
}

// place[point][3], weight[point][16][3], colour[point][3]
__global__ void k216d(float *colour, const float *place, const float *weight, float3 eye, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float x = place[(size_t)p * 3] - eye.x, y = place[(size_t)p * 3 + 1] - eye.y, z = place[(size_t)p * 3 + 2] - eye.z;
    float r = 1.0f / sqrtf(x * x + y * y + z * z);
    float b[TERMS], sum[3] = {0.5f, 0.5f, 0.5f};
    harmonics(x * r, y * r, z * r, b);
#pragma unroll
    for (int k = 0; k < TERMS; k++)
#pragma unroll
        for (int c = 0; c < 3; c++)
            sum[c] += b[k] * weight[((size_t)p * TERMS + k) * 3 + c];
#pragma unroll
    for (int c = 0; c < 3; c++)
        colour[(size_t)p * 3 + c] = fmaxf(sum[c], 0.0f);
}

// place[3][point], weight[16][3][point], colour[3][point]
__global__ void k216e(float *__restrict__ colour, const float *__restrict__ place, const float *__restrict__ weight,
                      float3 eye, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float x = place[p] - eye.x, y = place[(size_t)n + p] - eye.y, z = place[(size_t)n * 2 + p] - eye.z;
    float r = 1.0f / sqrtf(x * x + y * y + z * z);
    float b[TERMS], sum[3] = {0.5f, 0.5f, 0.5f};
    harmonics(x * r, y * r, z * r, b);
#pragma unroll
    for (int k = 0; k < TERMS; k++)
#pragma unroll
        for (int c = 0; c < 3; c++)
            sum[c] += b[k] * weight[(size_t)n * (k * 3 + c) + p];
#pragma unroll
    for (int c = 0; c < 3; c++)
        colour[(size_t)n * c + p] = fmaxf(sum[c], 0.0f);
}

const int LENGTH = 1024, HOP = 512;

__global__ void k216f(float *out, const float *signal, int frames)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= frames)
        return;
    for (int i = 0; i < LENGTH; i++) {
        float t = i * (6.283185307f / LENGTH);
        float w = 0.35875f - 0.48829f * cosf(t) + 0.14128f * cosf(2.0f * t) - 0.01168f * cosf(3.0f * t);
        out[(size_t)f * LENGTH + i] = signal[(size_t)f * HOP + i] * w;
    }
}

// A block per frame.
__global__ void k216g(float *out, const float *signal)
{
    size_t f = blockIdx.x;
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) {
        float t = i * (6.283185307f / LENGTH);
        float w = 0.35875f - 0.48829f * cosf(t) + 0.14128f * cosf(2.0f * t) - 0.01168f * cosf(3.0f * t);
        out[f * LENGTH + i] = signal[f * HOP + i] * w;
    }
}

__global__ void k216h(float4 *__restrict__ out, const float4 *__restrict__ signal, const float4 *__restrict__ window)
{
    size_t f = blockIdx.x;
    float4 w = window[threadIdx.x], s = signal[f * (HOP / 4) + threadIdx.x];
    out[f * (LENGTH / 4) + threadIdx.x] = make_float4(s.x * w.x, s.y * w.y, s.z * w.z, s.w * w.w);
}

// in[point][columns] to out[column][point], or back.
__global__ void fill_turned(float *out, const float *in, int n, int columns, bool back)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)n * columns;
         i += (size_t)gridDim.x * blockDim.x) {
        size_t planar = i % columns * n + i / columns;
        if (back)
            out[i] = in[planar];
        else
            out[planar] = in[i];
    }
}

int main()
{
    {
        const int pixels = 5120 * 2880, part = 1 << 18, from = pixels - part;
        unsigned short *frame = input<unsigned short>((size_t)pixels * FRAMES, 2161, 0.0, 65536.0);
        unsigned short *median = output<unsigned short>(pixels);
        std::vector<unsigned short> want(part), some[FRAMES];
        for (int i = 0; i < FRAMES; i++)
            some[i] = on_host(frame + (size_t)i * pixels + from, part);
        for (int p = 0; p < part; p++) {
            // The value with at most four below and at most four above.
            for (int i = 0; i < FRAMES; i++) {
                int below = 0, above = 0;
                for (int j = 0; j < FRAMES; j++) {
                    below += some[j][p] < some[i][p];
                    above += some[j][p] > some[i][p];
                }
                if (below <= FRAMES / 2 && above <= FRAMES / 2)
                    want[p] = some[i][p];
            }
        }
        auto middle = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(median, 0xA5, pixels * sizeof(unsigned short)));
            launch();
            check(name, median + from, want, 0.0);
        };
        unsigned *median2 = reinterpret_cast<unsigned *>(median);
        const unsigned *frame2 = reinterpret_cast<unsigned *>(frame);
        middle("k216a", [&] { k216a<<<pixels / 256, 256>>>(median, frame, FRAMES, pixels); });
        middle("k216b", [&] { k216b<<<pixels / 256, 256>>>(median, frame, pixels); });
        middle("k216c", [&] { k216c<<<pixels / 512, 256>>>(median2, frame2, pixels / 2); });
        MUST(cudaFree(frame));
    }
    {
        const int n = 7813 * 256, part = 1 << 16, from = n - part, weights = TERMS * 3;
        const float3 eye = make_float3(0.2f, -3.0f, 0.4f);
        float *place = input<float>((size_t)n * 3, 2162, -1.0, 1.0);
        float *weight = input<float>((size_t)n * weights, 2163, -0.5, 0.5);
        float *places = output<float>((size_t)n * 3), *planes = output<float>((size_t)n * weights);
        fill_turned<<<1056, 256>>>(places, place, n, 3, false);
        fill_turned<<<1056, 256>>>(planes, weight, n, weights, false);
        float *colour = output<float>((size_t)n * 3), *rows = output<float>((size_t)n * 3);
        std::vector<float> hp = on_host(place + (size_t)from * 3, (size_t)part * 3), want((size_t)part * 3);
        std::vector<float> hw = on_host(weight + (size_t)from * weights, (size_t)part * weights);
        for (int p = 0; p < part; p++) {
            double x = hp[p * 3] - double(eye.x), y = hp[p * 3 + 1] - double(eye.y), z = hp[p * 3 + 2] - double(eye.z);
            double r = std::sqrt(x * x + y * y + z * z), b[TERMS];
            harmonics(x / r, y / r, z / r, b);
            for (int c = 0; c < 3; c++) {
                double sum = 0.5;
                for (int k = 0; k < TERMS; k++)
                    sum += b[k] * hw[(size_t)p * weights + k * 3 + c];
                want[p * 3 + c] = float(std::fmax(sum, 0.0));
            }
        }
        auto shade = [&](const char *name, bool planar, std::function<void()> launch) {
            MUST(cudaMemset(colour, 0xA5, (size_t)n * 3 * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            if (planar)
                fill_turned<<<1056, 256>>>(rows, colour, n, 3, true);
            check(name, (planar ? rows : colour) + (size_t)from * 3, want, 1e-5);
        };
        shade("k216d", false, [&] { k216d<<<n / 256, 256>>>(colour, place, weight, eye, n); });
        shade("k216e", true, [&] { k216e<<<n / 256, 256>>>(colour, places, planes, eye, n); });
        MUST(cudaFree(weight));
        MUST(cudaFree(planes));
    }
    {
        const int frames = 128 << 10;
        const size_t samples = (size_t)(frames - 1) * HOP + LENGTH, n = (size_t)frames * LENGTH;
        float *signal = input<float>(samples, 2164, -1.0, 1.0), *out = output<float>(n);
        std::vector<double> exact(LENGTH);
        std::vector<float> table(LENGTH);
        for (int i = 0; i < LENGTH; i++) {
            double t = 2 * 3.14159265358979323846 * i / LENGTH;
            exact[i] = 0.35875 - 0.48829 * std::cos(t) + 0.14128 * std::cos(2 * t) - 0.01168 * std::cos(3 * t);
            table[i] = float(exact[i]);
        }
        const float4 *window = reinterpret_cast<float4 *>(on_device(table));
        // Every 255th frame: 0, 255, ..., 131070.
        const int every = 255, rows = (frames - 1) / every + 1;
        std::vector<float> hs = on_host(signal, samples), want((size_t)rows * LENGTH);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < LENGTH; i++)
                want[(size_t)r * LENGTH + i] = float(hs[(size_t)r * every * HOP + i] * exact[i]);
        float *picked = output<float>(want.size());
        auto cut = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const size_t bytes = LENGTH * sizeof(float);
            MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-5);
        };
        float4 *out4 = reinterpret_cast<float4 *>(out);
        const float4 *signal4 = reinterpret_cast<float4 *>(signal);
        cut("k216f", [&] { k216f<<<frames / 128, 128>>>(out, signal, frames); });
        cut("k216g", [&] { k216g<<<frames, 256>>>(out, signal); });
        cut("k216h", [&] { k216h<<<frames, LENGTH / 4>>>(out4, signal4, window); });
    }
    return 0;
}
