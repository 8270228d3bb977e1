// Distances on a sphere between pairs of places, a 27-point operator on a box of 384 x 256 x 256 points, and the ChaCha20
// stream cipher.
#include "../harness.h"

// (latitude, longitude) of two places in degrees; the distance in thousands of kilometres
__global__ void k159a(float *distance, const float4 *places, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p = places[i];
    double lat1 = p.x * 3.14159265358979323846 / 180.0, lon1 = p.y * 3.14159265358979323846 / 180.0;
    double lat2 = p.z * 3.14159265358979323846 / 180.0, lon2 = p.w * 3.14159265358979323846 / 180.0;
    double h = pow(sin((lat2 - lat1) / 2.0), 2.0) + cos(lat1) * cos(lat2) * pow(sin((lon2 - lon1) / 2.0), 2.0);
    distance[i] = 2.0 * 6.371 * asin(sqrt(h));
}

__global__ void k159b(float *distance, const float4 *places, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p = places[i];
    float lat1 = p.x * 3.14159265f / 180.0f, lon1 = p.y * 3.14159265f / 180.0f;
    float lat2 = p.z * 3.14159265f / 180.0f, lon2 = p.w * 3.14159265f / 180.0f;
    float u = sinf((lat2 - lat1) / 2.0f), v = sinf((lon2 - lon1) / 2.0f);
    float h = u * u + cosf(lat1) * cosf(lat2) * v * v;
    distance[i] = 2.0f * 6.371f * asinf(sqrtf(h));
}

__global__ void k159c(float *__restrict__ distance, const float4 *__restrict__ places, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float whole = 0.0174532925f, half = 0.00872664626f;
    float4 p = places[i];
    float u = __sinf((p.z - p.x) * half), v = __sinf((p.w - p.y) * half);
    float h = fmaxf(u * u + __cosf(p.x * whole) * __cosf(p.z * whole) * v * v, 1e-20f);
    distance[i] = 12.742f * asinf(h * rsqrtf(h));
}

const int NX = 256, NY = 256, NZ = 384;

// Weights of the point itself, of its 6, 12 and 8 neighbours at distance 1, sqrt(2) and sqrt(3).
struct Weights {
    float self, face, edge, corner;
};

__device__ inline float around(const float *in, int x, int y, int z, Weights w)
{
    float sum = 0.0f;
#pragma unroll
    for (int dz = -1; dz <= 1; dz++)
#pragma unroll
        for (int dy = -1; dy <= 1; dy++)
#pragma unroll
            for (int dx = -1; dx <= 1; dx++) {
                int far = dx * dx + dy * dy + dz * dz;
                float weight = far == 0 ? w.self : far == 1 ? w.face : far == 2 ? w.edge : w.corner;
                sum += weight * in[((z + dz) * NY + y + dy) * NX + x + dx];
            }
    return sum;
}

__global__ void k159d(float *out, const float *in, Weights w)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int x = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1 && z > 0 && z < NZ - 1)
        out[(z * NY + y) * NX + x] = around(in, x, y, z, w);
}

__global__ void k159e(float *out, const float *in, Weights w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1 && z > 0 && z < NZ - 1)
        out[(z * NY + y) * NX + x] = around(in, x, y, z, w);
}

const int LAYERS = 16;

// What four points of a plane see in it: themselves, and sums over four neighbours beside and four across.
struct Plane {
    float self[4], beside[4], across[4];
};

__device__ inline Plane look(const float *at, int left, int right)
{
    float v[3][6];
#pragma unroll
    for (int r = 0; r < 3; r++) {
        const float *row = at + (r - 1) * NX;
        float4 mid = *reinterpret_cast<const float4 *>(row);
        v[r][0] = row[left];
        v[r][1] = mid.x;
        v[r][2] = mid.y;
        v[r][3] = mid.z;
        v[r][4] = mid.w;
        v[r][5] = row[right];
    }
    Plane p;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        p.self[i] = v[1][i + 1];
        p.beside[i] = v[1][i] + v[1][i + 2] + v[0][i + 1] + v[2][i + 1];
        p.across[i] = v[0][i] + v[0][i + 2] + v[2][i] + v[2][i + 2];
    }
    return p;
}

