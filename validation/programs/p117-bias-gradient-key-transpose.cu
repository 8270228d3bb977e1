// Two small passes of a transformer layer: the bias gradient of a linear layer (sum of dout over 16384 positions for
// 3072 outputs), and the keys of a packed QKV tensor brought from (B, T, 3, NH, HS) to (B, NH, HS, T).
#include "../harness.h"

#include <functional>

// dbias[o] = sum over bt of dout[bt][o]

// A block for each output.
__global__ void k117a(float *dbias, const float *dout, int BT, int OC)
{
    extern __shared__ float shared[];
    int o = blockIdx.x;
    int tid = threadIdx.x;
    int block_size = blockDim.x;
    const float *x = dout + o;
    float sum = 0.0f;
    for (int i = tid; i < BT; i += block_size)
        sum += x[(size_t)i * OC];
    shared[tid] = sum;
    __syncthreads();
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        dbias[o] = shared[0];
}

// A block of 1024 threads for 32 outputs.
__global__ void k117b(float *dbias, const float *dout, int BT, int OC)
{
    __shared__ float smem[1024];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int vstep = blockDim.x / 32;
    const float *x = dout + blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int row = warp; row < BT; row += vstep)
        sum += x[(size_t)row * OC];
    smem[threadIdx.x] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = 0.0f;
        for (int j = 0; j < vstep; j++)
            sum += smem[j * 32 + lane];
        dbias[blockIdx.x * 32 + lane] = sum;
    }
}

const int ROWS_C = 512, ROWS_D = 128;

// A block of 256 threads for 32 outputs and ROWS_C rows; dbias starts at zero.
__global__ void k117c(float *__restrict__ dbias, const float *__restrict__ dout, int OC)
{
    __shared__ float smem[256];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *x = dout + ((size_t)blockIdx.y * ROWS_C + warp) * OC + blockIdx.x * 32 + lane;
    float sum = 0.0f;
#pragma unroll 8
    for (int row = 0; row < ROWS_C; row += 8)
        sum += x[(size_t)row * OC];
    smem[threadIdx.x] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++)
            sum += smem[j * 32 + lane];
        atomicAdd(&dbias[blockIdx.x * 32 + lane], sum);
    }
}

// A block of 256 threads for 128 outputs and ROWS_D rows; dbias starts at zero.
__global__ void k117d(float *__restrict__ dbias, const float *__restrict__ dout, int OC)
{
    __shared__ float smem[8][128];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *x = dout + ((size_t)blockIdx.y * ROWS_D + warp) * OC + blockIdx.x * 128 + lane * 4;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int row = 0; row < ROWS_D; row += 8) {
        float4 v = *reinterpret_cast<const float4 *>(x + (size_t)row * OC);
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
    }
    *reinterpret_cast<float4 *>(&smem[warp][lane * 4]) = sum;
    __syncthreads();
    if (threadIdx.x < 128) {
        float total = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++)
            total += smem[j][threadIdx.x];
        atomicAdd(&dbias[blockIdx.x * 128 + threadIdx.x], total);
    }
}

// kt[b][nh][hs][t] = qkv[b][t][1][nh][hs]; C = NH * HS

__global__ void k117e(float *kt, const float *qkv, int T, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int t = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.z;
    if (c < C && t < T)
        kt[((size_t)b * C + c) * T + t] = qkv[((size_t)b * T + t) * 3 * C + C + c];
}

