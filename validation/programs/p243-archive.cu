// Archive and terrain: CRC-32 of pages, and hill shading of an elevation model.
#include "../harness.h"

// CRC-32 (reflected, polynomial EDB88320) of pages of 4096 bytes, one thread for each page
constexpr int PAGE = 4096;

__global__ void k243a(const unsigned char *data, const unsigned *table, unsigned *crcs, int pages)
{
    __shared__ unsigned t[256];
    if (threadIdx.x < 256)
        t[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page >= pages)
        return;
    const unsigned char *p = data + (size_t)page * PAGE;
    unsigned crc = 0xffffffffu;
    for (int i = 0; i < PAGE; i++)
        crc = t[(crc ^ p[i]) & 255] ^ crc >> 8;
    crcs[page] = ~crc;
}

// The page is read 64 bytes at a time, the next 64 while these are processed
__global__ void k243b(const uint4 *data, const unsigned *table, unsigned *crcs, int pages)
{
    __shared__ unsigned t[256];
    if (threadIdx.x < 256)
        t[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page >= pages)
        return;
    const uint4 *p = data + (size_t)page * (PAGE / 16);
    uint4 next[4] = {p[0], p[1], p[2], p[3]};
    unsigned crc = 0xffffffffu;
    for (int i = 0; i < PAGE / 64; i++) {
        unsigned w[16];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            w[4 * k] = next[k].x;
            w[4 * k + 1] = next[k].y;
            w[4 * k + 2] = next[k].z;
            w[4 * k + 3] = next[k].w;
        }
        if (i + 1 < PAGE / 64)
#pragma unroll
            for (int k = 0; k < 4; k++)
                next[k] = p[4 * i + 4 + k];
#pragma unroll
        for (int k = 0; k < 16; k++) {
            crc ^= w[k];
#pragma unroll
            for (int b = 0; b < 4; b++)
                crc = t[crc & 255] ^ crc >> 8;
        }
    }
    crcs[page] = ~crc;
}

// A copy of the table for each lane
__global__ void k243c(const uint4 *data, const unsigned *table, unsigned *crcs, int pages)
{
    __shared__ unsigned t[256 * 32];
    for (int i = threadIdx.x; i < 256 * 32; i += blockDim.x)
        t[i] = table[i / 32];
    __syncthreads();
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page >= pages)
        return;
    const unsigned *mine = t + threadIdx.x % 32;
    const uint4 *p = data + (size_t)page * (PAGE / 16);
    uint4 next[4] = {p[0], p[1], p[2], p[3]};
    unsigned crc = 0xffffffffu;
    for (int i = 0; i < PAGE / 64; i++) {
        unsigned w[16];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            w[4 * k] = next[k].x;
            w[4 * k + 1] = next[k].y;
            w[4 * k + 2] = next[k].z;
            w[4 * k + 3] = next[k].w;
        }
        if (i + 1 < PAGE / 64)
#pragma unroll
            for (int k = 0; k < 4; k++)
                next[k] = p[4 * i + 4 + k];
#pragma unroll
        for (int k = 0; k < 16; k++) {
            crc ^= w[k];
#pragma unroll
            for (int b = 0; b < 4; b++)
                crc = mine[(crc & 255) * 32] ^ crc >> 8;
        }
    }
    crcs[page] = ~crc;
}

// Slicing by four: tables[k][b] is byte b followed by k zero bytes
__global__ void k243d(const uint4 *data, const unsigned *tables, unsigned *crcs, int pages)
{
    extern __shared__ unsigned shared[];
    for (int i = threadIdx.x; i < 4 * 256 * 32; i += blockDim.x)
        shared[i] = tables[i / 32];
    __syncthreads();
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page >= pages)
        return;
    const unsigned *t0 = shared + threadIdx.x % 32, *t1 = t0 + 8192, *t2 = t0 + 16384, *t3 = t0 + 24576;
    const uint4 *p = data + (size_t)page * (PAGE / 16);
    uint4 next[4] = {p[0], p[1], p[2], p[3]};
    unsigned crc = 0xffffffffu;
    for (int i = 0; i < PAGE / 64; i++) {
        unsigned w[16];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            w[4 * k] = next[k].x;
            w[4 * k + 1] = next[k].y;
            w[4 * k + 2] = next[k].z;
            w[4 * k + 3] = next[k].w;
        }
        if (i + 1 < PAGE / 64)
#pragma unroll
            for (int k = 0; k < 4; k++)
                next[k] = p[4 * i + 4 + k];
