// Speckle reducing diffusion of an image (coefficients, then the update), and one step of heat conduction in a periodic
// box with sources.
#include "../harness.h"

#include <functional>

const int WIDTH = 8192, HEIGHT = 8192;
const int NX = 512, NY = 512, NZ = 128;

// ---- diffusion coefficient of every pixel

__global__ void k125a(float *c, const float *img, int width, int height, float q0)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    int up = row > 0 ? row - 1 : 0, down = row < height - 1 ? row + 1 : height - 1;
    int left = col > 0 ? col - 1 : 0, right = col < width - 1 ? col + 1 : width - 1;
    float jc = img[row * width + col];
    float n = img[up * width + col] - jc, s = img[down * width + col] - jc;
    float w = img[row * width + left] - jc, e = img[row * width + right] - jc;

    float g2 = (n * n + s * s + w * w + e * e) / (jc * jc);
    float l = (n + s + w + e) / jc;
    float num = (0.5 * g2) - ((1.0 / 16.0) * (l * l));
    float den = 1 + (.25 * l);
    float q = num / (den * den);
    den = (q - q0) / (q0 * (1 + q0));
    float v = 1.0 / (1.0 + den);
    c[row * width + col] = v < 0 ? 0 : v > 1 ? 1 : v;
}

__global__ void k125b(float *c, const float *img, int width, int height, float q0)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int up = row > 0 ? row - 1 : 0, down = row < height - 1 ? row + 1 : height - 1;
    int left = col > 0 ? col - 1 : 0, right = col < width - 1 ? col + 1 : width - 1;
    float jc = img[row * width + col];
    float n = img[up * width + col] - jc, s = img[down * width + col] - jc;
    float w = img[row * width + left] - jc, e = img[row * width + right] - jc;

    float g2 = (n * n + s * s + w * w + e * e) / (jc * jc);
    float l = (n + s + w + e) / jc;
    float num = (0.5 * g2) - ((1.0 / 16.0) * (l * l));
    float den = 1 + (.25 * l);
    float q = num / (den * den);
    den = (q - q0) / (q0 * (1 + q0));
    float v = 1.0 / (1.0 + den);
    c[row * width + col] = v < 0 ? 0 : v > 1 ? 1 : v;
}

__global__ void k125c(float *c, const float *img, int width, int height, float q0)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int up = row > 0 ? row - 1 : 0, down = row < height - 1 ? row + 1 : height - 1;
    int left = col > 0 ? col - 1 : 0, right = col < width - 1 ? col + 1 : width - 1;
    float jc = img[row * width + col];
    float n = img[up * width + col] - jc, s = img[down * width + col] - jc;
    float w = img[row * width + left] - jc, e = img[row * width + right] - jc;

    float g2 = (n * n + s * s + w * w + e * e) / (jc * jc);
    float l = (n + s + w + e) / jc;
    float num = (0.5f * g2) - ((1.0f / 16.0f) * (l * l));
    float den = 1.0f + (.25f * l);
    float q = num / (den * den);
    den = (q - q0) / (q0 * (1.0f + q0));
    float v = 1.0f / (1.0f + den);
    c[row * width + col] = v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
}

__device__ inline float coefficient(float jc, float up, float down, float left, float right, float q0)
{
    float n = up - jc, s = down - jc, w = left - jc, e = right - jc;
    float inverse = __fdividef(1.0f, jc);
    float g2 = (n * n + s * s + w * w + e * e) * inverse * inverse;
    float l = (n + s + w + e) * inverse;
    float num = 0.5f * g2 - 0.0625f * (l * l);
    float den = 1.0f + .25f * l;
    float q = __fdividef(num, den * den);
    den = (q - q0) * __fdividef(1.0f, q0 * (1.0f + q0));
    return __saturatef(__fdividef(1.0f, 1.0f + den));
}

__global__ void k125d(float *__restrict__ c, const float *__restrict__ img, int width, int height, float q0)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int up = row > 0 ? row - 1 : 0, down = row < height - 1 ? row + 1 : height - 1;
    int left = col > 0 ? col - 1 : 0, right = col < width - 1 ? col + 1 : width - 1;
    c[row * width + col] = coefficient(img[row * width + col], img[up * width + col], img[down * width + col],
                                       img[row * width + left], img[row * width + right], q0);
}

