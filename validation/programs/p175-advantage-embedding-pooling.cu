// Generalised advantage estimation over many environments, sums of embedding rows (bags), and max pooling 2 x 2.
#include "../harness.h"

#include <cfloat>
#include <functional>

const int ENVS = 128 << 10, STEPS = 128;
const float GAMMA = 0.99f, LAMBDA = 0.95f;

// All arrays are (envs, steps); last holds the value after the last step.
__global__ void k175a(float *advantage, const float *reward, const float *value, const float *done, const float *last,
                      int envs, int steps, float gamma, float lambda)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= envs)
        return;
    float running = 0.0f, next = last[e];
    for (int t = steps - 1; t >= 0; t--) {
        int i = e * steps + t;
        float alive = 1.0f - done[i], v = value[i];
        float delta = reward[i] + gamma * next * alive - v;
        running = delta + gamma * lambda * alive * running;
        advantage[i] = running;
        next = v;
    }
}

// All arrays are (steps, envs).
__global__ void k175b(float *advantage, const float *reward, const float *value, const float *done, const float *last,
                      int envs, int steps, float gamma, float lambda)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= envs)
        return;
    float running = 0.0f, next = last[e];
    for (int t = steps - 1; t >= 0; t--) {
        int i = t * envs + e;
        float alive = 1.0f - done[i], v = value[i];
        float delta = reward[i] + gamma * next * alive - v;
        running = delta + gamma * lambda * alive * running;
        advantage[i] = running;
        next = v;
    }
}

// steps is a multiple of 8.
__global__ void k175c(float *__restrict__ advantage, const float *__restrict__ reward, const float *__restrict__ value,
                      const float *__restrict__ done, const float *__restrict__ last, int envs, int steps, float gamma,
                      float lambda)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= envs)
        return;
    float running = 0.0f, next = last[e];
    for (int t = steps - 8; t >= 0; t -= 8) {
        float r[8], v[8], d[8];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int i = (t + j) * envs + e;
            r[j] = reward[i];
            v[j] = value[i];
            d[j] = done[i];
        }
#pragma unroll
        for (int j = 7; j >= 0; j--) {
            float alive = 1.0f - d[j];
            float delta = r[j] + gamma * next * alive - v[j];
            running = delta + gamma * lambda * alive * running;
            advantage[(t + j) * envs + e] = running;
            next = v[j];
        }
    }
}

const int ROWS = 1 << 20, DIM = 256, BAGS = 16 << 10, LENGTH = 32;

// out[bag][d] = sum over l of table[index[bag][l]][d]
__global__ void k175d(float *out, const __half *table, const int *index, int bags, int length, int dim)
{
    int bag = blockIdx.x * blockDim.x + threadIdx.x;
    if (bag >= bags)
        return;
    for (int d = 0; d < dim; d++) {
        float sum = 0.0f;
        for (int l = 0; l < length; l++)
            sum += __half2float(table[(size_t)index[bag * length + l] * dim + d]);
        out[(size_t)bag * dim + d] = sum;
    }
}

__global__ void k175e(float *out, const __half *table, const int *index, int length, int dim)
{
    int bag = blockIdx.x, d = threadIdx.x;
    float sum = 0.0f;
    for (int l = 0; l < length; l++)
        sum += __half2float(table[(size_t)index[bag * length + l] * dim + d]);
    out[(size_t)bag * dim + d] = sum;
}