__global__ void __launch_bounds__(256, 4) k159f(float *__restrict__ out, const float *__restrict__ in, Weights w)
{
    int x = threadIdx.x * 4, y = blockIdx.x * blockDim.y + threadIdx.y;
    if (y == 0 || y == NY - 1)
        return;
    int left = x > 0 ? -1 : 0, right = x < NX - 4 ? 4 : 3;
    int first = max(blockIdx.y * LAYERS, 1), last = min(blockIdx.y * LAYERS + LAYERS, NZ - 1);
    const float *at = in + (first * NY + y) * NX + x;
    float *to = out + (first * NY + y) * NX + x;
    Plane below = look(at - NY * NX, left, right), here = look(at, left, right);
#pragma unroll 2
    for (int z = first; z < last; z++) {
        at += NY * NX;
        Plane above = look(at, left, right);
        float sum[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] = w.self * here.self[i] + w.face * (here.beside[i] + below.self[i] + above.self[i]) +
                     w.edge * (here.across[i] + below.beside[i] + above.beside[i]) +
                     w.corner * (below.across[i] + above.across[i]);
        if (left == 0 || right == 3) {
            if (left)
                to[0] = sum[0];
            to[1] = sum[1];
            to[2] = sum[2];
            if (right == 4)
                to[3] = sum[3];
        } else
            *reinterpret_cast<float4 *>(to) = make_float4(sum[0], sum[1], sum[2], sum[3]);
        to += NY * NX;
        below = here;
        here = above;
    }
}

struct Key {
    unsigned word[8], nonce[3];
};

__host__ __device__ inline unsigned rotated(unsigned x, int by) { return x << by | x >> (32 - by); }

__host__ __device__ inline void quarter(unsigned &a, unsigned &b, unsigned &c, unsigned &d)
{
    a += b;
    d = rotated(d ^ a, 16);
    c += d;
    b = rotated(b ^ c, 12);
    a += b;
    d = rotated(d ^ a, 8);
    c += d;
    b = rotated(b ^ c, 7);
}

__host__ __device__ inline void stream(unsigned *x, const Key &key, unsigned counter)
{
    const unsigned start[16] = {0x61707865u,  0x3320646eu,  0x79622d32u,  0x6b206574u, key.word[0],  key.word[1],
                                key.word[2],  key.word[3],  key.word[4],  key.word[5], key.word[6],  key.word[7],
                                counter,      key.nonce[0], key.nonce[1], key.nonce[2]};
    for (int i = 0; i < 16; i++)
        x[i] = start[i];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int round = 0; round < 10; round++) {
        quarter(x[0], x[4], x[8], x[12]);
        quarter(x[1], x[5], x[9], x[13]);
        quarter(x[2], x[6], x[10], x[14]);
        quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]);
        quarter(x[1], x[6], x[11], x[12]);
        quarter(x[2], x[7], x[8], x[13]);
        quarter(x[3], x[4], x[9], x[14]);
    }
    for (int i = 0; i < 16; i++)
        x[i] += start[i];
}

// A thread makes one block of 64 bytes.
__global__ void k159g(unsigned char *out, const unsigned char *in, Key key, int blocks)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks)
        return;
    unsigned x[16];
    stream(x, key, b);
#pragma unroll
    for (int i = 0; i < 64; i++)
        out[b * 64 + i] = in[b * 64 + i] ^ (unsigned char)(x[i / 4] >> (8 * (i % 4)));
}

__device__ inline uint4 mixed(uint4 v, const unsigned *x) { return make_uint4(v.x ^ x[0], v.y ^ x[1], v.z ^ x[2], v.w ^ x[3]); }

__global__ void k159h(uint4 *__restrict__ out, const uint4 *__restrict__ in, Key key, int blocks)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= blocks)
        return;
    unsigned x[16];
    stream(x, key, b);
#pragma unroll
    for (int q = 0; q < 4; q++)
        out[b * 4 + q] = mixed(in[b * 4 + q], x + 4 * q);
}

__device__ inline int place(int at) { return at ^ (at >> 3 & 3); }

__global__ void k159i(uint4 *__restrict__ out, const uint4 *__restrict__ in, Key key)
{
    __shared__ uint4 tile[4 * 128];
    int tid = threadIdx.x, first = blockIdx.x * 4 * 128;
#pragma unroll
    for (int q = 0; q < 4; q++)
        tile[place(q * 128 + tid)] = in[first + q * 128 + tid];
    unsigned x[16];
    stream(x, key, blockIdx.x * 128 + tid);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 4; q++)
        tile[place(tid * 4 + q)] = mixed(tile[place(tid * 4 + q)], x + 4 * q);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 4; q++)
        out[first + q * 128 + tid] = tile[place(q * 128 + tid)];
}

