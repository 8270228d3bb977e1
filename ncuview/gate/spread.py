"""Compute from repeated launches how far each kernel's time and metrics spread; read and write the table of spreads.

``ncuview calibrate --repeat`` writes the table (JSON, by GPU and kernel); gates read it to judge differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ncuview.base.errors import NothingProfiled, TableError
from ncuview.comparison.launch_groups import Work, middle_value, works_of
from ncuview.gate.files import read_json, write_json
from ncuview.metrics.repeatability import MetricClass, class_of_expression
from ncuview.records.diagnosis import Diagnosis

SCHEMA = "ncuview.spread/1"
_MEND = "Delete it and run `ncuview calibrate --repeat 6` again."


class KernelSpread(BaseModel):
    """What was measured of one kernel on one GPU."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    repeats: int = Field(ge=2)
    time: float = Field(ge=0, allow_inf_nan=False)
    """The standard deviation of a launch's time, as a share of the median; of its works the largest."""
    metrics: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Textbook metric -> (largest - smallest) / median, of those that are not the same in all repeats."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    schema_: str = Field(alias="schema", pattern="^ncuview[.]spread/1$")
    gpus: dict[str, dict[str, KernelSpread]]


@dataclass(frozen=True)
class Spreads:
    """By GPU and a kernel's demangled name."""

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
    """The spread of each kernel that was launched at least twice to do the same.

    Raises:
        NothingProfiled: There is none.
    """
    gpus: dict[str, dict[str, KernelSpread]] = {}
    for device in dict.fromkeys(launch.device.name for launch in diagnosis.launches):
        for (kernel, _, _), works in works_of(
            launch for launch in diagnosis.launches if launch.device.name == device
        ).items():
            found = [_spread(work) for work in works if len(work.launches) > 1]
            before = gpus.setdefault(device, {}).get(kernel)
            if found:
                gpus[device][kernel] = _worst([*([before] if before else []), *found])
    if not any(gpus.values()):
        raise NothingProfiled(
            "no kernel was launched twice with the same work", hint="Give several reports of the same program."
        )
    return Spreads(gpus)


def _spread(work: Work) -> KernelSpread:
    times = work.times
    names = {name: metric.source for launch in work.launches for name, metric in launch.metrics.items()}
    compared = [name for name, source in names.items() if class_of_expression(source) <= MetricClass.NEAR]
    spans = {name: _span(work.values(name)) for name in compared}
    time = times.deviation_ns / times.median_ns if times.median_ns > 0 else 0.0
    return KernelSpread(
        repeats=len(work.launches),
        time=round(time, 5),
        metrics={name: round(span, 6) for name, span in sorted(spans.items()) if span > 0},
    )


def _span(values: list[float]) -> float:
    middle = middle_value(values)
    return (max(values) - min(values)) / abs(middle) if isfinite(middle) and middle else 0.0


def _worst(spreads: Iterable[KernelSpread]) -> KernelSpread:
    told = list(spreads)
    names = sorted({name for each in told for name in each.metrics})
    return KernelSpread(
        repeats=min(each.repeats for each in told),
        time=max(each.time for each in told),
        metrics={name: max(each.metrics.get(name, 0.0) for each in told) for name in names},
    )


def read_spreads(path: Path | None) -> Spreads:
    """The user's table; an empty one where there is none.

    Raises:
        TableError: The file cannot be used.
    """
    table = read_json(path, _Table, TableError, _MEND) if path else None
    return Spreads(table.gpus) if table else Spreads()


def keep_spreads(spreads: Spreads, path: Path) -> None:
    """Write what was measured into the user's table, and keep what it says of other kernels and GPUs.

    Raises:
        TableError: The table that is there cannot be used, or it cannot be written.
    """
    before = read_spreads(path).gpus
    gpus = {
        gpu: {**before.get(gpu, {}), **spreads.gpus.get(gpu, {})} for gpu in dict.fromkeys([*before, *spreads.gpus])
    }
    table = _Table(schema=SCHEMA, gpus=gpus)
    write_json(path, table.model_dump_json(by_alias=True, indent=1) + "\n", TableError)