__global__ void k117f(float *kt, const float *qkv, int T, int C)
{
    __shared__ float tile[32][32];
    int c0 = blockIdx.x * 32, t0 = blockIdx.y * 32, b = blockIdx.z;
    tile[threadIdx.y][threadIdx.x] = qkv[((size_t)b * T + t0 + threadIdx.y) * 3 * C + C + c0 + threadIdx.x];
    __syncthreads();
    kt[((size_t)b * C + c0 + threadIdx.y) * T + t0 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void k117g(float *kt, const float *qkv, int T, int C)
{
    __shared__ float tile[32][33];
    int c0 = blockIdx.x * 32, t0 = blockIdx.y * 32, b = blockIdx.z;
    tile[threadIdx.y][threadIdx.x] = qkv[((size_t)b * T + t0 + threadIdx.y) * 3 * C + C + c0 + threadIdx.x];
    __syncthreads();
    kt[((size_t)b * C + c0 + threadIdx.y) * T + t0 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// Blocks of 32 x 8 threads for 64 positions of 32 columns.
__global__ void k117h(float *__restrict__ kt, const float *__restrict__ qkv, int T, int C)
{
    __shared__ float tile[64][33];
    int c0 = blockIdx.x * 32, t0 = blockIdx.y * 64, b = blockIdx.z;
    const float *src = qkv + ((size_t)b * T + t0 + threadIdx.y) * 3 * C + C + c0 + threadIdx.x;
#pragma unroll
    for (int j = 0; j < 64; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = src[(size_t)j * 3 * C];
    __syncthreads();
    float *dst = kt + ((size_t)b * C + c0 + threadIdx.y) * T + t0 + threadIdx.x;
#pragma unroll
    for (int j = 0; j < 32; j += 8) {
        dst[(size_t)j * T] = tile[threadIdx.x][threadIdx.y + j];
        dst[(size_t)j * T + 32] = tile[threadIdx.x + 32][threadIdx.y + j];
    }
}

int main()
{
    {
        const int BT = 16384, OC = 3072;
        float *dout = input<float>((size_t)BT * OC, 1171, -1.0, 1.0), *dbias = output<float>(OC);
        std::vector<float> h = on_host(dout, (size_t)BT * OC), want(OC);
        std::vector<double> sum(OC, 0.0);
        for (int r = 0; r < BT; r++)
            for (int o = 0; o < OC; o++)
                sum[o] += h[(size_t)r * OC + o];
        for (int o = 0; o < OC; o++)
            want[o] = float(sum[o]);
        auto reduce = [&](const char *name, int poison, std::function<void()> launch) {
            MUST(cudaMemset(dbias, poison, OC * sizeof(float)));
            launch();
            check(name, dbias, want, 1e-3);
        };
        reduce("k117a", 0xA5, [&] { k117a<<<OC, 512, 512 * sizeof(float)>>>(dbias, dout, BT, OC); });
        reduce("k117b", 0xA5, [&] { k117b<<<OC / 32, 1024>>>(dbias, dout, BT, OC); });
        reduce("k117c", 0, [&] { k117c<<<dim3(OC / 32, BT / ROWS_C), 256>>>(dbias, dout, OC); });
        reduce("k117d", 0, [&] { k117d<<<dim3(OC / 128, BT / ROWS_D), 256>>>(dbias, dout, OC); });
        MUST(cudaFree(dout));
    }

    const int B = 16, T = 2048, C = 1024, every = 5;
    const size_t per_batch = (size_t)T * C, n = B * per_batch;
    float *qkv = input<float>(3 * n, 1172, -1.0, 1.0), *kt = output<float>(n);
    // Batches 0, 5, 10 and 15.
    const int picked = (B - 1) / every + 1;
    std::vector<float> h(3 * per_batch), want(picked * per_batch);
    for (int p = 0; p < picked; p++) {
        MUST(cudaMemcpy(h.data(), qkv + 3 * per_batch * p * every, 3 * per_batch * sizeof(float), cudaMemcpyDeviceToHost));
        float *to = &want[p * per_batch];
        for (int c0 = 0; c0 < C; c0 += 32)
            for (int t = 0; t < T; t++)
                for (int c = c0; c < c0 + 32; c++)
                    to[(size_t)c * T + t] = h[(size_t)t * 3 * C + C + c];
    }
    float *some = output<float>(picked * per_batch);
    auto permute = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(kt, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        const size_t bytes = per_batch * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, kt, every * bytes, bytes, picked, cudaMemcpyDeviceToDevice));
        check(name, some, want, 0.0);
    };
    dim3 tiles(C / 32, T / 32, B), square(32, 32);
    permute("k117e", [&] { k117e<<<tiles, square>>>(kt, qkv, T, C); });
    permute("k117f", [&] { k117f<<<tiles, square>>>(kt, qkv, T, C); });
    permute("k117g", [&] { k117g<<<tiles, square>>>(kt, qkv, T, C); });
    permute("k117h", [&] { k117h<<<dim3(C / 32, T / 64, B), dim3(32, 8)>>>(kt, qkv, T, C); });
    return 0;
}
