// Distance from each point of one set to the nearest of another, selection of positive numbers from a stream, and the
// product of a sparse matrix in compressed rows with a vector.
#include "../harness.h"

#include <functional>

struct Point {
    float x, y, z;
};

const int QUERIES = 524288, REFERENCES = 4096, TILE = 1024;

__global__ void k150a(float *__restrict__ nearest, const Point *__restrict__ query, const Point *__restrict__ reference,
                      int references)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Point q = query[i];
    float least = 3.4e38f;
    for (int j = 0; j < references; j++) {
        float dx = q.x - reference[j].x, dy = q.y - reference[j].y, dz = q.z - reference[j].z;
        least = fminf(least, dx * dx + dy * dy + dz * dz);
    }
    nearest[i] = least;
}

__global__ void k150b(float *__restrict__ nearest, const Point *__restrict__ query, const Point *__restrict__ reference,
                      int references)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Point q = query[i];
    float least = 3.4e38f;
    for (int base = 0; base < references; base += TILE) {
        __syncthreads();
        for (int t = threadIdx.x; t < TILE; t += blockDim.x) {
            Point r = reference[base + t];
            tile[t] = make_float4(r.x, r.y, r.z, 0.0f);
        }
        __syncthreads();
#pragma unroll 8
        for (int t = 0; t < TILE; t++) {
            float4 r = tile[t];
            float dx = q.x - r.x, dy = q.y - r.y, dz = q.z - r.z;
            least = fminf(least, dx * dx + dy * dy + dz * dz);
        }
    }
    nearest[i] = least;
}

__global__ void k150c(float *__restrict__ nearest, const Point *__restrict__ query, const Point *__restrict__ reference,
                      int references)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Point q = query[i];
    float least = 3.4e38f;
    for (int base = 0; base < references; base += TILE) {
        __syncthreads();
        for (int t = threadIdx.x; t < TILE; t += blockDim.x) {
            Point r = reference[base + t];
            tile[t] = make_float4(-2.0f * r.x, -2.0f * r.y, -2.0f * r.z, r.x * r.x + r.y * r.y + r.z * r.z);
        }
        __syncthreads();
#pragma unroll 8
        for (int t = 0; t < TILE; t++) {
            float4 r = tile[t];
            least = fminf(least, q.x * r.x + (q.y * r.y + (q.z * r.z + r.w)));
        }
    }
    nearest[i] = least + (q.x * q.x + q.y * q.y + q.z * q.z);
}

const int EACH = 8;

__global__ void __launch_bounds__(128) k150d(float *__restrict__ nearest, const Point *__restrict__ query,
                                             const Point *__restrict__ reference, int references)
{
    __shared__ float4 tile[TILE];
    int first = blockIdx.x * 128 * EACH + threadIdx.x;
    Point q[EACH];
    float least[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        q[e] = query[first + e * 128];
        least[e] = 3.4e38f;
    }
    for (int base = 0; base < references; base += TILE) {
        __syncthreads();
        for (int t = threadIdx.x; t < TILE; t += 128) {
            Point r = reference[base + t];
            tile[t] = make_float4(-2.0f * r.x, -2.0f * r.y, -2.0f * r.z, r.x * r.x + r.y * r.y + r.z * r.z);
        }
        __syncthreads();
#pragma unroll 4
        for (int t = 0; t < TILE; t++) {
            float4 r = tile[t];
#pragma unroll
            for (int e = 0; e < EACH; e++)
                least[e] = fminf(least[e], q[e].x * r.x + (q[e].y * r.y + (q[e].z * r.z + r.w)));
        }
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
        nearest[first + e * 128] = least[e] + (q[e].x * q[e].x + q[e].y * q[e].y + q[e].z * q[e].z);
}

const int STREAM = 1 << 25;

__global__ void k150e(int *__restrict__ out, int *__restrict__ count, const int *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = in[i];
    if (v > 0)
        out[atomicAdd(count, 1)] = v;
}

__global__ void k150f(int *__restrict__ out, int *__restrict__ count, const int *__restrict__ in, int n)
{
    __shared__ int found, start;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    int v = i < n ? in[i] : 0, place = 0;
    if (v > 0)
        place = atomicAdd(&found, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        start = atomicAdd(count, found);
    __syncthreads();
    if (v > 0)
        out[start + place] = v;
}

const int ITEMS = 16;

// Blocks of 256 threads; n is a multiple of 256 * ITEMS.
__global__ void __launch_bounds__(256) k150g(int *__restrict__ out, int *__restrict__ count, const int *__restrict__ in)
{
    __shared__ int totals[8], start;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int *from = in + blockIdx.x * 256 * ITEMS + warp * 32 * ITEMS + lane;
    int v[ITEMS], found = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        v[k] = from[k * 32];
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        found += __popc(__ballot_sync(~0u, v[k] > 0));
    if (lane == 0)
        totals[warp] = found;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 8; w++) {
            int t = totals[w];
            totals[w] = sum;
            sum += t;
        }
        start = atomicAdd(count, sum);
    }
    __syncthreads();
    int place = start + totals[warp];
    unsigned before = (1u << lane) - 1;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        unsigned mask = __ballot_sync(~0u, v[k] > 0);
        if (v[k] > 0)
            out[place + __popc(mask & before)] = v[k];
        place += __popc(mask);
    }
}

const int ROWS = 131072;

__global__ void k150h(float *__restrict__ y, const int *__restrict__ start, const int *__restrict__ column,
                      const float *__restrict__ value, const float *__restrict__ x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = start[row]; j < start[row + 1]; j++)
        sum += value[j] * x[column[j]];
    y[row] = sum;
}

