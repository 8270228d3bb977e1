"""Read the precomputed list of metrics that all shipped rules need, so that ncu can start before rules are loaded.

``shipped_plan`` returns the names in ``shipped_plan.txt``: what ``plan.metrics_for`` computes for the shipped rules.

Computing it takes a fifth of the time that ncu needs for a kernel; a test holds both equal. After a change of rules,
``tools/shipped_plan.py`` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

_LIST = Path(__file__).with_name("shipped_plan.txt")


def shipped_plan() -> list[str]:
    """The metrics to collect for the shipped rules, sorted, under Nsight Compute's newest names."""
    return _LIST.read_text("ascii").split()
