"""CuPy: prediction step of 64 Kalman filters with 512 states each (covariance F P F' + Q), float64."""
import cupy as cp

FILTERS, STATES = 64, 512


def setup():
    rng = cp.random.RandomState(0)
    f = rng.standard_normal((FILTERS, STATES, STATES)) * STATES ** -0.5
    half = rng.standard_normal((FILTERS, STATES, STATES)) * STATES ** -0.5
    p = cp.matmul(half, half.transpose(0, 2, 1))
    q = cp.eye(STATES) * 0.01
    m = rng.standard_normal((FILTERS, STATES))
    return {"f": f, "p": p, "q": q, "m": m}


def before(state):
    f, p, q, m = state["f"], state["p"], state["q"], state["m"]
    new_p = cp.empty_like(p)
    new_m = cp.empty_like(m)
    for k in range(FILTERS):
        fp = f[k] @ p[k]
        new_p[k] = fp @ f[k].T + q
        new_m[k] = f[k] @ m[k]
    return new_m, new_p


def after(state):
    f, p, q, m = state["f"], state["p"], state["q"], state["m"]
    fp = cp.matmul(f, p)
    new_p = cp.matmul(fp, f.transpose(0, 2, 1))
    new_p += q
    new_m = cp.matmul(f, m[:, :, None])[:, :, 0]
    return new_m, new_p


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-6
