// Matrix-free operator of a high-order spectral element method (screened Poisson) on hexahedra with 8 x 8 x 8 nodes:
// out = D^T G D u + lambda * J u for every element.
#include "../harness.h"

const int NQ = 8;
const int NP = NQ * NQ * NQ;
const int NG = 7;

__constant__ double cD[NQ][NQ];

__global__ void k96a(int elements, const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                     const double *__restrict__ u, double *__restrict__ out)
{
    __shared__ double wr[NQ][NQ][NQ], ws[NQ][NQ][NQ], wt[NQ][NQ][NQ];
    int e = blockIdx.x;
    int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
    const double *ue = u + (size_t)e * NP;
    const double *ge = geo + (size_t)e * NG * NP;
    int node = (k * NQ + j) * NQ + i;

    double ur = 0.0, us = 0.0, ut = 0.0;
    for (int m = 0; m < NQ; m++) {
        ur += D[i * NQ + m] * ue[(k * NQ + j) * NQ + m];
        us += D[j * NQ + m] * ue[(k * NQ + m) * NQ + i];
        ut += D[k * NQ + m] * ue[(m * NQ + j) * NQ + i];
    }
    double g00 = ge[0 * NP + node], g01 = ge[1 * NP + node], g02 = ge[2 * NP + node];
    double g11 = ge[3 * NP + node], g12 = ge[4 * NP + node], g22 = ge[5 * NP + node];
    wr[k][j][i] = g00 * ur + g01 * us + g02 * ut;
    ws[k][j][i] = g01 * ur + g11 * us + g12 * ut;
    wt[k][j][i] = g02 * ur + g12 * us + g22 * ut;
    __syncthreads();

    double sum = lambda * ge[6 * NP + node] * ue[node];
    for (int m = 0; m < NQ; m++) {
        sum += D[m * NQ + i] * wr[k][j][m];
        sum += D[m * NQ + j] * ws[k][m][i];
        sum += D[m * NQ + k] * wt[m][j][i];
    }
    out[(size_t)e * NP + node] = sum;
}

__global__ void k96b(int elements, const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                     const double *__restrict__ u, double *__restrict__ out)
{
    __shared__ double sD[NQ][NQ];
    __shared__ double su[NQ][NQ][NQ];
    __shared__ double wr[NQ][NQ][NQ], ws[NQ][NQ][NQ], wt[NQ][NQ][NQ];
    int e = blockIdx.x;
    int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
    const double *ge = geo + (size_t)e * NG * NP;
    int node = (k * NQ + j) * NQ + i;

    if (k == 0)
        sD[j][i] = D[j * NQ + i];
    su[k][j][i] = u[(size_t)e * NP + node];
    __syncthreads();

    double ur = 0.0, us = 0.0, ut = 0.0;
    for (int m = 0; m < NQ; m++) {
        ur += sD[i][m] * su[k][j][m];
        us += sD[j][m] * su[k][m][i];
        ut += sD[k][m] * su[m][j][i];
    }
    double g00 = ge[0 * NP + node], g01 = ge[1 * NP + node], g02 = ge[2 * NP + node];
    double g11 = ge[3 * NP + node], g12 = ge[4 * NP + node], g22 = ge[5 * NP + node];
    wr[k][j][i] = g00 * ur + g01 * us + g02 * ut;
    ws[k][j][i] = g01 * ur + g11 * us + g12 * ut;
    wt[k][j][i] = g02 * ur + g12 * us + g22 * ut;
    __syncthreads();

    double sum = lambda * ge[6 * NP + node] * su[k][j][i];
    for (int m = 0; m < NQ; m++) {
        sum += sD[m][i] * wr[k][j][m];
        sum += sD[m][j] * ws[k][m][i];
        sum += sD[m][k] * wt[m][j][i];
    }
    out[(size_t)e * NP + node] = sum;
}

