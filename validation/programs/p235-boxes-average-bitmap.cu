// Three problems: particles that interact with those of the neighbouring boxes (as in lavaMD), the exponential moving
// average of many series, and the packing of a column of truth values into a bitmap.
#include "../harness.h"

// ---- potential and forces between particles in boxes; 128 particles per box, one block per box ----
constexpr int edge = 12, boxes = edge * edge * edge, inside = 128;

struct double4_ {
    double v, x, y, z;
};

__global__ void k235a(const double4_ *__restrict__ place, const double *__restrict__ charge,
                      const int *__restrict__ neighbours, const int *__restrict__ counts, double4_ *__restrict__ force,
                      double alpha)
{
    __shared__ double4_ place_b[inside];
    __shared__ double charge_b[inside];
    int t = threadIdx.x, box = blockIdx.x;
    double4_ a = place[box * inside + t];
    double a2 = 2.0 * alpha * alpha;
    double4_ f = {0, 0, 0, 0};
    for (int k = 0; k < counts[box]; k++) {
        int other = neighbours[box * 27 + k];
        place_b[t] = place[other * inside + t];
        charge_b[t] = charge[other * inside + t];
        __syncthreads();
        for (int j = 0; j < inside; j++) {
            double4_ b = place_b[j];
            double r2 = a.v + b.v - (a.x * b.x + a.y * b.y + a.z * b.z);
            double w = charge_b[j] * exp(-a2 * r2);
            f.v += w;
            f.x += 2.0 * w * (a.x - b.x);
            f.y += 2.0 * w * (a.y - b.y);
            f.z += 2.0 * w * (a.z - b.z);
        }
        __syncthreads();
    }
    force[box * inside + t] = f;
}

__global__ void k235b(const float4 *__restrict__ place, const float *__restrict__ charge,
                      const int *__restrict__ neighbours, const int *__restrict__ counts, float4 *__restrict__ force,
                      float alpha)
{
    __shared__ float4 place_b[inside];
    __shared__ float charge_b[inside];
    int t = threadIdx.x, box = blockIdx.x;
    float4 a = place[box * inside + t];
    float a2 = 2.0f * alpha * alpha;
    float4 f = make_float4(0, 0, 0, 0);
    for (int k = 0; k < counts[box]; k++) {
        int other = neighbours[box * 27 + k];
        place_b[t] = place[other * inside + t];
        charge_b[t] = charge[other * inside + t];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < inside; j++) {
            float4 b = place_b[j];
            float r2 = a.x + b.x - (a.y * b.y + a.z * b.z + a.w * b.w);
            float w = charge_b[j] * expf(-a2 * r2);
            f.x += w;
            w *= 2.0f;
            f.y += w * (a.y - b.y);
            f.z += w * (a.z - b.z);
            f.w += w * (a.w - b.w);
        }
        __syncthreads();
    }
    force[box * inside + t] = f;
}

__global__ void k235c(const float4 *__restrict__ place, const float *__restrict__ charge,
                      const int *__restrict__ neighbours, const int *__restrict__ counts, float4 *__restrict__ force,
                      float alpha)
{
    __shared__ float4 place_b[inside];
    __shared__ float charge_b[inside];
    int t = threadIdx.x, box = blockIdx.x;
    float4 a = place[box * inside + t];
    float a2 = 2.0f * alpha * alpha;
    float4 f = make_float4(0, 0, 0, 0);
    for (int k = 0; k < counts[box]; k++) {
        int other = neighbours[box * 27 + k];
        place_b[t] = place[other * inside + t];
        charge_b[t] = charge[other * inside + t];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < inside; j++) {
            float4 b = place_b[j];
            float r2 = a.x + b.x - (a.y * b.y + a.z * b.z + a.w * b.w);
            float w = charge_b[j] * __expf(-a2 * r2);
            f.x += w;
            w *= 2.0f;
            f.y += w * (a.y - b.y);
            f.z += w * (a.z - b.z);
            f.w += w * (a.w - b.w);
        }
        __syncthreads();
    }
    force[box * inside + t] = f;
}

// ---- exponential moving average at the end of each series ----
__global__ void transpose_series(const float *in, float *out, int series, int steps)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)series * steps;
         i += (size_t)gridDim.x * blockDim.x)
        out[i % steps * series + i / steps] = in[i];
}

// values[series][step]
__global__ void k235d(const float *__restrict__ values, float *__restrict__ average, int series, int steps, float alpha)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= series)
        return;
    const float *p = values + (size_t)s * steps;
    float ema = p[0];
    for (int k = 1; k < steps; k++)
        ema += alpha * (p[k] - ema);
    average[s] = ema;
}

// values[step][series]
__global__ void k235e(const float *__restrict__ values, float *__restrict__ average, int series, int steps, float alpha)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= series)
        return;
    float ema = values[s];
#pragma unroll 8
    for (int k = 1; k < steps; k++)
        ema += alpha * (values[(size_t)k * series + s] - ema);
    average[s] = ema;
}

__global__ void k235f(const float4 *__restrict__ values, float4 *__restrict__ average, int quads, int steps, float alpha)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= quads)
        return;
    float4 ema = values[s];
