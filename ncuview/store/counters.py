"""``Counters``: the exact counters of a kernel at each of its points, as DuckDB aggregates them.

Launches of the same ``work`` have the same counters, so that one launch of each work is read. Where each launch does
other work, nothing that leaves DuckDB grows with the launches: of the values at a point it is the MOST_VALUES smallest,
how many there are, and how many of them the point before has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ncuview.store.change_points import MOST_VALUES, Seen
from ncuview.store.opened import Store
from ncuview.store.schema import TABLE
from ncuview.store.work import exact_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEYS = frozenset(column.name for column in TABLE["metrics"].columns)
"""The columns of ``metrics`` that are no metrics."""
_UNKNOWN = Seen((), 0)


class CounterHistory(NamedTuple):
    """An exact counter that does not have one value throughout."""

    name: str
    seen: Sequence[Seen]
    """At each point."""
    least: float
    most: float


class _Bounds(NamedTuple):
    """Of a counter at each place, shape (places,)."""

    least: NDArray[np.float64]
    """NaN where the value is unknown; so is ``most``."""
    most: NDArray[np.float64]
    launches: NDArray[np.float64]
    """How many have a value."""


class Counters:
    """The exact counters of launches in several series; a place is the number of what launches of a point share."""

    def __init__(self, store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[int]]) -> None:
        """Read them.

        Args:
            store: The store.
            launches: A query of launches: their ``place``, ``work``, ``report`` and ``launch``.
            values: What stands for the names in the query; ``kernels`` are the bare names of the launches.
            series: The places of each series, in the order of its points.
        """
        self._store, self._series = store, series
        works = store.kept(
            "works",
            "SELECT place, work, count(*) AS launches, min(report) AS report, arg_min(launch, report) AS launch "  # noqa: S608
            f"FROM ({launches}) WHERE work IS NOT NULL GROUP BY ALL",
            **values,
        )
        chosen = f"SELECT work, min(report) AS report, arg_min(launch, report) AS launch FROM {works} GROUP BY work"  # noqa: S608
        reports = [report for (report,) in self._fetched(f"SELECT DISTINCT report FROM ({chosen})")]  # noqa: S608
        metrics = store.of_reports("metrics", reports)
        names = exact_of(set(store.sql(metrics).columns) - KEYS)
        self._counters = store.kept(
            "counters",
            f"WITH read AS (SELECT {', '.join(['work', *map(_quoted, names)])} FROM ({metrics}) "  # noqa: S608
            f"JOIN ({chosen}) USING (report, launch) WHERE kernel IN $kernels) "
            f"SELECT place, launches, read.* FROM {works} JOIN read USING (work)",
            kernels=values["kernels"],
        )
        self._row, self._bounds = self._bounds_of(names)
        self._sets: dict[str, Mapping[int, tuple[tuple[float, ...], int, int]]] = {}

    def histories(self, places: Sequence[int]) -> Iterator[CounterHistory]:
        """Those that do not have one value throughout a series, by name.

        Args:
            places: The places of the series.
        """
        rows = self._rows_of(places)
        for name, each in self._bounds.items():
            least, most, launches = each.least[rows], each.most[rows], each.launches[rows]
            known = ~np.isnan(least)
            if not known.any() or (lowest := np.nanmin(least)) == (highest := np.nanmax(most)):
                continue
            several = self._several(name)
            seen = [_UNKNOWN] * len(places)
            for at in np.flatnonzero(known).tolist():
                values, more, common = several.get(places[at]) or ((float(least[at]),), 0, 0)
                seen[at] = Seen(values, int(launches[at]), more, common)
            yield CounterHistory(name, seen, float(lowest), float(highest))

    def _rows_of(self, places: Sequence[int]) -> NDArray[np.int64]:
        """The rows of places in bounds; the last row is that of a place without counters."""
        return np.array([self._row.get(place, -1) for place in places], np.int64)

    def _bounds_of(self, names: Sequence[str]) -> tuple[Mapping[int, int], Mapping[str, _Bounds]]:
        """The row of each place, and the bounds of each counter."""
        aggregates = [
            aggregate.format(_quoted(name))
            for name in names
            for aggregate in ("min({0})", "max({0})", "sum(launches) FILTER ({0} IS NOT NULL)")
        ]
        found = self._fetched(f"SELECT {', '.join(['place', *aggregates])} FROM {self._counters} GROUP BY place")  # noqa: S608
        table = np.full((len(found) + 1, len(names), 3), np.nan)
        table[:-1] = np.array([values for _, *values in found], np.float64).reshape(len(found), len(names), 3)
        bounds = {name: _Bounds(*table[:, at].T) for at, name in enumerate(names)}
        return {place: row for row, (place, *_) in enumerate(found)}, bounds

    def _several(self, name: str) -> Mapping[int, tuple[tuple[float, ...], int, int]]:
        """The places where a counter has several values: these values, and ``more`` and ``common`` of ``Seen``."""
        if name in self._sets:
            return self._sets[name]
        least, most, _ = self._bounds[name]
        pairs: list[tuple[int, int]] = []
        for places in self._series:
            known = np.flatnonzero(~np.isnan(least[self._rows_of(places)])).tolist()
            pairs += pairwise(places[at] for at in known)
        found = (
            self._fetched(
                f"WITH of AS MATERIALIZED (SELECT DISTINCT place, {_quoted(name)} AS value FROM {self._counters} "  # noqa: S608
                f"WHERE {_quoted(name)} IS NOT NULL), "
                "pairs AS (SELECT unnest($before) AS before, unnest($after) AS place), "
                "common AS (SELECT place, count(*) AS common FROM pairs JOIN of USING (place) "
                "JOIN of AS earlier ON earlier.place = before AND earlier.value = of.value GROUP BY place) "
                f"SELECT place, min(value, {MOST_VALUES}), count(*), any_value(common) "
                "FROM of LEFT JOIN common USING (place) GROUP BY place",
                before=[before for before, _ in pairs],
                after=[after for _, after in pairs],
            )
            if (least < most).any()
            else []
        )
        self._sets[name] = {
            place: (tuple(values), distinct - len(values), common or 0) for place, values, distinct, common in found
        }
        return self._sets[name]

    def _fetched(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._store.rows(self._store.sql(query, **values))


def _quoted(name: str) -> str:
    return f'"{name}"'
