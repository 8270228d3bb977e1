"""Compute whether code or grid show the independent work that a change needs: more threads, or more per thread.

``open_condition`` returns the clause that a finding states where they do not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ncuview.metrics.analysis import Analysis

Proof = Literal["grid", "loop"]
"""``grid``: threads enough for two on each place of the GPU, so that a thread can do the work of two. ``loop``: most
instructions are executed in loops whose iterations are independent, so that other threads, or the same at once, can
execute them."""

_FILLS_TWICE = 2
_MOST = 0.5


def open_condition(proofs: Sequence[Proof], analysis: Analysis, launch: int) -> str:
    """What must hold on a launch for a change that needs independent work, as a clause; empty where it is shown."""
    if not proofs or any(_SHOWN[proof](analysis, launch) for proof in proofs):
        return ""
    if analysis.value("serial_share")[launch] >= _MOST:
        return "its loop, in which an iteration needs results of the one before, can be split"
    return "there is more independent work"


def _grid(analysis: Analysis, launch: int) -> bool:
    return bool(analysis.value("gpu_fill")[launch] >= _FILLS_TWICE)


def _loop(analysis: Analysis, launch: int) -> bool:
    return bool(analysis.value("independent_share")[launch] >= _MOST)


_SHOWN = {"grid": _grid, "loop": _loop}
