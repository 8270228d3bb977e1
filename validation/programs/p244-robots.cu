// Robots and simulated worlds: poses of many arms, a step of a cloth, and depth images to points in the world.
#include "../harness.h"

// Position of the hand of an arm with seven joints (Denavit-Hartenberg), for many sets of joint angles. angles[joint][sample]
constexpr int JOINTS = 7;
struct Link {
    float d, a, cos_alpha, sin_alpha;
};
__constant__ Link arm[JOINTS] = {{0.36f, 0, 0, -1}, {0, 0, 0, 1}, {0.42f, 0, 0, 1}, {0, 0, 0, -1},
                                 {0.4f, 0, 0, -1},  {0, 0, 0, 1}, {0.126f, 0, 1, 0}};

struct Matrix {
    float m[4][4];
};

__device__ inline Matrix multiply(const Matrix &a, const Matrix &b)
{
    Matrix c;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            c.m[i][j] = 0;
            for (int k = 0; k < 4; k++)
                c.m[i][j] += a.m[i][k] * b.m[k][j];
        }
    return c;
}

__global__ void k244a(const float *angles, float *hand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Matrix t = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    for (int j = 0; j < JOINTS; j++) {
        float s, c;
        sincosf(angles[(size_t)j * n + i], &s, &c);
        Link l = arm[j];
        Matrix step = {{{c, -s * l.cos_alpha, s * l.sin_alpha, l.a * c},
                        {s, c * l.cos_alpha, -c * l.sin_alpha, l.a * s},
                        {0, l.sin_alpha, l.cos_alpha, l.d},
                        {0, 0, 0, 1}}};
        t = multiply(t, step);
    }
    hand[i] = t.m[0][3];
    hand[n + i] = t.m[1][3];
    hand[2 * (size_t)n + i] = t.m[2][3];
}

__device__ inline float3 combine(float a, float3 x, float b, float3 y)
{
    return make_float3(a * x.x + b * y.x, a * x.y + b * y.y, a * x.z + b * y.z);
}

struct Frame {
    float3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1}, p = {0, 0, 0};

    // A turn about z, a shift along z by d, and a quarter turn about x in the given sense (or none)
    __device__ void joint(float s, float c, float d, int sense)
    {
        float3 nx = combine(c, x, s, y), ny = combine(c, y, -s, x);
        if (d != 0)
            p = combine(1, p, d, z);
        x = nx;
        if (sense > 0) {
            y = z;
            z = make_float3(-ny.x, -ny.y, -ny.z);
        } else if (sense < 0) {
            y = make_float3(-z.x, -z.y, -z.z);
            z = ny;
        } else
            y = ny;
    }
};

__global__ void k244b(const float *angles, float *hand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s[JOINTS], c[JOINTS];
#pragma unroll
    for (int j = 0; j < JOINTS; j++)
        sincosf(angles[(size_t)j * n + i], &s[j], &c[j]);
    Frame f;
    f.joint(s[0], c[0], 0.36f, -1);
    f.joint(s[1], c[1], 0, 1);
    f.joint(s[2], c[2], 0.42f, 1);
    f.joint(s[3], c[3], 0, -1);
    f.joint(s[4], c[4], 0.4f, -1);
    f.joint(s[5], c[5], 0, 1);
    f.joint(s[6], c[6], 0.126f, 0);
    hand[i] = f.p.x;
    hand[n + i] = f.p.y;
    hand[2 * (size_t)n + i] = f.p.z;
}

__global__ void k244c(const float *angles, float *hand, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s[JOINTS], c[JOINTS];
#pragma unroll
    for (int j = 0; j < JOINTS; j++)
        __sincosf(angles[(size_t)j * n + i], &s[j], &c[j]);
    Frame f;
    f.joint(s[0], c[0], 0.36f, -1);
    f.joint(s[1], c[1], 0, 1);
    f.joint(s[2], c[2], 0.42f, 1);
    f.joint(s[3], c[3], 0, -1);
    f.joint(s[4], c[4], 0.4f, -1);
    f.joint(s[5], c[5], 0, 1);
    f.joint(s[6], c[6], 0.126f, 0);
    hand[i] = f.p.x;
    hand[n + i] = f.p.y;
    hand[2 * (size_t)n + i] = f.p.z;
}

// Cloth of width x height nodes with springs to the twelve nodes around (four of them two steps away)
struct Node {
    float px, py, pz, vx, vy, vz, inverse_mass, unused;
};
constexpr float STIFFNESS = 20, STEP = 0.01f, DAMPING = 0.995f, GRAVITY = -9.81f;