// One thread for each (i, j) of an element; the nodes along k are walked layer by layer.
template <int LD>
__device__ void layers(const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                       const double *__restrict__ u, double *__restrict__ out)
{
    __shared__ double sD[NQ][LD], su[NQ][LD], sr[NQ][LD], ss[NQ][LD];
    int e = blockIdx.x;
    int i = threadIdx.x, j = threadIdx.y;
    const double *ue = u + (size_t)e * NP + j * NQ + i;
    const double *ge = geo + (size_t)e * NG * NP + j * NQ + i;

    double col[NQ], acc[NQ];
    sD[j][i] = D[j * NQ + i];
#pragma unroll
    for (int k = 0; k < NQ; k++) {
        col[k] = ue[k * NQ * NQ];
        acc[k] = 0.0;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++) {
        __syncthreads();
        su[j][i] = col[k];
        __syncthreads();

        double ur = 0.0, us = 0.0, ut = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            ur += sD[i][m] * su[j][m];
            us += sD[j][m] * su[m][i];
            ut += sD[k][m] * col[m];
        }
        int node = k * NQ * NQ;
        double g00 = ge[0 * NP + node], g01 = ge[1 * NP + node], g02 = ge[2 * NP + node];
        double g11 = ge[3 * NP + node], g12 = ge[4 * NP + node], g22 = ge[5 * NP + node];
        double gw = ge[6 * NP + node];
        sr[j][i] = g00 * ur + g01 * us + g02 * ut;
        ss[j][i] = g01 * ur + g11 * us + g12 * ut;
        double wt = g02 * ur + g12 * us + g22 * ut;
        acc[k] += lambda * gw * col[k];
        __syncthreads();

        double sum = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            sum += sD[m][i] * sr[j][m];
            sum += sD[m][j] * ss[m][i];
            acc[m] += sD[k][m] * wt;
        }
        acc[k] += sum;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++)
        out[(size_t)e * NP + (k * NQ + j) * NQ + i] = acc[k];
}

__global__ void k96c(int elements, const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                     const double *__restrict__ u, double *__restrict__ out)
{
    layers<NQ>(geo, D, lambda, u, out);
}

__global__ void k96d(int elements, const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                     const double *__restrict__ u, double *__restrict__ out)
{
    layers<NQ + 1>(geo, D, lambda, u, out);
}

__global__ void k96e(int elements, const double *__restrict__ geo, const double *__restrict__ D, double lambda,
                     const double *__restrict__ u, double *__restrict__ out)
{
    __shared__ double sD[NQ][NQ + 1], su[NQ][NQ + 1], sr[NQ][NQ + 1], ss[NQ][NQ + 1];
    int e = blockIdx.x;
    int i = threadIdx.x, j = threadIdx.y;
    const double *ue = u + (size_t)e * NP + j * NQ + i;
    const double *ge = geo + (size_t)e * NG * NP + j * NQ + i;

    double col[NQ], acc[NQ];
    sD[j][i] = D[j * NQ + i];
#pragma unroll
    for (int k = 0; k < NQ; k++) {
        col[k] = ue[k * NQ * NQ];
        acc[k] = 0.0;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++) {
        int node = k * NQ * NQ;
        double g00 = ge[0 * NP + node], g01 = ge[1 * NP + node], g02 = ge[2 * NP + node];
        double g11 = ge[3 * NP + node], g12 = ge[4 * NP + node], g22 = ge[5 * NP + node];
        double gw = ge[6 * NP + node];
        __syncthreads();
        su[j][i] = col[k];
        __syncthreads();

        double ur = 0.0, us = 0.0, ut = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            ur += sD[i][m] * su[j][m];
            us += sD[j][m] * su[m][i];
            ut += sD[k][m] * col[m];
        }
        sr[j][i] = g00 * ur + g01 * us + g02 * ut;
        ss[j][i] = g01 * ur + g11 * us + g12 * ut;
        double wt = g02 * ur + g12 * us + g22 * ut;
        acc[k] += lambda * gw * col[k];
        __syncthreads();

        double sum = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            sum += sD[m][i] * sr[j][m];
            sum += sD[m][j] * ss[m][i];
            acc[m] += sD[k][m] * wt;
        }
        acc[k] += sum;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++)
        out[(size_t)e * NP + (k * NQ + j) * NQ + i] = acc[k];
}

__global__ void k96f(int elements, const double *__restrict__ geo, double lambda, const double *__restrict__ u,
                     double *__restrict__ out)
{
    __shared__ double su[NQ][NQ + 1], sr[NQ][NQ + 1], ss[NQ][NQ + 1];
    int e = blockIdx.x;
    int i = threadIdx.x, j = threadIdx.y;
    const double *ue = u + (size_t)e * NP + j * NQ + i;
    const double *ge = geo + (size_t)e * NG * NP + j * NQ + i;

    double col[NQ], acc[NQ];
#pragma unroll
    for (int k = 0; k < NQ; k++) {
        col[k] = ue[k * NQ * NQ];
        acc[k] = 0.0;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++) {
        int node = k * NQ * NQ;
        double g00 = ge[0 * NP + node], g01 = ge[1 * NP + node], g02 = ge[2 * NP + node];
        double g11 = ge[3 * NP + node], g12 = ge[4 * NP + node], g22 = ge[5 * NP + node];
        double gw = ge[6 * NP + node];
        __syncthreads();
        su[j][i] = col[k];
        __syncthreads();

        double ur = 0.0, us = 0.0, ut = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            ur += cD[i][m] * su[j][m];
            us += cD[j][m] * su[m][i];
            ut += cD[k][m] * col[m];
        }
        sr[j][i] = g00 * ur + g01 * us + g02 * ut;
        ss[j][i] = g01 * ur + g11 * us + g12 * ut;
        double wt = g02 * ur + g12 * us + g22 * ut;
        acc[k] += lambda * gw * col[k];
        __syncthreads();

        double sum = 0.0;
#pragma unroll
        for (int m = 0; m < NQ; m++) {
            sum += cD[m][i] * sr[j][m];
            sum += cD[m][j] * ss[m][i];
            acc[m] += cD[k][m] * wt;
        }
        acc[k] += sum;
    }

