"""Build, read and write baseline files (JSON): times, metrics and first advice of each kernel, grid and block.

``baseline_of`` makes a ``Baseline`` from a ``Diagnosis``; ``read_baseline`` and ``save_baseline`` take a path.

``Baseline.as_diagnosis`` makes a diagnosis of it for comparisons. For each launch group a baseline holds the medians of
the repeats, their spread, the bottleneck, the units' use and the first advice; and once, the conditions of measurement.
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
from ncuview.base.suggestion import did_you_mean_file
from ncuview.comparison.launch_groups import LaunchGroup, configuration_of, group_launches, median_or_nan
from ncuview.comparison.repeats import LEAST_REPEATS, Repeats
from ncuview.gate.files import read_json, write_json
from ncuview.gate.spread import Spreads
from ncuview.metrics.repeatability import MetricClass, class_of_expression
from ncuview.metrics.textbook import definitions
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.profile import Configuration, Device, ReportInfo
from ncuview.records.schema import DIALECT

SCHEMA = "ncuview.baseline/2"
_SAVE_AGAIN = "Save it again: ncuview check TARGET --save-baseline FILE."

Known = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Triple = tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )


class Conditions(_Part):
    """The conditions of measurement; an unknown one is empty."""

    gpus: tuple[str, ...]
    compute_capabilities: tuple[str, ...]
    ncu: tuple[str, ...]
    """Full versions of ncu."""
    clock_control: str
    cache_control: str
    replay_mode: str
    ncuview: str
    """The version that wrote the baseline."""
    measured: str
    """The date of the newest report in ISO format; empty where no report has one."""


class Times(_Part):
    """A launch's time, with its copies where the host timed them, in ns."""

    median: Positive
    deviation: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """The standard deviation of a single launch, estimated from absolute deviations; 0 for a single launch."""
    spread: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The share that ``calibrate --repeat`` measured for the kernel; None where it did not."""


class Advice(_Part):
    """The first advice for the launch."""

    rule: str
    optimization: str
    low: Known
    best: Known
    high: Known


class Metric(_Part):
    """A textbook metric that repeats; ``low`` and ``high`` are set where the launches differ."""

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
    """One launch group of a kernel and configuration."""

    kernel: str
    demangled: str
    grid: Triple
    block: Triple
    gpu: str
    compute_capability: str
    repeats: Annotated[int, Field(ge=1)]
    duration_ns: Times | None
    """None where no report has the time."""
    bottleneck: str = Field(validation_alias=AliasChoices("bottleneck", "wall"))
    """What limits the launch of median time; ``wall`` in version 1."""
    units: dict[str, Known] = Field(validation_alias=AliasChoices("units", "walls"))
    """The use of each unit as a share of its peak; ``walls`` in version 1."""
    attained: Known | None
    verdict: str
    advice: Advice | None
    metrics: dict[str, Metric]

    @property
    def configuration(self) -> Configuration:
        """The key by which launches are compared."""
        return (self.demangled or self.kernel, self.grid, self.block)

    @property
    def times(self) -> Repeats:
        """The times in the form that ``comparison.repeats`` takes."""
        if self.duration_ns is None:
            return Repeats(float("nan"), float("nan"), 0)
        return Repeats(self.duration_ns.median, self.duration_ns.deviation, self.repeats)

    def as_launch(self, report: str) -> LaunchDiagnosis:
        """A launch with the medians as its values, for a comparison with a measured launch."""
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
    """The content of a baseline file."""

    schema_: str = Field(alias="schema", pattern="^ncuview[.]baseline/[12]$")
    conditions: Conditions
    kernels: Annotated[tuple[KernelBaseline, ...], FailFast()] = Field(min_length=1)

    @field_validator("schema_")
    @classmethod
    def _is_of_today_once_read(cls, _: str) -> str:
        return SCHEMA

    def as_diagnosis(self, name: str) -> tuple[Diagnosis, dict[str, Settings]]:
        """The baseline as a diagnosis with one launch per launch group, and the settings of ncu, for comparisons."""
        versions = self.conditions.ncu or ("",)
        reports = tuple(ReportInfo(f"{name}#{at}", version, None) for at, version in enumerate(versions))
        settings = Settings(**{each.name: getattr(self.conditions, each.name) for each in fields(Settings)})
        launches = tuple(each.as_launch(reports[0].path) for each in self.kernels)
        return Diagnosis(launches, reports), dict.fromkeys((report.path for report in reports), settings)


def baseline_schema() -> dict[str, Any]:
    """The JSON Schema of the baseline files that this version writes."""
    content = Baseline.model_json_schema()
    content["properties"]["schema"] = {"const": SCHEMA, "description": "The name and version of this schema."}
    head = {"$schema": DIALECT, "$id": "urn:ncuview:schema:baseline:2"}
    return {**head, **content, "title": SCHEMA}


def baseline_of(diagnosis: Diagnosis, settings: Iterable[Settings], spreads: Spreads, version: str) -> Baseline:
    """The baseline of a diagnosis.

    Args:
        diagnosis: Of one or more reports; each launch group becomes one entry.
        settings: The settings of ncu for each report.
        spreads: The user's measured spreads.
        version: The version of ncuview.

    Raises:
        NothingProfiled: There is no launch, or one of unknown grid and block.
    """
    if not diagnosis.launches:
        raise NothingProfiled("there is no launch to keep in a baseline")
    all_settings = list(settings)
    conditions = {each.name: _agreed(getattr(one, each.name) for one in all_settings) for each in fields(Settings)}
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
        kernels=tuple(
            _kernel(group, spreads) for groups in group_launches(diagnosis.launches).values() for group in groups
        ),
    )


def few_repeats(baseline: Baseline) -> str:
    """A sentence about kernels with too few launches to know how far their times spread; empty where there are none.

    A spread that ``calibrate --repeat`` measured does not help: few launches are compared by a wide margin.
    """
    timed = [kernel for kernel in baseline.kernels if kernel.duration_ns]
    few = [kernel for kernel in timed if kernel.repeats < LEAST_REPEATS]
    if not few:
        return ""
    return (
        f"{len(few)} of {len(timed)} kernels have fewer than {LEAST_REPEATS} launches: the spread of their times is"
        " unknown, and they fail only where they take a quarter longer. Launch each kernel five times in a run, or"
        " give the reports of five runs: ncuview check RUN1 RUN2 RUN3 RUN4 RUN5 --save-baseline FILE"
    )


def _each(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def _agreed(words: Iterable[str]) -> str:
    """The word of all reports; empty where they differ or one is unknown."""
    distinct = set(words)
    return distinct.pop() if len(distinct) == 1 else ""


def _kernel(group: LaunchGroup, spreads: Spreads) -> KernelBaseline:
    middle = group.middle
    kernel, grid, block = configuration_of(middle)
    if min(*grid, *block) < 1:
        raise NothingProfiled(
            f"{kernel} cannot be kept in a baseline: its report has no grid and block",
            hint="Profile again, or leave the kernel out by --kernel-name.",
        )
    times = group.times
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
        repeats=len(group.launches),
        duration_ns=known,
        bottleneck=middle.bottleneck,
        units={name: round(share, 4) for name, share in middle.units.items() if isfinite(share)},
        attained=round(middle.attained, 4) if isfinite(middle.attained) else None,
        verdict=middle.verdict,
        advice=_advice(middle),
        metrics=dict(sorted(_metrics(group).items())),
    )


def _advice(launch: LaunchDiagnosis) -> Advice | None:
    if not launch.findings:
        return None
    first = launch.findings[0]
    gain = first.predicted_speedup
    predicted = {"low": round(gain.low, 3), "best": round(gain.best, 3), "high": round(gain.high, 3)}
    return Advice(rule=first.rule.code, optimization=first.optimization, **predicted)


def _metrics(group: LaunchGroup) -> dict[str, Metric]:
    """The textbook metrics that repeat well enough to be compared."""
    found: dict[str, Metric] = {}
    for name, metric in {name: each for launch in group.launches for name, each in launch.metrics.items()}.items():
        kind = class_of_expression(metric.source)
        values = [value for value in group.values(name) if isfinite(value)]
        if kind > MetricClass.NEAR or not values or name not in definitions() or definitions()[name].kind != "metric":
            continue
        varies = max(values) > min(values)
        found[name] = Metric(
            median=median_or_nan(values),
            unit=metric.unit,
            exact=kind is MetricClass.EXACT,
            low=min(values) if varies else None,
            high=max(values) if varies else None,
        )
    return found


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        BaselineMissing: There is no such file.
        BaselineError: It cannot be used.
    """
    found = read_json(path, Baseline, BaselineError, _SAVE_AGAIN)
    if found is None:
        raise BaselineMissing(
            f"there is no baseline {path}",
            hint=did_you_mean_file(
                path, "--save-baseline FILE writes one; --allow-missing-baseline continues without."
            ),
        )
    return found


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline atomically.

    Raises:
        BaselineError: It cannot be written.
    """
    content = baseline.model_dump(mode="json", by_alias=True, exclude_none=True)
    for kernel in content["kernels"]:  # the schema requires these keys, also where they are null
        kernel.setdefault("duration_ns", None)
        kernel.setdefault("attained", None)
        kernel.setdefault("advice", None)
    write_json(path, _by_line(content) + "\n", BaselineError)


def _by_line(content: Mapping[str, Any]) -> str:
    """JSON with one line per metric, so that a review shows each changed metric as one line."""

    def one_line(value: Any) -> str:
        return json.dumps(value, allow_nan=False)  # ASCII, because names may hold control and bidirectional characters

    kernels = []
    for kernel in content["kernels"]:
        metrics = ",\n".join(f"    {one_line(name)}: {one_line(each)}" for name, each in kernel["metrics"].items())
        rest = [f"   {one_line(key)}: {one_line(value)}" for key, value in kernel.items() if key != "metrics"]
        kernels.append("  {\n" + ",\n".join([*rest, '   "metrics": {\n' + metrics + "\n   }"]) + "\n  }")
    head = [f" {one_line(key)}: {one_line(value)}" for key, value in content.items() if key != "kernels"]
    return "{\n" + ",\n".join([*head, ' "kernels": [\n' + ",\n".join(kernels) + "\n ]"]) + "\n}"
