// Normalized cross-correlation of an 8-bit image with a 52 x 52 template, at every position of the image, and
// a copy of an array.
#include "../harness.h"

const int MAX_TEMPLATE = 3072;
__constant__ __align__(16) unsigned char templ_pixels[MAX_TEMPLATE];

struct Sizes {
    int w, h;   // of the image
    int tw, th; // of the template
    int tx, ty; // where the template lies in the image
};

struct Sums {
    float pixels, sum, denominator; // of the template
};

__device__ inline float coefficient(float sum_i, float sum_ii, float sum_it, Sums t)
{
    float above = t.pixels * sum_it - sum_i * t.sum;
    float below = rsqrtf((t.pixels * sum_ii - sum_i * sum_i) * t.denominator);
    return above * below;
}

__global__ void k76a(float *out, cudaTextureObject_t image, cudaTextureObject_t templ, Sizes s, Sums t)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= s.w || row >= s.h)
        return;

    int sum_i = 0, sum_ii = 0, sum_it = 0;
    for (int j = 0; j < s.th; j++) {
        for (int i = 0; i < s.tw; i++) {
            unsigned char p = tex2D<unsigned char>(image, float(col - s.tw / 2 + i), float(row - s.th / 2 + j));
            unsigned char q = tex2D<unsigned char>(templ, float(s.tx + i), float(s.ty + j));
            sum_i += p;
            sum_ii += p * p;
            sum_it += p * q;
        }
    }
    out[row * s.w + col] = coefficient(sum_i, sum_ii, sum_it, t);
}

__global__ void k76b(float *out, cudaTextureObject_t image, Sizes s, Sums t)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= s.w || row >= s.h)
        return;

    int sum_i = 0, sum_ii = 0, sum_it = 0;
    int n = 0;
    for (int j = 0; j < s.th; j++) {
        for (int i = 0; i < s.tw; i++) {
            unsigned char p = tex2D<unsigned char>(image, float(col - s.tw / 2 + i), float(row - s.th / 2 + j));
            unsigned char q = templ_pixels[n++];
            sum_i += p;
            sum_ii += p * p;
            sum_it += p * q;
        }
    }
    out[row * s.w + col] = coefficient(sum_i, sum_ii, sum_it, t);
}

extern __shared__ __align__(16) unsigned char tile[];

__device__ inline void load_tile(cudaTextureObject_t image, Sizes s, int left, int top, int tile_w, int pitch)
{
    for (int row = threadIdx.y; row < blockDim.y + s.th; row += blockDim.y)
        for (int col = threadIdx.x; col < tile_w + s.tw; col += blockDim.x)
            tile[row * pitch + col] =
                tex2D<unsigned char>(image, float(left + col - s.tw / 2), float(top + row - s.th / 2));
    __syncthreads();
}

__global__ void k76c(float *out, cudaTextureObject_t image, Sizes s, Sums t, int tile_w, int pitch)
{
    int left = blockIdx.x * tile_w;
    int top = blockIdx.y * blockDim.y;
    int row = top + threadIdx.y;
    load_tile(image, s, left, top, tile_w, pitch);

    for (int col = threadIdx.x; col < tile_w; col += blockDim.x) {
        int sum_i = 0, sum_ii = 0, sum_it = 0;
        int n = 0;
        int at = threadIdx.y * pitch + col;
        for (int j = 0; j < s.th; j++) {
            for (int i = 0; i < s.tw; i++) {
                unsigned char p = tile[at + i];
                unsigned char q = templ_pixels[n++];
                sum_i += p;
                sum_ii += p * p;
                sum_it += p * q;
            }
            at += pitch;
        }
        if (left + col < s.w && row < s.h)
            out[row * s.w + left + col] = coefficient(sum_i, sum_ii, sum_it, t);
    }
}

