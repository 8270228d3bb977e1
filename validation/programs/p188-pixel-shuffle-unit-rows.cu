// Rearrangement of 16 channels into 4x4 pixels (sub-pixel upscaling), rows of embeddings scaled to length one, and a
// pointwise (1x1) convolution of 16 channels into 16 maps.
#include "../harness.h"

#include <functional>

const int R = 4, SUB_BATCH = 16, SUB_C = 16, SUB_H = 128, SUB_W = 128;

__global__ void k188a(float *out, const float *in, int channels, int height, int width, int r, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    int w = i % width;
    int h = i / width % height;
    int cc = i / (width * height) % (channels * r * r);
    int b = i / (width * height * channels * r * r);
    int c = cc / (r * r), dy = cc / r % r, dx = cc % r;
    out[((b * channels + c) * height * r + h * r + dy) * (width * r) + w * r + dx] = in[i];
}

// A thread for four neighbours of a row of the output: grid (height, R, images * channels).
__global__ void k188b(float4 *__restrict__ out, const float *__restrict__ in)
{
    int w = threadIdx.x, h = blockIdx.x, dy = blockIdx.y, plane = blockIdx.z;
    const int size = SUB_H * SUB_W;
    const float *src = in + (plane * R * R + dy * R) * size + h * SUB_W + w;
    out[(plane * SUB_H * R + h * R + dy) * SUB_W + w] = make_float4(src[0], src[size], src[2 * size], src[3 * size]);
}

const int ROWS = 1 << 19, DIM = 128;
const float EPS = 1e-12f;

__global__ void k188c(float *out, const float *in, int rows, int dim)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = 0; i < dim; i++)
        sum += in[row * dim + i] * in[row * dim + i];
    float norm = fmaxf(sqrtf(sum), EPS);
    for (int i = 0; i < dim; i++)
        out[row * dim + i] = in[row * dim + i] / norm;
}

__global__ void k188d(float *out, const float *in, int dim)
{
    __shared__ float partial[DIM];
    int t = threadIdx.x;
    float v = in[blockIdx.x * dim + t];
    partial[t] = v * v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    float norm = fmaxf(sqrtf(partial[0]), EPS);
    out[blockIdx.x * dim + t] = v / norm;
}

__global__ void k188e(float4 *__restrict__ out, const float4 *__restrict__ in)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float4 v = in[row * (DIM / 4) + lane];
    float sum = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, s);
    float scale = 1.0f / fmaxf(sqrtf(sum), EPS);
    out[row * (DIM / 4) + lane] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}

const int IMAGES = 32, CH = 16, MAPS = 16, PIXELS = 256 * 256;

__constant__ float weight_const[MAPS * CH];

__global__ void k188f(float *y, const float *x, const float *weight, int channels, int maps, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y, b = blockIdx.z;
    if (p >= pixels)
        return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        sum += x[(b * channels + c) * pixels + p] * weight[m * channels + c];
    y[(b * maps + m) * pixels + p] = sum;
}

__global__ void k188g(float *y, const float *x, const float *weight, int channels, int pixels)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (p >= pixels)
        return;
    float sum[MAPS] = {};
    for (int c = 0; c < channels; c++) {
        float v = x[(b * channels + c) * pixels + p];
#pragma unroll
        for (int m = 0; m < MAPS; m++)
            sum[m] += v * weight[m * channels + c];
    }
#pragma unroll
    for (int m = 0; m < MAPS; m++)
        y[(b * MAPS + m) * pixels + p] = sum[m];
}

__global__ void k188h(float *__restrict__ y, const float *__restrict__ x)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    float v[CH];
#pragma unroll
    for (int c = 0; c < CH; c++)
        v[c] = x[(b * CH + c) * PIXELS + p];
#pragma unroll
    for (int m = 0; m < MAPS; m++) {
        float sum = 0.0f;
#pragma unroll
        for (int c = 0; c < CH; c++)
            sum += v[c] * weight_const[m * CH + c];
        y[(b * MAPS + m) * PIXELS + p] = sum;
    }
}

