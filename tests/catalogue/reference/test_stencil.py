"""Means of neighbours on a grid that repeats, against the kernel's loop."""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference import ORACLES, Problem

H, W = 11, 3


def test_each_number_becomes_the_mean_of_nine_above_each_other() -> None:
    grid = np.random.default_rng(7).integers(0, 256, (H, W)).astype(np.float32)
    want = [[sum(int(grid[(y + d) % H, x]) for d in range(-4, 5)) / 9 for x in range(W)] for y in range(H)]
    result = ORACLES["smooth_columns"](Problem((grid,), (H, W), "float32", {}))
    np.testing.assert_allclose(result, want, rtol=1e-12)
