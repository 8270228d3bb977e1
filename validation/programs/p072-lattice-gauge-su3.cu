// Lattice gauge theory: products of the links of each site with four fixed SU(3) matrices in double precision, and the
// staggered hopping term on the even sites of a four-dimensional lattice in single precision.
#include "../harness.h"

struct alignas(16) Complex {
    double re, im;
};

struct Matrix {
    Complex e[3][3];
};

struct Site {
    Matrix link[4];
    int x, y, z, t;
    int index;
    int parity;
    int pad[10];
};

__global__ void k72a(const Site *__restrict__ a, const Matrix *__restrict__ b, Site *__restrict__ c, int sites)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= sites)
        return;

    for (int j = 0; j < 4; j++) {
        for (int k = 0; k < 3; k++) {
            for (int l = 0; l < 3; l++) {
                Complex sum = {0.0, 0.0};
                for (int m = 0; m < 3; m++) {
                    Complex u = a[site].link[j].e[k][m], v = b[j].e[m][l];
                    sum.re += u.re * v.re - u.im * v.im;
                    sum.im += u.re * v.im + u.im * v.re;
                }
                c[site].link[j].e[k][l] = sum;
            }
        }
    }
}

__global__ void k72b(const Site *__restrict__ a, const Matrix *__restrict__ b, Site *__restrict__ c, int sites)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int site = thread / 36;
    if (site >= sites)
        return;

    int j = thread % 36 / 9;
    int k = thread % 9 / 3;
    int l = thread % 3;
    Complex sum = {0.0, 0.0};
    for (int m = 0; m < 3; m++) {
        Complex u = a[site].link[j].e[k][m], v = b[j].e[m][l];
        sum.re += u.re * v.re - u.im * v.im;
        sum.im += u.re * v.im + u.im * v.re;
    }
    c[site].link[j].e[k][l] = sum;
}

// Extents of the lattice; the sites of one parity are numbered with half of the x coordinate.
const int LX = 32, LY = 32, LZ = 32, LT = 64;
const int HX = LX / 2, VH = HX * LY * LZ * LT;

__device__ __forceinline__ float2 multiply_add(float2 a, float2 b, float2 c)
{
    c.x += a.x * b.x - a.y * b.y;
    c.y += a.x * b.y + a.y * b.x;
    return c;
}

// c - conj(a) * b
__device__ __forceinline__ float2 conjugate_subtract(float2 a, float2 b, float2 c)
{
    c.x -= a.x * b.x + a.y * b.y;
    c.y -= a.x * b.y - a.y * b.x;
    return c;
}

// Numbers of the odd neighbours of an even site, ahead and behind in the four directions.
__host__ __device__ inline void find_neighbours(int site, int ahead[4], int behind[4])
{
    int xh = site % HX;
    int y = site / HX % LY;
    int z = site / (HX * LY) % LZ;
    int t = site / (HX * LY * LZ);
    int shifted = (y + z + t) & 1;
    int line = site - xh;

    ahead[0] = line + (shifted ? (xh + 1 < HX ? xh + 1 : 0) : xh);
    behind[0] = line + (shifted ? xh : (xh > 0 ? xh - 1 : HX - 1));
    ahead[1] = y + 1 < LY ? site + HX : site - HX * (LY - 1);
    behind[1] = y > 0 ? site - HX : site + HX * (LY - 1);
    ahead[2] = z + 1 < LZ ? site + HX * LY : site - HX * LY * (LZ - 1);
    behind[2] = z > 0 ? site - HX * LY : site + HX * LY * (LZ - 1);
    ahead[3] = t + 1 < LT ? site + HX * LY * LZ : site - HX * LY * LZ * (LT - 1);
    behind[3] = t > 0 ? site - HX * LY * LZ : site + HX * LY * LZ * (LT - 1);
}

struct Link {
    float2 e[3][3];
};

struct Vector {
    float2 c[3];
};

// links: four for each site, even and odd sites apart.
__global__ void k72c(const Link *__restrict__ even, const Link *__restrict__ odd, const Vector *__restrict__ in,
                     Vector *__restrict__ out)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= VH)
        return;

    int ahead[4], behind[4];
    find_neighbours(site, ahead, behind);
    Vector sum = {};
