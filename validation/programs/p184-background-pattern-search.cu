// Background subtraction in a 4K video (a mixture of three Gaussians for each pixel, one frame), and the sum of squared
// differences between an image and a 16x16 pattern at every position.
#include "../harness.h"

#include <functional>

const int MODES = 3;
const double LEARN = 1.0 / 64, MATCH = 2.5, SOLID = 0.2501, WIDE = 10.0;

struct Mode {
    float weight, mean, sd;
};

// The three modes of one pixel with the value x; says whether the pixel is background.
template <class T> __device__ __forceinline__ bool update(T x, T *weight, T *mean, T *sd)
{
    const T learn = T(LEARN);
    bool matched = false, background = false;
    T lowest = T(1e30), total = T(0);
    int last = 0;
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        T diff = x - mean[k];
        T rank = weight[k] / sd[k];
        if (rank < lowest) {
            lowest = rank;
            last = k;
        }
        if (fabs(diff) < T(MATCH) * sd[k]) {
            T rho = learn / (T(2.506628274631) * sd[k]) * exp(T(-0.5) * diff * diff / (sd[k] * sd[k]));
            weight[k] += learn * (T(1) - weight[k]);
            mean[k] += rho * diff;
            sd[k] = sqrt(sd[k] * sd[k] + rho * (diff * diff - sd[k] * sd[k]));
            matched = true;
            background = background || weight[k] > T(SOLID);
        } else {
            weight[k] *= T(1) - learn;
        }
    }
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        if (!matched && k == last) {
            weight[k] = learn;
            mean[k] = x;
            sd[k] = T(WIDE);
        }
        total += weight[k];
    }
#pragma unroll
    for (int k = 0; k < MODES; k++)
        weight[k] /= total;
    return background;
}

__global__ void k184a(unsigned char *mask, Mode *model, const unsigned char *frame, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double weight[MODES], mean[MODES], sd[MODES];
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weight[k] = model[i * MODES + k].weight;
        mean[k] = model[i * MODES + k].mean;
        sd[k] = model[i * MODES + k].sd;
    }
    mask[i] = update<double>(frame[i], weight, mean, sd) ? 0 : 255;
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        model[i * MODES + k].weight = float(weight[k]);
        model[i * MODES + k].mean = float(mean[k]);
        model[i * MODES + k].sd = float(sd[k]);
    }
}

__global__ void k184b(unsigned char *mask, float *weights, float *means, float *sds, const unsigned char *frame, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double weight[MODES], mean[MODES], sd[MODES];
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weight[k] = weights[k * n + i];
        mean[k] = means[k * n + i];
        sd[k] = sds[k * n + i];
    }
    mask[i] = update<double>(frame[i], weight, mean, sd) ? 0 : 255;
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weights[k * n + i] = float(weight[k]);
        means[k * n + i] = float(mean[k]);
        sds[k * n + i] = float(sd[k]);
    }
}

__global__ void k184c(unsigned char *mask, float *weights, float *means, float *sds, const unsigned char *frame, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float weight[MODES], mean[MODES], sd[MODES];
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weight[k] = weights[k * n + i];
        mean[k] = means[k * n + i];
        sd[k] = sds[k * n + i];
    }
    mask[i] = update<float>(frame[i], weight, mean, sd) ? 0 : 255;
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weights[k * n + i] = float(weight[k]);
        means[k * n + i] = float(mean[k]);
        sds[k * n + i] = float(sd[k]);
    }
}

__global__ void k184d(unsigned char *mask, float *weights, float *means, float *sds, const unsigned char *frame, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float learn = float(LEARN);
    float x = frame[i];
    float weight[MODES], mean[MODES], sd[MODES];
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weight[k] = weights[k * n + i];
        mean[k] = means[k * n + i];
        sd[k] = sds[k * n + i];
    }
    bool matched = false, background = false;
    float lowest = 1e30f, total = 0.0f;
    int last = 0;
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        float diff = x - mean[k];
        float rank = __fdividef(weight[k], sd[k]);
        if (rank < lowest) {
            lowest = rank;
            last = k;
        }
        if (fabsf(diff) < 2.5f * sd[k]) {
            float rho = __fdividef(learn, 2.506628275f * sd[k]) * __expf(__fdividef(-0.5f * diff * diff, sd[k] * sd[k]));
            weight[k] += learn * (1.0f - weight[k]);
            mean[k] += rho * diff;
            sd[k] = __fsqrt_rn(sd[k] * sd[k] + rho * (diff * diff - sd[k] * sd[k]));
            matched = true;
            background = background || weight[k] > float(SOLID);
        } else {
            weight[k] *= 1.0f - learn;
        }
    }
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        if (!matched && k == last) {
            weight[k] = learn;
            mean[k] = x;
            sd[k] = float(WIDE);
        }
        total += weight[k];
    }
#pragma unroll
    for (int k = 0; k < MODES; k++) {
        weights[k * n + i] = __fdividef(weight[k], total);
        means[k * n + i] = mean[k];
        sds[k * n + i] = sd[k];
    }
    mask[i] = background ? 0 : 255;
}