__global__ void k150i(float *y, const int *start, const int *column, const float *value, const float *x, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    int end = start[row + 1];
    float sum = 0.0f;
    for (int j = start[row] + lane; j < end; j += 32)
        sum += value[j] * x[column[j]];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(~0u, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

__global__ void k150j(float *y, const int *start, const int *column, const float *value, const float *x, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    int end = start[row + 1];
    float sum = 0.0f;
    for (int j = start[row] + lane; j < end; j += 32)
        sum += value[j] * __ldg(&x[column[j]]);
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(~0u, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

// How many, and a sum over them that does not depend on their order, as three numbers.
std::vector<unsigned> digest(const int *v, size_t n)
{
    unsigned long long sum = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i] > 0) {
            count++;
            sum += (unsigned long long)scrambled(v[i], 7) << 16 ^ scrambled(v[i], 8);
        }
    return {unsigned(count), unsigned(sum), unsigned(sum >> 32)};
}

int main()
{
    float *corners = input<float>(3 * (size_t)QUERIES, 1501, -1.0, 1.0);
    float *others = input<float>(3 * REFERENCES, 1502, -1.0, 1.0);
    const Point *query = reinterpret_cast<const Point *>(corners), *reference = reinterpret_cast<const Point *>(others);
    float *nearest = output<float>(QUERIES), *some = output<float>(512);
    std::vector<Point> hq = on_host(query, QUERIES), hr = on_host(reference, REFERENCES);
    std::vector<float> sample(512), first;
    // Every 1024th query.
    for (int i = 0; i < 512; i++) {
        double least = 1e30;
        for (const Point &r : hr) {
            double dx = double(hq[i * 1024].x) - r.x, dy = double(hq[i * 1024].y) - r.y;
            double dz = double(hq[i * 1024].z) - r.z;
            least = std::fmin(least, dx * dx + dy * dy + dz * dz);
        }
        sample[i] = float(least);
    }
    auto distances = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(nearest, 0xA5, QUERIES * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, 4, nearest, 4096, 4, 512, cudaMemcpyDeviceToDevice));
        check(name, some, sample, 1e-5);
        if (first.empty())
            first = on_host(nearest, QUERIES);
        else
            check(name, nearest, first, 1e-5);
    };
    distances("k150a", [&] { k150a<<<QUERIES / 256, 256>>>(nearest, query, reference, REFERENCES); });
    distances("k150b", [&] { k150b<<<QUERIES / 256, 256>>>(nearest, query, reference, REFERENCES); });
    distances("k150c", [&] { k150c<<<QUERIES / 256, 256>>>(nearest, query, reference, REFERENCES); });
    distances("k150d", [&] { k150d<<<QUERIES / (128 * EACH), 128>>>(nearest, query, reference, REFERENCES); });

    int *stream = input<int>(STREAM, 1503, -1e9, 1e9), *out = output<int>(STREAM), *count = zeroed<int>(1);
    std::vector<int> hs = on_host(stream, STREAM);
    std::vector<unsigned> want = digest(hs.data(), STREAM);
    unsigned *seen = output<unsigned>(3);
    auto selection = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, STREAM * sizeof(int)));
        MUST(cudaMemset(count, 0, sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        int n = on_host(count, 1)[0];
        n = n < 0 ? 0 : n > STREAM ? STREAM : n;
        std::vector<unsigned> got = digest(on_host(out, n).data(), n);
        MUST(cudaMemcpy(seen, got.data(), 3 * sizeof(unsigned), cudaMemcpyHostToDevice));
        check(name, seen, want, 0);
    };
    selection("k150e", [&] { k150e<<<STREAM / 256, 256>>>(out, count, stream, STREAM); });
    selection("k150f", [&] { k150f<<<STREAM / 256, 256>>>(out, count, stream, STREAM); });
    selection("k150g", [&] { k150g<<<STREAM / (256 * ITEMS), 256>>>(out, count, stream); });

    // Rows of 192 to 320 entries, in groups of four neighbouring columns around the diagonal.
    std::vector<int> hstart(ROWS + 1, 0);
    for (int r = 0; r < ROWS; r++)
        hstart[r + 1] = hstart[r] + 192 + 32 * int(scrambled(r, 1504) % 5);
    const int entries = hstart[ROWS];
    std::vector<int> hcolumn(entries);
    for (int r = 0; r < ROWS; r++) {
        int groups = (hstart[r + 1] - hstart[r]) / 4;
        for (int g = 0; g < groups; g++) {
            int base = (r & ~3) + (g - groups / 2) * 32 + int(scrambled(hstart[r] / 4 + g, 1505) & 7) * 4;
            for (int k = 0; k < 4; k++)
                hcolumn[hstart[r] + g * 4 + k] = (base + k) & (ROWS - 1);
        }
    }
    int *start = on_device(hstart), *column = on_device(hcolumn);
    float *value = input<float>(entries, 1506, -1.0, 1.0), *x = input<float>(ROWS, 1507, -1.0, 1.0);
    float *y = output<float>(ROWS);
    std::vector<float> hvalue = on_host(value, entries), hx = on_host(x, ROWS), product(ROWS);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int j = hstart[r]; j < hstart[r + 1]; j++)
            sum += double(hvalue[j]) * hx[hcolumn[j]];
        product[r] = float(sum);
    }
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        check(name, y, product, 1e-4);
    };
    multiply("k150h", [&] { k150h<<<ROWS / 256, 256>>>(y, start, column, value, x, ROWS); });
    multiply("k150i", [&] { k150i<<<ROWS / 8, 256>>>(y, start, column, value, x, ROWS); });
    multiply("k150j", [&] { k150j<<<ROWS / 8, 256>>>(y, start, column, value, x, ROWS); });
    return 0;
}
