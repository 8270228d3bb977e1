// Three problems: a bank of Gabor filters, eigenvalues of symmetric 3x3 tensors, and the dequantisation of JPEG
// coefficients with their reordering from zigzag to rows.
#include "../harness.h"

// ---- Gabor bank: one filter per direction, size x size ----
__global__ void k233a(const float2 *__restrict__ direction, float *__restrict__ bank, int size, float sigma, float gamma,
                      float lambda, float phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= size)
        return;
    double c = direction[blockIdx.z].x, s = direction[blockIdx.z].y;
    double dx = x - size / 2, dy = y - size / 2;
    double u = dx * c + dy * s, v = dy * c - dx * s;
    double envelope = exp(-(u * u + gamma * gamma * v * v) / (2.0 * sigma * sigma));
    bank[((size_t)blockIdx.z * size + y) * size + x] = envelope * cos(2.0 * 3.14159265358979323846 * u / lambda + phase);
}

__global__ void k233b(const float2 *__restrict__ direction, float *__restrict__ bank, int size, float sigma, float gamma,
                      float lambda, float phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= size)
        return;
    float c = direction[blockIdx.z].x, s = direction[blockIdx.z].y;
    float dx = x - size / 2, dy = y - size / 2;
    float u = dx * c + dy * s, v = dy * c - dx * s;
    float envelope = expf(-(u * u + gamma * gamma * v * v) * (0.5f / (sigma * sigma)));
    bank[((size_t)blockIdx.z * size + y) * size + x] = envelope * cosf(u * (6.283185307f / lambda) + phase);
}

__global__ void k233c(const float2 *__restrict__ direction, float *__restrict__ bank, int size, float sigma, float gamma,
                      float lambda, float phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= size)
        return;
    float c = direction[blockIdx.z].x, s = direction[blockIdx.z].y;
    float dx = x - size / 2, dy = y - size / 2;
    float u = dx * c + dy * s, v = dy * c - dx * s;
    float envelope = __expf(-(u * u + gamma * gamma * v * v) * __fdividef(0.5f, sigma * sigma));
    bank[((size_t)blockIdx.z * size + y) * size + x] = envelope * __cosf(u * __fdividef(6.283185307f, lambda) + phase);
}

// ---- eigenvalues: six planes xx, yy, zz, xy, xz, yz in; three planes out, largest first ----
__global__ void k233d(const float *__restrict__ tensor, float *__restrict__ eigen, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double xx = tensor[i], yy = tensor[n + i], zz = tensor[2 * n + i];
    double xy = tensor[3 * n + i], xz = tensor[4 * n + i], yz = tensor[5 * n + i];
    double q = (xx + yy + zz) / 3.0;
    xx -= q;
    yy -= q;
    zz -= q;
    double p = sqrt((xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0);
    double det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    double r = det / (2.0 * p * p * p + 1e-30);
    double phi = acos(fmin(1.0, fmax(-1.0, r))) / 3.0;
    double e1 = q + 2.0 * p * cos(phi);
    double e3 = q + 2.0 * p * cos(phi + 2.0 * 3.14159265358979323846 / 3.0);
    eigen[i] = e1;
    eigen[n + i] = 3.0 * q - e1 - e3;
    eigen[2 * n + i] = e3;
}

__global__ void k233e(const float *__restrict__ tensor, float *__restrict__ eigen, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float xx = tensor[i], yy = tensor[n + i], zz = tensor[2 * n + i];
    float xy = tensor[3 * n + i], xz = tensor[4 * n + i], yz = tensor[5 * n + i];
    float q = (xx + yy + zz) * (1.0f / 3.0f);
    xx -= q;
    yy -= q;
    zz -= q;
    float p = sqrtf((xx * xx + yy * yy + zz * zz + 2.0f * (xy * xy + xz * xz + yz * yz)) * (1.0f / 6.0f));
    float det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    float r = det / (2.0f * p * p * p + 1e-30f);
    float phi = acosf(fminf(1.0f, fmaxf(-1.0f, r))) * (1.0f / 3.0f);
    float e1 = q + 2.0f * p * cosf(phi);
    float e3 = q + 2.0f * p * cosf(phi + 2.0943951024f);
    eigen[i] = e1;
    eigen[n + i] = 3.0f * q - e1 - e3;
    eigen[2 * n + i] = e3;
}

__global__ void k233f(const float *__restrict__ tensor, float *__restrict__ eigen, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float xx = tensor[i], yy = tensor[n + i], zz = tensor[2 * n + i];
    float xy = tensor[3 * n + i], xz = tensor[4 * n + i], yz = tensor[5 * n + i];
    float q = (xx + yy + zz) * (1.0f / 3.0f);
    xx -= q;
    yy -= q;
    zz -= q;
    float p2 = (xx * xx + yy * yy + zz * zz + 2.0f * (xy * xy + xz * xz + yz * yz)) * (1.0f / 6.0f);
    float p = p2 * rsqrtf(p2 + 1e-30f);
    float det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    float r = __fdividef(det, 2.0f * p * p * p + 1e-30f);
    float phi = acosf(fminf(1.0f, fmaxf(-1.0f, r))) * (1.0f / 3.0f);
    float e1 = q + 2.0f * p * __cosf(phi);
    float e3 = q + 2.0f * p * __cosf(phi + 2.0943951024f);
    eigen[i] = e1;
    eigen[n + i] = 3.0f * q - e1 - e3;
    eigen[2 * n + i] = e3;
}

// ---- blocks of 64 coefficients in zigzag order, times the quantisation table, into rows of 8 ----
static const int zigzag_of[64] = {0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
                                  41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
                                  46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};

__constant__ int order_table[64]; // for a position in rows: where it stands in the zigzag
__constant__ int quant_table[64]; // in zigzag order

__global__ void k233g(const short *__restrict__ coefficients, short *__restrict__ out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int k = order_table[i % 64];
    out[i] = coefficients[i / 64 * 64 + k] * quant_table[k];
}

__global__ void k233h(const short *__restrict__ coefficients, short *__restrict__ out, int count,
                      const int *__restrict__ order, const int *__restrict__ quant)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int k = __ldg(&order[i % 64]);
    out[i] = coefficients[i / 64 * 64 + k] * __ldg(&quant[k]);
}

