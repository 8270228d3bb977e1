// Clustering: the nearest of eight centres for two million points of 32 features, and the sums of each cluster's members;
// then the Q matrix of a non-Cartesian image reconstruction.
#include "../harness.h"

#include <functional>

const int POINTS = 1 << 21, FEATURES = 32, CENTRES = 8;
const int VOXELS = 1 << 18, SAMPLES = 2048;

__constant__ float centre_const[CENTRES * FEATURES];
__constant__ float norm_const[CENTRES];
__constant__ float4 sample_const[SAMPLES];

// Points scattered about the centres; both arrangements of the same numbers.
__global__ void fill_points(float *by_point, float *by_feature, const float *centres, int points)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    int own = scrambled(i, 1261) % CENTRES;
    for (int f = 0; f < FEATURES; f++) {
        float noise = scrambled((unsigned long long)i * FEATURES + f, 1262) / 4294967296.0f - 0.5f;
        float v = centres[own * FEATURES + f] + 0.6f * noise;
        by_point[i * FEATURES + f] = v;
        by_feature[f * points + i] = v;
    }
}

// ---- nearest centre: the least half norm of the centre minus its product with the point

__global__ void k126a(int *member, const float *x, const float *centres, const float *norms, int points, int features,
                      int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    int best = 0;
    float least = 1e30f;
    for (int c = 0; c < count; c++) {
        float dot = 0.0f;
        for (int f = 0; f < features; f++)
            dot += x[i * features + f] * centres[c * features + f];
        float d = norms[c] - dot;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    member[i] = best;
}

__global__ void k126b(int *member, const float *x, const float *centres, const float *norms, int points, int features,
                      int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    int best = 0;
    float least = 1e30f;
    for (int c = 0; c < count; c++) {
        float dot = 0.0f;
        for (int f = 0; f < features; f++)
            dot += x[f * points + i] * centres[c * features + f];
        float d = norms[c] - dot;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    member[i] = best;
}

__global__ void k126c(int *__restrict__ member, const float *__restrict__ x, const float *__restrict__ centres,
                      const float *__restrict__ norms, int points, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    float own[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        own[f] = x[f * points + i];
    int best = 0;
    float least = 1e30f;
#pragma unroll 1
    for (int c = 0; c < count; c++) {
        float dot = 0.0f;
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            dot += own[f] * centres[c * FEATURES + f];
        float d = norms[c] - dot;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    member[i] = best;
}

__global__ void k126d(int *__restrict__ member, const float *__restrict__ x, int points)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    float own[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        own[f] = x[f * points + i];
    int best = 0;
    float least = 1e30f;
#pragma unroll
    for (int c = 0; c < CENTRES; c++) {
        float dot = 0.0f;
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            dot += own[f] * centre_const[c * FEATURES + f];
        float d = norm_const[c] - dot;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    member[i] = best;
}

// ---- sums of the members' features, [centre][feature]

__global__ void k126e(float *sums, const float *x, const int *member, int points, int features)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) {
        int c = member[i];
        for (int f = 0; f < features; f++)
            atomicAdd(&sums[c * features + f], x[f * points + i]);
    }
}

// A block takes four features of 256 * TURNS points.
const int TURNS = 128, GROUP = 4;

__global__ void __launch_bounds__(256, 4) k126f(float *__restrict__ sums, const float *__restrict__ x,
                                                const int *__restrict__ member, int points)
{
    __shared__ float partial[8][CENTRES * GROUP];
    int first = blockIdx.x * 256 * TURNS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *mine = x + blockIdx.y * GROUP * points;
    float own[CENTRES][GROUP];
#pragma unroll
    for (int c = 0; c < CENTRES; c++)
#pragma unroll
        for (int f = 0; f < GROUP; f++)
            own[c][f] = 0.0f;
#pragma unroll 2
    for (int k = 0; k < TURNS; k++) {
        int i = first + k * 256;
        int to = member[i];
        float v[GROUP];
#pragma unroll
        for (int f = 0; f < GROUP; f++)
            v[f] = mine[f * points + i];
#pragma unroll
        for (int c = 0; c < CENTRES; c++)
            if (to == c) {
#pragma unroll
                for (int f = 0; f < GROUP; f++)
                    own[c][f] += v[f];
            }
    }
#pragma unroll
    for (int c = 0; c < CENTRES; c++)
#pragma unroll
        for (int f = 0; f < GROUP; f++) {
            float sum = own[c][f];
#pragma unroll
            for (int offset = 16; offset > 0; offset >>= 1)
                sum += __shfl_down_sync(0xffffffffu, sum, offset);
            if (lane == 0)
                partial[warp][c * GROUP + f] = sum;
        }
    __syncthreads();
    if (threadIdx.x < CENTRES * GROUP) {
        float sum = 0.0f;
        for (int w = 0; w < 8; w++)
            sum += partial[w][threadIdx.x];
        int c = threadIdx.x / GROUP, f = blockIdx.y * GROUP + threadIdx.x % GROUP;
        atomicAdd(&sums[c * FEATURES + f], sum);
    }
}

// ---- Q of each voxel: the sum of all samples (kx, ky, kz, magnitude) with their phase at the voxel

__global__ void k126g(float2 *q, const float *x, const float *y, const float *z, const float4 *samples, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
    for (int k = 0; k < count; k++) {
        float4 s = samples[k];
        float phase = 6.2831853071795864769f * (s.x * px + s.y * py + s.z * pz);
        re += s.w * cosf(phase);
        im += s.w * sinf(phase);
    }
    q[i] = make_float2(re, im);
}

__global__ void k126h(float2 *q, const float *x, const float *y, const float *z, const float4 *samples, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float4 s = samples[k];
        float phase = 6.2831853071795864769f * (s.x * px + s.y * py + s.z * pz);
        re += s.w * __cosf(phase);
        im += s.w * __sinf(phase);
    }
    q[i] = make_float2(re, im);
}

__global__ void k126i(float2 *q, const float *x, const float *y, const float *z, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i], re = 0.0f, im = 0.0f;
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float4 s = sample_const[k];
        float phase = 6.2831853071795864769f * (s.x * px + s.y * py + s.z * pz);
        re += s.w * __cosf(phase);
        im += s.w * __sinf(phase);
    }
    q[i] = make_float2(re, im);
}

