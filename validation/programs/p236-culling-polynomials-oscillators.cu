// Three problems: culling of bounding spheres against a view frustum, a polynomial of degree 31 with its own
// coefficients for each of many arguments, and the phase velocities of coupled (Kuramoto) oscillators.
#include "../harness.h"

// ---- frustum culling: which objects lie at least partly on the inner side of all six planes ----
struct Object {
    float4 sphere; // centre and radius
    float4 colour;
    float4 detail;
    unsigned mesh, material, flags, layer;
};

__global__ void make_objects(const float4 *spheres, Object *objects, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        Object o;
        o.sphere = spheres[i];
        o.colour = o.detail = make_float4(0, 0, 0, 1);
        o.mesh = o.material = o.flags = o.layer = i;
        objects[i] = o;
    }
}

__device__ inline bool inside(float4 plane, float4 sphere)
{
    return fmaf(plane.x, sphere.x, fmaf(plane.y, sphere.y, fmaf(plane.z, sphere.z, plane.w))) >= -sphere.w;
}

__global__ void k236a(const Object *__restrict__ objects, const float4 *__restrict__ planes,
                      unsigned char *__restrict__ visible, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 sphere = objects[i].sphere;
    bool in = true;
#pragma unroll
    for (int k = 0; k < 6; k++)
        in &= inside(planes[k], sphere);
    visible[i] = in;
}

__global__ void k236b(const float4 *__restrict__ spheres, const float4 *__restrict__ planes,
                      unsigned char *__restrict__ visible, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 sphere = spheres[i];
    bool in = true;
#pragma unroll
    for (int k = 0; k < 6; k++)
        in &= inside(planes[k], sphere);
    visible[i] = in;
}

__constant__ float4 frustum[6];

__global__ void k236c(const float4 *__restrict__ spheres, unsigned char *__restrict__ visible, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 sphere = spheres[i];
    bool in = true;
#pragma unroll
    for (int k = 0; k < 6; k++)
        in &= inside(frustum[k], sphere);
    visible[i] = in;
}

// ---- value of polynomial i (32 coefficients, lowest power first) at x[i]; 128 polynomials per block ----
__global__ void k236d(const float *__restrict__ coefficients, const float *__restrict__ x, float *__restrict__ value)
{
    __shared__ float tile[128][32];
    int t = threadIdx.x;
    const float *from = coefficients + (size_t)blockIdx.x * 128 * 32;
#pragma unroll 8
    for (int k = t; k < 128 * 32; k += 128)
        tile[k / 32][k % 32] = from[k];
    __syncthreads();
    float at = x[blockIdx.x * 128 + t];
    float sum = tile[t][31];
#pragma unroll
    for (int k = 30; k >= 0; k--)
        sum = sum * at + tile[t][k];
    value[blockIdx.x * 128 + t] = sum;
}

__global__ void k236e(const float *__restrict__ coefficients, const float *__restrict__ x, float *__restrict__ value)
{
    __shared__ float tile[128][33];
    int t = threadIdx.x;
    const float *from = coefficients + (size_t)blockIdx.x * 128 * 32;
#pragma unroll 8
    for (int k = t; k < 128 * 32; k += 128)
        tile[k / 32][k % 32] = from[k];
    __syncthreads();
    float at = x[blockIdx.x * 128 + t];
    float sum = tile[t][31];
#pragma unroll
    for (int k = 30; k >= 0; k--)
        sum = sum * at + tile[t][k];
    value[blockIdx.x * 128 + t] = sum;
}

// ---- velocity[i] = omega[i] + sum over j of K[i][j] sin(theta[j] - theta[i]) / n ----
__global__ void k236f(const float *__restrict__ K, const float *__restrict__ theta, const float *__restrict__ omega,
                      float *__restrict__ velocity, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float mine = theta[i], sum = 0;
    for (int j = 0; j < n; j++)
        sum += K[(size_t)i * n + j] * sinf(theta[j] - mine);
    velocity[i] = omega[i] + sum / n;
}

// a warp per oscillator; n a multiple of 128
__global__ void k236g(const float *__restrict__ K, const float *__restrict__ theta, const float *__restrict__ omega,
                      float *__restrict__ velocity, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n)
        return;
    const float4 *row = (const float4 *)(K + (size_t)i * n), *others = (const float4 *)theta;
    float mine = theta[i], sum = 0;
#pragma unroll 4
    for (int j = lane; j < n / 4; j += 32) {
        float4 k = row[j], o = others[j];
        sum += k.x * sinf(o.x - mine) + k.y * sinf(o.y - mine) + k.z * sinf(o.z - mine) + k.w * sinf(o.w - mine);
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        velocity[i] = omega[i] + sum / n;
}