// A row of 8 coefficients per thread, blocks of 256 threads. order: 8 bytes per row; quant: in row order here, as shorts.
__global__ void k233i(const uint4 *__restrict__ coefficients, uint4 *__restrict__ out, const uint2 *__restrict__ order,
                      const uint4 *__restrict__ quant)
{
    __shared__ uint4 stage[32 * 9];
    int t = threadIdx.x, block = t / 8, row = t % 8;
    size_t i = (size_t)blockIdx.x * 256 + t;
    stage[block * 9 + row] = coefficients[i];
    uint2 places = order[row];
    union {
        uint4 v;
        short s[8];
    } q, r;
    q.v = quant[row];
    __syncthreads();
    const short *mine = (const short *)&stage[block * 9];
#pragma unroll
    for (int c = 0; c < 8; c++) {
        unsigned place = (c < 4 ? places.x : places.y) >> (c % 4 * 8) & 255u;
        r.s[c] = mine[place] * q.s[c];
    }
    out[i] = r.v;
}

int main()
{
    {
        const int size = 1024, filters = 64;
        const size_t n = (size_t)size * size * filters;
        std::vector<float2> list(filters);
        for (int f = 0; f < filters; f++)
            list[f] = make_float2(std::cos(f * 3.14159265f / filters), std::sin(f * 3.14159265f / filters));
        float2 *direction = on_device(list);
        float *bank = output<float>(n);
        dim3 grid(size / 256, size, filters);
        k233a<<<grid, 256>>>(direction, bank, size, 120.0f, 0.5f, 24.0f, 0.3f);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(bank, n);
        check("k233a", bank, want, 0);
        MUST(cudaFree(bank));
        bank = output<float>(n);
        k233b<<<grid, 256>>>(direction, bank, size, 120.0f, 0.5f, 24.0f, 0.3f);
        check("k233b", bank, want, 1e-3);
        MUST(cudaFree(bank));
        bank = output<float>(n);
        k233c<<<grid, 256>>>(direction, bank, size, 120.0f, 0.5f, 24.0f, 0.3f);
        check("k233c", bank, want, 1e-3);
        MUST(cudaFree(bank));
    }
    {
        const size_t n = 12 << 20;
        float *tensor = input<float>(n * 6, 2, -1, 1);
        float *eigen = output<float>(n * 3);
        k233d<<<n / 256, 256>>>(tensor, eigen, n);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(eigen, n * 3);
        check("k233d", eigen, want, 0);
        MUST(cudaFree(eigen));
        eigen = output<float>(n * 3);
        k233e<<<n / 256, 256>>>(tensor, eigen, n);
        check("k233e", eigen, want, 1e-2); // nearly equal eigenvalues amplify rounding
        MUST(cudaFree(eigen));
        eigen = output<float>(n * 3);
        k233f<<<n / 256, 256>>>(tensor, eigen, n);
        check("k233f", eigen, want, 1e-2);
        MUST(cudaFree(eigen));
        MUST(cudaFree(tensor));
    }
    {
        const int count = 1 << 26;
        std::vector<int> order(64), quant(64);
        std::vector<unsigned char> order_bytes(64);
        std::vector<short> quant_rows(64);
        for (int i = 0; i < 64; i++) {
            order[i] = zigzag_of[i];
            quant[i] = 4 + i / 3;
        }
        for (int i = 0; i < 64; i++) {
            order_bytes[i] = (unsigned char)order[i];
            quant_rows[i] = (short)quant[order[i]];
        }
        MUST(cudaMemcpyToSymbol(order_table, order.data(), 64 * sizeof(int)));
        MUST(cudaMemcpyToSymbol(quant_table, quant.data(), 64 * sizeof(int)));
        int *order_device = on_device(order), *quant_device = on_device(quant);
        unsigned char *bytes_device = on_device(order_bytes);
        short *rows_device = on_device(quant_rows);
        short *coefficients = input<short>(count, 3, -1000, 1000);
        short *out = output<short>(count);
        k233g<<<count / 256, 256>>>(coefficients, out, count);
        MUST(cudaDeviceSynchronize());
        std::vector<short> source = on_host(coefficients, count), want(count);
        for (int i = 0; i < count; i++) {
            int k = zigzag_of[i % 64];
            want[i] = (short)(source[i / 64 * 64 + k] * quant[k]);
        }
        check("k233g", out, want, 0);
        MUST(cudaFree(out));
        out = output<short>(count);
        k233h<<<count / 256, 256>>>(coefficients, out, count, order_device, quant_device);
        check("k233h", out, want, 0);
        MUST(cudaFree(out));
        out = output<short>(count);
        k233i<<<count / 2048, 256>>>((const uint4 *)coefficients, (uint4 *)out, (const uint2 *)bytes_device,
                                     (const uint4 *)rows_device);
        check("k233i", out, want, 0);
    }
    return 0;
}
