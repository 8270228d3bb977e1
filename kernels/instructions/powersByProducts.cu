/*--- ncuview
schema = 1
name = "powersByProducts"
family = "instructions"
step_number = 37
document = "CUDA C++ Best Practices Guide"
section = "Math Libraries"
teaches = "The same polynomial by products: two instructions for a power."
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

[step]
after = "powersByFunction"
applies = "strength_reduction"

[expect]
verdict = "near-peak"
quiet = ["strength_reduction"]
---*/

// ncuview: begin kernel
__global__ void powersByProducts(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    // ncuview: begin function
    out[i] = 3.0 * (x * x) - 2.0 * (x * x * x);
    // ncuview: end function
}
// ncuview: end kernel
