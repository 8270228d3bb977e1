// Half a sweep of the Metropolis algorithm for the two-dimensional Ising model (the black sites of a checkerboard), and the
// derivative of an advected field along x by the fifth-order WENO reconstruction of its faces.
#include "../harness.h"

#include <functional>

const int N = 8192, HALF = N / 2, WORDS = HALF / 16;
const float BETA = 0.44f;
const unsigned SEED = 741;

__host__ __device__ inline uint4 philox(unsigned counter, unsigned seed)
{
    unsigned x = counter, y = 0, z = 0, w = 0, k0 = seed, k1 = 0x1BD11BDA;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int round = 0; round < 10; round++) {
        unsigned long long p0 = 0xD2511F53ull * x, p1 = 0xCD9E8D57ull * z;
        unsigned nx = unsigned(p1 >> 32) ^ y ^ k0, nz = unsigned(p0 >> 32) ^ w ^ k1;
        y = unsigned(p1);
        w = unsigned(p0);
        x = nx;
        z = nz;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    uint4 r;
    r.x = x;
    r.y = y;
    r.z = z;
    r.w = w;
    return r;
}

__host__ __device__ inline float unit(unsigned x)
{
    return ((x >> 12) + 0.5f) * (1.0f / 1048576.0f);
}

// spin: +1 or -1 for each site of the whole lattice; random: a number for each black site.
__global__ void k74a(int *spin, const float *random, float beta, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n)
        return;

    if ((row + col) % 2 == 0) {
        int up = row > 0 ? row - 1 : n - 1;
        int down = row < n - 1 ? row + 1 : 0;
        int left = col > 0 ? col - 1 : n - 1;
        int right = col < n - 1 ? col + 1 : 0;
        int sum = spin[up * n + col] + spin[down * n + col] + spin[row * n + left] + spin[row * n + right];
        int s = spin[row * n + col];
        if (random[(row * n + col) / 2] < expf(-2.0f * beta * sum * s))
            spin[row * n + col] = -s;
    }
}

// black and white: the sites of each colour, half of the columns in a row.
__global__ void k74b(signed char *black, const signed char *__restrict__ white, const float *__restrict__ random,
                     float beta, int n, int half)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= half)
        return;

    int up = row > 0 ? row - 1 : n - 1;
    int down = row < n - 1 ? row + 1 : 0;
    int left = col > 0 ? col - 1 : half - 1;
    int right = col < half - 1 ? col + 1 : 0;
    int side = row % 2 ? right : left;
    int sum = white[up * half + col] + white[row * half + col] + white[down * half + col] + white[row * half + side];
    int s = black[row * half + col];
    if (random[row * half + col] < expf(-2.0f * beta * sum * s))
        black[row * half + col] = (signed char)-s;
}

typedef unsigned long long Word;

// Sixteen sites of a colour in a word, four bits each; chance[spin][neighbours that are up].
template <bool STORED>
__device__ __forceinline__ void sweep(Word *black, const Word *__restrict__ white, const float4 *__restrict__ random,
                                      unsigned seed, const float *__restrict__ chance, int n, int words)
{
    __shared__ float table[10];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    if (t < 10)
        table[t] = chance[t];
    __syncthreads();

    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= words)
        return;

    int up = row > 0 ? row - 1 : n - 1;
    int down = row < n - 1 ? row + 1 : 0;
    Word centre = white[row * words + col];
    Word side;
    if (row % 2) {
        Word next = white[row * words + (col < words - 1 ? col + 1 : 0)];
        side = centre >> 4 | next << 60;
    } else {
        Word previous = white[row * words + (col > 0 ? col - 1 : words - 1)];
        side = centre << 4 | previous >> 60;
    }
    Word sum = white[up * words + col] + centre + white[down * words + col] + side;
    Word me = black[row * words + col];

    Word flips = 0;
#pragma unroll
    for (int group = 0; group < 4; group++) {
        int at = (row * words + col) * 4 + group;
        float4 r;
        if (STORED) {
            r = random[at];
        } else {
            uint4 x = philox(at, seed);
            r = make_float4(unit(x.x), unit(x.y), unit(x.z), unit(x.w));
        }
        const float value[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int shift = (group * 4 + i) * 4;
            int spin = int(me >> shift) & 1, count = int(sum >> shift) & 15;
            flips |= Word(value[i] < table[spin * 5 + count]) << shift;
        }
    }
    black[row * words + col] = me ^ flips;
}

