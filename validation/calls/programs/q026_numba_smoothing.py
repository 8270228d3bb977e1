"""Numba: exponential smoothing and peak of 524288 sensor series of 256 samples, six smoothing constants."""
import numpy as np
import torch
from numba import cuda

if not hasattr(np, "row_stack"):  # NumPy 2.5 removed it; numba-cuda 0.30 asks for it at the first launch
    np.row_stack = np.vstack

SERIES, SAMPLES = 524_288, 256
ALPHAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@cuda.jit
def smooth_rows(x, alpha, out, peak):
    i = cuda.grid(1)
    if i < x.shape[0]:
        s = x[i, 0]
        p = s
        for t in range(x.shape[1]):
            s += alpha * (x[i, t] - s)
            p = max(p, s)
            out[i, t] = s
        peak[i] = p


@cuda.jit
def smooth_columns(x, alpha, out, peak):
    i = cuda.grid(1)
    if i < x.shape[1]:
        s = x[0, i]
        p = s
        for t in range(x.shape[0]):
            s += alpha * (x[t, i] - s)
            p = max(p, s)
            out[t, i] = s
        peak[i] = p


def setup():
    torch.manual_seed(0)
    rows = torch.randn(SERIES, SAMPLES, device="cuda")
    columns = rows.t().contiguous()
    out = torch.empty(SERIES, SAMPLES, device="cuda")
    out_columns = torch.empty(SAMPLES, SERIES, device="cuda")
    peaks = torch.empty(2, len(ALPHAS), SERIES, device="cuda")
    torch.cuda.synchronize()
    return {
        "keep": (rows, columns), "out": out, "out_columns": out_columns, "peaks": peaks,
        "rows_n": cuda.as_cuda_array(rows), "columns_n": cuda.as_cuda_array(columns),
        "out_n": cuda.as_cuda_array(out), "out_columns_n": cuda.as_cuda_array(out_columns),
        "peaks_n": [[cuda.as_cuda_array(peaks[v, a]) for a in range(len(ALPHAS))] for v in range(2)],
        "alphas": [np.float32(a) for a in ALPHAS],
        "blocks": SERIES // 256,
    }


def before(state):
    for alpha, peak in zip(state["alphas"], state["peaks_n"][0]):
        smooth_rows[state["blocks"], 256](state["rows_n"], alpha, state["out_n"], peak)
    return state["peaks"][0], state["out"]


def after(state):
    for alpha, peak in zip(state["alphas"], state["peaks_n"][1]):
        smooth_columns[state["blocks"], 256](state["columns_n"], alpha, state["out_columns_n"], peak)
    return state["peaks"][1], state["out_columns"].t()


VARIANTS = {"before": before, "after": after}
TOLERANCE = 1e-3
