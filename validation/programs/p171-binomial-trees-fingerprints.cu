// Prices of European options by binomial trees, and the Tanimoto similarity of a molecule's fingerprint to a database.
#include "../harness.h"

#include <functional>

// Trees of 1023 steps, with 1024 leaves.
const int OPTIONS = 4096, NODES = 1024;

struct Option {
    float stock, strike, move, up, down;
};

__host__ __device__ inline float payoff(const Option &option, int leaf)
{
    float price = option.stock * expf(option.move * (2 * leaf - (NODES - 1)));
    return fmaxf(price - option.strike, 0.0f);
}

// A block for each option, a thread for each node.
__global__ void k171a(float *price, float *tree, const Option *options)
{
    Option option = options[blockIdx.x];
    float *value = tree + (size_t)blockIdx.x * NODES;
    int t = threadIdx.x;
    value[t] = payoff(option, t);
    __syncthreads();
    for (int i = NODES - 1; i > 0; i--) {
        float next = 0.0f;
        if (t < i)
            next = option.up * value[t + 1] + option.down * value[t];
        __syncthreads();
        if (t < i)
            value[t] = next;
        __syncthreads();
    }
    if (t == 0)
        price[blockIdx.x] = value[0];
}

__global__ void k171b(float *price, const Option *options)
{
    __shared__ float value[NODES];
    Option option = options[blockIdx.x];
    int t = threadIdx.x;
    value[t] = payoff(option, t);
    __syncthreads();
    for (int i = NODES - 1; i > 0; i--) {
        float next = 0.0f;
        if (t < i)
            next = option.up * value[t + 1] + option.down * value[t];
        __syncthreads();
        if (t < i)
            value[t] = next;
        __syncthreads();
    }
    if (t == 0)
        price[blockIdx.x] = value[0];
}

__global__ void k171c(float *price, const Option *options)
{
    __shared__ float value[2][NODES];
    Option option = options[blockIdx.x];
    int t = threadIdx.x, now = 0;
    value[0][t] = payoff(option, t);
    __syncthreads();
    for (int i = NODES - 1; i > 0; i--) {
        if (t < i)
            value[now ^ 1][t] = option.up * value[now][t + 1] + option.down * value[now][t];
        now ^= 1;
        __syncthreads();
    }
    if (t == 0)
        price[blockIdx.x] = value[now][0];
}

const int PER = 8;

// A block of 128 threads for each option.
__global__ void k171d(float *price, const Option *options)
{
    __shared__ float first[NODES / PER + 1];
    Option option = options[blockIdx.x];
    int t = threadIdx.x;
    float value[PER + 1];
#pragma unroll
    for (int j = 0; j < PER; j++)
        value[j] = payoff(option, t * PER + j);
    if (t == 0)
        first[NODES / PER] = 0.0f;
    for (int i = NODES - 1; i > 0; i--) {
        first[t] = value[0];
        __syncthreads();
        value[PER] = first[t + 1];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < PER; j++)
            value[j] = option.up * value[j + 1] + option.down * value[j];
    }
    if (t == 0)
        price[blockIdx.x] = value[0];
}

const int LANE = NODES / 32;

// A warp for each option.
__global__ void __launch_bounds__(128) k171e(float *price, const Option *options, int count)
{
    int o = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (o >= count)
        return;
    Option option = options[o];
    float value[LANE + 1];
#pragma unroll
    for (int j = 0; j < LANE; j++)
        value[j] = payoff(option, lane * LANE + j);
    for (int i = NODES - 1; i > 0; i--) {
        value[LANE] = __shfl_down_sync(0xFFFFFFFFu, value[0], 1);
#pragma unroll
        for (int j = 0; j < LANE; j++)
            value[j] = option.up * value[j + 1] + option.down * value[j];
    }
    if (lane == 0)
        price[o] = value[0];
}

// Fingerprints of 1024 bits for 4 Mi molecules.
const int MOLECULES = 1 << 22, WORDS = 32;

__host__ __device__ inline unsigned bits_of(size_t molecule, int word)
{
    size_t i = molecule * WORDS + word;
    return scrambled(i, 1714) & scrambled(i, 1715);
}

// data: [molecule][word]
__global__ void k171f(float *similarity, const unsigned *data, const unsigned *query, int molecules, int words)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= molecules)
        return;
    int mine = 0, asked = 0, both = 0;
    for (int w = 0; w < words; w++) {
        unsigned x = data[(size_t)m * words + w], q = query[w];
        mine += __popc(x);
        asked += __popc(q);
        both += __popc(x & q);
    }
    similarity[m] = float(both) / float(mine + asked - both);
}

// data: [word][molecule]
__global__ void k171g(float *__restrict__ similarity, const unsigned *__restrict__ data,
                      const unsigned *__restrict__ query, int molecules, int asked)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= molecules)
        return;
    int mine = 0, both = 0;
#pragma unroll 16
    for (int w = 0; w < WORDS; w++) {
        unsigned x = data[(size_t)w * molecules + m];
        mine += __popc(x);
        both += __popc(x & query[w]);
    }
    similarity[m] = float(both) / float(mine + asked - both);
}

__constant__ unsigned query_bits[WORDS];

__global__ void k171h(float *__restrict__ similarity, const unsigned *__restrict__ data, int molecules, int asked)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= molecules)
        return;
    int mine = 0, both = 0;
