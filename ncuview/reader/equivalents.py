"""Fill in metrics missing from launches, in place, from expressions over other metrics of the same launches.

``determine`` fills them in by the table ``DETERMINED``; ``determinable`` names metrics that it may give a value for.
Reports by ``--set full`` and by older versions of ncu have much of what rules ask for under other names.
docs/full-sets.md holds what rules say of launches that were profiled both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ncuview.base.expression import Expression, compile_expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class Determined(NamedTuple):
    """What gives a metric."""

    unit: str
    expressions: tuple[str, ...]
    """Over other metrics, the best first; one may read what stands above it in the table."""


_ELAPSED, _ACTIVE = (f".avg.pct_of_peak_sustained_{which}" for which in ("elapsed", "active"))
_ACTIVE_SHARE = "sm__cycles_active.avg / sm__cycles_elapsed.max"
_SCHEDULERS = "device__attribute_num_schedulers_per_multiprocessor"
_DIVERGENT = "smsp__sass_branch_targets_threads_divergent"
_FP64, _TENSOR = "sm__pipe_fp64_cycles_active", "sm__pipe_tensor_cycles_active"

DETERMINED: Mapping[str, Determined] = {
    # Of the whole GPU. Where a launch gets a part of it, ncu is new enough to tell.
    "launch__sm_count": Determined("", ("device__attribute_multiprocessor_count",)),
    "sm__cycles_elapsed.max": Determined("cycle", ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.avg")),
    # A scheduler issues one instruction a cycle on all GPUs that ncu knows.
    f"sm__inst_issued{_ELAPSED}": Determined(
        "%",
        (
            f"sm__issue_active{_ELAPSED}",
            f"sm__inst_issued{_ACTIVE} * {_ACTIVE_SHARE}",
            f"smsp__issue_active{_ACTIVE} * {_ACTIVE_SHARE}",
        ),
    ),
    f"{_DIVERGENT}.sum": Determined("", (f"{_DIVERGENT}.avg * {_SCHEDULERS} * launch__sm_count",)),
    # The same but for instructions that occupy a pipe for several cycles.
    f"sm__inst_executed_pipe_alu{_ELAPSED}": Determined("%", (f"sm__pipe_alu_cycles_active{_ELAPSED}",)),
    f"sm__inst_executed_pipe_fma{_ELAPSED}": Determined("%", (f"sm__pipe_fma_cycles_active{_ELAPSED}",)),
    f"sm__inst_executed_pipe_xu_realtime{_ELAPSED}": Determined("%", (f"sm__inst_executed_pipe_xu{_ELAPSED}",)),
    # Both pipes take turns at one port, so that their sum is the most that it can be used.
    f"sm__pipe_shared_cycles_active_realtime{_ELAPSED}": Determined(
        "%",
        (
            f"sm__pipe_shared_cycles_active{_ELAPSED}",
            f"min(100, {_FP64}{_ELAPSED} + {_TENSOR}{_ELAPSED})",
            f"min(100, ({_FP64}{_ACTIVE} + {_TENSOR}{_ACTIVE}) * {_ACTIVE_SHARE})",
        ),
    ),
}


def determinable(metrics: Iterable[str]) -> Iterator[str]:
    """The names in the table that launches with these metrics may get a value for."""
    known = set(metrics)
    for name in DETERMINED:
        if any(expression.names <= known for expression in _expressions(name)):
            known.add(name)
            yield name


def determine(metrics: Mapping[str, Column]) -> None:
    """Put the values in that are missing and determined, in place.

    Args:
        metrics: Nsight Compute's metrics by name: one float64 per launch, NaN where it has none. It has a column for
            each ``determinable`` name.
    """
    for name in (name for name in DETERMINED if name in metrics):
        for expression in _expressions(name):
            missing = np.isnan(metrics[name])
            if missing.any() and expression.names <= metrics.keys():
                metrics[name][missing] = expression.evaluate(metrics)[missing]


@cache
def _expressions(name: str) -> tuple[Expression, ...]:
    return tuple(compile_expression(text, dotted=True) for text in DETERMINED[name].expressions)