#define FOR_EACH_SPRING(SPRING)                                                                                        \
    SPRING(-1, 0, 1.0f)                                                                                                \
    SPRING(1, 0, 1.0f)                                                                                                 \
    SPRING(0, -1, 1.0f)                                                                                                \
    SPRING(0, 1, 1.0f)                                                                                                 \
    SPRING(-1, -1, 1.41421356f)                                                                                        \
    SPRING(1, -1, 1.41421356f)                                                                                         \
    SPRING(-1, 1, 1.41421356f)                                                                                         \
    SPRING(1, 1, 1.41421356f)                                                                                          \
    SPRING(-2, 0, 2.0f)                                                                                                \
    SPRING(2, 0, 2.0f)                                                                                                 \
    SPRING(0, -2, 2.0f)                                                                                                \
    SPRING(0, 2, 2.0f)

__device__ inline void spring(float dx, float dy, float dz, float rest, float &fx, float &fy, float &fz)
{
    float length = sqrtf(dx * dx + dy * dy + dz * dz);
    float f = STIFFNESS * (length - rest) / length;
    fx += f * dx;
    fy += f * dy;
    fz += f * dz;
}

__global__ void k244d(const Node *in, Node *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    Node n = in[i];
    float fx = 0, fy = 0, fz = 0;
#define SPRING(DX, DY, REST)                                                                                           \
    if (x + DX >= 0 && x + DX < width && y + DY >= 0 && y + DY < height) {                                             \
        int j = i + DY * width + DX;                                                                                   \
        spring(in[j].px - n.px, in[j].py - n.py, in[j].pz - n.pz, REST, fx, fy, fz);                                   \
    }
    FOR_EACH_SPRING(SPRING)
#undef SPRING
    n.vx = (n.vx + STEP * fx * n.inverse_mass) * DAMPING;
    n.vy = (n.vy + STEP * fy * n.inverse_mass) * DAMPING;
    n.vz = (n.vz + STEP * (fz * n.inverse_mass + GRAVITY)) * DAMPING;
    n.px += STEP * n.vx;
    n.py += STEP * n.vy;
    n.pz += STEP * n.vz;
    out[i] = n;
}

// One array per component
struct Cloth {
    float *px, *py, *pz, *vx, *vy, *vz;
};

__device__ inline void advance(Cloth in, Cloth out, const float *inverse_mass, int i, float px, float py, float pz, float fx,
                               float fy, float fz)
{
    float w = inverse_mass[i];
    float vx = (in.vx[i] + STEP * fx * w) * DAMPING, vy = (in.vy[i] + STEP * fy * w) * DAMPING;
    float vz = (in.vz[i] + STEP * (fz * w + GRAVITY)) * DAMPING;
    out.vx[i] = vx;
    out.vy[i] = vy;
    out.vz[i] = vz;
    out.px[i] = px + STEP * vx;
    out.py[i] = py + STEP * vy;
    out.pz[i] = pz + STEP * vz;
}

__global__ void k244e(Cloth in, const float *inverse_mass, Cloth out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    float px = in.px[i], py = in.py[i], pz = in.pz[i], fx = 0, fy = 0, fz = 0;
#define SPRING(DX, DY, REST)                                                                                           \
    if (x + DX >= 0 && x + DX < width && y + DY >= 0 && y + DY < height) {                                             \
        int j = i + DY * width + DX;                                                                                   \
        spring(in.px[j] - px, in.py[j] - py, in.pz[j] - pz, REST, fx, fy, fz);                                         \
    }
    FOR_EACH_SPRING(SPRING)
#undef SPRING
    advance(in, out, inverse_mass, i, px, py, pz, fx, fy, fz);
}

__device__ inline void spring_fast(float dx, float dy, float dz, float rest, float &fx, float &fy, float &fz)
{
    float f = STIFFNESS - STIFFNESS * rest * rsqrtf(dx * dx + dy * dy + dz * dz);
    fx += f * dx;
    fy += f * dy;
    fz += f * dz;
}

__global__ void k244f(Cloth in, const float *inverse_mass, Cloth out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    float px = in.px[i], py = in.py[i], pz = in.pz[i], fx = 0, fy = 0, fz = 0;
#define SPRING(DX, DY, REST)                                                                                           \
    if (x + DX >= 0 && x + DX < width && y + DY >= 0 && y + DY < height) {                                             \
        int j = i + DY * width + DX;                                                                                   \
        spring_fast(in.px[j] - px, in.py[j] - py, in.pz[j] - pz, REST, fx, fy, fz);                                    \
    }
    FOR_EACH_SPRING(SPRING)
#undef SPRING
    advance(in, out, inverse_mass, i, px, py, pz, fx, fy, fz);
}

