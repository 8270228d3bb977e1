"""``history``: the times and exact counters of one kernel over commits, drivers and ncu versions, with change points.

A counter of the same machine code that changes at each of several points depends on the data of a run. It is no change.

A series is a kernel with its template arguments and configuration, on a GPU model, under one setting of the profiler.
Its points are commits (or dates, or builds), in the order of their reports; a driver or ncu version that changes begins
a new point. A kernel that was renamed continues its series where its machine code is the same, and no point has both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ncuview.store.answer import Answer, AnswerTable, Cell, Settings
from ncuview.store.change_points import TimeChanges, counter_changes, time_changes
from ncuview.store.counters import KEYS, CounterHistory, counter_histories
from ncuview.store.opened import Store
from ncuview.store.questions import OF_NAME, SPLIT, cell, names_of, unknown_kernel
from ncuview.store.work import CYCLES, SINCE, exact_of, with_work

_KEY = (
    "clock_control, cache_control, replay_mode, gpu, function, template_arguments, "
    "grid_x, grid_y, grid_z, block_x, block_y, block_z, point, cuda_version, ncu_version"
)
_PLACE = "hash(series, point, cuda_version, ncu_version)"
"""One number for the columns of _KEY."""
_NAME_OF = "function || coalesce(template_arguments, '')"
_TIMED = "duration_ns > 0 AND waits_for_peers IS NOT TRUE"
"""Which launches the views ``timed`` and ``history`` have."""
_CODES = "list_sort(list_distinct(coalesce(list(code) FILTER ({}), [])))"
"""The distinct ones; list(DISTINCT) would group all launches once more."""
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
    """The launches of a kernel at a point, of one series."""

    key: tuple[Any, ...]
    """The columns of _KEY."""
    kernel: str
    """The bare name."""
    all_codes: tuple[int, ...]
    """The hashes of their machine code, ascending; none where they are unknown."""
    created: datetime | None
    """Of the first launch whose time says something; so are number, time and codes of these launches."""
    launches: int
    time_ns: float
    codes: tuple[int, ...]
    clock: float | None
    """The median of all launches; None where it is unknown."""
    place: int
    """The number of its columns; see _PLACE."""

    @property
    def point(self) -> Point:
        """Where it is in a series."""
        return Point(*self.key[-len(Point._fields) :])

    @property
    def function(self) -> str:
        """The name with namespaces."""
        return str(self.key[4])

    @property
    def name(self) -> str:
        """The name with namespaces and template arguments."""
        return f"{self.key[4]}{self.key[5] or ''}"


def history(store: Store, kernel: str, limit: int) -> Answer:
    """The changes of a kernel, and its times at the last points.

    Args:
        store: The store.
        kernel: Its name, with or without namespaces and template arguments.
        limit: The most points of a series, and the most changes of a setting; 0 for all.

    Raises:
        UnknownKernel: No launch has this name.
    """
    launches = _Launches(store, kernel)
    series = launches.series
    ordered = sorted(series, key=lambda each: -sum(at.launches * at.time_ns for at in series[each]))
    notes = [SPLIT] if len({each.settings for each in series}) > 1 else []
    notes += [
        f"{old} has the machine code of {new} at other points: it is the same kernel." for old, new in launches.renamed
    ]
    tables = []
    shown = ordered[: limit or None]
    for each, histories in zip(shown, launches.counters(shown), strict=True):
        points = series[each]
        found = _times(points)
        notes += _remarks(each, points, found)
        counted, varied = _counter_rows(points, histories)
        changes = sorted([*_time_rows(points, found), *counted], key=lambda change: change.at)
        if changes:
            rows = [(*each[1:], *change.row) for change in changes[-limit:]]
            tables.append(AnswerTable("changes", each.settings, _CHANGES, tuple(rows), len(changes) - len(rows)))
        if varied:
            rows = [(*each[1:], *row) for row in varied[: limit or None]]
            tables.append(AnswerTable("work varies", each.settings, _VARIED, tuple(rows), len(varied) - len(rows)))
        stepped = {step.at for step in found.steps}
        rows = [(*each[1:], *_point_row(points[at], stepped=at in stepped)) for at in range(len(points))[-limit:]]
        tables.append(AnswerTable("times", each.settings, _TIMES, tuple(rows), len(points) - len(rows)))
    if limit and len(ordered) > limit:
        notes.append(f"{len(ordered) - limit:,} more configurations, of less time, are left out; --limit 0 shows all.")
    return Answer("history", tuple(tables), tuple(notes))


_OF_SERIES = ("gpu", "name", "grid", "block")
_CHANGES = (*_OF_SERIES, "since", "point", "created", "what", "before", "after", "ratio", "with")
_VARIED = (*_OF_SERIES, "what", "least", "most", "points")
_TIMES = (*_OF_SERIES, "point", "created", "cuda_version", "ncu_version", "launches", "time_ns", "step")


class _Launches:
    """The launches of the asked kernel: of the names that match, and of those that its code had at other points.

    Most kernels have one name. The query that finds it therefore reads all that a history needs but for counters.

    Attributes:
        series: The points of each series, in the order of their reports.
        renamed: The other names, each with the name that continues it.
    """

    def __init__(self, store: Store, kernel: str) -> None:
        self._store, self._condition = store, OF_NAME
        self._values: dict[str, Any] = names_of(kernel)
        found = self._points()
        if not found:
            raise unknown_kernel(store, kernel)
        names: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for at in found:
            names[at.kernel, at.name].update(at.all_codes)
        of_code = {code: name for (_, name), codes in sorted(names.items(), reverse=True) for code in codes}
        others = self._others(list(of_code)) if of_code else []
        self.renamed = tuple((name, of_code[codes[0]]) for _, name, codes in others)
        if others or any(self._values["given"] not in (at.kernel, at.function, at.name) for at in found):
            names |= {(kernel, name): set() for kernel, name, _ in others}
            self._condition = f"kernel IN $kernels AND {_NAME_OF} IN $names"
            self._values = {"kernels": sorted({of for of, _ in names}), "names": sorted({name for _, name in names})}
            found = self._points()
        self.series = self._series(found)

    def counters(self, shown: Sequence[Series]) -> list[list[CounterHistory]]:
        """The exact counters of some series that do not have one value throughout."""
        launches = f"SELECT {_PLACE} AS place, work, report, launch FROM ({self._launches(self._condition)})"  # noqa: S608
        places = [[at.place for at in self.series[each]] for each in shown]
        return counter_histories(self._store, launches, self._values, places)

    def _points(self) -> list[AtPoint]:
        """The launches of the names, by point."""
        times = [f"{of} FILTER ({_TIMED})" for of in ("min(created)", "count(*)", "median(duration_ns)")]
        codes = [_CODES.format("true"), *times, _CODES.format(_TIMED)]
        aggregates = ["any_value(kernel)", *codes, "median(cycles / duration_ns)", "any_value(series) AS series"]
        rows = self._store.sql(
            f"SELECT * EXCLUDE (series), {_PLACE} FROM ("  # noqa: S608
            f"SELECT {_KEY}, {', '.join(aggregates)} FROM ({self._launches(self._condition)}) GROUP BY ALL)",
            **self._values,
        )
        return [
            AtPoint(tuple(key), kernel, tuple(all_codes), created, launches, time_ns, tuple(codes), clock, place)
            for *key, kernel, all_codes, created, launches, time_ns, codes, clock, place in self._store.rows(rows)
        ]

    def _launches(self, condition: str) -> str:
        """The query of the launches for which a condition holds."""
        query = f"SELECT * FROM launches WHERE {condition}"  # noqa: S608
        if not self._store.has_before(SINCE):
            return query
        known = set(self._store.tables.table("metrics").columns)
        return with_work(query, exact_of(known - KEYS), cycles=CYCLES in known)

    def _others(self, codes: Sequence[int]) -> list[Any]:
        """Bare name, name and codes of kernels that have the code, and are at none of the points of the asked names.

        Most kernels have none: to look for the code alone reads one column.
        """
        values = {**self._values, "codes": codes}
        with_code = f"code IN $codes AND ({OF_NAME}) IS NOT TRUE"
        count = f"SELECT count(*) FROM launches WHERE {with_code}"  # noqa: S608
        if self._store.rows(self._store.sql(count, **values)) == [(0,)]:
            return []
        place = "coalesce(point, report::VARCHAR)"
        asked = self._store.sql(
            f"SELECT kernel, {_NAME_OF} AS name, list(DISTINCT code) FROM launches WHERE {with_code} GROUP BY ALL "  # noqa: S608
            f"HAVING NOT bool_or({place} IN (SELECT {place} FROM launches WHERE {OF_NAME})) ORDER BY ALL",
            **values,
        )
        return self._store.rows(asked)

    def _series(self, found: Sequence[AtPoint]) -> dict[Series, list[AtPoint]]:
        """The points of each series, in the order of their reports; launches without a time are in none."""
        now = dict(self.renamed)
        together: defaultdict[tuple[Any, ...], list[AtPoint]] = defaultdict(list)
        for at in found:
            if at.launches:
                together[at.key[: -len(Point._fields)]].append(at)
        series: defaultdict[Series, list[AtPoint]] = defaultdict(list)
        for (clock, cache, replay, gpu, _, _, *sizes), points in together.items():
            name, grid, block = points[0].name, _shape(sizes[:3]), _shape(sizes[3:])
            series[Series(Settings(clock, cache, replay), gpu, now.get(name, name), grid, block)] += points
        for points in series.values():
            points.sort(key=lambda at: (at.created is None, at.created, str(at.point.point)))
        return dict(sorted(series.items(), key=lambda item: str(item[0])))


def _shape(sizes: Sequence[int | None]) -> str:
    return "x".join(str(size) for size in sizes if size is not None)


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


def _counter_rows(
    points: Sequence[AtPoint], histories: Sequence[CounterHistory]
) -> tuple[Sequence[_Change], Sequence[tuple[Cell, ...]]]:
    """The changes of exact counters; and of each counter that varies from run to run its name, bounds and points."""
    changes: list[_Change] = []
    varied: list[tuple[Cell, ...]] = []
    for name, seen, known, least, most in histories:
        places = list(seen)
        found = [(places[each.at], each) for each in counter_changes([*seen.values()])]
        if len(found) >= _VARYING_FROM and len(found) == known - 1 and _same_code(points, places):
            varied.append((name, least, most, known))
        else:
            changes += [_change(points, at, name, _values(each.before), _values(each.after)) for at, each in found]
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
