// Thrust and CUB: least, largest and mean value of 24 sensors with two million samples each.
#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include <numeric>

#include "../step.cuh"

constexpr int SENSORS = 24;
constexpr int SAMPLES = 1 << 21;

struct Summary {
    float least, largest, sum;
};

struct Alone {
    __host__ __device__ Summary operator()(float x) const { return {x, x, x}; }
};

struct Together {
    __host__ __device__ Summary operator()(const Summary &a, const Summary &b) const
    {
        return {a.least < b.least ? a.least : b.least, a.largest > b.largest ? a.largest : b.largest, a.sum + b.sum};
    }
};

struct FirstSample {
    __host__ __device__ int operator()(int sensor) const { return sensor * SAMPLES; }
};

const Summary NOTHING{INFINITY, -INFINITY, 0.0f};

struct State {
    thrust::device_ptr<float> samples{uniform_floats(SENSORS * static_cast<size_t>(SAMPLES), 1, 20.0f, 80.0f)};
    thrust::device_vector<Summary> summaries{SENSORS};
    thrust::host_vector<Summary> on_host{SENSORS};
    thrust::device_vector<char> storage;
    float *result = device_floats(3 * SENSORS);
    size_t count = 3 * SENSORS;

    thrust::device_ptr<float> of(int sensor) const { return samples + sensor * static_cast<ptrdiff_t>(SAMPLES); }

    // CUB's temporary storage, which is there from the first step on.
    char *stored(size_t bytes)
    {
        if (storage.size() < bytes)
            storage.resize(bytes);
        return thrust::raw_pointer_cast(storage.data());
    }
};

__global__ void write_means(const Summary *summaries, float *result)
{
    const Summary summary = summaries[threadIdx.x];
    result[3 * threadIdx.x] = summary.least;
    result[3 * threadIdx.x + 1] = summary.largest;
    result[3 * threadIdx.x + 2] = summary.sum / SAMPLES;
}

void write_result(State &state)
{
    write_means<<<1, SENSORS>>>(thrust::raw_pointer_cast(state.summaries.data()), state.result);
    CHECK(cudaGetLastError());
}

void sorted_to_host(State &state)
{
    for (int sensor = 0; sensor < SENSORS; ++sensor) {
        thrust::device_vector<float> sorted(state.of(sensor), state.of(sensor) + SAMPLES);
        thrust::sort(sorted.begin(), sorted.end());
        thrust::host_vector<float> values = sorted;
        const double sum = std::accumulate(values.begin(), values.end(), 0.0);
        state.on_host[sensor] = {values.front(), values.back(), static_cast<float>(sum)};
    }
    state.summaries = state.on_host;
    write_result(state);
}

void sorted_on_device(State &state)
{
    for (int sensor = 0; sensor < SENSORS; ++sensor) {
        thrust::device_vector<float> sorted(state.of(sensor), state.of(sensor) + SAMPLES);
        thrust::sort(sorted.begin(), sorted.end());
        const float sum = thrust::reduce(sorted.begin(), sorted.end());
        state.on_host[sensor] = {sorted.front(), sorted.back(), sum};
    }
    state.summaries = state.on_host;
    write_result(state);
}

void reduced_to_host(State &state)
{
    for (int sensor = 0; sensor < SENSORS; ++sensor) {
        state.on_host[sensor] =
            thrust::transform_reduce(state.of(sensor), state.of(sensor) + SAMPLES, Alone{}, NOTHING, Together{});
    }
    state.summaries = state.on_host;
    write_result(state);
}

void reduced_in_kept_storage(State &state)
{
    Summary *summaries = thrust::raw_pointer_cast(state.summaries.data());
    size_t bytes = 0;
    CHECK(cub::DeviceReduce::TransformReduce(nullptr, bytes, state.of(0), summaries, SAMPLES, Together{}, Alone{},
                                             NOTHING));
    char *storage = state.stored(bytes);
    for (int sensor = 0; sensor < SENSORS; ++sensor) {
        CHECK(cub::DeviceReduce::TransformReduce(storage, bytes, state.of(sensor), summaries + sensor, SAMPLES,
                                                 Together{}, Alone{}, NOTHING));
    }
    write_result(state);
}

void one_segmented_call(State &state)
{
    Summary *summaries = thrust::raw_pointer_cast(state.summaries.data());
    const auto values = thrust::make_transform_iterator(state.samples, Alone{});
    const auto firsts = thrust::make_transform_iterator(thrust::make_counting_iterator(0), FirstSample{});
    size_t bytes = 0;
    CHECK(cub::DeviceSegmentedReduce::Reduce(nullptr, bytes, values, summaries, SENSORS, firsts, firsts + 1,
                                             Together{}, NOTHING));
    CHECK(cub::DeviceSegmentedReduce::Reduce(state.stored(bytes), bytes, values, summaries, SENSORS, firsts,
                                             firsts + 1, Together{}, NOTHING));
    write_result(state);
}

int main(int argc, char **argv)
{
    State state;
    return run_steps<State>(argc, argv, state,
                            {{"sorted_to_host", sorted_to_host},
                             {"sorted_on_device", sorted_on_device},
                             {"reduced_to_host", reduced_to_host},
                             {"reduced_in_kept_storage", reduced_in_kept_storage},
                             {"one_segmented_call", one_segmented_call}},
                            1e-4);
}