#pragma unroll
    for (int k = 0; k < NQ; k++)
        out[(size_t)e * NP + (k * NQ + j) * NQ + i] = acc[k];
}

int main()
{
    const int elements = 8192;
    const size_t n = (size_t)elements * NP;
    const double lambda = 0.7;
    double *geo = input<double>(n * NG, 961, 0.1, 1.0);
    double *u = input<double>(n, 962, -1.0, 1.0);
    double *D = input<double>(NQ * NQ, 963, -2.0, 2.0);
    std::vector<double> hD = on_host(D, NQ * NQ);
    MUST(cudaMemcpyToSymbol(cD, hD.data(), NQ * NQ * sizeof(double)));

    double *out = output<double>(n);
    dim3 cube(NQ, NQ, NQ), square(NQ, NQ);
    k96a<<<elements, cube>>>(elements, geo, D, lambda, u, out);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());

    // Every 127th element on the host, and the last one.
    std::vector<int> chosen;
    for (int e = 0; e < elements; e += 127)
        chosen.push_back(e);
    chosen.push_back(elements - 1);
    double *picked = output<double>(chosen.size() * NP);
    std::vector<double> some(chosen.size() * NP);
    for (size_t c = 0; c < chosen.size(); c++) {
        size_t e = chosen[c];
        std::vector<double> v = on_host(u + e * NP, NP), g = on_host(geo + e * NG * NP, NG * NP);
        std::vector<double> wr(NP), ws(NP), wt(NP);
        for (int k = 0; k < NQ; k++)
            for (int j = 0; j < NQ; j++)
                for (int i = 0; i < NQ; i++) {
                    int node = (k * NQ + j) * NQ + i;
                    double r = 0.0, s = 0.0, t = 0.0;
                    for (int m = 0; m < NQ; m++) {
                        r += hD[i * NQ + m] * v[(k * NQ + j) * NQ + m];
                        s += hD[j * NQ + m] * v[(k * NQ + m) * NQ + i];
                        t += hD[k * NQ + m] * v[(m * NQ + j) * NQ + i];
                    }
                    wr[node] = g[node] * r + g[NP + node] * s + g[2 * NP + node] * t;
                    ws[node] = g[NP + node] * r + g[3 * NP + node] * s + g[4 * NP + node] * t;
                    wt[node] = g[2 * NP + node] * r + g[4 * NP + node] * s + g[5 * NP + node] * t;
                }
        for (int k = 0; k < NQ; k++)
            for (int j = 0; j < NQ; j++)
                for (int i = 0; i < NQ; i++) {
                    int node = (k * NQ + j) * NQ + i;
                    double sum = lambda * g[6 * NP + node] * v[node];
                    for (int m = 0; m < NQ; m++)
                        sum += hD[m * NQ + i] * wr[(k * NQ + j) * NQ + m] + hD[m * NQ + j] * ws[(k * NQ + m) * NQ + i] +
                               hD[m * NQ + k] * wt[(m * NQ + j) * NQ + i];
                    some[c * NP + node] = sum;
                }
        MUST(cudaMemcpy(picked + c * NP, out + e * NP, NP * sizeof(double), cudaMemcpyDeviceToDevice));
    }
    check("k96a", picked, some, 1e-9);
    std::vector<double> want = on_host(out, n);

    auto again = [&] { MUST(cudaMemset(out, 0xA5, n * sizeof(double))); };
    again();
    k96b<<<elements, cube>>>(elements, geo, D, lambda, u, out);
    check("k96b", out, want, 1e-9);
    again();
    k96c<<<elements, square>>>(elements, geo, D, lambda, u, out);
    check("k96c", out, want, 1e-9);
    again();
    k96d<<<elements, square>>>(elements, geo, D, lambda, u, out);
    check("k96d", out, want, 1e-9);
    again();
    k96e<<<elements, square>>>(elements, geo, D, lambda, u, out);
    check("k96e", out, want, 1e-9);
    again();
    k96f<<<elements, square>>>(elements, geo, lambda, u, out);
    check("k96f", out, want, 1e-9);
    return 0;
}
