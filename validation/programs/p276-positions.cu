// Evaluation of chess positions: for every board the sum over its squares of a table by piece and square.
#include "../harness.h"

constexpr int boards = 4 << 20;
constexpr int squares = 64;
constexpr int pieces = 13;
constexpr int pitch = squares + 1;
constexpr int half_pitch = squares + 2;

__constant__ float values[pieces * squares];

// Boards [board][square], a byte for each square.
__global__ void k276a(const unsigned char *__restrict__ board, const float *__restrict__ value,
                      float *__restrict__ score, int n)
{
    __shared__ float table[pieces * pitch];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j / squares * pitch + j % squares] = value[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int s = 0; s < squares; s++)
            sum += table[board[(size_t)i * squares + s] * pitch + s];
        score[i] = sum;
    }
}

// Four squares per load.
__global__ void k276b(const unsigned *__restrict__ board, const float *__restrict__ value, float *__restrict__ score,
                      int n)
{
    __shared__ float table[pieces * pitch];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j / squares * pitch + j % squares] = value[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            unsigned word = board[(size_t)i * (squares / 4) + w];
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum += table[(word >> (s * 8) & 255) * pitch + w * 4 + s];
        }
        score[i] = sum;
    }
}

// Boards interleaved by four squares: [word][board].
__global__ void k276c(const unsigned *__restrict__ board, const float *__restrict__ value, float *__restrict__ score,
                      int n)
{
    __shared__ float table[pieces * pitch];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j / squares * pitch + j % squares] = value[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            unsigned word = board[(size_t)w * n + i];
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum += table[(word >> (s * 8) & 255) * pitch + w * 4 + s];
        }
        score[i] = sum;
    }
}

// Table without gaps between the pieces.
__global__ void k276d(const unsigned *__restrict__ board, const float *__restrict__ value, float *__restrict__ score,
                      int n)
{
    __shared__ float table[pieces * squares];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j] = value[j];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            unsigned word = board[(size_t)w * n + i];
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum += table[(word >> (s * 8) & 255) * squares + w * 4 + s];
        }
        score[i] = sum;
    }
}

// Table in constant memory.
__global__ void k276e(const unsigned *__restrict__ board, float *__restrict__ score, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            unsigned word = board[(size_t)w * n + i];
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum += values[(word >> (s * 8) & 255) * squares + w * 4 + s];
        }
        score[i] = sum;
    }
}

// Table of halves.
__global__ void k276f(const unsigned *__restrict__ board, const float *__restrict__ value, float *__restrict__ score,
                      int n)
{
    __shared__ __half table[pieces * half_pitch];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j / squares * half_pitch + j % squares] = __float2half(value[j]);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            unsigned word = board[(size_t)w * n + i];
#pragma unroll
            for (int s = 0; s < 4; s++)
                sum += __half2float(table[(word >> (s * 8) & 255) * half_pitch + w * 4 + s]);
        }
        score[i] = sum;
    }
}

// Table of halves, two boards per thread.
__global__ void k276g(const uint2 *__restrict__ board, const float *__restrict__ value, float2 *__restrict__ score,
                      int pairs)
{
    __shared__ __half table[pieces * half_pitch];
    for (int j = threadIdx.x; j < pieces * squares; j += blockDim.x)
        table[j / squares * half_pitch + j % squares] = __float2half(value[j]);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        float a = 0, b = 0;
#pragma unroll
        for (int w = 0; w < squares / 4; w++) {
            uint2 word = board[(size_t)w * pairs + i];
#pragma unroll
            for (int s = 0; s < 4; s++) {
                a += __half2float(table[(word.x >> (s * 8) & 255) * half_pitch + w * 4 + s]);
                b += __half2float(table[(word.y >> (s * 8) & 255) * half_pitch + w * 4 + s]);
            }
        }
        score[i] = make_float2(a, b);
    }
}

int main()
{
    unsigned char *by_board = input<unsigned char>((size_t)boards * squares, 1, 0, pieces);
    std::vector<unsigned char> host = on_host(by_board, (size_t)boards * squares);
    std::vector<unsigned> turned((size_t)boards * (squares / 4));
    for (int i0 = 0; i0 < boards; i0 += 64)
        for (int w = 0; w < squares / 4; w++)
            for (int i = i0; i < i0 + 64; i++) {
                const unsigned char *b = &host[(size_t)i * squares + 4 * w];
                turned[(size_t)w * boards + i] = b[0] | b[1] << 8 | b[2] << 16 | (unsigned)b[3] << 24;
            }
    unsigned *by_word = on_device(turned);
    std::vector<float> table(pieces * squares);
    for (int j = 0; j < pieces * squares; j++)
        table[j] = (float)((int)(scrambled(j, 2) % 1801) - 900);
    float *value = on_device(table);
    MUST(cudaMemcpyToSymbol(values, table.data(), sizeof(values)));
    std::vector<float> want(65536, 0);
    for (size_t i = 0; i < want.size(); i++)
        for (int s = 0; s < squares; s++)
            want[i] += table[host[i * squares + s] * squares + s];

    const int blocks = 132 * 8;
    float *score = output<float>(boards);
    k276a<<<blocks, 256>>>(by_board, value, score, boards);
    check("k276a", score, want, 0);
    std::vector<float> all = on_host(score, boards);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276b<<<blocks, 256>>>(reinterpret_cast<unsigned *>(by_board), value, score, boards);
    check("k276b", score, all, 0);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276c<<<blocks, 256>>>(by_word, value, score, boards);
    check("k276c", score, all, 0);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276d<<<blocks, 256>>>(by_word, value, score, boards);
    check("k276d", score, all, 0);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276e<<<blocks, 256>>>(by_word, score, boards);
    check("k276e", score, all, 0);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276f<<<blocks, 256>>>(by_word, value, score, boards);
    check("k276f", score, all, 0);
    MUST(cudaMemset(score, 0xA5, boards * sizeof(float)));
    k276g<<<blocks, 256>>>(reinterpret_cast<uint2 *>(by_word), value, reinterpret_cast<float2 *>(score), boards / 2);
    check("k276g", score, all, 0);
    return 0;
}
