"""Launches made by hand for gates: a name, a time and a few counters."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ncuview.metrics.textbook import definitions
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, Outcome, TextbookMetric
from ncuview.records.profile import Device, Profile, ReportInfo

REPORT = ReportInfo("made.ncu-rep", "2025.3.1", None)
COUNTS = {"inst_executed": 1000.0, "gst_transactions_per_request": 4.0, "shared_load_transactions": 0.0}


def launch(
    kernel: str = "copy",
    time_ns: float = 100_000.0,
    counts: Mapping[str, float] | None = None,
    outcomes: tuple[Outcome, ...] = (),
    *,
    grid: tuple[int, int, int] = (8, 1, 1),
    index: int = 0,
    gpu: str = "NVIDIA H200",
) -> LaunchDiagnosis:
    """A launch with these counters on top of a few usual ones."""
    values = {**COUNTS, **(counts or {})}
    return LaunchDiagnosis(
        report=REPORT.path,
        index=index,
        kernel=kernel,
        demangled=f"{kernel}(float *, int)",
        grid=grid,
        block=(32, 1, 1),
        duration_ns=time_ns,
        device=Device(gpu, "9.0"),
        origin="report",
        bottleneck="dram",
        units={"dram": 0.5},
        attained=0.6,
        verdict="unclear",
        metrics={
            name: TextbookMetric(value, definitions()[name].unit, definitions()[name].expressions[0])
            for name, value in values.items()
        },
        outcomes=outcomes,
    )


def diagnosis(*launches: LaunchDiagnosis) -> Diagnosis:
    """These launches as one report."""
    return Diagnosis(launches, (REPORT,))


def profile(*launches: LaunchDiagnosis, **metrics: list[float]) -> Profile:
    """The profile of these launches, with nothing but these of ncu's metrics."""
    frame = pd.DataFrame(
        {
            "report": [each.report for each in launches],
            "index": [each.index for each in launches],
            "duration_ns": [each.duration_ns for each in launches],
        }
    )
    instructions = pd.DataFrame({name: [] for name in ("launch", "address", "sass", "file", "line")})
    return Profile((REPORT,), frame, pd.DataFrame(metrics, index=frame.index), {}, instructions, {})
