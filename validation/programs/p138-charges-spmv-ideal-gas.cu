// Potential of 2000 point charges on a plane of 1024 x 1024 points; sparse matrix times vector for a 27-point operator
// on 160^3 nodes; the equation of state of an ideal gas on 8192 x 4096 cells.
#include "../harness.h"

const int ATOMS = 2000, SIDE = 1024;
const float SPACING = 0.1f;

// Place in the plane, square of the distance to the plane, charge.
__constant__ float4 atom[ATOMS];

__global__ void k138a(float *energy, int atoms, float spacing, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float px = x * spacing, py = y * spacing, sum = 0.0f;
    for (int i = 0; i < atoms; i++) {
        float dx = px - atom[i].x, dy = py - atom[i].y;
        sum += atom[i].w / sqrtf(dx * dx + dy * dy + atom[i].z);
    }
    energy[y * width + x] = sum;
}

__global__ void k138b(float *energy, int atoms, float spacing, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float px = x * spacing, py = y * spacing, sum = 0.0f;
    for (int i = 0; i < atoms; i++) {
        float dx = px - atom[i].x, dy = py - atom[i].y;
        sum += atom[i].w * rsqrtf(dx * dx + dy * dy + atom[i].z);
    }
    energy[y * width + x] = sum;
}

// A block for each line of 8 * blockDim.x points.
__global__ void k138c(float *energy, int atoms, float spacing, int width)
{
    int x = threadIdx.x, y = blockIdx.x;
    float px[8], sum[8], py = y * spacing;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        px[k] = (x + k * blockDim.x) * spacing;
        sum[k] = 0.0f;
    }
    for (int i = 0; i < atoms; i++) {
        float4 p = atom[i];
        float dy = py - p.y, rest = dy * dy + p.z;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float dx = px[k] - p.x;
            sum[k] += p.w * rsqrtf(dx * dx + rest);
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        energy[y * width + x + k * blockDim.x] = sum[k];
}

const int MESH = 160, NODES = MESH * MESH * MESH, POINTS = 27;

__global__ void k138d(float *y, const int *start, const int *column, const float *value, const float *x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int e = start[row]; e < start[row + 1]; e++)
            sum += value[e] * x[column[e]];
        y[row] = sum;
    }
}

// A warp for each row.
__global__ void k138e(float *y, const int *start, const int *column, const float *value, const float *x, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = start[row + 1];
    for (int e = start[row] + lane; e < end; e += 32)
        sum += value[e] * x[column[e]];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

// Entry k of every row, then entry k + 1 of every row; short rows end in zeros.
__global__ void k138f(float *y, const int *column, const float *value, const float *x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
#pragma unroll 9
        for (int k = 0; k < POINTS; k++)
            sum += value[k * rows + row] * x[column[k * rows + row]];
        y[row] = sum;
    }
}

struct Cell {
    float density, xvel, yvel, energy, viscosity, pressure, volume, soundspeed;
};

const int CELLS_X = 8192, CELLS_Y = 4096;
const float GAMMA = 1.4f;

__global__ void k138g(Cell *cell, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) {
        Cell &c = cell[j * nx + i];
        float density = c.density, v = 1.0f / density;
        float pressure = (GAMMA - 1.0f) * density * c.energy;
        float by_energy = (GAMMA - 1.0f) * density, by_volume = -density * pressure;
        c.pressure = pressure;
        c.soundspeed = sqrtf(v * v * (pressure * by_energy - by_volume));
    }
}

__global__ void k138h(const float *__restrict__ density, const float *__restrict__ energy,
                      float *__restrict__ pressure, float *__restrict__ soundspeed, int nx, int ny)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) {
        int at = j * nx + i;
        float d = density[at], v = 1.0f / d;
        float p = (GAMMA - 1.0f) * d * energy[at];
        float by_energy = (GAMMA - 1.0f) * d, by_volume = -d * p;
        pressure[at] = p;
        soundspeed[at] = sqrtf(v * v * (p * by_energy - by_volume));
    }
}

