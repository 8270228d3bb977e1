// What reports of different versions and options of ncu are made of: a kernel with one clear change, one that is finished, a
// range of two kernels, and a graph of two.
#include <cstdio>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <vector>

#define TILE 32
#define ROWS 8

// The tile is read by columns: 32-way bank conflicts. Padding is the change.
__global__ void conflicts(float *out, const float *in, int n)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// A copy at the bandwidth of device memory: finished.
__global__ void finished(float4 *out, const float4 *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i];
}

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

int main(int argc, char **argv)
{
    const int n = 8192;
    float *in, *out;
    check(cudaMalloc(&in, sizeof(float) * n * n));
    check(cudaMalloc(&out, sizeof(float) * n * n));
    check(cudaMemset(in, 1, sizeof(float) * n * n));
    dim3 grid(n / TILE, n / TILE), block(TILE, ROWS);
    auto both = [&](cudaStream_t stream) {
        conflicts<<<grid, block, 0, stream>>>(out, in, n);
        finished<<<132 * 16, 256, 0, stream>>>(reinterpret_cast<float4 *>(out), reinterpret_cast<const float4 *>(in), n / 4 * n);
    };
    if (argc > 1 && argv[1][0] == 'g') {
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t made;
        check(cudaStreamCreate(&stream));
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        both(stream);
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&made, graph, 0));
        check(cudaGraphLaunch(made, stream));
        check(cudaStreamSynchronize(stream));
        return 0;
    }
    check(cudaProfilerStart());
    both(0);
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
    std::vector<float> first(1);
    check(cudaMemcpy(first.data(), out, sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%g\n", first[0]);
}
