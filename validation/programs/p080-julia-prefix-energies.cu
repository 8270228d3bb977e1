// A Julia set as an image, exclusive prefix sums of chunks of 1024 integers, and the kinetic energy
// of bodies.
#include "../harness.h"

struct Complex {
    float r, i;
    __host__ __device__ Complex(float a, float b) : r(a), i(b) {}
    __host__ __device__ float square() const { return r * r + i * i; }
    __host__ __device__ Complex operator*(const Complex &a) const { return Complex(r * a.r - i * a.i, i * a.r + r * a.i); }
    __host__ __device__ Complex operator+(const Complex &a) const { return Complex(r + a.r, i + a.i); }
};

__host__ __device__ inline int julia(int x, int y, int dim, float cr, float ci, int limit)
{
    const float scale = 1.5f;
    float jx = scale * (float)(dim / 2 - x) / (dim / 2);
    float jy = scale * (float)(dim / 2 - y) / (dim / 2);
    Complex c(cr, ci), a(jx, jy);
    for (int i = 0; i < limit; i++) {
        a = a * a + c;
        if (a.square() > 1000)
            return 0;
    }
    return 1;
}

__global__ void k80a(unsigned char *image)
{
    int x = blockIdx.x;
    int y = blockIdx.y;
    int at = x + y * gridDim.x;
    int inside = julia(x, y, gridDim.x, -0.8f, 0.156f, 200);
    image[at * 4 + 0] = 255 * inside;
    image[at * 4 + 1] = 0;
    image[at * 4 + 2] = 0;
    image[at * 4 + 3] = 255;
}

__global__ void k80b(unsigned char *image)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int dim = gridDim.x * blockDim.x;
    int at = x + y * dim;
    int inside = julia(x, y, dim, -0.8f, 0.156f, 200);
    image[at * 4 + 0] = 255 * inside;
    image[at * 4 + 1] = 0;
    image[at * 4 + 2] = 0;
    image[at * 4 + 3] = 255;
}

const int CHUNK = 1024;

__global__ void k80c(const int *in, int *out)
{
    __shared__ int temp[2 * CHUNK];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * CHUNK;
    int to = 0, from = 1;
    temp[t] = t > 0 ? in[base + t - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < CHUNK; offset *= 2) {
        to = 1 - to;
        from = 1 - to;
        if (t >= offset)
            temp[to * CHUNK + t] = temp[from * CHUNK + t] + temp[from * CHUNK + t - offset];
        else
            temp[to * CHUNK + t] = temp[from * CHUNK + t];
        __syncthreads();
    }
    out[base + t] = temp[to * CHUNK + t];
}

__global__ void k80d(const int *in, int *out)
{
    __shared__ int temp[CHUNK];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * CHUNK;
    int offset = 1;
    temp[2 * t] = in[base + 2 * t];
    temp[2 * t + 1] = in[base + 2 * t + 1];
    for (int d = CHUNK >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1;
            int b = offset * (2 * t + 2) - 1;
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0)
        temp[CHUNK - 1] = 0;
    for (int d = 1; d < CHUNK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1;
            int b = offset * (2 * t + 2) - 1;
            int was = temp[a];
            temp[a] = temp[b];
            temp[b] += was;
        }
    }
    __syncthreads();
    out[base + 2 * t] = temp[2 * t];
    out[base + 2 * t + 1] = temp[2 * t + 1];
}

__device__ inline int spread(int i)
{
    return i + (i >> 5);
}

__global__ void k80e(const int *in, int *out)
{
    __shared__ int temp[CHUNK + CHUNK / 32];
    int t = threadIdx.x;
    size_t base = (size_t)blockIdx.x * CHUNK;
    int offset = 1;
    int first = t, second = t + CHUNK / 2;
    temp[spread(first)] = in[base + first];
    temp[spread(second)] = in[base + second];
    for (int d = CHUNK >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = spread(offset * (2 * t + 1) - 1);
            int b = spread(offset * (2 * t + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0)
        temp[spread(CHUNK - 1)] = 0;
    for (int d = 1; d < CHUNK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = spread(offset * (2 * t + 1) - 1);
            int b = spread(offset * (2 * t + 2) - 1);
            int was = temp[a];
            temp[a] = temp[b];
            temp[b] += was;
        }
    }
    __syncthreads();
    out[base + first] = temp[spread(first)];
    out[base + second] = temp[spread(second)];
}

// 256 threads.
__global__ void k80f(const int4 *in, int4 *out)
{
    __shared__ int warp_total[8];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    size_t at = (size_t)blockIdx.x * (CHUNK / 4) + t;
    int4 v = in[at];
    int own = v.x + v.y + v.z + v.w;
    int sum = own;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d)
            sum += other;
    }
    if (lane == 31)
        warp_total[warp] = sum;
    __syncthreads();
    int before = sum - own;
    for (int w = 0; w < warp; w++)
        before += warp_total[w];
    int4 r;
    r.x = before;
    r.y = r.x + v.x;
    r.z = r.y + v.y;
    r.w = r.z + v.z;
    out[at] = r;
}

