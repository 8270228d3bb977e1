// cuBLAS: an adapter of its own for each user of a recommender, followed by bias and gate.
#include <cublas_v2.h>

#include "../step.cuh"

constexpr int USERS = 384;
constexpr int FEATURES = 96;
constexpr int ITEMS = 64;
constexpr long long WEIGHTS = FEATURES * FEATURES;
constexpr long long VALUES = FEATURES * ITEMS;

struct State {
    cublasHandle_t blas;
    float *adapters = uniform_floats(USERS * WEIGHTS, 1, -0.1f, 0.1f);
    float *items = uniform_floats(USERS * VALUES, 2, -1.0f, 1.0f);
    float *bias = uniform_floats(FEATURES, 3, -0.5f, 0.5f);
    float *result = device_floats(USERS * VALUES);
    size_t count = USERS * VALUES;

    State() { CHECK(cublasCreate(&blas)); }
    ~State() { cublasDestroy(blas); }
};

// A column of a product holds the features of an item.
__global__ void gate(float *values, const float *bias, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const float x = values[i] + bias[i % FEATURES];
        values[i] = x / (1.0f + __expf(-x));
    }
}

void product_for_each_user(State &state)
{
    const float one = 1.0f, zero = 0.0f;
    for (int user = 0; user < USERS; ++user) {
        float *out = state.result + user * VALUES;
        CHECK(cublasSgemm(state.blas, CUBLAS_OP_T, CUBLAS_OP_N, FEATURES, ITEMS, FEATURES, &one,
                          state.adapters + user * WEIGHTS, FEATURES, state.items + user * VALUES, FEATURES, &zero,
                          out, FEATURES));
        gate<<<(VALUES + 255) / 256, 256>>>(out, state.bias, VALUES);
    }
    CHECK(cudaGetLastError());
}

void one_product_for_all(State &state)
{
    const float one = 1.0f, zero = 0.0f;
    CHECK(cublasSgemmStridedBatched(state.blas, CUBLAS_OP_T, CUBLAS_OP_N, FEATURES, ITEMS, FEATURES, &one,
                                    state.adapters, FEATURES, WEIGHTS, state.items, FEATURES, VALUES, &zero,
                                    state.result, FEATURES, VALUES, USERS));
    gate<<<(USERS * VALUES + 255) / 256, 256>>>(state.result, state.bias, USERS * VALUES);
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv)
{
    State state;
    return run_steps<State>(argc, argv, state,
                            {{"product_for_each_user", product_for_each_user},
                             {"one_product_for_all", one_product_for_all}},
                            1e-4);
}