__global__ void k175f(float *__restrict__ out, const __half *__restrict__ table, const int *__restrict__ index, int bags)
{
    int bag = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (bag >= bags)
        return;
    int mine = index[bag * LENGTH + lane];
    float sum[8] = {};
#pragma unroll 8
    for (int l = 0; l < LENGTH; l++) {
        int row = __shfl_sync(0xffffffffu, mine, l);
        uint4 raw = reinterpret_cast<const uint4 *>(table + (size_t)row * DIM)[lane];
        const __half2 *pair = reinterpret_cast<const __half2 *>(&raw);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 v = __half22float2(pair[j]);
            sum[2 * j] += v.x;
            sum[2 * j + 1] += v.y;
        }
    }
    float4 *to = reinterpret_cast<float4 *>(out + (size_t)bag * DIM + lane * 8);
    to[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    to[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

__global__ void k175g(float *top, const float *bottom, int count, int channels, int height, int width, int pooled_height,
                      int pooled_width, int window, int stride, int pad)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count)
        return;
    int pw = index % pooled_width;
    int ph = index / pooled_width % pooled_height;
    int c = index / pooled_width / pooled_height % channels;
    int n = index / pooled_width / pooled_height / channels;
    int hstart = ph * stride - pad, wstart = pw * stride - pad;
    int hend = min(hstart + window, height), wend = min(wstart + window, width);
    hstart = max(hstart, 0);
    wstart = max(wstart, 0);
    const float *slice = bottom + (size_t)(n * channels + c) * height * width;
    float best = -FLT_MAX;
    for (int h = hstart; h < hend; h++)
        for (int w = wstart; w < wend; w++)
            if (slice[h * width + w] > best)
                best = slice[h * width + w];
    top[index] = best;
}

const int SIDE = 128;

__global__ void k175h(float *top, const float *bottom)
{
    int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
    const float *slice = bottom + (size_t)blockIdx.y * SIDE * SIDE;
    float4 u = reinterpret_cast<const float4 *>(slice + 2 * y * SIDE)[x];
    float4 v = reinterpret_cast<const float4 *>(slice + (2 * y + 1) * SIDE)[x];
    float2 best = make_float2(fmaxf(fmaxf(u.x, u.y), fmaxf(v.x, v.y)), fmaxf(fmaxf(u.z, u.w), fmaxf(v.z, v.w)));
    reinterpret_cast<float2 *>(top + ((size_t)blockIdx.y * (SIDE / 2) + y) * (SIDE / 2))[x] = best;
}

__global__ void k175i(float *__restrict__ top, const float *__restrict__ bottom)
{
    int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y;
    const float *slice = bottom + (size_t)blockIdx.y * SIDE * SIDE;
    float4 u = __ldg(reinterpret_cast<const float4 *>(slice + 2 * y * SIDE) + x);
    float4 v = __ldg(reinterpret_cast<const float4 *>(slice + (2 * y + 1) * SIDE) + x);
    float2 best = make_float2(fmaxf(fmaxf(u.x, u.y), fmaxf(v.x, v.y)), fmaxf(fmaxf(u.z, u.w), fmaxf(v.z, v.w)));
    reinterpret_cast<float2 *>(top + ((size_t)blockIdx.y * (SIDE / 2) + y) * (SIDE / 2))[x] = best;
}

// out (columns, rows) from in (rows, columns)
__global__ void fill_turned(float *out, const float *in, int rows, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns)
        out[(size_t)(i % columns) * rows + i / columns] = in[i];
}

// Ends of episodes, one in 32.
__global__ void fill_done(float *done, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        done[i] = scrambled(i, 1753) % 32 == 0 ? 1.0f : 0.0f;
}

