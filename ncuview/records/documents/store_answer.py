"""The JSON document ``ncuview.store-answer/1``: the answer of a store to a question, as tables of comparable launches.

``StoreAnswerDocument`` is the top level. Texts of cells come from reports, and are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ncuview.records.documents import Count
from ncuview.records.schema import FOREIGN

StoreCell = Annotated[str, FOREIGN] | float | bool | None
"""A value that is unknown is null, never NaN."""


@dataclass(frozen=True)
class ProfilerSettings:
    """How the profiler ran; launches of different settings never stand in one table. Each null when unknown."""

    clock_control: Annotated[str | None, FOREIGN]
    """base: clocks were locked; none: they were not."""
    cache_control: Annotated[str | None, FOREIGN]
    """all: caches were emptied before each pass; none: they were not."""
    replay_mode: Annotated[str | None, FOREIGN]
    """kernel, application, range or app-range."""


@dataclass(frozen=True)
class StoreTable:
    """One table of an answer."""

    title: str
    """What its rows are; empty for a query of the user's."""
    settings: ProfilerSettings | None
    """Those of all launches in it; null where the table is not about launches, or the query was the user's."""
    units: Mapping[str, str]
    """The units of the columns that have one."""
    columns: tuple[Annotated[str, FOREIGN], ...]
    """Their names; a query of the user may give two the same name."""
    rows: tuple[tuple[StoreCell, ...], ...]
    """A cell for each column."""
    left_out: Count | None
    """How many further rows the limit has cut; null for an unknown number."""
    complete: bool
    """Whether no row is left out."""


@dataclass(frozen=True)
class StoreAnswerDocument:
    """What `ncuview store top`, `history`, `compare`, `outliers`, `unprofiled` and `sql` print with --format json."""

    schema: Literal["ncuview.store-answer/1"]
    """The name and version of this schema."""
    question: str
    """The command without its options for output, such as `compare --by gpu`."""
    tables: tuple[StoreTable, ...]
    """The tables; none where no launch in the store is an answer."""
    notes: tuple[Annotated[str, FOREIGN], ...]
    """What to know about the tables, one sentence each."""
