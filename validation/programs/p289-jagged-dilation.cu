// Sparse matrix (many rows, 16384 columns) times a vector with jagged diagonals, and the dilation of a 16-bit image
// with a vertical line of 64 pixels.
#include "../harness.h"
#include <algorithm>

constexpr int ROWS = 786432, COLUMNS = 16384, SHORTEST = 8, LONGEST = 96;
constexpr int HEIGHT = 8192, WIDTH = 8192, LINE = 64;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

// Column-major with every row padded to the longest.
__global__ void k289a(const unsigned short *column, const float *value, const int *length, const float *x, float *y)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < ROWS; r += gridDim.x * blockDim.x) {
        int n = length[r];
        float sum = 0;
#pragma unroll 4
        for (int k = 0; k < n; k++)
            sum += value[size_t(k) * ROWS + r] * x[column[size_t(k) * ROWS + r]];
        y[r] = sum;
    }
}

__global__ void k289b(const unsigned short *column, const float *value, const int *length, const float *x, float *y)
{
    extern __shared__ float xs[];
    for (int i = threadIdx.x; i < COLUMNS; i += blockDim.x)
        xs[i] = x[i];
    __syncthreads();
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < ROWS; r += gridDim.x * blockDim.x) {
        int n = length[r];
        float sum = 0;
#pragma unroll 4
        for (int k = 0; k < n; k++)
            sum += value[size_t(k) * ROWS + r] * xs[column[size_t(k) * ROWS + r]];
        y[r] = sum;
    }
}

// Rows sorted by falling length; diagonal k starts at start[k].
__global__ void k289c(const unsigned short *column, const float *value, const int *length, const int *start,
                      const int *row, const float *x, float *y)
{
    extern __shared__ float xs[];
    for (int i = threadIdx.x; i < COLUMNS; i += blockDim.x)
        xs[i] = x[i];
    __syncthreads();
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < ROWS; r += gridDim.x * blockDim.x) {
        int n = length[r];
        float sum = 0;
#pragma unroll 4
        for (int k = 0; k < n; k++)
            sum += value[start[k] + r] * xs[column[start[k] + r]];
        y[row[r]] = sum;
    }
}

__global__ void k289d(const unsigned short *in, unsigned short *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    unsigned short best = 0;
#pragma unroll 8
    for (int k = 0; k < LINE; k++) {
        int row = min(max(y + k - LINE / 2, 0), HEIGHT - 1);
        best = max(best, in[row * WIDTH + x]);
    }
    out[y * WIDTH + x] = best;
}

__global__ void k289e(const uint2 *in, uint2 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    uint2 best = {};
#pragma unroll 8
    for (int k = 0; k < LINE; k++) {
        int row = min(max(y + k - LINE / 2, 0), HEIGHT - 1);
        uint2 v = in[row * (WIDTH / 4) + x];
        best.x = __vmaxu2(best.x, v.x);
        best.y = __vmaxu2(best.y, v.y);
    }
    out[y * (WIDTH / 4) + x] = best;
}

// 64 results per thread from maxima of the rest of one stretch of 64 rows and of the beginning of the next.
__global__ void k289f(const unsigned *__restrict__ in, unsigned *__restrict__ out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * LINE;
    unsigned rest[LINE];
#pragma unroll
    for (int k = 0; k < LINE; k++)
        rest[k] = in[max(y + k - LINE / 2, 0) * (WIDTH / 2) + x];
#pragma unroll
    for (int k = LINE - 2; k >= 0; k--)
        rest[k] = __vmaxu2(rest[k], rest[k + 1]);
    unsigned begun = 0;
#pragma unroll
    for (int k = 0; k < LINE; k++) {
        out[(y + k) * (WIDTH / 2) + x] = __vmaxu2(rest[k], begun);
        begun = __vmaxu2(begun, in[min(y + k + LINE / 2, HEIGHT - 1) * (WIDTH / 2) + x]);
    }
}

__global__ void k289g(const unsigned *__restrict__ in, unsigned *__restrict__ out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * LINE;
    unsigned rest[LINE];
#pragma unroll
    for (int k = 0; k < LINE; k++)
        rest[k] = __ldg(in + max(y + k - LINE / 2, 0) * (WIDTH / 2) + x);
#pragma unroll
    for (int k = LINE - 2; k >= 0; k--)
        rest[k] = __vmaxu2(rest[k], rest[k + 1]);
    unsigned begun = 0;
#pragma unroll
    for (int k = 0; k < LINE; k++) {
        out[(y + k) * (WIDTH / 2) + x] = __vmaxu2(rest[k], begun);
        begun = __vmaxu2(begun, __ldg(in + min(y + k + LINE / 2, HEIGHT - 1) * (WIDTH / 2) + x));
    }
}

