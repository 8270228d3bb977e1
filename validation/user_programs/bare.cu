// A kernel alone: its launch is given on the command line.
template <typename T> __global__ void transposed(T *out, const T *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * n + x] = in[x * n + y]; // waste
}
