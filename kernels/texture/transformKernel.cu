/*--- ncuview
schema = 1
name = "transformKernel"
family = "texture"
step_number = 20
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Using Texture Memory (simpleTexture project from SDK)"
teaches = "The rotation by texture fetches: one fetch does the wrapping, the four loads and the interpolation. CUDA 12 removed the texture references of the document; a texture object replaces them."
better = "transformKernel[bx=32]"
oracle = "rotated_image"
# Its weights have 8 bits, so each axis is off by up to 1/256 of the difference between two pixels, which is below 1;
# the coordinates, of float32 and fast sines, are off by a few thousandths of a pixel.
tolerance = 2e-2

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
name = "tex"
kind = "texture float32[n, n]"

[useful]
bytes = "2 * 4 * n * n"

[step]
after = "transformKernel_global"
applies = "texture_cache"
not_first = "Blocks of 8 x 8 start as fast as the GPU can start them, and that is the bottleneck of both."

[expect]
first = "launch_configuration"
quiet = ["coalescing", "divergence_removal", "texture_cache"]

[[variant]]
step_number = 22
sizes = { bx = 32 }
teaches = "Blocks of 32 x 8: a warp covers one row, which the rotation maps to 16 rows of the texture."

[variant.step]
after = "transformKernel_global[bx=32]"
applies = "texture_cache"

[variant.expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "texture_cache"]

[[variant]]
step_number = 24
sizes = { degrees = 0 }
better = "transformKernel[degrees=0,bx=32]"
teaches = "Not rotated: fetches that plain loads could make coalesced."

[variant.step]
after = "transformKernel_global[degrees=0]"
applies = "texture_cache"
not_first = "Blocks of 8 x 8 start as fast as the GPU can start them, and that is the bottleneck of both."

[variant.expect]
first = "launch_configuration"
quiet = ["coalescing", "divergence_removal", "texture_cache"]

[[variant]]
step_number = 25
sizes = { degrees = 0, bx = 32 }
teaches = "Not rotated, in blocks of 32 x 8: the fetches of a warp lie in a row."

[variant.step]
after = "transformKernel_global[degrees=0,bx=32]"
applies = "texture_cache"
not_first = "Unrotated, the loads are coalesced, and a texture saves only arithmetic."

[variant.expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "texture_cache"]

[[variant]]
step_number = 26
sizes = { degrees = 90, bx = 32 }
teaches = "A rotation by 90 degrees: the 32 threads of a warp fetch from a column, and a texture is stored by blocks of the image instead of by rows."

[variant.step]
after = "transformKernel_global[degrees=90,bx=32]"
applies = "texture_cache"

[variant.expect]
verdict = "unclear"
quiet = ["coalescing", "divergence_removal", "texture_cache"]
---*/

// ncuview: begin kernel
__global__ void transformKernel(float *odata, int width, int height, float theta, cudaTextureObject_t tex)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    // About the centre, in coordinates from 0 to 1. Fast sines, so that they do not hide the fetch.
    float u = __fdividef(x, width) - 0.5f;
    float v = __fdividef(y, height) - 0.5f;
    float tu = u * __cosf(theta) - v * __sinf(theta) + 0.5f;
    float tv = v * __cosf(theta) + u * __sinf(theta) + 0.5f;

    // ncuview: begin fetch
    odata[y * width + x] = tex2D<float>(tex, tu, tv);
    // ncuview: end fetch
}
// ncuview: end kernel