int main()
{
    const int n = ENVS * STEPS;
    float *reward = input<float>(n, 1751, -1.0, 1.0), *value = input<float>(n, 1752, -2.0, 2.0), *done = output<float>(n);
    float *last = input<float>(ENVS, 1754, -2.0, 2.0), *advantage = output<float>(n), *turned = output<float>(n);
    fill_done<<<n / 256, 256>>>(done, n);
    float *reward2 = output<float>(n), *value2 = output<float>(n), *done2 = output<float>(n);
    fill_turned<<<n / 256, 256>>>(reward2, reward, ENVS, STEPS);
    fill_turned<<<n / 256, 256>>>(value2, value, ENVS, STEPS);
    fill_turned<<<n / 256, 256>>>(done2, done, ENVS, STEPS);
    MUST(cudaDeviceSynchronize());
    std::vector<float> hr = on_host(reward, n), hv = on_host(value, n), hd = on_host(done, n), hl = on_host(last, ENVS);
    std::vector<float> gae(n);
    for (int e = 0; e < ENVS; e++) {
        double running = 0, next = hl[e];
        for (int t = STEPS - 1; t >= 0; t--) {
            int i = e * STEPS + t;
            double alive = 1 - hd[i], delta = hr[i] + GAMMA * next * alive - hv[i];
            running = delta + double(GAMMA) * LAMBDA * alive * running;
            gae[i] = float(running);
            next = hv[i];
        }
    }
    auto estimate = [&](const char *name, bool by_step, std::function<void()> launch) {
        MUST(cudaMemset(advantage, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        if (by_step)
            fill_turned<<<n / 256, 256>>>(turned, advantage, STEPS, ENVS);
        check(name, by_step ? turned : advantage, gae, 2e-5);
    };
    const int blocks = ENVS / 128;
    estimate("k175a", false, [&] {
        k175a<<<blocks, 128>>>(advantage, reward, value, done, last, ENVS, STEPS, GAMMA, LAMBDA);
    });
    estimate("k175b", true, [&] {
        k175b<<<blocks, 128>>>(advantage, reward2, value2, done2, last, ENVS, STEPS, GAMMA, LAMBDA);
    });
    estimate("k175c", true, [&] {
        k175c<<<blocks, 128>>>(advantage, reward2, value2, done2, last, ENVS, STEPS, GAMMA, LAMBDA);
    });

    __half *table = input<__half>((size_t)ROWS * DIM, 1755, -1.0, 1.0);
    int *index = input<int>(BAGS * LENGTH, 1756, 0, ROWS);
    float *bag = output<float>((size_t)BAGS * DIM);
    std::vector<int> hi = on_host(index, BAGS * LENGTH);
    // Every 61st bag, on the host; the later kernels are compared with the first.
    const int every = 61, some = (BAGS - 1) / every + 1;
    float *picked = output<float>((size_t)some * DIM);
    std::vector<float> want((size_t)some * DIM), first;
    std::vector<__half> row(DIM);
    for (int b = 0; b < some; b++)
        for (int l = 0; l < LENGTH; l++) {
            const __half *from = table + (size_t)hi[b * every * LENGTH + l] * DIM;
            MUST(cudaMemcpy(row.data(), from, DIM * sizeof(__half), cudaMemcpyDeviceToHost));
            for (int d = 0; d < DIM; d++)
                want[(size_t)b * DIM + d] += __half2float(row[d]);
        }
    auto sums = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(bag, 0xA5, (size_t)BAGS * DIM * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = DIM * sizeof(float);
        if (first.empty()) {
            MUST(cudaMemcpy2D(picked, bytes, bag, every * bytes, bytes, some, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-5);
            first = on_host(bag, (size_t)BAGS * DIM);
        } else
            check(name, bag, first, 1e-5);
    };
    sums("k175d", [&] { k175d<<<BAGS / 128, 128>>>(bag, table, index, BAGS, LENGTH, DIM); });
    sums("k175e", [&] { k175e<<<BAGS, DIM>>>(bag, table, index, LENGTH, DIM); });
    sums("k175f", [&] { k175f<<<BAGS / 8, 256>>>(bag, table, index, BAGS); });

    const int batch = 64, channels = 64, planes = batch * channels, half = SIDE / 2, count = planes * half * half;
    float *bottom = input<float>((size_t)count * 4, 1757, -1.0, 1.0), *top = output<float>(count);
    std::vector<float> hb = on_host(bottom, (size_t)count * 4), best(count);
    for (int r = 0; r < planes * half; r++)
        for (int x = 0; x < half; x++) {
            const float *u = &hb[(size_t)r * 2 * SIDE + 2 * x], *v = u + SIDE;
            best[(size_t)r * half + x] = std::fmax(std::fmax(u[0], u[1]), std::fmax(v[0], v[1]));
        }
    auto pool = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(top, 0xA5, count * sizeof(float)));
        launch();
        check(name, top, best, 0.0);
    };
    dim3 block(SIDE / 4, 8), grid(half / 8, planes);
    pool("k175g", [&] {
        k175g<<<count / 256, 256>>>(top, bottom, count, channels, SIDE, SIDE, half, half, 2, 2, 0);
    });
    pool("k175h", [&] { k175h<<<grid, block>>>(top, bottom); });
    pool("k175i", [&] { k175i<<<grid, block>>>(top, bottom); });
    return 0;
}