const int P = 16;

__constant__ float pattern_const[P * P];

__global__ void k184e(float *score, const float *image, const float *pattern, int width, int height, int pitch, int pw,
                      int ph)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int p = 0; p < ph; p++)
            for (int q = 0; q < pw; q++) {
                float d = image[(y + p) * pitch + x + q] - pattern[p * pw + q];
                sum += d * d;
            }
        score[y * width + x] = sum;
    }
}

__global__ void k184f(float *score, const float *image, int width, int height, int pitch, int pw, int ph)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0.0f;
        for (int p = 0; p < ph; p++)
            for (int q = 0; q < pw; q++) {
                float d = image[(y + p) * pitch + x + q] - pattern_const[p * pw + q];
                sum += d * d;
            }
        score[y * width + x] = sum;
    }
}

__global__ void k184g(float *score, const float *image, int width, int pitch)
{
    __shared__ float tile[8 + P - 1][32 + P];
    int tx = threadIdx.x, ty = threadIdx.y;
    int left = blockIdx.x * 32, top = blockIdx.y * 8;
    for (int r = ty; r < 8 + P - 1; r += 8)
        for (int c = tx; c < 32 + P; c += 32)
            tile[r][c] = image[(top + r) * pitch + left + c];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 2
    for (int p = 0; p < P; p++)
#pragma unroll
        for (int q = 0; q < P; q++) {
            float d = tile[ty + p][tx + q] - pattern_const[p * P + q];
            sum += d * d;
        }
    score[(top + ty) * width + left + tx] = sum;
}

// A block of 32 x 8 threads makes 128 x 16 scores, a thread 4 x 2.
__global__ void __launch_bounds__(256) k184h(float *score, const float *image, int width, int pitch)
{
    __shared__ __align__(16) float tile[16 + P - 1][128 + P];
    int tx = threadIdx.x, ty = threadIdx.y;
    int left = blockIdx.x * 128, top = blockIdx.y * 16;
    const int quads = (128 + P) / 4;
    for (int i = ty * 32 + tx; i < (16 + P - 1) * quads; i += 256) {
        int r = i / quads, c = i % quads * 4;
        *reinterpret_cast<float4 *>(&tile[r][c]) =
            *reinterpret_cast<const float4 *>(&image[(top + r) * pitch + left + c]);
    }
    __syncthreads();
    float upper[4] = {0.0f, 0.0f, 0.0f, 0.0f}, lower[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int p = 0; p <= P; p++) {
        float v[P + 4];
#pragma unroll
        for (int q = 0; q < P + 4; q += 4)
            *reinterpret_cast<float4 *>(&v[q]) = *reinterpret_cast<const float4 *>(&tile[ty * 2 + p][tx * 4 + q]);
        if (p < P) {
#pragma unroll
            for (int q = 0; q < P; q++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    float d = v[q + j] - pattern_const[p * P + q];
                    upper[j] += d * d;
                }
        }
        if (p > 0) {
#pragma unroll
            for (int q = 0; q < P; q++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    float d = v[q + j] - pattern_const[(p - 1) * P + q];
                    lower[j] += d * d;
                }
        }
    }
    float *to = score + (top + ty * 2) * width + left + tx * 4;
    *reinterpret_cast<float4 *>(to) = make_float4(upper[0], upper[1], upper[2], upper[3]);
    *reinterpret_cast<float4 *>(to + width) = make_float4(lower[0], lower[1], lower[2], lower[3]);
}

// The weights of the three modes hold different powers of two, so that no two ranks are equal.
__host__ __device__ inline Mode fresh(unsigned long long i, int k)
{
    unsigned r = scrambled(i * MODES + k, 1841);
    Mode mode;
    mode.weight = float(((r & 7) * 2 + 1) << k) / 64.0f;
    mode.mean = float(r >> 3 & 2047) / 8.0f;
    mode.sd = float((r >> 14 & 63) * 4 + 41) / 16.0f;
    return mode;
}

__global__ void fill_model(Mode *rows, float *planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    for (int k = 0; k < MODES; k++) {
        Mode mode = fresh(i, k);
        rows[i * MODES + k] = mode;
        planes[k * n + i] = mode.weight;
        planes[(MODES + k) * n + i] = mode.mean;
        planes[(2 * MODES + k) * n + i] = mode.sd;
    }
}

// Every so-manieth pixel: nine numbers of the model and the mask.
__global__ void pick_pixels(float *some, const Mode *rows, const float *planes, const unsigned char *mask, int n, int every,
                            int chosen)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= chosen)
        return;
    int i = s * every;
    for (int k = 0; k < MODES; k++) {
        some[s * 10 + k * 3] = rows ? rows[i * MODES + k].weight : planes[k * n + i];
        some[s * 10 + k * 3 + 1] = rows ? rows[i * MODES + k].mean : planes[(MODES + k) * n + i];
        some[s * 10 + k * 3 + 2] = rows ? rows[i * MODES + k].sd : planes[(2 * MODES + k) * n + i];
    }
    some[s * 10 + 9] = mask[i];
}