__global__ void k74c(Word *black, const Word *__restrict__ white, const float4 *__restrict__ random,
                     const float *__restrict__ chance, int n, int words)
{
    sweep<true>(black, white, random, 0, chance, n, words);
}

__global__ void k74d(Word *black, const Word *__restrict__ white, unsigned seed, const float *__restrict__ chance, int n,
                     int words)
{
    sweep<false>(black, white, nullptr, seed, chance, n, words);
}

// The value at the face to the right of the middle one of five cells.
template <class C, bool QUICK>
__device__ __forceinline__ float face(float a, float b, float c, float d, float e)
{
    float b0 = C(13.0 / 12.0) * (a - C(2.0) * b + c) * (a - C(2.0) * b + c) +
               C(0.25) * (a - C(4.0) * b + C(3.0) * c) * (a - C(4.0) * b + C(3.0) * c);
    float b1 = C(13.0 / 12.0) * (b - C(2.0) * c + d) * (b - C(2.0) * c + d) + C(0.25) * (b - d) * (b - d);
    float b2 = C(13.0 / 12.0) * (c - C(2.0) * d + e) * (c - C(2.0) * d + e) +
               C(0.25) * (C(3.0) * c - C(4.0) * d + e) * (C(3.0) * c - C(4.0) * d + e);
    float q0 = C(1.0 / 3.0) * a - C(7.0 / 6.0) * b + C(11.0 / 6.0) * c;
    float q1 = C(-1.0 / 6.0) * b + C(5.0 / 6.0) * c + C(1.0 / 3.0) * d;
    float q2 = C(1.0 / 3.0) * c + C(5.0 / 6.0) * d - C(1.0 / 6.0) * e;

    if constexpr (QUICK) {
        float a0 = __fdividef(0.1f, (1e-6f + b0) * (1e-6f + b0));
        float a1 = __fdividef(0.6f, (1e-6f + b1) * (1e-6f + b1));
        float a2 = __fdividef(0.3f, (1e-6f + b2) * (1e-6f + b2));
        return __fdividef(a0 * q0 + a1 * q1 + a2 * q2, a0 + a1 + a2);
    } else {
        float a0 = C(0.1) / ((C(1e-6) + b0) * (C(1e-6) + b0));
        float a1 = C(0.6) / ((C(1e-6) + b1) * (C(1e-6) + b1));
        float a2 = C(0.3) / ((C(1e-6) + b2) * (C(1e-6) + b2));
        return (a0 * q0 + a1 * q1 + a2 * q2) / (a0 + a1 + a2);
    }
}

__device__ __forceinline__ int wrapped(int i, int n)
{
    return i < 0 ? i + n : i >= n ? i - n : i;
}

template <class C>
__device__ __forceinline__ void both_faces(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx)
        return;
    size_t row = (size_t)blockIdx.y * nx;

    float v[6];
#pragma unroll
    for (int k = 0; k < 6; k++)
        v[k] = u[row + wrapped(i - 3 + k, nx)];
    float left = face<C, false>(v[0], v[1], v[2], v[3], v[4]);
    float right = face<C, false>(v[1], v[2], v[3], v[4], v[5]);
    du[row + i] = -scale * (right - left);
}

__global__ void k74e(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    both_faces<double>(u, du, nx, scale);
}

__global__ void k74f(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    both_faces<float>(u, du, nx, scale);
}

const int LINE = 256;

// nx is a multiple of LINE.
template <bool QUICK>
__device__ __forceinline__ void one_face(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    __shared__ float faces[LINE + 1];
    int t = threadIdx.x;
    int i = blockIdx.x * LINE + t;
    size_t row = (size_t)blockIdx.y * nx;

    float v[5];
#pragma unroll
    for (int k = 0; k < 5; k++)
        v[k] = u[row + wrapped(i - 2 + k, nx)];
    faces[t + 1] = face<float, QUICK>(v[0], v[1], v[2], v[3], v[4]);
    if (t == 0)
        faces[0] = face<float, QUICK>(u[row + wrapped(i - 3, nx)], v[0], v[1], v[2], v[3]);
    __syncthreads();

    du[row + i] = -scale * (faces[t + 1] - faces[t]);
}

__global__ void k74g(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    one_face<false>(u, du, nx, scale);
}

