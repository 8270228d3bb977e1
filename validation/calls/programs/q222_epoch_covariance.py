"""Log-determinants of the regularised covariance of 32 EEG epochs (CuPy)."""
from types import SimpleNamespace

import cupy as cp

EPOCHS = 32
CHANNELS = 128
SAMPLES = 16384


def setup():
    rng = cp.random.RandomState(0)
    mixing = rng.standard_normal((CHANNELS, CHANNELS)).astype(cp.float32) * 0.05
    x = rng.standard_normal((EPOCHS, CHANNELS, SAMPLES)).astype(cp.float32)
    x = x + cp.matmul(mixing, x)
    ridge = 0.1 * cp.eye(CHANNELS, dtype=cp.float32)
    return SimpleNamespace(x=x, ridge=ridge)


def epoch_by_epoch(state):
    values = []
    for i in range(EPOCHS):
        epoch = state.x[i]
        covariance = cp.matmul(epoch, epoch.T) / SAMPLES + state.ridge
        factor = cp.linalg.cholesky(covariance)
        values.append(2.0 * cp.log(cp.diagonal(factor)).sum())
    return cp.stack(values)


def all_epochs(state):
    covariances = cp.matmul(state.x, state.x.transpose(0, 2, 1)) / SAMPLES + state.ridge
    factors = cp.linalg.cholesky(covariances)
    diagonals = cp.diagonal(factors, axis1=1, axis2=2)
    return 2.0 * cp.log(diagonals).sum(axis=1)


VARIANTS = {"epoch_by_epoch": epoch_by_epoch, "all_epochs": all_epochs}
TOLERANCE = 1e-2
