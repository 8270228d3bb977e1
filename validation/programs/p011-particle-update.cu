// Particles in a box: velocity from drag and gravity, then the position, reflected at the floor.
#include "../harness.h"

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass, charge, age;
    float r, g, b;
};

// A charged body in a uniform field.
struct Body {
    float x, y, z, m;
    float vx, vy, vz, q;
};

struct __align__(16) Body4 {
    float4 pos_m;
    float4 vel_q;
};

__host__ __device__ inline void step(float &x, float &y, float &z, float &vx, float &vy, float &vz, float dt)
{
    const float damp = 1.0f - 0.05f * dt;
    vx *= damp;
    vy *= damp;
    vz = vz * damp - 9.81f * dt;
    x += vx * dt;
    y += vy * dt;
    z += vz * dt;
    if (z < 0.0f) {
        z = -z;
        vz = -0.8f * vz;
    }
}

__global__ void k11a(Particle *p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = p[i].x, y = p[i].y, z = p[i].z;
    float vx = p[i].vx, vy = p[i].vy, vz = p[i].vz;
    step(x, y, z, vx, vy, vz, dt);
    p[i].x = x;
    p[i].y = y;
    p[i].z = z;
    p[i].vx = vx;
    p[i].vy = vy;
    p[i].vz = vz;
}

__global__ void k11b(float *__restrict__ px, float *__restrict__ py, float *__restrict__ pz, float *__restrict__ pvx,
                     float *__restrict__ pvy, float *__restrict__ pvz, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = px[i], y = py[i], z = pz[i];
    float vx = pvx[i], vy = pvy[i], vz = pvz[i];
    step(x, y, z, vx, vy, vz, dt);
    px[i] = x;
    py[i] = y;
    pz[i] = z;
    pvx[i] = vx;
    pvy[i] = vy;
    pvz[i] = vz;
}

__global__ void k11c(float4 *__restrict__ px, float4 *__restrict__ py, float4 *__restrict__ pz,
                     float4 *__restrict__ pvx, float4 *__restrict__ pvy, float4 *__restrict__ pvz, int n4, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    float4 x = px[i], y = py[i], z = pz[i];
    float4 vx = pvx[i], vy = pvy[i], vz = pvz[i];
    step(x.x, y.x, z.x, vx.x, vy.x, vz.x, dt);
    step(x.y, y.y, z.y, vx.y, vy.y, vz.y, dt);
    step(x.z, y.z, z.z, vx.z, vy.z, vz.z, dt);
    step(x.w, y.w, z.w, vx.w, vy.w, vz.w, dt);
    px[i] = x;
    py[i] = y;
    pz[i] = z;
    pvx[i] = vx;
    pvy[i] = vy;
    pvz[i] = vz;
}

__global__ void k11d(Body *bodies, int n, float3 field, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Body b = bodies[i];
        float s = b.q / b.m * dt;
        b.vx += s * field.x;
        b.vy += s * field.y;
        b.vz += s * field.z;
        bodies[i].vx = b.vx;
        bodies[i].vy = b.vy;
        bodies[i].vz = b.vz;
        bodies[i].x = b.x + b.vx * dt;
        bodies[i].y = b.y + b.vy * dt;
        bodies[i].z = b.z + b.vz * dt;
    }
}

__global__ void k11e(Body4 *bodies, int n, float3 field, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 p = bodies[i].pos_m;
        float4 v = bodies[i].vel_q;
        float s = v.w / p.w * dt;
        v.x += s * field.x;
        v.y += s * field.y;
        v.z += s * field.z;
        p.x += v.x * dt;
        p.y += v.y * dt;
        p.z += v.z * dt;
        bodies[i].pos_m = p;
        bodies[i].vel_q = v;
    }
}

// 64 runs of `run` numbers, spread over an array of n.
static std::vector<float> spread(const float *data, size_t n, size_t run)
{
    const size_t runs = 64, stride = n / runs / 48 * 48;
    std::vector<float> host(run * runs);
    MUST(cudaMemcpy2D(host.data(), run * sizeof(float), data, stride * sizeof(float), run * sizeof(float), runs,
                      cudaMemcpyDeviceToHost));
    return host;
}

int main()
{
    const int n = 8000000;
    const float dt = 0.01f;

    float *raw = input<float>((size_t)n * 12, 1, -1.0, 1.0);
    std::vector<float> want = spread(raw, (size_t)n * 12, 1200);
    for (size_t i = 0; i + 12 <= want.size(); i += 12)
        step(want[i], want[i + 1], want[i + 2], want[i + 3], want[i + 4], want[i + 5], dt);
    k11a<<<(n + 255) / 256, 256>>>(reinterpret_cast<Particle *>(raw), n, dt);
    MUST(cudaGetLastError());
    check("k11a", on_device(spread(raw, (size_t)n * 12, 1200)), want, 1e-5);
    MUST(cudaFree(raw));

    float *f[6];
    std::vector<float> state[6];
    for (int launch = 0; launch < 2; launch++) {
        for (int c = 0; c < 6; c++) {
            f[c] = input<float>(n, 10 + c, -1.0, 1.0);
            state[c] = spread(f[c], n, 192);
        }
        for (size_t i = 0; i < state[0].size(); i++)
            step(state[0][i], state[1][i], state[2][i], state[3][i], state[4][i], state[5][i], dt);
        if (launch == 0)
            k11b<<<(n + 255) / 256, 256>>>(f[0], f[1], f[2], f[3], f[4], f[5], n, dt);
        else
            k11c<<<(n / 4 + 255) / 256, 256>>>((float4 *)f[0], (float4 *)f[1], (float4 *)f[2], (float4 *)f[3],
                                               (float4 *)f[4], (float4 *)f[5], n / 4, dt);
        MUST(cudaGetLastError());
        std::vector<float> all, got;
        for (int c = 0; c < 6; c++) {
            std::vector<float> part = spread(f[c], n, 192);
            got.insert(got.end(), part.begin(), part.end());
            all.insert(all.end(), state[c].begin(), state[c].end());
            MUST(cudaFree(f[c]));
        }
        check(launch == 0 ? "k11b" : "k11c", on_device(got), all, 1e-5);
    }

    const float3 field = make_float3(0.3f, -0.2f, 1.1f);
    for (int launch = 0; launch < 2; launch++) {
        float *bodies = input<float>((size_t)n * 8, 3, 0.5, 1.5);
        std::vector<float> b = spread(bodies, (size_t)n * 8, 960);
        for (size_t i = 0; i + 8 <= b.size(); i += 8) {
            float s = b[i + 7] / b[i + 3] * dt;
            b[i + 4] += s * field.x;
            b[i + 5] += s * field.y;
            b[i + 6] += s * field.z;
            b[i] += b[i + 4] * dt;
            b[i + 1] += b[i + 5] * dt;
            b[i + 2] += b[i + 6] * dt;
        }
        if (launch == 0)
            k11d<<<(n + 127) / 128, 128>>>(reinterpret_cast<Body *>(bodies), n, field, dt);
        else
            k11e<<<(n + 127) / 128, 128>>>(reinterpret_cast<Body4 *>(bodies), n, field, dt);
        MUST(cudaGetLastError());
        check(launch == 0 ? "k11d" : "k11e", on_device(spread(bodies, (size_t)n * 8, 960)), b, 1e-5);
        MUST(cudaFree(bodies));
    }
    return 0;
}
