"""CuPy and cupyx: a sparse system solved by conjugate gradients, a filtered image and its spectrum, sorted."""

import cupy
import cupyx.scipy.ndimage
import cupyx.scipy.sparse
import cupyx.scipy.sparse.linalg

cupy.random.seed(0)
SIDE = 256
ones = cupy.ones(SIDE * SIDE)
bands = [4.1 * ones, -ones[1:], -ones[1:], -ones[SIDE:], -ones[SIDE:]]
matrix = cupyx.scipy.sparse.diags(bands, [0, 1, -1, SIDE, -SIDE])
solved, _ = cupyx.scipy.sparse.linalg.cg(matrix.tocsr(), cupy.random.random(SIDE * SIDE), maxiter=12)
image = solved.reshape(SIDE, SIDE)
smooth = cupyx.scipy.ndimage.gaussian_filter(image, 2.0)
edges = cupy.hypot(cupyx.scipy.ndimage.sobel(smooth, 0), cupyx.scipy.ndimage.sobel(smooth, 1))
spectrum = cupy.abs(cupy.fft.rfft2(edges)) ** 2
order = cupy.sort(spectrum.ravel())[::-1]
counts, _ = cupy.histogram(cupy.log1p(spectrum), bins=64)
mixed = cupy.fuse(kernel_name="mixed")(lambda a, b: cupy.sqrt(a * a + b) * 0.5)(image, smooth)
print(float(order[:16].sum()), int(counts.max()), float(mixed.mean()))