__host__ __device__ inline float entry(int row, int k)
{
    return float(scrambled((unsigned long long)row * POINTS + k, 1381) / 4294967296.0 - 0.5);
}

// Writes the columns of a row and says how many they are.
__host__ __device__ inline int neighbours(int row, int *cols)
{
    int x = row % MESH, y = row / MESH % MESH, z = row / (MESH * MESH), k = 0;
    for (int c = z - 1; c <= z + 1; c++)
        for (int b = y - 1; b <= y + 1; b++)
            for (int a = x - 1; a <= x + 1; a++)
                if (a >= 0 && a < MESH && b >= 0 && b < MESH && c >= 0 && c < MESH)
                    cols[k++] = (c * MESH + b) * MESH + a;
    return k;
}

__global__ void fill_matrix(const int *start, int *column, float *value, int *wide_column, float *wide_value)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= NODES)
        return;
    int cols[POINTS];
    int n = neighbours(row, cols);
    for (int k = 0; k < POINTS; k++) {
        wide_column[k * NODES + row] = k < n ? cols[k] : row;
        wide_value[k * NODES + row] = k < n ? entry(row, k) : 0.0f;
        if (k < n) {
            column[start[row] + k] = cols[k];
            value[start[row] + k] = entry(row, k);
        }
    }
}

__global__ void fill_separate(const Cell *cell, float *density, float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        density[i] = cell[i].density;
        energy[i] = cell[i].energy;
    }
}

void charges()
{
    std::vector<float4> atoms(ATOMS);
    for (int i = 0; i < ATOMS; i++) {
        auto part = [&](int k) { return scrambled(4 * i + k, 1382) / 4294967296.0; };
        double z = 1.0 + 8.0 * part(2);
        atoms[i] = make_float4(float(102.4 * part(0)), float(102.4 * part(1)), float(z * z), float(2 * part(3) - 1));
    }
    MUST(cudaMemcpyToSymbol(atom, atoms.data(), ATOMS * sizeof(float4)));
    const int n = SIDE * SIDE, line = 300, column = 517;
    std::vector<float> want(2 * SIDE);
    for (int i = 0; i < 2 * SIDE; i++) {
        double px = double(SPACING) * (i < SIDE ? i : column), py = double(SPACING) * (i < SIDE ? line : i - SIDE);
        double sum = 0;
        for (const float4 &p : atoms)
            sum += p.w / std::sqrt((px - p.x) * (px - p.x) + (py - p.y) * (py - p.y) + p.z);
        want[i] = float(sum);
    }
    float *energy = output<float>(n), *some = output<float>(2 * SIDE);
    k138a<<<dim3(SIDE / 128, SIDE), 128>>>(energy, ATOMS, SPACING, SIDE);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(some, energy + line * SIDE, SIDE * 4, cudaMemcpyDeviceToDevice));
    MUST(cudaMemcpy2D(some + SIDE, 4, energy + column, SIDE * 4, 4, SIDE, cudaMemcpyDeviceToDevice));
    check("k138a", some, want, 1e-4);
    std::vector<float> all = on_host(energy, n);
    MUST(cudaMemset(energy, 0xA5, n * 4));
    k138b<<<dim3(SIDE / 128, SIDE), 128>>>(energy, ATOMS, SPACING, SIDE);
    check("k138b", energy, all, 1e-4);
    MUST(cudaMemset(energy, 0xA5, n * 4));
    k138c<<<SIDE, SIDE / 8>>>(energy, ATOMS, SPACING, SIDE);
    check("k138c", energy, all, 1e-4);
}

