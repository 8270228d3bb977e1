// Image and grid operations: 3 x 3 median of an 8-bit image, rotation of an 8-bit image with bilinear interpolation,
// and one step of a 4-point stencil in double precision.
#include "../harness.h"

#include <algorithm>

typedef unsigned char uchar;

template <class T> __device__ inline void sort2(T &low, T &high)
{
    T was = low;
    low = min(low, high);
    high = max(was, high);
}

template <class T> __device__ inline T middle1(T a1, T a2, T a3, T a4, T a5, T a6, T a7, T a8, T a9)
{
    sort2(a1, a9); sort2(a2, a9); sort2(a3, a9); sort2(a4, a9); sort2(a5, a9); sort2(a6, a9); sort2(a7, a9); sort2(a8, a9);
    sort2(a1, a8); sort2(a2, a8); sort2(a3, a8); sort2(a4, a8); sort2(a5, a8); sort2(a6, a8); sort2(a7, a8);
    sort2(a1, a7); sort2(a2, a7); sort2(a3, a7); sort2(a4, a7); sort2(a5, a7); sort2(a6, a7);
    sort2(a1, a6); sort2(a2, a6); sort2(a3, a6); sort2(a4, a6); sort2(a5, a6);
    sort2(a1, a5); sort2(a2, a5); sort2(a3, a5); sort2(a4, a5);
    return a5;
}

// The least and the greatest go to the ends.
template <class T> __device__ inline void ends6(T &a, T &b, T &c, T &d, T &e, T &f)
{
    sort2(a, b); sort2(c, d); sort2(e, f);
    sort2(a, c); sort2(a, e);
    sort2(b, f); sort2(d, f);
}

template <class T> __device__ inline void ends5(T &a, T &b, T &c, T &d, T &e)
{
    sort2(a, b); sort2(c, d);
    sort2(a, c); sort2(a, e);
    sort2(b, e); sort2(d, e);
}

template <class T> __device__ inline void ends4(T &a, T &b, T &c, T &d)
{
    sort2(a, b); sort2(c, d);
    sort2(a, c); sort2(b, d);
}

template <class T> __device__ inline void ends3(T &a, T &b, T &c)
{
    sort2(a, b);
    sort2(a, c);
    sort2(b, c);
}

template <class T> __device__ inline T middle2(T a1, T a2, T a3, T a4, T a5, T a6, T a7, T a8, T a9)
{
    ends6(a1, a2, a3, a4, a5, a6);
    ends5(a2, a3, a4, a5, a7);
    ends4(a3, a4, a5, a8);
    ends3(a4, a5, a9);
    return a5;
}

const int TX = 64, TY = 16;

// Called by 16 x 16 threads; nx is a multiple of TX, ny of TY.
__device__ inline void load_patch(uchar (*s)[TX + 2], const uchar *__restrict__ in, int nx, int ny)
{
    int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
    int gx = x0 + threadIdx.x * 4, gy = y0 + threadIdx.y;
    int x = threadIdx.x * 4 + 1, y = threadIdx.y + 1;

    const uchar4 four = reinterpret_cast<const uchar4 *>(in)[(gy * nx + gx) / 4];
    s[y][x] = four.x;
    s[y][x + 1] = four.y;
    s[y][x + 2] = four.z;
    s[y][x + 3] = four.w;

    int left = max(0, x0 - 1), right = min(nx - 1, x0 + TX);
    if (threadIdx.y == 0) {
        int top = max(0, y0 - 1);
        for (int k = 0; k < 4; k++)
            s[0][x + k] = in[top * nx + gx + k];
        if (threadIdx.x == 0) {
            s[0][0] = in[top * nx + left];
            s[0][TX + 1] = in[top * nx + right];
        }
        s[threadIdx.x + 1][0] = in[(y0 + threadIdx.x) * nx + left];
    }
    if (threadIdx.y == 2) {
        int bottom = min(ny - 1, y0 + TY);
        for (int k = 0; k < 4; k++)
            s[TY + 1][x + k] = in[bottom * nx + gx + k];
        if (threadIdx.x == 0) {
            s[TY + 1][0] = in[bottom * nx + left];
            s[TY + 1][TX + 1] = in[bottom * nx + right];
        }
        s[threadIdx.x + 1][TX + 1] = in[(y0 + threadIdx.x) * nx + right];
    }
    __syncthreads();
}

