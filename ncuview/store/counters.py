"""``counter_histories``: what each point of a kernel's series has of exact counters, as DuckDB aggregates it.

Launches of the same ``work`` have the same counters, so that one launch of each work is read. Where each launch does
other work, nothing that leaves DuckDB grows with the launches: of the values at a point it is the MOST_VALUES smallest,
how many there are, and how many of them the point before has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ncuview.store.change_points import MOST_VALUES, Seen
from ncuview.store.opened import Store
from ncuview.store.schema import TABLE
from ncuview.store.work import exact_of

KEYS = frozenset(column.name for column in TABLE["metrics"].columns)
"""The columns of ``metrics`` that are no metrics."""


class CounterHistory(NamedTuple):
    """An exact counter that does not have one value throughout a series."""

    name: str
    seen: Sequence[Seen]
    """At each point."""
    least: float
    most: float


def counter_histories(
    store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[int]]
) -> list[list[CounterHistory]]:
    """The counters that do not have one value throughout, of each series by name.

    Args:
        store: The store.
        launches: A query of launches: their ``work``, ``report``, ``launch``, and as ``place`` a number of what the
            launches of a point share.
        values: What stands for the names in the query; ``kernels`` are the bare names of the launches.
        series: The places of the points of each series, in their order.
    """
    counters, names = _read(store, launches, values, series)
    found = _bounds(store, counters, names)
    varying = [name for name in names if any(name in bounds for bounds in found.values())]
    seen = _seen(store, counters, varying) if varying else {}
    return [
        [
            CounterHistory(name, [seen.get((name, at, number), Seen((), 0)) for number in range(len(places))], *bounds)
            for name, bounds in found.get(at, {}).items()
        ]
        for at, places in enumerate(series)
    ]


def _read(
    store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[int]]
) -> tuple[str, list[str]]:
    """The name of a table, and its counters: for each work at each point its launches and the counters of one."""
    points = store.kept(
        "points",
        "SELECT unnest($places) AS place, unnest($series) AS series, unnest($numbers) AS number",
        places=[place for places in series for place in places],
        series=[at for at, places in enumerate(series) for _ in places],
        numbers=[number for places in series for number in range(len(places))],
    )
    works = store.kept(
        "works",
        "SELECT place, work, count(*) AS launches, min(report) AS report, arg_min(launch, report) AS launch "  # noqa: S608
        f"FROM ({launches}) WHERE work IS NOT NULL AND place IN (SELECT place FROM {points}) GROUP BY ALL",
        **values,
    )
    chosen = f"SELECT work, min(report) AS report, arg_min(launch, report) AS launch FROM {works} GROUP BY work"  # noqa: S608
    reports = store.rows(store.sql(f"SELECT DISTINCT report FROM ({chosen})"))  # noqa: S608
    metrics = store.of_reports("metrics", [report for (report,) in reports])
    names = exact_of(set(store.sql(metrics).columns) - KEYS)
    counters = store.kept(
        "counters",
        f"WITH read AS (SELECT {', '.join(['work', *map(_quoted, names)])} FROM ({metrics}) "  # noqa: S608
        f"JOIN ({chosen}) USING (report, launch) WHERE kernel IN $kernels) "
        f"SELECT series, number, launches, read.* FROM {works} JOIN read USING (work) JOIN {points} USING (place)",
        kernels=values["kernels"],
    )
    return counters, names


def _bounds(store: Store, counters: str, names: Sequence[str]) -> Mapping[int, Mapping[str, tuple[float, float]]]:
    """The smallest and largest value of each counter that varies in a series, by the number of the series."""
    bounds = [f"[min({_quoted(name)}), max({_quoted(name)})]" for name in names]
    found = store.rows(store.sql(f"SELECT {', '.join(['series', *bounds])} FROM {counters} GROUP BY series"))  # noqa: S608
    return {
        at: {name: (least, most) for name, (least, most) in zip(names, of_names, strict=True) if least != most}
        for at, *of_names in found
    }


def _seen(store: Store, counters: str, names: Sequence[str]) -> Mapping[tuple[str, int, int], Seen]:
    """What is seen by name, series and point."""
    found = store.sql(
        "WITH counted AS MATERIALIZED ("  # noqa: S608
        "  SELECT name, series, number, value, sum(launches)::BIGINT AS launches FROM ("
        f"   SELECT series, number, launches, unnest(range({len(names)})) AS name,"
        f"     unnest([{', '.join(map(_quoted, names))}]) AS value FROM {counters})"
        "  WHERE value IS NOT NULL GROUP BY ALL), "
        "known AS ("
        "  SELECT *, lag(number) OVER (PARTITION BY name, series ORDER BY number) AS before"
        "  FROM (SELECT DISTINCT name, series, number FROM counted)), "
        "shared AS ("
        "  SELECT name, series, number, count(*) AS common FROM known JOIN counted USING (name, series, number)"
        "  JOIN (SELECT name, series, number AS before, value FROM counted) USING (name, series, before, value)"
        "  GROUP BY ALL) "
        f"SELECT name, series, number, min(value, {MOST_VALUES}), sum(launches)::BIGINT, count(*), any_value(common) "
        "FROM counted LEFT JOIN shared USING (name, series, number) GROUP BY ALL"
    )
    return {
        (names[name], at, number): Seen(tuple(values), launches, distinct - len(values), common or 0)
        for name, at, number, values, launches, distinct, common in store.rows(found)
    }


def _quoted(name: str) -> str:
    return f'"{name}"'