void sparse()
{
    std::vector<int> start(NODES + 1);
    auto near = [](int i) { return 3 - (i == 0) - (i == MESH - 1); };
    start[0] = 0;
    for (int row = 0; row < NODES; row++)
        start[row + 1] = start[row] + near(row % MESH) * near(row / MESH % MESH) * near(row / (MESH * MESH));
    const size_t entries = start[NODES], wide = (size_t)NODES * POINTS;
    int *starts = on_device(start), *column = output<int>(entries), *wide_column = output<int>(wide);
    float *value = output<float>(entries), *wide_value = output<float>(wide);
    fill_matrix<<<(NODES + 255) / 256, 256>>>(starts, column, value, wide_column, wide_value);
    float *x = input<float>(NODES, 1383, -1.0, 1.0), *y = output<float>(NODES);
    std::vector<float> hx = on_host(x, NODES);
    // Every 500th row on the host.
    const int every = 500, chosen = NODES / every;
    std::vector<float> want(chosen);
    for (int i = 0; i < chosen; i++) {
        double sum = 0;
        int cols[POINTS], n = neighbours(i * every, cols);
        for (int k = 0; k < n; k++)
            sum += double(entry(i * every, k)) * hx[cols[k]];
        want[i] = float(sum);
    }
    float *some = output<float>(chosen);
    k138d<<<NODES / 256, 256>>>(y, starts, column, value, x, NODES);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy2D(some, 4, y, every * 4, 4, chosen, cudaMemcpyDeviceToDevice));
    check("k138d", some, want, 1e-5);
    std::vector<float> all = on_host(y, NODES);
    MUST(cudaMemset(y, 0xA5, NODES * 4));
    k138e<<<NODES / 8, 256>>>(y, starts, column, value, x, NODES);
    check("k138e", y, all, 1e-5);
    MUST(cudaMemset(y, 0xA5, NODES * 4));
    k138f<<<NODES / 256, 256>>>(y, wide_column, wide_value, x, NODES);
    check("k138f", y, all, 1e-5);
}

void gas()
{
    const int n = CELLS_X * CELLS_Y, every = 1024, chosen = n / every;
    Cell *cell = (Cell *)input<float>((size_t)n * 8, 1384, 0.5, 2.0), *some = (Cell *)output<float>((size_t)chosen * 8);
    float *density = output<float>(n), *energy = output<float>(n);
    float *pressure = output<float>(n), *soundspeed = output<float>(n);
    fill_separate<<<n / 256, 256>>>(cell, density, energy, n);
    MUST(cudaDeviceSynchronize());
    // Pressure and speed of sound of every 1024th cell, with the fields that stay as they are.
    std::vector<float> want((size_t)chosen * 8);
    MUST(cudaMemcpy2D(want.data(), sizeof(Cell), cell, every * sizeof(Cell), sizeof(Cell), chosen, cudaMemcpyDeviceToHost));
    for (int i = 0; i < chosen; i++) {
        double d = want[i * 8], p = (double(GAMMA) - 1) * d * want[i * 8 + 3];
        want[i * 8 + 5] = float(p);
        want[i * 8 + 7] = float(std::sqrt(p / d * double(GAMMA)));
    }
    dim3 grid(CELLS_X / 64, CELLS_Y / 4), block(64, 4);
    k138g<<<grid, block>>>(cell, CELLS_X, CELLS_Y);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy2D(some, sizeof(Cell), cell, every * sizeof(Cell), sizeof(Cell), chosen, cudaMemcpyDeviceToDevice));
    check("k138g", (float *)some, want, 1e-5);
    k138h<<<grid, block>>>(density, energy, pressure, soundspeed, CELLS_X, CELLS_Y);
    MUST(cudaGetLastError());
    float *two = (float *)some;
    MUST(cudaMemcpy2D(two, 4, pressure, every * 4, 4, chosen, cudaMemcpyDeviceToDevice));
    MUST(cudaMemcpy2D(two + chosen, 4, soundspeed, every * 4, 4, chosen, cudaMemcpyDeviceToDevice));
    std::vector<float> both(2 * chosen);
    for (int i = 0; i < chosen; i++) {
        both[i] = want[i * 8 + 5];
        both[chosen + i] = want[i * 8 + 7];
    }
    check("k138h", two, both, 1e-5);
}

int main()
{
    charges();
    sparse();
    gas();
    return 0;
}
