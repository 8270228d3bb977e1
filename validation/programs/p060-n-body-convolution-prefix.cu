// Accelerations of bodies by each other, a convolution along rows, and the running sums of segments of 1024 integers.
#include "../harness.h"

const float SOFTENING = 0.01f;

__global__ void k60a(const float4 *body, float4 *accel, int n, float g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = body[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        float4 other = body[j];
        float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
        float inv = 1.0f / sqrtf(d2);
        float s = other.w * inv * inv * inv;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }
    accel[i] = make_float4(g * ax, g * ay, g * az, 0.0f);
}

__global__ void k60b(const float4 *body, float4 *accel, int n, float g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = body[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        float4 other = body[j];
        float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
        float inv = rsqrtf(d2);
        float s = other.w * inv * inv * inv;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }
    accel[i] = make_float4(g * ax, g * ay, g * az, 0.0f);
}

const int TILE = 256;

// n is a multiple of TILE, the number of threads of a block.
__global__ void k60c(const float4 *body, float4 *accel, int n, float g)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 me = body[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        tile[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
#pragma unroll 32
        for (int j = 0; j < TILE; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float d2 = dx * dx + dy * dy + dz * dz + SOFTENING;
            float inv = rsqrtf(d2);
            float s = other.w * inv * inv * inv;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        __syncthreads();
    }
    accel[i] = make_float4(g * ax, g * ay, g * az, 0.0f);
}

const int RADIUS = 8;
const int TX = 16, TY = 4, STEPS = 8;

__constant__ float c_kernel[2 * RADIUS + 1];

__global__ void k60d(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++) {
        int at = x + k;
        if (at >= 0 && at < width)
            sum += in[y * width + at] * c_kernel[RADIUS - k];
    }
    out[y * width + x] = sum;
}

// The width is a multiple of STEPS * TX, the height of TY. A row of the tile has PAD numbers more than it needs.
template <int PAD> __device__ __forceinline__ void rows(const float *in, float *out, int width)
{
    __shared__ float tile[TY][(STEPS + 2) * TX + PAD];
    int x = (blockIdx.x * STEPS - 1) * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    in += y * width + x;
    out += y * width + x;
    float *line = tile[threadIdx.y];

    line[threadIdx.x] = x >= 0 ? in[0] : 0.0f;
#pragma unroll
    for (int i = 1; i <= STEPS; i++)
        line[threadIdx.x + i * TX] = in[i * TX];
    line[threadIdx.x + (STEPS + 1) * TX] = x + (STEPS + 1) * TX < width ? in[(STEPS + 1) * TX] : 0.0f;
    __syncthreads();

#pragma unroll
    for (int i = 1; i <= STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; k++)
            sum += c_kernel[RADIUS - k] * line[threadIdx.x + i * TX + k];
        out[i * TX] = sum;
    }
}

__global__ void k60e(const float *in, float *out, int width)
{
    rows<0>(in, out, width);
}

__global__ void k60f(const float *in, float *out, int width)
{
    rows<TX>(in, out, width);
}

const int SEGMENT = 1024;

// Two numbers a thread: the sums of the numbers before each one in its segment.
__global__ void k60g(const int *in, int *out)
{
    __shared__ int s[SEGMENT];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * SEGMENT;
    s[2 * t] = in[base + 2 * t];
    s[2 * t + 1] = in[base + 2 * t + 1];

    int offset = 1;
    for (int d = SEGMENT / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            s[b] += s[a];
        }
        offset *= 2;
    }
    if (t == 0)
        s[SEGMENT - 1] = 0;
    for (int d = 1; d < SEGMENT; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int left = s[a];
            s[a] = s[b];
            s[b] += left;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[2 * t];
    out[base + 2 * t + 1] = s[2 * t + 1];
}

// Four numbers a thread.
__global__ void k60h(const int4 *in, int4 *out)
{
    __shared__ int warps[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t at = (size_t)blockIdx.x * (SEGMENT / 4) + threadIdx.x;
    int4 v = in[at];
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;

    int sum = v.w;
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d)
            sum += below;
    }
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        int w = lane < 8 ? warps[lane] : 0;
        for (int d = 1; d < 8; d *= 2) {
            int below = __shfl_up_sync(0xffffffffu, w, d);
            if (lane >= d)
                w += below;
        }
        if (lane < 8)
            warps[lane] = w;
    }
    __syncthreads();

    int before = sum - v.w + (warp > 0 ? warps[warp - 1] : 0);
    out[at] = make_int4(before, before + v.x, before + v.y, before + v.z);
}

