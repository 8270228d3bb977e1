// A kernel that is a template in a header, launched for two types: its lanes read a column.
#include "matrix.cuh"
#include "run.h"

int main()
{
    Matrices<float> floats;
    transposed<<<GRID, BLOCK>>>(floats.out, floats.in, N);
    floats.must_be_transposed();
    Matrices<double> doubles;
    transposed<<<GRID, BLOCK>>>(doubles.out, doubles.in, N);
    doubles.must_be_transposed();
}
