"""Build a ``Profile``, with its DataFrames of launches, metrics and instructions, from ``LaunchColumns`` of reports.

``profile_of`` does it; missing metrics that others determine are filled in (``equivalents``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ncuview.reader.equivalents import DETERMINED, determinable, determine
from ncuview.records.profile import Profile, ReportInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.reader.columns import LaunchColumns

TEXT = pd.StringDtype("python")
"""Python's own strings: Arrow, where it is installed, refuses lone surrogates, and damaged reports have them."""
_AXES = ("x", "y", "z")
_LARGEST = 2**31 - 1
"""The largest size of a grid. A size beyond it, or a negative one, counts as unknown: 0."""
_OF_TABLE = {"address": np.int64, "sass": np.object_, "file": np.object_, "line": np.int64}
"""The columns of the tables of instructions, in the order of the frame."""


def profile_of(reports: Sequence[tuple[ReportInfo, MutableSequence[LaunchColumns]]]) -> Profile:
    """One Profile over all launches of all reports, in order; a report may have several parts.

    The parts are taken out of their lists one by one as they are put into the frames: a large report is not held twice.
    """
    parts = [(info, part) for info, of_report in reports for part in of_report]
    sources = {(info.path, name): text for info, part in parts for name, text in part.sources.items()}
    about = _about(parts)
    metrics, instructions = _Metrics([part for _, part in parts]), _Instructions([part for _, part in parts])
    parts.clear()
    for _, of_report in reports:
        while of_report:
            part = of_report.pop(0)
            metrics.put(part)
            instructions.put(part)
    numbers = metrics.frame()
    return Profile(
        reports=tuple(info for info, _ in reports),
        launches=_launches(about, numbers),
        metrics=numbers,
        units=metrics.units,
        instructions=instructions.frame(),
        sources=sources,
    )


class _Metrics:
    """All numbers, one row per launch and one column per metric, NaN where it is missing and no others determine it."""

    def __init__(self, parts: Sequence[LaunchColumns]) -> None:
        self.units: dict[str, str] = {}
        for part in parts:
            for name, unit in zip(part.metrics, part.units, strict=True):
                self.units.setdefault(name, unit)
        for name in list(determinable(self.units)):
            self.units.setdefault(name, DETERMINED[name].unit)
        self._places = {name: place for place, name in enumerate(self.units)}
        self._values = np.empty((len(self.units), sum(len(part.index) for part in parts)))
        self._filled = 0

    def put(self, part: LaunchColumns) -> None:
        """The launches that come next."""
        columns = slice(self._filled, self._filled + len(part.index))
        rows = np.asarray(part.values, np.float64).reshape(len(part.index), len(part.metrics))
        self._values[:, columns] = np.nan
        self._values[[self._places[name] for name in part.metrics], columns] = rows.T
        self._filled = columns.stop

    def frame(self) -> pd.DataFrame:
        """All launches, with the metrics that others determine."""
        determine({name: self._values[place] for name, place in self._places.items()})
        return _frame(self._values, list(self.units))


class _Instructions:
    """One row per executed machine instruction of each launch; a metric missing for a launch is NaN in its rows."""

    def __init__(self, parts: Sequence[LaunchColumns]) -> None:
        self._names = list(dict.fromkeys(name for part in parts for name in part.instruction_metrics))
        self._counts = np.array([count for part in parts for count in part.counts], dtype=np.int64)
        rows = int(self._counts.sum())
        self._values = np.empty((len(self._names), rows))
        self._of_table: dict[str, NDArray[Any]] = {name: np.empty(rows, kind) for name, kind in _OF_TABLE.items()}
        self._filled = 0

    def put(self, part: LaunchColumns) -> None:
        """The instructions of the launches that come next."""
        executed = np.asarray(part.executed, np.int64)
        rows = slice(self._filled, self._filled + len(executed))
        for name, column in self._of_table.items():
            column[rows] = np.array(getattr(part, name), column.dtype)[executed]
        self._values[:, rows] = np.nan
        _fill(self._values[:, rows], self._names, part)
        self._filled = rows.stop

    def frame(self) -> pd.DataFrame:
        """The instructions of all launches."""
        frame = _frame(self._values, self._names)
        launches = np.arange(len(self._counts), dtype=np.int64)
        frame.insert(0, "launch", np.repeat(launches, self._counts))
        for place, (name, column) in enumerate(self._of_table.items(), start=1):
            frame.insert(place, name, pd.Series(column, dtype=TEXT) if column.dtype == object else column)
        return frame


def _fill(values: NDArray[np.float64], names: Iterable[str], part: LaunchColumns) -> None:
    """Put the values of each launch and metric into its columns."""
    places = {name: place for place, name in enumerate(names)}
    own = np.array([places[name] for name in part.instruction_metrics], dtype=np.int64)
    numbers = np.asarray(part.instruction_values, np.float64)
    start = column = 0
    for count, carried in zip(part.counts, part.carried, strict=True):
        stop = start + count * len(carried)
        values[own[list(carried)], column : column + count] = numbers[start:stop].reshape(len(carried), count)
        start, column = stop, column + count


def _frame(values: NDArray[np.float64], names: list[str]) -> pd.DataFrame:
    """Rows as columns, without a copy."""
    return pd.DataFrame(
        values.T, columns=pd.Index(names, dtype=object), index=pd.RangeIndex(values.shape[1]), copy=False
    )


def _about(parts: Sequence[tuple[ReportInfo, LaunchColumns]]) -> dict[str, list[Any]]:
    """What the reader gives for each launch in addition to its numbers."""
    return {
        "report": [info.path for info, part in parts for _ in part.index],
        **{
            name: [value for _, part in parts for value in getattr(part, name)]
            for name in ("kernel", "demangled", "device", "index")
        },
        "process": [number for _, part in parts for number in part.process or [0] * len(part.index)],
        "process_name": [name for _, part in parts for name in part.process_name or [""] * len(part.index)],
        "workload": [value for _, part in parts for value in part.workload or ["kernel"] * len(part.index)],
    }


def _launches(about: Mapping[str, list[Any]], metrics: pd.DataFrame) -> pd.DataFrame:
    """The kernel, the sizes, the GPU and the duration of each launch."""

    def number(name: str) -> Any:
        return metrics[name] if name in metrics.columns else pd.Series(np.nan, index=metrics.index)

    def size(name: str) -> Any:
        known = number(name)
        return known.where(known.between(0, _LARGEST)).fillna(0).astype(np.int64)

    major, minor = (size(f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
    texts = {
        **{name: about[name] for name in ("report", "kernel", "demangled", "device", "process_name", "workload")},
        "compute_capability": [f"{a}.{b}" if a else "" for a, b in zip(major, minor, strict=True)],
    }
    return pd.DataFrame(
        {
            **{name: pd.array(values, dtype=TEXT) for name, values in texts.items()},
            "index": np.array(about["index"], dtype=np.int64),
            "process": np.array(about["process"], dtype=np.int64),
            **{f"{of}_{axis}": size(f"launch__{of}_dim_{axis}") for of in ("grid", "block") for axis in _AXES},
            "duration_ns": number("gpu__time_duration.sum").astype(np.float64),
        },
        index=metrics.index,
    )
