// Sparse matrix (27 points on a cube) times vector, a colour image made grey, and the count of one letter in a text.
#include "../harness.h"

#include <functional>

const int D = 128, ROWS = D * D * D, WIDTH = 27;

__global__ void k227a(int num_rows, const int *ptr, const int *indices, const float *data, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        float dot = 0.0f;
        int row_start = ptr[row], row_end = ptr[row + 1];
        for (int jj = row_start; jj < row_end; jj++)
            dot += data[jj] * x[indices[jj]];
        y[row] = dot;
    }
}

__global__ void k227b(int num_rows, const int *ptr, const int *indices, const float *data, const float *x, float *y)
{
    int thread_id = blockDim.x * blockIdx.x + threadIdx.x;
    int row = thread_id / 32;
    int lane = thread_id & 31;
    if (row < num_rows) {
        float dot = 0.0f;
        int row_start = ptr[row], row_end = ptr[row + 1];
        for (int jj = row_start + lane; jj < row_end; jj += 32)
            dot += data[jj] * x[indices[jj]];
        for (int offset = 16; offset > 0; offset /= 2)
            dot += __shfl_down_sync(0xffffffffu, dot, offset);
        if (lane == 0)
            y[row] = dot;
    }
}

__global__ void k227c(int num_rows, int num_cols_per_row, const int *indices, const float *data, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        float dot = 0.0f;
        for (int n = 0; n < num_cols_per_row; n++) {
            int col = indices[num_rows * n + row];
            float val = data[num_rows * n + row];
            if (val != 0.0f)
                dot += val * x[col];
        }
        y[row] = dot;
    }
}

__global__ void k227d(int num_rows, int num_cols_per_row, const int *indices, const float *data, const float *x, float *y)
{
    int row = blockDim.x * blockIdx.x + threadIdx.x;
    if (row < num_rows) {
        float dot = 0.0f;
        for (int n = 0; n < num_cols_per_row; n++) {
            int col = indices[num_rows * n + row];
            float val = data[num_rows * n + row];
            if (val != 0.0f)
                dot += val * __ldg(&x[col]);
        }
        y[row] = dot;
    }
}

__host__ __device__ inline unsigned luma(unsigned r, unsigned g, unsigned b)
{
    return (r * 4899 + g * 9617 + b * 1868 + 8192) >> 14;
}

__global__ void k227e(unsigned char *grey, const unsigned char *rgb, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        int at = row * width + col;
        unsigned char r = rgb[at * 3];
        unsigned char g = rgb[at * 3 + 1];
        unsigned char b = rgb[at * 3 + 2];
        grey[at] = luma(r, g, b);
    }
}

__global__ void k227f(uchar4 *grey, const uchar4 *rgb, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        uchar4 p = rgb[i * 3], q = rgb[i * 3 + 1], s = rgb[i * 3 + 2];
        uchar4 out;
        out.x = luma(p.x, p.y, p.z);
        out.y = luma(p.w, q.x, q.y);
        out.z = luma(q.z, q.w, s.x);
        out.w = luma(s.y, s.z, s.w);
        grey[i] = out;
    }
}

__global__ void k227g(const char *text, int n, char letter, unsigned *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && text[i] == letter)
        atomicAdd(count, 1u);
}

__device__ inline void add_block(unsigned mine, unsigned *count)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (int offset = 16; offset > 0; offset /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, offset);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(count, sum);
}

__global__ void k227h(const char *text, int n, char letter, unsigned *count)
{
    unsigned mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (text[i] == letter)
            mine++;
    add_block(mine, count);
}

__device__ inline unsigned equal_bytes(unsigned word, unsigned pattern)
{
    unsigned x = word ^ pattern;
    unsigned t = (x & 0x7f7f7f7fu) + 0x7f7f7f7fu;
    return __popc(~(t | x | 0x7f7f7f7fu));
}

__global__ void k227i(const uint4 *text, int n, char letter, unsigned *count)
{
    unsigned mine = 0, pattern = (unsigned char)letter * 0x01010101u;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 v = text[i];
        mine += equal_bytes(v.x, pattern) + equal_bytes(v.y, pattern);
        mine += equal_bytes(v.z, pattern) + equal_bytes(v.w, pattern);
    }
    add_block(mine, count);
}

// From 2^-24 to 1.
__host__ __device__ inline float entry(unsigned long long i, unsigned seed)
{
    return ((scrambled(i, seed) >> 8) + 1) * (1.0f / 16777216.0f);
}

// Neighbours of a coordinate, and of all coordinates below it.
__host__ __device__ inline int near_by(int k) { return k == 0 || k == D - 1 ? 2 : 3; }
__host__ __device__ inline int near_below(int k) { return k == 0 ? 0 : k == D ? 3 * D - 2 : 3 * k - 1; }

__global__ void fill_matrix(int *ptr, int *csr_indices, float *csr_data, int *ell_indices, float *ell_data)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= ROWS)
        return;
    int x = row % D, y = row / D % D, z = row / (D * D), all = near_below(D);
    int at = near_below(z) * all * all + near_by(z) * (near_below(y) * all + near_by(y) * near_below(x));
    ptr[row] = at;
    if (row == ROWS - 1)
        ptr[ROWS] = all * all * all;
    int n = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int c = x + dx, b = y + dy, a = z + dz;
                if (a < 0 || a >= D || b < 0 || b >= D || c < 0 || c >= D)
                    continue;
                float value = entry((unsigned long long)row * WIDTH + n, 2271);
                int col = (a * D + b) * D + c;
                csr_indices[at + n] = col;
                csr_data[at + n] = value;
                ell_indices[n * ROWS + row] = col;
                ell_data[n * ROWS + row] = value;
                n++;
            }
    for (; n < WIDTH; n++) {
        ell_indices[n * ROWS + row] = row;
        ell_data[n * ROWS + row] = 0.0f;
    }
}

