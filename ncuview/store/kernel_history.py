"""``history``: the times and exact counters of one kernel over commits, drivers and ncu versions, with change points.

A counter of the same machine code that changes at each of several points depends on the data of a run. It is no change.

A series is a kernel with its template arguments and configuration, on a GPU model, under one setting of the profiler.
Its points are commits (or dates, or builds), in the order of their reports; a driver or ncu version that changes begins
a new point. A kernel that was renamed continues its series where its machine code is the same, and no point has both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ncuview.metrics.repeatability import MetricClass, class_of_metric
from ncuview.store.answer import Answer, AnswerTable, Cell, Settings
from ncuview.store.change_points import Numbers, TimeChanges, counter_changes, time_changes
from ncuview.store.opened import Store
from ncuview.store.questions import OF_NAME, SHAPE, SPLIT, cell, names_of, unknown_kernel
from ncuview.store.schema import TABLE

CYCLES = "sm__cycles_elapsed.max"
"""Over the time it is the clock."""
_NAME = re.compile(r"\w[\w.]*")
"""Metrics of other names are not ncu's, and are left out."""
_KEY = (
    f"l.clock_control, l.cache_control, l.replay_mode, l.gpu, l.function, l.template_arguments, {SHAPE}, "
    "l.point, l.cuda_version, l.ncu_version"
)
_SHOWN_VALUES = 3
_VARYING_FROM = 3
"""An exact counter that changes at this many successive points, and at no point stays, varies from run to run."""


class Series(NamedTuple):
    """What is compared over time."""

    settings: Settings
    gpu: str | None
    name: str
    grid: str
    block: str


class Point(NamedTuple):
    """What is the same for all launches of a point."""

    point: str | None
    cuda_version: str | None
    ncu_version: str | None


@dataclass(frozen=True)
class AtPoint:
    """A series at a point."""

    point: Point
    created: datetime | None
    launches: int
    time_ns: float
    codes: tuple[int, ...]
    """The hashes of the machine code of the launches; none where they are unknown."""
    key: tuple[Any, ...]
    """That of the rows in the store."""


def history(store: Store, kernel: str, limit: int) -> Answer:
    """The changes of a kernel, and its times at the last points.

    Args:
        store: The store.
        kernel: Its name, with or without namespaces and template arguments.
        limit: The most points of a series, and the most changes of a setting; 0 for all.

    Raises:
        UnknownKernel: No launch has this name.
    """
    identity = _Identity(store, kernel)
    series = _series(store, identity)
    counters = _Counters(store, identity)
    ordered = sorted(series, key=lambda each: -sum(at.launches * at.time_ns for at in series[each]))
    notes = [SPLIT] if len({each.settings for each in series}) > 1 else []
    notes += [
        f"{old} has the machine code of {new} at other points: it is the same kernel." for old, new in identity.renamed
    ]
    tables = []
    for each in ordered[: limit or None]:
        points = series[each]
        found = _times(points, counters)
        notes += _remarks(each, points, found)
        counted, varied = _counter_rows(points, counters)
        changes = sorted([*_time_rows(points, found), *counted], key=lambda change: change.at)
        if changes:
            rows = [(*each[1:], *change.row) for change in changes[-limit:]]
            tables.append(AnswerTable("changes", each.settings, _CHANGES, tuple(rows), len(changes) - len(rows)))
        if varied:
            rows = [(*each[1:], *row) for row in varied[: limit or None]]
            tables.append(AnswerTable("work varies", each.settings, _VARIED, tuple(rows), len(varied) - len(rows)))
        stepped = {step.at for step in found.steps}
        rows = [(*each[1:], *_point_row(points[at], stepped=at in stepped)) for at in range(len(points))][-limit:]
        tables.append(AnswerTable("times", each.settings, _TIMES, tuple(rows), len(points) - len(rows)))
    if limit and len(ordered) > limit:
        notes.append(f"{len(ordered) - limit:,} more configurations, of less time, are left out; --limit 0 shows all.")
    return Answer("history", tuple(tables), tuple(notes))


