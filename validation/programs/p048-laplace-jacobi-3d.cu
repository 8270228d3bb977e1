// One Jacobi step of Laplace's equation on a regular three-dimensional grid with fixed boundary values.
#include "../harness.h"

#include <functional>

const int TX = 32, TY = 8;

// One thread for each node of a 2-D block, marching along k; nx is a multiple of TX, ny of TY.
__global__ void k48a(int nx, int ny, int nz, const float *__restrict__ u, float *__restrict__ v)
{
    __shared__ float s[3][TY + 2][TX + 2];
    const float sixth = 1.0f / 6.0f;
    const int plane = nx * ny;

    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * TX + tx, j = blockIdx.y * TY + ty;
    int here = i + j * nx;

    int t = tx + ty * TX, hx = 0, hy = 0, there = 0;
    bool halo = t < 2 * (TX + TY + 2);
    if (halo) {
        if (ty < 2) {
            hx = tx;
            hy = ty * (TY + 1) - 1;
        } else {
            hx = (t % 2) * (TX + 1) - 1;
            hy = (t - 2 * TX) / 2 - 1;
        }
        int gi = blockIdx.x * TX + hx, gj = blockIdx.y * TY + hy;
        there = gi + gj * nx;
        halo = gi >= 0 && gi < nx && gj >= 0 && gj < ny;
    }

    s[2][ty + 1][tx + 1] = u[here];
    if (halo)
        s[2][hy + 1][hx + 1] = u[there];

    for (int k = 0; k < nz; k++) {
        int at = here;
        here += plane;
        s[0][ty + 1][tx + 1] = s[1][ty + 1][tx + 1];
        s[1][ty + 1][tx + 1] = s[2][ty + 1][tx + 1];
        if (k < nz - 1)
            s[2][ty + 1][tx + 1] = u[here];
        if (halo) {
            there += plane;
            s[0][hy + 1][hx + 1] = s[1][hy + 1][hx + 1];
            s[1][hy + 1][hx + 1] = s[2][hy + 1][hx + 1];
            if (k < nz - 1)
                s[2][hy + 1][hx + 1] = u[there];
        }
        __syncthreads();

        float r;
        if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1)
            r = s[1][ty + 1][tx + 1];
        else
            r = (s[1][ty + 1][tx] + s[1][ty + 1][tx + 2] + s[1][ty][tx + 1] + s[1][ty + 2][tx + 1] +
                 s[0][ty + 1][tx + 1] + s[2][ty + 1][tx + 1]) * sixth;
        v[at] = r;
        __syncthreads();
    }
}

__global__ void k48b(int nx, int ny, int nz, const float *__restrict__ u, float *__restrict__ v)
{
    __shared__ float s[TY + 2][TX + 2];
    const float sixth = 1.0f / 6.0f;
    const int plane = nx * ny;

    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * TX + tx, j = blockIdx.y * TY + ty;
    int at = i + j * nx;
    bool edge = i == 0 || i == nx - 1 || j == 0 || j == ny - 1;

    float below, current = u[at], above = u[at + plane];
    v[at] = current;
    for (int k = 1; k < nz - 1; k++) {
        at += plane;
        below = current;
        current = above;
        above = u[at + plane];

        __syncthreads();
        s[ty + 1][tx + 1] = current;
        if (ty == 0 && j > 0)
            s[0][tx + 1] = u[at - nx];
        if (ty == TY - 1 && j < ny - 1)
            s[TY + 1][tx + 1] = u[at + nx];
        if (tx == 0 && i > 0)
            s[ty + 1][0] = u[at - 1];
        if (tx == TX - 1 && i < nx - 1)
            s[ty + 1][TX + 1] = u[at + 1];
        __syncthreads();

        v[at] = edge ? current
                     : (s[ty + 1][tx] + s[ty + 1][tx + 2] + s[ty][tx + 1] + s[ty + 2][tx + 1] + below + above) * sixth;
    }
    v[at + plane] = above;
}

