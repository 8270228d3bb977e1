"""Numba: develop raw camera frames (black level, gain, vignette, tone curve, clip)."""
import math

import numpy as np
import torch
from numba import cuda

if not hasattr(np, "row_stack"):  # NumPy 2.5 removed it; numba-cuda 0.30 asks for it at the first launch
    np.row_stack = np.vstack

H, W, FRAMES = 4096, 8192, 10
BLACK = np.float32(0.06)
GAIN = np.float32(1.8)
KNEE = np.float32(0.35)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)


@cuda.jit
def subtract_black(src, dst):
    i = cuda.grid(1)
    if i < src.size:
        dst[i] = max(src[i] - BLACK, ZERO)


@cuda.jit
def apply_gain(src, dst):
    i = cuda.grid(1)
    if i < src.size:
        dst[i] = src[i] * GAIN


@cuda.jit
def correct_vignette(src, vignette, dst):
    i = cuda.grid(1)
    if i < src.size:
        dst[i] = src[i] * vignette[i]


@cuda.jit
def tone_curve(src, dst):
    i = cuda.grid(1)
    if i < src.size:
        x = src[i]
        dst[i] = math.sqrt(x) * (ONE + KNEE) / (ONE + KNEE * x)


@cuda.jit
def clip(src, dst):
    i = cuda.grid(1)
    if i < src.size:
        dst[i] = min(max(src[i], ZERO), ONE)


@cuda.jit
def develop(src, vignette, dst):
    i = cuda.grid(1)
    if i < src.size:
        x = max(src[i] - BLACK, ZERO) * GAIN * vignette[i]
        y = math.sqrt(x) * (ONE + KNEE) / (ONE + KNEE * x)
        dst[i] = min(max(y, ZERO), ONE)


def setup():
    torch.manual_seed(0)
    n = H * W
    raw = [torch.rand(n, device="cuda") for _ in range(FRAMES)]
    vignette = torch.rand(n, device="cuda") * 0.5 + 1.0
    out = torch.empty(FRAMES, n, device="cuda")
    a = torch.empty(n, device="cuda")
    b = torch.empty(n, device="cuda")
    torch.cuda.synchronize()
    return {
        "keep": (raw, vignette, a, b), "out": out,
        "raw": [cuda.as_cuda_array(r) for r in raw],
        "dst": [cuda.as_cuda_array(out[k]) for k in range(FRAMES)],
        "vignette": cuda.as_cuda_array(vignette),
        "a": cuda.as_cuda_array(a), "b": cuda.as_cuda_array(b),
        "blocks": (n + 255) // 256,
    }


def before(state):
    blocks, a, b = state["blocks"], state["a"], state["b"]
    for k in range(FRAMES):
        subtract_black[blocks, 256](state["raw"][k], a)
        apply_gain[blocks, 256](a, b)
        correct_vignette[blocks, 256](b, state["vignette"], a)
        tone_curve[blocks, 256](a, b)
        clip[blocks, 256](b, state["dst"][k])
    return state["out"]


def after(state):
    blocks = state["blocks"]
    for k in range(FRAMES):
        develop[blocks, 256](state["raw"][k], state["vignette"], state["dst"][k])
    return state["out"]


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-4
