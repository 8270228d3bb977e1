// Incoherent dedispersion of a filterbank of bytes for a range of dispersion measures, and the cross-correlation of all
// pairs of stations in each frequency channel.
#include "../harness.h"

#include <functional>

const int CHANNELS = 512;
const int TRIALS = 256;
const int SAMPLES = 32256;
const float STEP = 0.5f;

// Samples of delay per unit of dispersion measure.
__constant__ float c_delay[CHANNELS];

__global__ void k82a(const unsigned char *in, float *out, int nin)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float dm = STEP * blockIdx.y;
    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++) {
        int shift = __float2int_rz(c_delay[c] * dm);
        sum += in[(size_t)c * nin + t + shift];
    }
    out[(size_t)blockIdx.y * SAMPLES + t] = sum;
}

const int PER_THREAD = 6;

__global__ void k82b(const unsigned char *in, float *out, int nin)
{
    int t = blockIdx.x * blockDim.x * PER_THREAD + threadIdx.x;
    float dm = STEP * blockIdx.y;
    float sum[PER_THREAD];
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++)
        sum[i] = 0.0f;

    for (int c = 0; c < CHANNELS; c++) {
        int shift = __float2int_rz(c_delay[c] * dm);
        const unsigned char *line = in + (size_t)c * nin + t + shift;
#pragma unroll
        for (int i = 0; i < PER_THREAD; i++)
            sum[i] += line[i * blockDim.x];
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++)
        out[(size_t)blockIdx.y * SAMPLES + t + i * blockDim.x] = sum[i];
}

// A block of 32 x 16 threads takes 384 samples of 16 trials; a line of 512 samples of a channel serves all of them.
const int TX = 32, TY = 16, LINE = TX * TY, NREG = 12, TILE = TX * NREG, UNROLLS = 8;

__global__ void k82c(const unsigned char *in, float *out, int nin)
{
    __shared__ float line[UNROLLS][LINE];
    int idx = threadIdx.y * TX + threadIdx.x;
    int trial = blockIdx.y * TY + threadIdx.y;
    float dm0 = STEP * (blockIdx.y * TY), dm = STEP * trial;
    float sum[NREG];
#pragma unroll
    for (int i = 0; i < NREG; i++)
        sum[i] = 0.0f;

    const unsigned char *p = in + blockIdx.x * TILE + idx;
    for (int c = 0; c < CHANNELS; c += UNROLLS) {
        int shift[UNROLLS];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < UNROLLS; j++) {
            int base = __float2int_rz(c_delay[c + j] * dm0);
            line[j][idx] = p[(size_t)(c + j) * nin + base];
            shift[j] = __float2int_rz(c_delay[c + j] * dm) - base + threadIdx.x;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NREG; i++)
#pragma unroll
            for (int j = 0; j < UNROLLS; j++)
                sum[i] += line[j][shift[j] + i * TX];
    }

    float *q = out + (size_t)trial * SAMPLES + blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int i = 0; i < NREG; i++)
        q[i * TX] = sum[i];
}

// A word of the line holds a sample and the next one.
__global__ void k82d(const unsigned char *in, float *out, int nin)
{
    __shared__ ushort2 line[UNROLLS][LINE + 1];
    int idx = threadIdx.y * TX + threadIdx.x;
    int trial = blockIdx.y * TY + threadIdx.y;
    float dm0 = STEP * (blockIdx.y * TY), dm = STEP * trial;
    float sum1[NREG / 2], sum2[NREG / 2];
#pragma unroll
    for (int i = 0; i < NREG / 2; i++) {
        sum1[i] = 0.0f;
        sum2[i] = 0.0f;
    }

    const unsigned char *p = in + blockIdx.x * TILE + idx;
    for (int c = 0; c < CHANNELS; c += UNROLLS) {
        int shift[UNROLLS];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < UNROLLS; j++) {
            int base = __float2int_rz(c_delay[c + j] * dm0);
            unsigned short v = p[(size_t)(c + j) * nin + base];
            line[j][idx].x = v;
            if (idx > 0)
                line[j][idx - 1].y = v;
            shift[j] = __float2int_rz(c_delay[c + j] * dm) - base + 2 * threadIdx.x;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NREG / 2; i++) {
            unsigned local = 0;
#pragma unroll
            for (int j = 0; j < UNROLLS; j++)
                local += *reinterpret_cast<const unsigned *>(&line[j][shift[j] + i * 2 * TX]);
            sum1[i] += local & 0xffff;
            sum2[i] += local >> 16;
        }
    }

    float *q = out + (size_t)trial * SAMPLES + blockIdx.x * TILE + 2 * threadIdx.x;
#pragma unroll
    for (int i = 0; i < NREG / 2; i++)
        *reinterpret_cast<float2 *>(q + i * 2 * TX) = make_float2(sum1[i], sum2[i]);
}

