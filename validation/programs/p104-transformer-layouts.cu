// Layout and position work of a transformer: (B, T, H, D) to (B, H, D, T), rotary embedding of queries, and token plus
// position embedding.
#include "../harness.h"

const int B = 16, T = 2048, H = 16, D = 64;
const int BATCH = 64, LENGTH = 1024, CHANNELS = 768, VOCAB = 50257;

__global__ void k104a(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int d = i % D, h = i / D % H, t = i / (D * H) % T, b = i / (D * H * T);
    out[((b * H + h) * D + d) * T + t] = in[i];
}

// blockIdx: 32 positions, 32 of the D, one (b, h).
__global__ void k104b(float *out, const float *in)
{
    __shared__ float tile[32][32];
    int t0 = blockIdx.x * 32, d0 = blockIdx.y * 32, b = blockIdx.z / H, h = blockIdx.z % H;
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int j = ty; j < 32; j += 8)
        tile[j][tx] = in[((b * T + t0 + j) * H + h) * D + d0 + tx];
    __syncthreads();
    for (int j = ty; j < 32; j += 8)
        out[((b * H + h) * D + d0 + j) * T + t0 + tx] = tile[tx][j];
}

__global__ void k104c(float *out, const float *in)
{
    __shared__ float tile[32][33];
    int t0 = blockIdx.x * 32, d0 = blockIdx.y * 32, b = blockIdx.z / H, h = blockIdx.z % H;
    int tx = threadIdx.x, ty = threadIdx.y;
    for (int j = ty; j < 32; j += 8)
        tile[j][tx] = in[((b * T + t0 + j) * H + h) * D + d0 + tx];
    __syncthreads();
    for (int j = ty; j < 32; j += 8)
        out[((b * H + h) * D + d0 + j) * T + t0 + tx] = tile[tx][j];
}

__device__ inline void transpose_64(float *out, const float *in, int t0, int b, int h)
{
    __shared__ float tile[64][65];
    int line = threadIdx.x / 16, four = threadIdx.x % 16 * 4;
    float4 v[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        v[j] = *reinterpret_cast<const float4 *>(&in[((b * T + t0 + j * 16 + line) * H + h) * D + four]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        tile[j * 16 + line][four + 0] = v[j].x;
        tile[j * 16 + line][four + 1] = v[j].y;
        tile[j * 16 + line][four + 2] = v[j].z;
        tile[j * 16 + line][four + 3] = v[j].w;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int d = j * 16 + line;
        *reinterpret_cast<float4 *>(&out[((b * H + h) * D + d) * T + t0 + four]) =
            make_float4(tile[four][d], tile[four + 1][d], tile[four + 2][d], tile[four + 3][d]);
    }
}

// blockIdx: 64 positions, one (b, h).
__global__ void __launch_bounds__(256) k104d(float *__restrict__ out, const float *__restrict__ in)
{
    transpose_64(out, in, blockIdx.x * 64, blockIdx.y / H, blockIdx.y % H);
}

__global__ void __launch_bounds__(256) k104e(float *__restrict__ out, const float *__restrict__ in)
{
    int x = (blockIdx.x + blockIdx.y) % gridDim.x;
    transpose_64(out, in, x * 64, blockIdx.y / H, blockIdx.y % H);
}

// A thread rotates the pair (2 i, 2 i + 1) of a head.
__global__ void k104f(float2 *__restrict__ out, const float2 *__restrict__ in)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int i = n % (D / 2), t = n / (D / 2 * H) % T;
    float angle = t * powf(10000.0f, -2.0f * i / D), s, c;
    sincosf(angle, &s, &c);
    float2 x = in[n];
    out[n] = make_float2(x.x * c - x.y * s, x.x * s + x.y * c);
}

// turns: cosine and sine for each position and pair.
__global__ void k104g(float2 *__restrict__ out, const float2 *__restrict__ in, const float2 *__restrict__ turns)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int i = n % (D / 2), t = n / (D / 2 * H) % T;
    float2 turn = turns[t * (D / 2) + i], x = in[n];
    out[n] = make_float2(x.x * turn.x - x.y * turn.y, x.x * turn.y + x.y * turn.x);
}

// One thread for a token.
__global__ void k104h(float *out, const int *tokens, const float *wte, const float *wpe, int count, int length,
                      int channels)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count)
        return;
    const float *word = wte + (size_t)tokens[n] * channels, *place = wpe + (size_t)(n % length) * channels;
    for (int c = 0; c < channels; c++)
        out[(size_t)n * channels + c] = word[c] + place[c];
}

// One thread for a number of the output.
__global__ void k104i(float *out, const int *tokens, const float *wte, const float *wpe, int batch, int length,
                      int channels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * length * channels)
        return;
    int n = i / channels, b = n / length, t = n % length, c = i % channels;
    int token = tokens[b * length + t];
    out[(b * length + t) * channels + c] = wte[token * channels + c] + wpe[t * channels + c];
}

__global__ void k104j(float4 *__restrict__ out, const int *__restrict__ tokens, const float4 *__restrict__ wte,
                      const float4 *__restrict__ wpe, int batch, int length, int channels)
{
    int quads = channels / 4;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * length * quads)
        return;
    int n = i / quads, b = n / length, t = n % length, c = i % quads;
    int token = tokens[b * length + t];
    float4 word = wte[token * quads + c], place = wpe[t * quads + c];
    out[(b * length + t) * quads + c] =
        make_float4(word.x + place.x, word.y + place.y, word.z + place.z, word.w + place.w);
}

