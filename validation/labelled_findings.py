"""What the rules find on every labelled launch, beside its label: kept in one file, so that fitting takes seconds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ncuview.records.diagnosis import Diagnosis, Effect, Finding, LaunchDiagnosis
from ncuview.speedup.effects import LATENCY_HIDDEN
from validation.cases import Case, diagnosed, of_programs
from validation.labelled import REPORTS, labels_of, sets, sources

LATEST = sets()[-1].programs
"""The programs that no rule was written with in view."""
FOLDS = 10


@dataclass(frozen=True)
class Found:
    """A finding, as far as it can matter for its place.

    Attributes:
        relieves: The share of the bottleneck's work, or of the latency where that is the bottleneck, that goes away.
        located: Whether source lines or instructions are named.
    """

    rule: str
    optimization: str
    low: float
    best: float
    high: float
    rejected: str
    draft: bool
    relieves: float
    located: bool


@dataclass(frozen=True)
class Launch:
    """A labelled launch and its findings, the advice first.

    Attributes:
        right: Words that are right advice, the label's own first; empty without a step that pays.
        gain: What the label's step brought; 1.0 without one that pays.
        step: The label's own word, whether it pays or not; empty where no launch makes the change.
        measured: What that change brought.
        finished: Whether the launch is near its peak, as its author says and as measured.
        negative_example: The word that brings nothing here.
        later: The own words of later steps of its chain, as far as these pay.
    """

    kernel: str
    program: str
    right: tuple[str, ...]
    gain: float
    step: str
    measured: float
    finished: bool
    negative_example: str
    later: tuple[str, ...]
    findings: tuple[Found, ...]

    @property
    def advice(self) -> tuple[Found, ...]:
        """What is not rejected, in today's order."""
        return tuple(each for each in self.findings if not each.rejected)


def kept(file: Path) -> list[Launch]:
    """The labelled launches of a JSON file, which is written first where it is missing."""
    if not file.exists():
        collected = [launch for program in sorted(sources()) for launch in of_program(program)]
        file.write_text(json.dumps([asdict(launch) for launch in collected]), encoding="utf-8")
    return [_launch(each) for each in json.loads(file.read_text(encoding="utf-8"))]


def pairs(launches: Iterable[Launch]) -> list[Launch]:
    """The launches with a labelled step that pays."""
    return [launch for launch in launches if launch.right]


def in_view_and_latest(launches: Sequence[Launch]) -> tuple[list[Launch], list[Launch]]:
    """The launches of programs that the rules were corrected on, and those of the latest set."""
    in_view = [launch for launch in launches if launch.program not in LATEST]
    return in_view, [launch for launch in launches if launch.program in LATEST]


def folds(launches: Sequence[Launch], seed: int) -> Iterator[tuple[list[Launch], list[Launch]]]:
    """Launches to fit on and launches to judge, of different programs."""
    programs = sorted({launch.program for launch in launches})
    shuffled = np.random.default_rng(seed).permutation(len(programs))
    fold_of = {programs[program]: place % FOLDS for place, program in enumerate(shuffled)}
    for fold in range(FOLDS):
        yield (
            [launch for launch in launches if fold_of[launch.program] != fold],
            [launch for launch in launches if fold_of[launch.program] == fold],
        )


def of_program(program: str) -> Iterator[Launch]:
    """The labelled launches of a program that was recorded on the H200, with what the rules find on them."""
    diagnoses: list[Diagnosis] = []

    def judged(report: Path) -> Diagnosis:
        diagnoses.append(diagnosed(report))
        return diagnoses[0]

    cases = {case.kernel: case for case in of_programs(REPORTS, [program], judged)}
    found = {launch.kernel: launch for launch in diagnoses[0].launches}
    labels = {label["kernel"]: label for label in labels_of(program)}
    for kernel, case in cases.items():
        label = labels[kernel]
        after = label.get("after") or label.get("negative_after")
        yield Launch(
            kernel=kernel,
            program=program,
            right=case.right,
            gain=case.gain,
            step=(label.get("right") or label.get("negative_example", "")) if after else "",
            measured=found[kernel].duration_ns / found[after].duration_ns if after else 1.0,
            finished=case.near_peak,
            negative_example=case.negative_example,
            later=_later_steps(kernel, labels, cases),
            findings=tuple(_findings(found[kernel])),
        )


def _later_steps(kernel: str, labels: Mapping[str, Mapping[str, Any]], cases: Mapping[str, Case]) -> tuple[str, ...]:
    """The own words of the steps that follow a launch's first one and pay."""
    words: list[str] = []
    passed = {kernel}
    step = labels[kernel].get("after")
    while step and step not in passed:
        passed.add(step)
        words += cases[step].right[:1]
        step = labels[step].get("after")
    return tuple(words)


def _findings(launch: LaunchDiagnosis) -> Iterator[Found]:
    for each in (outcome for outcome in launch.outcomes if isinstance(outcome, Finding)):
        gain = each.predicted_speedup
        yield Found(
            rule=each.rule.code,
            optimization=each.optimization,
            low=gain.low,
            best=gain.best,
            high=gain.high,
            rejected=each.rejected,
            draft=each.draft,
            relieves=max((_relieves(launch.bottleneck, effect) for effect in each.effects), default=0.0),
            located=bool(each.where or each.instructions),
        )


def _relieves(bottleneck: str, effect: Effect) -> float:
    if effect.name == LATENCY_HIDDEN:
        return effect.value if bottleneck == "latency" else 0.0
    return 1.0 - effect.value if bottleneck in effect.units and not effect.added else 0.0


def _launch(read: Mapping[str, Any]) -> Launch:
    findings = tuple(Found(**each) for each in read["findings"])
    return Launch(**{**read, "right": tuple(read["right"]), "later": tuple(read["later"]), "findings": findings})