__global__ void k77a(const uchar *__restrict__ in, uchar *__restrict__ out, int nx, int ny)
{
    __shared__ uchar s[TY + 2][TX + 2];
    load_patch(s, in, nx, ny);

    int x = threadIdx.x * 4 + 1, y = threadIdx.y + 1;
    uchar r[4];
    for (int k = 0; k < 4; k++) {
        r[k] = middle1<uchar>(s[y - 1][x - 1], s[y - 1][x], s[y - 1][x + 1], s[y][x - 1], s[y][x], s[y][x + 1],
                              s[y + 1][x - 1], s[y + 1][x], s[y + 1][x + 1]);
        x++;
    }
    int gx = blockIdx.x * TX + threadIdx.x * 4, gy = blockIdx.y * TY + threadIdx.y;
    reinterpret_cast<uchar4 *>(out)[(gy * nx + gx) / 4] = make_uchar4(r[0], r[1], r[2], r[3]);
}

__global__ void k77b(const uchar *__restrict__ in, uchar *__restrict__ out, int nx, int ny)
{
    __shared__ uchar s[TY + 2][TX + 2];
    load_patch(s, in, nx, ny);

    int x = threadIdx.x * 4 + 1, y = threadIdx.y + 1;
    uchar r[4];
    for (int k = 0; k < 4; k++) {
        r[k] = middle2<uchar>(s[y - 1][x - 1], s[y - 1][x], s[y - 1][x + 1], s[y][x - 1], s[y][x], s[y][x + 1],
                              s[y + 1][x - 1], s[y + 1][x], s[y + 1][x + 1]);
        x++;
    }
    int gx = blockIdx.x * TX + threadIdx.x * 4, gy = blockIdx.y * TY + threadIdx.y;
    reinterpret_cast<uchar4 *>(out)[(gy * nx + gx) / 4] = make_uchar4(r[0], r[1], r[2], r[3]);
}

__host__ __device__ inline float mix(float a, float b, float t)
{
    return a + t * (b - a);
}

__host__ __device__ inline uchar between(const uchar *__restrict__ in, float x, float y, int nx, int ny)
{
    float fx = floorf(x), fy = floorf(y);
    float ax = x - fx, ay = y - fy;
    int ix = int(fx), iy = int(fy);
    int x1 = ix < 0 ? 0 : ix > nx - 1 ? nx - 1 : ix, x2 = ix + 1 < 0 ? 0 : ix + 1 > nx - 1 ? nx - 1 : ix + 1;
    int y1 = iy < 0 ? 0 : iy > ny - 1 ? ny - 1 : iy, y2 = iy + 1 < 0 ? 0 : iy + 1 > ny - 1 ? ny - 1 : iy + 1;
    float low = mix(in[y1 * nx + x1], in[y1 * nx + x2], ax);
    float high = mix(in[y2 * nx + x1], in[y2 * nx + x2], ax);
    return uchar(mix(low, high, ay));
}

__global__ void k77c(const uchar *__restrict__ in, uchar *__restrict__ out, float angle, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    float xt = x - nx / 2.0f, yt = y - ny / 2.0f;
    float xr = xt * cosf(angle) + yt * sinf(angle) + nx / 2.0f;
    float yr = -xt * sinf(angle) + yt * cosf(angle) + ny / 2.0f;
    out[y * nx + x] = between(in, xr, yr, nx, ny);
}

