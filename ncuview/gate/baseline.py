"""Build, read and write baseline files (JSON): the times, metrics and advice measured for each kernel, grid and block.

``baseline_of`` makes a ``Baseline`` from a diagnosis; ``as_diagnosis`` turns it back into one for comparisons.

For each thing that a kernel does with one grid and block, a baseline holds the medians of the repeats, how far they
spread, the bottleneck, the units' use and the first advice; and once, under which conditions all that was measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, FailFast, Field, field_validator

from ncuview.base.errors import BaselineError, BaselineMissing, NothingProfiled
from ncuview.comparison.launch_groups import Work, configuration_of, middle_value, works_of
from ncuview.comparison.repeats import Repeats
from ncuview.gate.files import read_json, write_json
from ncuview.gate.spread import Spreads
from ncuview.metrics.repeatability import MetricClass, class_of_expression
from ncuview.metrics.textbook import definitions
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.profile import Configuration, Device, ReportInfo
from ncuview.records.schema import DIALECT

SCHEMA = "ncuview.baseline/2"
_MEND = "Save it again: ncuview check TARGET --save-baseline FILE."

Known = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Triple = tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )


class Conditions(_Part):
    """How it was measured; a word that is unknown is empty."""

    gpus: tuple[str, ...]
    compute_capabilities: tuple[str, ...]
    ncu: tuple[str, ...]
    """Versions of ncu, in full."""
    clock_control: str
    cache_control: str
    replay_mode: str
    ncuview: str
    """The version that wrote the baseline."""
    measured: str
    """When the newest report was made, as an ISO date; empty where no report says it."""


class Times(_Part):
    """A launch's time, with its copies where the host timed them, in ns."""

    median: Positive
    deviation: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of a single launch, robustly; 0 for a single one."""
    spread: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """What ``calibrate --repeat`` measured of the kernel, as a share; None where it did not."""


class Advice(_Part):
    """The first advice for the launch."""

    rule: str
    optimization: str
    low: Known
    best: Known
    high: Known


class Metric(_Part):
    """A textbook metric that repeats; it has ``low`` and ``high`` where not all launches had the same."""

    median: Known
    unit: str
    exact: bool
    """Whether it is the same in every run, rather than within 2 %."""
    low: Known | None = None
    high: Known | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest of the repeats."""
        low = self.median if self.low is None else self.low
        return low, self.median if self.high is None else self.high


class KernelBaseline(_Part):
    """One work of one kernel and configuration."""

    kernel: str
    demangled: str
    grid: Triple
    block: Triple
    gpu: str
    compute_capability: str
    repeats: Annotated[int, Field(ge=1)]
    duration_ns: Times | None
    """None where no report says the time."""
    bottleneck: str = Field(validation_alias=AliasChoices("bottleneck", "wall"))
    """What limited the launch of median time; ``wall`` in version 1."""
    units: dict[str, Known] = Field(validation_alias=AliasChoices("units", "walls"))
    """The use of each unit as a share of its peak; ``walls`` in version 1."""
    attained: Known | None
    verdict: str
    advice: Advice | None
    metrics: dict[str, Metric]

    @property
    def configuration(self) -> Configuration:
        """What launches are compared by."""
        return (self.demangled or self.kernel, self.grid, self.block)

    @property
    def times(self) -> Repeats:
        """As the statistics of times take them."""
        if self.duration_ns is None:
            return Repeats(float("nan"), float("nan"), 0)
        return Repeats(self.duration_ns.median, self.duration_ns.deviation, self.repeats)

    def as_launch(self, report: str) -> LaunchDiagnosis:
        """A launch with the medians, so that what moved since can be told as between two profiles."""
        return LaunchDiagnosis(
            report=report,
            index=0,
            kernel=self.kernel,
            demangled=self.demangled,
            grid=self.grid,
            block=self.block,
            duration_ns=self.times.median_ns,
            device=Device(self.gpu, self.compute_capability),
            origin="report",
            bottleneck=self.bottleneck,
            units=self.units,
            attained=float("nan") if self.attained is None else self.attained,
            verdict="unclear",
            metrics={name: TextbookMetric(each.median, each.unit, "") for name, each in self.metrics.items()},
            outcomes=(),
        )


class Baseline(_Part):
    """What was measured once."""

    schema_: str = Field(alias="schema", pattern="^ncuview[.]baseline/[12]$")
    conditions: Conditions
    kernels: Annotated[tuple[KernelBaseline, ...], FailFast()] = Field(min_length=1)

    @field_validator("schema_")
    @classmethod
    def _is_of_today_once_read(cls, _: str) -> str:
        return SCHEMA

    def as_diagnosis(self, name: str) -> tuple[Diagnosis, dict[str, Settings]]:
        """The baseline as a diagnosis of one launch per work, and what ncu was told; for comparisons."""
        versions = self.conditions.ncu or ("",)
        reports = tuple(ReportInfo(f"{name}#{at}", version, None) for at, version in enumerate(versions))
        told = {each.name: getattr(self.conditions, each.name) for each in fields(Settings)}
        launches = tuple(each.as_launch(reports[0].path) for each in self.kernels)
        return Diagnosis(launches, reports), {report.path: Settings(**told) for report in reports}


def baseline_schema() -> dict[str, Any]:
    """The JSON Schema of a baseline file, as it is written now."""
    content = Baseline.model_json_schema()
    content["properties"]["schema"] = {"const": SCHEMA, "description": "The name and version of this schema."}
    head = {"$schema": DIALECT, "$id": "urn:ncuview:schema:baseline:2"}
    return {**head, **content, "title": SCHEMA}