__global__ void k125e(float *__restrict__ c, const float *__restrict__ img, int width, int height, float q0)
{
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int up = row > 0 ? row - 1 : 0, down = row < height - 1 ? row + 1 : height - 1;
    const float *line = img + row * width + col;
    float4 m = *reinterpret_cast<const float4 *>(line);
    float4 n = *reinterpret_cast<const float4 *>(img + up * width + col);
    float4 s = *reinterpret_cast<const float4 *>(img + down * width + col);
    float left = col > 0 ? line[-1] : m.x, right = col + 4 < width ? line[4] : m.w;
    float4 v;
    v.x = coefficient(m.x, n.x, s.x, left, m.y, q0);
    v.y = coefficient(m.y, n.y, s.y, m.x, m.z, q0);
    v.z = coefficient(m.z, n.z, s.z, m.y, m.w, q0);
    v.w = coefficient(m.w, n.w, s.w, m.z, right, q0);
    *reinterpret_cast<float4 *>(c + row * width + col) = v;
}

// ---- update of the image with the coefficients of a pixel and of those below and to the right

__global__ void fill_differences(float *dn, float *ds, float *dw, float *de, const float *img, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int at = row * width + col;
    float jc = img[at];
    dn[at] = row > 0 ? img[at - width] - jc : 0.0f;
    ds[at] = row < height - 1 ? img[at + width] - jc : 0.0f;
    dw[at] = col > 0 ? img[at - 1] - jc : 0.0f;
    de[at] = col < width - 1 ? img[at + 1] - jc : 0.0f;
}

__device__ inline float4 load4(const float *p)
{
    return *reinterpret_cast<const float4 *>(p);
}

__global__ void k125f(float *__restrict__ out, const float *__restrict__ img, const float *__restrict__ c,
                      const float *__restrict__ dn, const float *__restrict__ ds, const float *__restrict__ dw,
                      const float *__restrict__ de, int width, int height, float rate)
{
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int at = row * width + col;
    float4 j = load4(img + at), own = load4(c + at);
    float4 below = load4(c + (row < height - 1 ? at + width : at));
    float last = col + 4 < width ? c[at + 4] : own.w;
    float4 n = load4(dn + at), s = load4(ds + at), w = load4(dw + at), e = load4(de + at);
    j.x += rate * (own.x * n.x + below.x * s.x + own.x * w.x + own.y * e.x);
    j.y += rate * (own.y * n.y + below.y * s.y + own.y * w.y + own.z * e.y);
    j.z += rate * (own.z * n.z + below.z * s.z + own.z * w.z + own.w * e.z);
    j.w += rate * (own.w * n.w + below.w * s.w + own.w * w.w + last * e.w);
    *reinterpret_cast<float4 *>(out + at) = j;
}

__device__ inline float moved(float jc, float up, float down, float left, float right, float own, float below,
                              float beside, float rate)
{
    return jc + rate * (own * (up - jc) + below * (down - jc) + own * (left - jc) + beside * (right - jc));
}

__global__ void k125g(float *__restrict__ out, const float *__restrict__ img, const float *__restrict__ c, int width,
                      int height, float rate)
{
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int at = row * width + col, under = row < height - 1 ? at + width : at;
    float4 own = load4(c + at), below = load4(c + under);
    float4 m = load4(img + at), n = load4(img + (row > 0 ? at - width : at)), s = load4(img + under);
    float left = col > 0 ? img[at - 1] : m.x;
    float right = m.w, last = own.w;
    if (col + 4 < width) {
        right = img[at + 4];
        last = c[at + 4];
    }
    float4 j;
    j.x = moved(m.x, n.x, s.x, left, m.y, own.x, below.x, own.y, rate);
    j.y = moved(m.y, n.y, s.y, m.x, m.z, own.y, below.y, own.z, rate);
    j.z = moved(m.z, n.z, s.z, m.y, m.w, own.z, below.z, own.w, rate);
    j.w = moved(m.w, n.w, s.w, m.z, right, own.w, below.w, last, rate);
    *reinterpret_cast<float4 *>(out + at) = j;
}

// ---- heat: own share, shares of the neighbours in x, y and z, and the source