__global__ void fill_vector(float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ROWS)
        x[i] = entry(i, 2272);
}

__host__ __device__ inline unsigned letters(unsigned long long i)
{
    return (scrambled(i, 2274) & 0x3f3f3f3fu) + 0x20202020u;
}

__global__ void fill_text(unsigned *words, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        words[i] = letters(i);
}

void done()
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
}

int main()
{
    // Every 37th row is compared.
    const int entries = near_below(D) * near_below(D) * near_below(D), every = 37, chosen = (ROWS - 1) / every + 1;
    int *ptr = output<int>(ROWS + 1), *csr_indices = output<int>(entries);
    int *ell_indices = output<int>((size_t)ROWS * WIDTH);
    float *csr_data = output<float>(entries), *ell_data = output<float>((size_t)ROWS * WIDTH);
    float *x = output<float>(ROWS), *y = output<float>(ROWS), *some = output<float>(chosen);
    fill_matrix<<<ROWS / 256, 256>>>(ptr, csr_indices, csr_data, ell_indices, ell_data);
    done();
    fill_vector<<<ROWS / 256, 256>>>(x);
    done();
    std::vector<float> product(chosen);
    for (int s = 0; s < chosen; s++) {
        int row = s * every, n = 0;
        double sum = 0.0;
        for (int k = 0; k < 27; k++) {
            int c = row % D + k % 3 - 1, b = row / D % D + k / 3 % 3 - 1, a = row / (D * D) + k / 9 - 1;
            if (a < 0 || a >= D || b < 0 || b >= D || c < 0 || c >= D)
                continue;
            sum += double(entry((unsigned long long)row * WIDTH + n, 2271)) * entry((a * D + b) * D + c, 2272);
            n++;
        }
        product[s] = float(sum);
    }
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        done();
        const size_t bytes = sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, y, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, product, 1e-5);
    };
    const int by_thread = ROWS / 256, by_warp = ROWS / 8;
    multiply("k227a", [&] { k227a<<<by_thread, 256>>>(ROWS, ptr, csr_indices, csr_data, x, y); });
    multiply("k227b", [&] { k227b<<<by_warp, 256>>>(ROWS, ptr, csr_indices, csr_data, x, y); });
    multiply("k227c", [&] { k227c<<<by_thread, 256>>>(ROWS, WIDTH, ell_indices, ell_data, x, y); });
    multiply("k227d", [&] { k227d<<<by_thread, 256>>>(ROWS, WIDTH, ell_indices, ell_data, x, y); });

    // Every 61st line of the image is compared.
    const int width = 16384, height = 8192, skip = 61, lines = (height - 1) / skip + 1;
    const size_t pixels = (size_t)width * height;
    unsigned char *rgb = input<unsigned char>(pixels * 3, 2273, 0.0, 256.0), *grey = output<unsigned char>(pixels);
    unsigned char *shown = output<unsigned char>((size_t)lines * width);
    std::vector<unsigned char> want((size_t)lines * width), line((size_t)width * 3);
    for (int t = 0; t < lines; t++) {
        MUST(cudaMemcpy(line.data(), rgb + (size_t)t * skip * width * 3, line.size(), cudaMemcpyDeviceToHost));
        for (int c = 0; c < width; c++)
            want[(size_t)t * width + c] = (unsigned char)luma(line[c * 3], line[c * 3 + 1], line[c * 3 + 2]);
    }
    auto filter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(grey, 0xA5, pixels));
        launch();
        done();
        MUST(cudaMemcpy2D(shown, width, grey, (size_t)skip * width, width, lines, cudaMemcpyDeviceToDevice));
        check(name, shown, want, 0.0);
    };
    const int quads = int(pixels / 4);
    uchar4 *grey4 = reinterpret_cast<uchar4 *>(grey);
    const uchar4 *rgb4 = reinterpret_cast<const uchar4 *>(rgb);
    dim3 block(16, 16), grid(width / 16, height / 16);
    filter("k227e", [&] { k227e<<<grid, block>>>(grey, rgb, width, height); });
    filter("k227f", [&] { k227f<<<quads / 256, 256>>>(grey4, rgb4, quads); });

    const int bytes = 1 << 28, words = bytes / 4;
    unsigned *text = output<unsigned>(words), *count = output<unsigned>(1);
    const char letter = 'E';
    fill_text<<<words / 256, 256>>>(text, words);
    done();
    unsigned found = 0;
    for (int i = 0; i < words; i++) {
        unsigned w = letters(i) ^ 0x45454545u;
        found += ((w & 255) == 0) + ((w >> 8 & 255) == 0) + ((w >> 16 & 255) == 0) + (w >> 24 == 0);
    }
    const std::vector<unsigned> counted = {found};
    auto search = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(count, 0, sizeof(unsigned)));
        launch();
        check(name, count, counted, 0.0);
    };
    const char *chars = reinterpret_cast<const char *>(text);
    const uint4 *chunks = reinterpret_cast<const uint4 *>(text);
    const int few = 132 * 8;
    search("k227g", [&] { k227g<<<bytes / 256, 256>>>(chars, bytes, letter, count); });
    search("k227h", [&] { k227h<<<few, 256>>>(chars, bytes, letter, count); });
    search("k227i", [&] { k227i<<<few, 256>>>(chunks, bytes / 16, letter, count); });
    return 0;
}