int main()
{
    const int n = 3840 * 2160, every = 41, chosen = (n - 1) / every + 1;
    unsigned char *frame = input<unsigned char>(n, 1842, 0.0, 256.0), *mask = output<unsigned char>(n);
    Mode *rows = output<Mode>((size_t)n * MODES);
    float *planes = output<float>((size_t)n * MODES * 3), *some = output<float>((size_t)chosen * 10);
    std::vector<unsigned char> pixels = on_host(frame, n);
    std::vector<float> want((size_t)chosen * 10);
    for (int s = 0; s < chosen; s++) {
        double x = pixels[(size_t)s * every], w[3], m[3], d[3], lowest = 1e30, total = 0;
        bool matched = false, background = false;
        int last = 0;
        for (int k = 0; k < MODES; k++) {
            Mode mode = fresh((unsigned long long)s * every, k);
            w[k] = mode.weight, m[k] = mode.mean, d[k] = mode.sd;
            if (w[k] / d[k] < lowest)
                lowest = w[k] / d[k], last = k;
            double diff = x - m[k];
            if (std::fabs(diff) < MATCH * d[k]) {
                double rho = LEARN / (2.506628274631 * d[k]) * std::exp(-0.5 * diff * diff / (d[k] * d[k]));
                w[k] += LEARN * (1 - w[k]);
                m[k] += rho * diff;
                d[k] = std::sqrt(d[k] * d[k] + rho * (diff * diff - d[k] * d[k]));
                matched = true;
                background = background || w[k] > SOLID;
            } else {
                w[k] *= 1 - LEARN;
            }
        }
        if (!matched)
            w[last] = LEARN, m[last] = x, d[last] = WIDE;
        for (int k = 0; k < MODES; k++)
            total += w[k];
        for (int k = 0; k < MODES; k++) {
            want[(size_t)s * 10 + k * 3] = float(w[k] / total);
            want[(size_t)s * 10 + k * 3 + 1] = float(m[k]);
            want[(size_t)s * 10 + k * 3 + 2] = float(d[k]);
        }
        want[(size_t)s * 10 + 9] = background ? 0.0f : 255.0f;
    }
    const int blocks = (n + 255) / 256;
    float *weights = planes, *means = planes + (size_t)MODES * n, *sds = planes + (size_t)2 * MODES * n;
    auto subtract = [&](const char *name, bool in_rows, std::function<void()> launch) {
        fill_model<<<blocks, 256>>>(rows, planes, n);
        MUST(cudaMemset(mask, 0xA5, n));
        MUST(cudaDeviceSynchronize());
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_pixels<<<(chosen + 255) / 256, 256>>>(some, in_rows ? rows : nullptr, planes, mask, n, every, chosen);
        check(name, some, want, 2e-5);
    };
    subtract("k184a", true, [&] { k184a<<<blocks, 256>>>(mask, rows, frame, n); });
    subtract("k184b", false, [&] { k184b<<<blocks, 256>>>(mask, weights, means, sds, frame, n); });
    subtract("k184c", false, [&] { k184c<<<blocks, 256>>>(mask, weights, means, sds, frame, n); });
    subtract("k184d", false, [&] { k184d<<<blocks, 256>>>(mask, weights, means, sds, frame, n); });

    const int width = 4096, height = 2048, pitch = width + 2 * P, tall = height + P;
    float *image = input<float>((size_t)pitch * tall, 1843, 0.0, 1.0), *pattern = input<float>(P * P, 1844, 0.0, 1.0);
    float *score = output<float>((size_t)width * height);
    MUST(cudaMemcpyToSymbol(pattern_const, pattern, P * P * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> him = on_host(image, (size_t)pitch * tall), hp = on_host(pattern, P * P);
    // Every 67th row of scores.
    const int skip = 67, taken = (height - 1) / skip + 1;
    std::vector<float> table((size_t)taken * width, 0.0f);
    for (int t = 0; t < taken; t++)
        for (int p = 0; p < P; p++)
            for (int q = 0; q < P; q++) {
                const float *src = &him[(size_t)(t * skip + p) * pitch + q], value = hp[p * P + q];
                float *dst = &table[(size_t)t * width];
                for (int x = 0; x < width; x++)
                    dst[x] += (src[x] - value) * (src[x] - value);
            }
    float *part = output<float>(table.size());
    auto match = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(score, 0xA5, (size_t)width * height * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = width * sizeof(float);
        MUST(cudaMemcpy2D(part, bytes, score, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, part, table, 1e-4);
    };
    dim3 small(16, 16), squares(width / 16, height / 16);
    match("k184e", [&] { k184e<<<squares, small>>>(score, image, pattern, width, height, pitch, P, P); });
    match("k184f", [&] { k184f<<<squares, small>>>(score, image, width, height, pitch, P, P); });
    match("k184g", [&] { k184g<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(score, image, width, pitch); });
    match("k184h", [&] { k184h<<<dim3(width / 128, height / 16), dim3(32, 8)>>>(score, image, width, pitch); });
    return 0;
}
