// Three problems: a tensor of 16-bit numbers flipped along its last two axes, the element-wise part of an LSTM cell,
// and the GC content of windows of a genome.
#include "../harness.h"

// ---- flip of an (N, C, H, W) tensor along H and W ----
struct Shape {
    long long size[4];
    long long stride[4];
    int flipped[4];
};

__global__ void k229a(const unsigned short *in, unsigned short *out, long long total, Shape shape)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    long long rest = i, source = 0;
    for (int d = 0; d < 4; d++) {
        long long index = rest / shape.stride[d];
        rest = rest % shape.stride[d];
        if (shape.flipped[d])
            index = shape.size[d] - 1 - index;
        source += index * shape.stride[d];
    }
    out[i] = in[source];
}

__global__ void k229b(const unsigned short *__restrict__ in, unsigned short *__restrict__ out, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    size_t plane = (size_t)blockIdx.z * height * width;
    if (x < width)
        out[plane + (size_t)y * width + x] = in[plane + (size_t)(height - 1 - y) * width + (width - 1 - x)];
}

__device__ inline unsigned swap_halves(unsigned w)
{
    return __byte_perm(w, 0, 0x1032);
}

// width is a multiple of 8
__global__ void k229c(const uint4 *__restrict__ in, uint4 *__restrict__ out, int height, int groups)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= groups || y >= height)
        return;
    size_t plane = (size_t)blockIdx.z * height * groups;
    uint4 v = in[plane + (size_t)(height - 1 - y) * groups + (groups - 1 - x)];
    out[plane + (size_t)y * groups + x] =
        make_uint4(swap_halves(v.w), swap_halves(v.z), swap_halves(v.y), swap_halves(v.x));
}

// ---- LSTM: gates (B, 4 H) in the order i, f, g, o; new cell and hidden state; activated gates kept for training ----
__global__ void k229d(const float *__restrict__ gates, const float *__restrict__ c_prev, float *__restrict__ act,
                      float *__restrict__ c_next, float *__restrict__ h_next, int hidden)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= hidden)
        return;
    const float *g = gates + (size_t)blockIdx.y * 4 * hidden + j;
    float *a = act + (size_t)blockIdx.y * 4 * hidden + j;
    size_t cell = (size_t)blockIdx.y * hidden + j;
    double ig = 1.0 / (1.0 + exp(-(double)g[0]));
    double fg = 1.0 / (1.0 + exp(-(double)g[hidden]));
    double gg = tanh((double)g[2 * hidden]);
    double og = 1.0 / (1.0 + exp(-(double)g[3 * hidden]));
    double c = fg * c_prev[cell] + ig * gg;
    a[0] = ig;
    a[hidden] = fg;
    a[2 * hidden] = gg;
    a[3 * hidden] = og;
    c_next[cell] = c;
    h_next[cell] = og * tanh(c);
}

__global__ void k229e(const float *__restrict__ gates, const float *__restrict__ c_prev, float *__restrict__ act,
                      float *__restrict__ c_next, float *__restrict__ h_next, int hidden)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= hidden)
        return;
    const float *g = gates + (size_t)blockIdx.y * 4 * hidden + j;
    float *a = act + (size_t)blockIdx.y * 4 * hidden + j;
    size_t cell = (size_t)blockIdx.y * hidden + j;
    float ig = 1.0f / (1.0f + expf(-g[0]));
    float fg = 1.0f / (1.0f + expf(-g[hidden]));
    float gg = tanhf(g[2 * hidden]);
    float og = 1.0f / (1.0f + expf(-g[3 * hidden]));
    float c = fg * c_prev[cell] + ig * gg;
    a[0] = ig;
    a[hidden] = fg;
    a[2 * hidden] = gg;
    a[3 * hidden] = og;
    c_next[cell] = c;
    h_next[cell] = og * tanhf(c);
}

__device__ inline float quick_sigmoid(float x)
{
    return __fdividef(1.0f, 1.0f + __expf(-x));
}

__global__ void k229f(const float *__restrict__ gates, const float *__restrict__ c_prev, float *__restrict__ act,
                      float *__restrict__ c_next, float *__restrict__ h_next, int hidden)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= hidden)
        return;
    const float *g = gates + (size_t)blockIdx.y * 4 * hidden + j;
    float *a = act + (size_t)blockIdx.y * 4 * hidden + j;
    size_t cell = (size_t)blockIdx.y * hidden + j;
    float ig = quick_sigmoid(g[0]);
    float fg = quick_sigmoid(g[hidden]);
    float gg = 2.0f * quick_sigmoid(2.0f * g[2 * hidden]) - 1.0f;
    float og = quick_sigmoid(g[3 * hidden]);
    float c = fg * c_prev[cell] + ig * gg;
    a[0] = ig;
    a[hidden] = fg;
    a[2 * hidden] = gg;
    a[3 * hidden] = og;
    c_next[cell] = c;
    h_next[cell] = og * (2.0f * quick_sigmoid(2.0f * c) - 1.0f);
}

// ---- letters G and C in each window of 512 bases ----
constexpr int window = 512;

