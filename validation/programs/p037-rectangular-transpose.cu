// Transpose of a matrix of 4096 rows and 8192 columns of floats.
#include "../harness.h"

#include <functional>

__global__ void k37a(float *out, const float *in, int nx, int ny)
{
    unsigned ix = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned iy = blockDim.y * blockIdx.y + threadIdx.y;
    if (ix < nx && iy < ny)
        out[ix * ny + iy] = in[iy * nx + ix];
}

__global__ void k37b(float *out, const float *in, int nx, int ny)
{
    unsigned iy = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned ix = blockDim.y * blockIdx.y + threadIdx.y;
    if (ix < nx && iy < ny)
        out[ix * ny + iy] = in[iy * nx + ix];
}

const int BX = 32, BY = 16, PAD = 2;

// nx is a multiple of 2 * BX, ny of BY.
__global__ void k37c(float *out, const float *in, int nx, int ny)
{
    __shared__ float tile[BY][BX];
    unsigned ix = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned iy = blockDim.y * blockIdx.y + threadIdx.y;

    unsigned flat = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned row = flat / blockDim.y;
    unsigned col = flat % blockDim.y;
    unsigned ox = blockDim.y * blockIdx.y + col;
    unsigned oy = blockDim.x * blockIdx.x + row;

    tile[threadIdx.y][threadIdx.x] = in[iy * nx + ix];
    __syncthreads();
    out[oy * ny + ox] = tile[col][row];
}

__global__ void k37d(float *out, const float *in, int nx, int ny)
{
    __shared__ float tile[BY][BX + PAD];
    unsigned ix = blockDim.x * blockIdx.x + threadIdx.x;
    unsigned iy = blockDim.y * blockIdx.y + threadIdx.y;

    unsigned flat = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned row = flat / blockDim.y;
    unsigned col = flat % blockDim.y;
    unsigned ox = blockDim.y * blockIdx.y + col;
    unsigned oy = blockDim.x * blockIdx.x + row;

    tile[threadIdx.y][threadIdx.x] = in[iy * nx + ix];
    __syncthreads();
    out[oy * ny + ox] = tile[col][row];
}

__device__ void two_tiles(float *out, const float *in, int nx, int ny, unsigned bx, unsigned by)
{
    __shared__ float tile[BY][2 * BX + PAD];
    unsigned ix = 2 * blockDim.x * bx + threadIdx.x;
    unsigned iy = blockDim.y * by + threadIdx.y;

    unsigned flat = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned row = flat / blockDim.y;
    unsigned col = flat % blockDim.y;
    unsigned ox = blockDim.y * by + col;
    unsigned oy = 2 * blockDim.x * bx + row;

    unsigned from = iy * nx + ix;
    unsigned to = oy * ny + ox;
    tile[threadIdx.y][threadIdx.x] = in[from];
    tile[threadIdx.y][threadIdx.x + BX] = in[from + BX];
    __syncthreads();
    out[to] = tile[col][row];
    out[to + ny * BX] = tile[col][row + BX];
}

__global__ void k37e(float *out, const float *in, int nx, int ny)
{
    two_tiles(out, in, nx, ny, blockIdx.x, blockIdx.y);
}

__global__ void k37f(float *out, const float *in, int nx, int ny)
{
    unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    unsigned by = block % gridDim.y;
    unsigned bx = (block / gridDim.y + by) % gridDim.x;
    two_tiles(out, in, nx, ny, bx, by);
}

int main()
{
    const int nx = 8192, ny = 4096;
    const size_t n = (size_t)nx * ny;
    float *in = input<float>(n, 371, 0.0, 25.6);
    float *out = output<float>(n);
    std::vector<float> want(n);
    {
        std::vector<float> host = on_host(in, n);
        const int tile = 64;
        for (int ty = 0; ty < ny; ty += tile)
            for (int tx = 0; tx < nx; tx += tile)
                for (int x = tx; x < tx + tile; x++)
                    for (int y = ty; y < ty + tile; y++)
                        want[(size_t)x * ny + y] = host[(size_t)y * nx + x];
    }

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        check(name, out, want, 0.0);
    };

    dim3 square(16, 16), wide(BX, BY);
    dim3 blocks(nx / BX, ny / BY), half(nx / (2 * BX), ny / BY);

    launch_and_check("k37a", [&] { k37a<<<dim3(nx / 16, ny / 16), square>>>(out, in, nx, ny); });
    launch_and_check("k37b", [&] { k37b<<<dim3(ny / 16, nx / 16), square>>>(out, in, nx, ny); });
    launch_and_check("k37c", [&] { k37c<<<blocks, wide>>>(out, in, nx, ny); });
    launch_and_check("k37d", [&] { k37d<<<blocks, wide>>>(out, in, nx, ny); });
    launch_and_check("k37e", [&] { k37e<<<half, wide>>>(out, in, nx, ny); });
    launch_and_check("k37f", [&] { k37f<<<half, wide>>>(out, in, nx, ny); });
    return 0;
}
