// Group normalisation of a batch of feature maps (32 groups of 16 channels, 32x32 pixels), and a depthwise 3x3
// convolution with padding (96 channels of 112x112 pixels).
#include "../harness.h"

#include <functional>

const int IMAGES = 64, GROUPS = 32, PER_GROUP = 16, AREA = 32 * 32, GROUP = PER_GROUP * AREA;
const float EPSILON = 1e-5f;

// One block per group.
__global__ void k128a(float *y, const float *x, const float *gamma, const float *beta, int groups, int per_group, int area)
{
    __shared__ float part[256];
    const int size = per_group * area, tid = threadIdx.x;
    const float *in = x + (size_t)blockIdx.x * size;
    float *out = y + (size_t)blockIdx.x * size;
    const int first_channel = blockIdx.x % groups * per_group;

    float sum = 0.0f;
    for (int i = tid; i < size; i += blockDim.x)
        sum += in[i];
    part[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    float mean = part[0] / size;
    __syncthreads();

    sum = 0.0f;
    for (int i = tid; i < size; i += blockDim.x) {
        float d = in[i] - mean;
        sum += d * d;
    }
    part[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    float rstd = rsqrtf(part[0] / size + EPSILON);

    for (int i = tid; i < size; i += blockDim.x) {
        int c = first_channel + i / area;
        out[i] = (in[i] - mean) * rstd * gamma[c] + beta[c];
    }
}

__global__ void k128b(float *y, const float *x, const float *gamma, const float *beta, int groups, int per_group, int area)
{
    __shared__ float part[256], part2[256];
    const int size = per_group * area, tid = threadIdx.x;
    const float *in = x + (size_t)blockIdx.x * size;
    float *out = y + (size_t)blockIdx.x * size;
    const int first_channel = blockIdx.x % groups * per_group;

    float sum = 0.0f, sum2 = 0.0f;
    for (int i = tid; i < size; i += blockDim.x) {
        float v = in[i];
        sum += v;
        sum2 += v * v;
    }
    part[tid] = sum;
    part2[tid] = sum2;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            part[tid] += part[tid + s];
            part2[tid] += part2[tid + s];
        }
        __syncthreads();
    }
    float mean = part[0] / size;
    float rstd = rsqrtf(part2[0] / size - mean * mean + EPSILON);

    for (int i = tid; i < size; i += blockDim.x) {
        int c = first_channel + i / area;
        out[i] = (in[i] - mean) * rstd * gamma[c] + beta[c];
    }
}

const int WIDE = 512, QUADS = GROUP / 4 / WIDE;

__global__ void __launch_bounds__(WIDE, 2)
    k128c(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta)
{
    __shared__ float part[WIDE], part2[WIDE];
    const int tid = threadIdx.x;
    const float4 *in = reinterpret_cast<const float4 *>(x + (size_t)blockIdx.x * GROUP);
    float4 *out = reinterpret_cast<float4 *>(y + (size_t)blockIdx.x * GROUP);
    const int first_channel = blockIdx.x % GROUPS * PER_GROUP;

    float4 v[QUADS];
    float sum = 0.0f, sum2 = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; k++)
        v[k] = in[tid + k * WIDE];
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
        sum2 += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    part[tid] = sum;
    part2[tid] = sum2;
    __syncthreads();
    for (int s = WIDE / 2; s > 0; s >>= 1) {
        if (tid < s) {
            part[tid] += part[tid + s];
            part2[tid] += part2[tid + s];
        }
        __syncthreads();
    }
    float mean = part[0] / GROUP;
    float rstd = rsqrtf(part2[0] / GROUP - mean * mean + EPSILON);
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        int c = first_channel + (tid + k * WIDE) / (AREA / 4);
        float scale = rstd * gamma[c], shift = beta[c] - mean * scale;
        out[tid + k * WIDE] = make_float4(v[k].x * scale + shift, v[k].y * scale + shift, v[k].z * scale + shift,
                                          v[k].w * scale + shift);
    }
}

