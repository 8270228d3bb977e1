/*--- ncuview
schema = 1
name = "transformKernel_global"
family = "texture"
step_number = 10
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Using Texture Memory (simpleTexture project from SDK)"
teaches = "The rotation of simpleTexture by plain loads: four of them for each pixel, which the angle scatters over the rows of the image, and the wrapping and interpolation by hand."
better = "transformKernel_global[bx=32]"
oracle = "rotated_image"
# The coordinates, of float32 and fast sines, are off by a few thousandths of a pixel; pixels differ by up to 1.
tolerance = 1e-2

[sizes]
n = 4096
degrees = 30
bx = 8

# ncuview: begin launch
[launch]
grid = ["n / bx", "n / 8"]
block = ["bx", "8"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, n]"

[[args]]
name = "width"
kind = "int32 = n"

[[args]]
name = "height"
kind = "int32 = n"

[[args]]
name = "theta"
kind = "float32 = degrees * 3.14159265358979 / 180"

[[args]]
name = "idata"
kind = "in float32[n, n]"

[useful]
bytes = "2 * 4 * n * n"

[expect]
first = "launch_configuration"
quiet = ["divergence_removal"]

[[variant]]
step_number = 12
sizes = { bx = 32 }
teaches = "Blocks of 32 x 8: a warp covers one row, which the rotation maps to 16 rows of the image."
better = "transformKernel[bx=32]"

[variant.step]
after = "transformKernel_global"
applies = "launch_configuration"

[variant.expect]
first = "texture_cache"
quiet = ["divergence_removal"]

[[variant]]
step_number = 14
sizes = { degrees = 0 }
teaches = "Not rotated: a warp reads whole sectors of four rows, and only the arithmetic is left for a texture to take over."
better = "transformKernel_global[degrees=0,bx=32]"

[variant.expect]
first = "launch_configuration"
quiet = ["divergence_removal"]

[[variant]]
step_number = 15
sizes = { degrees = 0, bx = 32 }
teaches = "Not rotated, in blocks of 32 x 8: a warp reads along a row, and every load is coalesced up to the misalignment by a pixel."

[variant.step]
after = "transformKernel_global[degrees=0]"
applies = "launch_configuration"

[variant.expect]
verdict = "unclear"
quiet = ["divergence_removal", "texture_cache"]

[[variant]]
step_number = 16
sizes = { degrees = 90, bx = 32 }
teaches = "A rotation by 90 degrees: the 32 threads of a warp read a column, each load from 32 rows."
better = "transformKernel[degrees=90,bx=32]"

[variant.expect]
first = "texture_cache"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void transformKernel_global(float *odata, int width, int height, float theta, const float *idata)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    // About the centre, in coordinates from 0 to 1. Fast sines, so that they do not hide the loads.
    float u = __fdividef(x, width) - 0.5f;
    float v = __fdividef(y, height) - 0.5f;
    float tu = u * __cosf(theta) - v * __sinf(theta) + 0.5f;
    float tv = v * __cosf(theta) + u * __sinf(theta) + 0.5f;

    // ncuview: begin fetch
    // Pixel centres lie halfway between integers.
    float px = tu * width - 0.5f;
    float py = tv * height - 0.5f;
    int x0 = __float2int_rd(px), y0 = __float2int_rd(py);
    float a = px - x0, b = py - y0;

    // The image repeats beyond its border; a rotation about the centre leaves it by less than one period.
    x0 += x0 < 0 ? width : x0 < width ? 0 : -width;
    y0 += y0 < 0 ? height : y0 < height ? 0 : -height;
    int x1 = x0 + 1 < width ? x0 + 1 : 0;
    int y1 = y0 + 1 < height ? y0 + 1 : 0;

    float upper = (1 - a) * idata[y0 * width + x0] + a * idata[y0 * width + x1];
    float lower = (1 - a) * idata[y1 * width + x0] + a * idata[y1 * width + x1];
    odata[y * width + x] = (1 - b) * upper + b * lower;
    // ncuview: end fetch
}
// ncuview: end kernel