__global__ void k48c(int nx, int ny, int nz, const float *__restrict__ u, float *__restrict__ v)
{
    const float sixth = 1.0f / 6.0f;
    const int plane = nx * ny;

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny)
        return;
    int at = i + j * nx;
    bool edge = i == 0 || i == nx - 1 || j == 0 || j == ny - 1;

    float below, current = u[at], above = u[at + plane];
    v[at] = current;
    for (int k = 1; k < nz - 1; k++) {
        at += plane;
        below = current;
        current = above;
        above = u[at + plane];
        if (edge)
            v[at] = current;
        else
            v[at] = (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] + below + above) * sixth;
    }
    v[at + plane] = above;
}

__global__ void k48d(int nx, int ny, int nz, const float *__restrict__ u, float *__restrict__ v)
{
    const float sixth = 1.0f / 6.0f;
    const int plane = nx * ny;

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= nx || j >= ny || k >= nz)
        return;
    int at = i + j * nx + k * plane;
    float r;
    if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1)
        r = u[at];
    else
        r = (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] + u[at - plane] + u[at + plane]) * sixth;
    v[at] = r;
}

const int IN_TILE = 8, OUT_TILE = IN_TILE - 2;

__global__ void k48e(int nx, int ny, int nz, const float *__restrict__ u, float *__restrict__ v)
{
    __shared__ float s[IN_TILE][IN_TILE][IN_TILE];
    const float sixth = 1.0f / 6.0f;

    int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    int i = (int)blockIdx.x * OUT_TILE + tx - 1;
    int j = (int)blockIdx.y * OUT_TILE + ty - 1;
    int k = (int)blockIdx.z * OUT_TILE + tz - 1;
    bool inside = i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz;
    int at = i + nx * (j + ny * k);
    if (inside)
        s[tz][ty][tx] = u[at];
    __syncthreads();

    if (inside && tx >= 1 && tx <= OUT_TILE && ty >= 1 && ty <= OUT_TILE && tz >= 1 && tz <= OUT_TILE) {
        float r;
        if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1)
            r = s[tz][ty][tx];
        else
            r = (s[tz][ty][tx - 1] + s[tz][ty][tx + 1] + s[tz][ty - 1][tx] + s[tz][ty + 1][tx] + s[tz - 1][ty][tx] +
                 s[tz + 1][ty][tx]) * sixth;
        v[at] = r;
    }
}

int main()
{
    const int nx = 512, ny = 512, nz = 128, plane = nx * ny;
    const size_t n = (size_t)plane * nz;
    float *u = input<float>(n, 481, 0.0, 1.0);
    float *v = output<float>(n);

    std::vector<float> want(n);
    {
        std::vector<float> h = on_host(u, n);
        for (int k = 0; k < nz; k++)
            for (int j = 0; j < ny; j++) {
                size_t row = (size_t)k * plane + (size_t)j * nx;
                bool edge = j == 0 || j == ny - 1 || k == 0 || k == nz - 1;
                for (int i = 0; i < nx; i++) {
                    size_t at = row + i;
                    if (edge || i == 0 || i == nx - 1)
                        want[at] = h[at];
                    else
                        want[at] = (h[at - 1] + h[at + 1] + h[at - nx] + h[at + nx] + h[at - plane] + h[at + plane]) / 6.0f;
                }
            }
    }
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(v, 0xA5, n * sizeof(float)));
        launch();
        check(name, v, want, 1e-5);
    };

    dim3 flat(TX, TY), columns(nx / TX, ny / TY);
    dim3 solid(32, 4, 2), boxes(nx / 32, ny / 4, nz / 2);
    dim3 cube(IN_TILE, IN_TILE, IN_TILE);
    dim3 cubes((nx + OUT_TILE - 1) / OUT_TILE, (ny + OUT_TILE - 1) / OUT_TILE, (nz + OUT_TILE - 1) / OUT_TILE);

    launch_and_check("k48a", [&] { k48a<<<columns, flat>>>(nx, ny, nz, u, v); });
    launch_and_check("k48b", [&] { k48b<<<columns, flat>>>(nx, ny, nz, u, v); });
    launch_and_check("k48c", [&] { k48c<<<columns, flat>>>(nx, ny, nz, u, v); });
    launch_and_check("k48d", [&] { k48d<<<boxes, solid>>>(nx, ny, nz, u, v); });
    launch_and_check("k48e", [&] { k48e<<<cubes, cube>>>(nx, ny, nz, u, v); });
    return 0;
}
