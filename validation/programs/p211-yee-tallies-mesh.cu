// The magnetic field of a two-dimensional Yee step, tallies of the energy that Monte Carlo histories leave in cells, and
// the deformation of a mesh by radial basis functions.
#include "../harness.h"

#include <functional>

const int SIDE = 8192;

__global__ void k211a(float *__restrict__ hz, const float *__restrict__ ex, const float *__restrict__ ey, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 && j < n - 1) {
        int at = i * n + j;
        hz[at] = hz[at] - 0.7 * (ex[at + 1] - ex[at] + ey[at + n] - ey[at]);
    }
}

__global__ void k211b(float *__restrict__ hz, const float *__restrict__ ex, const float *__restrict__ ey, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 && j < n - 1) {
        int at = i * n + j;
        hz[at] = hz[at] - 0.7 * (ex[at + 1] - ex[at] + ey[at + n] - ey[at]);
    }
}

__global__ void k211c(float *__restrict__ hz, const float *__restrict__ ex, const float *__restrict__ ey, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n - 1 && j < n - 1) {
        int at = i * n + j;
        hz[at] = hz[at] - 0.7f * (ex[at + 1] - ex[at] + ey[at + n] - ey[at]);
    }
}

const int EVENTS = 1 << 25, TALLIES = 1024;

// An event is a cell and an energy.
__global__ void k211d(int *tally, const int2 *__restrict__ event, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int2 e = event[i];
        atomicAdd(&tally[e.x], e.y);
    }
}

__global__ void __launch_bounds__(1024, 2) k211e(int *tally, const int4 *__restrict__ event, int pairs)
{
    __shared__ int mine[TALLIES];
    mine[threadIdx.x] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += 2 * stride) {
        bool second = i + stride < pairs;
        int4 e = event[i], f = second ? event[i + stride] : make_int4(0, 0, 0, 0);
        atomicAdd(&mine[e.x], e.y);
        atomicAdd(&mine[e.z], e.w);
        if (second) {
            atomicAdd(&mine[f.x], f.y);
            atomicAdd(&mine[f.z], f.w);
        }
    }
    __syncthreads();
    atomicAdd(&tally[threadIdx.x], mine[threadIdx.x]);
}

const int NODES = 1 << 20, CENTRES = 512, AHEAD = 4;

struct Vectors {
    const float *x, *y, *z;
};

struct Results {
    float *x, *y, *z;
};

__global__ void k211f(Results moved, Vectors node, Vectors centre, Vectors weight, int centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = node.x[i], y = node.y[i], z = node.z[i];
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int c = 0; c < centres; c++) {
        float dx = x - centre.x[c], dy = y - centre.y[c], dz = z - centre.z[c];
        float r = sqrtf(dx * dx + dy * dy + dz * dz);
        float phi = powf(fmaxf(1.0f - r, 0.0f), 4.0f) * (4.0f * r + 1.0f);
        sx += weight.x[c] * phi;
        sy += weight.y[c] * phi;
        sz += weight.z[c] * phi;
    }
    moved.x[i] = x + sx;
    moved.y[i] = y + sy;
    moved.z[i] = z + sz;
}

__global__ void k211g(Results moved, Vectors node, Vectors centre, Vectors weight, int centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = node.x[i], y = node.y[i], z = node.z[i];
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int c = 0; c < centres; c++) {
        float dx = x - centre.x[c], dy = y - centre.y[c], dz = z - centre.z[c];
        float r = sqrtf(dx * dx + dy * dy + dz * dz);
        float inside = fmaxf(1.0f - r, 0.0f), square = inside * inside;
        float phi = square * square * (4.0f * r + 1.0f);
        sx += weight.x[c] * phi;
        sy += weight.y[c] * phi;
        sz += weight.z[c] * phi;
    }
    moved.x[i] = x + sx;
    moved.y[i] = y + sy;
    moved.z[i] = z + sz;
}

__device__ inline float wendland(float dx, float dy, float dz)
{
    float r2 = dx * dx + (dy * dy + (dz * dz + 1e-12f)), inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(r2));
    float r = r2 * inverse, inside = fmaxf(1.0f - r, 0.0f), square = inside * inside;
    return square * square * (4.0f * r + 1.0f);
}

__global__ void k211h(Results moved, Vectors node, Vectors centre, Vectors weight, int centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = node.x[i], y = node.y[i], z = node.z[i];
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int c = 0; c < centres; c++) {
        float phi = wendland(x - centre.x[c], y - centre.y[c], z - centre.z[c]);
        sx += weight.x[c] * phi;
        sy += weight.y[c] * phi;
        sz += weight.z[c] * phi;
    }
    moved.x[i] = x + sx;
    moved.y[i] = y + sy;
    moved.z[i] = z + sz;
}

__global__ void k211i(Results moved, Vectors node, Vectors centre, Vectors weight, int centres)
{
    int first = blockIdx.x * blockDim.x * AHEAD + threadIdx.x;
    float x[AHEAD], y[AHEAD], z[AHEAD], sx[AHEAD], sy[AHEAD], sz[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        int i = first + k * blockDim.x;
        x[k] = node.x[i];
        y[k] = node.y[i];
        z[k] = node.z[i];
        sx[k] = sy[k] = sz[k] = 0.0f;
    }
#pragma unroll 2
    for (int c = 0; c < centres; c++) {
        float cx = centre.x[c], cy = centre.y[c], cz = centre.z[c];
        float wx = weight.x[c], wy = weight.y[c], wz = weight.z[c];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            float phi = wendland(x[k] - cx, y[k] - cy, z[k] - cz);
            sx[k] += wx * phi;
            sy[k] += wy * phi;
            sz[k] += wz * phi;
        }
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        int i = first + k * blockDim.x;
        moved.x[i] = x[k] + sx[k];
        moved.y[i] = y[k] + sy[k];
        moved.z[i] = z[k] + sz[k];
    }
}