// The width of the template is a multiple of 4.
__global__ void k76d(float *out, cudaTextureObject_t image, Sizes s, Sums t, int tile_w, int pitch)
{
    int left = blockIdx.x * tile_w;
    int top = blockIdx.y * blockDim.y;
    int row = top + threadIdx.y;
    load_tile(image, s, left, top, tile_w, pitch);

    for (int col = threadIdx.x; col < tile_w; col += blockDim.x) {
        unsigned sum_i = 0, sum_ii = 0, sum_it = 0;
        int n = 0;
        int shift = (col & 3) * 8;
        int at = threadIdx.y * pitch + (col & ~3);
        for (int j = 0; j < s.th; j++) {
            const unsigned *words = reinterpret_cast<const unsigned *>(tile + at);
            for (int i = 0; i < s.tw / 4; i++) {
                unsigned p = __funnelshift_r(words[i], words[i + 1], shift);
                unsigned q = *reinterpret_cast<const unsigned *>(templ_pixels + n);
                n += 4;
                sum_i = __dp4a(p, 0x01010101u, sum_i);
                sum_ii = __dp4a(p, p, sum_ii);
                sum_it = __dp4a(p, q, sum_it);
            }
            at += pitch;
        }
        if (left + col < s.w && row < s.h)
            out[row * s.w + left + col] = coefficient(sum_i, sum_ii, sum_it, t);
    }
}

const int COLUMNS = 2;

__global__ void k76e(float *out, cudaTextureObject_t image, Sizes s, Sums t, int tile_w, int pitch)
{
    int left = blockIdx.x * tile_w;
    int top = blockIdx.y * blockDim.y;
    int row = top + threadIdx.y;
    load_tile(image, s, left, top, tile_w, pitch);

    unsigned sum_i[COLUMNS], sum_ii[COLUMNS], sum_it[COLUMNS];
    int shift[COLUMNS], at[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int col = threadIdx.x + c * blockDim.x;
        sum_i[c] = sum_ii[c] = sum_it[c] = 0;
        shift[c] = (col & 3) * 8;
        at[c] = threadIdx.y * pitch + (col & ~3);
    }

    int n = 0;
    for (int j = 0; j < s.th; j++) {
        for (int i = 0; i < s.tw / 4; i++) {
            unsigned q = *reinterpret_cast<const unsigned *>(templ_pixels + n);
            n += 4;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const unsigned *words = reinterpret_cast<const unsigned *>(tile + at[c] + 4 * i);
                unsigned p = __funnelshift_r(words[0], words[1], shift[c]);
                sum_i[c] = __dp4a(p, 0x01010101u, sum_i[c]);
                sum_ii[c] = __dp4a(p, p, sum_ii[c]);
                sum_it[c] = __dp4a(p, q, sum_it[c]);
            }
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            at[c] += pitch;
    }

#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        int col = left + threadIdx.x + c * blockDim.x;
        if (col < s.w && row < s.h)
            out[row * s.w + col] = coefficient(sum_i[c], sum_ii[c], sum_it[c], t);
    }
}

// n is a multiple of N * blockDim.x.
template <int N> __device__ inline void copy(const int *in, int *out, size_t n)
{
    int temp[N];
    for (size_t i = (size_t)N * blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)N * blockDim.x * gridDim.x) {
        for (int j = 0; j < N; j++)
            temp[j] = in[i + j * blockDim.x];
        for (int j = 0; j < N; j++)
            out[i + j * blockDim.x] = temp[j];
    }
}

__global__ void k76f(const int *in, int *out, size_t n)
{
    copy<1>(in, out, n);
}

__global__ void k76g(const int *in, int *out, size_t n)
{
    copy<8>(in, out, n);
}

cudaTextureObject_t texture_of(const std::vector<unsigned char> &pixels, int w, int h)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
    cudaArray_t array;
    MUST(cudaMallocArray(&array, &format, w, h));
    MUST(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), w, w, h, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = cudaAddressModeClamp;
    how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModePoint;
    how.readMode = cudaReadModeElementType;
    how.normalizedCoords = 0;
    cudaTextureObject_t object = 0;
    MUST(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    return object;
}

