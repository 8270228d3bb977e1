"""Launches as the reader printed them, put into the DataFrames of a Profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ncuview.model import Profile, ReportInfo

_AXES = ("x", "y", "z")


def profile_of(reports: Sequence[tuple[ReportInfo, list[dict[str, Any]]]]) -> Profile:
    """One Profile over all launches of all reports, in order."""
    rows = [(info, launch) for info, launches in reports for launch in launches]
    metrics, units = _metrics([launch for _, launch in rows])
    return Profile(
        reports=tuple(info for info, _ in reports),
        launches=_launches(rows, metrics),
        metrics=metrics,
        units=units,
        instructions=_instructions([launch for _, launch in rows]),
        sources={(info.path, name): text for info, launch in rows for name, text in launch["sources"].items()},
    )


def _metrics(launches: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, str]]:
    """All numbers, one row per launch and one column per metric, NaN where a launch has none; and the units."""
    columns: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    units: dict[str, str] = {}
    for row, launch in enumerate(launches):
        for name, (value, unit) in launch["numbers"].items():
            if name not in columns:
                columns[name] = np.full(len(launches), np.nan)
                units[name] = unit
            columns[name][row] = value
    return pd.DataFrame(columns, index=pd.RangeIndex(len(launches))), units


def _launches(rows: list[tuple[ReportInfo, dict[str, Any]]], metrics: pd.DataFrame) -> pd.DataFrame:
    """Who ran, where and how long."""

    def number(name: str) -> Any:
        return metrics[name] if name in metrics.columns else pd.Series(np.nan, index=metrics.index)

    def whole(name: str) -> Any:
        return number(name).replace([np.inf, -np.inf], np.nan).fillna(0).astype(np.int64)

    major, minor = (whole(f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
    texts = {
        "report": [info.path for info, _ in rows],
        "kernel": [launch["kernel"] for _, launch in rows],
        "demangled": [launch["demangled"] for _, launch in rows],
        "device": [launch["texts"].get("device__attribute_display_name", "") for _, launch in rows],
        "compute_capability": [f"{a}.{b}" if a else "" for a, b in zip(major, minor, strict=True)],
    }
    return pd.DataFrame(
        {
            **{name: pd.array(values, dtype="string") for name, values in texts.items()},
            "index": np.array([launch["index"] for _, launch in rows], dtype=np.int64),
            **{f"{of}_{axis}": whole(f"launch__{of}_dim_{axis}") for of in ("grid", "block") for axis in _AXES},
            "duration_ns": number("gpu__time_duration.sum").astype(np.float64),
        },
        index=metrics.index,
    )


def _instructions(launches: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per executed machine instruction of each launch; a metric that a launch lacks is NaN in its rows."""
    tables = [launch["instructions"] for launch in launches]
    counts = [len(table["address"]) for table in tables]
    ends = np.cumsum(counts)
    metrics: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    for table, count, end in zip(tables, counts, ends, strict=True):
        for name, values in table["metrics"].items():
            metrics.setdefault(name, np.full(ends[-1], np.nan))[end - count : end] = values

    def joined(key: str) -> list[Any]:
        return [value for table in tables for value in table[key]]

    return pd.DataFrame(
        {
            "launch": np.repeat(np.arange(len(launches), dtype=np.int64), counts),
            "address": np.array(joined("address"), dtype=np.int64),
            "sass": pd.array(joined("sass"), dtype="string"),
            "file": pd.array(joined("file"), dtype="string"),
            "line": np.array(joined("line"), dtype=np.int64),
            **metrics,
        }
    )
