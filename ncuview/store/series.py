"""``series_of``: one number for all columns in which launches that are compared agree.

To read, hash and compare thirteen columns takes most of the time of a question that groups all launches of a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5
from typing import Any

SINCE = 3
"""The version of the tables from which on ``launches`` has the number."""
COLUMNS = (
    *("clock_control", "cache_control", "replay_mode", "gpu", "kernel", "function", "template_arguments"),
    *("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"),
)


def series_of(launch: Mapping[str, Any]) -> int:
    """The first 63 bits of the MD5 of a launch's columns.

    Args:
        launch: A row of the table ``launches``.
    """
    text = repr([launch[name] for name in COLUMNS])
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:8], "big") >> 1


def with_series(launches: str) -> str:
    """A query of launches of which some are of an older version, as one that numbers them all, for as long as it runs.

    DuckDB's hash takes less time than any that stays the same in its later versions.
    """
    return f"SELECT * REPLACE ((hash({', '.join(COLUMNS)}) >> 1)::BIGINT AS series) FROM ({launches})"  # noqa: S608