__global__ void k77d(cudaTextureObject_t in, uchar *__restrict__ out, float angle, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    float xt = x - nx / 2.0f, yt = y - ny / 2.0f;
    float xr = xt * cosf(angle) + yt * sinf(angle) + nx / 2.0f;
    float yr = -xt * sinf(angle) + yt * cosf(angle) + ny / 2.0f;
    out[y * nx + x] = uchar(255 * tex2D<float>(in, xr + 0.5f, yr + 0.5f));
}

__global__ void k77e(cudaTextureObject_t in, uchar *__restrict__ out, float c, float s, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    float xt = x - nx / 2.0f, yt = y - ny / 2.0f;
    float xr = xt * c + yt * s + nx / 2.0f;
    float yr = -xt * s + yt * c + ny / 2.0f;
    out[y * nx + x] = uchar(255 * tex2D<float>(in, xr + 0.5f, yr + 0.5f));
}

__global__ void k77f(const double *__restrict__ a, double *__restrict__ b, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    int i = y * nx + x;
    b[i] = 0.25 * (a[i + 1] + a[i - 1] + a[i + nx] + a[i - nx]);
}

template <int NX, int NY>
__device__ inline void stencil(const double *__restrict__ a, double *__restrict__ b, int nx, int ny)
{
    __shared__ double s[NY][NX];
    int xs = threadIdx.x, ys = threadIdx.y;
    int x = (NX - 2) * blockIdx.x + xs;
    int y = (NY - 2) * blockIdx.y + ys;
    if (x < nx && y < ny)
        s[ys][xs] = a[y * nx + x];
    __syncthreads();
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    if (xs < 1 || ys < 1 || xs >= NX - 1 || ys >= NY - 1)
        return;
    b[y * nx + x] = 0.25 * (s[ys][xs + 1] + s[ys][xs - 1] + s[ys + 1][xs] + s[ys - 1][xs]);
}

__global__ void k77g(const double *__restrict__ a, double *__restrict__ b, int nx, int ny)
{
    stencil<32, 16>(a, b, nx, ny);
}

__global__ void waves(uchar *out, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny)
        out[y * nx + x] = uchar(150.0f + 50.0f * sinf(x * 0.05f) * cosf(y * 0.04f));
}

// Rows first, first + step, ... of an array of rows of width nx.
template <class T> T *rows_of(const T *data, int nx, int first, int step, int rows)
{
    T *picked = output<T>((size_t)rows * nx);
    MUST(cudaMemcpy2D(picked, nx * sizeof(T), data + (size_t)first * nx, (size_t)step * nx * sizeof(T), nx * sizeof(T),
                      rows, cudaMemcpyDeviceToDevice));
    return picked;
}

template <class T>
void check_rows(const char *name, const T *data, int nx, int first, int step, const std::vector<T> &want, double tolerance)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    T *picked = rows_of(data, nx, first, step, int(want.size() / nx));
    check(name, picked, want, tolerance);
    MUST(cudaFree(picked));
}

