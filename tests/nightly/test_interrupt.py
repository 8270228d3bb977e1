"""The command line, interrupted at random moments: the bounded part of fuzz/interrupt.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

FILE = Path(__file__).parents[2] / "fuzz" / "interrupt.py"


def test_nothing_is_left_of_interrupted_runs() -> None:
    spec = importlib.util.spec_from_file_location("interrupt", FILE)
    assert spec is not None
    assert spec.loader is not None
    benchmark = sys.modules["interrupt"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    found = benchmark.interrupt(12, seed=1, at_once=12)
    assert {run.signal for run in found} == set(benchmark.SIGNALS)
    assert sum(run.under_ncu for run in found) >= 6
    assert [(run.processes, run.files) for run in found] == [((), ())] * 12
