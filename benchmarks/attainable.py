"""Print what the calibration kernels attain, for ncuview/diagnose/attainable.toml.

    python benchmarks/attainable.py kernels/calibration/h200.ncu-repz kernels/transpose/h200.ncu-repz

For each unit: the highest shares of peak that launches reached, and their kernels. A figure is an attainable
share only where that kernel is limited by that unit.
"""

from __future__ import annotations

import sys

import numpy as np

from ncuview.api import read
from ncuview.report.derive import column, first_known
from ncuview.report.units import UNITS


def main(*reports: str) -> None:
    """Print one row per unit, and the cost of an empty launch."""
    profile = read(*reports)
    kernels = profile.launches["kernel"].tolist()
    written = column(profile, "dram__bytes_write.sum")
    share = np.nan_to_num(written / (written + column(profile, "dram__bytes_read.sum")))
    for unit, what in UNITS.items():
        use = first_known(profile, what.metrics) / 100
        if np.isnan(use).all():
            print(f"{unit:12} not collected")
            continue
        top = np.argsort(-np.nan_to_num(use))[:3]
        print(f"{unit:12} " + "  ".join(f"{use[i]:.3f} {kernels[i]} (written {share[i]:.2f})" for i in top))
    for kernel, duration in zip(kernels, profile.launches["duration_ns"], strict=True):
        if kernel == "emptyKernel":
            print(f"launch       {duration:.0f} ns {kernel}")


if __name__ == "__main__":
    main(*sys.argv[1:])
