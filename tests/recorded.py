"""Recorded reports to test on: a part of them in every run, and all with ``--exhaustive``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ncuview.paths import shipped

CATALOGUE = sorted(shipped("kernels").glob("*/h200.ncu-repz"))
ACCURACY = sorted((Path(__file__).parents[1] / "benchmarks" / "accuracy" / "h200").glob("*.ncu-repz"))
_ONE_IN = 5


def every(reports: Iterable[Path]) -> Sequence[Any]:
    """Parameters for a test of each report; of those of the accuracy set, most are for ``--exhaustive`` alone."""
    found = list(reports)
    more = [path for path in found if path in ACCURACY]
    rare = {path for at, path in enumerate(more) if at % _ONE_IN}
    return [
        pytest.param(path, id=f"{path.parent.name}-{path.name}", marks=[pytest.mark.exhaustive] if path in rare else [])
        for path in found
    ]