int main()
{
    {
        const size_t n = (size_t)SIDE * SIDE, bytes = SIDE * sizeof(float);
        float *before = input<float>(n, 2111, -1.0, 1.0), *hz = output<float>(n);
        float *ex = input<float>(n, 2112, -1.0, 1.0), *ey = input<float>(n, 2113, -1.0, 1.0);
        const int every = 41, rows = (SIDE - 2) / every + 1;
        float *some = output<float>((size_t)rows * SIDE);
        auto lines = [&](const float *from) {
            MUST(cudaMemcpy2D(some, bytes, from, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            return on_host(some, (size_t)rows * SIDE);
        };
        std::vector<float> want = lines(before), x = lines(ex), y = lines(ey), below = lines(ey + SIDE);
        for (size_t i = 0; i < want.size(); i++)
            if (i % SIDE != SIDE - 1)
                want[i] = float(want[i] - 0.7 * (double(x[i + 1]) - x[i] + below[i] - y[i]));
        auto field = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemcpy(hz, before, n * sizeof(float), cudaMemcpyDeviceToDevice));
            MUST(cudaMemset(some, 0xA5, (size_t)rows * bytes));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(some, bytes, hz, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-6);
        };
        dim3 block(32, 8), grid(SIDE / 32, SIDE / 8);
        field("k211a", [&] { k211a<<<grid, block>>>(hz, ex, ey, SIDE); });
        field("k211b", [&] { k211b<<<grid, block>>>(hz, ex, ey, SIDE); });
        field("k211c", [&] { k211c<<<grid, block>>>(hz, ex, ey, SIDE); });
        for (float *data : {before, hz, ex, ey, some})
            MUST(cudaFree(data));
    }
    {
        int *event = input<int>(2 * (size_t)EVENTS, 2114, 0, TALLIES), *tally = output<int>(TALLIES);
        std::vector<int> events = on_host(event, 2 * (size_t)EVENTS), want(TALLIES, 0);
        for (size_t i = 0; i < events.size(); i += 2)
            want[events[i]] += events[i + 1];
        auto score = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(tally, 0, TALLIES * sizeof(int)));
            launch();
            check(name, tally, want, 0.0);
        };
        const int2 *single = reinterpret_cast<const int2 *>(event);
        const int4 *two = reinterpret_cast<const int4 *>(event);
        score("k211d", [&] { k211d<<<EVENTS / 256, 256>>>(tally, single, EVENTS); });
        score("k211e", [&] { k211e<<<264, TALLIES>>>(tally, two, EVENTS / 2); });
        MUST(cudaFree(event));
    }
    {
        float *p = input<float>(3 * (size_t)NODES, 2115, 0.0, 1.0), *q = input<float>(3 * CENTRES, 2116, 0.0, 1.0);
        float *w = input<float>(3 * CENTRES, 2117, -0.01, 0.01), *out = output<float>(3 * (size_t)NODES);
        Vectors node{p, p + NODES, p + 2 * NODES}, centre{q, q + CENTRES, q + 2 * CENTRES};
        Vectors weight{w, w + CENTRES, w + 2 * CENTRES};
        Results moved{out, out + NODES, out + 2 * NODES};
        const int every = 1024, count = 3 * NODES / every;
        std::vector<float> hp = on_host(p, 3 * (size_t)NODES), hq = on_host(q, 3 * CENTRES), hw = on_host(w, 3 * CENTRES);
        std::vector<float> want(count);
        for (int s = 0; s < count / 3; s++) {
            double at[3], sum[3];
            for (int d = 0; d < 3; d++)
                at[d] = sum[d] = hp[(size_t)d * NODES + s * every];
            for (int c = 0; c < CENTRES; c++) {
                double r = 0;
                for (int d = 0; d < 3; d++)
                    r += (at[d] - hq[d * CENTRES + c]) * (at[d] - hq[d * CENTRES + c]);
                r = std::sqrt(r);
                double phi = r < 1 ? std::pow(1 - r, 4) * (4 * r + 1) : 0.0;
                for (int d = 0; d < 3; d++)
                    sum[d] += hw[d * CENTRES + c] * phi;
            }
            for (int d = 0; d < 3; d++)
                want[d * (count / 3) + s] = float(sum[d]);
        }
        float *some = output<float>(count);
        auto deform = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, 3 * (size_t)NODES * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(some, 4, out, 4 * every, 4, count, cudaMemcpyDeviceToDevice));
            check(name, some, want, 2e-5);
        };
        const int blocks = NODES / 256;
        deform("k211f", [&] { k211f<<<blocks, 256>>>(moved, node, centre, weight, CENTRES); });
        deform("k211g", [&] { k211g<<<blocks, 256>>>(moved, node, centre, weight, CENTRES); });
        deform("k211h", [&] { k211h<<<blocks, 256>>>(moved, node, centre, weight, CENTRES); });
        deform("k211i", [&] { k211i<<<blocks / AHEAD, 256>>>(moved, node, centre, weight, CENTRES); });
    }
    return 0;
}