#pragma unroll
        for (int k = 0; k < 16; k++) {
            crc ^= w[k];
            crc = (t3[(crc & 255) * 32] ^ t2[(crc >> 8 & 255) * 32]) ^ (t1[(crc >> 16 & 255) * 32] ^ t0[(crc >> 24) * 32]);
        }
    }
    crcs[page] = ~crc;
}

// Hill shading of an elevation model with Horn's gradient; the edges repeat the outermost cells
struct Sun {
    float zenith, azimuth, scale; // scale: 1 / (8 cell sizes)
};

__device__ inline float at(const float *h, int x, int y, int width, int height)
{
    return h[(size_t)min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)];
}

__global__ void k243e(const float *h, unsigned char *shade, int width, int height, Sun sun)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float a = at(h, x - 1, y - 1, width, height), b = at(h, x, y - 1, width, height), c = at(h, x + 1, y - 1, width, height);
    float d = at(h, x - 1, y, width, height), f = at(h, x + 1, y, width, height);
    float g = at(h, x - 1, y + 1, width, height), i = at(h, x, y + 1, width, height), k = at(h, x + 1, y + 1, width, height);
    float dx = ((c + 2 * f + k) - (a + 2 * d + g)) * sun.scale, dy = ((g + 2 * i + k) - (a + 2 * b + c)) * sun.scale;
    float slope = atanf(sqrtf(dx * dx + dy * dy)), aspect = atan2f(dy, -dx);
    float light = cosf(sun.zenith) * cosf(slope) + sinf(sun.zenith) * sinf(slope) * cosf(sun.azimuth - aspect);
    shade[(size_t)y * width + x] = (unsigned char)(255.0f * fmaxf(light, 0.0f));
}

// Light from the plane's normal and the direction of the sun (east, north, up)
struct Direction {
    float east, north, up, scale;
};

__device__ inline unsigned char lit(float dx, float dy, Direction sun)
{
    float light = (sun.up - sun.east * dx + sun.north * dy) * rsqrtf(1.0f + dx * dx + dy * dy);
    return (unsigned char)(255.0f * fmaxf(light, 0.0f));
}

__global__ void k243f(const float *h, unsigned char *shade, int width, int height, Direction sun)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float a = at(h, x - 1, y - 1, width, height), b = at(h, x, y - 1, width, height), c = at(h, x + 1, y - 1, width, height);
    float d = at(h, x - 1, y, width, height), f = at(h, x + 1, y, width, height);
    float g = at(h, x - 1, y + 1, width, height), i = at(h, x, y + 1, width, height), k = at(h, x + 1, y + 1, width, height);
    float dx = ((c + 2 * f + k) - (a + 2 * d + g)) * sun.scale, dy = ((g + 2 * i + k) - (a + 2 * b + c)) * sun.scale;
    shade[(size_t)y * width + x] = lit(dx, dy, sun);
}

// Six neighbouring numbers of each of three rows make four shades
__device__ inline uchar4 four(const float (&t)[6], const float (&m)[6], const float (&b)[6], Direction sun)
{
    float s[6], d[6];
#pragma unroll
    for (int i = 0; i < 6; i++) {
        s[i] = t[i] + 2 * m[i] + b[i];
        d[i] = b[i] - t[i];
    }
    unsigned char r[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        r[i] = lit((s[i + 2] - s[i]) * sun.scale, (d[i] + 2 * d[i + 1] + d[i + 2]) * sun.scale, sun);
    return make_uchar4(r[0], r[1], r[2], r[3]);
}

__device__ inline void six(const float *row, int x, int width, float (&v)[6])
{
    float4 q = *reinterpret_cast<const float4 *>(row + x);
    v[0] = row[max(x - 1, 0)];
    v[1] = q.x;
    v[2] = q.y;
    v[3] = q.z;
    v[4] = q.w;
    v[5] = row[min(x + 4, width - 1)];
}

// Four cells per thread; width is a multiple of 4
__global__ void k243g(const float *h, uchar4 *shade, int width, int height, Direction sun)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float t[6], m[6], b[6];
    six(h + (size_t)max(y - 1, 0) * width, x, width, t);
    six(h + (size_t)y * width, x, width, m);
    six(h + (size_t)min(y + 1, height - 1) * width, x, width, b);
    shade[((size_t)y * width + x) / 4] = four(t, m, b, sun);
}