// The first launch is checked on the chosen numbers, a later one on all, against the first.
template <class T> struct Chain {
    T *out;
    size_t n;
    std::vector<size_t> chosen;
    std::vector<T> want, full;

    template <class F> void run(const char *name, double tolerance, F launch)
    {
        MUST(cudaMemset(out, 0xA5, n * sizeof(T)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!full.empty())
            return check(name, out, full, tolerance);
        full = on_host(out, n);
        std::vector<T> some;
        for (size_t at : chosen)
            some.push_back(full[at]);
        T *picked = on_device(some);
        check(name, picked, want, tolerance);
        MUST(cudaFree(picked));
    }
    void expect(size_t at, T value)
    {
        chosen.push_back(at);
        want.push_back(value);
    }
};

int main()
{
    const int pairs = 1 << 24;
    float *degrees = input<float>(4 * (size_t)pairs, 1591, 0.0, 70.0), *distance = output<float>(pairs);
    std::vector<float> hp = on_host(degrees, 4 * (size_t)pairs);
    Chain<float> sphere{distance, (size_t)pairs};
    for (int i = 0; i < pairs; i += 31) {
        const double radian = 3.14159265358979323846 / 180.0;
        double lat1 = hp[4 * (size_t)i] * radian, lon1 = hp[4 * (size_t)i + 1] * radian;
        double lat2 = hp[4 * (size_t)i + 2] * radian, lon2 = hp[4 * (size_t)i + 3] * radian;
        double u = std::sin((lat2 - lat1) / 2), v = std::sin((lon2 - lon1) / 2);
        sphere.expect(i, float(12.742 * std::asin(std::sqrt(u * u + std::cos(lat1) * std::cos(lat2) * v * v))));
    }
    const float4 *places = reinterpret_cast<float4 *>(degrees);
    sphere.run("k159a", 1e-3, [&] { k159a<<<pairs / 256, 256>>>(distance, places, pairs); });
    sphere.run("k159b", 1e-3, [&] { k159b<<<pairs / 256, 256>>>(distance, places, pairs); });
    sphere.run("k159c", 1e-3, [&] { k159c<<<pairs / 256, 256>>>(distance, places, pairs); });

    const size_t points = (size_t)NX * NY * NZ;
    const Weights w = {2.5f, -0.25f, 0.125f, -0.0625f};
    float *field = input<float>(points, 1592, -1.0, 1.0), *result = output<float>(points);
    std::vector<float> hf = on_host(field, points);
    Chain<float> box{result, points};
    for (int z = 1; z < NZ - 1; z += 29)
        for (int y = 1; y < NY - 1; y++)
            for (int x = 1; x < NX - 1; x++) {
                double sum = 0;
                for (int dz = -1; dz <= 1; dz++)
                    for (int dy = -1; dy <= 1; dy++)
                        for (int dx = -1; dx <= 1; dx++) {
                            int far = dx * dx + dy * dy + dz * dz;
                            sum += (far == 0 ? w.self : far == 1 ? w.face : far == 2 ? w.edge : w.corner) *
                                   double(hf[((size_t)(z + dz) * NY + y + dy) * NX + x + dx]);
                        }
                box.expect(((size_t)z * NY + y) * NX + x, float(sum));
            }
    dim3 cube(8, 8, 4), by_z(NZ / 8, NY / 8, NX / 4), flat(32, 4, 2), by_x(NX / 32, NY / 4, NZ / 2);
    dim3 slab(NX / 4, 4), slabs(NY / 4, NZ / LAYERS);
    box.run("k159d", 1e-4, [&] { k159d<<<by_z, cube>>>(result, field, w); });
    box.run("k159e", 1e-4, [&] { k159e<<<by_x, flat>>>(result, field, w); });
    box.run("k159f", 1e-4, [&] { k159f<<<slabs, slab>>>(result, field, w); });

    const int blocks = 1 << 21;
    const size_t words = (size_t)blocks * 16;
    Key key;
    for (int i = 0; i < 8; i++)
        key.word[i] = scrambled(i, 1593);
    for (int i = 0; i < 3; i++)
        key.nonce[i] = scrambled(i, 1594);
    unsigned char *text = input<unsigned char>(words * 4, 1595, 0.0, 256.0);
    unsigned *cipher = output<unsigned>(words);
    std::vector<unsigned> plain = on_host(reinterpret_cast<unsigned *>(text), words);
    Chain<unsigned> secret{cipher, words};
    for (int b = 0; b < blocks; b += 101) {
        unsigned x[16];
        stream(x, key, b);
        for (int i = 0; i < 16; i++)
            secret.expect((size_t)b * 16 + i, plain[(size_t)b * 16 + i] ^ x[i]);
    }
    unsigned char *bytes = reinterpret_cast<unsigned char *>(cipher);
    uint4 *to = reinterpret_cast<uint4 *>(cipher);
    const uint4 *from = reinterpret_cast<uint4 *>(text);
    secret.run("k159g", 1e-12, [&] { k159g<<<blocks / 128, 128>>>(bytes, text, key, blocks); });
    secret.run("k159h", 1e-12, [&] { k159h<<<blocks / 128, 128>>>(to, from, key, blocks); });
    secret.run("k159i", 1e-12, [&] { k159i<<<blocks / 128, 128>>>(to, from, key); });
    return 0;
}