_OF_SERIES = ("gpu", "name", "grid", "block")
_CHANGES = (*_OF_SERIES, "since", "point", "created", "what", "before", "after", "ratio", "with")
_VARIED = (*_OF_SERIES, "what", "least", "most", "points")
_TIMES = (*_OF_SERIES, "point", "created", "cuda_version", "ncu_version", "launches", "time_ns", "step")


class _Identity:
    """Which names are the asked kernel: those that match, and those that its code had at other points.

    Attributes:
        values: The parameters of ``OF_KERNEL``.
        renamed: The other names, each with the name that continues it.
    """

    CONDITION = "l.kernel IN $bare_names AND (l.function || coalesce(l.template_arguments, '')) IN $names"

    def __init__(self, store: Store, kernel: str) -> None:
        values = names_of(kernel)
        name = "function || coalesce(template_arguments, '')"
        asked = store.sql(
            f"SELECT kernel, {name} AS name, list(DISTINCT code) FROM launches WHERE {OF_NAME} "  # noqa: S608
            "GROUP BY ALL ORDER BY ALL",
            **values,
        )
        named = store.rows(asked)
        if not named:
            raise unknown_kernel(store, kernel)
        self._of_code = {code: name for _, name, codes in reversed(named) for code in codes if code is not None}
        others = self._others(store, values) if self._of_code else []
        self._names: dict[str, str] = {name: name for _, name, _ in named}
        self.renamed = tuple((name, self._of_code[codes[0]]) for _, name, codes in others)
        self._names |= dict(self.renamed)
        self.values = {"bare_names": [row[0] for row in (*named, *others)], "names": list(self._names)}

    def _others(self, store: Store, values: Mapping[str, str]) -> list[Any]:
        """Bare name, name and codes of kernels that have the code, and are at none of the points of the asked names.

        Most kernels have none: to look for the code alone reads one column.
        """
        name = "function || coalesce(template_arguments, '')"
        with_code = f"code IN $codes AND ({OF_NAME}) IS NOT TRUE"
        count = f"SELECT count(*) FROM launches WHERE {with_code}"  # noqa: S608
        if store.rows(store.sql(count, **values, codes=list(self._of_code))) == [(0,)]:
            return []
        place = "coalesce(point, report::VARCHAR)"
        asked = store.sql(
            f"SELECT kernel, {name} AS name, list(DISTINCT code) FROM launches WHERE {with_code} GROUP BY ALL "  # noqa: S608
            f"HAVING NOT bool_or({place} IN (SELECT {place} FROM launches WHERE {OF_NAME})) ORDER BY ALL",
            **values,
            codes=list(self._of_code),
        )
        return store.rows(asked)

    def name(self, function: str, template_arguments: str | None) -> str:
        """The name of the series to which launches of a name belong."""
        return self._names[function + (template_arguments or "")]

    def series(self, key: Sequence[Any]) -> tuple[Series, Point]:
        """Series and point of a row that begins with the columns of _KEY."""
        clock, cache, replay, gpu, function, arguments, grid, block, *point = key
        return Series(Settings(clock, cache, replay), gpu, self.name(function, arguments), grid, block), Point(*point)


def _series(store: Store, identity: _Identity) -> dict[Series, list[AtPoint]]:
    """The points of each series, in the order of their reports."""
    asked = store.sql(
        f"SELECT {_KEY}, created, launches, time_ns, codes FROM history AS l WHERE {identity.CONDITION}",  # noqa: S608
        **identity.values,
    )
    found: defaultdict[Series, list[AtPoint]] = defaultdict(list)
    for *key, created, launches, time_ns, codes in store.rows(asked):
        series, point = identity.series(key)
        known = tuple(code for code in codes if code is not None)
        found[series].append(AtPoint(point, created, launches, time_ns, known, tuple(key)))
    for points in found.values():
        points.sort(key=lambda at: (at.created is None, at.created, str(at.point)))
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


