// cuBLAS and Thrust: three dense layers with bias, GELU and residual over 131072 rows of 256 features.
#include <cublas_v2.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

#include "../step.cuh"

constexpr int ROWS = 131072;
constexpr int WIDTH = 256;
constexpr int LAYERS = 3;
constexpr int TILE = 32;
constexpr size_t VALUES = static_cast<size_t>(ROWS) * WIDTH;
constexpr size_t WORKSPACE = 32 << 20;

using Floats = thrust::device_ptr<float>;

struct State {
    cublasHandle_t blas;
    cudaStream_t stream;
    cudaGraphExec_t graph = nullptr;
    void *workspace;
    float *input = uniform_floats(VALUES, 1, -1.0f, 1.0f);
    float *weights = uniform_floats(LAYERS * WIDTH * WIDTH, 2, -0.1f, 0.1f);
    float *bias = uniform_floats(LAYERS * WIDTH, 3, -0.1f, 0.1f);
    float *other = device_floats(VALUES);
    float *by_column = device_floats(VALUES);
    float *product_by_column = device_floats(VALUES);
    float *result = device_floats(VALUES);
    size_t count = VALUES;

    State()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&workspace, WORKSPACE));
        CHECK(cublasCreate(&blas));
        CHECK(cublasSetStream(blas, stream));
        CHECK(cublasSetWorkspace(blas, workspace, WORKSPACE));
    }
    ~State() { cublasDestroy(blas); }

    // Where a layer reads and writes: the last one writes the result.
    const float *from(int layer) const { return layer == 0 ? input : layer % 2 ? result : other; }
    float *to(int layer) const { return layer % 2 ? other : result; }
};

static_assert(LAYERS % 2 == 1, "the last layer writes the result");

struct AddBias {
    const float *bias;
    __device__ float operator()(float x, int i) const { return x + bias[i % WIDTH]; }
};

struct Gelu {
    __device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
};

struct Add {
    __device__ float operator()(float x, float y) const { return x + y; }
};

struct BiasGeluAdd {
    const float *bias;
    template <class Values> __device__ float operator()(const Values &values) const
    {
        const float x = thrust::get<0>(values) + bias[thrust::get<2>(values) % WIDTH];
        return Gelu{}(x) + thrust::get<1>(values);
    }
};

__global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[TILE][TILE + 1];
    const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE;
    for (int y = threadIdx.y; y < TILE; y += blockDim.y)
        tile[y][threadIdx.x] = in[static_cast<size_t>(row + y) * columns + column];
    __syncthreads();
    const int out_column = blockIdx.y * TILE + threadIdx.x, out_row = blockIdx.x * TILE;
    for (int y = threadIdx.y; y < TILE; y += blockDim.y)
        out[static_cast<size_t>(out_row + y) * rows + out_column] = tile[threadIdx.x][y];
}

void transposed(State &state, const float *in, float *out, int rows, int columns)
{
    transpose<<<dim3(columns / TILE, rows / TILE), dim3(TILE, 8), 0, state.stream>>>(in, out, rows, columns);
    CHECK(cudaGetLastError());
}

// cuBLAS stores matrices by columns: copies of the rows in that order, and of the product back.
void product_of_copies(State &state, int layer)
{
    const float one = 1.0f, zero = 0.0f;
    transposed(state, state.from(layer), state.by_column, ROWS, WIDTH);
    CHECK(cublasSgemm(state.blas, CUBLAS_OP_N, CUBLAS_OP_N, ROWS, WIDTH, WIDTH, &one, state.by_column, ROWS,
                      state.weights + layer * WIDTH * WIDTH, WIDTH, &zero, state.product_by_column, ROWS));
    transposed(state, state.product_by_column, state.to(layer), WIDTH, ROWS);
}

// A matrix by rows is its transpose by columns.
void product(State &state, int layer)
{
    const float one = 1.0f, zero = 0.0f;
    CHECK(cublasSgemm(state.blas, CUBLAS_OP_T, CUBLAS_OP_N, WIDTH, ROWS, WIDTH, &one,
                      state.weights + layer * WIDTH * WIDTH, WIDTH, state.from(layer), WIDTH, &zero,
                      state.to(layer), WIDTH));
}

void three_transforms(State &state, int layer)
{
    const auto here = thrust::cuda::par_nosync.on(state.stream);
    const Floats out(state.to(layer)), in(const_cast<float *>(state.from(layer)));
    const thrust::counting_iterator<int> index(0);
    thrust::transform(here, out, out + VALUES, index, out, AddBias{state.bias + layer * WIDTH});
    thrust::transform(here, out, out + VALUES, out, Gelu{});
    thrust::transform(here, out, out + VALUES, in, out, Add{});
}

void one_transform(State &state, int layer)
{
    const auto here = thrust::cuda::par_nosync.on(state.stream);
    const Floats out(state.to(layer)), in(const_cast<float *>(state.from(layer)));
    const auto values = thrust::make_zip_iterator(out, in, thrust::counting_iterator<int>(0));
    thrust::transform(here, values, values + VALUES, out, BiasGeluAdd{state.bias + layer * WIDTH});
}

void transposed_copies(State &state)
{
    CHECK(cublasSetMathMode(state.blas, CUBLAS_DEFAULT_MATH));
    for (int layer = 0; layer < LAYERS; ++layer) {
        product_of_copies(state, layer);
        three_transforms(state, layer);
    }
}

void single_precision(State &state)
{
    CHECK(cublasSetMathMode(state.blas, CUBLAS_DEFAULT_MATH));
    for (int layer = 0; layer < LAYERS; ++layer) {
        product(state, layer);
        three_transforms(state, layer);
    }
}

void tf32(State &state)
{
    CHECK(cublasSetMathMode(state.blas, CUBLAS_TF32_TENSOR_OP_MATH));
    for (int layer = 0; layer < LAYERS; ++layer) {
        product(state, layer);
        three_transforms(state, layer);
    }
}

void tf32_fused(State &state)
{
    CHECK(cublasSetMathMode(state.blas, CUBLAS_TF32_TENSOR_OP_MATH));
    for (int layer = 0; layer < LAYERS; ++layer) {
        product(state, layer);
        one_transform(state, layer);
    }
}

void tf32_fused_graph(State &state)
{
    if (!state.graph) {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(state.stream, cudaStreamCaptureModeThreadLocal));
        tf32_fused(state);
        CHECK(cudaStreamEndCapture(state.stream, &graph));
        CHECK(cudaGraphInstantiate(&state.graph, graph, 0));
    }
    CHECK(cudaGraphLaunch(state.graph, state.stream));
}

int main(int argc, char **argv)
{
    State state;
    return run_steps<State>(argc, argv, state,
                            {{"transposed_copies", transposed_copies},
                             {"single_precision", single_precision},
                             {"tf32", tf32},
                             {"tf32_fused", tf32_fused},
                             {"tf32_fused_graph", tf32_fused_graph}},
                            1e-2);
}