// Rows 0, every, 2 * every, ... of a matrix.
__global__ void fill_picked(float *dst, const float *src, size_t width, size_t every, size_t total)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = src[i / width * every * width + i % width];
}

struct Sample {
    size_t width, every, count;
    float *room;
    Sample(size_t rows, size_t row_width, size_t step)
        : width(row_width), every(step), count(((rows - 1) / step + 1) * row_width), room(output<float>(count))
    {
    }
    const float *of(const float *data)
    {
        MUST(cudaMemset(room, 0xA5, count * sizeof(float)));
        fill_picked<<<264, 256>>>(room, data, width, every, count);
        MUST(cudaGetLastError());
        return room;
    }
};

int main()
{
    const size_t n = (size_t)B * T * H * D;
    float *in = input<float>(n, 1041, -1.0, 1.0), *out = output<float>(n);
    std::vector<float> x = on_host(in, n);

    // Every 29th row of T numbers of the result.
    Sample rows((size_t)B * H * D, T, 29);
    std::vector<float> want(rows.count);
    for (size_t r = 0; r < rows.count / T; r++) {
        size_t d = r * 29 % D, h = r * 29 / D % H, b = r * 29 / (D * H);
        for (int t = 0; t < T; t++)
            want[r * T + t] = x[((b * T + t) * H + h) * D + d];
    }
    auto permute = [&](const char *name, auto launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        check(name, rows.of(out), want, 0.0);
    };
    dim3 by_32(T / 32, D / 32, B * H), by_64(T / 64, B * H);
    permute("k104a", [&] { k104a<<<n / 256, 256>>>(out, in); });
    permute("k104b", [&] { k104b<<<by_32, dim3(32, 8)>>>(out, in); });
    permute("k104c", [&] { k104c<<<by_32, dim3(32, 8)>>>(out, in); });
    permute("k104d", [&] { k104d<<<by_64, 256>>>(out, in); });
    permute("k104e", [&] { k104e<<<by_64, 256>>>(out, in); });

    // Every 53rd head of every position.
    Sample heads((size_t)B * T * H, D, 53);
    std::vector<float> turned(heads.count);
    std::vector<float2> turns((size_t)T * D / 2);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D / 2; i++) {
            double angle = t * std::pow(10000.0, -2.0 * i / D);
            turns[t * (D / 2) + i] = make_float2(float(std::cos(angle)), float(std::sin(angle)));
        }
    for (size_t r = 0; r < heads.count / D; r++) {
        size_t head = r * 53, t = head / H % T;
        for (int i = 0; i < D / 2; i++) {
            float2 turn = turns[t * (D / 2) + i];
            float a = x[head * D + 2 * i], b = x[head * D + 2 * i + 1];
            turned[r * D + 2 * i] = a * turn.x - b * turn.y;
            turned[r * D + 2 * i + 1] = a * turn.y + b * turn.x;
        }
    }
    float2 *table = on_device(turns), *out2 = reinterpret_cast<float2 *>(out);
    const float2 *in2 = reinterpret_cast<const float2 *>(in);
    auto rotate = [&](const char *name, double tolerance, auto launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        check(name, heads.of(out), turned, tolerance);
    };
    rotate("k104f", 2e-3, [&] { k104f<<<n / 512, 256>>>(out2, in2); });
    rotate("k104g", 1e-6, [&] { k104g<<<n / 512, 256>>>(out2, in2, table); });

    const int count = BATCH * LENGTH, numbers = count * CHANNELS;
    float *wte = input<float>((size_t)VOCAB * CHANNELS, 1042, -1.0, 1.0);
    float *wpe = input<float>((size_t)LENGTH * CHANNELS, 1043, -1.0, 1.0), *embedded = output<float>(numbers);
    int *tokens = input<int>(count, 1044, 0, VOCAB);
    std::vector<float> words = on_host(wte, (size_t)VOCAB * CHANNELS), places = on_host(wpe, (size_t)LENGTH * CHANNELS);
    std::vector<int> ids = on_host(tokens, count);
    Sample some(count, CHANNELS, 31);
    std::vector<float> sums(some.count);
    for (size_t r = 0; r < some.count / CHANNELS; r++)
        for (int c = 0; c < CHANNELS; c++)
            sums[r * CHANNELS + c] =
                words[(size_t)ids[r * 31] * CHANNELS + c] + places[r * 31 % LENGTH * CHANNELS + c];
    auto embed = [&](const char *name, auto launch) {
        MUST(cudaMemset(embedded, 0xA5, numbers * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        check(name, some.of(embedded), sums, 0.0);
    };
    embed("k104h", [&] { k104h<<<count / 128, 128>>>(embedded, tokens, wte, wpe, count, LENGTH, CHANNELS); });
    embed("k104i", [&] { k104i<<<numbers / 256, 256>>>(embedded, tokens, wte, wpe, BATCH, LENGTH, CHANNELS); });
    embed("k104j", [&] {
        k104j<<<numbers / 1024, 256>>>((float4 *)embedded, tokens, (const float4 *)wte, (const float4 *)wpe, BATCH,
                                       LENGTH, CHANNELS);
    });
    return 0;
}