// Sine and cosine of each phase, as the integrator keeps them.
__global__ void make_sines(const float *theta, float *sine, float *cosine, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sincosf(theta[i], &sine[i], &cosine[i]);
}

__global__ void k236h(const float *__restrict__ K, const float *__restrict__ sine, const float *__restrict__ cosine,
                      const float *__restrict__ omega, float *__restrict__ velocity, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n)
        return;
    const float4 *row = (const float4 *)(K + (size_t)i * n);
    const float4 *sines = (const float4 *)sine, *cosines = (const float4 *)cosine;
    float s_sum = 0, c_sum = 0;
#pragma unroll 4
    for (int j = lane; j < n / 4; j += 32) {
        float4 k = row[j], s = sines[j], c = cosines[j];
        s_sum += k.x * s.x + k.y * s.y + k.z * s.z + k.w * s.w;
        c_sum += k.x * c.x + k.y * c.y + k.z * c.z + k.w * c.w;
    }
    float sum = cosine[i] * s_sum - sine[i] * c_sum;
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        velocity[i] = omega[i] + sum / n;
}

int main()
{
    {
        const int count = 1 << 24;
        float4 *spheres = (float4 *)input<float>((size_t)count * 4, 1, 0, 10);
        Object *objects = output<Object>(count);
        make_objects<<<1056, 256>>>(spheres, objects, count);
        MUST(cudaDeviceSynchronize());
        std::vector<float4> list = {{1, 0, 0, -6},         {-1, 0, 0, -2},        {0.6f, 0.8f, 0, -12},
                                    {0, 0, 1, -8},         {-0.6f, 0, -0.8f, 3},  {0, -0.8f, 0.6f, -1}};
        float4 *planes = on_device(list);
        MUST(cudaMemcpyToSymbol(frustum, list.data(), 6 * sizeof(float4)));
        unsigned char *visible = output<unsigned char>(count);
        k236a<<<count / 256, 256>>>(objects, planes, visible, count);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned char> want = on_host(visible, count);
        check("k236a", visible, want, 0);
        MUST(cudaFree(visible));
        visible = output<unsigned char>(count);
        k236b<<<count / 256, 256>>>(spheres, planes, visible, count);
        check("k236b", visible, want, 0);
        MUST(cudaFree(visible));
        visible = output<unsigned char>(count);
        k236c<<<count / 256, 256>>>(spheres, visible, count);
        check("k236c", visible, want, 0);
        MUST(cudaFree(visible));
        MUST(cudaFree(objects));
        MUST(cudaFree(spheres));
    }
    {
        const int count = 1 << 22;
        float *coefficients = input<float>((size_t)count * 32, 2, -1, 1), *x = input<float>(count, 3, -1, 1);
        float *value = output<float>(count);
        k236d<<<count / 128, 128>>>(coefficients, x, value);
        MUST(cudaDeviceSynchronize());
        std::vector<float> c = on_host(coefficients, (size_t)count * 32), at = on_host(x, count), want(count);
        for (int i = 0; i < count; i++) {
            double sum = 0;
            for (int k = 31; k >= 0; k--)
                sum = sum * at[i] + c[(size_t)i * 32 + k];
            want[i] = (float)sum;
        }
        check("k236d", value, want, 1e-4);
        MUST(cudaFree(value));
        value = output<float>(count);
        k236e<<<count / 128, 128>>>(coefficients, x, value);
        check("k236e", value, want, 1e-4);
        MUST(cudaFree(value));
        MUST(cudaFree(coefficients));
        MUST(cudaFree(x));
    }
    {
        const int n = 8192;
        float *K = input<float>((size_t)n * n, 4, 0, 2), *theta = input<float>(n, 5, -3.1415926, 3.1415926);
        float *omega = input<float>(n, 6, -1, 1);
        float *sine = output<float>(n), *cosine = output<float>(n);
        make_sines<<<n / 256, 256>>>(theta, sine, cosine, n);
        MUST(cudaDeviceSynchronize());
        float *velocity = output<float>(n);
        k236f<<<n / 128, 128>>>(K, theta, omega, velocity, n);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(velocity, n);
        check("k236f", velocity, want, 0);
        MUST(cudaFree(velocity));
        velocity = output<float>(n);
        k236g<<<n / 8, 256>>>(K, theta, omega, velocity, n);
        check("k236g", velocity, want, 1e-4);
        MUST(cudaFree(velocity));
        velocity = output<float>(n);
        k236h<<<n / 8, 256>>>(K, sine, cosine, omega, velocity, n);
        check("k236h", velocity, want, 1e-4);
    }
    return 0;
}