#pragma unroll
    for (int mu = 0; mu < 4; mu++) {
        Vector v = in[ahead[mu]];
        const Link *u = &even[site * 4 + mu];
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++)
                sum.c[i] = multiply_add(u->e[i][j], v.c[j], sum.c[i]);

        v = in[behind[mu]];
        u = &odd[behind[mu] * 4 + mu];
#pragma unroll
        for (int j = 0; j < 3; j++)
#pragma unroll
            for (int i = 0; i < 3; i++)
                sum.c[i] = conjugate_subtract(u->e[j][i], v.c[j], sum.c[i]);
    }
    out[site] = sum;
}

__device__ __forceinline__ void load_vector(const float2 *__restrict__ in, int site, float2 v[3])
{
#pragma unroll
    for (int c = 0; c < 3; c++)
        v[c] = in[c * VH + site];
}

__device__ __forceinline__ void load_all(const float2 *__restrict__ links, int mu, int site, float2 u[3][3])
{
#pragma unroll
    for (int e = 0; e < 9; e++)
        u[e / 3][e % 3] = links[(mu * 9 + e) * VH + site];
}

// Two rows are stored; the third is the conjugate of their vector product.
__device__ __forceinline__ void load_rows(const float2 *__restrict__ links, int mu, int site, float2 u[3][3])
{
#pragma unroll
    for (int e = 0; e < 6; e++)
        u[e / 3][e % 3] = links[(mu * 6 + e) * VH + site];
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float2 a1 = u[0][(c + 1) % 3], a2 = u[0][(c + 2) % 3];
        float2 b1 = u[1][(c + 1) % 3], b2 = u[1][(c + 2) % 3];
        u[2][c].x = a1.x * b2.x - a1.y * b2.y - a2.x * b1.x + a2.y * b1.y;
        u[2][c].y = -(a1.x * b2.y + a1.y * b2.x - a2.x * b1.y - a2.y * b1.x);
    }
}

template <bool WHOLE>
__device__ __forceinline__ void hop(const float2 *__restrict__ even, const float2 *__restrict__ odd,
                                    const float2 *__restrict__ in, float2 *__restrict__ out)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= VH)
        return;

    int ahead[4], behind[4];
    find_neighbours(site, ahead, behind);
    float2 sum[3] = {};
#pragma unroll
    for (int mu = 0; mu < 4; mu++) {
        float2 u[3][3], v[3];
        load_vector(in, ahead[mu], v);
        if (WHOLE)
            load_all(even, mu, site, u);
        else
            load_rows(even, mu, site, u);
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++)
                sum[i] = multiply_add(u[i][j], v[j], sum[i]);

        load_vector(in, behind[mu], v);
        if (WHOLE)
            load_all(odd, mu, behind[mu], u);
        else
            load_rows(odd, mu, behind[mu], u);
#pragma unroll
        for (int j = 0; j < 3; j++)
#pragma unroll
            for (int i = 0; i < 3; i++)
                sum[i] = conjugate_subtract(u[j][i], v[j], sum[i]);
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
        out[i * VH + site] = sum[i];
}

__global__ void k72d(const float2 *__restrict__ even, const float2 *__restrict__ odd, const float2 *__restrict__ in,
                     float2 *__restrict__ out)
{
    hop<true>(even, odd, in, out);
}

__global__ void k72e(const float2 *__restrict__ even, const float2 *__restrict__ odd, const float2 *__restrict__ in,
                     float2 *__restrict__ out)
{
    hop<false>(even, odd, in, out);
}

__host__ __device__ inline double uniform(unsigned long long index, unsigned seed)
{
    return scrambled(index, seed) / 2147483648.0 - 1.0;
}

