"""``overview``: what a page of a store shows, as answers to its questions about the most costly kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ncuview.store.answer import Answer
from ncuview.store.kernel_history import history
from ncuview.store.opened import Store
from ncuview.store.questions import top, unprofiled

_KERNELS = 10
"""The kernels whose history is asked for."""
_POINTS = 12
"""The newest points, configurations and changes of a history that a page has room for."""


@dataclass(frozen=True)
class Overview:
    """A store at the moment of opening."""

    name: str
    """The folder or URL."""
    reports: int
    damaged: int
    """The reports of which something could not be read."""
    launches: int
    time_ns: float
    """The sum of the known durations."""
    gpus: tuple[str, ...]
    """The names of the GPU models that are known."""
    first: str
    """The date of the oldest report in ISO 8601; empty when unknown."""
    last: str
    """The date of the newest one."""
    top: Answer
    unprofiled: Answer
    histories: tuple[tuple[str, Answer], ...]
    """The most costly kernels, each with its history."""


def overview(store: Store, limit: int) -> Overview:
    """Ask a store what a page of it shows.

    Args:
        store: The store.
        limit: The most rows of a table, but for histories; 0 for all.
    """
    launches, time_ns, first, last = store.sql(
        "SELECT coalesce(sum(launches), 0)::BIGINT, coalesce(sum(time_ns), 0), min(created), max(created) FROM reports"
    ).fetchall()[0]
    gpus = store.sql("SELECT DISTINCT gpu FROM reports WHERE gpu IS NOT NULL ORDER BY ALL").fetchall()
    costly = store.sql("SELECT name FROM top_kernels WHERE time_ns > 0 GROUP BY name ORDER BY sum(time_ns) DESC, name")
    names = [name for (name,) in costly.limit(_KERNELS).fetchall()]
    return Overview(
        name=store.name,
        reports=len(store.reports),
        damaged=len(store.damaged),
        launches=launches,
        time_ns=time_ns,
        gpus=tuple(name for (name,) in gpus),
        first=f"{first:%Y-%m-%d}" if first else "",
        last=f"{last:%Y-%m-%d}" if last else "",
        top=top(store, limit),
        unprofiled=unprofiled(store, limit),
        histories=tuple((name, history(store, name, _POINTS)) for name in names),
    )
