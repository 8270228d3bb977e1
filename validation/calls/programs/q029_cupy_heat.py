"""CuPy: heat diffusion on a 3072 x 3072 grid, twelve frames of three steps, peak temperature of every frame."""
import cupy as cp
import numpy as np

SIZE, FRAMES, STEPS = 3072, 12, 3

diffuse_kernel = cp.ElementwiseKernel(
    "raw float32 u, int32 n", "float32 out",
    """
    int y = i / n;
    int x = i % n;
    float c = u[i];
    if (y > 0 && y < n - 1 && x > 0 && x < n - 1) {
        out = c + 0.1f * (u[i - n] + u[i + n] + u[i - 1] + u[i + 1] - 4.0f * c);
    } else {
        out = c;
    }
    """, "diffuse_kernel")


def setup():
    rng = cp.random.RandomState(0)
    return {"u": rng.random_sample((SIZE, SIZE), dtype=cp.float32)}


def diffuse(u):
    new = u.copy()
    centre = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    new[1:-1, 1:-1] = centre + 0.1 * (around - 4.0 * centre)
    return new


def before(state):
    u = state["u"]
    peaks = []
    for _ in range(FRAMES):
        for _ in range(STEPS):
            u = diffuse(u)
        frame = cp.asnumpy(u)
        peaks.append(frame.max())
    return cp.asarray(np.array(peaks)), u


def on_gpu(state):
    u = state["u"]
    peaks = cp.empty(FRAMES, dtype=cp.float32)
    for k in range(FRAMES):
        for _ in range(STEPS):
            u = diffuse(u)
        peaks[k] = u.max()
    return peaks, u


def kernel(state):
    u = state["u"]
    peaks = cp.empty(FRAMES, dtype=cp.float32)
    for k in range(FRAMES):
        for _ in range(STEPS):
            new = cp.empty_like(u)
            diffuse_kernel(u, SIZE, new)
            u = new
        peaks[k] = u.max()
    return peaks, u


VARIANTS = {"before": before, "on_gpu": on_gpu, "kernel": kernel}
TOLERANCE = 1e-3
