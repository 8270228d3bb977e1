"""``series_of``: the number of what a launch can be compared with; ``SERIES`` gives the same number in SQL.

A question that groups all launches of a store by thirteen columns takes most of its time to read, hash and compare
them. One number takes a third of that. It is part of the format: launches of any two batches agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5
from typing import Any

COUNTS = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
WORDS = ("kernel", "function", "template_arguments", "gpu", "clock_control", "cache_control", "replay_mode")

SERIES = "(md5_number_upper(concat_ws('|', {}, {}, concat({}))) >> 1)::BIGINT".format(
    ", ".join(f"coalesce({name}, -1)" for name in COUNTS),
    ", ".join(f"coalesce(strlen({name}), -1)" for name in WORDS),
    ", ".join(WORDS),
)
"""Of a row of ``launches``, for files of versions that do not have it."""


def series_of(launch: Mapping[str, Any]) -> int:
    """The first 63 bits of the MD5 of configuration, names, GPU and settings; lengths keep names apart.

    Args:
        launch: A row of the table ``launches``.
    """
    words = [launch[name] for name in WORDS]
    counts = [-1 if launch[name] is None else int(launch[name]) for name in COUNTS]
    lengths = [-1 if word is None else len(word.encode()) for word in words]
    text = "|".join(map(str, (*counts, *lengths, "".join(word or "" for word in words))))
    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:8], "little") >> 1