int main()
{
    const Sizes s = {800, 600, 52, 52, 210, 148};
    const int n = s.w * s.h;
    std::vector<unsigned char> pixels(n);
    for (int y = 0; y < s.h; y++)
        for (int x = 0; x < s.w; x++)
            pixels[y * s.w + x] = (unsigned char)(110.0 + 60.0 * std::sin(x / 17.0) * std::cos(y / 23.0) +
                                                  scrambled(y * s.w + x, 761) % 80);

    std::vector<unsigned char> part(s.tw * s.th);
    double sum = 0.0, squares = 0.0;
    for (int j = 0; j < s.th; j++)
        for (int i = 0; i < s.tw; i++) {
            unsigned char q = pixels[(s.ty + j) * s.w + s.tx + i];
            part[j * s.tw + i] = q;
            sum += q;
            squares += double(q) * q;
        }
    MUST(cudaMemcpyToSymbol(templ_pixels, part.data(), part.size()));
    const double area = double(s.tw) * s.th;
    const Sums t = {float(area), float(sum), float(area * squares - sum * sum)};

    // Every 50th row, from row 0, on the host.
    const int step = 50, rows = s.h / step;
    std::vector<float> want(rows * s.w);
    for (int r = 0; r < rows; r++)
        for (int x = 0; x < s.w; x++) {
            long long i1 = 0, i2 = 0, it = 0;
            for (int j = 0; j < s.th; j++)
                for (int i = 0; i < s.tw; i++) {
                    int px = x - s.tw / 2 + i, py = r * step - s.th / 2 + j;
                    px = px < 0 ? 0 : px >= s.w ? s.w - 1 : px;
                    py = py < 0 ? 0 : py >= s.h ? s.h - 1 : py;
                    int p = pixels[py * s.w + px];
                    i1 += p;
                    i2 += p * p;
                    it += p * part[j * s.tw + i];
                }
            want[r * s.w + x] = float((area * it - double(i1) * sum) /
                                      std::sqrt((area * i2 - double(i1) * i1) * (area * squares - sum * sum)));
        }

    cudaTextureObject_t image = texture_of(pixels, s.w, s.h), templ = texture_of(pixels, s.w, s.h);
    const dim3 threads(32, 8);
    const dim3 blocks((s.w + 31) / 32, (s.h + 7) / 8), half((s.w + 63) / 64, (s.h + 7) / 8);
    const int pitch = (32 + s.tw + 63) & ~63, pitch2 = (64 + s.tw + 63) & ~63;

    float *out = output<float>(n);
    k76a<<<blocks, threads>>>(out, image, templ, s, t);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    float *picked = output<float>(want.size());
    MUST(cudaMemcpy2D(picked, s.w * sizeof(float), out, step * s.w * sizeof(float), s.w * sizeof(float), rows,
                      cudaMemcpyDeviceToDevice));
    check("k76a", picked, want, 1e-3);
    const std::vector<float> all = on_host(out, n);

    out = output<float>(n);
    k76b<<<blocks, threads>>>(out, image, s, t);
    check("k76b", out, all, 1e-3);

    out = output<float>(n);
    k76c<<<blocks, threads, pitch * (8 + s.th)>>>(out, image, s, t, 32, pitch);
    check("k76c", out, all, 1e-3);

    out = output<float>(n);
    k76d<<<blocks, threads, pitch * (8 + s.th)>>>(out, image, s, t, 32, pitch);
    check("k76d", out, all, 1e-3);

    out = output<float>(n);
    k76e<<<half, threads, pitch2 * (8 + s.th)>>>(out, image, s, t, 64, pitch2);
    check("k76e", out, all, 1e-3);

    {
        const size_t n = 1 << 26;
        int *in = input<int>(n, 762, 0, 1000000000);
        const std::vector<int> want = on_host(in, n);
        int *out = output<int>(n);
        k76f<<<264, 512>>>(in, out, n);
        check("k76f", out, want, 0.0);

        out = output<int>(n);
        k76g<<<264, 512>>>(in, out, n);
        check("k76g", out, want, 0.0);
    }
    return 0;
}
