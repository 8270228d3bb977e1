"""Reports made by hand: the same kernels at several points, with the times that a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import Device, ReportInfo
from ncuview.records.program import Call
from ncuview.trends import DiagnosedReport
from tests.render.sample import launch_near_peak, launch_with_advice

FIRST_DAY = datetime(2026, 11, 1, tzinfo=UTC)
H200 = Device("NVIDIA H200", "9.0")


def launch(kernel: str, time_ns: float, device: Device = H200, *, advice: bool = True) -> LaunchDiagnosis:
    """A launch of this kernel, with advice or near its peak."""
    like = launch_with_advice() if advice else launch_near_peak()
    return replace(like, kernel=kernel, demangled=f"{kernel}(float *)", duration_ns=time_ns, device=device)


def called(line: int, time_ns: float, kernel: str = "k", operator: str = "softmax") -> LaunchDiagnosis:
    """A launch of this kernel from a line of train.py."""
    return replace(launch(kernel, time_ns), call=Call("train.py", line, "attend", operator))


def reported(
    point: str,
    launches: Sequence[LaunchDiagnosis],
    day: int | None = None,
    rank: str = "",
    ncu_version: str = "2025.3.1",
    settings: Settings | None = None,
) -> DiagnosedReport:
    """A report at a point, written on this day of the month, or without a date."""
    path = f"{point}/{rank or 'report'}.ncu-rep"
    created = FIRST_DAY + timedelta(days=day) if day is not None else None
    info = ReportInfo(path, ncu_version, created)
    placed = tuple(replace(each, report=path, index=at) for at, each in enumerate(launches))
    return DiagnosedReport(point, rank, Diagnosis(placed, (info,)), settings or Settings())


def series_of(times: Mapping[str, Sequence[float | None]]) -> list[DiagnosedReport]:
    """A report for each place of the sequences, with the kernels that have a time there."""
    count = max(map(len, times.values()))
    return [
        reported(
            f"c{at}",
            [launch(kernel, time) for kernel, all_times in times.items() if (time := all_times[at]) is not None],
            day=at,
        )
        for at in range(count)
    ]
