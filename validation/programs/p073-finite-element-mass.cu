// Action of the mass operator of hexahedral finite elements of degree 4: on every element, y = B^T D B x with the tensor
// product B of a 6 x 5 matrix that takes 5^3 coefficients to 6^3 quadrature points.
#include "../harness.h"

const int D = 5, Q = 6;
const int DOFS = D * D * D, POINTS = Q * Q * Q;

// b[q * D + d]; x and y: DOFS for each element; weight: POINTS for each element.
__global__ void k73a(const double *__restrict__ b, const double *__restrict__ weight, const double *__restrict__ x,
                     double *__restrict__ y, int elements)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements)
        return;

    double sol[Q][Q][Q];
    for (int qz = 0; qz < Q; qz++)
        for (int qy = 0; qy < Q; qy++)
            for (int qx = 0; qx < Q; qx++)
                sol[qz][qy][qx] = 0.0;
    for (int dz = 0; dz < D; dz++) {
        double plane[Q][Q];
        for (int qy = 0; qy < Q; qy++)
            for (int qx = 0; qx < Q; qx++)
                plane[qy][qx] = 0.0;
        for (int dy = 0; dy < D; dy++) {
            double line[Q];
            for (int qx = 0; qx < Q; qx++)
                line[qx] = 0.0;
            for (int dx = 0; dx < D; dx++) {
                double s = x[e * DOFS + (dz * D + dy) * D + dx];
                for (int qx = 0; qx < Q; qx++)
                    line[qx] += b[qx * D + dx] * s;
            }
            for (int qy = 0; qy < Q; qy++)
                for (int qx = 0; qx < Q; qx++)
                    plane[qy][qx] += b[qy * D + dy] * line[qx];
        }
        for (int qz = 0; qz < Q; qz++)
            for (int qy = 0; qy < Q; qy++)
                for (int qx = 0; qx < Q; qx++)
                    sol[qz][qy][qx] += b[qz * D + dz] * plane[qy][qx];
    }

    for (int qz = 0; qz < Q; qz++)
        for (int qy = 0; qy < Q; qy++)
            for (int qx = 0; qx < Q; qx++)
                sol[qz][qy][qx] *= weight[e * POINTS + (qz * Q + qy) * Q + qx];

    for (int i = 0; i < DOFS; i++)
        y[e * DOFS + i] = 0.0;
    for (int qz = 0; qz < Q; qz++) {
        double plane[D][D];
        for (int dy = 0; dy < D; dy++)
            for (int dx = 0; dx < D; dx++)
                plane[dy][dx] = 0.0;
        for (int qy = 0; qy < Q; qy++) {
            double line[D];
            for (int dx = 0; dx < D; dx++)
                line[dx] = 0.0;
            for (int qx = 0; qx < Q; qx++) {
                double s = sol[qz][qy][qx];
                for (int dx = 0; dx < D; dx++)
                    line[dx] += b[qx * D + dx] * s;
            }
            for (int dy = 0; dy < D; dy++)
                for (int dx = 0; dx < D; dx++)
                    plane[dy][dx] += b[qy * D + dy] * line[dx];
        }
        for (int dz = 0; dz < D; dz++)
            for (int dy = 0; dy < D; dy++)
                for (int dx = 0; dx < D; dx++)
                    y[e * DOFS + (dz * D + dy) * D + dx] += b[qz * D + dz] * plane[dy][dx];
    }
}

