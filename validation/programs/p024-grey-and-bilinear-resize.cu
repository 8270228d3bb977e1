// Images: RGB to grey, and enlarging an RGBA image with bilinear sampling.
#include "../harness.h"

__global__ void k24a(const unsigned char *rgb, unsigned char *grey, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    float r = rgb[3 * (size_t)i], g = rgb[3 * (size_t)i + 1], b = rgb[3 * (size_t)i + 2];
    grey[i] = (unsigned char)(0.299f * r + 0.587f * g + 0.114f * b + 0.5f);
}

__device__ inline unsigned luma(unsigned r, unsigned g, unsigned b)
{
    return (unsigned)(0.299f * r + 0.587f * g + 0.114f * b + 0.5f);
}

// Four pixels, twelve bytes, per thread.
__global__ void k24b(const unsigned *rgb, unsigned *grey, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    unsigned w0 = rgb[3 * (size_t)i], w1 = rgb[3 * (size_t)i + 1], w2 = rgb[3 * (size_t)i + 2];
    unsigned y0 = luma(w0 & 255, w0 >> 8 & 255, w0 >> 16 & 255);
    unsigned y1 = luma(w0 >> 24, w1 & 255, w1 >> 8 & 255);
    unsigned y2 = luma(w1 >> 16 & 255, w1 >> 24, w2 & 255);
    unsigned y3 = luma(w2 >> 8 & 255, w2 >> 16 & 255, w2 >> 24);
    grey[i] = y0 | y1 << 8 | y2 << 16 | y3 << 24;
}

__device__ inline unsigned luma_int(unsigned r, unsigned g, unsigned b)
{
    return (77 * r + 150 * g + 29 * b + 128) >> 8;
}

__global__ void k24c(const unsigned *rgb, unsigned *grey, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    unsigned w0 = rgb[3 * (size_t)i], w1 = rgb[3 * (size_t)i + 1], w2 = rgb[3 * (size_t)i + 2];
    unsigned y0 = luma_int(w0 & 255, w0 >> 8 & 255, w0 >> 16 & 255);
    unsigned y1 = luma_int(w0 >> 24, w1 & 255, w1 >> 8 & 255);
    unsigned y2 = luma_int(w1 >> 16 & 255, w1 >> 24, w2 & 255);
    unsigned y3 = luma_int(w2 >> 8 & 255, w2 >> 16 & 255, w2 >> 24);
    grey[i] = y0 | y1 << 8 | y2 << 16 | y3 << 24;
}

// Bilinear sampling with all arithmetic in Real.
template <class Real>
__device__ inline uchar4 sample(const uchar4 *src, int w, int h, Real sx, Real sy)
{
    Real fx = floor(sx), fy = floor(sy);
    Real ax = sx - fx, ay = sy - fy;
    int x0 = max((int)fx, 0), x1 = min((int)fx + 1, w - 1);
    int y0 = max((int)fy, 0), y1 = min((int)fy + 1, h - 1);
    uchar4 p = src[(size_t)y0 * w + x0], q = src[(size_t)y0 * w + x1];
    uchar4 r = src[(size_t)y1 * w + x0], s = src[(size_t)y1 * w + x1];
    Real wp = (1 - ax) * (1 - ay), wq = ax * (1 - ay), wr = (1 - ax) * ay, ws = ax * ay;
    const Real half = Real(0.5);
    return make_uchar4((unsigned char)(wp * p.x + wq * q.x + wr * r.x + ws * s.x + half),
                       (unsigned char)(wp * p.y + wq * q.y + wr * r.y + ws * s.y + half),
                       (unsigned char)(wp * p.z + wq * q.z + wr * r.z + ws * s.z + half),
                       (unsigned char)(wp * p.w + wq * q.w + wr * r.w + ws * s.w + half));
}

__global__ void k24d(const uchar4 *src, int w, int h, uchar4 *dst, int dw, int dh)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dw || y >= dh)
        return;
    double sx = (x + 0.5) * 0.75 - 0.5, sy = (y + 0.5) * 0.75 - 0.5;
    dst[(size_t)y * dw + x] = sample<double>(src, w, h, sx, sy);
}

__global__ void k24e(const uchar4 *src, int w, int h, uchar4 *dst, int dw, int dh)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dw || y >= dh)
        return;
    float sx = (x + 0.5f) * 0.75f - 0.5f, sy = (y + 0.5f) * 0.75f - 0.5f;
    dst[(size_t)y * dw + x] = sample<float>(src, w, h, sx, sy);
}

__global__ void k24f(cudaTextureObject_t src, uchar4 *dst, int dw, int dh)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= dw || y >= dh)
        return;
    float4 c = tex2D<float4>(src, (x + 0.5f) * 0.75f, (y + 0.5f) * 0.75f);
    dst[(size_t)y * dw + x] =
        make_uchar4((unsigned char)(255.0f * c.x + 0.5f), (unsigned char)(255.0f * c.y + 0.5f),
                    (unsigned char)(255.0f * c.z + 0.5f), (unsigned char)(255.0f * c.w + 0.5f));
}

