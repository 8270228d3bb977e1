// Counts of letters in a text (seven groups of four letters), and convolution of an image with a 7 x 7 filter.
#include "../harness.h"

#include <functional>

const int GROUP = 4, BINS = (26 + GROUP - 1) / GROUP;

__global__ void k53a(const char *text, unsigned n, unsigned *histo)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int letter = text[i] - 'a';
        if (letter >= 0 && letter < 26)
            atomicAdd(&histo[letter / GROUP], 1);
    }
}

__device__ __forceinline__ void clear(unsigned *local)
{
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        local[bin] = 0u;
    __syncthreads();
}

__device__ __forceinline__ void commit(const unsigned *local, unsigned *histo)
{
    __syncthreads();
    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        unsigned value = local[bin];
        if (value > 0)
            atomicAdd(&histo[bin], value);
    }
}

__global__ void k53b(const char *text, unsigned n, unsigned *histo)
{
    __shared__ unsigned local[BINS];
    clear(local);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int letter = text[i] - 'a';
        if (letter >= 0 && letter < 26)
            atomicAdd(&local[letter / GROUP], 1);
    }
    commit(local, histo);
}

const unsigned LETTERS = 32;

__global__ void k53c(const char *text, unsigned n, unsigned *histo)
{
    __shared__ unsigned local[BINS];
    clear(local);
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = id * LETTERS; i < min((id + 1) * LETTERS, n); i++) {
        int letter = text[i] - 'a';
        if (letter >= 0 && letter < 26)
            atomicAdd(&local[letter / GROUP], 1);
    }
    commit(local, histo);
}

__global__ void k53d(const char *text, unsigned n, unsigned *histo)
{
    __shared__ unsigned local[BINS];
    clear(local);
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = id; i < n; i += blockDim.x * gridDim.x) {
        int letter = text[i] - 'a';
        if (letter >= 0 && letter < 26)
            atomicAdd(&local[letter / GROUP], 1);
    }
    commit(local, histo);
}

__global__ void k53e(const char *text, unsigned n, unsigned *histo)
{
    __shared__ unsigned local[BINS];
    clear(local);
    unsigned count = 0;
    int last = -1;
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = id; i < n; i += blockDim.x * gridDim.x) {
        int letter = text[i] - 'a';
        if (letter >= 0 && letter < 26) {
            int bin = letter / GROUP;
            if (bin == last) {
                count++;
            } else {
                if (count > 0)
                    atomicAdd(&local[last], count);
                count = 1;
                last = bin;
            }
        }
    }
    if (count > 0)
        atomicAdd(&local[last], count);
    commit(local, histo);
}

const int RADIUS = 3, SIDE = 2 * RADIUS + 1;
__constant__ float taps[SIDE][SIDE];

__global__ void k53f(const float *in, float *out, int r, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        float sum = 0.0f;
        for (int i = 0; i < 2 * r + 1; i++)
            for (int j = 0; j < 2 * r + 1; j++) {
                int y = row - r + i;
                int x = col - r + j;
                if (y >= 0 && y < height && x >= 0 && x < width)
                    sum += taps[i][j] * in[y * width + x];
            }
        out[row * width + col] = sum;
    }
}

const int TILE = 32, TILE_OUT = TILE - 2 * RADIUS;