// A word of the line holds a sample and the one half a tile later.
__global__ void k82e(const unsigned char *in, float *out, int nin)
{
    __shared__ ushort2 line[UNROLLS][LINE - TILE / 2];
    int idx = threadIdx.y * TX + threadIdx.x;
    int trial = blockIdx.y * TY + threadIdx.y;
    float dm0 = STEP * (blockIdx.y * TY), dm = STEP * trial;
    float sum1[NREG / 2], sum2[NREG / 2];
#pragma unroll
    for (int i = 0; i < NREG / 2; i++) {
        sum1[i] = 0.0f;
        sum2[i] = 0.0f;
    }

    const unsigned char *p = in + blockIdx.x * TILE + idx;
    for (int c = 0; c < CHANNELS; c += UNROLLS) {
        int shift[UNROLLS];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < UNROLLS; j++) {
            int base = __float2int_rz(c_delay[c + j] * dm0);
            unsigned short v = p[(size_t)(c + j) * nin + base];
            if (idx < LINE - TILE / 2)
                line[j][idx].x = v;
            if (idx >= TILE / 2)
                line[j][idx - TILE / 2].y = v;
            shift[j] = __float2int_rz(c_delay[c + j] * dm) - base + threadIdx.x;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < NREG / 2; i++) {
            unsigned local = 0;
#pragma unroll
            for (int j = 0; j < UNROLLS; j++)
                local += *reinterpret_cast<const unsigned *>(&line[j][shift[j] + i * TX]);
            sum1[i] += local & 0xffff;
            sum2[i] += local >> 16;
        }
    }

    float *q = out + (size_t)trial * SAMPLES + blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int i = 0; i < NREG / 2; i++) {
        q[i * TX] = sum1[i];
        q[i * TX + TILE / 2] = sum2[i];
    }
}

const int STATIONS = 256, TIMES = 256, FREQUENCIES = 128;

// x[time][frequency][station] gives v[frequency][row][column], for column <= row.
__global__ void k82f(const float2 *x, float2 *v)
{
    if (blockIdx.x > blockIdx.y)
        return;
    int col = blockIdx.x * 16 + threadIdx.x;
    int row = blockIdx.y * 16 + threadIdx.y;
    int f = blockIdx.z;
    float re = 0.0f, im = 0.0f;
    for (int t = 0; t < TIMES; t++) {
        const float2 *line = x + ((size_t)t * FREQUENCIES + f) * STATIONS;
        float2 a = line[row], b = line[col];
        re += a.x * b.x + a.y * b.y;
        im += a.y * b.x - a.x * b.y;
    }
    if (col <= row)
        v[((size_t)f * STATIONS + row) * STATIONS + col] = make_float2(re, im);
}

__global__ void k82g(const float2 *x, float2 *v)
{
    __shared__ float2 rows[16][16], cols[16][16];
    if (blockIdx.x > blockIdx.y)
        return;
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 16 + tx;
    int row = blockIdx.y * 16 + ty;
    int f = blockIdx.z;
    float re = 0.0f, im = 0.0f;
    for (int t0 = 0; t0 < TIMES; t0 += 16) {
        const float2 *line = x + ((size_t)(t0 + ty) * FREQUENCIES + f) * STATIONS;
        rows[ty][tx] = line[blockIdx.y * 16 + tx];
        cols[ty][tx] = line[blockIdx.x * 16 + tx];
        __syncthreads();
#pragma unroll
        for (int t = 0; t < 16; t++) {
            float2 a = rows[t][ty], b = cols[t][tx];
            re += a.x * b.x + a.y * b.y;
            im += a.y * b.x - a.x * b.y;
        }
        __syncthreads();
    }
    if (col <= row)
        v[((size_t)f * STATIONS + row) * STATIONS + col] = make_float2(re, im);
}

__global__ void __launch_bounds__(256) k82h(const float2 *x, float2 *v)
{
    __shared__ float2 rows[8][64], cols[8][64];
    if (blockIdx.x > blockIdx.y)
        return;
    int tx = threadIdx.x, ty = threadIdx.y;
    int tid = ty * 16 + tx;
    int f = blockIdx.z;
    float re[4][4], im[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            re[i][j] = im[i][j] = 0.0f;

    for (int t0 = 0; t0 < TIMES; t0 += 8) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            int t = tid / 64 + 4 * k, s = tid % 64;
            const float2 *line = x + ((size_t)(t0 + t) * FREQUENCIES + f) * STATIONS;
            rows[t][s] = line[blockIdx.y * 64 + s];
            cols[t][s] = line[blockIdx.x * 64 + s];
        }
        __syncthreads();
#pragma unroll
        for (int t = 0; t < 8; t++) {
            float2 a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = rows[t][ty + 16 * i];
                b[i] = cols[t][tx + 16 * i];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    re[i][j] += a[i].x * b[j].x;
                    re[i][j] += a[i].y * b[j].y;
                    im[i][j] += a[i].y * b[j].x;
                    im[i][j] -= a[i].x * b[j].y;
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int row = blockIdx.y * 64 + ty + 16 * i, col = blockIdx.x * 64 + tx + 16 * j;
            if (col <= row)
                v[((size_t)f * STATIONS + row) * STATIONS + col] = make_float2(re[i][j], im[i][j]);
        }
}