// 250 pieces of 400 bytes from spread places of n bytes.
static std::vector<unsigned char> pieces(const unsigned char *data, size_t n)
{
    std::vector<unsigned char> host(250 * 400);
    for (size_t p = 0; p < 250; p++)
        MUST(cudaMemcpy(&host[p * 400], data + (n - 400) * p / 249, 400, cudaMemcpyDeviceToHost));
    return host;
}

// Counts as right what is at most `levels` away.
static void compare(const char *kernel, const std::vector<unsigned char> &got, const std::vector<unsigned char> &want,
                    int levels)
{
    std::vector<int> far(want.size()), none(want.size(), 0);
    for (size_t i = 0; i < want.size(); i++)
        far[i] = std::abs(int(got[i]) - int(want[i])) > levels;
    check(kernel, on_device(far), none, 0.0);
}

int main()
{
    const int pixels = 12000 * 8000;
    unsigned char *rgb = input<unsigned char>(3 * (size_t)pixels, 241, 0.0, 256.0);
    unsigned char *grey = output<unsigned char>(pixels);
    k24a<<<(pixels + 255) / 256, 256>>>(rgb, grey, pixels);
    std::vector<unsigned char> first = pieces(grey, pixels), want(first.size());
    auto byte = [](size_t i, unsigned seed) { return int(256.0 * (scrambled(i, seed) / 4294967296.0)); };
    for (size_t p = 0; p < 250; p++)
        for (size_t i = 0; i < 400; i++) {
            size_t at = 3 * ((size_t(pixels) - 400) * p / 249 + i);
            want[p * 400 + i] = (unsigned char)(0.299 * byte(at, 241) + 0.587 * byte(at + 1, 241) +
                                                0.114 * byte(at + 2, 241) + 0.5);
        }
    compare("k24a", first, want, 1);

    const int quads = pixels / 4;
    MUST(cudaMemset(grey, 0xA5, pixels));
    k24b<<<(quads + 255) / 256, 256>>>(reinterpret_cast<unsigned *>(rgb), reinterpret_cast<unsigned *>(grey), quads);
    compare("k24b", pieces(grey, pixels), first, 1);

    MUST(cudaMemset(grey, 0xA5, pixels));
    k24c<<<(quads + 255) / 256, 256>>>(reinterpret_cast<unsigned *>(rgb), reinterpret_cast<unsigned *>(grey), quads);
    compare("k24c", pieces(grey, pixels), first, 1);
    MUST(cudaFree(rgb));
    MUST(cudaFree(grey));

    const int w = 6000, h = 4500, dw = 8000, dh = 6000;
    unsigned char *bytes = input<unsigned char>(4 * (size_t)w * h, 242, 0.0, 256.0);
    const uchar4 *src = reinterpret_cast<uchar4 *>(bytes);
    const size_t size = 4 * (size_t)dw * dh;
    unsigned char *out = output<unsigned char>(size);
    uchar4 *dst = reinterpret_cast<uchar4 *>(out);
    dim3 block(32, 8), grid((dw + 31) / 32, (dh + 7) / 8);
    k24d<<<grid, block>>>(src, w, h, dst, dw, dh);
    first = pieces(out, size);
    for (size_t p = 0; p < 250; p++)
        for (size_t i = 0; i < 400; i++) {
            size_t at = (size - 400) * p / 249 + i, channel = at % 4;
            double sx = (at / 4 % dw + 0.5) * 0.75 - 0.5, sy = (at / 4 / dw + 0.5) * 0.75 - 0.5;
            double ax = sx - std::floor(sx), ay = sy - std::floor(sy);
            int x0 = std::floor(sx), y0 = std::floor(sy), x1 = x0 + 1, y1 = y0 + 1;
            x0 = x0 < 0 ? 0 : x0, y0 = y0 < 0 ? 0 : y0, x1 = x1 > w - 1 ? w - 1 : x1, y1 = y1 > h - 1 ? h - 1 : y1;
            auto texel = [&](size_t x, size_t y) { return byte(4 * (y * w + x) + channel, 242); };
            want[p * 400 + i] =
                (unsigned char)((1 - ay) * ((1 - ax) * texel(x0, y0) + ax * texel(x1, y0)) +
                                ay * ((1 - ax) * texel(x0, y1) + ax * texel(x1, y1)) + 0.5);
        }
    compare("k24d", first, want, 1);

    MUST(cudaMemset(out, 0xA5, size));
    k24e<<<grid, block>>>(src, w, h, dst, dw, dh);
    compare("k24e", pieces(out, size), first, 1);

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    MUST(cudaMallocArray(&array, &format, w, h));
    MUST(cudaMemcpy2DToArray(array, 0, 0, src, w * sizeof(uchar4), w * sizeof(uchar4), h, cudaMemcpyDeviceToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModeLinear;
    texture.readMode = cudaReadModeNormalizedFloat;
    texture.normalizedCoords = 0;
    cudaTextureObject_t object = 0;
    MUST(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    MUST(cudaMemset(out, 0xA5, size));
    k24f<<<grid, block>>>(object, dst, dw, dh);
    compare("k24f", pieces(out, size), first, 3);
    return 0;
}