__global__ void __launch_bounds__(WIDE, 2)
    k128d(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta)
{
    __shared__ float part[WIDE / 32], part2[WIDE / 32];
    const int tid = threadIdx.x;
    const float4 *in = reinterpret_cast<const float4 *>(x + (size_t)blockIdx.x * GROUP);
    float4 *out = reinterpret_cast<float4 *>(y + (size_t)blockIdx.x * GROUP);
    const int first_channel = blockIdx.x % GROUPS * PER_GROUP;

    float4 v[QUADS];
    float sum = 0.0f, sum2 = 0.0f;
#pragma unroll
    for (int k = 0; k < QUADS; k++)
        v[k] = in[tid + k * WIDE];
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
        sum2 += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    for (int s = 16; s > 0; s >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, s);
        sum2 += __shfl_xor_sync(0xffffffff, sum2, s);
    }
    if (tid % 32 == 0) {
        part[tid / 32] = sum;
        part2[tid / 32] = sum2;
    }
    __syncthreads();
    sum = part[tid % (WIDE / 32)];
    sum2 = part2[tid % (WIDE / 32)];
    for (int s = WIDE / 64; s > 0; s >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, s);
        sum2 += __shfl_xor_sync(0xffffffff, sum2, s);
    }
    float mean = sum / GROUP;
    float rstd = rsqrtf(sum2 / GROUP - mean * mean + EPSILON);
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        int c = first_channel + (tid + k * WIDE) / (AREA / 4);
        float scale = rstd * gamma[c], shift = beta[c] - mean * scale;
        out[tid + k * WIDE] = make_float4(v[k].x * scale + shift, v[k].y * scale + shift, v[k].z * scale + shift,
                                          v[k].w * scale + shift);
    }
}

const int BATCH = 32, CHANNELS = 96, SIDE = 112;

__global__ void k128e(float *y, const float *x, const float *weight, int batch, int channels, int height, int width, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * channels * height * width)
        return;
    int ow = i % width;
    int oh = i / width % height;
    int c = i / width / height % channels;
    int b = i / width / height / channels;
    float sum = 0.0f;
    for (int p = 0; p < k; p++)
        for (int q = 0; q < k; q++) {
            int ih = oh + p - k / 2, iw = ow + q - k / 2;
            if (ih >= 0 && ih < height && iw >= 0 && iw < width)
                sum += x[((b * channels + c) * height + ih) * width + iw] * weight[(c * k + p) * k + q];
        }
    y[i] = sum;
}

__global__ void k128f(float *y, const float *x, const float *weight, int channels, int height, int width, int k)
{
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    if (ow >= width || oh >= height)
        return;
    const float *plane = x + (size_t)blockIdx.z * height * width;
    const float *w = weight + blockIdx.z % channels * k * k;
    float sum = 0.0f;
    for (int p = 0; p < k; p++)
        for (int q = 0; q < k; q++) {
            int ih = oh + p - k / 2, iw = ow + q - k / 2;
            if (ih >= 0 && ih < height && iw >= 0 && iw < width)
                sum += plane[ih * width + iw] * w[p * k + q];
        }
    y[(size_t)blockIdx.z * height * width + oh * width + ow] = sum;
}

__global__ void k128g(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ weight, int channels,
                      int height, int width)
{
    int ow = blockIdx.x * blockDim.x + threadIdx.x;
    int oh = blockIdx.y * blockDim.y + threadIdx.y;
    if (ow >= width || oh >= height)
        return;
    const float *plane = x + (size_t)blockIdx.z * height * width;
    const float *w = weight + blockIdx.z % channels * 9;
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < 3; p++)
#pragma unroll
        for (int q = 0; q < 3; q++) {
            int ih = oh + p - 1, iw = ow + q - 1;
            if (ih >= 0 && ih < height && iw >= 0 && iw < width)
                sum += plane[ih * width + iw] * w[p * 3 + q];
        }
    y[(size_t)blockIdx.z * height * width + oh * width + ow] = sum;
}

// A thread makes 4x4 pixels; a block of 28x7 threads makes 28 rows.
__global__ void __launch_bounds__(196)
    k128h(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ weight)
{
    const int tx = threadIdx.x, top = (blockIdx.x * 7 + threadIdx.y) * 4;
    const float *plane = x + (size_t)blockIdx.y * SIDE * SIDE + tx * 4;
    float *to = y + (size_t)blockIdx.y * SIDE * SIDE + tx * 4;
    const float *w = weight + blockIdx.y % CHANNELS * 9;
    float tap[9], sum[4][4];
#pragma unroll
    for (int i = 0; i < 9; i++)
        tap[i] = w[i];
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i / 4][i % 4] = 0.0f;
#pragma unroll
    for (int r = 0; r < 6; r++) {
        int row = top + r - 1;
        float v[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        if (row >= 0 && row < SIDE) {
            const float *at = plane + row * SIDE;
            float4 middle = *reinterpret_cast<const float4 *>(at);
            v[0] = tx > 0 ? at[-1] : 0.0f;
            v[1] = middle.x, v[2] = middle.y, v[3] = middle.z, v[4] = middle.w;
            v[5] = tx < SIDE / 4 - 1 ? at[4] : 0.0f;
        }
#pragma unroll
        for (int o = 0; o < 4; o++) {
            const int p = r - o;
            if (p >= 0 && p < 3)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[o][j] += v[j] * tap[p * 3] + v[j + 1] * tap[p * 3 + 1] + v[j + 2] * tap[p * 3 + 2];
        }
    }
#pragma unroll
    for (int o = 0; o < 4; o++)
        *reinterpret_cast<float4 *>(to + (top + o) * SIDE) = make_float4(sum[o][0], sum[o][1], sum[o][2], sum[o][3]);
}

