"""Compute from a ``Diagnosis`` of repeated launches the spread of each kernel's time and metrics -> ``Spreads``.

``measured_spreads`` computes it; ``read_spreads`` and ``save_spreads`` read and write the user's table (JSON).

The table is by GPU and kernel; gates use it to judge differences, and ``ncuview calibrate --repeat`` measures it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ncuview.base.errors import NothingProfiled, TableError
from ncuview.comparison.launch_groups import LaunchGroup, group_launches, median_or_nan
from ncuview.gate.files import read_json, write_json
from ncuview.metrics.repeatability import MetricClass, class_of_expression
from ncuview.records.diagnosis import Diagnosis

SCHEMA = "ncuview.spread/1"
_MEASURE_AGAIN = "Delete it and run `ncuview calibrate --repeat 6` again."


class KernelSpread(BaseModel):
    """The spread of one kernel on one GPU."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    repeats: int = Field(ge=2)
    time: float = Field(ge=0, allow_inf_nan=False)
    """The standard deviation of a launch's time as a share of the median; the largest over the launch groups."""
    metrics: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Textbook metric -> (largest - smallest) / median, for metrics that differ between repeats."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    schema_: str = Field(alias="schema", pattern="^ncuview[.]spread/1$")
    gpus: dict[str, dict[str, KernelSpread]]


@dataclass(frozen=True)
class Spreads:
    """Spreads by GPU and the demangled name of the kernel."""

    gpus: Mapping[str, Mapping[str, KernelSpread]] = field(default_factory=dict)

    def time(self, gpu: str, kernel: str) -> float | None:
        """The spread of a kernel's time; None where it was not measured."""
        known = self.gpus.get(gpu, {}).get(kernel)
        return known.time if known else None

    def metric(self, gpu: str, kernel: str, metric: str) -> float:
        """The spread of a metric; 0 where none was measured."""
        known = self.gpus.get(gpu, {}).get(kernel)
        return known.metrics.get(metric, 0.0) if known else 0.0


def measured_spreads(diagnosis: Diagnosis) -> Spreads:
    """The spread of each kernel with a launch group of two or more launches.

    Raises:
        NothingProfiled: There is no such kernel.
    """
    gpus: dict[str, dict[str, KernelSpread]] = {}
    for device in dict.fromkeys(launch.device.name for launch in diagnosis.launches):
        for (kernel, _, _), groups in group_launches(
            launch for launch in diagnosis.launches if launch.device.name == device
        ).items():
            found = [_spread(group) for group in groups if len(group.launches) > 1]
            before = gpus.setdefault(device, {}).get(kernel)
            if found:
                gpus[device][kernel] = _worst([*([before] if before else []), *found])
    if not any(gpus.values()):
        raise NothingProfiled(
            "no kernel was launched twice in the same way", hint="Give several reports of the same program."
        )
    return Spreads(gpus)


def _spread(group: LaunchGroup) -> KernelSpread:
    times = group.times
    names = {name: metric.source for launch in group.launches for name, metric in launch.metrics.items()}
    compared = [name for name, source in names.items() if class_of_expression(source) <= MetricClass.NEAR]
    spans = {name: _span(group.values(name)) for name in compared}
    time = times.deviation_ns / times.median_ns if times.median_ns > 0 else 0.0
    return KernelSpread(
        repeats=len(group.launches),
        time=round(time, 5),
        metrics={name: round(span, 6) for name, span in sorted(spans.items()) if span > 0},
    )


def _span(values: list[float]) -> float:
    middle = median_or_nan(values)
    return (max(values) - min(values)) / abs(middle) if isfinite(middle) and middle else 0.0


def _worst(spreads: Iterable[KernelSpread]) -> KernelSpread:
    kernels = list(spreads)
    names = sorted({name for each in kernels for name in each.metrics})
    return KernelSpread(
        repeats=min(each.repeats for each in kernels),
        time=max(each.time for each in kernels),
        metrics={name: max(each.metrics.get(name, 0.0) for each in kernels) for name in names},
    )


def read_spreads(path: Path | None) -> Spreads:
    """The user's table; empty where there is no file.

    Raises:
        TableError: The file cannot be used.
    """
    table = read_json(path, _Table, TableError, _MEASURE_AGAIN) if path else None
    return Spreads(table.gpus) if table else Spreads()


def save_spreads(spreads: Spreads, path: Path) -> None:
    """Merge measured spreads into the user's table; other kernels and GPUs keep theirs.

    Raises:
        TableError: The existing table cannot be used, or the new one cannot be written.
    """
    before = read_spreads(path).gpus
    gpus = {
        gpu: {**before.get(gpu, {}), **spreads.gpus.get(gpu, {})} for gpu in dict.fromkeys([*before, *spreads.gpus])
    }
    table = _Table(schema=SCHEMA, gpus=gpus)
    write_json(path, table.model_dump_json(by_alias=True, indent=1) + "\n", TableError)