__global__ void k125h(double *out, const double *t, const double *source, int nx, int ny, int nz, double cc, double cx,
                      double cy, double cz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    int west = (z * ny + y) * nx + (x + nx - 1) % nx, east = (z * ny + y) * nx + (x + 1) % nx;
    int north = (z * ny + (y + ny - 1) % ny) * nx + x, south = (z * ny + (y + 1) % ny) * nx + x;
    int bottom = ((z + nz - 1) % nz * ny + y) * nx + x, top = ((z + 1) % nz * ny + y) * nx + x;
    out[i] = cc * t[i] + cx * (t[west] + t[east]) + cy * (t[north] + t[south]) + cz * (t[bottom] + t[top]) + source[i];
}

__global__ void k125i(double *out, const double *t, const double *source, int nx, int ny, int nz, double cc, double cx,
                      double cy, double cz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    int plane = nx * ny, i = z * plane + y * nx + x;
    int west = x > 0 ? i - 1 : i + nx - 1, east = x < nx - 1 ? i + 1 : i - nx + 1;
    int north = y > 0 ? i - nx : i + plane - nx, south = y < ny - 1 ? i + nx : i - plane + nx;
    int bottom = z > 0 ? i - plane : i + (nz - 1) * plane, top = z < nz - 1 ? i + plane : i - (nz - 1) * plane;
    out[i] = cc * t[i] + cx * (t[west] + t[east]) + cy * (t[north] + t[south]) + cz * (t[bottom] + t[top]) + source[i];
}

__global__ void k125j(double *out, const double *t, const double *source, int nx, int ny, int nz, double cc, double cx,
                      double cy, double cz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    int plane = nx * ny, i = z * plane + y * nx + x;
    int west = x > 0 ? i - 1 : i + nx - 1, east = x < nx - 1 ? i + 1 : i - nx + 1;
    int north = y > 0 ? i - nx : i + plane - nx, south = y < ny - 1 ? i + nx : i - plane + nx;
    int bottom = z > 0 ? i - plane : i + (nz - 1) * plane, top = z < nz - 1 ? i + plane : i - (nz - 1) * plane;
    out[i] = cc * __ldg(t + i) + cx * (__ldg(t + west) + __ldg(t + east)) +
             cy * (__ldg(t + north) + __ldg(t + south)) + cz * (__ldg(t + bottom) + __ldg(t + top)) +
             __ldg(source + i);
}

// Rows (or planes) that are checked: every so many, and the last.
static std::vector<int> chosen(int count, int every)
{
    std::vector<int> list;
    for (int i = 0; i < count - 1; i += every)
        list.push_back(i);
    list.push_back(count - 1);
    return list;
}

template <class T> static void gather(T *to, const T *from, const std::vector<int> &list, size_t length)
{
    for (size_t k = 0; k < list.size(); k++)
        MUST(cudaMemcpy(to + k * length, from + list[k] * length, length * sizeof(T), cudaMemcpyDeviceToDevice));
}

