"""Classify metrics by name as exact, near, time or noisy: how well their values repeat from run to run (MetricClass).

``class_of_metric`` takes ncu's names, ``best_class`` textbook names too, ``class_of_expression`` expressions.

The class decides whether and how a gate may compare a metric.

The classes are as measured on an H200 with ncu 2025.3.1: six runs of ten kernels, all passes, caches flushed. What is
counted of the instructions is the same in every run; what the caches and the memory do is nearly so; what takes time
varies with the clocks; and samples and rare events vary by more than any change worth catching.
benchmarks/gate/measured_spread.csv holds the figures, which a test compares with the patterns here.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache

from ncuview.metrics.textbook import definitions, metric_names

NEAR_TOLERANCE = 0.02
"""The share by which near-exact counters may differ; the largest measured difference is 1.3 %."""
TIME_SPREAD = 0.03
"""The assumed spread of a number of class TIME around its median where repeats are missing: six runs of the worst
kernel lie within 7 %, which is a standard deviation of 3 %."""
DURATION = "duration_ns"
"""What budgets and baselines call a launch's time: that of copies and kernel where the host timed them."""


class MetricClass(IntEnum):
    """From what repeats best to what repeats worst."""

    EXACT = 0
    """The same in every run: compared by equality."""
    NEAR = 1
    """The same within 2 %."""
    TIME = 2
    """Only medians of repeats are compared, by the spread of the repeats."""
    NOISY = 3
    """Never compared."""


_CLASSES: tuple[tuple[MetricClass, str], ...] = (
    # Samples; conflicts as the hardware counts them; writes of a write-back cache, at times of its own; other traffic.
    (MetricClass.NOISY, r"smsp__pcsamp_|.*issue_stalled_|.*data_bank_conflicts"),
    (MetricClass.NOISY, r"dram__(bytes|sectors)(_op)?_write|lts__.*(write|atom|red)_hit_rate|.*op_(st|red)_lookup"),
    (MetricClass.NOISY, r"pcie__|nvlrx__|nvltx__|.*aperture_sysmem|smsp__warps_eligible|.*Triage"),
    (MetricClass.NEAR, r"sm__warps_active\.avg\.pct_of_peak_sustained_active$"),
    # Anything over the time or the cycles inherits their spread, and hit rates depend on what ran at the same moment.
    (MetricClass.TIME, r".*(per_second|pct_of_peak_sustained_\w+|per_cycle_active|per_cycle_elapsed)$"),
    (MetricClass.TIME, r"gpu__time|.*cycles_(active|elapsed)|.*latency|.*hit_rate|.*warps_active"),
    (MetricClass.EXACT, r"launch__|device__|sm__maximum_warps|sm__ctas_launched|smsp__warps_launched"),
    (MetricClass.EXACT, r"(thread_)?inst_executed|memory_l[12]_|derived__memory_|smsp__sass_"),
    (MetricClass.EXACT, r"smsp?__(average_)?(thread_)?inst_executed"),
    (MetricClass.EXACT, r"l1tex__t_requests_|l1tex__(average_)?t_sectors_(per_request_)?\w+_op_(ld|atom|red)\b"),
    (MetricClass.NEAR, r"l1tex__(average_)?t_sectors_(per_request_)?\w+_op_st\b"),
    (MetricClass.NEAR, r"l1tex__data_pipe_lsu_wavefronts_mem_shared\w*\.sum$|smsp?__inst_issued\.sum$"),
    (MetricClass.NEAR, r"dram__(bytes|sectors)(_op)?_read|lts__t_sectors|lts__t_requests"),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _CLASSES)


@cache
def class_of_metric(name: str) -> MetricClass:
    """The class of one of ncu's metrics; TIME where no pattern matches."""
    return next((kind for kind, pattern in _PATTERNS if pattern.match(name)), MetricClass.TIME)


@cache
def class_of_expression(expression: str) -> MetricClass:
    """The worst class among the metrics that an expression reads."""
    return max((class_of_metric(name) for name in metric_names(expression)), default=MetricClass.TIME)


@cache
def best_class(name: str) -> MetricClass:
    """The class of a metric under ncu's or a textbook's name; of several expressions, the one that repeats best."""
    if name == DURATION:
        return MetricClass.TIME
    if name not in definitions():
        return class_of_metric(name)
    expressions = definitions()[name].expressions
    return min((class_of_expression(each) for each in expressions), default=MetricClass.NOISY)
