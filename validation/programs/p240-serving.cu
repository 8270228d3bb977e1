// Serving of language models: dispatch of tokens to experts, repetition penalty, and activation reordering.
#include "../harness.h"

// Row r of the expert-sorted buffer is row source[r] of the activations (half precision)
__global__ void k240a(const __half *activations, const int *source, __half *sorted, size_t rows, size_t hidden)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows * hidden)
        return;
    size_t row = i / hidden, column = i % hidden;
    sorted[i] = activations[source[row] * hidden + column];
}

// hidden8: eights of halves in a row
__global__ void k240b(const uint4 *activations, const int *source, uint4 *sorted, size_t rows, size_t hidden8)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows * hidden8)
        return;
    size_t row = i / hidden8, column = i % hidden8;
    sorted[i] = activations[source[row] * hidden8 + column];
}

// One block for each row, a thread for each eight halves
__global__ void k240c(const uint4 *activations, const int *source, uint4 *sorted, size_t hidden8)
{
    size_t row = blockIdx.x;
    if (threadIdx.x < hidden8)
        sorted[row * hidden8 + threadIdx.x] = activations[source[row] * hidden8 + threadIdx.x];
}

// Repetition penalty: logits of tokens that are in the history of their sequence are divided by the penalty where
// positive, and multiplied where negative.
__device__ inline float penalised(float logit, float penalty)
{
    return logit > 0 ? logit / penalty : logit * penalty;
}

__global__ void k240d(const float *logits, const int *history, float *out, int vocabulary, int length, float penalty)
{
    int token = blockIdx.x * blockDim.x + threadIdx.x, sequence = blockIdx.y;
    if (token >= vocabulary)
        return;
    const int *seen = history + (size_t)sequence * length;
    bool found = false;
    for (int k = 0; k < length; k++)
        found |= seen[k] == token;
    size_t i = (size_t)sequence * vocabulary + token;
    out[i] = found ? penalised(logits[i], penalty) : logits[i];
}

// A block handles CHUNK tokens of the vocabulary of one sequence
constexpr int CHUNK = 8192;

__global__ void k240e(const float *logits, const int *history, float *out, int vocabulary, int length, float penalty)
{
    __shared__ unsigned seen[CHUNK / 32];
    int first = blockIdx.x * CHUNK, sequence = blockIdx.y;
    for (int w = threadIdx.x; w < CHUNK / 32; w += blockDim.x)
        seen[w] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < length; k += blockDim.x) {
        int t = history[(size_t)sequence * length + k] - first;
        if (t >= 0 && t < CHUNK)
            atomicOr(&seen[t / 32], 1u << t % 32);
    }
    __syncthreads();
    size_t base = (size_t)sequence * vocabulary + first;
    int count = min(CHUNK, vocabulary - first);
    for (int t = threadIdx.x; t < count; t += blockDim.x) {
        float l = logits[base + t];
        out[base + t] = seen[t / 32] >> t % 32 & 1 ? penalised(l, penalty) : l;
    }
}

// vocabulary is a multiple of 4
__global__ void k240f(const float4 *logits, const int *history, float4 *out, int vocabulary, int length, float penalty)
{
    __shared__ unsigned seen[CHUNK / 32];
    int first = blockIdx.x * CHUNK, sequence = blockIdx.y;
    for (int w = threadIdx.x; w < CHUNK / 32; w += blockDim.x)
        seen[w] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < length; k += blockDim.x) {
        int t = history[(size_t)sequence * length + k] - first;
        if (t >= 0 && t < CHUNK)
            atomicOr(&seen[t / 32], 1u << t % 32);
    }
    __syncthreads();
    size_t base = ((size_t)sequence * vocabulary + first) / 4;
    int count = min(CHUNK, vocabulary - first) / 4;
    for (int t = threadIdx.x; t < count; t += blockDim.x) {
        float4 l = logits[base + t];
        unsigned bits = seen[t / 8] >> t % 8 * 4 & 15;
        if (bits) {
            if (bits & 1)
                l.x = penalised(l.x, penalty);
            if (bits & 2)
                l.y = penalised(l.y, penalty);
            if (bits & 4)
                l.z = penalised(l.z, penalty);
            if (bits & 8)
                l.w = penalised(l.w, penalty);
        }
        out[base + t] = l;
    }
}

