// The two matrix-vector products of the biconjugate gradient method (q = A p and s = A' r, 16384 x 8192), and the
// cross products of two sets of 2048 variables with 2048 samples each (c = x' y).
#include "../harness.h"

const int ROWS = 16384, COLS = 8192;
const int VARS = 2048, SAMPLES = 2048;

__global__ void k136a(const float *A, const float *p, float *q, int rows, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        q[i] = 0.0f;
        for (int j = 0; j < cols; j++)
            q[i] += A[(size_t)i * cols + j] * p[j];
    }
}

// A warp for each row.
__global__ void k136b(const float *__restrict__ A, const float *__restrict__ p, float *__restrict__ q, int rows,
                      int cols)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= rows)
        return;
    const float *row = A + (size_t)i * cols;
    float sum = 0.0f;
#pragma unroll 8
    for (int j = lane; j < cols; j += 32)
        sum += row[j] * p[j];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0)
        q[i] = sum;
}

__global__ void k136c(const float *__restrict__ A, const float *__restrict__ r, float *__restrict__ s, int rows,
                      int cols)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < cols) {
        float sum = 0.0f;
        for (int i = 0; i < rows; i++)
            sum += A[(size_t)i * cols + j] * r[i];
        s[j] = sum;
    }
}

const int STRIP = 256;

// blockIdx.y chooses STRIP rows; s starts from zero.
__global__ void k136d(const float *__restrict__ A, const float *__restrict__ r, float *__restrict__ s, int rows,
                      int cols)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * STRIP, last = min(first + STRIP, rows);
    if (j < cols) {
        float sum = 0.0f;
#pragma unroll 8
        for (int i = first; i < last; i++)
            sum += A[(size_t)i * cols + j] * r[i];
        atomicAdd(&s[j], sum);
    }
}

__global__ void k136e(const float *x, const float *y, float *c, int vars, int samples)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    int u = blockIdx.y * blockDim.y + threadIdx.y;
    if (u < vars && v < vars) {
        float sum = 0.0f;
        for (int i = 0; i < samples; i++)
            sum += x[i * vars + u] * y[i * vars + v];
        c[u * vars + v] = sum;
    }
}

