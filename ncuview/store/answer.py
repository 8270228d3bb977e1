"""``Answer``: what a question to a store gives, as tables of launches that are comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Cell = str | int | float | bool | None

UNITS: Mapping[str, str] = {
    "time_ns": "ns",
    "saved_ns": "ns",
    "usual_ns": "ns",
    "ns_per_block": "ns",
    "share": "ratio 0-1",
    "ratio": "x",
    "clock": "GHz",
}
"""The units of columns that have one, in all answers."""


@dataclass(frozen=True)
class Settings:
    """How the profiler ran; launches of different settings are not comparable. None where a report does not say."""

    clock_control: str | None
    cache_control: str | None
    replay_mode: str | None


@dataclass(frozen=True)
class AnswerTable:
    """One table of an answer."""

    title: str
    settings: Settings | None
    """Those of all launches in it; None where the table is not about launches, or the query was the user's."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0
    """How many further rows the limit has cut; -1 for an unknown number."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question."""

    question: str
    tables: tuple[AnswerTable, ...]
    notes: tuple[str, ...] = ()
    """What to know about the tables, one sentence each."""
