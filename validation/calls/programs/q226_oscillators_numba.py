"""Sixty leapfrog steps of three million independent oscillators with a Numba CUDA kernel."""
from types import SimpleNamespace

import numpy as np
import torch
from numba import cuda

if not hasattr(np, "row_stack"):  # NumPy 2.5 removed it; numba-cuda 0.30 asks for it at the first launch
    np.row_stack = np.vstack

COUNT = 3_000_000
FIELDS = 16
STEPS = 60
DT = np.float32(0.02)
THREADS = 256
BLOCKS = (COUNT + THREADS - 1) // THREADS


@cuda.jit
def drift_records(p, dt):
    i = cuda.grid(1)
    if i < p.shape[0]:
        for c in range(3):
            v = p[i, 8 + c] - dt * p[i, c]
            p[i, 8 + c] = v
            p[i, c] = p[i, c] + dt * v


@cuda.jit
def drift_columns(p, dt):
    i = cuda.grid(1)
    if i < p.shape[1]:
        for c in range(3):
            v = p[8 + c, i] - dt * p[c, i]
            p[8 + c, i] = v
            p[c, i] = p[c, i] + dt * v


def setup():
    rng = np.random.default_rng(0)
    host = rng.standard_normal((COUNT, FIELDS), dtype=np.float32)
    records = torch.from_numpy(host).cuda()
    columns = records.t().contiguous()
    return SimpleNamespace(host=host, records=records, columns=columns)


def records_from_host(state):
    particles = cuda.to_device(state.host)
    for _ in range(STEPS):
        drift_records[BLOCKS, THREADS](particles, DT)
    result = particles.copy_to_host()
    return torch.from_numpy(np.ascontiguousarray(result[:, :3]))


def records_on_device(state):
    work = state.records.clone()
    view = cuda.as_cuda_array(work)
    for _ in range(STEPS):
        drift_records[BLOCKS, THREADS](view, DT)
    return work[:, :3].contiguous()


def columns_on_device(state):
    work = state.columns.clone()
    view = cuda.as_cuda_array(work)
    for _ in range(STEPS):
        drift_columns[BLOCKS, THREADS](view, DT)
    return work[:3].t().contiguous()


VARIANTS = {
    "records_from_host": records_from_host,
    "records_on_device": records_on_device,
    "columns_on_device": columns_on_device,
}
TOLERANCE = 1e-2
