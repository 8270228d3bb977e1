"""Cases: what an author, the measurement, ncuview and Nsight Compute's rules say of each labelled launch."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ncuview.api import ladder, load_rules
from ncuview.catalogue.kernels import Launch, all_kernels, find_kernel
from ncuview.engine.rank import diagnose
from ncuview.pipeline.examine import require_complete
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis
from ncuview.records.ladder import Ladder
from validation.labelled import labels_of
from validation.variants import variant_launches

ADVICE = 1.10
"""What is predicted to gain less than this is no advice."""
NOTHING = 1.05
"""A change that gains less than this is a negative example: to advise it is wrong."""
AT_ITS_PEAK = 0.72
"""A finished kernel counts as near its peak if it uses a unit to this share of the unit's peak."""

Judged = Callable[[Path], Diagnosis]
"""What the shipped rules say of a report."""
Estimate = dict[str, Any] | None
"""What Nsight Compute's rules say of a launch; None where it was not profiled with them."""


@dataclass(frozen=True)
class Advice:
    """One piece of advice of any adviser; ``given`` unless it was rejected with a reason."""

    optimization: str
    gain: float
    low: float = 0.0
    high: float = 0.0
    given: bool = True


@dataclass(frozen=True)
class Case:
    """A labelled launch with what was measured and what was advised.

    Attributes:
        family: The program or family that it belongs to.
        right: Words that are right advice, the label's own first; empty for a finished kernel or a negative example.
        gain: What applying the label's word brought; 1.0 for a finished kernel.
        negative_example: The word that brings nothing here.
        ours: All findings, the advice first, then what was rejected.
        vendor: What Nsight Compute's rules estimate, the largest first; None where they were not asked.
    """

    kernel: str
    family: str
    right: tuple[str, ...]
    gain: float
    negative_example: str
    near_peak: bool
    ours: tuple[Advice, ...]
    vendor: tuple[Advice, ...] | None


def diagnosed(report: Path) -> Diagnosis:
    """What the shipped rules say of a report, all of which must have been read."""
    return diagnose(require_complete(read([report])), load_rules(), "report")


def recorded(family: str) -> Ladder:
    """A family's ladder, from its recorded profile."""
    return ladder(family, live=False)


def of_programs(reports: Path, programs: Collection[str], judged: Judged = diagnosed) -> list[Case]:
    """The launches of these programs."""
    return [case for program in sorted(programs) for case in _of_program(reports, program, judged)]


def _of_program(reports: Path, program: str, judged: Judged) -> Iterator[Case]:
    labels = labels_of(program)
    vendor = reports / f"{program}.vendor.json"
    unknown: Sequence[Estimate] = [None] * len(labels)
    estimates = json.loads(vendor.read_text(encoding="utf-8")) if vendor.exists() else unknown
    launches = judged(reports / f"{program}.ncu-repz").launches
    names = [label["kernel"] for label in labels]
    if [launch.kernel for launch in launches] != names:
        raise SystemExit(f"{program}: labels are of {names}, launches of {[launch.kernel for launch in launches]}")
    by_name = dict(zip(names, launches, strict=True))
    for label, launch, estimate in zip(labels, launches, estimates, strict=True):
        word = label.get("right") or label.get("negative_example") or ""
        after = label.get("after") if label.get("right") else label.get("negative_after") or label.get("after")
        gain = launch.duration_ns / by_name[after].duration_ns if after else 1.0
        # The measurement decides: a labelled step that brings nothing is a negative example, and the reverse.
        step = word if gain >= ADVICE else ""
        yield Case(
            kernel=launch.kernel,
            family=program,
            right=(step, *label.get("accepted", [])) if step else (),
            gain=gain if step else 1.0,
            negative_example=word if word and gain < NOTHING else "",
            near_peak=bool(label.get("near_peak")) and not step and max(launch.units.values()) >= AT_ITS_PEAK,
            ours=_advice(launch),
            vendor=_vendor_advice(estimate["rules"]) if estimate else None,
        )