int main()
{
    {
        const int n = 65536;
        float *bodies = input<float>((size_t)n * 4, 601, 0.0, 1.0);
        float *accel = output<float>((size_t)n * 4);
        const float4 *body = reinterpret_cast<float4 *>(bodies);
        float4 *result = reinterpret_cast<float4 *>(accel);
        const float g = 1.0f / n;

        // Every 1021st body on the host, and then all against the first kernel.
        k60a<<<n / TILE, TILE>>>(body, result, n, g);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> all = on_host(accel, (size_t)n * 4);
        {
            std::vector<float> v = on_host(bodies, (size_t)n * 4), got, want;
            for (int i = 0; i < n; i += 1021) {
                double sum[4] = {};
                for (int j = 0; j < n; j++) {
                    double d[3], d2 = SOFTENING;
                    for (int c = 0; c < 3; c++) {
                        d[c] = double(v[4 * j + c]) - v[4 * i + c];
                        d2 += d[c] * d[c];
                    }
                    double s = v[4 * j + 3] / (d2 * std::sqrt(d2));
                    for (int c = 0; c < 3; c++)
                        sum[c] += d[c] * s;
                }
                for (int c = 0; c < 4; c++) {
                    want.push_back(float(sum[c] / n));
                    got.push_back(all[4 * (size_t)i + c]);
                }
            }
            check("k60a", on_device(got), want, 1e-4);
        }

        MUST(cudaMemset(accel, 0xA5, all.size() * sizeof(float)));
        k60b<<<n / TILE, TILE>>>(body, result, n, g);
        check("k60b", accel, all, 1e-4);

        MUST(cudaMemset(accel, 0xA5, all.size() * sizeof(float)));
        k60c<<<n / TILE, TILE>>>(body, result, n, g);
        check("k60c", accel, all, 1e-4);
    }
    {
        const int width = 6144, height = 6144;
        const size_t n = (size_t)width * height;
        float *in = input<float>(n, 602, -1.0, 1.0);
        float *out = output<float>(n);
        std::vector<float> weights(2 * RADIUS + 1);
        for (int k = 0; k <= 2 * RADIUS; k++)
            weights[k] = (scrambled(k, 603) % 1000) / 8000.0f;
        MUST(cudaMemcpyToSymbol(c_kernel, weights.data(), weights.size() * sizeof(float)));

        // Every 101st row and the last one on the host; then all rows against the first kernel.
        std::vector<int> chosen;
        for (int y = 0; y < height; y += 101)
            chosen.push_back(y);
        chosen.push_back(height - 1);
        k60d<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(in, out, width, height);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> all = on_host(out, n);
        {
            std::vector<float> got, want;
            for (int y : chosen) {
                std::vector<float> v = on_host(in + (size_t)y * width, width);
                for (int x = 0; x < width; x++) {
                    double sum = 0.0;
                    for (int k = -RADIUS; k <= RADIUS; k++)
                        if (x + k >= 0 && x + k < width)
                            sum += double(v[x + k]) * weights[RADIUS - k];
                    want.push_back(float(sum));
                    got.push_back(all[(size_t)y * width + x]);
                }
            }
            check("k60d", on_device(got), want, 1e-5);
        }

        dim3 blocks(width / (STEPS * TX), height / TY), threads(TX, TY);
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k60e<<<blocks, threads>>>(in, out, width);
        check("k60e", out, all, 1e-5);

        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k60f<<<blocks, threads>>>(in, out, width);
        check("k60f", out, all, 1e-5);
    }

    const size_t n = (size_t)1 << 25;
    int *in = input<int>(n, 604, 0.0, 100.0);
    int *out = output<int>(n);
    std::vector<int> want(n);
    {
        std::vector<int> v = on_host(in, n);
        for (size_t base = 0; base < n; base += SEGMENT) {
            int sum = 0;
            for (size_t i = base; i < base + SEGMENT; i++) {
                want[i] = sum;
                sum += v[i];
            }
        }
    }
    k60g<<<(unsigned)(n / SEGMENT), SEGMENT / 2>>>(in, out);
    check("k60g", out, want, 0.0);

    MUST(cudaMemset(out, 0xA5, n * sizeof(int)));
    k60h<<<(unsigned)(n / SEGMENT), SEGMENT / 4>>>(reinterpret_cast<int4 *>(in), reinterpret_cast<int4 *>(out));
    check("k60h", out, want, 0.0);
    return 0;
}
