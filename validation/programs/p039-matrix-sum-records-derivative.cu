// Sum of two matrices, an update of one member of all records, and an eighth-order derivative along a line.
#include "../harness.h"

__global__ void k39a(const float *a, const float *b, float *c, int nx, int ny)
{
    unsigned ix = blockIdx.x * blockDim.x + threadIdx.x;
    if (ix < nx)
        for (int iy = 0; iy < ny; iy++) {
            int idx = iy * nx + ix;
            c[idx] = a[idx] + b[idx];
        }
}

__global__ void k39b(const float *a, const float *b, float *c, int nx, int ny)
{
    unsigned ix = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned iy = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned idx = iy * nx + ix;
    if (ix < nx && iy < ny)
        c[idx] = a[idx] + b[idx];
}

struct Record {
    float x;
    float y;
};

__global__ void k39c(Record *data, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i].x += 10.0f;
}

struct Members {
    float *x;
    float *y;
};

__global__ void k39d(Members data, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data.x[i] += 10.0f;
}

const int RADIUS = 4;

template <int SIZE> __device__ void derivative(const float *in, float *out, const float *coef)
{
    __shared__ float line[SIZE + 2 * RADIUS];
    int idx = threadIdx.x + blockIdx.x * blockDim.x;
    int at = threadIdx.x + RADIUS;
    line[at] = in[idx];
    if (threadIdx.x < RADIUS) {
        line[at - RADIUS] = in[idx - RADIUS];
        line[at + SIZE] = in[idx + SIZE];
    }
    __syncthreads();

    float sum = 0.0f;
#pragma unroll
    for (int i = 1; i <= RADIUS; i++)
        sum += coef[i] * (line[at + i] - line[at - i]);
    out[idx] = sum;
}

__global__ void k39e(const float *in, float *out, const float *coef)
{
    derivative<32>(in, out, coef);
}

__global__ void k39f(const float *in, float *out, const float *coef)
{
    derivative<512>(in, out, coef);
}

__constant__ float ccoef[RADIUS + 1];

__global__ void k39g(const float *in, float *out)
{
    derivative<512>(in, out, ccoef);
}

__global__ void k39h(const float *in, float *out)
{
    __shared__ float line[4 * 512 + 2 * RADIUS];
    int idx = threadIdx.x + blockIdx.x * 4 * 512;
    int at = threadIdx.x + RADIUS;
    line[at] = in[idx];
    line[at + 512] = in[idx + 512];
    line[at + 1024] = in[idx + 1024];
    line[at + 1536] = in[idx + 1536];
    if (threadIdx.x < RADIUS) {
        line[at - RADIUS] = in[idx - RADIUS];
        line[at + 2048] = in[idx + 2048];
    }
    __syncthreads();

#pragma unroll
    for (int part = 0; part < 4; part++) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 1; i <= RADIUS; i++)
            sum += ccoef[i] * (line[at + part * 512 + i] - line[at + part * 512 - i]);
        out[idx + part * 512] = sum;
    }
}

__global__ void take_x(const Record *data, float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = data[i].x;
}

__global__ void differing(const float *p, const float *q, size_t n, int *count)
{
    int mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        mine += !(p[i] == q[i]);
    if (mine)
        atomicAdd(count, mine);
}

void matrices()
{
    const int nx = 1 << 13, ny = 1 << 13;
    const size_t n = (size_t)nx * ny;
    float *a = input<float>(n, 391, 0.0, 25.5), *b = input<float>(n, 392, 0.0, 25.5);
    float *c = output<float>(n), *second = output<float>(n);

    // Every 41st row against the host, then all of the second result against the first.
    std::vector<float> want;
    std::vector<int> chosen;
    for (int r = 0; r < ny; r += r + 41 < ny || r == ny - 1 ? 41 : ny - 1 - r) {
        chosen.push_back(r);
        std::vector<float> ra = on_host(a + (size_t)r * nx, nx), rb = on_host(b + (size_t)r * nx, nx);
        for (int i = 0; i < nx; i++)
            want.push_back(ra[i] + rb[i]);
    }
    float *picked = output<float>(want.size());

    k39a<<<nx / 32, 32>>>(a, b, c, nx, ny);
    MUST(cudaGetLastError());
    for (size_t r = 0; r < chosen.size(); r++)
        MUST(cudaMemcpy(picked + r * nx, c + (size_t)chosen[r] * nx, nx * sizeof(float), cudaMemcpyDeviceToDevice));
    check("k39a", picked, want, 1e-6);

    int *count = zeroed<int>(1);
    k39b<<<dim3(nx / 32, ny / 32), dim3(32, 32)>>>(a, b, second, nx, ny);
    MUST(cudaGetLastError());
    differing<<<1056, 256>>>(c, second, n, count);
    check("k39b", count, std::vector<int>(1, 0), 0.0);
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    MUST(cudaFree(c));
    MUST(cudaFree(second));
    MUST(cudaFree(picked));
}

void records()
{
    const int n = 1 << 24;
    float *flat = input<float>((size_t)2 * n, 393, 0.0, 2.55);
    Members members = {output<float>(n), output<float>(n)};
    take_x<<<1056, 256>>>(reinterpret_cast<Record *>(flat), members.x, n);
    MUST(cudaDeviceSynchronize());

    std::vector<float> want = on_host(flat, (size_t)2 * n), want_x(n);
    for (int i = 0; i < n; i++)
        want_x[i] = want[2 * (size_t)i] += 10.0f;

    k39c<<<n / 128, 128>>>(reinterpret_cast<Record *>(flat), n);
    check("k39c", flat, want, 1e-6);
    k39d<<<n / 128, 128>>>(members, n);
    check("k39d", members.x, want_x, 1e-6);
    MUST(cudaFree(flat));
    MUST(cudaFree(members.x));
    MUST(cudaFree(members.y));
}

void lines()
{
    const int n = 1 << 24;
    const std::vector<float> coef = {0.0f, 0.80000f, -0.20000f, 0.03809f, -0.00357f};
    float *in = input<float>(n + 2 * RADIUS, 394, 0.0, 2.55);
    float *out = output<float>(n + 2 * RADIUS);
    float *gcoef = on_device(coef);
    MUST(cudaMemcpyToSymbol(ccoef, coef.data(), (RADIUS + 1) * sizeof(float)));

    std::vector<float> host = on_host(in, n + 2 * RADIUS), want(n);
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int d = 1; d <= RADIUS; d++)
            sum += coef[d] * (host[i + RADIUS + d] - host[i + RADIUS - d]);
        want[i] = sum;
    }

    const size_t bytes = (n + 2 * RADIUS) * sizeof(float);
    k39e<<<n / 32, 32>>>(in + RADIUS, out + RADIUS, gcoef);
    check("k39e", out + RADIUS, want, 1e-5);
    MUST(cudaMemset(out, 0xA5, bytes));
    k39f<<<n / 512, 512>>>(in + RADIUS, out + RADIUS, gcoef);
    check("k39f", out + RADIUS, want, 1e-5);
    MUST(cudaMemset(out, 0xA5, bytes));
    k39g<<<n / 512, 512>>>(in + RADIUS, out + RADIUS);
    check("k39g", out + RADIUS, want, 1e-5);
    MUST(cudaMemset(out, 0xA5, bytes));
    k39h<<<n / 2048, 512>>>(in + RADIUS, out + RADIUS);
    check("k39h", out + RADIUS, want, 1e-5);
}

int main()
{
    matrices();
    records();
    lines();
    return 0;
}