def of_catalogue(climbed: Callable[[str], Ladder] = recorded) -> list[Case]:
    """The launches of the catalogue's ladders, on which the rules were written."""
    families = sorted({kernel.text.family for kernel in all_kernels()} - {"calibration"})
    return [case for family in families for case in _of_ladder(climbed(family))]


def _of_ladder(climbed: Ladder) -> Iterator[Case]:
    for step in climbed.steps:
        expect = find_kernel(step.kernel).text.expect
        gain = step.measured_speedup or 1.0
        right = expect.first if expect.first and gain >= ADVICE else ""
        yield Case(
            kernel=step.kernel,
            family=climbed.family,
            right=(right,) if right else (),
            gain=gain if right else 1.0,
            negative_example=next(
                (textbook.applies for textbook in step.textbook_steps if textbook.measured_speedup < NOTHING), ""
            ),
            near_peak=expect.verdict == "near-peak" and max(step.diagnosis.units.values()) >= AT_ITS_PEAK,
            ours=_advice(step.diagnosis),
            vendor=None,
        )


def of_variants(reports: Path, judged: Judged = diagnosed) -> list[Case]:
    """The catalogue's ladders at other sizes and with other element types; right is what it is in the original."""
    return [case for report in sorted(reports.glob("*-*.ncu-repz")) for case in _of_variant(report, judged)]


def _of_variant(report: Path, judged: Judged) -> Iterator[Case]:
    variant, family = report.name.removesuffix(".ncu-repz").split("-")
    with tempfile.TemporaryDirectory() as folder:
        launches = variant_launches(variant, family, Path(folder))
    diagnoses = judged(report).launches
    in_report = {each.kernel for each in diagnoses}  # the catalogue has grown since
    launches = [launch for launch in launches if launch.kernel.function in in_report]
    pairs = list(zip(launches, diagnoses, strict=True))
    for launch, found in pairs:
        if launch.sizes != launch.kernel.text.sizes:
            continue  # only there for the step below
        of_better = [pair for pair in pairs if pair[0].kernel.name == launch.kernel.text.better]
        at_its_own = of_better[0] if of_better else (launch, found)
        better = next((pair for pair in of_better if pair[0].sizes == launch.sizes), at_its_own)
        gain = _rate(*better) / _rate(launch, found)
        expect = launch.kernel.text.expect
        right = expect.first if expect.first and gain >= ADVICE else ""
        yield Case(
            kernel=f"{launch.kernel.name} ({variant})",
            family=family,
            right=(right,) if right else (),
            gain=gain if right else 1.0,
            negative_example="",
            near_peak=expect.verdict == "near-peak" and max(found.units.values()) >= AT_ITS_PEAK,
            ours=_advice(found),
            vendor=None,
        )


def _rate(launch: Launch, found: LaunchDiagnosis) -> float:
    return (launch.useful_flops or launch.useful_bytes) / found.duration_ns


def _advice(launch: LaunchDiagnosis) -> tuple[Advice, ...]:
    findings = [outcome for outcome in launch.outcomes if isinstance(outcome, Finding)]
    ordered = [*launch.findings, *(each for each in findings if each.rejected)]
    gains = [each.predicted_speedup for each in ordered]
    return tuple(
        Advice(each.optimization, gain.best, gain.low, gain.high, given=not each.rejected)
        for each, gain in zip(ordered, gains, strict=True)
    )


def _vendor_advice(rules: list[dict[str, Any]]) -> tuple[Advice, ...]:
    """Nsight's estimates as gains: a share e of the run time that would be saved is a gain of 1 / (1 - e)."""
    found = [(each["rule"], 1 / (1 - min(0.99, each["speedup"] / 100))) for each in rules]
    return tuple(Advice(rule, gain) for rule, gain in sorted(found, key=lambda pair: -pair[1]))