#pragma unroll 8
    for (int k = 1; k < steps; k++) {
        float4 v = values[(size_t)k * quads + s];
        ema.x += alpha * (v.x - ema.x);
        ema.y += alpha * (v.y - ema.y);
        ema.z += alpha * (v.z - ema.z);
        ema.w += alpha * (v.w - ema.w);
    }
    average[s] = ema;
}

// ---- bytes that are 0 or 1 to bits, 32 for each word ----
__global__ void k235g(const unsigned char *__restrict__ flags, unsigned *__restrict__ bitmap, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    unsigned bits = 0;
    for (int b = 0; b < 32; b++)
        if (flags[(size_t)w * 32 + b])
            bits |= 1u << b;
    bitmap[w] = bits;
}

// Four bytes that are 0 or 1 become the top four bits of the product, the first byte the lowest of them.
__device__ inline unsigned four_bits(unsigned bytes)
{
    return bytes * 0x10204080u >> 28;
}

__global__ void k235h(const uint4 *__restrict__ flags, unsigned *__restrict__ bitmap, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    uint4 a = flags[(size_t)w * 2], b = flags[(size_t)w * 2 + 1];
    bitmap[w] = four_bits(a.x) | four_bits(a.y) << 4 | four_bits(a.z) << 8 | four_bits(a.w) << 12 |
                four_bits(b.x) << 16 | four_bits(b.y) << 20 | four_bits(b.z) << 24 | four_bits(b.w) << 28;
}

int main()
{
    {
        const int n = boxes * inside;
        std::vector<double4_> place(n);
        std::vector<double> charge(n);
        std::vector<float4> place_f(n);
        std::vector<float> charge_f(n);
        std::vector<int> neighbours(boxes * 27), counts(boxes);
        for (int b = 0; b < boxes; b++) {
            int bx = b % edge, by = b / edge % edge, bz = b / edge / edge, count = 0;
            for (int z = bz - 1; z <= bz + 1; z++)
                for (int y = by - 1; y <= by + 1; y++)
                    for (int x = bx - 1; x <= bx + 1; x++)
                        if (x >= 0 && y >= 0 && z >= 0 && x < edge && y < edge && z < edge)
                            neighbours[b * 27 + count++] = (z * edge + y) * edge + x;
            counts[b] = count;
        }
        for (int i = 0; i < n; i++) {
            float x = scrambled(i, 1) / 4294967296.0, y = scrambled(i, 2) / 4294967296.0;
            float z = scrambled(i, 3) / 4294967296.0, v = 1.0f + scrambled(i, 4) / 4294967296.0;
            place_f[i] = make_float4(v, x, y, z);
            place[i] = {v, x, y, z};
            charge[i] = charge_f[i] = scrambled(i, 5) / 4294967296.0;
        }
        double4_ *dp = on_device(place), *df = output<double4_>(n);
        double *dq = on_device(charge);
        float4 *fp = on_device(place_f), *ff = output<float4>(n);
        float *fq = on_device(charge_f);
        int *list = on_device(neighbours), *lengths = on_device(counts);
        k235a<<<boxes, inside>>>(dp, dq, list, lengths, df, 0.5);
        MUST(cudaDeviceSynchronize());
        std::vector<double> exact = on_host((double *)df, (size_t)n * 4);
        check("k235a", (double *)df, exact, 0);
        std::vector<float> want(exact.begin(), exact.end());
        k235b<<<boxes, inside>>>(fp, fq, list, lengths, ff, 0.5f);
        check("k235b", (float *)ff, want, 5e-3);
        MUST(cudaFree(ff));
        ff = output<float4>(n);
        k235c<<<boxes, inside>>>(fp, fq, list, lengths, ff, 0.5f);
        check("k235c", (float *)ff, want, 5e-3);
        MUST(cudaFree(ff));
    }
    {
        const int series = 1 << 20, steps = 128;
        float *rows = input<float>((size_t)series * steps, 6, 10, 20);
        float *columns = output<float>((size_t)series * steps);
        transpose_series<<<1056, 256>>>(rows, columns, series, steps);
        MUST(cudaDeviceSynchronize());
        float *average = output<float>(series);
        k235d<<<series / 256, 256>>>(rows, average, series, steps, 0.05f);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(average, series);
        check("k235d", average, want, 0);
        MUST(cudaFree(average));
        average = output<float>(series);
        k235e<<<series / 256, 256>>>(columns, average, series, steps, 0.05f);
        check("k235e", average, want, 1e-4);
        MUST(cudaFree(average));
        average = output<float>(series);
        k235f<<<series / 1024, 256>>>((const float4 *)columns, (float4 *)average, series / 4, steps, 0.05f);
        check("k235f", average, want, 1e-4);
        MUST(cudaFree(average));
        MUST(cudaFree(rows));
        MUST(cudaFree(columns));
    }
    {
        const int words = 1 << 24;
        unsigned char *flags = input<unsigned char>((size_t)words * 32, 7, 0, 2);
        unsigned *bitmap = output<unsigned>(words);
        k235g<<<words / 256, 256>>>(flags, bitmap, words);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host(bitmap, words);
        check("k235g", bitmap, want, 0);
        MUST(cudaFree(bitmap));
        bitmap = output<unsigned>(words);
        k235h<<<words / 256, 256>>>((const uint4 *)flags, bitmap, words);
        check("k235h", bitmap, want, 0);
    }
    return 0;
}