// width is a multiple of 128, height of 8; blocks of 32 x 8 threads
__global__ void k243h(const float *h, uchar4 *shade, int width, int height, Direction sun)
{
    __shared__ float4 tile[10][34];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = (blockIdx.x * 32 + tx) * 4, y = blockIdx.y * 8 + ty;
    for (int r = ty; r < 10; r += 8) {
        const float *row = h + (size_t)min(max(int(blockIdx.y * 8) + r - 1, 0), height - 1) * width;
        tile[r][tx + 1] = *reinterpret_cast<const float4 *>(row + x);
        if (tx == 0)
            tile[r][0].w = row[max(x - 1, 0)];
        if (tx == 31)
            tile[r][33].x = row[min(x + 4, width - 1)];
    }
    __syncthreads();
    float v[3][6];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        float4 q = tile[ty + r][tx + 1];
        v[r][0] = tile[ty + r][tx].w;
        v[r][1] = q.x;
        v[r][2] = q.y;
        v[r][3] = q.z;
        v[r][4] = q.w;
        v[r][5] = tile[ty + r][tx + 2].x;
    }
    shade[((size_t)y * width + x) / 4] = four(v[0], v[1], v[2], sun);
}

// Like check(), for bytes that may differ by one
static void check_bytes(const char *kernel, const unsigned char *got, const std::vector<unsigned char> &want)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    auto host = on_host(got, want.size());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); i++)
        wrong += std::abs(int(host[i]) - int(want[i])) > 1;
    std::printf("%s: %zu of %zu wrong\n", kernel, wrong, want.size());
    if (wrong)
        std::exit(2);
}

int main()
{
    {
        const int pages = 65536;
        auto *data = input<unsigned char>((size_t)pages * PAGE, 1, 0, 256);
        std::vector<unsigned> tables(1024);
        for (unsigned b = 0; b < 256; b++) {
            unsigned crc = b;
            for (int k = 0; k < 8; k++)
                crc = crc & 1 ? 0xEDB88320u ^ crc >> 1 : crc >> 1;
            tables[b] = crc;
        }
        for (int k = 1; k < 4; k++)
            for (int b = 0; b < 256; b++) {
                unsigned last = tables[(k - 1) * 256 + b];
                tables[k * 256 + b] = tables[last & 255] ^ last >> 8;
            }
        unsigned *table = on_device(tables);
        unsigned *c1 = output<unsigned>(pages), *c2 = output<unsigned>(pages), *c3 = output<unsigned>(pages),
                 *c4 = output<unsigned>(pages);
        k243a<<<pages / 256, 256>>>(data, table, c1, pages);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(c1, pages);
        check("k243a", c1, want, 0);
        k243b<<<pages / 256, 256>>>((uint4 *)data, table, c2, pages);
        check("k243b", c2, want, 0);
        k243c<<<pages / 512, 512>>>((uint4 *)data, table, c3, pages);
        check("k243c", c3, want, 0);
        const int bytes = 4 * 256 * 32 * sizeof(unsigned);
        MUST(cudaFuncSetAttribute(k243d, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        k243d<<<pages / 512, 512, bytes>>>((uint4 *)data, table, c4, pages);
        check("k243d", c4, want, 0);
        MUST(cudaFree(data));
    }
    {
        const int width = 8192, height = 8192;
        size_t n = (size_t)width * height;
        float *h = input<float>(n, 2, 0, 100);
        auto *shade = output<unsigned char>(n);
        Sun sun = {0.7853982f, 2.3561945f, 1.0f / (8 * 30)};
        Direction direction = {std::sin(sun.zenith) * std::cos(sun.azimuth), std::sin(sun.zenith) * std::sin(sun.azimuth),
                               std::cos(sun.zenith), sun.scale};
        dim3 block(32, 8);
        k243e<<<dim3(width / 32, height / 8), block>>>(h, shade, width, height, sun);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(shade, n);
        check("k243e", shade, want, 0);
        MUST(cudaMemset(shade, 0xA5, n));
        k243f<<<dim3(width / 32, height / 8), block>>>(h, shade, width, height, direction);
        check_bytes("k243f", shade, want);
        MUST(cudaMemset(shade, 0xA5, n));
        k243g<<<dim3(width / 128, height / 8), block>>>(h, (uchar4 *)shade, width, height, direction);
        check_bytes("k243g", shade, want);
        MUST(cudaMemset(shade, 0xA5, n));
        k243h<<<dim3(width / 128, height / 8), block>>>(h, (uchar4 *)shade, width, height, direction);
        check_bytes("k243h", shade, want);
    }
    return 0;
}
