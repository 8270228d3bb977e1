"""Richardson-Lucy deconvolution of a 2048x2048 micrograph, 15 iterations (CuPy)."""
from types import SimpleNamespace

import cupy as cp

SIZE = 2048
ITERATIONS = 15
EPS = 1e-6

guarded_ratio = cp.ElementwiseKernel(
    "float32 image, float32 blurred, float32 eps",
    "float32 ratio",
    "ratio = image / (blurred + eps)",
    "guarded_ratio",
)


def setup():
    rng = cp.random.RandomState(0)
    axis = cp.minimum(cp.arange(SIZE), SIZE - cp.arange(SIZE)).astype(cp.float32)
    distance = axis[:, None] ** 2 + axis[None, :] ** 2
    psf = cp.exp(-distance / 8.0)
    psf = psf / psf.sum()
    mirror = cp.roll(psf[::-1, ::-1], (1, 1), axis=(0, 1))
    mirror = cp.ascontiguousarray(mirror)
    image = rng.uniform(0.5, 1.5, (SIZE, SIZE)).astype(cp.float32)
    state = SimpleNamespace(psf=psf, mirror=mirror, image=image)
    state.otf = cp.fft.rfft2(psf)
    state.otf_mirror = cp.fft.rfft2(mirror)
    state.otf_full = cp.fft.fft2(psf)
    state.otf_mirror_full = cp.fft.fft2(mirror)
    return state


def convolve(picture, transfer):
    spectrum = cp.fft.rfft2(picture)
    spectrum *= transfer
    return cp.fft.irfft2(spectrum, s=(SIZE, SIZE))


def convolve_full(picture, transfer):
    spectrum = cp.fft.fft2(picture)
    spectrum *= transfer
    return cp.fft.ifft2(spectrum).real


def complex_transforms(state):
    estimate = cp.full_like(state.image, 1.0)
    for _ in range(ITERATIONS):
        blurred = convolve_full(estimate, state.otf_full)
        ratio = state.image / (blurred + EPS)
        estimate = estimate * convolve_full(ratio, state.otf_mirror_full)
    return estimate


def psf_every_time(state):
    estimate = cp.full_like(state.image, 1.0)
    for _ in range(ITERATIONS):
        forward = cp.fft.rfft2(state.psf)
        backward = cp.fft.rfft2(state.mirror)
        blurred = convolve(estimate, forward)
        ratio = state.image / (blurred + EPS)
        estimate = estimate * convolve(ratio, backward)
    return estimate


def psf_once(state):
    estimate = cp.full_like(state.image, 1.0)
    for _ in range(ITERATIONS):
        blurred = convolve(estimate, state.otf)
        ratio = state.image / (blurred + EPS)
        estimate = estimate * convolve(ratio, state.otf_mirror)
    return estimate


def psf_once_fused(state):
    eps = cp.float32(EPS)
    estimate = cp.full_like(state.image, 1.0)
    for _ in range(ITERATIONS):
        blurred = convolve(estimate, state.otf)
        ratio = guarded_ratio(state.image, blurred, eps)
        estimate = estimate * convolve(ratio, state.otf_mirror)
    return estimate


VARIANTS = {
    "psf_every_time": psf_every_time,
    "complex_transforms": complex_transforms,
    "psf_once": psf_once,
    "psf_once_fused": psf_once_fused,
}
TOLERANCE = 1e-2
