/*--- ncuview
schema = 1
name = "powersByFunction"
family = "instructions"
step_number = 36
document = "CUDA C++ Best Practices Guide"
section = "Math Libraries"
teaches = "A square and a cube by pow: 170 instructions each, half of them in double precision, as the function takes the logarithm and the exponential."
better = "powersByProducts"
oracle = "square_and_cube"
tolerance = 1e-12

[sizes]
n = 16777216

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float64[n] below 1024"

[[args]]
name = "out"
kind = "out float64[n]"

[useful]
bytes = "2 * 8 * n"

[expect]
first = "strength_reduction"
---*/

// ncuview: begin kernel
__global__ void powersByFunction(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    // ncuview: begin function
    out[i] = 3.0 * pow(x, 2.0) - 2.0 * pow(x, 3.0);
    // ncuview: end function
}
// ncuview: end kernel
