// Image preprocessing: interleaved BGR bytes to normalised planar RGB floats, and an RGB image to grey.
#include "../harness.h"

#include <functional>

__global__ void k62a(const unsigned char *in, float *out, const float *mean, const float *deviation, int channels,
                     int height, int width, int total)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= total)
        return;
    int w = index % width;
    int rest = index / width;
    int h = rest % height;
    rest /= height;
    int c = rest % channels;
    int b = rest / channels;

    int from = b * height * width * channels + h * width * channels + w * channels + channels - 1 - c;
    out[index] = (in[from] / 255.0f - mean[c]) / deviation[c];
}

__global__ void k62b(const unsigned char *in, float *out, float3 mean, float3 deviation, int area)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= area)
        return;
    const unsigned char *pixel = in + ((size_t)blockIdx.y * area + i) * 3;
    float *plane = out + (size_t)blockIdx.y * area * 3;

    float b = pixel[0], g = pixel[1], r = pixel[2];
    plane[i] = (r / 255.0f - mean.x) / deviation.x;
    plane[area + i] = (g / 255.0f - mean.y) / deviation.y;
    plane[2 * area + i] = (b / 255.0f - mean.z) / deviation.z;
}

__global__ void k62c(const unsigned char *in, float *out, float3 scale, float3 shift, int area)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= area)
        return;
    const unsigned char *pixel = in + ((size_t)blockIdx.y * area + i) * 3;
    float *plane = out + (size_t)blockIdx.y * area * 3;

    float b = pixel[0], g = pixel[1], r = pixel[2];
    plane[i] = r * scale.x + shift.x;
    plane[area + i] = g * scale.y + shift.y;
    plane[2 * area + i] = b * scale.z + shift.z;
}

// The area is a multiple of 4.
__global__ void k62d(const unsigned char *in, float *out, float3 scale, float3 shift, int area)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= area)
        return;
    const uchar4 *words = reinterpret_cast<const uchar4 *>(in + ((size_t)blockIdx.y * area + i) * 3);
    float *plane = out + (size_t)blockIdx.y * area * 3 + i;

    uchar4 p = words[0], q = words[1], s = words[2];
    float4 r = {p.z * scale.x + shift.x, q.y * scale.x + shift.x, s.x * scale.x + shift.x, s.w * scale.x + shift.x};
    float4 g = {p.y * scale.y + shift.y, q.x * scale.y + shift.y, q.w * scale.y + shift.y, s.z * scale.y + shift.y};
    float4 b = {p.x * scale.z + shift.z, p.w * scale.z + shift.z, q.z * scale.z + shift.z, s.y * scale.z + shift.z};
    *reinterpret_cast<float4 *>(plane) = r;
    *reinterpret_cast<float4 *>(plane + area) = g;
    *reinterpret_cast<float4 *>(plane + 2 * area) = b;
}

__constant__ float c_scale[3], c_shift[3];

__global__ void k62e(const unsigned char *in, float *out, int area)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i >= area)
        return;
    const uchar4 *words = reinterpret_cast<const uchar4 *>(in + ((size_t)blockIdx.y * area + i) * 3);
    float *plane = out + (size_t)blockIdx.y * area * 3 + i;

    uchar4 p = words[0], q = words[1], s = words[2];
    float4 r = {p.z * c_scale[0] + c_shift[0], q.y * c_scale[0] + c_shift[0], s.x * c_scale[0] + c_shift[0],
                s.w * c_scale[0] + c_shift[0]};
    float4 g = {p.y * c_scale[1] + c_shift[1], q.x * c_scale[1] + c_shift[1], q.w * c_scale[1] + c_shift[1],
                s.z * c_scale[1] + c_shift[1]};
    float4 b = {p.x * c_scale[2] + c_shift[2], p.w * c_scale[2] + c_shift[2], q.z * c_scale[2] + c_shift[2],
                s.y * c_scale[2] + c_shift[2]};
    *reinterpret_cast<float4 *>(plane) = r;
    *reinterpret_cast<float4 *>(plane + area) = g;
    *reinterpret_cast<float4 *>(plane + 2 * area) = b;
}

__global__ void k62f(const unsigned char *rgb, unsigned char *grey, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int at = y * width + x;
        unsigned char r = rgb[3 * at];
        unsigned char g = rgb[3 * at + 1];
        unsigned char b = rgb[3 * at + 2];
        grey[at] = (unsigned char)(0.299 * r + 0.587 * g + 0.114 * b);
    }
}

__global__ void k62g(const unsigned char *rgb, unsigned char *grey, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int at = y * width + x;
        unsigned char r = rgb[3 * at];
        unsigned char g = rgb[3 * at + 1];
        unsigned char b = rgb[3 * at + 2];
        grey[at] = (unsigned char)(0.299f * r + 0.587f * g + 0.114f * b);
    }
}

__device__ __forceinline__ unsigned char luma(unsigned char r, unsigned char g, unsigned char b)
{
    return (unsigned char)(0.299f * r + 0.587f * g + 0.114f * b);
}

