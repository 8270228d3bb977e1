// Seven-point stencil sweep on a cubic grid (the boundary is left alone), and grey values of an RGB image.
#include "../harness.h"

#include <functional>

struct Weights {
    float c0, c1, c2, c3, c4, c5, c6;
};

__device__ __forceinline__ void sweep(const float *in, float *out, int n, const Weights &w)
{
    int i = blockIdx.z * blockDim.z + threadIdx.z;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1 && k >= 1 && k < n - 1)
        out[i * n * n + j * n + k] = w.c0 * in[i * n * n + j * n + k] + w.c1 * in[i * n * n + j * n + (k - 1)] +
                                     w.c2 * in[i * n * n + j * n + (k + 1)] + w.c3 * in[i * n * n + (j - 1) * n + k] +
                                     w.c4 * in[i * n * n + (j + 1) * n + k] + w.c5 * in[(i - 1) * n * n + j * n + k] +
                                     w.c6 * in[(i + 1) * n * n + j * n + k];
}

__global__ void k52a(const float *in, float *out, int n, Weights w)
{
    sweep(in, out, n, w);
}

__global__ void k52b(const float *in, float *out, int n, Weights w)
{
    sweep(in, out, n, w);
}

const int CUBE = 8, CUBE_OUT = CUBE - 2;

__global__ void k52c(const float *in, float *out, int n, Weights w)
{
    __shared__ float s[CUBE][CUBE][CUBE];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int i = blockIdx.z * CUBE_OUT + z - 1;
    int j = blockIdx.y * CUBE_OUT + y - 1;
    int k = blockIdx.x * CUBE_OUT + x - 1;
    if (i >= 0 && i < n && j >= 0 && j < n && k >= 0 && k < n)
        s[z][y][x] = in[i * n * n + j * n + k];
    __syncthreads();
    if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1 && k >= 1 && k < n - 1) {
        if (z >= 1 && z < CUBE - 1 && y >= 1 && y < CUBE - 1 && x >= 1 && x < CUBE - 1)
            out[i * n * n + j * n + k] = w.c0 * s[z][y][x] + w.c1 * s[z][y][x - 1] + w.c2 * s[z][y][x + 1] +
                                         w.c3 * s[z][y - 1][x] + w.c4 * s[z][y + 1][x] + w.c5 * s[z - 1][y][x] +
                                         w.c6 * s[z + 1][y][x];
    }
}

const int PLANE = 32, PLANE_OUT = PLANE - 2;

__global__ void k52d(const float *in, float *out, int n, Weights w)
{
    __shared__ float below[PLANE][PLANE];
    __shared__ float here[PLANE][PLANE];
    __shared__ float above[PLANE][PLANE];
    int x = threadIdx.x, y = threadIdx.y;
    int first = blockIdx.z * PLANE_OUT;
    int j = blockIdx.y * PLANE_OUT + y - 1;
    int k = blockIdx.x * PLANE_OUT + x - 1;
    bool inside = j >= 0 && j < n && k >= 0 && k < n;

    if (first - 1 >= 0 && inside)
        below[y][x] = in[(first - 1) * n * n + j * n + k];
    if (first < n && inside)
        here[y][x] = in[first * n * n + j * n + k];
    for (int i = first; i < first + PLANE_OUT; i++) {
        if (i + 1 < n && inside)
            above[y][x] = in[(i + 1) * n * n + j * n + k];
        __syncthreads();
        if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1 && k >= 1 && k < n - 1) {
            if (y >= 1 && y < PLANE - 1 && x >= 1 && x < PLANE - 1)
                out[i * n * n + j * n + k] = w.c0 * here[y][x] + w.c1 * here[y][x - 1] + w.c2 * here[y][x + 1] +
                                             w.c3 * here[y - 1][x] + w.c4 * here[y + 1][x] + w.c5 * below[y][x] +
                                             w.c6 * above[y][x];
        }
        __syncthreads();
        below[y][x] = here[y][x];
        here[y][x] = above[y][x];
    }
}

__device__ __forceinline__ void march(const float *in, float *out, int n, const Weights &w, int first, int last)
{
    __shared__ float plane[PLANE][PLANE];
    int x = threadIdx.x, y = threadIdx.y;
    int j = blockIdx.y * PLANE_OUT + y - 1;
    int k = blockIdx.x * PLANE_OUT + x - 1;
    bool inside = j >= 0 && j < n && k >= 0 && k < n;

    float below = 0.0f, here = 0.0f, above = 0.0f;
    if (first - 1 >= 0 && inside)
        below = in[(first - 1) * n * n + j * n + k];
    if (first < n && inside)
        here = in[first * n * n + j * n + k];
    plane[y][x] = here;
    for (int i = first; i < last; i++) {
        if (i + 1 < n && inside)
            above = in[(i + 1) * n * n + j * n + k];
        __syncthreads();
        if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1 && k >= 1 && k < n - 1) {
            if (y >= 1 && y < PLANE - 1 && x >= 1 && x < PLANE - 1)
                out[i * n * n + j * n + k] = w.c0 * here + w.c1 * plane[y][x - 1] + w.c2 * plane[y][x + 1] +
                                             w.c3 * plane[y - 1][x] + w.c4 * plane[y + 1][x] + w.c5 * below +
                                             w.c6 * above;
        }
        __syncthreads();
        below = here;
        here = above;
        plane[y][x] = above;
    }
}