// Blocks of 32 x 8 threads; width is a multiple of 32, height of 8
__global__ void k244g(Cloth in, const float *inverse_mass, Cloth out, int width, int height)
{
    __shared__ float sx[12][36], sy[12][36], sz[12][36];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    for (int r = ty; r < 12; r += 8)
        for (int c = tx; c < 36; c += 32) {
            int gx = min(max(int(blockIdx.x * 32) + c - 2, 0), width - 1);
            int gy = min(max(int(blockIdx.y * 8) + r - 2, 0), height - 1);
            int j = gy * width + gx;
            sx[r][c] = in.px[j];
            sy[r][c] = in.py[j];
            sz[r][c] = in.pz[j];
        }
    __syncthreads();
    float px = sx[ty + 2][tx + 2], py = sy[ty + 2][tx + 2], pz = sz[ty + 2][tx + 2], fx = 0, fy = 0, fz = 0;
#define SPRING(DX, DY, REST)                                                                                           \
    if (x + DX >= 0 && x + DX < width && y + DY >= 0 && y + DY < height)                                               \
        spring_fast(sx[ty + 2 + DY][tx + 2 + DX] - px, sy[ty + 2 + DY][tx + 2 + DX] - py,                              \
                    sz[ty + 2 + DY][tx + 2 + DX] - pz, REST, fx, fy, fz);
    FOR_EACH_SPRING(SPRING)
#undef SPRING
    advance(in, out, inverse_mass, y * width + x, px, py, pz, fx, fy, fz);
}

// Depth images (millimetres) to points in the world: pinhole camera, and the pose (3 x 4) of each frame
struct Camera {
    double fx, fy, cx, cy;
};

__global__ void k244h(const unsigned short *depth, const double *poses, float *points, int width, int height, Camera camera)
{
    int u = blockIdx.x * blockDim.x + threadIdx.x, v = blockIdx.y, frame = blockIdx.z;
    if (u >= width)
        return;
    size_t i = ((size_t)frame * height + v) * width + u;
    const double *p = poses + frame * 12;
    double z = depth[i] * 0.001, x = (u - camera.cx) * z / camera.fx, y = (v - camera.cy) * z / camera.fy;
    points[3 * i] = p[0] * x + p[1] * y + p[2] * z + p[3];
    points[3 * i + 1] = p[4] * x + p[5] * y + p[6] * z + p[7];
    points[3 * i + 2] = p[8] * x + p[9] * y + p[10] * z + p[11];
}

struct CameraF {
    float ifx, ify, cx, cy;
};

__global__ void k244i(const unsigned short *depth, const float *poses, float *points, int width, int height, CameraF camera)
{
    int u = blockIdx.x * blockDim.x + threadIdx.x, v = blockIdx.y, frame = blockIdx.z;
    if (u >= width)
        return;
    size_t i = ((size_t)frame * height + v) * width + u;
    const float *p = poses + frame * 12;
    float z = depth[i] * 0.001f, x = (u - camera.cx) * z * camera.ifx, y = (v - camera.cy) * z * camera.ify;
    points[3 * i] = p[0] * x + p[1] * y + p[2] * z + p[3];
    points[3 * i + 1] = p[4] * x + p[5] * y + p[6] * z + p[7];
    points[3 * i + 2] = p[8] * x + p[9] * y + p[10] * z + p[11];
}

// A block for each row of 1280 pixels, four per thread
constexpr int WIDTH = 1280;

__global__ void k244j(const ushort4 *depth, const float *poses, float4 *points, int height, CameraF camera)
{
    __shared__ float4 row[WIDTH * 3 / 4];
    int t = threadIdx.x, v = blockIdx.x, frame = blockIdx.y;
    size_t line = (size_t)frame * height + v;
    ushort4 d = depth[line * (WIDTH / 4) + t];
    const float *p = poses + frame * 12;
    float fy = (v - camera.cy) * camera.ify;
    float z[4] = {d.x * 0.001f, d.y * 0.001f, d.z * 0.001f, d.w * 0.001f}, w[12];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float x = (4 * t + k - camera.cx) * z[k] * camera.ifx, y = fy * z[k];
        w[3 * k] = p[0] * x + p[1] * y + p[2] * z[k] + p[3];
        w[3 * k + 1] = p[4] * x + p[5] * y + p[6] * z[k] + p[7];
        w[3 * k + 2] = p[8] * x + p[9] * y + p[10] * z[k] + p[11];
    }
#pragma unroll
    for (int k = 0; k < 3; k++)
        row[3 * t + k] = make_float4(w[4 * k], w[4 * k + 1], w[4 * k + 2], w[4 * k + 3]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 3; k++)
        points[line * (WIDTH * 3 / 4) + k * (WIDTH / 4) + t] = row[k * (WIDTH / 4) + t];
}

