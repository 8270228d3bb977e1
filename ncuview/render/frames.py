"""Convert a ``Diagnosis`` to DataFrames: ``findings_frame``, ``metrics_frame``, ``units_frame``, ``calls_frame``.

They hold the findings, the textbook metrics of each launch, the use of each hardware unit in each launch, and the
kernel time of each line of the user's program.

Launches count from 0 in each diagnosis, so that frames of several need keys: ``pandas.concat(..., keys=...)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum, isfinite, nan
from typing import Any

import pandas as pd

from ncuview.programs.lines import LineTime, by_line
from ncuview.reader.frames import TEXT
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis
from ncuview.records.program import ProgramFinding
from ncuview.render.words import step_words

_FINDING_COLUMNS: Mapping[str, Any] = {
    "launch": "int64",
    "kernel": TEXT,
    "rank": "int64",
    "rule": TEXT,
    "name": TEXT,
    "optimization": TEXT,
    "low": "float64",
    "best": "float64",
    "high": "float64",
    "saved_ns": "float64",
    "wall_after": TEXT,
    "file": TEXT,
    "line": "int64",
    "line_share": "float64",
    "message": TEXT,
    "check": TEXT,
    "rejected": TEXT,
}


_CALL_COLUMNS: Mapping[str, Any] = {
    "file": TEXT,
    "line": "int64",
    "function": TEXT,
    "operator": TEXT,
    "backward": TEXT,
    "launches": "int64",
    "time_ns": "float64",
    "share": "float64",
    "kernels": "int64",
    "owner_kinds": TEXT,
    "next_step": TEXT,
    "rule": TEXT,
    "advice": TEXT,
}


def findings_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """The findings: one row per finding, launch by launch, the best advice first.

    Args:
        diagnosis: The result of ``analyze`` or ``diagnose``.

    Returns:
        Columns: ``launch`` (int64, into ``diagnosis.launches``), ``kernel``; ``rank`` (int64, 1 is the next step, 0 a
        finding that is not advice, with the reason in ``rejected``); ``rule`` and ``name`` of the rule;
        ``optimization``; ``low``, ``best``, ``high`` (the predicted speedup of the launch); ``saved_ns`` (of the
        launch, and of its copies where they were timed, by ``best``; NaN where the duration is unknown);
        ``wall_after`` (the bottleneck after the change); ``file``, ``line`` and ``line_share`` (0..1) of the line with
        most of the waste, empty, 0 and NaN where no line is known; ``message``, ``check``, ``rejected``. A diagnosis
        without findings gives no rows. ``attrs["units"]`` has the unit of each column of numbers.
    """
    rows = [
        _finding_row(at, launch, finding, rank)
        for at, launch in enumerate(diagnosis.launches)
        for rank, finding in _ranked(launch)
    ]
    frame = pd.DataFrame(rows, columns=list(_FINDING_COLUMNS)).astype(dict(_FINDING_COLUMNS))
    frame.attrs["units"] = {"low": "x", "best": "x", "high": "x", "saved_ns": "ns", "line_share": "ratio 0-1"}
    return frame


def metrics_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """The textbook metrics: one row per launch, one float64 column per metric under its textbook name.

    Args:
        diagnosis: The result of ``analyze`` or ``diagnose``.

    Returns:
        Indexed by ``launch`` (0-based, into ``diagnosis.launches``) and ``kernel``. The first column, ``duration_ns``,
        is the launch's duration; the others are sorted by name. NaN where a metric could not be computed for a launch;
        a metric without any value has no column. ``attrs["units"]`` maps a column to its unit, ``attrs["sources"]`` to
        the expressions over Nsight Compute's metrics that gave its values.
    """
    launches = diagnosis.launches
    names = sorted({name for launch in launches for name in launch.metrics})
    columns = {
        "duration_ns": [launch.duration_ns for launch in launches],
        **{name: [_value(launch, name) for launch in launches] for name in names},
    }
    units = {"duration_ns": "ns"}
    sources: defaultdict[str, dict[str, None]] = defaultdict(dict)
    sources["duration_ns"]["gpu__time_duration.sum"] = None
    for launch in launches:
        for name, metric in launch.metrics.items():
            units[name] = metric.unit
            sources[name][metric.source] = None
    frame = pd.DataFrame(columns, index=_index(launches), dtype="float64")
    frame.attrs["units"] = units
    frame.attrs["sources"] = {name: tuple(expressions) for name, expressions in sources.items()}
    return frame


def units_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """The use of each hardware unit: one row per launch, one float64 column per unit.

    Args:
        diagnosis: The result of ``analyze`` or ``diagnose``.

    Returns:
        Indexed by ``launch`` (0-based, into ``diagnosis.launches``) and ``kernel``. Columns: ``wall`` (the bottleneck
        of the launch: a unit, or a word such as ``latency``); ``attained`` (0..1, the share of what a good kernel
        attains on the busiest unit); then each unit's use as a share of its peak, 0..1, NaN where it was not collected.
        ``attrs["units"]`` has the unit of each column of numbers.
    """
    launches = diagnosis.launches
    units = list(dict.fromkeys(unit for launch in launches for unit in launch.units))
    index = _index(launches)
    frame = pd.DataFrame(
        {
            "wall": pd.Series([launch.bottleneck for launch in launches], index=index, dtype=TEXT),
            "attained": pd.Series([launch.attained for launch in launches], index=index, dtype="float64"),
            **{
                unit: pd.Series([launch.units.get(unit, nan) for launch in launches], index=index, dtype="float64")
                for unit in units
            },
        }
    )
    frame.attrs["units"] = dict.fromkeys(["attained", *units], "ratio 0-1")
    return frame


def calls_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """The lines of the user's program that led to launches: one row per line, the one with most kernel time first.

    Args:
        diagnosis: The result of ``analyze`` or ``diagnose``.

    Returns:
        Columns: ``file``, ``line`` (int64, 0 where unknown), ``function``; ``operator`` (the framework's, of the
        line's longest launch); ``backward`` (the autograd node; a backward pass has no line, and is a row of its own);
        ``launches`` (int64), ``time_ns`` (the sum of their durations), ``share`` (0..1, of the kernel time of all
        launches), ``kernels`` (int64, how many different ones); ``owner_kinds`` (whose code they are, the most time
        first, as in ``framework, yours``); ``next_step`` of the longest launch, as tables show it; ``rule`` and
        ``advice`` of the first change of the program at this line, empty where there is none. Launches without a call
        stack or of unknown duration are left out; without any call stack there are no rows. ``attrs["units"]`` has
        the unit of each column of numbers.
    """
    known = [launch for launch in diagnosis.launches if isfinite(launch.duration_ns)]
    total = fsum(launch.duration_ns for launch in known)
    changes = diagnosis.program.findings if diagnosis.program else ()
    rows = [_call_row(line, total, changes) for line in by_line(((0, launch) for launch in known), 1)]
    frame = pd.DataFrame(rows, columns=list(_CALL_COLUMNS)).astype(dict(_CALL_COLUMNS))
    frame.attrs["units"] = {"time_ns": "ns", "share": "ratio 0-1"}
    return frame


def _call_row(line: LineTime[LaunchDiagnosis], total: float, changes: Sequence[ProgramFinding]) -> dict[str, Any]:
    call, launches = line.call, line.launches
    here = (call.file, call.line, call.function)
    change = next((each for each in changes if any((at.file, at.line, at.function) == here for at in each.calls)), None)
    times: defaultdict[str, float] = defaultdict(float)
    for launch in launches:
        times[launch.owner_kind] += launch.duration_ns
    return {
        "file": call.file,
        "line": call.line,
        "function": call.function,
        "operator": call.operator,
        "backward": call.backward,
        "launches": len(launches),
        "time_ns": line.time_ns,
        "share": line.time_ns / total if total else 0.0,
        "kernels": len({launch.demangled for launch in launches}),
        "owner_kinds": ", ".join(sorted(times, key=lambda kind: -times[kind])),
        "next_step": step_words(max(launches, key=lambda launch: launch.duration_ns)),
        "rule": change.code if change else "",
        "advice": change.advice if change else "",
    }


def _index(launches: Sequence[LaunchDiagnosis]) -> pd.MultiIndex:
    kernels = [launch.kernel for launch in launches]
    return pd.MultiIndex.from_arrays([pd.RangeIndex(len(launches)), kernels], names=["launch", "kernel"])


def _value(launch: LaunchDiagnosis, name: str) -> float:
    metric = launch.metrics.get(name)
    return metric.value if metric else nan


def _ranked(launch: LaunchDiagnosis) -> list[tuple[int, Finding]]:
    """All findings of a launch with their ranks: advice from 1, rejected findings 0."""
    found = [outcome for outcome in launch.outcomes if isinstance(outcome, Finding)]
    advice = list(enumerate(launch.findings, start=1))
    return [*advice, *((0, finding) for finding in found if finding.rejected)]


def _finding_row(at: int, launch: LaunchDiagnosis, finding: Finding, rank: int) -> dict[str, Any]:
    gain = finding.predicted_speedup
    worst = finding.where[0] if finding.where else None
    return {
        "launch": at,
        "kernel": launch.kernel,
        "rank": rank,
        "rule": finding.rule.code,
        "name": finding.rule.name,
        "optimization": finding.optimization,
        "low": gain.low,
        "best": gain.best,
        "high": gain.high,
        "saved_ns": launch.whole_ns * (1 - 1 / gain.best),
        "wall_after": finding.bottleneck_after,
        "file": worst.file if worst else "",
        "line": worst.line if worst else 0,
        "line_share": worst.share if worst else nan,
        "message": finding.message,
        "check": finding.check,
        "rejected": finding.rejected,
    }