__global__ void k136f(const float *x, const float *y, float *c, int vars, int samples)
{
    __shared__ float xs[32][32], ys[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int u0 = blockIdx.y * 32, v0 = blockIdx.x * 32;
    float sum = 0.0f;
    for (int i = 0; i < samples; i += 32) {
        xs[ty][tx] = x[(i + ty) * vars + u0 + tx];
        ys[ty][tx] = y[(i + ty) * vars + v0 + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++)
            sum += xs[k][ty] * ys[k][tx];
        __syncthreads();
    }
    c[(u0 + ty) * vars + v0 + tx] = sum;
}

// Tiles of 64 x 64, 16 x 16 threads.
__global__ void k136g(const float *x, const float *y, float *c, int vars, int samples)
{
    __shared__ float xs[16][64], ys[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int u0 = blockIdx.y * 64, v0 = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int i = 0; i < samples; i += 16) {
        for (int e = threadIdx.x; e < 16 * 64; e += 256) {
            int k = e / 64, w = e % 64;
            xs[k][w] = x[(i + k) * vars + u0 + w];
            ys[k][w] = y[(i + k) * vars + v0 + w];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int a = 0; a < 4; a++)
#pragma unroll
                for (int b = 0; b < 4; b++)
                    sum[a][b] += xs[k][ty + 16 * a] * ys[k][tx + 16 * b];
        __syncthreads();
    }
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            c[(u0 + ty + 16 * a) * vars + v0 + tx + 16 * b] = sum[a][b];
}

// Tiles of 128 x 128, 256 threads with 2 x 2 squares of 4 x 4 each.
__global__ void __launch_bounds__(256, 2) k136h(const float *__restrict__ x, const float *__restrict__ y,
                                                float *__restrict__ c, int vars, int samples)
{
    __shared__ float4 xs[2][16][32], ys[2][16][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int tx = warp % 2 * 8 + lane % 8, ty = warp / 2 * 4 + lane / 8;
    int u0 = blockIdx.y * 128, v0 = blockIdx.x * 128;
    // This thread brings rows warp and warp + 8 of a slab of 16 samples.
    const float *xg = x + (size_t)warp * vars + u0 + lane * 4;
    const float *yg = y + (size_t)warp * vars + v0 + lane * 4;
    const size_t eight = (size_t)8 * vars;

    xs[0][warp][lane] = *reinterpret_cast<const float4 *>(xg);
    xs[0][warp + 8][lane] = *reinterpret_cast<const float4 *>(xg + eight);
    ys[0][warp][lane] = *reinterpret_cast<const float4 *>(yg);
    ys[0][warp + 8][lane] = *reinterpret_cast<const float4 *>(yg + eight);
    __syncthreads();

    float sum[8][8] = {};
    const int slabs = samples / 16;
    for (int t = 0; t < slabs; t++) {
        int now = t % 2;
        float4 x0, x1, y0, y1;
        if (t + 1 < slabs) {
            xg += 2 * eight;
            yg += 2 * eight;
            x0 = *reinterpret_cast<const float4 *>(xg);
            x1 = *reinterpret_cast<const float4 *>(xg + eight);
            y0 = *reinterpret_cast<const float4 *>(yg);
            y1 = *reinterpret_cast<const float4 *>(yg + eight);
        }
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float4 p0 = xs[now][k][ty], p1 = xs[now][k][16 + ty];
            float4 q0 = ys[now][k][tx], q1 = ys[now][k][16 + tx];
            float p[8] = {p0.x, p0.y, p0.z, p0.w, p1.x, p1.y, p1.z, p1.w};
            float q[8] = {q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z, q1.w};
#pragma unroll
            for (int a = 0; a < 8; a++)
#pragma unroll
                for (int b = 0; b < 8; b++)
                    sum[a][b] += p[a] * q[b];
        }
        if (t + 1 < slabs) {
            xs[1 - now][warp][lane] = x0;
            xs[1 - now][warp + 8][lane] = x1;
            ys[1 - now][warp][lane] = y0;
            ys[1 - now][warp + 8][lane] = y1;
            __syncthreads();
        }
    }
#pragma unroll
    for (int a = 0; a < 8; a++) {
        int u = u0 + a / 4 * 64 + ty * 4 + a % 4;
        float *row = c + (size_t)u * vars + v0 + tx * 4;
        *reinterpret_cast<float4 *>(row) = make_float4(sum[a][0], sum[a][1], sum[a][2], sum[a][3]);
        *reinterpret_cast<float4 *>(row + 64) = make_float4(sum[a][4], sum[a][5], sum[a][6], sum[a][7]);
    }
}

int main()
{
    float *A = input<float>((size_t)ROWS * COLS, 1361, -1.0, 1.0);
    float *p = input<float>(COLS, 1362, -1.0, 1.0), *r = input<float>(ROWS, 1363, -1.0, 1.0);
    float *q = output<float>(ROWS);

    // q on the host for every 128th row.
    std::vector<float> hp = on_host(p, COLS), hr = on_host(r, ROWS);
    const int every = 128, chosen = ROWS / every;
    std::vector<float> part((size_t)chosen * COLS), want(chosen);
    MUST(cudaMemcpy2D(part.data(), COLS * 4, A, (size_t)every * COLS * 4, COLS * 4, chosen, cudaMemcpyDeviceToHost));
    for (int i = 0; i < chosen; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++)
            sum += double(part[(size_t)i * COLS + j]) * hp[j];
        want[i] = float(sum);
    }
    float *picked = output<float>(chosen);
    k136a<<<ROWS / 256, 256>>>(A, p, q, ROWS, COLS);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy2D(picked, 4, q, every * 4, 4, chosen, cudaMemcpyDeviceToDevice));
    check("k136a", picked, want, 1e-3);
    std::vector<float> all = on_host(q, ROWS);
    MUST(cudaMemset(q, 0xA5, ROWS * 4));
    k136b<<<ROWS / 8, 256>>>(A, p, q, ROWS, COLS);
    check("k136b", q, all, 1e-3);

    // s on the host for 64 columns.
    const int from = 4992, columns = 64;
    part.resize((size_t)ROWS * columns);
    MUST(cudaMemcpy2D(part.data(), columns * 4, A + from, (size_t)COLS * 4, columns * 4, ROWS, cudaMemcpyDeviceToHost));
    std::vector<double> exact(columns, 0.0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < columns; j++)
            exact[j] += double(part[(size_t)i * columns + j]) * hr[i];
    float *s = output<float>(COLS);
    k136c<<<COLS / 256, 256>>>(A, r, s, ROWS, COLS);
    check("k136c", s + from, std::vector<float>(exact.begin(), exact.end()), 1e-3);
    all = on_host(s, COLS);
    MUST(cudaMemset(s, 0, COLS * 4));
    k136d<<<dim3(COLS / 256, ROWS / STRIP), 256>>>(A, r, s, ROWS, COLS);
    check("k136d", s, all, 1e-3);

    // Cross products: every 128th variable of x with all of y on the host.
    const size_t data = (size_t)SAMPLES * VARS, square = (size_t)VARS * VARS;
    float *x = input<float>(data, 1364, -1.0, 1.0), *y = input<float>(data, 1365, -1.0, 1.0);
    float *c = output<float>(square);
    std::vector<float> hx = on_host(x, data), hy = on_host(y, data);
    const int some = VARS / every;
    std::vector<float> products((size_t)some * VARS, 0.0f);
    for (int i = 0; i < SAMPLES; i++)
        for (int u = 0; u < some; u++) {
            float value = hx[(size_t)i * VARS + u * every];
            const float *line = &hy[(size_t)i * VARS];
            float *to = &products[(size_t)u * VARS];
            for (int v = 0; v < VARS; v++)
                to[v] += value * line[v];
        }
    float *lines = output<float>(products.size());
    k136e<<<dim3(VARS / 16, VARS / 16), dim3(16, 16)>>>(x, y, c, VARS, SAMPLES);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy2D(lines, VARS * 4, c, (size_t)every * VARS * 4, VARS * 4, some, cudaMemcpyDeviceToDevice));
    check("k136e", lines, products, 1e-3);
    all = on_host(c, square);
    MUST(cudaMemset(c, 0xA5, square * 4));
    k136f<<<dim3(VARS / 32, VARS / 32), dim3(32, 32)>>>(x, y, c, VARS, SAMPLES);
    check("k136f", c, all, 1e-3);
    MUST(cudaMemset(c, 0xA5, square * 4));
    k136g<<<dim3(VARS / 64, VARS / 64), 256>>>(x, y, c, VARS, SAMPLES);
    check("k136g", c, all, 1e-3);
    MUST(cudaMemset(c, 0xA5, square * 4));
    k136h<<<dim3(VARS / 128, VARS / 128), 256>>>(x, y, c, VARS, SAMPLES);
    check("k136h", c, all, 1e-3);
    return 0;
}