// A random matrix of SU(3).
__host__ __device__ inline void make_link(int parity, int site, int mu, float u[18])
{
    double r[2][3][2];
    unsigned long long first = (((unsigned long long)parity * VH + site) * 4 + mu) * 12;
    for (int i = 0; i < 12; i++)
        r[i / 6][i / 2 % 3][i % 2] = uniform(first + i, 721);
    for (int row = 0; row < 2; row++) {
        if (row == 1) {
            double re = 0, im = 0;
            for (int c = 0; c < 3; c++) {
                re += r[0][c][0] * r[1][c][0] + r[0][c][1] * r[1][c][1];
                im += r[0][c][0] * r[1][c][1] - r[0][c][1] * r[1][c][0];
            }
            for (int c = 0; c < 3; c++) {
                double x = r[0][c][0], y = r[0][c][1];
                r[1][c][0] -= re * x - im * y;
                r[1][c][1] -= re * y + im * x;
            }
        }
        double norm = 0;
        for (int c = 0; c < 3; c++)
            norm += r[row][c][0] * r[row][c][0] + r[row][c][1] * r[row][c][1];
        double scale = 1.0 / sqrt(norm);
        for (int c = 0; c < 3; c++) {
            r[row][c][0] *= scale;
            r[row][c][1] *= scale;
        }
    }
    for (int i = 0; i < 12; i++)
        u[i] = float(r[i / 6][i / 2 % 3][i % 2]);
    for (int c = 0; c < 3; c++) {
        const double *a1 = r[0][(c + 1) % 3], *a2 = r[0][(c + 2) % 3];
        const double *b1 = r[1][(c + 1) % 3], *b2 = r[1][(c + 2) % 3];
        u[12 + 2 * c] = float(a1[0] * b2[0] - a1[1] * b2[1] - a2[0] * b1[0] + a2[1] * b1[1]);
        u[13 + 2 * c] = float(-(a1[0] * b2[1] + a1[1] * b2[0] - a2[0] * b1[1] - a2[1] * b1[0]));
    }
}

__host__ __device__ inline float source(int site, int i)
{
    return float(uniform((unsigned long long)site * 6 + i, 722));
}

__global__ void prepare_sites(Site *a, int sites)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= sites)
        return;
    for (int i = 0; i < 36; i++) {
        a[s].link[i / 9].e[i / 3 % 3][i % 3].re = uniform((unsigned long long)s * 72 + 2 * i, 723);
        a[s].link[i / 9].e[i / 3 % 3][i % 3].im = uniform((unsigned long long)s * 72 + 2 * i + 1, 723);
    }
    a[s].x = a[s].y = a[s].z = a[s].t = 0;
    a[s].index = s;
    a[s].parity = s & 1;
}

__global__ void prepare_links(int parity, Link *whole, float2 *split, float2 *rows)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= VH)
        return;
    for (int mu = 0; mu < 4; mu++) {
        float u[18];
        make_link(parity, site, mu, u);
        for (int e = 0; e < 9; e++) {
            float2 v = make_float2(u[2 * e], u[2 * e + 1]);
            whole[site * 4 + mu].e[e / 3][e % 3] = v;
            split[(mu * 9 + e) * VH + site] = v;
            if (e < 6)
                rows[(mu * 6 + e) * VH + site] = v;
        }
    }
}

__global__ void prepare_source(Vector *whole, float2 *split)
{
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= VH)
        return;
    for (int c = 0; c < 3; c++) {
        float2 v = make_float2(source(site, 2 * c), source(site, 2 * c + 1));
        whole[site].c[c] = v;
        split[c * VH + site] = v;
    }
}

// Number of the s-th sample.
__host__ __device__ inline int sampled(int s, int sites)
{
    return int(((long long)s * 100003 + 5) % sites);
}

__global__ void pick_sites(const Site *c, double *picked, int samples, int sites)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples)
        for (int i = 0; i < 36; i++) {
            Complex v = c[sampled(s, sites)].link[i / 9].e[i / 3 % 3][i % 3];
            picked[s * 72 + 2 * i] = v.re;
            picked[s * 72 + 2 * i + 1] = v.im;
        }
}

__global__ void pick_vectors(const Vector *whole, const float2 *split, float *picked, int samples)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples)
        for (int c = 0; c < 3; c++) {
            int site = sampled(s, VH);
            float2 v = whole ? whole[site].c[c] : split[c * VH + site];
            picked[s * 6 + 2 * c] = v.x;
            picked[s * 6 + 2 * c + 1] = v.y;
        }
}

