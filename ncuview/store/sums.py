"""``sums_of``: the launches of a batch, added up by what questions about all kernels tell apart.

These questions then read a small part of the rows of ``launches``. Batches of older versions, and those with a report
that an earlier batch holds too, are added up as a question is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.store.schema import TABLE

if TYPE_CHECKING:
    import pyarrow as pa

SINCE = 5
"""The version of the tables from which on batches have the table."""
TIMED = "duration_ns > 0 AND waits_for_peers IS NOT TRUE"
"""The launches whose time says something; the views ``timed`` and ``history`` have these."""
_SAME = ("month", "series", "rule", "optimization", "owner")
_ADDED = {
    "launches": "count(*)::INTEGER",
    "time_ns": "sum(duration_ns)",
    "timed": f"(count(*) FILTER ({TIMED}))::INTEGER",
    "timed_ns": f"sum(duration_ns) FILTER ({TIMED})",
    "least_ns": f"min(duration_ns) FILTER ({TIMED})",
    "most_ns": f"max(duration_ns) FILTER ({TIMED})",
    "ranked_ns": f"sum(duration_ns) FILTER ({TIMED} AND rank IS NOT NULL)",
    "ranks": f"list_distinct(list(rank) FILTER ({TIMED} AND rank IS NOT NULL))",
    "saved_ns": "sum(saved_ns)",
    "most_saved_ns": "max(saved_ns)",
    "counted": "count(attained)::INTEGER",
    "judged": "(count(*) FILTER (attained IS NOT NULL AND verdict <> 'not-judged'))::INTEGER",
}


def added_up(launches: str) -> str:
    """A query of launches, which have the numbers of their series, as one of rows of ``sums``."""
    names = [column.name for column in TABLE["sums"].columns]
    columns = (f"{name if name in _SAME else _ADDED.get(name, f'any_value({name})')} AS {name}" for name in names)
    return f"SELECT {', '.join(columns)} FROM ({launches}) GROUP BY {', '.join(_SAME)}"  # noqa: S608  (constants)


def sums_of(launches: Sequence[pa.Table]) -> pa.Table:
    """The rows of ``sums`` of a batch, in no order."""
    import duckdb
    import pyarrow as pa

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("added", pa.concat_tables(launches, promote_options="default"))
        return connection.sql(added_up("FROM added")).to_arrow_table()
