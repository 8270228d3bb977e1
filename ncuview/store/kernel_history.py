"""``history``: the times and exact counters of one kernel over commits, drivers and ncu versions, with change points.

A series is a kernel with its template arguments and configuration, on a GPU model, under one setting of the profiler.
Its points are commits (or dates, or builds), in the order of their reports; a driver or ncu version that changes begins
a new point. A kernel that was renamed continues its series where its machine code is the same, and no point has both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ncuview.store.answer import Answer, AnswerTable, Cell
from ncuview.store.change_points import TimeChanges, time_changes
from ncuview.store.counters import Counter
from ncuview.store.kernel_series import AtPoint, KernelSeries, Series
from ncuview.store.opened import Store
from ncuview.store.questions import SPLIT, cell

_SHOWN_VALUES = 3


def history(store: Store, kernel: str, limit: int) -> Answer:
    """The changes of a kernel, and its times at the last points.

    Args:
        store: The store.
        kernel: Its name, with or without namespaces and template arguments.
        limit: The most points of a series, and the most changes of a setting; 0 for all.

    Raises:
        UnknownKernel: No launch has this name.
    """
    launches = KernelSeries(store, kernel)
    shown = launches.most_costly(limit)
    notes = [SPLIT] if launches.settings > 1 else []
    notes += [
        f"{old} has the machine code of {new} at other points: it is the same kernel." for old, new in launches.renamed
    ]
    tables = []
    for (each, points), counters in zip(shown.items(), launches.counters([*shown.values()]), strict=True):
        found = _times(points)
        notes += _remarks(each, points, found)
        changes = sorted([*_time_rows(points, found), *_counter_rows(points, counters)], key=lambda change: change.at)
        if changes:
            rows = [(*each[1:], *change.row) for change in changes[-limit:]]
            tables.append(AnswerTable("changes", each.settings, _CHANGES, tuple(rows), len(changes) - len(rows)))
        if varied := [(name, least, most, it.known) for name, least, most, it in counters if it.varies]:
            rows = [(*each[1:], *row) for row in varied[: limit or None]]
            tables.append(AnswerTable("work varies", each.settings, _VARIED, tuple(rows), len(varied) - len(rows)))
        stepped = {step.at for step in found.steps}
        rows = [(*each[1:], *_point_row(points[at], stepped=at in stepped)) for at in range(len(points))[-limit:]]
        tables.append(AnswerTable("times", each.settings, _TIMES, tuple(rows), len(points) - len(rows)))
    if left_out := launches.count - len(shown):
        notes.append(f"{left_out:,} more configurations, of less time, are left out; --limit 0 shows all.")
    return Answer("history", tuple(tables), tuple(notes))


_OF_SERIES = ("gpu", "name", "grid", "block")
_CHANGES = (*_OF_SERIES, "since", "point", "created", "what", "before", "after", "ratio", "with")
_VARIED = (*_OF_SERIES, "what", "least", "most", "points")
_TIMES = (*_OF_SERIES, "point", "created", "cuda_version", "ncu_version", "launches", "time_ns", "step")


def _times(points: Sequence[AtPoint]) -> TimeChanges:
    clocks = [np.nan if at.clock is None else at.clock for at in points]
    return time_changes(np.array([at.time_ns for at in points], np.float64), np.array(clocks, np.float64))


def _remarks(series: Series, points: Sequence[AtPoint], found: TimeChanges) -> Iterator[str]:
    name = f"{series.name} {series.grid} on {series.gpu or 'an unknown GPU'}"
    if found.drifts:
        yield f"{name}: the time drifts, so that no step is reported there."
    if found.wanders:
        yield f"{name}: successive times resemble each other, so that a step between them says nothing."
    for at in found.with_clock:
        yield f"{name}: the time changes with the clock at {points[at].point.point or points[at].created}."


class _Change(NamedTuple):
    """A row of the table of changes, and the place of its point."""

    at: int
    row: tuple[Cell, ...]


def _time_rows(points: Sequence[AtPoint], found: TimeChanges) -> Iterator[_Change]:
    for step in found.steps:
        yield _change(points, step.at, "time_ns", step.before_ns, step.after_ns)


def _counter_rows(points: Sequence[AtPoint], counters: Sequence[Counter]) -> Iterator[_Change]:
    for name, *_, history in counters:
        for at, before, after in history.changes:
            yield _change(points, at, name, _values(before), _values(after))


def _values(values: Sequence[float]) -> Cell:
    """One value as a number, several as text."""
    if len(values) == 1:
        return values[0]
    more = ", ..." if len(values) > _SHOWN_VALUES else ""
    return ", ".join(repr(value).removesuffix(".0") for value in values[:_SHOWN_VALUES]) + more


def _change(points: Sequence[AtPoint], at: int, what: str, before: Cell, after: Cell) -> _Change:
    ratio = after / before if isinstance(before, float) and isinstance(after, float) and before else None
    last, now = points[at - 1], points[at]
    names = (last.point.point, now.point.point, cell(now.created))
    return _Change(at, (*names, what, before, after, ratio, _with(last, now)))


def _with(before: AtPoint, after: AtPoint) -> str:
    """What differs besides the commit: the answer to which driver or ncu changed something."""
    found = [
        f"{name} {old or '?'} -> {new or '?'}"
        for name, old, new in (
            ("CUDA", before.point.cuda_version, after.point.cuda_version),
            ("ncu", before.point.ncu_version, after.point.ncu_version),
        )
        if old != new
    ]
    if before.codes and after.codes and before.codes != after.codes:
        found.append("machine code")
    return ", ".join(found)


def _point_row(at: AtPoint, *, stepped: bool) -> tuple[Cell, ...]:
    point, cuda, ncu = at.point
    return point, cell(at.created), cuda, ncu, at.launches, at.time_ns, stepped
