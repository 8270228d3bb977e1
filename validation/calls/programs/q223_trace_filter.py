"""Zero-phase band-pass of 8192 seismic traces of 16384 samples (CuPy)."""
from types import SimpleNamespace

import cupy as cp

SAMPLES = 16384
TRACES = 8192


def setup():
    rng = cp.random.RandomState(0)
    by_trace = rng.standard_normal((TRACES, SAMPLES), dtype=cp.float32)
    by_sample = cp.ascontiguousarray(by_trace.T)
    frequency = cp.fft.rfftfreq(SAMPLES, d=0.002).astype(cp.float32)
    gain = cp.exp(-((frequency - 30.0) / 20.0) ** 2).astype(cp.float32)
    return SimpleNamespace(by_trace=by_trace, by_sample=by_sample, gain=gain)


@cp.fuse(kernel_name="apply_gain")
def apply_gain(spectrum, gain):
    return spectrum * gain


def sample_major(state):
    spectrum = cp.fft.rfft(state.by_sample, axis=0)
    spectrum = spectrum * state.gain[:, None]
    return cp.fft.irfft(spectrum, n=SAMPLES, axis=0)


def trace_major(state):
    rows = cp.fft.rfft(state.by_trace, axis=1)
    rows = rows * state.gain[None, :]
    return cp.fft.irfft(rows, n=SAMPLES, axis=1).T


def trace_major_fused(state):
    rows_fused = cp.fft.rfft(state.by_trace, axis=1)
    rows_fused = apply_gain(rows_fused, state.gain[None, :])
    return cp.fft.irfft(rows_fused, n=SAMPLES, axis=1).T


VARIANTS = {"sample_major": sample_major, "trace_major": trace_major, "trace_major_fused": trace_major_fused}
TOLERANCE = 1e-2