// A block of Q x Q x Q threads for an element.
__global__ void k73b(const double *__restrict__ b, const double *__restrict__ weight, const double *__restrict__ x,
                     double *__restrict__ y, int elements)
{
    __shared__ double sb[Q][D];
    __shared__ double s0[POINTS], s1[POINTS];
    int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    int t = (tz * Q + ty) * Q + tx;
    int e = blockIdx.x;

    if (t < Q * D)
        sb[t / D][t % D] = b[t];
    if (t < DOFS)
        s0[t] = x[(size_t)e * DOFS + t];
    __syncthreads();

    if (ty < D && tz < D) {
        double u = 0.0;
        for (int d = 0; d < D; d++)
            u += sb[tx][d] * s0[(tz * D + ty) * D + d];
        s1[(tz * D + ty) * Q + tx] = u;
    }
    __syncthreads();
    if (tz < D) {
        double u = 0.0;
        for (int d = 0; d < D; d++)
            u += sb[ty][d] * s1[(tz * D + d) * Q + tx];
        s0[(tz * Q + ty) * Q + tx] = u;
    }
    __syncthreads();
    {
        double u = 0.0;
        for (int d = 0; d < D; d++)
            u += sb[tz][d] * s0[(d * Q + ty) * Q + tx];
        s1[t] = u * weight[(size_t)e * POINTS + t];
    }
    __syncthreads();
    if (tx < D) {
        double u = 0.0;
        for (int q = 0; q < Q; q++)
            u += sb[q][tx] * s1[(tz * Q + ty) * Q + q];
        s0[(tz * Q + ty) * D + tx] = u;
    }
    __syncthreads();
    if (tx < D && ty < D) {
        double u = 0.0;
        for (int q = 0; q < Q; q++)
            u += sb[q][ty] * s0[(tz * Q + q) * D + tx];
        s1[(tz * D + ty) * D + tx] = u;
    }
    __syncthreads();
    if (tx < D && ty < D && tz < D) {
        double u = 0.0;
        for (int q = 0; q < Q; q++)
            u += sb[q][tz] * s1[(q * D + ty) * D + tx];
        y[(size_t)e * DOFS + (tz * D + ty) * D + tx] = u;
    }
}

// Q x Q threads for an element, each with a column along z; BATCH elements for a block.
template <int BATCH>
__device__ __forceinline__ void columns(const double *__restrict__ b, const double *__restrict__ weight,
                                        const double *__restrict__ x, double *__restrict__ y, int elements)
{
    __shared__ double sb[Q][D];
    __shared__ double s0[BATCH][Q][Q][Q], s1[BATCH][Q][Q][Q];
    int tx = threadIdx.x, ty = threadIdx.y, slot = threadIdx.z;
    int e = blockIdx.x * BATCH + slot;
    bool inside = e < elements;
    double(*u0)[Q][Q] = s0[slot];
    double(*u1)[Q][Q] = s1[slot];

    if (slot == 0 && tx < D)
        sb[ty][tx] = b[ty * D + tx];
    if (inside && tx < D && ty < D)
#pragma unroll
        for (int z = 0; z < D; z++)
            u0[z][ty][tx] = x[(size_t)e * DOFS + (z * D + ty) * D + tx];
    __syncthreads();

    if (ty < D) {
        double u[D] = {};
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int z = 0; z < D; z++)
                u[z] += sb[tx][d] * u0[z][ty][d];
#pragma unroll
        for (int z = 0; z < D; z++)
            u1[z][ty][tx] = u[z];
    }
    __syncthreads();
    {
        double u[D] = {};
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int z = 0; z < D; z++)
                u[z] += sb[ty][d] * u1[z][d][tx];
#pragma unroll
        for (int z = 0; z < D; z++)
            u0[z][ty][tx] = u[z];
    }
    __syncthreads();
    {
        double u[Q] = {};
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int z = 0; z < Q; z++)
                u[z] += sb[z][d] * u0[d][ty][tx];