def baseline_of(diagnosis: Diagnosis, settings: Iterable[Settings], spreads: Spreads, version: str) -> Baseline:
    """What is to be kept of a diagnosis.

    Args:
        diagnosis: Of one or more reports; launches that do the same become one entry.
        settings: What ncu was told for each report.
        spreads: The user's own spreads.
        version: Of ncuview.

    Raises:
        NothingProfiled: There is no launch, or one of unknown grid and block.
    """
    if not diagnosis.launches:
        raise NothingProfiled("there is no launch to keep in a baseline")
    told = list(settings)
    conditions = {each.name: _agreed(getattr(one, each.name) for one in told) for each in fields(Settings)}
    dates = [report.created for report in diagnosis.reports if report.created]
    return Baseline(
        schema=SCHEMA,
        conditions=Conditions(
            gpus=_each(launch.device.name for launch in diagnosis.launches),
            compute_capabilities=_each(launch.device.compute_capability for launch in diagnosis.launches),
            ncu=_each(report.ncu_version for report in diagnosis.reports),
            **conditions,
            ncuview=version,
            measured=max(dates).date().isoformat() if dates else "",
        ),
        kernels=tuple(_kernel(work, spreads) for works in works_of(diagnosis.launches).values() for work in works),
    )


def _each(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _agreed(words: Iterable[str]) -> str:
    """The word that all reports say; empty where they do not agree or one does not tell."""
    told = set(words)
    return told.pop() if len(told) == 1 else ""


def _kernel(work: Work, spreads: Spreads) -> KernelBaseline:
    middle = work.middle
    kernel, grid, block = configuration_of(middle)
    if min(*grid, *block) < 1:
        raise NothingProfiled(
            f"{kernel} cannot be kept in a baseline: its report does not say with which grid and block it was launched",
            hint="Profile again, or leave the kernel out by --kernel-name.",
        )
    times = work.times
    known = None
    if times.count and times.median_ns > 0:
        spread = spreads.time(middle.device.name, kernel)
        known = Times(median=times.median_ns, deviation=round(times.deviation_ns, 3), spread=spread)
    return KernelBaseline(
        kernel=middle.kernel,
        demangled=middle.demangled,
        grid=grid,
        block=block,
        gpu=middle.device.name,
        compute_capability=middle.device.compute_capability,
        repeats=len(work.launches),
        duration_ns=known,
        bottleneck=middle.bottleneck,
        units={name: round(share, 4) for name, share in middle.units.items() if isfinite(share)},
        attained=round(middle.attained, 4) if isfinite(middle.attained) else None,
        verdict=middle.verdict,
        advice=_advice(middle),
        metrics=dict(sorted(_metrics(work).items())),
    )


def _advice(launch: LaunchDiagnosis) -> Advice | None:
    if not launch.findings:
        return None
    first = launch.findings[0]
    gain = first.predicted_speedup
    promised = {"low": round(gain.low, 3), "best": round(gain.best, 3), "high": round(gain.high, 3)}
    return Advice(rule=first.rule.code, optimization=first.optimization, **promised)


def _metrics(work: Work) -> dict[str, Metric]:
    """The textbook metrics that repeat well enough to be compared, or to say what moved."""
    found: dict[str, Metric] = {}
    for name, metric in {name: each for launch in work.launches for name, each in launch.metrics.items()}.items():
        kind = class_of_expression(metric.source)
        values = [value for value in work.values(name) if isfinite(value)]
        if kind > MetricClass.NEAR or not values or name not in definitions() or definitions()[name].kind != "metric":
            continue
        varies = max(values) > min(values)
        found[name] = Metric(
            median=middle_value(values),
            unit=metric.unit,
            exact=kind is MetricClass.EXACT,
            low=min(values) if varies else None,
            high=max(values) if varies else None,
        )
    return found


def read_baseline(path: Path) -> Baseline:
    """A baseline that was saved.

    Raises:
        BaselineMissing: There is no such file.
        BaselineError: It cannot be used.
    """
    found = read_json(path, Baseline, BaselineError, _MEND)
    if found is None:
        raise BaselineMissing(
            f"there is no baseline {path}",
            hint="--save-baseline FILE writes one; --allow-missing-baseline goes on without.",
        )
    return found


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline whole or not at all.

    Raises:
        BaselineError: It cannot be written.
    """
    content = baseline.model_dump(mode="json", by_alias=True, exclude_none=True)
    for kernel in content["kernels"]:  # what may be null must be there all the same
        kernel.setdefault("duration_ns", None)
        kernel.setdefault("attained", None)
        kernel.setdefault("advice", None)
    write_json(path, _by_line(content) + "\n", BaselineError)


def _by_line(content: Mapping[str, Any]) -> str:
    """JSON with a line for each metric, so that a changed baseline reads well in a review."""

    def one_line(value: Any) -> str:
        return json.dumps(value, allow_nan=False)  # ASCII: names hold what moves cursors and reverses lines

    kernels = []
    for kernel in content["kernels"]:
        metrics = ",\n".join(f"    {one_line(name)}: {one_line(each)}" for name, each in kernel["metrics"].items())
        rest = [f"   {one_line(key)}: {one_line(value)}" for key, value in kernel.items() if key != "metrics"]
        kernels.append("  {\n" + ",\n".join([*rest, '   "metrics": {\n' + metrics + "\n   }"]) + "\n  }")
    head = [f" {one_line(key)}: {one_line(value)}" for key, value in content.items() if key != "kernels"]
    return "{\n" + ",\n".join([*head, ' "kernels": [\n' + ",\n".join(kernels) + "\n ]"]) + "\n}"
