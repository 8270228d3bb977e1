// cuFFT: a band filter over 512 channels of 65536 samples, with Thrust for the elementwise steps.
#include <cufft.h>
#include <thrust/device_ptr.h>
#include <thrust/transform.h>

#include "../step.cuh"

constexpr int CHANNELS = 512;
constexpr int SAMPLES = 65536;
constexpr int HALF = SAMPLES / 2 + 1;
constexpr size_t VALUES = static_cast<size_t>(CHANNELS) * SAMPLES;

cufftHandle planned(cufftType type)
{
    cufftHandle plan;
    CHECK(cufftPlan1d(&plan, SAMPLES, type, CHANNELS));
    return plan;
}

struct State {
    float *signal = uniform_floats(VALUES, 1, -1.0f, 1.0f);
    float *gain = uniform_floats(HALF, 2, 0.0f, 1.0f);
    cufftComplex *spectrum = reinterpret_cast<cufftComplex *>(device_floats(2 * VALUES));
    float *result = device_floats(VALUES);
    size_t count = VALUES;
    cufftHandle both_ways = planned(CUFFT_C2C);
    cufftHandle forward = planned(CUFFT_R2C);
    cufftHandle inverse = planned(CUFFT_C2R);
};

struct ToComplex {
    __device__ cufftComplex operator()(float x) const { return {x, 0.0f}; }
};

struct RealPart {
    __device__ float operator()(cufftComplex x) const { return x.x / SAMPLES; }
};

struct Scale {
    __device__ float operator()(float x) const { return x / SAMPLES; }
};

// The spectrum of a real signal is symmetric, and so is the gain: frequency k has that of SAMPLES - k.
__global__ void apply_gain(cufftComplex *spectrum, const float *gain, int frequencies, float scale)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < frequencies) {
        const float by = gain[k < HALF ? k : SAMPLES - k] * scale;
        cufftComplex &value = spectrum[static_cast<size_t>(blockIdx.y) * frequencies + k];
        value = {value.x * by, value.y * by};
    }
}

void filter(State &state, int frequencies, float scale)
{
    const dim3 blocks((frequencies + 255) / 256, CHANNELS);
    apply_gain<<<blocks, 256>>>(state.spectrum, state.gain, frequencies, scale);
    CHECK(cudaGetLastError());
}

void complex_with(State &state, cufftHandle plan)
{
    const thrust::device_ptr<float> signal(state.signal), result(state.result);
    const thrust::device_ptr<cufftComplex> spectrum(state.spectrum);
    thrust::transform(signal, signal + VALUES, spectrum, ToComplex{});
    CHECK(cufftExecC2C(plan, state.spectrum, state.spectrum, CUFFT_FORWARD));
    filter(state, SAMPLES, 1.0f);
    CHECK(cufftExecC2C(plan, state.spectrum, state.spectrum, CUFFT_INVERSE));
    thrust::transform(spectrum, spectrum + VALUES, result, RealPart{});
}

void plan_in_every_step(State &state)
{
    cufftHandle plan = planned(CUFFT_C2C);
    complex_with(state, plan);
    CHECK(cufftDestroy(plan));
}

void complex_transforms(State &state)
{
    complex_with(state, state.both_ways);
}

void real_transforms(State &state)
{
    const thrust::device_ptr<float> result(state.result);
    CHECK(cufftExecR2C(state.forward, state.signal, state.spectrum));
    filter(state, HALF, 1.0f);
    CHECK(cufftExecC2R(state.inverse, state.spectrum, state.result));
    thrust::transform(result, result + VALUES, result, Scale{});
}

void scale_in_gain(State &state)
{
    CHECK(cufftExecR2C(state.forward, state.signal, state.spectrum));
    filter(state, HALF, 1.0f / SAMPLES);
    CHECK(cufftExecC2R(state.inverse, state.spectrum, state.result));
}

int main(int argc, char **argv)
{
    State state;
    return run_steps<State>(argc, argv, state,
                            {{"plan_in_every_step", plan_in_every_step},
                             {"complex_transforms", complex_transforms},
                             {"real_transforms", real_transforms},
                             {"scale_in_gain", scale_in_gain}},
                            1e-4);
}
