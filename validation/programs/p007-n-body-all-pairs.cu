// Gravitational accelerations of n bodies, all pairs, with Plummer softening.
#include "../harness.h"

#define EPS2 0.0025f

// position in x, y, z; mass in w
__device__ inline float3 pull(float3 acc, float4 me, float4 other)
{
    float dx = other.x - me.x;
    float dy = other.y - me.y;
    float dz = other.z - me.z;
    float r2 = dx * dx + dy * dy + dz * dz + EPS2;
    float inv = rsqrtf(r2);
    float s = other.w * (inv * inv * inv);
    acc.x += s * dx;
    acc.y += s * dy;
    acc.z += s * dz;
    return acc;
}

__global__ void k07a(const float4 *__restrict__ bodies, float4 *__restrict__ accel, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        float4 other = bodies[j];
        float dx = other.x - me.x;
        float dy = other.y - me.y;
        float dz = other.z - me.z;
        float r2 = dx * dx + dy * dy + dz * dz + EPS2;
        float s = other.w / sqrtf(r2 * r2 * r2);
        ax += s * dx;
        ay += s * dy;
        az += s * dz;
    }
    accel[i] = make_float4(ax, ay, az, 0.0f);
}

__global__ void k07b(const float4 *__restrict__ bodies, float4 *__restrict__ accel, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = bodies[i];
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < n; j++)
        acc = pull(acc, me, bodies[j]);
    accel[i] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

// n is a multiple of the block.
__global__ void k07c(const float4 *__restrict__ bodies, float4 *__restrict__ accel, int n)
{
    __shared__ float4 part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < n; first += 128) {
        part[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 128; j++)
            acc = pull(acc, me, part[j]);
        __syncthreads();
    }
    accel[i] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

__global__ void k07d(const float4 *__restrict__ bodies, float4 *__restrict__ accel, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = bodies[i];
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < n; j++)
        acc = pull(acc, me, bodies[j]);
    accel[i] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

// Each row of blocks adds the pulls of its share of the bodies.
__global__ void k07e(const float4 *__restrict__ bodies, float4 *__restrict__ accel, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int share = (n + gridDim.y - 1) / gridDim.y;
    int begin = blockIdx.y * share;
    int end = min(begin + share, n);
    float4 me = bodies[i];
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = begin; j < end; j++)
        acc = pull(acc, me, bodies[j]);
    atomicAdd(&accel[i].x, acc.x);
    atomicAdd(&accel[i].y, acc.y);
    atomicAdd(&accel[i].z, acc.z);
}

int main()
{
    const int n = 50688, few = 10000;
    std::vector<float4> host(n);
    for (int i = 0; i < n; i++) {
        auto number = [&](int c) { return scrambled(4ull * i + c, 10) / 4294967296.0f; };
        host[i] = make_float4(2 * number(0) - 1, 2 * number(1) - 1, 2 * number(2) - 1, 2 * number(3) / n);
    }
    float4 *bodies = on_device(host);
    float4 *accel = output<float4>(n);

    // What the sum over the first `count` bodies should be, for a few bodies of them.
    auto reference = [&](int count, int stride) {
        std::vector<float> want;
        for (int i = 0; i < count; i += stride) {
            double ax = 0, ay = 0, az = 0;
            for (int j = 0; j < count; j++) {
                double dx = host[j].x - host[i].x, dy = host[j].y - host[i].y, dz = host[j].z - host[i].z;
                double r2 = dx * dx + dy * dy + dz * dz + EPS2;
                double s = host[j].w / (r2 * std::sqrt(r2));
                ax += s * dx;
                ay += s * dy;
                az += s * dz;
            }
            want.insert(want.end(), {float(ax), float(ay), float(az), 0.0f});
        }
        return want;
    };
    const int stride_all = 397, stride_few = 101;
    const std::vector<float> want_all = reference(n, stride_all), want_few = reference(few, stride_few);
    float *picked = output<float>(want_all.size() + want_few.size());
    auto verify = [&](const char *kernel, int stride, const std::vector<float> &want) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, sizeof(float4), accel, stride * sizeof(float4), sizeof(float4), want.size() / 4,
                          cudaMemcpyDeviceToDevice));
        check(kernel, picked, want, 5e-4);
    };
    // Every body, against the result of the first kernel.
    std::vector<float> first;

    k07a<<<n / 128, 128>>>(bodies, accel, n);
    verify("k07a", stride_all, want_all);
    first = on_host((const float *)accel, 4 * (size_t)n);
    MUST(cudaMemset(accel, 0xA5, n * sizeof(float4)));
    k07b<<<n / 128, 128>>>(bodies, accel, n);
    check("k07b", (const float *)accel, first, 5e-4);
    MUST(cudaMemset(accel, 0xA5, n * sizeof(float4)));
    k07c<<<n / 128, 128>>>(bodies, accel, n);
    check("k07c", (const float *)accel, first, 5e-4);

    MUST(cudaMemset(accel, 0xA5, n * sizeof(float4)));
    k07d<<<(few + 255) / 256, 256>>>(bodies, accel, few);
    verify("k07d", stride_few, want_few);
    MUST(cudaMemset(accel, 0, n * sizeof(float4)));
    k07e<<<dim3((few + 255) / 256, 13), 256>>>(bodies, accel, few);
    verify("k07e", stride_few, want_few);
    return 0;
}