int main()
{
    const size_t pixels = (size_t)WIDTH * HEIGHT;
    const float q0 = 0.05f, rate = 0.25f * 0.5f;
    float *img = input<float>(pixels, 1251, 0.8, 1.2), *c = output<float>(pixels), *out = output<float>(pixels);
    std::vector<float> hi = on_host(img, pixels);
    const std::vector<int> rows = chosen(HEIGHT, 37);
    std::vector<float> want(rows.size() * WIDTH);
    float *some = output<float>(want.size());
    auto pixel = [&](int row, int col) {
        row = row < 0 ? 0 : row >= HEIGHT ? HEIGHT - 1 : row;
        col = col < 0 ? 0 : col >= WIDTH ? WIDTH - 1 : col;
        return double(hi[(size_t)row * WIDTH + col]);
    };
    for (size_t k = 0; k < rows.size(); k++)
        for (int col = 0; col < WIDTH; col++) {
            int row = rows[k];
            double jc = pixel(row, col), n = pixel(row - 1, col) - jc, s = pixel(row + 1, col) - jc;
            double w = pixel(row, col - 1) - jc, e = pixel(row, col + 1) - jc;
            double g2 = (n * n + s * s + w * w + e * e) / (jc * jc), l = (n + s + w + e) / jc;
            double den = 1 + 0.25 * l, q = (0.5 * g2 - l * l / 16) / (den * den);
            double v = 1 / (1 + (q - q0) / (q0 * (1.0 + q0)));
            want[k * WIDTH + col] = float(v < 0 ? 0 : v > 1 ? 1 : v);
        }
    auto coefficients = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(c, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        gather(some, c, rows, WIDTH);
        check(name, some, want, 2e-4);
    };
    const dim3 block(32, 8), grid(WIDTH / 32, HEIGHT / 8), turned(HEIGHT / 32, WIDTH / 8), quads(WIDTH / 128, HEIGHT / 8);
    coefficients("k125a", [&] { k125a<<<turned, block>>>(c, img, WIDTH, HEIGHT, q0); });
    coefficients("k125b", [&] { k125b<<<grid, block>>>(c, img, WIDTH, HEIGHT, q0); });
    coefficients("k125c", [&] { k125c<<<grid, block>>>(c, img, WIDTH, HEIGHT, q0); });
    coefficients("k125d", [&] { k125d<<<grid, block>>>(c, img, WIDTH, HEIGHT, q0); });
    coefficients("k125e", [&] { k125e<<<quads, block>>>(c, img, WIDTH, HEIGHT, q0); });

    float *dn = output<float>(pixels), *ds = output<float>(pixels), *dw = output<float>(pixels);
    float *de = output<float>(pixels);
    fill_differences<<<grid, block>>>(dn, ds, dw, de, img, WIDTH, HEIGHT);
    MUST(cudaGetLastError());
    std::vector<float> hc = on_host(c, pixels);
    for (size_t k = 0; k < rows.size(); k++)
        for (int col = 0; col < WIDTH; col++) {
            int row = rows[k];
            double jc = pixel(row, col), own = hc[(size_t)row * WIDTH + col];
            double below = hc[(size_t)(row < HEIGHT - 1 ? row + 1 : row) * WIDTH + col];
            double beside = hc[(size_t)row * WIDTH + (col < WIDTH - 1 ? col + 1 : col)];
            want[k * WIDTH + col] =
                float(jc + rate * (own * (pixel(row - 1, col) - jc) + below * (pixel(row + 1, col) - jc) +
                                   own * (pixel(row, col - 1) - jc) + beside * (pixel(row, col + 1) - jc)));
        }
    auto update = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        gather(some, out, rows, WIDTH);
        check(name, some, want, 1e-5);
    };
    update("k125f", [&] { k125f<<<quads, block>>>(out, img, c, dn, ds, dw, de, WIDTH, HEIGHT, rate); });
    update("k125g", [&] { k125g<<<quads, block>>>(out, img, c, WIDTH, HEIGHT, rate); });
    for (float *p : {img, c, out, dn, ds, dw, de, some})
        MUST(cudaFree(p));

    const size_t plane = (size_t)NX * NY, cells = plane * NZ;
    const double cc = 0.4, cx = 0.12, cy = 0.1, cz = 0.08;
    double *t = input<double>(cells, 1252, 300.0, 350.0), *source = input<double>(cells, 1253, 0.0, 1.0);
    double *next = output<double>(cells);
    std::vector<double> ht = on_host(t, cells), hs = on_host(source, cells);
    const std::vector<int> planes = chosen(NZ, 21);
    std::vector<double> heat(planes.size() * plane);
    double *part = output<double>(heat.size());
    for (size_t k = 0; k < planes.size(); k++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int z = planes[k];
                auto at = [&](int i, int j, int l) {
                    return ht[((size_t)((l + NZ) % NZ) * NY + (j + NY) % NY) * NX + (i + NX) % NX];
                };
                heat[k * plane + y * NX + x] = cc * at(x, y, z) + cx * (at(x - 1, y, z) + at(x + 1, y, z)) +
                                               cy * (at(x, y - 1, z) + at(x, y + 1, z)) +
                                               cz * (at(x, y, z - 1) + at(x, y, z + 1)) + hs[z * plane + y * NX + x];
            }
    auto conduct = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, cells * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        gather(part, next, planes, plane);
        check(name, part, heat, 1e-12);
    };
    const dim3 box(NX / 64, NY / 4, NZ), flat(64, 4);
    const int line = int(cells / 256);
    conduct("k125h", [&] { k125h<<<line, 256>>>(next, t, source, NX, NY, NZ, cc, cx, cy, cz); });
    conduct("k125i", [&] { k125i<<<box, flat>>>(next, t, source, NX, NY, NZ, cc, cx, cy, cz); });
    conduct("k125j", [&] { k125j<<<box, flat>>>(next, t, source, NX, NY, NZ, cc, cx, cy, cz); });
    return 0;
}