int main()
{
    {
        const int nx = 4096, ny = 4096, step = 105, rows = 40;
        uchar *in = input<uchar>((size_t)nx * ny, 771, 0, 256);
        const std::vector<uchar> image = on_host(in, (size_t)nx * ny);
        std::vector<uchar> want((size_t)rows * nx);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < nx; x++) {
                uchar v[9];
                int n = 0;
                for (int j = -1; j <= 1; j++)
                    for (int i = -1; i <= 1; i++)
                        v[n++] = image[(size_t)std::min(ny - 1, std::max(0, r * step + j)) * nx +
                                       std::min(nx - 1, std::max(0, x + i))];
                std::nth_element(v, v + 4, v + 9);
                want[(size_t)r * nx + x] = v[4];
            }
        const dim3 threads(16, 16), blocks(nx / TX, ny / TY);
        uchar *out = output<uchar>((size_t)nx * ny);
        k77a<<<blocks, threads>>>(in, out, nx, ny);
        check_rows("k77a", out, nx, 0, step, want, 0.0);
        const std::vector<uchar> all = on_host(out, (size_t)nx * ny);

        out = output<uchar>((size_t)nx * ny);
        k77b<<<blocks, threads>>>(in, out, nx, ny);
        check("k77b", out, all, 0.0);
    }
    {
        const int nx = 8192, ny = 8192, step = 163, rows = 50;
        const size_t n = (size_t)nx * ny;
        const float angle = 30.0f * 3.14159265f / 180.0f;
        const dim3 threads(16, 16), blocks(nx / 16, ny / 16);
        uchar *in = output<uchar>(n);
        waves<<<blocks, threads>>>(in, nx, ny);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const std::vector<uchar> image = on_host(in, n);
        const float c = std::cos(angle), s = std::sin(angle);
        std::vector<uchar> want((size_t)rows * nx);
        for (int r = 0; r < rows; r++)
            for (int x = 0; x < nx; x++) {
                float xt = x - nx / 2.0f, yt = r * step - ny / 2.0f;
                want[(size_t)r * nx + x] =
                    between(image.data(), xt * c + yt * s + nx / 2.0f, -xt * s + yt * c + ny / 2.0f, nx, ny);
            }

        cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar>();
        cudaArray_t array;
        MUST(cudaMallocArray(&array, &format, nx, ny));
        MUST(cudaMemcpy2DToArray(array, 0, 0, in, nx, nx, ny, cudaMemcpyDeviceToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc how = {};
        how.addressMode[0] = cudaAddressModeClamp;
        how.addressMode[1] = cudaAddressModeClamp;
        how.filterMode = cudaFilterModeLinear;
        how.readMode = cudaReadModeNormalizedFloat;
        how.normalizedCoords = 0;
        cudaTextureObject_t texture = 0;
        MUST(cudaCreateTextureObject(&texture, &resource, &how, nullptr));

        uchar *out = output<uchar>(n);
        k77c<<<blocks, threads>>>(in, out, angle, nx, ny);
        check_rows("k77c", out, nx, 0, step, want, 0.021);

        MUST(cudaMemset(out, 0xA5, n));
        k77d<<<blocks, threads>>>(texture, out, angle, nx, ny);
        check_rows("k77d", out, nx, 0, step, want, 0.021);

        MUST(cudaMemset(out, 0xA5, n));
        k77e<<<blocks, threads>>>(texture, out, c, s, nx, ny);
        check_rows("k77e", out, nx, 0, step, want, 0.021);
    }
    {
        const int nx = 8192, ny = 4096, step = 90, rows = 45;
        const size_t n = (size_t)nx * ny;
        double *a = input<double>(n, 772, 0.0, 1.0), *b = output<double>(n);
        std::vector<double> want((size_t)rows * nx);
        for (int r = 0; r < rows; r++) {
            const int y = 1 + r * step;
            const std::vector<double> v = on_host(a + (size_t)(y - 1) * nx, (size_t)3 * nx);
            for (int x = 0; x < nx; x++)
                want[(size_t)r * nx + x] = x == 0 || x == nx - 1
                                               ? v[nx + x]
                                               : 0.25 * (v[nx + x + 1] + v[nx + x - 1] + v[2 * nx + x] + v[x]);
        }
        const dim3 threads(32, 16);
        MUST(cudaMemcpy(b, a, n * sizeof(double), cudaMemcpyDeviceToDevice));
        k77f<<<dim3(nx / 32, ny / 16), threads>>>(a, b, nx, ny);
        check_rows("k77f", b, nx, 1, step, want, 1e-12);

        MUST(cudaMemcpy(b, a, n * sizeof(double), cudaMemcpyDeviceToDevice));
        k77g<<<dim3((nx + 27) / 30, (ny + 11) / 14), threads>>>(a, b, nx, ny);
        check_rows("k77g", b, nx, 1, step, want, 1e-12);
    }
    return 0;
}
