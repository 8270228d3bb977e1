"""Join the host's times of copies and kernel, read from ``<report>.host.json``, to a ``Profile``'s metrics.

``with_host_times`` adds them as metrics ``host__*``; ``host_times`` gives each launch's ``HostTimes`` or None.
ncu profiles kernels only. For catalogue kernels with ``[transfers]``, the host process measures copies and kernel with
CUDA events (``catalogue/launcher``), and writes the times to that file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ncuview.base.errors import ReportDamaged
from ncuview.reader.validity import MOST
from ncuview.records.profile import HostTimes, Profile

HOST_TIMES: Mapping[str, str] = {
    "host__to_device_time": "ns",
    "host__kernel_time": "ns",
    "host__to_host_time": "ns",
    "host__whole_time": "ns",
    "host__copied_bytes": "byte",
    "host__copies": "",
    "host__streams": "",
    "host__pinned": "",
}
"""The metrics that are added, and their units; ``host__copies`` are the pieces in which each array is copied."""


_MEASURE_AGAIN = "Delete it, or profile with --live again."


def host_times_of(report: Path) -> Path:
    """The file of a report's host times, which need not exist."""
    return report.with_suffix(".host.json")


def with_host_times_of(profile: Profile, report: Path) -> Profile:
    """The profile of a report, with the host's times if their file exists."""
    times = host_times_of(report)
    return with_host_times(profile, times) if times.exists() else profile


def with_host_times(profile: Profile, times: Path) -> Profile:
    """The profile of one report with the metrics of ``HOST_TIMES``, NaN for launches whose transfers were not timed."""
    entries = _entries(times)
    rows = [entries.get(index, {}) for index in profile.launches["index"].tolist()]
    columns = {
        name: np.array([np.nan if row.get(name) is None else row[name] for row in rows], np.float64)
        for name in HOST_TIMES
    }
    return replace(profile, metrics=profile.metrics.assign(**columns), units={**profile.units, **HOST_TIMES})


def _entries(times: Path) -> dict[int, dict[str, float | None]]:
    """What the host measured, by the launch's index.

    Raises:
        ReportDamaged: The file is not what ncuview writes.
    """
    try:
        launches = json.loads(times.read_text(encoding="utf-8"))["launches"]
        entries = {entry["index"]: {name: entry.get(name) for name in HOST_TIMES} for entry in launches}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReportDamaged(f"{times} is damaged: {type(error).__name__}", hint=_MEASURE_AGAIN) from error
    if not all(_fits_a_float(value) for entry in entries.values() for value in entry.values()):
        raise ReportDamaged(f"{times} is damaged: not every time in it is a number", hint=_MEASURE_AGAIN)
    return entries


def _fits_a_float(value: object) -> bool:
    return value is None or type(value) is float or (type(value) is int and abs(value) < MOST)


def host_times(profile: Profile) -> list[HostTimes | None]:
    """For each launch the times that the host measured; None where it measured none."""
    if "host__whole_time" not in profile.metrics.columns:
        return [None] * len(profile.launches)
    names = ["host__to_device_time", "host__kernel_time", "host__to_host_time", "host__whole_time"]
    rows = profile.metrics[names].to_numpy(np.float64).tolist()
    return [HostTimes(*row) if np.isfinite(row).all() else None for row in rows]