__global__ void make_cloth(Node *nodes, Cloth c, float *inverse_mass, int width, int height)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height)
        return;
    float r[7];
    for (int k = 0; k < 7; k++)
        r[k] = scrambled((size_t)i * 7 + k, 21) / 4294967296.0f - 0.5f;
    Node n = {(i % width) * 1.0f + 0.3f * r[0], (i / width) * 1.0f + 0.3f * r[1], 0.3f * r[2], r[3], r[4], r[5], 1.5f + r[6], 0};
    nodes[i] = n;
    c.px[i] = n.px;
    c.py[i] = n.py;
    c.pz[i] = n.pz;
    c.vx[i] = n.vx;
    c.vy[i] = n.vy;
    c.vz[i] = n.vz;
    inverse_mass[i] = n.inverse_mass;
}

static Cloth new_cloth(size_t n)
{
    return {output<float>(n), output<float>(n), output<float>(n), output<float>(n), output<float>(n), output<float>(n)};
}

static void check_cloth(const char *kernel, Cloth c, const std::vector<float> *want)
{
    float *fields[] = {c.px, c.py, c.pz, c.vx, c.vy, c.vz};
    for (int k = 0; k < 6; k++) {
        check(kernel, fields[k], want[k], 1e-4);
        MUST(cudaMemset(fields[k], 0xA5, want[k].size() * sizeof(float)));
    }
}

int main()
{
    {
        const int n = 8 << 20;
        float *angles = input<float>((size_t)n * JOINTS, 1, -3, 3);
        float *hand = output<float>((size_t)n * 3), *h2 = output<float>((size_t)n * 3), *h3 = output<float>((size_t)n * 3);
        k244a<<<n / 256, 256>>>(angles, hand, n);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(hand, (size_t)n * 3);
        check("k244a", hand, want, 0);
        k244b<<<n / 256, 256>>>(angles, h2, n);
        check("k244b", h2, want, 1e-4);
        k244c<<<n / 256, 256>>>(angles, h3, n);
        check("k244c", h3, want, 1e-4);
        MUST(cudaFree(angles));
        MUST(cudaFree(hand));
        MUST(cudaFree(h2));
        MUST(cudaFree(h3));
    }
    {
        const int width = 4096, height = 2048, n = width * height;
        Node *in = output<Node>(n), *out = output<Node>(n);
        Cloth c = new_cloth(n), next = new_cloth(n);
        float *inverse_mass = output<float>(n);
        make_cloth<<<n / 256, 256>>>(in, c, inverse_mass, width, height);
        dim3 block(32, 8), grid(width / 32, height / 8);
        k244d<<<grid, block>>>(in, out, width, height);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        auto nodes = on_host((float *)out, (size_t)n * 8);
        check("k244d", (float *)out, nodes, 0);
        std::vector<float> want[6];
        for (int k = 0; k < 6; k++) {
            want[k].resize(n);
            for (int i = 0; i < n; i++)
                want[k][i] = nodes[(size_t)i * 8 + k];
        }
        k244e<<<grid, block>>>(c, inverse_mass, next, width, height);
        check_cloth("k244e", next, want);
        k244f<<<grid, block>>>(c, inverse_mass, next, width, height);
        check_cloth("k244f", next, want);
        k244g<<<grid, block>>>(c, inverse_mass, next, width, height);
        check_cloth("k244g", next, want);
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const int height = 720, frames = 32;
        size_t n = (size_t)WIDTH * height * frames;
        auto *depth = input<unsigned short>(n, 3, 300, 8000);
        double *poses = input<double>(frames * 12, 4, -1, 1);
        auto host = on_host(poses, frames * 12);
        float *poses_f = on_device(std::vector<float>(host.begin(), host.end()));
        float *points = output<float>(3 * n);
        Camera camera = {910.5, 909.2, 640.3, 361.7};
        CameraF camera_f = {float(1 / camera.fx), float(1 / camera.fy), float(camera.cx), float(camera.cy)};
        dim3 grid(WIDTH / 256, height, frames);
        k244h<<<grid, 256>>>(depth, poses, points, WIDTH, height, camera);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(points, 3 * n);
        check("k244h", points, want, 0);
        MUST(cudaMemset(points, 0xA5, 3 * n * sizeof(float)));
        k244i<<<grid, 256>>>(depth, poses_f, points, WIDTH, height, camera_f);
        check("k244i", points, want, 1e-4);
        MUST(cudaMemset(points, 0xA5, 3 * n * sizeof(float)));
        k244j<<<dim3(height, frames), WIDTH / 4>>>((ushort4 *)depth, poses_f, (float4 *)points, height, camera_f);
        check("k244j", points, want, 1e-4);
    }
    return 0;
}