// Poisons the output, launches, and compares its first numbers and its last ones.
void test(const char *name, float *got, size_t n, const std::vector<float> &first, const std::vector<float> &last,
          std::function<void()> launch)
{
    MUST(cudaMemset(got, 0xA5, n * sizeof(float)));
    launch();
    check(name, got, first, 1e-5);
    check(name, got + (n - last.size()), last, 1e-5);
}

int main()
{
    {
        const size_t plane = (size_t)SUB_H * SUB_W, image = plane * SUB_C * R * R, n = image * SUB_BATCH;
        float *in = input<float>(n, 1881, -1.0, 1.0), *out = output<float>(n);
        std::vector<float> ends[2];
        for (int e = 0; e < 2; e++) {
            std::vector<float> x = on_host(in + (e ? n - image : 0), image);
            ends[e].resize(image);
            size_t at = 0;
            for (int c = 0; c < SUB_C; c++)
                for (int y = 0; y < SUB_H * R; y++)
                    for (int z = 0; z < SUB_W * R; z++)
                        ends[e][at++] = x[(c * R * R + y % R * R + z % R) * plane + y / R * SUB_W + z / R];
        }
        test("k188a", out, n, ends[0], ends[1],
             [&] { k188a<<<n / 256, 256>>>(out, in, SUB_C, SUB_H, SUB_W, R, (int)n); });
        test("k188b", out, n, ends[0], ends[1],
             [&] { k188b<<<dim3(SUB_H, R, SUB_BATCH * SUB_C), SUB_W>>>((float4 *)out, in); });
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const size_t n = (size_t)ROWS * DIM, part = 4096 * DIM;
        float *in = input<float>(n, 1882, -1.0, 1.0), *out = output<float>(n);
        std::vector<float> ends[2];
        for (int e = 0; e < 2; e++) {
            ends[e] = on_host(in + (e ? n - part : 0), part);
            for (size_t r = 0; r < part; r += DIM) {
                double sum = 0;
                for (int i = 0; i < DIM; i++)
                    sum += (double)ends[e][r + i] * ends[e][r + i];
                for (int i = 0; i < DIM; i++)
                    ends[e][r + i] = float(ends[e][r + i] / std::sqrt(sum));
            }
        }
        test("k188c", out, n, ends[0], ends[1], [&] { k188c<<<ROWS / 256, 256>>>(out, in, ROWS, DIM); });
        test("k188d", out, n, ends[0], ends[1], [&] { k188d<<<ROWS, DIM>>>(out, in, DIM); });
        test("k188e", out, n, ends[0], ends[1],
             [&] { k188e<<<ROWS / 8, 256>>>((float4 *)out, (const float4 *)in); });
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    const size_t image = (size_t)CH * PIXELS, n = image * IMAGES;
    float *x = input<float>(n, 1883, -1.0, 1.0), *y = output<float>(n);
    float *weight = input<float>(MAPS * CH, 1884, -0.5, 0.5);
    MUST(cudaMemcpyToSymbol(weight_const, weight, MAPS * CH * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hw = on_host(weight, MAPS * CH), ends[2];
    for (int e = 0; e < 2; e++) {
        std::vector<float> hx = on_host(x + (e ? n - image : 0), image);
        ends[e].assign((size_t)MAPS * PIXELS, 0.0f);
        for (int m = 0; m < MAPS; m++)
            for (int c = 0; c < CH; c++)
                for (int p = 0; p < PIXELS; p++)
                    ends[e][(size_t)m * PIXELS + p] += hx[(size_t)c * PIXELS + p] * hw[m * CH + c];
    }
    const dim3 each(PIXELS / 256, MAPS, IMAGES), all(PIXELS / 256, IMAGES);
    test("k188f", y, n, ends[0], ends[1], [&] { k188f<<<each, 256>>>(y, x, weight, CH, MAPS, PIXELS); });
    test("k188g", y, n, ends[0], ends[1], [&] { k188g<<<all, 256>>>(y, x, weight, CH, PIXELS); });
    test("k188h", y, n, ends[0], ends[1], [&] { k188h<<<all, 256>>>(y, x); });
    return 0;
}
