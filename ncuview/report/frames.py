"""Launches as the reader sent them, in columns, put into the DataFrames of a Profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ncuview.model import Profile, ReportInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.report.columns import LaunchColumns

TEXT = pd.StringDtype("python")
"""Python's own strings: Arrow, where it is installed, refuses lone surrogates, and damaged reports have them."""
_AXES = ("x", "y", "z")
_OF_TABLE = ("address", "sass", "file", "line")


def profile_of(reports: Sequence[tuple[ReportInfo, Sequence[LaunchColumns]]]) -> Profile:
    """One Profile over all launches of all reports, in order; of a report there may be several parts."""
    parts = [(info, part) for info, of_report in reports for part in of_report]
    metrics, units = _metrics([part for _, part in parts])
    return Profile(
        reports=tuple(info for info, _ in reports),
        launches=_launches(parts, metrics),
        metrics=metrics,
        units=units,
        instructions=_instructions([part for _, part in parts]),
        sources={(info.path, name): text for info, part in parts for name, text in part.sources.items()},
    )


def _metrics(parts: Sequence[LaunchColumns]) -> tuple[pd.DataFrame, dict[str, str]]:
    """All numbers, one row per launch and one column per metric, NaN where a launch has none; and the units."""
    units: dict[str, str] = {}
    for part in parts:
        for name, unit in zip(part.metrics, part.units, strict=True):
            units.setdefault(name, unit)
    places = {name: place for place, name in enumerate(units)}
    launches = sum(len(part.index) for part in parts)
    values = np.full((len(units), launches), np.nan)
    start = 0
    for part in parts:
        stop = start + len(part.index)
        rows = np.asarray(part.values, np.float64).reshape(len(part.index), len(part.metrics))
        values[[places[name] for name in part.metrics], start:stop] = rows.T
        start = stop
    return _frame(values, list(units)), units


def _frame(values: NDArray[np.float64], names: list[str]) -> pd.DataFrame:
    """Rows as columns, without a copy."""
    return pd.DataFrame(
        values.T, columns=pd.Index(names, dtype=object), index=pd.RangeIndex(values.shape[1]), copy=False
    )


def _launches(parts: Sequence[tuple[ReportInfo, LaunchColumns]], metrics: pd.DataFrame) -> pd.DataFrame:
    """Who ran, where and how long."""

    def number(name: str) -> Any:
        return metrics[name] if name in metrics.columns else pd.Series(np.nan, index=metrics.index)

    def whole(name: str) -> Any:
        return number(name).replace([np.inf, -np.inf], np.nan).fillna(0).astype(np.int64)

    major, minor = (whole(f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
    texts = {
        "report": [info.path for info, part in parts for _ in part.index],
        "kernel": [name for _, part in parts for name in part.kernel],
        "demangled": [name for _, part in parts for name in part.demangled],
        "device": [name for _, part in parts for name in part.device],
        "compute_capability": [f"{a}.{b}" if a else "" for a, b in zip(major, minor, strict=True)],
    }
    return pd.DataFrame(
        {
            **{name: pd.array(values, dtype=TEXT) for name, values in texts.items()},
            "index": np.array([index for _, part in parts for index in part.index], dtype=np.int64),
            **{f"{of}_{axis}": whole(f"launch__{of}_dim_{axis}") for of in ("grid", "block") for axis in _AXES},
            "duration_ns": number("gpu__time_duration.sum").astype(np.float64),
        },
        index=metrics.index,
    )


def _instructions(parts: Sequence[LaunchColumns]) -> pd.DataFrame:
    """One row per executed machine instruction of each launch; a metric that a launch lacks is NaN in its rows."""
    names = list(dict.fromkeys(name for part in parts for name in part.instruction_metrics))
    counts = np.array([count for part in parts for count in part.counts], dtype=np.int64)
    values = np.full((len(names), counts.sum()), np.nan)
    _fill(values, names, parts)
    frame = _frame(values, names)
    columns = {name: _joined(name, parts) for name in _OF_TABLE}
    frame.insert(0, "launch", np.repeat(np.arange(len(counts), dtype=np.int64), counts))
    frame.insert(1, "address", np.array(columns["address"], dtype=np.int64))
    frame.insert(2, "sass", pd.Series(columns["sass"], dtype=TEXT))
    frame.insert(3, "file", pd.Series(columns["file"], dtype=TEXT))
    frame.insert(4, "line", np.array(columns["line"], dtype=np.int64))
    return frame


def _fill(values: NDArray[np.float64], names: Iterable[str], parts: Sequence[LaunchColumns]) -> None:
    """Put what each launch has of each metric into its rows."""
    places = {name: place for place, name in enumerate(names)}
    row = 0
    for part in parts:
        own = np.array([places[name] for name in part.instruction_metrics], dtype=np.int64)
        numbers = np.asarray(part.instruction_values, np.float64)
        start = 0
        for count, carried in zip(part.counts, part.carried, strict=True):
            stop = start + count * len(carried)
            values[own[list(carried)], row : row + count] = numbers[start:stop].reshape(len(carried), count)
            start, row = stop, row + count


def _joined(name: str, parts: Sequence[LaunchColumns]) -> NDArray[Any]:
    """A column of the tables of instructions, for each instruction that was executed."""
    tables = [np.array(getattr(part, name), dtype=object) for part in parts]
    chosen = [table[np.asarray(part.executed, np.int64)] for table, part in zip(tables, parts, strict=True)]
    return np.concatenate(chosen) if chosen else np.array([], dtype=object)