__global__ void make_bases(char *bases, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        bases[i] = "ACGT"[scrambled(i, 77) >> 30];
}

__global__ void k229g(const char *__restrict__ bases, int *__restrict__ gc, int windows)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= windows)
        return;
    const char *p = bases + (size_t)w * window;
    int count = 0;
    for (int i = 0; i < window; i++) {
        char c = p[i];
        if (c == 'G' || c == 'C')
            count++;
    }
    gc[w] = count;
}

__global__ void k229h(const char *__restrict__ bases, int *__restrict__ gc, int windows)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (w >= windows)
        return;
    const char *p = bases + (size_t)w * window;
    int count = 0;
    for (int i = lane; i < window; i += 32) {
        char c = p[i];
        if (c == 'G' || c == 'C')
            count++;
    }
    count = __reduce_add_sync(0xffffffffu, count);
    if (lane == 0)
        gc[w] = count;
}

// The top bit of every byte that is neither G (0x47) nor C (0x43); the letters are ASCII.
__device__ inline unsigned others(unsigned w)
{
    return (((w & 0xFBFBFBFBu) ^ 0x43434343u) + 0x7F7F7F7Fu) & 0x80808080u;
}

__global__ void k229i(const uint4 *__restrict__ bases, int *__restrict__ gc, int windows)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (w >= windows)
        return;
    uint4 v = bases[(size_t)w * (window / 16) + lane];
    unsigned not_gc = others(v.x) | others(v.y) >> 1 | others(v.z) >> 2 | others(v.w) >> 3;
    int count = __reduce_add_sync(0xffffffffu, 16 - __popc(not_gc));
    if (lane == 0)
        gc[w] = count;
}

int main()
{
    {
        const int N = 32, C = 32, H = 256, W = 256;
        const long long total = (long long)N * C * H * W;
        unsigned short *in = input<unsigned short>(total, 1, 0, 65536);
        Shape shape = {{N, C, H, W}, {(long long)C * H * W, (long long)H * W, W, 1}, {0, 0, 1, 1}};
        unsigned short *out = output<unsigned short>(total);
        k229a<<<(total + 255) / 256, 256>>>(in, out, total, shape);
        std::vector<unsigned short> source = on_host(in, total), want(total);
        for (int p = 0; p < N * C; p++)
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++)
                    want[((size_t)p * H + y) * W + x] = source[((size_t)p * H + H - 1 - y) * W + W - 1 - x];
        check("k229a", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned short>(total);
        k229b<<<dim3(W / 256, H, N * C), 256>>>(in, out, H, W);
        check("k229b", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned short>(total);
        k229c<<<dim3(1, H / 8, N * C), dim3(32, 8)>>>((const uint4 *)in, (uint4 *)out, H, W / 8);
        check("k229c", out, want, 0);
        MUST(cudaFree(out));
        MUST(cudaFree(in));
    }
    {
        const int batch = 8192, hidden = 2048;
        const size_t cells = (size_t)batch * hidden;
        float *gates = input<float>(cells * 4, 2, -4, 4);
        float *c_prev = input<float>(cells, 3, -2, 2);
        float *act = output<float>(cells * 4), *c_next = output<float>(cells), *h = output<float>(cells);
        dim3 grid(hidden / 256, batch);
        k229d<<<grid, 256>>>(gates, c_prev, act, c_next, h, hidden);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(h, cells);
        check("k229d", h, want, 0);
        MUST(cudaFree(h));
        h = output<float>(cells);
        k229e<<<grid, 256>>>(gates, c_prev, act, c_next, h, hidden);
        check("k229e", h, want, 1e-4);
        MUST(cudaFree(h));
        h = output<float>(cells);
        k229f<<<grid, 256>>>(gates, c_prev, act, c_next, h, hidden);
        check("k229f", h, want, 1e-4);
        MUST(cudaFree(h));
        MUST(cudaFree(gates));
        MUST(cudaFree(c_prev));
        MUST(cudaFree(act));
        MUST(cudaFree(c_next));
    }
    {
        const int windows = 1 << 19;
        const size_t n = (size_t)windows * window;
        char *bases = output<char>(n);
        make_bases<<<1056, 256>>>(bases, n);
        MUST(cudaDeviceSynchronize());
        int *gc = output<int>(windows);
        k229g<<<windows / 256, 256>>>(bases, gc, windows);
        std::vector<char> text = on_host(bases, n);
        std::vector<int> want(windows);
        for (int w = 0; w < windows; w++) {
            int count = 0;
            for (int i = 0; i < window; i++) {
                char c = text[(size_t)w * window + i];
                count += c == 'G' || c == 'C';
            }
            want[w] = count;
        }
        check("k229g", gc, want, 0);
        MUST(cudaFree(gc));
        gc = output<int>(windows);
        k229h<<<windows / 8, 256>>>(bases, gc, windows);
        check("k229h", gc, want, 0);
        MUST(cudaFree(gc));
        gc = output<int>(windows);
        k229i<<<windows / 8, 256>>>((const uint4 *)bases, gc, windows);
        check("k229i", gc, want, 0);
    }
    return 0;
}