#pragma unroll 16
    for (int w = 0; w < WORDS; w++) {
        unsigned x = data[(size_t)w * molecules + m];
        mine += __popc(x);
        both += __popc(x & query_bits[w]);
    }
    similarity[m] = float(both) / float(mine + asked - both);
}

__global__ void fill_fingerprints(unsigned *rows, unsigned *columns)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)MOLECULES * WORDS; i += (size_t)gridDim.x * blockDim.x) {
        size_t m = i % MOLECULES;
        int w = int(i / MOLECULES);
        columns[i] = rows[m * WORDS + w] = bits_of(m, w);
    }
}

// Runs a launch on poisoned output and checks some rows of it: 0, every, 2 * every, ...
void sampled(const char *name, float *out, int row, int every, int rows, const std::vector<float> &want,
             double tolerance, std::function<void()> launch)
{
    const size_t bytes = row * sizeof(float);
    float *some = output<float>(want.size());
    MUST(cudaMemset(out, 0xA5, bytes * rows));
    launch();
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, out, every * bytes, bytes, want.size() / row, cudaMemcpyDeviceToDevice));
    check(name, some, want, tolerance);
    MUST(cudaFree(some));
}

int main()
{
    const double rate = 0.02, volatility = 0.3;
    std::vector<Option> list(OPTIONS);
    std::vector<float> prices;
    for (int o = 0; o < OPTIONS; o++) {
        auto between = [&](int seed, double low, double high) {
            return low + (high - low) * (scrambled(o, seed) / 4294967296.0);
        };
        double stock = between(1711, 20.0, 60.0), strike = between(1712, 20.0, 60.0), years = between(1713, 0.25, 5.0);
        double dt = years / (NODES - 1), move = volatility * std::sqrt(dt), discount = std::exp(-rate * dt);
        double up = std::exp(move), down = std::exp(-move), p = (std::exp(rate * dt) - down) / (up - down);
        list[o] = {float(stock), float(strike), float(move), float(p * discount), float((1 - p) * discount)};
        if (o % 64)
            continue;
        std::vector<double> value(NODES);
        for (int leaf = 0; leaf < NODES; leaf++)
            value[leaf] = std::fmax(list[o].stock * std::exp(double(list[o].move) * (2 * leaf - (NODES - 1))) - list[o].strike, 0.0);
        for (int i = NODES - 1; i > 0; i--)
            for (int t = 0; t < i; t++)
                value[t] = double(list[o].up) * value[t + 1] + double(list[o].down) * value[t];
        prices.push_back(float(value[0]));
    }
    Option *options = on_device(list);
    float *tree = output<float>((size_t)OPTIONS * NODES), *price = output<float>(OPTIONS);
    auto priced = [&](const char *name, std::function<void()> launch) {
        sampled(name, price, 1, 64, OPTIONS, prices, 1e-3, launch);
    };
    priced("k171a", [&] { k171a<<<OPTIONS, NODES>>>(price, tree, options); });
    priced("k171b", [&] { k171b<<<OPTIONS, NODES>>>(price, options); });
    priced("k171c", [&] { k171c<<<OPTIONS, NODES>>>(price, options); });
    priced("k171d", [&] { k171d<<<OPTIONS, NODES / PER>>>(price, options); });
    priced("k171e", [&] { k171e<<<OPTIONS / 4, 128>>>(price, options, OPTIONS); });

    unsigned *by_molecule = output<unsigned>((size_t)MOLECULES * WORDS);
    unsigned *by_word = output<unsigned>((size_t)MOLECULES * WORDS);
    float *similarity = output<float>(MOLECULES);
    fill_fingerprints<<<1056, 256>>>(by_molecule, by_word);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned> wanted(WORDS);
    int asked = 0;
    for (int w = 0; w < WORDS; w++) {
        wanted[w] = scrambled(w, 1716) & scrambled(w, 1717);
        asked += __builtin_popcount(wanted[w]);
    }
    unsigned *query = on_device(wanted);
    MUST(cudaMemcpyToSymbol(query_bits, wanted.data(), WORDS * sizeof(unsigned)));
    const int row = 1024, rows = MOLECULES / row, every = 64;
    std::vector<float> scores;
    for (int r = 0; r < rows; r += every)
        for (int m = r * row; m < (r + 1) * row; m++) {
            int mine = 0, both = 0;
            for (int w = 0; w < WORDS; w++) {
                unsigned x = bits_of(m, w);
                mine += __builtin_popcount(x);
                both += __builtin_popcount(x & wanted[w]);
            }
            scores.push_back(float(both) / float(mine + asked - both));
        }
    auto compared = [&](const char *name, std::function<void()> launch) {
        sampled(name, similarity, row, every, rows, scores, 1e-6, launch);
    };
    const int blocks = MOLECULES / 256;
    compared("k171f", [&] { k171f<<<blocks, 256>>>(similarity, by_molecule, query, MOLECULES, WORDS); });
    compared("k171g", [&] { k171g<<<blocks, 256>>>(similarity, by_word, query, MOLECULES, asked); });
    compared("k171h", [&] { k171h<<<blocks, 256>>>(similarity, by_word, MOLECULES, asked); });
    return 0;
}