class _Counters:
    """The values of exact counters, and the clock, at each point.

    The store gives the smallest and the largest value of each counter; all values only of counters that differ between
    the launches of a point.
    """

    def __init__(self, store: Store, identity: _Identity) -> None:
        known = set(store.connection.table("metrics").columns)
        named = known - {column.name for column in TABLE["metrics"].columns}
        exact = sorted(name for name in named if class_of_metric(name) is MetricClass.EXACT and _NAME.fullmatch(name))
        clock = f'median(m."{CYCLES}" / l.duration_ns)' if CYCLES in known else "NULL"
        parts = [part for name in exact for part in (f'min(m."{name}")', f'max(m."{name}")', f'count(m."{name}")')]
        self.clocks: dict[tuple[Any, ...], float] = {}
        self._bounds: dict[str, dict[tuple[Any, ...], tuple[float, float, int]]] = {name: {} for name in exact}
        for key, (at_clock, *numbers) in _joined(store, identity, [clock, *parts]):
            self.clocks[key] = np.nan if at_clock is None else at_clock
            for place, name in enumerate(exact):
                low, high, count = numbers[3 * place : 3 * place + 3]
                if count:
                    self._bounds[name][key] = (low, high, count)
        several = [name for name in exact if any(low < high for low, high, _ in self._bounds[name].values())]
        lists = [f'list(DISTINCT m."{name}") FILTER (m."{name}" IS NOT NULL)' for name in several]
        self._values: dict[str, dict[tuple[Any, ...], list[float]]] = {name: {} for name in several}
        for key, found in _joined(store, identity, lists) if several else ():
            for name, values in zip(several, found, strict=True):
                if values:
                    self._values[name][key] = values

    def histories(self, points: Sequence[AtPoint]) -> Iterator[tuple[str, list[Numbers]]]:
        """The counters that do not have one value throughout, each with its values at each point."""
        for name, of_points in self._bounds.items():
            bounds = [of_points.get(at.key, _UNKNOWN) for at in points]
            if len({bound for low, high, count in bounds if count for bound in (low, high)}) > 1:
                several = self._values.get(name, {})
                yield (
                    name,
                    [
                        np.resize(several.get(at.key, [low]), max(count, len(several.get(at.key, ()))))
                        for at, (low, _, count) in zip(points, bounds, strict=True)
                    ],
                )


_UNKNOWN = (np.nan, np.nan, 0)


def _joined(
    store: Store, identity: _Identity, aggregates: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Aggregates over the launches of each point, with their metrics."""
    rows = store.sql(
        f"SELECT {_KEY}, {', '.join(aggregates)} FROM launches AS l "  # noqa: S608
        "JOIN metrics AS m ON l.report = m.report AND l.launch = m.launch AND l.kernel = m.kernel "
        f"AND l.gpu IS NOT DISTINCT FROM m.gpu WHERE {identity.CONDITION} AND m.kernel IN $bare_names GROUP BY ALL",
        **identity.values,
    )
    keys = len(rows.columns) - len(aggregates)
    for row in store.rows(rows):
        yield row[:keys], row[keys:]


def _times(points: Sequence[AtPoint], counters: _Counters) -> TimeChanges:
    times = np.array([at.time_ns for at in points], np.float64)
    return time_changes(times, np.array([counters.clocks.get(at.key, np.nan) for at in points], np.float64))


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


def _counter_rows(
    points: Sequence[AtPoint], counters: _Counters
) -> tuple[Sequence[_Change], Sequence[tuple[Cell, ...]]]:
    """The changes of exact counters; and of each counter that varies from run to run its name, bounds and points."""
    changes: list[_Change] = []
    varied: list[tuple[Cell, ...]] = []
    for name, values in counters.histories(points):
        found = counter_changes(values)
        known = [at for at, each in enumerate(values) if not np.isnan(each).all()]
        if len(found) >= _VARYING_FROM and [change.at for change in found] == known[1:] and _same_code(points, known):
            varied.append((name, *(float(of(np.concatenate(values))) for of in (np.nanmin, np.nanmax)), len(known)))
        else:
            changes += [_change(points, each.at, name, _values(each.before), _values(each.after)) for each in found]
    return changes, varied


def _same_code(points: Sequence[AtPoint], known: Sequence[int]) -> bool:
    """Whether the machine code is the same at these points, as far as it is known."""
    return len({points[at].codes for at in known if points[at].codes}) <= 1


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
