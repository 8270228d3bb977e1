"""``counters_of``: the exact counters of a kernel's series that do not have one value throughout.

Launches of the same ``work`` have the same counters, so that one launch of each work is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ncuview.store.counter_changes import CounterHistory, histories_of, quoted
from ncuview.store.opened import Store
from ncuview.store.schema import TABLE
from ncuview.store.work import exact_of

KEYS = frozenset(column.name for column in TABLE["metrics"].columns)
"""The columns of ``metrics`` that are no metrics."""


class Place(NamedTuple):
    """What the launches of a point share."""

    place: int
    codes: tuple[int, ...]
    """The hashes of their machine code, ascending; none where they are unknown."""


class Counter(NamedTuple):
    """An exact counter that does not have one value throughout a series."""

    name: str
    least: float
    most: float
    history: CounterHistory


def counters_of(
    store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[Place]]
) -> list[list[Counter]]:
    """The counters that do not have one value throughout, of each series by name.

    Args:
        store: The store.
        launches: A query of launches: their ``work``, ``report``, ``launch``, and the ``place`` of their point.
        values: What stands for the names in the query; ``kernels`` are the bare names of the launches.
        series: The points of each series, in their order.
    """
    counters, names = _read(store, launches, values, series)
    bounds = _bounds(store, counters, names)
    varying = sorted({name for _, name in bounds})
    histories = histories_of(store, counters, varying) if varying else {}
    return [
        [Counter(name, *bounds[at, name], histories[at, name]) for name in varying if (at, name) in bounds]
        for at in range(len(series))
    ]


def _read(
    store: Store, launches: str, values: Mapping[str, Any], series: Sequence[Sequence[Place]]
) -> tuple[str, list[str]]:
    """The name of a table, and its counters: for each work at each point its launches and the counters of one."""
    points = [(place, at, number) for at, each in enumerate(series) for number, place in enumerate(each)]
    code_numbers = {codes: number for number, codes in enumerate({place.codes for place, *_ in points if place.codes})}
    known = store.kept(
        "places",
        "SELECT unnest($places) AS place, unnest($series) AS series, unnest($numbers) AS number, "
        "unnest($codes::INTEGER[]) AS codes",
        places=[place.place for place, *_ in points],
        series=[at for _, at, _ in points],
        numbers=[number for *_, number in points],
        codes=[code_numbers.get(place.codes) for place, *_ in points],
    )
    works = store.kept(
        "works",
        "SELECT place, work, count(*) AS launches, min(report) AS report, arg_min(launch, report) AS launch "  # noqa: S608
        f"FROM ({launches}) WHERE work IS NOT NULL AND place IN (SELECT place FROM {known}) GROUP BY ALL",
        **values,
    )
    chosen = store.kept(
        "chosen",
        f"SELECT work, min(report) AS report, arg_min(launch, report) AS launch FROM {works} GROUP BY work",  # noqa: S608
    )
    reports = store.rows(store.sql(f"SELECT DISTINCT report FROM {chosen}"))  # noqa: S608
    metrics = store.of_reports("metrics", [report for (report,) in reports])
    names = exact_of(set(store.sql(metrics).columns) - KEYS)
    counters = store.kept(
        "counters",
        f"WITH read AS (SELECT {', '.join(['work', *map(quoted, names)])} FROM ({metrics}) "  # noqa: S608
        f"JOIN {chosen} USING (report, launch) WHERE kernel IN $kernels) "
        f"SELECT series, number, codes, launches, read.* FROM {works} JOIN read USING (work) "
        f"JOIN {known} USING (place)",
        kernels=values["kernels"],
    )
    return counters, names


def _bounds(store: Store, counters: str, names: Sequence[str]) -> Mapping[tuple[int, str], tuple[float, float]]:
    """The smallest and largest value of each counter that varies in a series, by the number of the series."""
    bounds = [f"[min({quoted(name)}), max({quoted(name)})]" for name in names]
    found = store.rows(store.sql(f"SELECT {', '.join(['series', *bounds])} FROM {counters} GROUP BY series"))  # noqa: S608
    return {
        (at, name): (least, most)
        for at, *of_names in found
        for name, (least, most) in zip(names, of_names, strict=True)
        if least != most
    }
