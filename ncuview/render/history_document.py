"""JSON document of a ``History`` (a series of reports): points, kernels, times and steps, per GPU.

Its schema is ``ncuview.history/1``, described by history.schema.json.
"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

from ncuview.render.sentence import moved_sentence
from ncuview.render.text import json_text
from ncuview.trends.series import History, KernelTrend, Point, Reading, Series, Step

SCHEMA = "ncuview.history/1"


def history_json(history: History) -> str:
    """One JSON document, without NaN or infinity."""
    content = {
        "schema": SCHEMA,
        "errors": [asdict(failure) for failure in history.failures],
        "series": [_series(series) for series in history.series],
    }
    return json_text(content)


def _series(series: Series) -> dict[str, Any]:
    return {
        "device": asdict(series.device),
        "points": [_point(point) for point in series.points],
        "breaks": [asdict(each) for each in series.breaks],
        "kernels": [_kernel(kernel) for kernel in series.kernels],
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "name": point.name,
        "created": point.created.isoformat() if point.created else None,
        "ncu_version": point.ncu,
        "settings": asdict(point.settings),
        "ranks": list(point.ranks),
        "reports": [report.path for report in point.reports],
        "launches": point.launches,
        "time_ns": point.time_ns,
    }


def _kernel(kernel: KernelTrend) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "demangled": kernel.demangled,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "work": kernel.work,
        "works": kernel.works,
        "readings": [_reading(reading) for reading in kernel.readings],
        "steps": [_step(step) for step in kernel.steps],
    }


def _reading(reading: Reading) -> dict[str, Any]:
    advice = reading.launch.findings[0] if reading.launch.findings else None
    return {
        "at": reading.at,
        "time_ns": _known(reading.time_ns),
        "launches": reading.launches,
        "noise_ns": _known(reading.noise_ns),
        "wall": reading.launch.bottleneck,
        "verdict": reading.launch.verdict,
        "optimization": advice.optimization if advice else None,
        "rule": advice.rule.code if advice else None,
        "predicted_speedup": asdict(advice.predicted_speedup) if advice else None,
        "ranks": dict(reading.ranks),
        "imbalance": reading.imbalance,
        "example": {"report": reading.launch.report, "index": reading.launch.index},
    }


def _known(value: float) -> float | None:
    """None for what was not measured: JSON has no NaN."""
    return value if isfinite(value) else None


def _step(step: Step) -> dict[str, Any]:
    return {
        "at": step.at,
        "since": step.since,
        "before_ns": step.before_ns,
        "after_ns": step.after_ns,
        "noise_ns": step.noise_ns,
        "confirmed": step.is_confirmed,
        "sentence": moved_sentence(step.pair),
    }