#pragma unroll
        for (int z = 0; z < Q; z++)
            u1[z][ty][tx] = inside ? u[z] * weight[(size_t)e * POINTS + (z * Q + ty) * Q + tx] : 0.0;
    }
    __syncthreads();
    if (tx < D) {
        double u[Q] = {};
#pragma unroll
        for (int q = 0; q < Q; q++)
#pragma unroll
            for (int z = 0; z < Q; z++)
                u[z] += sb[q][tx] * u1[z][ty][q];
#pragma unroll
        for (int z = 0; z < Q; z++)
            u0[z][ty][tx] = u[z];
    }
    __syncthreads();
    if (tx < D && ty < D) {
        double u[Q] = {};
#pragma unroll
        for (int q = 0; q < Q; q++)
#pragma unroll
            for (int z = 0; z < Q; z++)
                u[z] += sb[q][ty] * u0[z][q][tx];
#pragma unroll
        for (int z = 0; z < Q; z++)
            u1[z][ty][tx] = u[z];
    }
    __syncthreads();
    if (inside && tx < D && ty < D) {
        double u[D] = {};
#pragma unroll
        for (int q = 0; q < Q; q++)
#pragma unroll
            for (int z = 0; z < D; z++)
                u[z] += sb[q][z] * u1[q][ty][tx];
#pragma unroll
        for (int z = 0; z < D; z++)
            y[(size_t)e * DOFS + (z * D + ty) * D + tx] = u[z];
    }
}

__global__ void k73c(const double *__restrict__ b, const double *__restrict__ weight, const double *__restrict__ x,
                     double *__restrict__ y, int elements)
{
    columns<1>(b, weight, x, y, elements);
}

const int MANY = 8;

__global__ void k73d(const double *__restrict__ b, const double *__restrict__ weight, const double *__restrict__ x,
                     double *__restrict__ y, int elements)
{
    columns<MANY>(b, weight, x, y, elements);
}

__constant__ double basis[Q][D];

__global__ void k73e(const double *__restrict__ b, const double *__restrict__ weight, const double *__restrict__ x,
                     double *__restrict__ y, int elements)
{
    __shared__ double s0[MANY][D][Q][Q], s1[MANY][D][Q][Q];
    int tx = threadIdx.x, ty = threadIdx.y, slot = threadIdx.z;
    int e = blockIdx.x * MANY + slot;
    bool inside = e < elements;
    double(*u0)[Q][Q] = s0[slot];
    double(*u1)[Q][Q] = s1[slot];

    double bx[D], by[D];
#pragma unroll
    for (int d = 0; d < D; d++) {
        bx[d] = b[tx * D + d];
        by[d] = b[ty * D + d];
    }
    if (inside && tx < D && ty < D)
#pragma unroll
        for (int z = 0; z < D; z++)
            u0[z][ty][tx] = x[(size_t)e * DOFS + (z * D + ty) * D + tx];
    __syncthreads();

    if (ty < D) {
#pragma unroll
        for (int z = 0; z < D; z++) {
            double u = 0.0;
#pragma unroll
            for (int d = 0; d < D; d++)
                u += bx[d] * u0[z][ty][d];
            u1[z][ty][tx] = u;
        }
    }
    __syncthreads();

    double column[D];
#pragma unroll
    for (int z = 0; z < D; z++) {
        double u = 0.0;
#pragma unroll
        for (int d = 0; d < D; d++)
            u += by[d] * u1[z][d][tx];
        column[z] = u;
    }
    double back[D] = {};
#pragma unroll
    for (int q = 0; q < Q; q++) {
        double u = 0.0;
#pragma unroll
        for (int d = 0; d < D; d++)
            u += basis[q][d] * column[d];
        u *= inside ? weight[(size_t)e * POINTS + (q * Q + ty) * Q + tx] : 0.0;
#pragma unroll
        for (int d = 0; d < D; d++)
            back[d] += basis[q][d] * u;
    }
#pragma unroll
    for (int z = 0; z < D; z++)
        u0[z][ty][tx] = back[z];
    __syncthreads();

    if (ty < D) {
        double tb[Q];
#pragma unroll
        for (int q = 0; q < Q; q++)
            tb[q] = b[q * D + ty];
#pragma unroll
        for (int z = 0; z < D; z++) {
            double u = 0.0;
#pragma unroll
            for (int q = 0; q < Q; q++)
                u += tb[q] * u0[z][q][tx];
            u1[z][ty][tx] = u;
        }
    }
    __syncthreads();

    if (inside && tx < D && ty < D) {
        double tb[Q];
#pragma unroll
        for (int q = 0; q < Q; q++)
            tb[q] = b[q * D + tx];
#pragma unroll
        for (int z = 0; z < D; z++) {
            double u = 0.0;
#pragma unroll
            for (int q = 0; q < Q; q++)
                u += tb[q] * u1[z][ty][q];
            y[(size_t)e * DOFS + (z * D + ty) * D + tx] = u;
        }
    }
}

