"""A recorded profile's diagnosis, made once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ncuview.api import analyze
from ncuview.base.paths import shipped
from ncuview.records.diagnosis import Diagnosis

ROOT = Path(__file__).parents[2]


@cache
def recorded() -> Diagnosis:
    """The launches of a family, with advice, places and textbook metrics as they come from a GPU."""
    return analyze(shipped("kernels") / "bank_patterns" / "h200.ncu-repz")
