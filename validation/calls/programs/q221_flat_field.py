"""Absorbance profiles of four X-ray stacks after dark and flat-field correction (CuPy)."""
from types import SimpleNamespace

import cupy as cp

FRAMES = 128
SIDE = 1024

absorbance = cp.ElementwiseKernel(
    "uint16 counts, float32 dark, float32 flat",
    "float32 a",
    """
    float t = ((float)counts - dark) / (flat - dark);
    t = fminf(fmaxf(t, 1e-4f), 1.0f);
    a = -logf(t);
    """,
    "absorbance",
)


def setup():
    rng = cp.random.RandomState(0)
    stacks = []
    for _ in range(4):
        stacks.append(rng.uniform(2000.0, 40000.0, (FRAMES, SIDE, SIDE)).astype(cp.uint16))
    dark = rng.uniform(90.0, 110.0, (SIDE, SIDE)).astype(cp.float32)
    flat = rng.uniform(42000.0, 48000.0, (SIDE, SIDE)).astype(cp.float32)
    return SimpleNamespace(stacks=stacks, dark=dark, flat=flat, dark64=dark.astype(cp.float64), flat64=flat.astype(cp.float64))


def double_precision(state):
    profiles = []
    for stack in state.stacks:
        frames = stack.astype(cp.float64)
        transmission64 = (frames - state.dark64) / (state.flat64 - state.dark64)
        transmission64 = cp.clip(transmission64, 1e-4, 1.0)
        image64 = -cp.log(transmission64)
        profiles.append(image64.mean(axis=-1).astype(cp.float32))
    return cp.stack(profiles)


def single_precision(state):
    profiles = []
    for stack in state.stacks:
        frames32 = stack.astype(cp.float32)
        transmission = (frames32 - state.dark) / (state.flat - state.dark)
        transmission = cp.clip(transmission, cp.float32(1e-4), cp.float32(1.0))
        image = -cp.log(transmission)
        profiles.append(image.mean(axis=-1))
    return cp.stack(profiles)


def one_kernel(state):
    profiles = []
    for stack in state.stacks:
        fused = absorbance(stack, state.dark, state.flat)
        profiles.append(fused.mean(axis=-1))
    return cp.stack(profiles)


VARIANTS = {"double_precision": double_precision, "single_precision": single_precision, "one_kernel": one_kernel}
TOLERANCE = 1e-2
