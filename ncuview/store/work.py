"""``work_of``: one number for all exact counters of a launch, so that a history reads each combination of them once.

Many launches of a kernel do the same work. To read the counters of all of them takes most of the time of a history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import md5
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.repeatability import MetricClass, class_of_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

SINCE = 4
"""The version of the tables from which on ``launches`` has the number and the cycles. One in which another metric
counts as exact is a new version; a test says when."""
CYCLES = "sm__cycles_elapsed.max"
"""The metric that ``launches`` has as ``cycles``; over the time it is the clock."""
_NAME = re.compile(r"\w[\w.]*")
"""Metrics of other names are not ncu's, and are left out."""


def exact_of(metrics: Iterable[str]) -> list[str]:
    """The exact counters among metrics, by name."""
    return [
        name for name in sorted(metrics) if class_of_metric(name) is MetricClass.EXACT and _NAME.fullmatch(name)
    ]  # fmt: skip


def work_of(names: Sequence[str], values: NDArray[np.float64]) -> int | None:
    """The first 63 bits of the MD5 of a launch's exact counters; None where it has none.

    Args:
        names: Those of the report, in order.
        values: Their values, shape (names,); NaN where unknown.
    """
    known = ~np.isnan(values)
    if not known.any():
        return None
    found = md5(_joined(tuple(names), known.tobytes()) + values[known].tobytes(), usedforsecurity=False)
    return int.from_bytes(found.digest()[:8], "big") >> 1


@lru_cache(maxsize=8)
def _joined(names: Sequence[str], known: bytes) -> bytes:
    """The names that are known; most launches of a report have the same ones."""
    return "\0".join(compress(names, known)).encode()


def with_work(launches: str, exact: Sequence[str], *, cycles: bool) -> str:
    """A query of launches of which some are of an older version, with the number and cycles of all from ``metrics``.

    Args:
        launches: The query, of launches of ``$kernels``.
        exact: The exact counters of the store.
        cycles: Whether the store has CYCLES.
    """
    columns = ", ".join(f'm."{name}"' for name in exact)
    work = f"CASE WHEN coalesce({columns}) IS NOT NULL THEN (hash({columns}) >> 1)::BIGINT END" if exact else "NULL"
    clock = f'm."{CYCLES}"' if cycles else "NULL::DOUBLE"
    return (
        f"SELECT l.* REPLACE ({work} AS work, {clock} AS cycles) FROM ({launches}) AS l "  # noqa: S608
        "LEFT JOIN (FROM metrics WHERE kernel IN $kernels) AS m USING (report, launch)"
    )