int main()
{
    const size_t numbers = (size_t)POINTS * FEATURES;
    float *centres = input<float>(CENTRES * FEATURES, 1263, 0.0, 1.0);
    float *by_point = output<float>(numbers), *by_feature = output<float>(numbers);
    fill_points<<<POINTS / 256, 256>>>(by_point, by_feature, centres, POINTS);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> hc = on_host(centres, CENTRES * FEATURES), hx = on_host(by_point, numbers), half(CENTRES);
    for (int c = 0; c < CENTRES; c++) {
        double sum = 0.0;
        for (int f = 0; f < FEATURES; f++)
            sum += 0.5 * hc[c * FEATURES + f] * hc[c * FEATURES + f];
        half[c] = float(sum);
    }
    float *norms = on_device(half);
    MUST(cudaMemcpyToSymbol(centre_const, hc.data(), hc.size() * sizeof(float)));
    MUST(cudaMemcpyToSymbol(norm_const, half.data(), half.size() * sizeof(float)));

    // The nearest centre of each point, and the sums that belong to it.
    std::vector<int> nearest(POINTS);
    std::vector<double> total(CENTRES * FEATURES, 0.0);
    for (int i = 0; i < POINTS; i++) {
        const float *p = &hx[(size_t)i * FEATURES];
        int best = 0;
        float least = 1e30f;
        for (int c = 0; c < CENTRES; c++) {
            float dot[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int f = 0; f < FEATURES; f += 4)
                for (int k = 0; k < 4; k++)
                    dot[k] += p[f + k] * hc[c * FEATURES + f + k];
            float d = half[c] - (dot[0] + dot[1] + dot[2] + dot[3]);
            if (d < least) {
                least = d;
                best = c;
            }
        }
        nearest[i] = best;
        for (int f = 0; f < FEATURES; f++)
            total[best * FEATURES + f] += p[f];
    }
    int *member = output<int>(POINTS);
    auto assign = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(member, 0xA5, POINTS * sizeof(int)));
        launch();
        check(name, member, nearest, 0.0);
    };
    const int blocks = POINTS / 256;
    assign("k126a", [&] { k126a<<<blocks, 256>>>(member, by_point, centres, norms, POINTS, FEATURES, CENTRES); });
    assign("k126b", [&] { k126b<<<blocks, 256>>>(member, by_feature, centres, norms, POINTS, FEATURES, CENTRES); });
    assign("k126c", [&] { k126c<<<blocks, 256>>>(member, by_feature, centres, norms, POINTS, CENTRES); });
    assign("k126d", [&] { k126d<<<blocks, 256>>>(member, by_feature, POINTS); });

    float *sums = output<float>(CENTRES * FEATURES);
    const std::vector<float> wanted(total.begin(), total.end());
    auto add_up = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0, CENTRES * FEATURES * sizeof(float)));
        launch();
        check(name, sums, wanted, 2e-4);
    };
    const dim3 groups(POINTS / (256 * TURNS), FEATURES / GROUP);
    add_up("k126e", [&] { k126e<<<blocks, 256>>>(sums, by_feature, member, POINTS, FEATURES); });
    add_up("k126f", [&] { k126f<<<groups, 256>>>(sums, by_feature, member, POINTS); });

    // Q
    float *x = input<float>(VOXELS, 1264, -0.5, 0.5), *y = input<float>(VOXELS, 1265, -0.5, 0.5);
    float *z = input<float>(VOXELS, 1266, -0.5, 0.5), *numbers4 = input<float>(SAMPLES * 4, 1267, -8.0, 8.0);
    std::vector<float> vx = on_host(x, VOXELS), vy = on_host(y, VOXELS), vz = on_host(z, VOXELS);
    std::vector<float> hs = on_host(numbers4, SAMPLES * 4);
    for (int k = 0; k < SAMPLES; k++)
        hs[k * 4 + 3] = (hs[k * 4 + 3] + 8.0f) / 16.0f;
    float4 *samples = reinterpret_cast<float4 *>(on_device(hs));
    MUST(cudaMemcpyToSymbol(sample_const, hs.data(), hs.size() * sizeof(float)));
    const int every = 101, taken = (VOXELS - 1) / every + 1;
    std::vector<float> want(taken * 2);
    for (int t = 0; t < taken; t++) {
        double re = 0.0, im = 0.0, px = vx[t * every], py = vy[t * every], pz = vz[t * every];
        for (int k = 0; k < SAMPLES; k++) {
            const float *s = &hs[k * 4];
            double phase = 2 * 3.14159265358979323846 * (s[0] * px + s[1] * py + s[2] * pz);
            re += s[3] * std::cos(phase);
            im += s[3] * std::sin(phase);
        }
        want[t * 2] = float(re);
        want[t * 2 + 1] = float(im);
    }
    float2 *q = output<float2>(VOXELS);
    float *some = output<float>(want.size());
    auto matrix = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(q, 0xA5, VOXELS * sizeof(float2)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, sizeof(float2), q, every * sizeof(float2), sizeof(float2), taken,
                          cudaMemcpyDeviceToDevice));
        check(name, some, want, 2e-3);
    };
    matrix("k126g", [&] { k126g<<<VOXELS / 256, 256>>>(q, x, y, z, samples, SAMPLES); });
    matrix("k126h", [&] { k126h<<<VOXELS / 256, 256>>>(q, x, y, z, samples, SAMPLES); });
    matrix("k126i", [&] { k126i<<<VOXELS / 256, 256>>>(q, x, y, z, SAMPLES); });
    return 0;
}
