"""``upgraded``: files of an older version of the tables, as a query -> a query with the columns of this version."""

from __future__ import annotations

from collections.abc import Mapping

from ncuview.store.schema import VERSION, TableName

UPGRADES: Mapping[int, Mapping[TableName, str]] = {
    1: {"launches": "SELECT *, NULL::DOUBLE AS bottleneck_use, NULL::VARCHAR AS not_judged FROM older"},
    2: {"launches": "SELECT *, NULL::BIGINT AS series FROM older"},
    3: {"launches": "SELECT *, NULL::BIGINT AS work, NULL::DOUBLE AS cycles FROM older"},
    4: {},
}
"""Version -> for each table that the next version changes, a query of the next version's columns over ``older``."""


def upgraded(query: str, table: TableName, version: int) -> str:
    """A query over files of a version as one of this version's columns."""
    for at in range(version, VERSION):
        if step := UPGRADES[at].get(table):
            query = f"WITH older AS ({query}) {step}"
    return query