// Every step-th of the rows of length floats.
std::vector<float> every(const float *data, int rows, int length, int step, float *room)
{
    const size_t bytes = length * sizeof(float);
    const int taken = (rows - 1) / step + 1;
    MUST(cudaMemcpy2D(room, bytes, data, step * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
    return on_host(room, (size_t)taken * length);
}

void compare(const char *name, std::function<void()> launch, float *y, int rows, int length, int step, float *room,
             const std::vector<float> &want, double tolerance)
{
    MUST(cudaMemset(y, 0xA5, (size_t)rows * length * sizeof(float)));
    launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    every(y, rows, length, step, room);
    check(name, room, want, tolerance);
}

int main()
{
    const int all = IMAGES * GROUPS, channels = GROUPS * PER_GROUP, step = 31;
    float *x = input<float>((size_t)all * GROUP, 1281, -1.0, 3.0), *y = output<float>((size_t)all * GROUP);
    float *gamma = input<float>(channels, 1282, 0.5, 1.5), *beta = input<float>(channels, 1283, -1.0, 1.0);
    float *room = output<float>((size_t)((all - 1) / step + 1) * GROUP);
    std::vector<float> hx = every(x, all, GROUP, step, room), want(hx.size());
    std::vector<float> hg = on_host(gamma, channels), hb = on_host(beta, channels);
    for (int t = 0; t * step < all; t++) {
        const float *in = &hx[(size_t)t * GROUP];
        double sum = 0, squares = 0;
        for (int i = 0; i < GROUP; i++)
            sum += in[i];
        double mean = sum / GROUP;
        for (int i = 0; i < GROUP; i++)
            squares += (in[i] - mean) * (in[i] - mean);
        double rstd = 1 / std::sqrt(squares / GROUP + EPSILON);
        for (int i = 0; i < GROUP; i++) {
            int c = t * step % GROUPS * PER_GROUP + i / AREA;
            want[(size_t)t * GROUP + i] = float((in[i] - mean) * rstd * hg[c] + hb[c]);
        }
    }
    auto norm = [&](const char *name, std::function<void()> launch) {
        compare(name, launch, y, all, GROUP, step, room, want, 1e-4);
    };
    norm("k128a", [&] { k128a<<<all, 256>>>(y, x, gamma, beta, GROUPS, PER_GROUP, AREA); });
    norm("k128b", [&] { k128b<<<all, 256>>>(y, x, gamma, beta, GROUPS, PER_GROUP, AREA); });
    norm("k128c", [&] { k128c<<<all, WIDE>>>(y, x, gamma, beta); });
    norm("k128d", [&] { k128d<<<all, WIDE>>>(y, x, gamma, beta); });

    const int planes = BATCH * CHANNELS, plane = SIDE * SIDE, skip = 41, n = planes * plane;
    float *image = input<float>(n, 1284, -1.0, 1.0), *out = output<float>(n);
    float *weight = input<float>(CHANNELS * 9, 1285, -0.5, 0.5);
    float *some = output<float>((size_t)((planes - 1) / skip + 1) * plane);
    std::vector<float> hi = every(image, planes, plane, skip, some), hw = on_host(weight, CHANNELS * 9), sums(hi.size());
    for (int t = 0; t * skip < planes; t++) {
        const float *in = &hi[(size_t)t * plane], *w = &hw[t * skip % CHANNELS * 9];
        for (int h = 0; h < SIDE; h++)
            for (int v = 0; v < SIDE; v++) {
                float sum = 0.0f;
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++) {
                        int r = h + p - 1, c = v + q - 1;
                        if (r >= 0 && r < SIDE && c >= 0 && c < SIDE)
                            sum += in[r * SIDE + c] * w[p * 3 + q];
                    }
                sums[(size_t)t * plane + h * SIDE + v] = sum;
            }
    }
    auto conv = [&](const char *name, std::function<void()> launch) {
        compare(name, launch, out, planes, plane, skip, some, sums, 1e-5);
    };
    const dim3 tiles(SIDE / 16, SIDE / 16, planes), square(16, 16);
    conv("k128e", [&] { k128e<<<(n + 255) / 256, 256>>>(out, image, weight, BATCH, CHANNELS, SIDE, SIDE, 3); });
    conv("k128f", [&] { k128f<<<tiles, square>>>(out, image, weight, CHANNELS, SIDE, SIDE, 3); });
    conv("k128g", [&] { k128g<<<tiles, square>>>(out, image, weight, CHANNELS, SIDE, SIDE); });
    conv("k128h", [&] { k128h<<<dim3(SIDE / 28, planes), dim3(28, 7)>>>(out, image, weight); });
    return 0;
}
