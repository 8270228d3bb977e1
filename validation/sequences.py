"""Compare the sequences of diagnoses with the steps that labelled programs make.

    python -m validation.sequences validation/sequences.md

A label names the launch that makes its change; where that launch has a label too, two measured steps follow each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ncuview.records.diagnosis import LaunchDiagnosis, StepSequence
from validation.cases import ADVICE, diagnosed
from validation.labelled import REPORTS, labels_of, sources

_HEAD = """\
# Sequences of two changes

Made by `python -m validation.sequences` from the labelled launches on an NVIDIA H200 whose diagnosis has a sequence.
*Labelled* steps are those that the program makes one after the other and that gained 1.10x or more.

"""


@dataclass(frozen=True)
class Labelled:
    """One step that a program makes: the words that name it, and what it gained."""

    words: tuple[str, ...]
    gain: float


@dataclass(frozen=True)
class Case:
    """A launch with a sequence, and the measured steps from it on."""

    kernel: str
    sequence: StepSequence
    labelled: tuple[Labelled, ...]

    @property
    def more_threads_first(self) -> bool:
        """Whether the sequence is more threads, then less traffic, rather than a change that the first one opens."""
        return self.sequence.steps[0].rule.code == "GRID001" and self.sequence.steps[1].rule.code.startswith("GMEM")

    @property
    def first_is_right(self) -> bool:
        """Whether the first measured step is in the sequence's first."""
        return bool(self.labelled) and self.sequence.steps[0].optimization in self.labelled[0].words

    @property
    def second_is_right(self) -> bool:
        """Whether the second measured step is the sequence's second."""
        return len(self.labelled) > 1 and self.sequence.steps[1].optimization in self.labelled[1].words


def main(document: Path) -> None:
    """Write the document."""
    cases = [case for program in sorted(sources()) for case in _of_program(program)]
    text = _HEAD + "\n".join([*_opened(cases), "", *_more_threads(cases)]) + "\n"
    document.write_text(text, encoding="utf-8")
    print(text)


def _of_program(program: str) -> Iterator[Case]:
    launches = diagnosed(REPORTS / f"{program}.ncu-repz").launches
    labels = {label["kernel"]: label for label in labels_of(program)}
    by_kernel = {launch.kernel: launch for launch in launches}
    for launch in launches:
        if launch.sequence:
            yield Case(launch.kernel, launch.sequence, tuple(_steps(launch.kernel, labels, by_kernel)))


def _steps(kernel: str, labels: dict[str, dict[str, Any]], launches: dict[str, LaunchDiagnosis]) -> Iterator[Labelled]:
    """The measured steps from a launch on, as far as each gained something."""
    seen = {kernel}
    while after := labels[kernel].get("right") and labels[kernel].get("after"):
        gain = launches[kernel].duration_ns / launches[after].duration_ns
        if gain < ADVICE or after in seen:
            return
        yield Labelled((labels[kernel]["right"], *labels[kernel].get("accepted", [])), gain)
        seen.add(kernel := after)


def _opened(cases: Iterable[Case]) -> Iterator[str]:
    found = [case for case in cases if not case.more_threads_first]
    followed = [case for case in found if case.first_is_right and len(case.labelled) > 1]
    right = [case for case in followed if case.second_is_right]
    yield "## A change that the first one opens\n"
    yield (
        f"{len(found)} launches; in {sum(case.first_is_right for case in found)} the first step is the labelled one. In"
        f" {len(followed)} of these another labelled step follows: the sequence's second step in {len(right)}."
    )
    if right:
        yield f"The median factor between its predicted and its measured gain is {_factor(right):.2f}."
    yield "\n| launch | first | predicted | then | predicted | alone | labelled |\n|---|---|---:|---|---:|---:|---|"
    for case in found:
        yield _row(case)


def _more_threads(cases: Iterable[Case]) -> Iterator[str]:
    found = [case for case in cases if case.more_threads_first]
    yield "## More threads, then less traffic\n"
    yield (
        f"{len(found)} launches, most of them with a row for each thread. Labelled steps often make both changes at"
        " once (a warp for each row); their gain is to be compared with the product of both. *Alone* is what less"
        " traffic gains with the threads as they are."
    )
    yield "\n| launch | first | predicted | then | predicted | alone | labelled |\n|---|---|---:|---|---:|---:|---|"
    for case in found:
        yield _row(case)


def _row(case: Case) -> str:
    first, second = case.sequence.steps
    labelled = ", ".join(f"{step.words[0]} {step.gain:.2f}" for step in case.labelled[:3]) or "none"
    return (
        f"| {case.kernel} | {first.rule.code} {first.optimization} | {first.gain:.2f} "
        f"| {second.rule.code} {second.optimization} | {second.gain:.2f} | {case.sequence.alone:.2f} | {labelled} |"
    )


def _factor(cases: Sequence[Case]) -> float:
    """The median factor between the predicted and the measured gain of the second step, at least 1."""
    off = (case.sequence.steps[1].gain / case.labelled[1].gain for case in cases)
    return statistics.median(max(each, 1 / each) for each in off)


if __name__ == "__main__":
    typer.run(main)