// Number of the s-th sample.
__host__ __device__ inline int sampled(int s, int elements)
{
    return int(((long long)s * 20011 + elements - 1) % elements);
}

__global__ void pick(const double *y, double *picked, int samples, int elements)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < samples * DOFS)
        picked[i] = y[(size_t)sampled(i / DOFS, elements) * DOFS + i % DOFS];
}

int main()
{
    const int elements = 65536, samples = 3000;
    double *x = input<double>((size_t)elements * DOFS, 731, -1.0, 1.0);
    double *weight = input<double>((size_t)elements * POINTS, 732, 0.1, 1.1);
    double *b = input<double>(Q * D, 733, -0.4, 1.0);
    double *y = output<double>((size_t)elements * DOFS);
    double *picked = output<double>(samples * DOFS);
    std::vector<double> hb = on_host(b, Q * D);
    MUST(cudaMemcpyToSymbol(basis, hb.data(), sizeof(basis)));

    std::vector<double> want(samples * DOFS);
    {
        std::vector<double> hx = on_host(x, (size_t)elements * DOFS), hw = on_host(weight, (size_t)elements * POINTS);
        std::vector<double> u(POINTS), v(POINTS);
        // One contraction: the axis with the given stride, of length from, becomes one of length to.
        auto contract = [&](const std::vector<double> &in, std::vector<double> &out, int outer, int from, int to,
                            int inner, bool transposed) {
            for (int o = 0; o < outer; o++)
                for (int i = 0; i < inner; i++)
                    for (int r = 0; r < to; r++) {
                        double sum = 0.0;
                        for (int c = 0; c < from; c++)
                            sum += (transposed ? hb[c * D + r] : hb[r * D + c]) * in[(o * from + c) * inner + i];
                        out[(o * to + r) * inner + i] = sum;
                    }
        };
        for (int s = 0; s < samples; s++) {
            size_t e = sampled(s, elements);
            for (int i = 0; i < DOFS; i++)
                u[i] = hx[e * DOFS + i];
            contract(u, v, D * D, D, Q, 1, false);
            contract(v, u, D, D, Q, Q, false);
            contract(u, v, 1, D, Q, Q * Q, false);
            for (int i = 0; i < POINTS; i++)
                v[i] *= hw[e * POINTS + i];
            contract(v, u, Q * Q, Q, D, 1, true);
            contract(u, v, Q, Q, D, D, true);
            contract(v, u, 1, Q, D, D * D, true);
            for (int i = 0; i < DOFS; i++)
                want[s * DOFS + i] = u[i];
        }
    }
    auto verify = [&](const char *name) {
        MUST(cudaGetLastError());
        MUST(cudaMemset(picked, 0xA5, samples * DOFS * sizeof(double)));
        pick<<<(samples * DOFS + 255) / 256, 256>>>(y, picked, samples, elements);
        check(name, picked, want, 1e-11);
        MUST(cudaMemset(y, 0xA5, (size_t)elements * DOFS * sizeof(double)));
    };

    k73a<<<(elements + 255) / 256, 256>>>(b, weight, x, y, elements);
    verify("k73a");
    k73b<<<elements, dim3(Q, Q, Q)>>>(b, weight, x, y, elements);
    verify("k73b");
    k73c<<<elements, dim3(Q, Q, 1)>>>(b, weight, x, y, elements);
    verify("k73c");
    k73d<<<(elements + MANY - 1) / MANY, dim3(Q, Q, MANY)>>>(b, weight, x, y, elements);
    verify("k73d");
    k73e<<<(elements + MANY - 1) / MANY, dim3(Q, Q, MANY)>>>(b, weight, x, y, elements);
    verify("k73e");
    return 0;
}
