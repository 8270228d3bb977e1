// Additive attention (Bahdanau): energies v . tanh(q + k) of all pairs of a query and a key, and context vectors, the
// sums of the encoder's states weighted with the attention of one decoder step.
#include "../harness.h"

#include <functional>

const int HEADS = 32, LENGTH = 512, DIM = 128;
const int BATCH = 32, STEPS = 4096, CHANNELS = 1024;

// One thread for each energy.
__global__ void k201a(float *energy, const float *query, const float *key, const float *v, int length, int dim)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y, b = blockIdx.z;
    if (j >= length)
        return;
    const float *q = query + ((size_t)b * length + i) * dim;
    const float *k = key + ((size_t)b * length + j) * dim;
    float sum = 0.0f;
    for (int d = 0; d < dim; d++)
        sum += v[d] * tanhf(q[d] + k[d]);
    energy[((size_t)b * length + i) * length + j] = sum;
}

const int TILE = 16, DEPTH = 32;

__global__ void k201b(float *energy, const float *query, const float *key, const float *v, int length, int dim)
{
    __shared__ float qs[TILE][DEPTH], ks[TILE][DEPTH];
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.z;
    int tid = ty * TILE + tx, row = tid / DEPTH, column = tid % DEPTH;
    const float *q = query + ((size_t)b * length + blockIdx.y * TILE) * dim;
    const float *k = key + ((size_t)b * length + blockIdx.x * TILE) * dim;
    float sum = 0.0f;
    for (int d0 = 0; d0 < dim; d0 += DEPTH) {
        for (int r = row; r < TILE; r += TILE * TILE / DEPTH) {
            qs[r][column] = q[r * dim + d0 + column];
            ks[r][column] = k[r * dim + d0 + column];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            sum += v[d0 + d] * tanhf(qs[ty][d] + ks[tx][d]);
        __syncthreads();
    }
    energy[((size_t)b * length + blockIdx.y * TILE + ty) * length + blockIdx.x * TILE + tx] = sum;
}

__global__ void k201c(float *energy, const float *query, const float *key, const float *v, int length, int dim)
{
    __shared__ float qs[TILE][DEPTH + 1], ks[TILE][DEPTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.z;
    int tid = ty * TILE + tx, row = tid / DEPTH, column = tid % DEPTH;
    const float *q = query + ((size_t)b * length + blockIdx.y * TILE) * dim;
    const float *k = key + ((size_t)b * length + blockIdx.x * TILE) * dim;
    float sum = 0.0f;
    for (int d0 = 0; d0 < dim; d0 += DEPTH) {
        for (int r = row; r < TILE; r += TILE * TILE / DEPTH) {
            qs[r][column] = q[r * dim + d0 + column];
            ks[r][column] = k[r * dim + d0 + column];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            sum += v[d0 + d] * tanhf(qs[ty][d] + ks[tx][d]);
        __syncthreads();
    }
    energy[((size_t)b * length + blockIdx.y * TILE + ty) * length + blockIdx.x * TILE + tx] = sum;
}

__device__ inline float squash(float x)
{
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k201d(float *energy, const float *query, const float *key, const float *v, int length, int dim)
{
    __shared__ float qs[TILE][DEPTH + 1], ks[TILE][DEPTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.z;
    int tid = ty * TILE + tx, row = tid / DEPTH, column = tid % DEPTH;
    const float *q = query + ((size_t)b * length + blockIdx.y * TILE) * dim;
    const float *k = key + ((size_t)b * length + blockIdx.x * TILE) * dim;
    float sum = 0.0f;
    for (int d0 = 0; d0 < dim; d0 += DEPTH) {
        for (int r = row; r < TILE; r += TILE * TILE / DEPTH) {
            qs[r][column] = q[r * dim + d0 + column];
            ks[r][column] = k[r * dim + d0 + column];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            sum += v[d0 + d] * squash(qs[ty][d] + ks[tx][d]);
        __syncthreads();
    }
    energy[((size_t)b * length + blockIdx.y * TILE + ty) * length + blockIdx.x * TILE + tx] = sum;
}

const int EACH = 4, WIDE = TILE * EACH;

// A block makes 64 x 64 energies, a thread 4 x 4 of them.
__global__ void k201e(float *__restrict__ energy, const float *__restrict__ query, const float *__restrict__ key,
                      const float *__restrict__ v, int length, int dim)
{
    __shared__ float qs[WIDE][DEPTH + 1], ks[WIDE][DEPTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.z;
    int tid = ty * TILE + tx, row = tid / DEPTH, column = tid % DEPTH;
    const float *q = query + ((size_t)b * length + blockIdx.y * WIDE) * dim;
    const float *k = key + ((size_t)b * length + blockIdx.x * WIDE) * dim;
    float sum[EACH][EACH];
#pragma unroll
    for (int m = 0; m < EACH; m++)
#pragma unroll
        for (int n = 0; n < EACH; n++)
            sum[m][n] = 0.0f;
    for (int d0 = 0; d0 < dim; d0 += DEPTH) {
#pragma unroll
        for (int r = 0; r < WIDE; r += TILE * TILE / DEPTH) {
            qs[r + row][column] = q[(r + row) * dim + d0 + column];
            ks[r + row][column] = k[(r + row) * dim + d0 + column];
        }
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < DEPTH; d++) {
            float weight = v[d0 + d], mine[EACH], other[EACH];
#pragma unroll
            for (int m = 0; m < EACH; m++) {
                mine[m] = qs[ty + m * TILE][d];
                other[m] = ks[tx + m * TILE][d];
            }
#pragma unroll
            for (int m = 0; m < EACH; m++)
#pragma unroll
                for (int n = 0; n < EACH; n++)
                    sum[m][n] += weight * squash(mine[m] + other[n]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < EACH; m++)
#pragma unroll
        for (int n = 0; n < EACH; n++)
            energy[((size_t)b * length + blockIdx.y * WIDE + ty + m * TILE) * length + blockIdx.x * WIDE + tx +
                   n * TILE] = sum[m][n];
}

// context[b][c] = sum over t of alpha[b][t] * state[b][t][c].
__global__ void k201f(float *context, const float *alpha, const float *state, int steps, int channels)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
    if (c >= channels)
        return;
    float sum = 0.0f;
    for (int t = 0; t < steps; t++)
        sum += alpha[(size_t)b * steps + t] * state[((size_t)b * steps + t) * channels + c];
    context[b * channels + c] = sum;
}

const int CHUNK = 128;

__global__ void k201g(float *__restrict__ context, const float *__restrict__ alpha, const float *__restrict__ state,
                      int steps, int channels)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.z;
    size_t first = (size_t)b * steps + blockIdx.y * CHUNK;
    float sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < CHUNK; t++)
        sum += alpha[first + t] * state[(first + t) * channels + c];
    atomicAdd(&context[b * channels + c], sum);
}

const int SHORT_CHUNK = 32;

__global__ void k201h(float *__restrict__ context, const float *__restrict__ alpha, const float4 *__restrict__ state,
                      int steps, int channels)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.z;
    size_t first = (size_t)b * steps + blockIdx.y * SHORT_CHUNK;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int t = 0; t < SHORT_CHUNK; t++) {
        float weight = alpha[first + t];
        float4 s = state[(first + t) * (channels / 4) + c];
        sum.x += weight * s.x;
        sum.y += weight * s.y;
        sum.z += weight * s.z;
        sum.w += weight * s.w;
    }
    float *to = &context[b * channels + c * 4];
    atomicAdd(to, sum.x);
    atomicAdd(to + 1, sum.y);
    atomicAdd(to + 2, sum.z);
    atomicAdd(to + 3, sum.w);
}

int main()
{
    const size_t vectors = (size_t)HEADS * LENGTH, energies = vectors * LENGTH;
    float *query = input<float>(vectors * DIM, 2011, -1.5, 1.5), *key = input<float>(vectors * DIM, 2012, -1.5, 1.5);
    float *v = input<float>(DIM, 2013, -0.25, 0.25), *energy = output<float>(energies);
    std::vector<float> all;

    // The first kernel: every 151st row against the host. The others: everything against the first.
    {
        std::vector<float> hq = on_host(query, vectors * DIM), hk = on_host(key, vectors * DIM), hv = on_host(v, DIM);
        const size_t every = 151, rows = (vectors - 1) / every + 1;
        std::vector<float> want(rows * LENGTH);
        for (size_t r = 0; r < rows; r++)
            for (int j = 0; j < LENGTH; j++) {
                const float *q = &hq[r * every * DIM], *k = &hk[(r * every / LENGTH * LENGTH + j) * DIM];
                double sum = 0;
                for (int d = 0; d < DIM; d++)
                    sum += hv[d] * std::tanh(q[d] + k[d]);
                want[r * LENGTH + j] = float(sum);
            }
        float *some = output<float>(want.size());
        auto first = [&](const char *name, std::function<void()> launch) {
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const size_t bytes = LENGTH * sizeof(float);
            MUST(cudaMemcpy2D(some, bytes, energy, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-4);
            all = on_host(energy, energies);
        };
        first("k201a", [&] {
            k201a<<<dim3(LENGTH / 256, LENGTH, HEADS), 256>>>(energy, query, key, v, LENGTH, DIM);
        });
    }
    auto pairs = [&](const char *name, double tolerance, std::function<void()> launch) {
        MUST(cudaMemset(energy, 0xA5, energies * sizeof(float)));
        launch();
        check(name, energy, all, tolerance);
    };
    dim3 square(TILE, TILE), tiles(LENGTH / TILE, LENGTH / TILE, HEADS), wide(LENGTH / WIDE, LENGTH / WIDE, HEADS);
    pairs("k201b", 1e-4, [&] { k201b<<<tiles, square>>>(energy, query, key, v, LENGTH, DIM); });
    pairs("k201c", 1e-4, [&] { k201c<<<tiles, square>>>(energy, query, key, v, LENGTH, DIM); });
    pairs("k201d", 5e-3, [&] { k201d<<<tiles, square>>>(energy, query, key, v, LENGTH, DIM); });
    pairs("k201e", 5e-3, [&] { k201e<<<wide, square>>>(energy, query, key, v, LENGTH, DIM); });

    const size_t sequence = (size_t)STEPS * CHANNELS;
    float *alpha = input<float>((size_t)BATCH * STEPS, 2014, 0.0, 2.0 / STEPS);
    float *state = input<float>(BATCH * sequence, 2015, -20.0, 30.0);
    float *context = output<float>((size_t)BATCH * CHANNELS);
    std::vector<float> want((size_t)BATCH * CHANNELS), weights = on_host(alpha, (size_t)BATCH * STEPS);
    for (int b = 0; b < BATCH; b++) {
        std::vector<float> states = on_host(state + b * sequence, sequence);
        std::vector<double> sum(CHANNELS, 0.0);
        for (int t = 0; t < STEPS; t++)
            for (int c = 0; c < CHANNELS; c++)
                sum[c] += double(weights[(size_t)b * STEPS + t]) * states[(size_t)t * CHANNELS + c];
        for (int c = 0; c < CHANNELS; c++)
            want[(size_t)b * CHANNELS + c] = float(sum[c]);
    }
    auto weighted = [&](const char *name, int poison, std::function<void()> launch) {
        MUST(cudaMemset(context, poison, want.size() * sizeof(float)));
        launch();
        check(name, context, want, 1e-4);
    };
    weighted("k201f", 0xA5, [&] {
        k201f<<<dim3(CHANNELS / 256, BATCH), 256>>>(context, alpha, state, STEPS, CHANNELS);
    });
    weighted("k201g", 0, [&] {
        k201g<<<dim3(CHANNELS / 256, STEPS / CHUNK, BATCH), 256>>>(context, alpha, state, STEPS, CHANNELS);
    });
    weighted("k201h", 0, [&] {
        k201h<<<dim3(1, STEPS / SHORT_CHUNK, BATCH), CHANNELS / 4>>>(context, alpha, (const float4 *)state, STEPS,
                                                                     CHANNELS);
    });
    return 0;
}
