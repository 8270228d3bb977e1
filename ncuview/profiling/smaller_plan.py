"""Derive from a list of metrics smaller lists to retry with, where profiling ends the program; the last is time alone.

``smaller_plans`` returns ``SmallerPlan``s, the largest first, each with a description of what is left out.

Three things that ncu does to a kernel can end its program: it instruments the code for counters of instructions; it
saves and restores the memory that the kernel can reach between passes, which takes host memory where a framework has
reserved most of the GPU's; and it makes each launch take many times as long. Each smaller plan leaves one more out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ncuview.profiling.one_pass import sampling_metrics
from ncuview.profiling.passes import collector_of

TIME_ALONE = ("gpu__time_duration.sum",)
"""The smallest plan: one pass, nothing saved, nothing instrumented. A program that dies even then fails by itself."""


class SmallerPlan(NamedTuple):
    """Fewer metrics, and what is left out, in words."""

    metrics: tuple[str, ...]
    without: str


def smaller_plans(metrics: Sequence[str]) -> list[SmallerPlan]:
    """Plans that are part of this one, the largest first; the last is time alone.

    Args:
        metrics: What the plan that killed the program collects.
    """
    plans = [
        SmallerPlan(
            tuple(name for name in metrics if collector_of(name) != "instrumented"), "counters of instrumented code"
        ),
        SmallerPlan(_part(metrics, sampling_metrics()), "all that does not fit into one pass"),
        SmallerPlan(TIME_ALONE, "everything but the time of each launch"),
    ]
    smaller: dict[frozenset[str], SmallerPlan] = {}
    for plan in plans:
        smaller.setdefault(frozenset(plan.metrics), plan)
    return [plan for chosen, plan in smaller.items() if chosen and chosen != frozenset(metrics)]


def _part(metrics: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in allowed if name in metrics)