int main()
{
    const int samples = 4000;

    // Products of the links.
    const int sites = 32 * 32 * 32 * 32;
    Site *a = output<Site>(sites), *c = output<Site>(sites);
    prepare_sites<<<(sites + 127) / 128, 128>>>(a, sites);
    std::vector<Matrix> factors(4);
    for (int i = 0; i < 36; i++)
        factors[i / 9].e[i / 3 % 3][i % 3] = {uniform(2 * i, 724), uniform(2 * i + 1, 724)};
    Matrix *b = on_device(factors);
    std::vector<double> products(samples * 72, 0.0);
    for (int s = 0; s < samples; s++) {
        int site = sampled(s, sites);
        for (int i = 0; i < 36; i++) {
            int j = i / 9, k = i / 3 % 3, l = i % 3;
            for (int m = 0; m < 3; m++) {
                unsigned long long at = (unsigned long long)site * 72 + 2 * (j * 9 + k * 3 + m);
                double re = uniform(at, 723), im = uniform(at + 1, 723);
                Complex v = factors[j].e[m][l];
                products[s * 72 + 2 * i] += re * v.re - im * v.im;
                products[s * 72 + 2 * i + 1] += re * v.im + im * v.re;
            }
        }
    }
    double *picked_sites = output<double>(samples * 72);
    k72a<<<(sites + 255) / 256, 256>>>(a, b, c, sites);
    pick_sites<<<(samples + 127) / 128, 128>>>(c, picked_sites, samples, sites);
    check("k72a", picked_sites, products, 1e-12);

    MUST(cudaMemset(c, 0xA5, (size_t)sites * sizeof(Site)));
    MUST(cudaMemset(picked_sites, 0xA5, samples * 72 * sizeof(double)));
    k72b<<<(sites * 36 + 255) / 256, 256>>>(a, b, c, sites);
    pick_sites<<<(samples + 127) / 128, 128>>>(c, picked_sites, samples, sites);
    check("k72b", picked_sites, products, 1e-12);
    MUST(cudaFree(a));
    MUST(cudaFree(c));

    // The hopping term.
    Link *even = output<Link>((size_t)VH * 4), *odd = output<Link>((size_t)VH * 4);
    float2 *even_split = output<float2>((size_t)VH * 36), *odd_split = output<float2>((size_t)VH * 36);
    float2 *even_rows = output<float2>((size_t)VH * 24), *odd_rows = output<float2>((size_t)VH * 24);
    Vector *in = output<Vector>(VH), *out = output<Vector>(VH);
    float2 *in_split = output<float2>((size_t)VH * 3), *out_split = output<float2>((size_t)VH * 3);
    const int block = 128, blocks = (VH + block - 1) / block;
    prepare_links<<<blocks, block>>>(0, even, even_split, even_rows);
    prepare_links<<<blocks, block>>>(1, odd, odd_split, odd_rows);
    prepare_source<<<blocks, block>>>(in, in_split);

    std::vector<float> hopped(samples * 6);
    for (int s = 0; s < samples; s++) {
        int site = sampled(s, VH), ahead[4], behind[4];
        find_neighbours(site, ahead, behind);
        double sum[6] = {};
        for (int mu = 0; mu < 4; mu++) {
            float u[18];
            make_link(0, site, mu, u);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double re = u[2 * (3 * i + j)], im = u[2 * (3 * i + j) + 1];
                    double x = source(ahead[mu], 2 * j), y = source(ahead[mu], 2 * j + 1);
                    sum[2 * i] += re * x - im * y;
                    sum[2 * i + 1] += re * y + im * x;
                }
            make_link(1, behind[mu], mu, u);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    double re = u[2 * (3 * j + i)], im = -u[2 * (3 * j + i) + 1];
                    double x = source(behind[mu], 2 * j), y = source(behind[mu], 2 * j + 1);
                    sum[2 * i] -= re * x - im * y;
                    sum[2 * i + 1] -= re * y + im * x;
                }
        }
        for (int i = 0; i < 6; i++)
            hopped[s * 6 + i] = float(sum[i]);
    }
    float *picked = output<float>(samples * 6);
    k72c<<<blocks, block>>>(even, odd, in, out);
    pick_vectors<<<(samples + 127) / 128, 128>>>(out, nullptr, picked, samples);
    check("k72c", picked, hopped, 1e-5);

    MUST(cudaMemset(picked, 0xA5, samples * 6 * sizeof(float)));
    k72d<<<blocks, block>>>(even_split, odd_split, in_split, out_split);
    pick_vectors<<<(samples + 127) / 128, 128>>>(nullptr, out_split, picked, samples);
    check("k72d", picked, hopped, 1e-5);

    MUST(cudaMemset(out_split, 0xA5, (size_t)VH * 3 * sizeof(float2)));
    MUST(cudaMemset(picked, 0xA5, samples * 6 * sizeof(float)));
    k72e<<<blocks, block>>>(even_rows, odd_rows, in_split, out_split);
    pick_vectors<<<(samples + 127) / 128, 128>>>(nullptr, out_split, picked, samples);
    check("k72e", picked, hopped, 1e-5);
    return 0;
}