__global__ void k52e(const float *in, float *out, int n, Weights w)
{
    int first = blockIdx.z * PLANE_OUT;
    march(in, out, n, w, first, first + PLANE_OUT);
}

__global__ void k52f(const float *in, float *out, int n, Weights w)
{
    march(in, out, n, w, 0, n - 1);
}

__global__ void k52g(const unsigned char *rgb, unsigned char *grey, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) {
        int at = row * width + col;
        unsigned char r = rgb[at * 3];
        unsigned char g = rgb[at * 3 + 1];
        unsigned char b = rgb[at * 3 + 2];
        grey[at] = (unsigned char)(0.21f * r + 0.71f * g + 0.07f * b);
    }
}

__device__ __forceinline__ unsigned char grey_of(unsigned char r, unsigned char g, unsigned char b)
{
    return (unsigned char)(0.21f * r + 0.71f * g + 0.07f * b);
}

__global__ void k52h(const uchar4 *rgb, uchar4 *grey, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        uchar4 u = rgb[3 * i], v = rgb[3 * i + 1], w = rgb[3 * i + 2];
        grey[i] = make_uchar4(grey_of(u.x, u.y, u.z), grey_of(u.w, v.x, v.y), grey_of(v.z, v.w, w.x),
                              grey_of(w.y, w.z, w.w));
    }
}

int main()
{
    const int n = 320;
    const size_t cells = (size_t)n * n * n, layer = (size_t)n * n;
    const Weights w = {-6.0f, 1.0f, 1.25f, 0.75f, 1.5f, 0.5f, 1.0f};
    float *in = input<float>(cells, 521, -1.0, 1.0);
    float *out = output<float>(cells);
    std::vector<float> want;

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, cells * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            // Some layers come from the host, the others from the first launch.
            want = on_host(out, cells);
            for (int i : {1, 160, n - 2}) {
                std::vector<float> v = on_host(in + (i - 1) * layer, 3 * layer);
                for (int j = 1; j < n - 1; j++)
                    for (int k = 1; k < n - 1; k++) {
                        size_t at = layer + (size_t)j * n + k;
                        double sum = double(w.c0) * v[at] + double(w.c1) * v[at - 1] + double(w.c2) * v[at + 1];
                        sum += double(w.c3) * v[at - n] + double(w.c4) * v[at + n];
                        sum += double(w.c5) * v[at - layer] + double(w.c6) * v[at + layer];
                        want[(i - 1) * layer + at] = float(sum);
                    }
            }
        }
        check(name, out, want, 1e-5);
    };

    auto parts = [](int a, int b) { return (a + b - 1) / b; };
    dim3 cube(CUBE, CUBE, CUBE), slab(32, 4, 4), plane(PLANE, PLANE);
    launch_and_check("k52a", [&] {
        k52a<<<dim3(parts(n, 8), parts(n, 8), parts(n, 8)), cube>>>(in, out, n, w);
    });
    launch_and_check("k52b", [&] {
        k52b<<<dim3(parts(n, 32), parts(n, 4), parts(n, 4)), slab>>>(in, out, n, w);
    });
    launch_and_check("k52c", [&] {
        k52c<<<dim3(parts(n, CUBE_OUT), parts(n, CUBE_OUT), parts(n, CUBE_OUT)), cube>>>(in, out, n, w);
    });
    launch_and_check("k52d", [&] {
        k52d<<<dim3(parts(n, PLANE_OUT), parts(n, PLANE_OUT), parts(n, PLANE_OUT)), plane>>>(in, out, n, w);
    });
    launch_and_check("k52e", [&] {
        k52e<<<dim3(parts(n, PLANE_OUT), parts(n, PLANE_OUT), parts(n, PLANE_OUT)), plane>>>(in, out, n, w);
    });
    launch_and_check("k52f", [&] {
        k52f<<<dim3(parts(n, PLANE_OUT), parts(n, PLANE_OUT)), plane>>>(in, out, n, w);
    });

    // Values from 60 up, so that a difference of one (of rounding) is within the tolerance and one of two is not.
    const int width = 8192, height = 4096, pixels = width * height;
    unsigned char *rgb = input<unsigned char>((size_t)pixels * 3, 522, 60.0, 256.0);
    std::vector<unsigned char> values = on_host(rgb, (size_t)pixels * 3), shades(pixels);
    for (int p = 0; p < pixels; p++)
        shades[p] = (unsigned char)(0.21f * values[3 * (size_t)p] + 0.71f * values[3 * (size_t)p + 1] +
                                    0.07f * values[3 * (size_t)p + 2]);
    unsigned char *grey = output<unsigned char>(pixels);
    k52g<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(rgb, grey, width, height);
    check("k52g", grey, shades, 0.02);

    grey = output<unsigned char>(pixels);
    k52h<<<(pixels / 4 + 255) / 256, 256>>>(reinterpret_cast<uchar4 *>(rgb), reinterpret_cast<uchar4 *>(grey),
                                            pixels / 4);
    check("k52h", grey, shades, 0.02);
    return 0;
}