__global__ void k74h(const float *__restrict__ u, float *__restrict__ du, int nx, float scale)
{
    one_face<true>(u, du, nx, scale);
}

// Spin of the site (row, col) of the whole lattice before the half sweep: 1 or 0.
__host__ __device__ inline int first_spin(int row, int col)
{
    return scrambled((unsigned long long)row * N + col, 742) >> 30 ? 1 : 0;
}

__global__ void draw(float *random)
{
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 x = philox(group, SEED);
    random[group * 4 + 0] = unit(x.x);
    random[group * 4 + 1] = unit(x.y);
    random[group * 4 + 2] = unit(x.z);
    random[group * 4 + 3] = unit(x.w);
}

__global__ void prepare_whole(int *spin)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    spin[row * N + col] = first_spin(row, col) ? 1 : -1;
}

// Column of a site in the whole lattice.
__host__ __device__ inline int whole_column(int row, int col, bool black)
{
    return 2 * col + (black ? row % 2 : 1 - row % 2);
}

__global__ void prepare_bytes(signed char *black, signed char *white)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    black[row * HALF + col] = first_spin(row, whole_column(row, col, true)) ? 1 : -1;
    white[row * HALF + col] = first_spin(row, whole_column(row, col, false)) ? 1 : -1;
}

__global__ void prepare_words(Word *black, Word *white)
{
    int col = threadIdx.x, row = blockIdx.x;
    Word b = 0, w = 0;
    for (int i = 0; i < 16; i++) {
        b |= Word(first_spin(row, whole_column(row, col * 16 + i, true))) << (4 * i);
        w |= Word(first_spin(row, whole_column(row, col * 16 + i, false))) << (4 * i);
    }
    black[row * WORDS + col] = b;
    white[row * WORDS + col] = w;
}

const int STEP = 39, PICKED = N / STEP + 1;

// The black sites of every STEP-th row as bytes, from one of the three forms.
__global__ void pick_spins(const int *whole, const signed char *bytes, const Word *words, signed char *picked)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * STEP;
    int s = whole   ? whole[row * N + whole_column(row, col, true)]
            : bytes ? bytes[row * HALF + col]
                    : 2 * int(words[row * WORDS + col / 16] >> (col % 16 * 4) & 15) - 1;
    picked[blockIdx.y * HALF + col] = (signed char)s;
}

__global__ void pick_rows(const float *du, float *picked, int nx, int step)
{
    picked[blockIdx.x * nx + threadIdx.x] = du[(size_t)blockIdx.x * step * nx + threadIdx.x];
}

static double face_of(const float *v)
{
    double a = v[0], b = v[1], c = v[2], d = v[3], e = v[4];
    auto square = [](double x) { return x * x; };
    double b0 = 13.0 / 12.0 * square(a - 2 * b + c) + 0.25 * square(a - 4 * b + 3 * c);
    double b1 = 13.0 / 12.0 * square(b - 2 * c + d) + 0.25 * square(b - d);
    double b2 = 13.0 / 12.0 * square(c - 2 * d + e) + 0.25 * square(3 * c - 4 * d + e);
    double a0 = 0.1 / square(1e-6 + b0), a1 = 0.6 / square(1e-6 + b1), a2 = 0.3 / square(1e-6 + b2);
    return (a0 * (2 * a - 7 * b + 11 * c) + a1 * (5 * c - b + 2 * d) + a2 * (2 * c + 5 * d - e)) / 6 / (a0 + a1 + a2);
}