// Channels in the order of a quantisation with act-order: out[token][c] = x[token][order[c]]
constexpr int CHANNELS = 4096;

__global__ void k240g(const float *x, const int *order, float *out, int tokens)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, token = blockIdx.y;
    if (c < CHANNELS)
        out[(size_t)token * CHANNELS + c] = x[(size_t)token * CHANNELS + order[c]];
}

__global__ void k240h(const float4 *x, const int4 *order, float4 *out, int tokens)
{
    __shared__ float row[CHANNELS];
    size_t first = (size_t)blockIdx.x * (CHANNELS / 4);
#pragma unroll
    for (int c = threadIdx.x; c < CHANNELS / 4; c += 512)
        reinterpret_cast<float4 *>(row)[c] = x[first + c];
    __syncthreads();
#pragma unroll
    for (int c = threadIdx.x; c < CHANNELS / 4; c += 512) {
        int4 o = order[c];
        out[first + c] = make_float4(row[o.x], row[o.y], row[o.z], row[o.w]);
    }
}

// Numbers 0 to n - 1 in a scrambled order
static std::vector<int> permutation(int n, unsigned seed)
{
    std::vector<int> p(n);
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = n - 1; i > 0; i--)
        std::swap(p[i], p[scrambled(i, seed) % (i + 1)]);
    return p;
}

int main()
{
    {
        const int rows = 32768, hidden = 2048;
        size_t n = (size_t)rows * hidden;
        auto *bits = input<unsigned short>(n, 1, 0, 31000); // finite halves
        int *source = on_device(permutation(rows, 2));
        auto *out = output<unsigned short>(n);
        k240a<<<n / 256, 256>>>((__half *)bits, source, (__half *)out, rows, hidden);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, n);
        check("k240a", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * 2));
        k240b<<<n / 8 / 256, 256>>>((uint4 *)bits, source, (uint4 *)out, rows, hidden / 8);
        check("k240b", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * 2));
        k240c<<<rows, hidden / 8>>>((uint4 *)bits, source, (uint4 *)out, hidden / 8);
        check("k240c", out, want, 0);
        MUST(cudaFree(bits));
        MUST(cudaFree(out));
    }
    {
        const int sequences = 256, vocabulary = 128256, length = 256;
        size_t n = (size_t)sequences * vocabulary;
        float *logits = input<float>(n, 3, -10, 10), *out = output<float>(n);
        int *history = input<int>(sequences * length, 4, 0, vocabulary);
        k240d<<<dim3((vocabulary + 255) / 256, sequences), 256>>>(logits, history, out, vocabulary, length, 1.2f);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, n);
        check("k240d", out, want, 0);
        dim3 grid((vocabulary + CHUNK - 1) / CHUNK, sequences);
        MUST(cudaMemset(out, 0xA5, n * 4));
        k240e<<<grid, 256>>>(logits, history, out, vocabulary, length, 1.2f);
        check("k240e", out, want, 1e-6);
        MUST(cudaMemset(out, 0xA5, n * 4));
        k240f<<<grid, 256>>>((float4 *)logits, history, (float4 *)out, vocabulary, length, 1.2f);
        check("k240f", out, want, 1e-6);
        MUST(cudaFree(logits));
        MUST(cudaFree(out));
    }
    {
        const int tokens = 8192;
        size_t n = (size_t)tokens * CHANNELS;
        float *x = input<float>(n, 5, -1, 1), *out = output<float>(n);
        int *order = on_device(permutation(CHANNELS, 6));
        k240g<<<dim3(CHANNELS / 256, tokens), 256>>>(x, order, out, tokens);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, n);
        check("k240g", out, want, 0);
        MUST(cudaMemset(out, 0xA5, n * 4));
        k240h<<<tokens, 512>>>((float4 *)x, (int4 *)order, (float4 *)out, tokens);
        check("k240h", out, want, 0);
    }
    return 0;
}
