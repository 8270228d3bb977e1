// Strength of sixteen telephone tones (eight and their second harmonics) in a frame of every channel, and the expansion
// of 8-bit mu-law speech to 16-bit samples.
#include "../harness.h"

#include <functional>

const int CHANNELS = 131072, LENGTH = 205, TONES = 16;

// samples[n * CHANNELS + channel], power[tone * CHANNELS + channel]
__global__ void k206a(float *power, const short *samples, const float *frequency)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x, tone = blockIdx.y;
    float re = 0.0f, im = 0.0f;
    for (int n = 0; n < LENGTH; n++) {
        float x = samples[n * CHANNELS + channel] / 32768.0f;
        re += x * cos(2.0 * 3.14159265358979 * frequency[tone] * n / 8000.0);
        im -= x * sin(2.0 * 3.14159265358979 * frequency[tone] * n / 8000.0);
    }
    power[tone * CHANNELS + channel] = (re * re + im * im) / LENGTH;
}

__global__ void k206b(float *power, const short *samples, const float *frequency)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x, tone = blockIdx.y;
    float omega = 2.0f * 3.14159265f * frequency[tone] / 8000.0f;
    float re = 0.0f, im = 0.0f;
    for (int n = 0; n < LENGTH; n++) {
        float x = samples[n * CHANNELS + channel] / 32768.0f;
        re += x * cosf(omega * n);
        im -= x * sinf(omega * n);
    }
    power[tone * CHANNELS + channel] = (re * re + im * im) / LENGTH;
}

__global__ void k206c(float *power, const short *samples, const float *frequency)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x, tone = blockIdx.y;
    float coefficient = 2.0f * cosf(2.0f * 3.14159265f * frequency[tone] / 8000.0f);
    float s1 = 0.0f, s2 = 0.0f;
#pragma unroll 8
    for (int n = 0; n < LENGTH; n++) {
        float x = samples[n * CHANNELS + channel] / 32768.0f;
        float s = x - s2 + coefficient * s1;
        s2 = s1;
        s1 = s;
    }
    power[tone * CHANNELS + channel] = (s1 * s1 + s2 * s2 - coefficient * s1 * s2) / LENGTH;
}

__constant__ float coefficient_c[TONES];

__global__ void __launch_bounds__(256, 4) k206d(float *power, const short *samples)
{
    int channel = blockIdx.x * blockDim.x + threadIdx.x;
    float s1[TONES], s2[TONES];
#pragma unroll
    for (int t = 0; t < TONES; t++)
        s1[t] = s2[t] = 0.0f;
#pragma unroll 8
    for (int n = 0; n < LENGTH; n++) {
        float x = samples[n * CHANNELS + channel] / 32768.0f;
#pragma unroll
        for (int t = 0; t < TONES; t++) {
            float s = x - s2[t] + coefficient_c[t] * s1[t];
            s2[t] = s1[t];
            s1[t] = s;
        }
    }
#pragma unroll
    for (int t = 0; t < TONES; t++)
        power[t * CHANNELS + channel] = (s1[t] * s1[t] + s2[t] * s2[t] - coefficient_c[t] * s1[t] * s2[t]) / LENGTH;
}

__host__ __device__ inline int expanded(unsigned code)
{
    unsigned u = ~code;
    int t = (((u & 15) << 3) + 0x84) << ((u & 0x70) >> 4);
    return u & 0x80 ? 0x84 - t : t - 0x84;
}

__global__ void k206e(short *out, const unsigned char *in)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = (short)expanded(in[i]);
}

__constant__ short expansion[256];