int main()
{
    {
        std::vector<int> length(ROWS), row(ROWS), sorted(ROWS), start(LONGEST + 1);
        std::vector<int> count(LONGEST + 2);
        for (int r = 0; r < ROWS; r++) {
            length[r] = SHORTEST + scrambled(r, 1) % (LONGEST - SHORTEST + 1);
            count[length[r]]++;
        }
        std::vector<int> place(LONGEST + 1);
        for (int l = LONGEST, at = 0; l >= 0; at += count[l], l--)
            place[l] = at;
        for (int r = 0; r < ROWS; r++) {
            int at = place[length[r]]++;
            row[at] = r;
            sorted[at] = length[r];
        }
        for (int k = 0, longer = ROWS; k < LONGEST; k++) {
            longer -= count[k];
            start[k + 1] = start[k] + longer;
        }
        size_t padded = size_t(ROWS) * LONGEST;
        unsigned short *ell_column = input<unsigned short>(padded, 2, 0, COLUMNS);
        float *ell_value = input<float>(padded, 3, -1, 1), *x = input<float>(COLUMNS, 4, -1, 1);
        float *y = output<float>(ROWS);
        std::vector<unsigned short> hc = on_host(ell_column, padded), jc(start[LONGEST]);
        std::vector<float> hv = on_host(ell_value, padded), jv(start[LONGEST]), hx = on_host(x, COLUMNS);
        for (int k = 0; k < LONGEST; k++)
            for (int i = 0; i < start[k + 1] - start[k]; i++) {
                jc[start[k] + i] = hc[size_t(k) * ROWS + row[i]];
                jv[start[k] + i] = hv[size_t(k) * ROWS + row[i]];
            }
        int *d_length = on_device(length), *d_row = on_device(row), *d_sorted = on_device(sorted);
        int *d_start = on_device(start);
        unsigned short *jds_column = on_device(jc);
        float *jds_value = on_device(jv);
        int bytes = COLUMNS * sizeof(float);
        MUST(cudaFuncSetAttribute(k289b, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        MUST(cudaFuncSetAttribute(k289c, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        k289a<<<264, 1024>>>(ell_column, ell_value, d_length, x, y);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(y, ROWS);
        for (int r = 0; r < ROWS; r += 101) {
            double sum = 0;
            for (int k = 0; k < length[r]; k++)
                sum += double(hv[size_t(k) * ROWS + r]) * hx[hc[size_t(k) * ROWS + r]];
            agree("y", want[r], sum, 1e-4);
        }
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        k289b<<<264, 1024, bytes>>>(ell_column, ell_value, d_length, x, y);
        check("k289b", y, want, 1e-4);
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        k289c<<<264, 1024, bytes>>>(jds_column, jds_value, d_sorted, d_start, d_row, x, y);
        check("k289c", y, want, 1e-4);
        cudaFree(ell_column), cudaFree(ell_value), cudaFree(jds_column), cudaFree(jds_value);
    }
    size_t pixels = size_t(HEIGHT) * WIDTH;
    unsigned short *in = input<unsigned short>(pixels, 5, 0, 65536), *out = output<unsigned short>(pixels);
    k289d<<<dim3(WIDTH / 256, HEIGHT), 256>>>(in, out);
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned short> want = on_host(out, pixels), source = on_host(in, pixels);
    for (size_t i = 0; i < pixels; i += 1009) {
        int y = int(i / WIDTH), x = int(i % WIDTH);
        unsigned short best = 0;
        for (int k = std::max(0, y - LINE / 2); k < std::min(HEIGHT, y + LINE / 2); k++)
            best = std::max(best, source[size_t(k) * WIDTH + x]);
        agree("dilation", want[i], best, 0);
    }
    MUST(cudaMemset(out, 0xA5, pixels * 2));
    k289e<<<dim3(WIDTH / 1024, HEIGHT), 256>>>(reinterpret_cast<uint2 *>(in), reinterpret_cast<uint2 *>(out));
    check("k289e", out, want, 0);
    const unsigned *from = reinterpret_cast<unsigned *>(in);
    unsigned *to = reinterpret_cast<unsigned *>(out);
    MUST(cudaMemset(out, 0xA5, pixels * 2));
    k289f<<<dim3(WIDTH / 256, HEIGHT / LINE), 128>>>(from, to);
    check("k289f", out, want, 0);
    MUST(cudaMemset(out, 0xA5, pixels * 2));
    k289g<<<dim3(WIDTH / 256, HEIGHT / LINE), 128>>>(from, to);
    check("k289g", out, want, 0);
    return 0;
}
