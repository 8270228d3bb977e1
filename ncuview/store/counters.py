"""``counter_histories``: what each point of a kernel's series has of exact counters, as DuckDB aggregates it.

Launches of the same ``work`` have the same counters, so that one launch of each work is read. Where each launch does
other work, nothing that leaves DuckDB grows with the launches: of the values at a point it is the MOST_VALUES smallest,
how many there are, and how many of them the point before has. Points between others with the same values stay there.
"""

from __future__ import annotations

from collections import defaultdict
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
    seen: Mapping[int, Seen]
    """At the points before and after which the values differ, by their place in the series, ascending."""
    known: int
    """The number of all points with a value."""
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
    bounds = _bounds(store, counters, names)
    varying = sorted({name for _, name in bounds})
    seen = _seen(store, counters, varying) if varying else {}
    return [
        [CounterHistory(name, *seen[at, name], *bounds[at, name]) for name in varying if (at, name) in bounds]
        for at in range(len(series))
    ]


def _read(
    store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[int]]
) -> tuple[str, list[str]]:
    """The name of a table, and its counters: for each work at each point its launches and the counters of one."""
    known = store.kept(
        "places",
        "SELECT unnest($places) AS place, unnest($series) AS series, unnest($numbers) AS number",
        places=[place for places in series for place in places],
        series=[at for at, places in enumerate(series) for _ in places],
        numbers=[number for places in series for number in range(len(places))],
    )
    works = store.kept(
        "works",
        "SELECT place, work, count(*) AS launches, min(report) AS report, arg_min(launch, report) AS launch "  # noqa: S608
        f"FROM ({launches}) WHERE work IS NOT NULL AND place IN (SELECT place FROM {known}) GROUP BY ALL",
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
        f"SELECT series, number, launches, read.* FROM {works} JOIN read USING (work) JOIN {known} USING (place)",
        kernels=values["kernels"],
    )
    return counters, names


def _bounds(store: Store, counters: str, names: Sequence[str]) -> Mapping[tuple[int, str], tuple[float, float]]:
    """The smallest and largest value of each counter that varies in a series, by the number of the series."""
    bounds = [f"[min({_quoted(name)}), max({_quoted(name)})]" for name in names]
    found = store.rows(store.sql(f"SELECT {', '.join(['series', *bounds])} FROM {counters} GROUP BY series"))  # noqa: S608
    return {
        (at, name): (least, most)
        for at, *of_names in found
        for name, (least, most) in zip(names, of_names, strict=True)
        if least != most
    }


_TOGETHER = 1 << 19
"""Values that are grouped at once. Of a kernel with 13 counters that differ in each of 250,000 launches, this takes a
sixth less processor time than all at once, and 150 MB less memory; each group costs 5 ms."""
_COUNTED = """
    SELECT name, series, number, value, sum(launches)::BIGINT AS launches
    FROM (SELECT *, unnest({numbers}) AS name, unnest({names}) AS value FROM {counters})
    WHERE value IS NOT NULL
    GROUP BY ALL"""
_AT_POINTS = """
    SELECT
        name, series, number, lag(number) OVER of_counter AS before, count(*) OVER (PARTITION BY name, series) AS known,
        values, launches, several,
        lag([digest, several]) OVER of_counter IS DISTINCT FROM [digest, several]
        OR lead([digest, several]) OVER of_counter IS DISTINCT FROM [digest, several] AS differs
    FROM (
        SELECT
            name, series, number, min(value, {most_values}) AS values, sum(launches)::BIGINT AS launches,
            count(*)::UBIGINT AS several, bit_xor(hash(value)) AS digest
        FROM counted
        GROUP BY ALL
    )
    WINDOW of_counter AS (PARTITION BY name, series ORDER BY number)"""
_COMMON = """
    SELECT name, series, number, count(*) AS common
    FROM at_points
    JOIN counted USING (name, series, number)
    JOIN (SELECT name, series, number AS before, value FROM counted) USING (name, series, before, value)
    WHERE differs
    GROUP BY ALL"""


def _seen(
    store: Store, counters: str, names: Sequence[str]
) -> Mapping[tuple[int, str], tuple[Mapping[int, Seen], int]]:
    """``seen`` and ``known`` of CounterHistory by the number of a series and the name of a counter."""
    ((rows,),) = store.rows(store.sql(f"SELECT count(*) FROM {counters}"))  # noqa: S608
    together = max(1, _TOGETHER // rows)
    groups = [range(len(names))[begin : begin + together] for begin in range(0, len(names), together)]
    parts = " UNION ALL ".join(f"({_differing(counters, names, group)})" for group in groups)
    found = store.sql(f"FROM ({parts}) ORDER BY number")
    of_series: defaultdict[tuple[int, str], dict[int, Seen]] = defaultdict(dict)
    points: dict[tuple[int, str], int] = {}
    for at, name, number, known, values, launches, several, common in store.rows(found):
        of_series[at, names[name]][number] = Seen(tuple(values), launches, several - len(values), common or 0)
        points[at, names[name]] = known
    return {key: (seen, points[key]) for key, seen in of_series.items()}


def _differing(counters: str, names: Sequence[str], group: Sequence[int]) -> str:
    """The query of the points at which some counters differ from those before or after."""
    listed = f"[{', '.join(_quoted(names[number]) for number in group)}]"
    counted = _COUNTED.format(numbers=list(group), names=listed, counters=counters)
    return (
        f"WITH counted AS MATERIALIZED ({counted}), "  # noqa: S608
        f"at_points AS MATERIALIZED ({_AT_POINTS.format(most_values=MOST_VALUES)}), common AS ({_COMMON}) "
        "SELECT series, name, number, known, values, launches, several, common "
        "FROM at_points LEFT JOIN common USING (name, series, number) WHERE differs"
    )


def _quoted(name: str) -> str:
    return f'"{name}"'