// Each thread takes four groups of eight codes.
__global__ void k206f(uint4 *out, const uint2 *in)
{
    size_t first = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
    uint2 code[4];
#pragma unroll
    for (int g = 0; g < 4; g++)
        code[g] = in[first + g * blockDim.x];
#pragma unroll
    for (int g = 0; g < 4; g++) {
        unsigned word[4];
#pragma unroll
        for (int w = 0; w < 4; w++) {
            unsigned pair = (w < 2 ? code[g].x : code[g].y) >> (w % 2 * 16);
            unsigned low = (unsigned short)expansion[pair & 255];
            unsigned high = (unsigned short)expansion[pair >> 8 & 255];
            word[w] = low | high << 16;
        }
        out[first + g * blockDim.x] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

__global__ void k206g(uint4 *out, const uint2 *in)
{
    size_t first = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
    uint2 code[4];
#pragma unroll
    for (int g = 0; g < 4; g++)
        code[g] = in[first + g * blockDim.x];
#pragma unroll
    for (int g = 0; g < 4; g++) {
        unsigned word[4];
#pragma unroll
        for (int w = 0; w < 4; w++) {
            unsigned pair = (w < 2 ? code[g].x : code[g].y) >> (w % 2 * 16);
            unsigned low = (unsigned)expanded(pair & 255) & 0xffff;
            unsigned high = (unsigned)expanded(pair >> 8 & 255);
            word[w] = low | high << 16;
        }
        out[first + g * blockDim.x] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

__global__ void k206h(uint4 *__restrict__ out, const uint2 *__restrict__ in)
{
    size_t first = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
    uint2 code[4];
#pragma unroll
    for (int g = 0; g < 4; g++)
        code[g] = __ldg(&in[first + g * blockDim.x]);
#pragma unroll
    for (int g = 0; g < 4; g++) {
        unsigned word[4];
#pragma unroll
        for (int w = 0; w < 4; w++) {
            unsigned pair = (w < 2 ? code[g].x : code[g].y) >> (w % 2 * 16);
            unsigned low = (unsigned)expanded(pair & 255) & 0xffff;
            unsigned high = (unsigned)expanded(pair >> 8 & 255);
            word[w] = low | high << 16;
        }
        out[first + g * blockDim.x] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

int main()
{
    const std::vector<float> hf = {697,  770,  852,  941,  1209, 1336, 1477, 1633,
                                   1394, 1540, 1704, 1882, 2418, 2672, 2954, 3266};
    const double pi = 3.14159265358979323846;
    std::vector<float> table(TONES);
    for (int t = 0; t < TONES; t++)
        table[t] = float(2.0 * std::cos(2.0 * pi * hf[t] / 8000.0));
    MUST(cudaMemcpyToSymbol(coefficient_c, table.data(), TONES * sizeof(float)));
    const size_t sounds = (size_t)CHANNELS * LENGTH, powers = (size_t)CHANNELS * TONES;
    short *samples = input<short>(sounds, 2061, -32000, 32000);
    float *frequency = on_device(hf), *power = output<float>(powers);

    // The first 256 channels on the host; all channels of the later kernels against the first one.
    const int tried = 256;
    std::vector<short> head((size_t)LENGTH * tried);
    MUST(cudaMemcpy2D(head.data(), tried * sizeof(short), samples, CHANNELS * sizeof(short), tried * sizeof(short),
                      LENGTH, cudaMemcpyDeviceToHost));
    std::vector<float> want((size_t)TONES * tried), all;
    for (int t = 0; t < TONES; t++)
        for (int c = 0; c < tried; c++) {
            double k = 2.0 * std::cos(2.0 * pi * hf[t] / 8000.0), s1 = 0, s2 = 0;
            for (int n = 0; n < LENGTH; n++) {
                double s = head[(size_t)n * tried + c] / 32768.0 - s2 + k * s1;
                s2 = s1;
                s1 = s;
            }
            want[(size_t)t * tried + c] = float((s1 * s1 + s2 * s2 - k * s1 * s2) / LENGTH);
        }
    float *picked = output<float>(want.size());
    auto tones = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(power, 0xA5, powers * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, tried * sizeof(float), power, CHANNELS * sizeof(float), tried * sizeof(float), TONES,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, want, 5e-4);
        if (all.empty())
            all = on_host(power, powers);
        else
            check(name, power, all, 5e-4);
    };
    const dim3 by_tone(CHANNELS / 256, TONES);
    tones("k206a", [&] { k206a<<<by_tone, 256>>>(power, samples, frequency); });
    tones("k206b", [&] { k206b<<<by_tone, 256>>>(power, samples, frequency); });
    tones("k206c", [&] { k206c<<<by_tone, 256>>>(power, samples, frequency); });
    tones("k206d", [&] { k206d<<<CHANNELS / 256, 256>>>(power, samples); });

    const size_t n = (size_t)128 << 20;
    unsigned char *code = input<unsigned char>(n, 2062, 0, 256);
    short *speech = output<short>(n);
    std::vector<short> values(256);
    for (int c = 0; c < 256; c++)
        values[c] = (short)expanded(c);
    MUST(cudaMemcpyToSymbol(expansion, values.data(), 256 * sizeof(short)));

    // Every 31st row of 4096 samples: 0, 31, ..., 32767.
    const int row = 4096, rows = int(n / row), skip = 31, taken = (rows - 1) / skip + 1;
    std::vector<unsigned char> codes((size_t)taken * row);
    MUST(cudaMemcpy2D(codes.data(), row, code, (size_t)skip * row, row, taken, cudaMemcpyDeviceToHost));
    std::vector<short> right(codes.size());
    for (size_t i = 0; i < codes.size(); i++) {
        int c = ~codes[i] & 255, size = (2 * (c % 16) + 33) * (1 << c / 16 % 8) - 33;
        right[i] = short(c >= 128 ? -4 * size : 4 * size);
    }
    short *some = output<short>(right.size());
    auto speak = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(speech, 0xA5, n * sizeof(short)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = row * sizeof(short);
        MUST(cudaMemcpy2D(some, bytes, speech, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, right, 0.0);
    };
    const unsigned single = (unsigned)(n / 256), grouped = (unsigned)(n / 32 / 256);
    uint4 *to = reinterpret_cast<uint4 *>(speech);
    const uint2 *from = reinterpret_cast<const uint2 *>(code);
    speak("k206e", [&] { k206e<<<single, 256>>>(speech, code); });
    speak("k206f", [&] { k206f<<<grouped, 256>>>(to, from); });
    speak("k206g", [&] { k206g<<<grouped, 256>>>(to, from); });
    speak("k206h", [&] { k206h<<<grouped, 256>>>(to, from); });
    return 0;
}
