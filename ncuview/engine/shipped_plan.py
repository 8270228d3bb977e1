"""Read the precomputed list of metrics that all shipped rules need, so that ncu can start before rules are loaded.

``shipped_plan`` returns the names in ``shipped_plan.txt``: what ``plan.metrics_for`` computes for the shipped rules.

Computing the list takes a fifth of the time that ncu needs for a kernel. A test compares both; after a change of rules,
``benchmarks/shipped_plan.py`` writes the file again.
"""

from __future__ import annotations

from pathlib import Path

_LIST = Path(__file__).with_name("shipped_plan.txt")


def shipped_plan() -> list[str]:
    """The metrics to collect for the shipped rules, sorted, under Nsight Compute's newest names."""
    return _LIST.read_text("ascii").split()