// Four pixels per thread.
__global__ void k62h(const uchar4 *rgb, uchar4 *grey, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    uchar4 p = rgb[3 * i], q = rgb[3 * i + 1], s = rgb[3 * i + 2];
    grey[i] = make_uchar4(luma(p.x, p.y, p.z), luma(p.w, q.x, q.y), luma(q.z, q.w, s.x), luma(s.y, s.z, s.w));
}

// 1 where two bytes differ by more than one level.
__global__ void differ(const unsigned char *a, const unsigned char *b, int *flag, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        flag[i] = abs(int(a[i]) - int(b[i])) > 1;
}

int main()
{
    const int batch = 32, height = 640, width = 640, area = height * width, total = batch * 3 * area;
    const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
    float scale[3], shift[3];
    for (int c = 0; c < 3; c++) {
        scale[c] = 1.0f / (255.0f * deviation[c]);
        shift[c] = -mean[c] / deviation[c];
    }
    unsigned char *in = input<unsigned char>(total, 621, 0, 256);
    float *out = output<float>(total);
    float *d_mean = on_device(std::vector<float>(mean, mean + 3));
    float *d_deviation = on_device(std::vector<float>(deviation, deviation + 3));
    MUST(cudaMemcpyToSymbol(c_scale, scale, sizeof scale));
    MUST(cudaMemcpyToSymbol(c_shift, shift, sizeof shift));
    const float3 m3 = {mean[0], mean[1], mean[2]}, d3 = {deviation[0], deviation[1], deviation[2]};
    const float3 s3 = {scale[0], scale[1], scale[2]}, h3 = {shift[0], shift[1], shift[2]};

    const int chosen[4] = {0, 9, 20, batch - 1};
    float *picked = output<float>((size_t)4 * 3 * area);
    std::vector<float> want((size_t)4 * 3 * area);
    for (int q = 0; q < 4; q++) {
        std::vector<unsigned char> v = on_host(in + (size_t)chosen[q] * 3 * area, 3 * area);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < area; i++)
                want[((size_t)q * 3 + c) * area + i] = float((v[i * 3 + 2 - c] / 255.0 - mean[c]) / deviation[c]);
    }
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int q = 0; q < 4; q++)
            MUST(cudaMemcpy(picked + (size_t)q * 3 * area, out + (size_t)chosen[q] * 3 * area,
                            (size_t)3 * area * sizeof(float), cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-5);
    };
    dim3 pixels((area + 255) / 256, batch), fours((area / 4 + 255) / 256, batch);
    launch_and_check("k62a", [&] {
        k62a<<<(total + 255) / 256, 256>>>(in, out, d_mean, d_deviation, 3, height, width, total);
    });
    launch_and_check("k62b", [&] { k62b<<<pixels, 256>>>(in, out, m3, d3, area); });
    launch_and_check("k62c", [&] { k62c<<<pixels, 256>>>(in, out, s3, h3, area); });
    launch_and_check("k62d", [&] { k62d<<<fours, 256>>>(in, out, s3, h3, area); });
    launch_and_check("k62e", [&] { k62e<<<fours, 256>>>(in, out, area); });

    const int columns = 8192, rows = 6144, image = columns * rows, slice = 4 * columns;
    unsigned char *rgb = input<unsigned char>((size_t)image * 3, 622, 0, 256);
    unsigned char *grey = output<unsigned char>(image);
    const int starts[3] = {0, rows / 2 * columns, image - slice};
    std::vector<unsigned char> wanted((size_t)3 * slice);
    for (int q = 0; q < 3; q++) {
        std::vector<unsigned char> v = on_host(rgb + (size_t)starts[q] * 3, (size_t)slice * 3);
        for (int i = 0; i < slice; i++)
            wanted[(size_t)q * slice + i] =
                (unsigned char)(0.299 * v[i * 3] + 0.587 * v[i * 3 + 1] + 0.114 * v[i * 3 + 2]);
    }
    unsigned char *d_wanted = on_device(wanted);
    std::vector<int> none((size_t)3 * slice, 0);
    auto launch_and_compare = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(grey, 0xA5, image));
        launch();
        MUST(cudaGetLastError());
        int *flag = output<int>((size_t)3 * slice);
        for (int q = 0; q < 3; q++)
            differ<<<(slice + 255) / 256, 256>>>(grey + starts[q], d_wanted + (size_t)q * slice,
                                                 flag + (size_t)q * slice, slice);
        check(name, flag, none, 0.0);
        MUST(cudaFree(flag));
    };
    dim3 square(16, 16), squares((columns + 15) / 16, (rows + 15) / 16);
    launch_and_compare("k62f", [&] { k62f<<<squares, square>>>(rgb, grey, columns, rows); });
    launch_and_compare("k62g", [&] { k62g<<<squares, square>>>(rgb, grey, columns, rows); });
    launch_and_compare("k62h", [&] {
        k62h<<<(image / 4 + 255) / 256, 256>>>(reinterpret_cast<uchar4 *>(rgb), reinterpret_cast<uchar4 *>(grey),
                                               image / 4);
    });
    return 0;
}