int main()
{
    {
        std::vector<float> delay(CHANNELS);
        for (int c = 0; c < CHANNELS; c++) {
            double f = 1500.0 - 300.0 * c / CHANNELS;
            delay[c] = float(4148.808 * (1.0 / (f * f) - 1.0 / (1500.0 * 1500.0)) / 64e-6);
        }
        MUST(cudaMemcpyToSymbol(c_delay, delay.data(), CHANNELS * sizeof(float)));
        const int nin = (SAMPLES + int(delay[CHANNELS - 1] * STEP * TRIALS) + LINE + 127) / 128 * 128;

        unsigned char *in = input<unsigned char>((size_t)CHANNELS * nin, 821, 0, 256);
        const size_t n = (size_t)TRIALS * SAMPLES;
        float *out = output<float>(n);

        k82a<<<dim3(SAMPLES / 256, TRIALS), 256>>>(in, out, nin);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> all = on_host(out, n);
        {
            // Every 29th trial.
            std::vector<unsigned char> host = on_host(in, (size_t)CHANNELS * nin);
            std::vector<float> want, got;
            for (int d = 0; d < TRIALS; d += 29) {
                std::vector<int> sum(SAMPLES, 0);
                for (int c = 0; c < CHANNELS; c++) {
                    volatile float product = delay[c] * (STEP * d);
                    const unsigned char *line = &host[(size_t)c * nin + int(product)];
                    for (int t = 0; t < SAMPLES; t++)
                        sum[t] += line[t];
                }
                want.insert(want.end(), sum.begin(), sum.end());
                got.insert(got.end(), &all[(size_t)d * SAMPLES], &all[(size_t)d * SAMPLES] + SAMPLES);
            }
            check("k82a", on_device(got), want, 0.0);
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
            launch();
            check(name, out, all, 0.0);
        };
        dim3 threads(TX, TY), blocks(SAMPLES / TILE, TRIALS / TY);
        launch_and_check("k82b", [&] { k82b<<<dim3(SAMPLES / (256 * PER_THREAD), TRIALS), 256>>>(in, out, nin); });
        launch_and_check("k82c", [&] { k82c<<<blocks, threads>>>(in, out, nin); });
        launch_and_check("k82d", [&] { k82d<<<blocks, threads>>>(in, out, nin); });
        launch_and_check("k82e", [&] { k82e<<<blocks, threads>>>(in, out, nin); });
    }
    {
        const size_t inputs = (size_t)TIMES * FREQUENCIES * STATIONS, n = (size_t)FREQUENCIES * STATIONS * STATIONS;
        float *x = input<float>(2 * inputs, 822, -1.0, 1.0);
        float *v = output<float>(2 * n);
        const float2 *x2 = reinterpret_cast<float2 *>(x);
        float2 *v2 = reinterpret_cast<float2 *>(v);
        dim3 threads(16, 16);

        k82f<<<dim3(STATIONS / 16, STATIONS / 16, FREQUENCIES), threads>>>(x2, v2);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> all = on_host(v, 2 * n);
        {
            // Every 127th channel.
            std::vector<float> host = on_host(x, 2 * inputs), want, got;
            for (int f = 0; f < FREQUENCIES; f += 127)
                for (int row = 0; row < STATIONS; row++)
                    for (int col = 0; col <= row; col++) {
                        double re = 0.0, im = 0.0;
                        for (int t = 0; t < TIMES; t++) {
                            const float *line = &host[2 * ((size_t)t * FREQUENCIES + f) * STATIONS];
                            double ar = line[2 * row], ai = line[2 * row + 1], br = line[2 * col], bi = line[2 * col + 1];
                            re += ar * br + ai * bi;
                            im += ai * br - ar * bi;
                        }
                        want.push_back(float(re));
                        want.push_back(float(im));
                        size_t i = ((size_t)f * STATIONS + row) * STATIONS + col;
                        got.push_back(all[2 * i]);
                        got.push_back(all[2 * i + 1]);
                    }
            check("k82f", on_device(got), want, 1e-4);
        }
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(v, 0xA5, 2 * n * sizeof(float)));
            launch();
            check(name, v, all, 1e-4);
        };
        launch_and_check("k82g",
                         [&] { k82g<<<dim3(STATIONS / 16, STATIONS / 16, FREQUENCIES), threads>>>(x2, v2); });
        launch_and_check("k82h",
                         [&] { k82h<<<dim3(STATIONS / 64, STATIONS / 64, FREQUENCIES), threads>>>(x2, v2); });
    }
    return 0;
}