int main()
{
    static_assert(PICKED <= N && (PICKED - 1) * STEP < N, "rows inside the lattice");

    // The half sweep.
    float *random = output<float>((size_t)N * HALF);
    draw<<<N * (HALF / 4) / 256, 256>>>(random);
    std::vector<float> chances(10);
    for (int i = 0; i < 10; i++)
        chances[i] = expf(-2.0f * BETA * (i % 5 * 2 - 4) * (i / 5 * 2 - 1));
    float *chance = on_device(chances);

    std::vector<signed char> want((size_t)PICKED * HALF);
    for (int p = 0; p < PICKED; p++) {
        int row = p * STEP, up = (row + N - 1) % N, down = (row + 1) % N;
        for (int group = 0; group < HALF / 4; group++) {
            uint4 x = philox(row * (HALF / 4) + group, SEED);
            const unsigned drawn[4] = {x.x, x.y, x.z, x.w};
            for (int i = 0; i < 4; i++) {
                int col = whole_column(row, group * 4 + i, true);
                int count = first_spin(up, col) + first_spin(down, col) + first_spin(row, (col + 1) % N) +
                            first_spin(row, (col + N - 1) % N);
                int s = first_spin(row, col);
                bool flip = unit(drawn[i]) < chances[s * 5 + count];
                want[(size_t)p * HALF + group * 4 + i] = (s != int(flip)) ? 1 : -1;
            }
        }
    }
    signed char *picked = output<signed char>((size_t)PICKED * HALF);
    dim3 pick_grid(HALF / 256, PICKED);

    int *spin = output<int>((size_t)N * N);
    prepare_whole<<<dim3(N / 256, N), 256>>>(spin);
    k74a<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(spin, random, BETA, N);
    pick_spins<<<pick_grid, 256>>>(spin, nullptr, nullptr, picked);
    check("k74a", picked, want, 0.0);
    MUST(cudaFree(spin));

    signed char *black = output<signed char>((size_t)N * HALF), *white = output<signed char>((size_t)N * HALF);
    prepare_bytes<<<dim3(HALF / 256, N), 256>>>(black, white);
    MUST(cudaMemset(picked, 0xA5, (size_t)PICKED * HALF));
    k74b<<<dim3(HALF / 128, N), 128>>>(black, white, random, BETA, N, HALF);
    pick_spins<<<pick_grid, 256>>>(nullptr, black, nullptr, picked);
    check("k74b", picked, want, 0.0);

    Word *black_words = output<Word>((size_t)N * WORDS), *white_words = output<Word>((size_t)N * WORDS);
    dim3 sweep_grid(WORDS / 32, N / 8), sweep_block(32, 8);
    prepare_words<<<N, WORDS>>>(black_words, white_words);
    MUST(cudaMemset(picked, 0xA5, (size_t)PICKED * HALF));
    k74c<<<sweep_grid, sweep_block>>>(black_words, white_words, reinterpret_cast<float4 *>(random), chance, N, WORDS);
    pick_spins<<<pick_grid, 256>>>(nullptr, nullptr, black_words, picked);
    check("k74c", picked, want, 0.0);

    prepare_words<<<N, WORDS>>>(black_words, white_words);
    MUST(cudaMemset(picked, 0xA5, (size_t)PICKED * HALF));
    k74d<<<sweep_grid, sweep_block>>>(black_words, white_words, SEED, chance, N, WORDS);
    pick_spins<<<pick_grid, 256>>>(nullptr, nullptr, black_words, picked);
    check("k74d", picked, want, 0.0);

    // The derivative.
    const int nx = 512, rows = 32768, step = 97, chosen = (rows + step - 1) / step;
    const float scale = 1.0f;
    float *u = input<float>((size_t)nx * rows, 743, 0.5, 1.5);
    float *du = output<float>((size_t)nx * rows);
    float *picked_rows = output<float>(chosen * nx);
    std::vector<float> slopes(chosen * nx);
    for (int r = 0; r < chosen; r++) {
        std::vector<float> line = on_host(u + (size_t)r * step * nx, nx);
        std::vector<double> faces(nx);
        for (int i = 0; i < nx; i++) {
            float v[5];
            for (int k = 0; k < 5; k++)
                v[k] = line[(i - 2 + k + nx) % nx];
            faces[i] = face_of(v);
        }
        for (int i = 0; i < nx; i++)
            slopes[r * nx + i] = float(-scale * (faces[i] - faces[(i + nx - 1) % nx]));
    }
    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(du, 0xA5, (size_t)nx * rows * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_rows<<<chosen, nx>>>(du, picked_rows, nx, step);
        check(name, picked_rows, slopes, 2e-4);
    };
    dim3 lines(nx / LINE, rows);
    launch_and_check("k74e", [&] { k74e<<<lines, LINE>>>(u, du, nx, scale); });
    launch_and_check("k74f", [&] { k74f<<<lines, LINE>>>(u, du, nx, scale); });
    launch_and_check("k74g", [&] { k74g<<<lines, LINE>>>(u, du, nx, scale); });
    launch_and_check("k74h", [&] { k74h<<<lines, LINE>>>(u, du, nx, scale); });
    return 0;
}