__global__ void k53g(const float *in, float *out, int width, int height)
{
    __shared__ float s[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE_OUT + tx - RADIUS;
    int row = blockIdx.y * TILE_OUT + ty - RADIUS;
    if (row >= 0 && row < height && col >= 0 && col < width)
        s[ty][tx] = in[row * width + col];
    else
        s[ty][tx] = 0.0f;
    __syncthreads();

    int x = tx - RADIUS, y = ty - RADIUS;
    if (row >= 0 && row < height && col >= 0 && col < width) {
        if (x >= 0 && x < TILE_OUT && y >= 0 && y < TILE_OUT) {
            float sum = 0.0f;
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    sum += taps[i][j] * s[y + i][x + j];
            out[row * width + col] = sum;
        }
    }
}

__global__ void k53h(const float *in, float *out, int width, int height)
{
    __shared__ float s[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;
    if (row < height && col < width)
        s[ty][tx] = in[row * width + col];
    else
        s[ty][tx] = 0.0f;
    __syncthreads();

    if (row < height && col < width) {
        float sum = 0.0f;
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                int x = tx - RADIUS + j, y = ty - RADIUS + i;
                if (x >= 0 && x < TILE && y >= 0 && y < TILE) {
                    sum += taps[i][j] * s[y][x];
                } else {
                    int gx = col - RADIUS + j, gy = row - RADIUS + i;
                    if (gx >= 0 && gx < width && gy >= 0 && gy < height)
                        sum += taps[i][j] * in[gy * width + gx];
                }
            }
        out[row * width + col] = sum;
    }
}

int main()
{
    const unsigned n = 10000000;
    char *text = input<char>(n, 531, 97.0, 123.0);
    std::vector<unsigned> counts(BINS, 0u);
    {
        std::vector<char> letters = on_host(text, n);
        for (unsigned i = 0; i < n; i++)
            counts[(letters[i] - 'a') / GROUP]++;
    }
    unsigned *histo = zeroed<unsigned>(BINS);
    k53a<<<(n + 1023) / 1024, 1024>>>(text, n, histo);
    check("k53a", histo, counts, 0.0);

    histo = zeroed<unsigned>(BINS);
    k53b<<<(n + 1023) / 1024, 1024>>>(text, n, histo);
    check("k53b", histo, counts, 0.0);

    histo = zeroed<unsigned>(BINS);
    k53c<<<(n + 1024 * LETTERS - 1) / (1024 * LETTERS), 1024>>>(text, n, histo);
    check("k53c", histo, counts, 0.0);

    histo = zeroed<unsigned>(BINS);
    k53d<<<132 * 2, 1024>>>(text, n, histo);
    check("k53d", histo, counts, 0.0);

    histo = zeroed<unsigned>(BINS);
    k53e<<<132 * 2, 1024>>>(text, n, histo);
    check("k53e", histo, counts, 0.0);

    const int width = 4096, height = 4096;
    const size_t pixels = (size_t)width * height;
    float *in = input<float>(pixels, 532, 0.0, 1.0);
    float *out = output<float>(pixels);
    float filter[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            filter[i][j] = (1.0f + i * SIDE + j) / (SIDE * SIDE * 25.0f);
    MUST(cudaMemcpyToSymbol(taps, filter, sizeof(filter)));
    std::vector<float> want;

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            // Some rows come from the host, the others from the first launch.
            want = on_host(out, pixels);
            std::vector<float> image = on_host(in, pixels);
            for (int row : {0, 1, 2, 3, 31, 32, 2047, height - 2, height - 1})
                for (int col = 0; col < width; col++) {
                    double sum = 0.0;
                    for (int i = 0; i < SIDE; i++)
                        for (int j = 0; j < SIDE; j++) {
                            int y = row - RADIUS + i, x = col - RADIUS + j;
                            if (y >= 0 && y < height && x >= 0 && x < width)
                                sum += double(filter[i][j]) * image[(size_t)y * width + x];
                        }
                    want[(size_t)row * width + col] = float(sum);
                }
        }
        check(name, out, want, 1e-5);
    };

    auto parts = [](int a, int b) { return (a + b - 1) / b; };
    dim3 threads(32, 32);
    launch_and_check("k53f", [&] {
        k53f<<<dim3(parts(width, 32), parts(height, 32)), threads>>>(in, out, RADIUS, width, height);
    });
    launch_and_check("k53g", [&] {
        k53g<<<dim3(parts(width, TILE_OUT), parts(height, TILE_OUT)), threads>>>(in, out, width, height);
    });
    launch_and_check("k53h", [&] {
        k53h<<<dim3(parts(width, TILE), parts(height, TILE)), threads>>>(in, out, width, height);
    });
    return 0;
}
