"""``histories_of``: how exact counters change over the points of series, as DuckDB finds it.

One changed value is a change, at the first point after it. Launches of one kernel with one configuration may have
different arguments, hence several values at a point. Where a point has more or fewer launches than the one before,
values that are only added or only missing are no change. A counter of the same machine code that changes at each of
several points depends on the data of a run: it varies, and its changes are none.

Nothing that leaves DuckDB grows with the launches: of the values at a point it is the MOST_VALUES smallest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ncuview.store.opened import Store

MOST_VALUES = 4
"""Of a counter at a point that are known one by one."""
_VARYING_FROM = 3
"""A counter that changes at this many successive points, and at no point stays, varies from run to run."""
_TOGETHER = 1 << 20
"""Values that are gathered at once, which bounds the memory. Of 13 counters of 250,000 launches, four groups take as
long as one."""


class CounterChange(NamedTuple):
    """A point at which an exact counter has other values than before."""

    at: int
    """The number of the point in its series."""
    before: tuple[float, ...]
    """The distinct values of the launches at the last point before, ascending, the MOST_VALUES smallest."""
    after: tuple[float, ...]


class CounterHistory(NamedTuple):
    """An exact counter over the points of a series."""

    changes: tuple[CounterChange, ...]
    """In the order of the points; none where it varies."""
    varies: bool
    """Whether it differs from run to run of the same code."""
    known: int
    """The number of points with a value."""


def histories_of(store: Store, counters: str, names: Sequence[str]) -> Mapping[tuple[int, str], CounterHistory]:
    """The histories of counters, by the number of the series and the name of the counter.

    Args:
        store: The store.
        counters: The name of a table of ``series``, ``number``, ``launches``, ``codes`` and the counters: for each kind
            of launch at a point the number of the point in its series, how many launches there are, a number for the
            machine code of the point, NULL where it is unknown, and their counters, NULL where these are unknown.
        names: The counters.
    """
    ((rows,),) = store.rows(store.sql(f"SELECT count(*) FROM {counters}"))  # noqa: S608
    together = max(1, _TOGETHER // max(1, rows))
    groups = [range(len(names))[begin : begin + together] for begin in range(0, len(names), together)]
    found = store.sql(" UNION ALL ".join(f"({_histories(counters, names, group)})" for group in groups))
    return {
        (series, names[name]): CounterHistory(
            tuple(map(CounterChange, at, map(tuple, before), map(tuple, after))), varies, known
        )
        for series, name, known, varies, at, before, after in store.rows(found)
    }


_OF_POINT = """list(DISTINCT {name}) FILTER ({name} IS NOT NULL) AS values_{number},
            sum(launches) FILTER ({name} IS NOT NULL)::BIGINT AS launches_{number}"""
_AT_POINTS = """
    SELECT
        series, number, codes, unnest({group}) AS name, unnest([*COLUMNS('values_.*')]) AS values,
        unnest([*COLUMNS('launches_.*')]) AS launches
    FROM (
        SELECT series, number, any_value(codes) AS codes, {of_points}
        FROM {counters}
        GROUP BY series, number
    )"""
_COMPARED = """
    SELECT *, lag(values) OVER points AS before, launches = lag(launches) OVER points AS as_many
    FROM at_points
    WHERE values IS NOT NULL
    WINDOW points AS (PARTITION BY name, series ORDER BY number)"""
# Most sets that differ do so in the first value that is looked for.
_HAS_ALL = "CASE WHEN list_contains({one}, {other}[1]) THEN list_has_all({one}, {other}) ELSE false END"
_CHANGED = f"""
    SELECT
        *, CASE
            WHEN before IS NULL THEN false
            WHEN as_many AND len(values) <> len(before) THEN true
            WHEN len(values) < len(before) THEN NOT {_HAS_ALL.format(one="before", other="values")}
            ELSE NOT {_HAS_ALL.format(one="values", other="before")}
        END AS changed
    FROM compared"""  # noqa: S608
_JUDGED = f"""
    SELECT
        series, name, count(*) AS known, count_if(changed) AS changes,
        changes >= {_VARYING_FROM} AND changes = known - 1 AND count(DISTINCT codes) <= 1 AS varies
    FROM changed
    GROUP BY series, name"""  # noqa: S608
_CHANGES = f"""
    SELECT
        series, name, list(number ORDER BY number) AS numbers,
        list(list_sort(before)[:{MOST_VALUES}] ORDER BY number) AS before,
        list(list_sort(values)[:{MOST_VALUES}] ORDER BY number) AS after
    FROM changed JOIN judged USING (series, name)
    WHERE changed AND NOT varies
    GROUP BY series, name"""  # noqa: S608


def _histories(counters: str, names: Sequence[str], group: Sequence[int]) -> str:
    """The query of the histories of some counters, each by its place among the names."""
    of_points = ", ".join(_OF_POINT.format(name=quoted(names[number]), number=number) for number in group)
    at_points = _AT_POINTS.format(group=list(group), of_points=of_points, counters=counters)
    return (
        f"WITH at_points AS ({at_points}), compared AS ({_COMPARED}), changed AS MATERIALIZED ({_CHANGED}), "  # noqa: S608
        f"judged AS MATERIALIZED ({_JUDGED}), changes AS ({_CHANGES}) "
        "SELECT series, name, known, varies, coalesce(numbers, []), coalesce(before, []), coalesce(after, []) "
        "FROM judged LEFT JOIN changes USING (series, name)"
    )


def quoted(name: str) -> str:
    """The name of a column, in SQL."""
    return f'"{name}"'
