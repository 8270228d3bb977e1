// Three problems: Bloch simulation of a magnetic resonance pulse train, stochastic rounding of floats to bfloat16, and
// NV12 video frames to RGBA.
#include "../harness.h"

// ---- magnetisation of independent voxels after a train of pulses about x, each followed by free precession ----
__global__ void k234a(const float *__restrict__ offset, const float *__restrict__ t1, const float *__restrict__ t2,
                      const float *__restrict__ flip, float *__restrict__ magnetisation, int voxels, int pulses, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float mx = 0, my = 0, mz = 1;
    for (int k = 0; k < pulses; k++) {
        float sf, cf;
        sincosf(flip[k], &sf, &cf);
        float y = cf * my + sf * mz, z = cf * mz - sf * my;
        float sp, cp;
        sincosf(6.283185307f * offset[i] * dt, &sp, &cp);
        float e1 = expf(-dt / t1[i]), e2 = expf(-dt / t2[i]);
        float x = (cp * mx + sp * y) * e2;
        my = (cp * y - sp * mx) * e2;
        mx = x;
        mz = z * e1 + (1 - e1);
    }
    magnetisation[i] = mx;
    magnetisation[(size_t)voxels + i] = my;
    magnetisation[(size_t)voxels * 2 + i] = mz;
}

// rotation: cosine and sine of each flip angle
__global__ void k234b(const float *__restrict__ offset, const float *__restrict__ t1, const float *__restrict__ t2,
                      const float2 *__restrict__ rotation, float *__restrict__ magnetisation, int voxels, int pulses,
                      float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float sp, cp;
    sincosf(6.283185307f * offset[i] * dt, &sp, &cp);
    float e1 = expf(-dt / t1[i]), e2 = expf(-dt / t2[i]), recovery = 1 - e1;
    sp *= e2;
    cp *= e2;
    float mx = 0, my = 0, mz = 1;
#pragma unroll 8
    for (int k = 0; k < pulses; k++) {
        float2 r = rotation[k];
        float y = r.x * my + r.y * mz, z = r.x * mz - r.y * my;
        my = cp * y - sp * mx;
        mx = cp * mx + sp * y;
        mz = z * e1 + recovery;
    }
    magnetisation[i] = mx;
    magnetisation[(size_t)voxels + i] = my;
    magnetisation[(size_t)voxels * 2 + i] = mz;
}

__constant__ float2 rotations[1024];

__global__ void k234c(const float *__restrict__ offset, const float *__restrict__ t1, const float *__restrict__ t2,
                      float *__restrict__ magnetisation, int voxels, int pulses, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= voxels)
        return;
    float sp, cp;
    sincosf(6.283185307f * offset[i] * dt, &sp, &cp);
    float e1 = expf(-dt / t1[i]), e2 = expf(-dt / t2[i]), recovery = 1 - e1;
    sp *= e2;
    cp *= e2;
    float mx = 0, my = 0, mz = 1;
#pragma unroll 8
    for (int k = 0; k < pulses; k++) {
        float2 r = rotations[k];
        float y = r.x * my + r.y * mz, z = r.x * mz - r.y * my;
        my = cp * y - sp * mx;
        mx = cp * mx + sp * y;
        mz = z * e1 + recovery;
    }
    magnetisation[i] = mx;
    magnetisation[(size_t)voxels + i] = my;
    magnetisation[(size_t)voxels * 2 + i] = mz;
}

// ---- stochastic rounding: random bits are added below the mantissa that is kept ----
__device__ inline unsigned random_bits(unsigned index, unsigned seed)
{
    unsigned x = index * 0x9E3779B1u + seed;
    x = (x ^ x >> 15) * 0x85EBCA77u;
    return x ^ x >> 13;
}

__device__ inline unsigned short rounded(float value, unsigned index, unsigned seed)
{
    return (unsigned short)((__float_as_uint(value) + (random_bits(index, seed) & 0xffffu)) >> 16);
}

__global__ void k234d(const float *__restrict__ in, unsigned short *__restrict__ out, unsigned n, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = rounded(in[i], i, seed);
}

__global__ void k234e(const float *__restrict__ in, unsigned short *__restrict__ out, unsigned n, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = rounded(in[i], i, seed);
}

// n is a multiple of 8
__global__ void k234f(const float4 *__restrict__ in, uint4 *__restrict__ out, unsigned n, unsigned seed)
{
    unsigned g = blockIdx.x * blockDim.x + threadIdx.x, i = g * 8;
    if (i >= n)
        return;
    float4 a = in[g * 2], b = in[g * 2 + 1];
    uint4 r;
    r.x = rounded(a.x, i, seed) | (unsigned)rounded(a.y, i + 1, seed) << 16;
    r.y = rounded(a.z, i + 2, seed) | (unsigned)rounded(a.w, i + 3, seed) << 16;
    r.z = rounded(b.x, i + 4, seed) | (unsigned)rounded(b.y, i + 5, seed) << 16;
    r.w = rounded(b.z, i + 6, seed) | (unsigned)rounded(b.w, i + 7, seed) << 16;
    out[g] = r;
}