struct Body {
    float x, y, z;
    float vx, vy, vz;
    float mass, charge;
};

__global__ void k80g(const Body *body, float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float vx = body[i].vx, vy = body[i].vy, vz = body[i].vz;
        energy[i] = 0.5f * body[i].mass * (vx * vx + vy * vy + vz * vz);
    }
}

struct Bodies {
    float *vx, *vy, *vz, *mass;
};

__global__ void k80h(Bodies bodies, float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float vx = bodies.vx[i], vy = bodies.vy[i], vz = bodies.vz[i];
        energy[i] = 0.5f * bodies.mass[i] * (vx * vx + vy * vy + vz * vz);
    }
}

__global__ void separate(const Body *body, Bodies bodies, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        bodies.vx[i] = body[i].vx;
        bodies.vy[i] = body[i].vy;
        bodies.vz[i] = body[i].vz;
        bodies.mass[i] = body[i].mass;
    }
}

__global__ void pick(const unsigned char *image, const int *where, unsigned char *picked, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < 4; k++)
            picked[4 * i + k] = image[4 * where[i] + k];
}

int main()
{
    {
        const int dim = 2048;
        // One pixel in 251, where a slightly different constant or another limit makes no difference.
        std::vector<int> where;
        std::vector<unsigned char> want;
        for (int at = 0; at < dim * dim; at += 251) {
            const int x = at % dim, y = at / dim;
            const int value = julia(x, y, dim, -0.8f, 0.156f, 200);
            bool clear = true;
            for (int limit : {150, 300})
                clear = clear && value == julia(x, y, dim, -0.8f, 0.156f, limit) &&
                        value == julia(x, y, dim, -0.79999f, 0.156f, limit) &&
                        value == julia(x, y, dim, -0.80001f, 0.156f, limit) &&
                        value == julia(x, y, dim, -0.8f, 0.15601f, limit) &&
                        value == julia(x, y, dim, -0.8f, 0.15599f, limit);
            if (!clear)
                continue;
            where.push_back(at);
            want.insert(want.end(), {(unsigned char)(255 * value), 0, 0, 255});
        }
        const int n = int(where.size());
        int *places = on_device(where);
        unsigned char *picked = output<unsigned char>(want.size());

        unsigned char *image = output<unsigned char>((size_t)4 * dim * dim);
        k80a<<<dim3(dim, dim), 1>>>(image);
        MUST(cudaGetLastError());
        pick<<<(n + 255) / 256, 256>>>(image, places, picked, n);
        check("k80a", picked, want, 0.0);

        image = output<unsigned char>((size_t)4 * dim * dim);
        k80b<<<dim3(dim / 16, dim / 16), dim3(16, 16)>>>(image);
        MUST(cudaGetLastError());
        pick<<<(n + 255) / 256, 256>>>(image, places, picked, n);
        check("k80b", picked, want, 0.0);
    }
    {
        const int n = 1 << 25, blocks = n / CHUNK;
        int *in = input<int>(n, 801, 0, 100);
        std::vector<int> want(n);
        {
            const std::vector<int> v = on_host(in, n);
            for (int i = 0; i < n; i++)
                want[i] = i % CHUNK ? want[i - 1] + v[i - 1] : 0;
        }
        int *out = output<int>(n);
        k80c<<<blocks, CHUNK>>>(in, out);
        check("k80c", out, want, 0.0);

        out = output<int>(n);
        k80d<<<blocks, CHUNK / 2>>>(in, out);
        check("k80d", out, want, 0.0);

        out = output<int>(n);
        k80e<<<blocks, CHUNK / 2>>>(in, out);
        check("k80e", out, want, 0.0);

        out = output<int>(n);
        k80f<<<blocks, CHUNK / 4>>>(reinterpret_cast<const int4 *>(in), reinterpret_cast<int4 *>(out));
        check("k80f", out, want, 0.0);
    }
    {
        const int n = 1 << 24, block = 256;
        float *fields = input<float>((size_t)8 * n, 803, 0.1, 2.0);
        const Body *body = reinterpret_cast<const Body *>(fields);
        float *apart = output<float>((size_t)4 * n);
        const Bodies bodies = {apart, apart + n, apart + 2 * (size_t)n, apart + 3 * (size_t)n};
        separate<<<n / block, block>>>(body, bodies, n);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());

        const int sample = 1 << 20;
        const std::vector<Body> some = on_host(body, sample);
        std::vector<float> want(sample);
        for (int i = 0; i < sample; i++)
            want[i] = 0.5f * some[i].mass *
                      (some[i].vx * some[i].vx + some[i].vy * some[i].vy + some[i].vz * some[i].vz);

        float *energy = output<float>(n);
        k80g<<<n / block, block>>>(body, energy, n);
        check("k80g", energy, want, 1e-5);
        const std::vector<float> all = on_host(energy, n);

        energy = output<float>(n);
        k80h<<<n / block, block>>>(bodies, energy, n);
        check("k80h", energy, all, 1e-5);
    }
    return 0;
}