// ---- NV12 (a plane of luma, a plane of interleaved chroma at half resolution) to RGBA, integer BT.601 ----
__global__ void k234g(const unsigned char *__restrict__ luma, const unsigned char *__restrict__ chroma,
                      uchar4 *__restrict__ rgba, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int c = 298 * (luma[(size_t)y * width + x] - 16) + 128;
    const unsigned char *uv = chroma + (size_t)(y / 2) * width + x / 2 * 2;
    int d = uv[0] - 128, e = uv[1] - 128;
    int r = (c + 409 * e) >> 8, g = (c - 100 * d - 208 * e) >> 8, b = (c + 516 * d) >> 8;
    rgba[(size_t)y * width + x] = make_uchar4(min(max(r, 0), 255), min(max(g, 0), 255), min(max(b, 0), 255), 255);
}

__device__ inline unsigned pixel(unsigned luma, int r, int g, int b)
{
    int c = 298 * (int)luma + (128 - 298 * 16);
    unsigned red = min(max((c + r) >> 8, 0), 255);
    unsigned green = min(max((c + g) >> 8, 0), 255);
    unsigned blue = min(max((c + b) >> 8, 0), 255);
    return red | green << 8 | blue << 16 | 0xff000000u;
}

// four columns and two rows per thread; width a multiple of 4, height of 2
__global__ void k234h(const unsigned *__restrict__ luma, const unsigned *__restrict__ chroma, uint4 *__restrict__ rgba,
                      int width4, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * 2;
    if (x >= width4 || y >= height)
        return;
    size_t top = (size_t)y * width4 + x;
    unsigned upper = luma[top], lower = luma[top + width4], uv = chroma[(size_t)(y / 2) * width4 + x];
    int d0 = (int)(uv & 255) - 128, e0 = (int)(uv >> 8 & 255) - 128;
    int d1 = (int)(uv >> 16 & 255) - 128, e1 = (int)(uv >> 24) - 128;
    int r0 = 409 * e0, g0 = -100 * d0 - 208 * e0, b0 = 516 * d0;
    int r1 = 409 * e1, g1 = -100 * d1 - 208 * e1, b1 = 516 * d1;
    rgba[top] = make_uint4(pixel(upper & 255, r0, g0, b0), pixel(upper >> 8 & 255, r0, g0, b0),
                           pixel(upper >> 16 & 255, r1, g1, b1), pixel(upper >> 24, r1, g1, b1));
    rgba[top + width4] = make_uint4(pixel(lower & 255, r0, g0, b0), pixel(lower >> 8 & 255, r0, g0, b0),
                                    pixel(lower >> 16 & 255, r1, g1, b1), pixel(lower >> 24, r1, g1, b1));
}

int main()
{
    {
        const int voxels = 1 << 21, pulses = 512;
        const float dt = 0.005f;
        float *offset = input<float>(voxels, 1, -100, 100);
        float *t1 = input<float>(voxels, 2, 0.5, 2), *t2 = input<float>(voxels, 3, 0.04, 0.2);
        std::vector<float> angles(pulses);
        std::vector<float2> turns(pulses);
        for (int k = 0; k < pulses; k++) {
            angles[k] = 0.1f + 0.9f * (scrambled(k, 4) / 4294967296.0f);
            turns[k] = make_float2(std::cos((double)angles[k]), std::sin((double)angles[k]));
        }
        float *flip = on_device(angles);
        float2 *rotation = on_device(turns);
        MUST(cudaMemcpyToSymbol(rotations, turns.data(), pulses * sizeof(float2)));
        float *m = output<float>((size_t)voxels * 3);
        k234a<<<voxels / 256, 256>>>(offset, t1, t2, flip, m, voxels, pulses, dt);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(m, (size_t)voxels * 3);
        check("k234a", m, want, 0);
        MUST(cudaFree(m));
        m = output<float>((size_t)voxels * 3);
        k234b<<<voxels / 256, 256>>>(offset, t1, t2, rotation, m, voxels, pulses, dt);
        check("k234b", m, want, 1e-3);
        MUST(cudaFree(m));
        m = output<float>((size_t)voxels * 3);
        k234c<<<voxels / 256, 256>>>(offset, t1, t2, m, voxels, pulses, dt);
        check("k234c", m, want, 1e-3);
        MUST(cudaFree(m));
    }
    {
        const unsigned n = 1u << 26, seed = 12345;
        float *in = input<float>(n, 5, -10, 10);
        unsigned short *out = output<unsigned short>(n);
        k234d<<<n / 32, 32>>>(in, out, n, seed);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned short> want = on_host(out, n);
        check("k234d", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned short>(n);
        k234e<<<n / 256, 256>>>(in, out, n, seed);
        check("k234e", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned short>(n);
        k234f<<<n / 2048, 256>>>((const float4 *)in, (uint4 *)out, n, seed);
        check("k234f", out, want, 0);
        MUST(cudaFree(out));
        MUST(cudaFree(in));
    }
    {
        const int width = 7680, height = 8640; // two 8K frames, one below the other
        const size_t n = (size_t)width * height;
        unsigned char *luma = input<unsigned char>(n, 6, 0, 256), *chroma = input<unsigned char>(n / 2, 7, 0, 256);
        unsigned *rgba = output<unsigned>(n);
        k234g<<<dim3(width / 32, height / 8), dim3(32, 8)>>>(luma, chroma, (uchar4 *)rgba, width, height);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host(rgba, n);
        check("k234g", rgba, want, 0);
        MUST(cudaFree(rgba));
        rgba = output<unsigned>(n);
        k234h<<<dim3(width / 128, height / 16), dim3(32, 8)>>>((const unsigned *)luma, (const unsigned *)chroma,
                                                               (uint4 *)rgba, width / 4, height);
        check("k234h", rgba, want, 0);
    }
    return 0;
}
