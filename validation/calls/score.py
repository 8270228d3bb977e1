"""Score the changes that are advised for programs against their authors' labels and the measured gains.

    python -m validation.calls.score validation/calls/h200          prints scores.md, and writes it

The folder holds what record.py packed, as ``*.json.xz``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import typer

from validation.advisers import MISSED_BY, off
from validation.calls.cases import Advice, Case, Where, case_of, mean_gain
from validation.calls.labels import GROUPS, HERE, labels_of, programs_of, sources
from validation.calls.recorded import Recorded, Step, read
from validation.page import share

PAGE = HERE / "scores.md"
_HEAD = """# Changes advised for programs

`python -m validation.calls.score validation/calls/h200` writes this page from the launches that
`python -m validation.calls.record` recorded, the labels, and times.json.

A *pair* is a variant whose labelled change gained 1.10x or more, as measured without a profiler: of the kernel time,
or of the wall time where the label says so. A *negative example* is a change that gained less than 1.05x. Advice is
*right* if its change is the labelled or an accepted one. It is *at the line* if one of its calls is at a labelled
statement, *near* if one is in the same function, or if one of the two lines calls the other. Without advice the
predicted gain is 1.0x; advice about the time between kernels predicts 1.0x of the kernel time. The measured gain is
that of the labelled change, also where another one is accepted. Intervals are Wilson's, at 95 %.

The trivial predictor always says: fuse at the line that takes most kernel time, for the geometric mean of the gains
measured in view ({guess:.2f}x). Nsight Compute's rules say nothing of calls, so that they cannot be compared. Advice
for programs never asks for an edit of a kernel, whoever wrote it; advice for single kernels is not scored here.

q201 to q226 were held out until 2026-11-26, and scored once before: [held-out.md](held-out.md). The rules have been
repaired with their misses since then.
"""


@dataclass(frozen=True)
class Adviser:
    """Someone whose advice is scored."""

    name: str
    says: Callable[[Case], Sequence[Advice]]

    def right(self, case: Case, among: int) -> bool:
        """Whether a right change is among its first ones."""
        return any(advice.change in case.label.right for advice in self.says(case)[:among])

    def right_at(self, case: Case, where: Where) -> bool:
        """Whether its first change is right, and there."""
        return self.right(case, 1) and self.says(case)[0].where == where

    def factor(self, case: Case) -> float:
        """How far the gain of its first advice is from the measured one, as a factor from 1."""
        return off(next((advice.gain for advice in self.says(case)), 1.0), case.label.measured)

    def in_vain(self, case: Case) -> bool:
        """Whether it advises the change that brings nothing here."""
        return any(advice.change == case.label.negative_example for advice in self.says(case))

    def misses(self, case: Case) -> bool:
        """Whether its first change is not right and near, its gain off by over a quarter, or advice uncalled for."""
        if case.label.right:
            placed = self.right(case, 1) and not self.right_at(case, "elsewhere")
            return not placed or self.factor(case) > MISSED_BY
        return (case.label.finished and bool(self.says(case))) or (
            bool(case.label.negative_example) and self.in_vain(case)
        )


OURS = Adviser("ncuview", lambda case: case.ours)
TRIVIAL = Adviser("trivial predictor", lambda case: case.trivial)


def main(folder: Path) -> None:
    """Write the page and print it."""
    text = page(read(folder))
    PAGE.write_text(text, encoding="utf-8")
    print(text)


def page(recorded: Mapping[Step, Recorded]) -> str:
    """The page of these recordings; a group of programs of which none was recorded has no part."""
    parts = [_HEAD.format(guess=mean_gain())]
    for group in GROUPS:
        steps = [Step(program, name) for program in programs_of(group) for name in labels_of(sources()[program])]
        missing = [step for step in steps if step not in recorded]
        cases = [_case(recorded[step]) for step in steps if step in recorded]
        if cases:
            parts += [_figures(group, cases, len(steps)), *_misses(cases, missing)]
    return "\n".join(parts)


def _case(recorded: Recorded) -> Case:
    source = sources()[recorded.program]
    return case_of(recorded, source, labels_of(source)[recorded.variant])


def figures(adviser: Adviser, cases: Sequence[Case]) -> dict[str, str]:
    """What is counted of an adviser -> the count."""
    pairs = [case for case in cases if case.label.right]
    finished = [case for case in cases if case.label.finished]
    negative = [case for case in cases if case.label.negative_example]
    measured = [case for case in pairs if isfinite(case.label.measured)]
    came_first = [adviser.factor(case) for case in measured if adviser.right(case, 1)]
    every = [adviser.factor(case) for case in measured]
    return {
        "first change right": _share(adviser.right(case, 1) for case in pairs),
        "first change right, at the line": _share(adviser.right_at(case, "line") for case in pairs),
        "first change right, near the line": _share(adviser.right_at(case, "near") for case in pairs),
        "first change right, elsewhere": _share(adviser.right_at(case, "elsewhere") for case in pairs),
        "right among the first three": _share(adviser.right(case, 3) for case in pairs),
        "right first: gain off by, median": _middle(came_first, statistics.median),
        "right first: gain off by, geometric mean": _middle(came_first, statistics.geometric_mean),
        "right first: gain within 1.25": _share(factor <= MISSED_BY for factor in came_first),
        "all pairs: gain off by, median": _middle(every, statistics.median),
        "all pairs: gain off by, geometric mean": _middle(every, statistics.geometric_mean),
        "all pairs: gain within 1.25": _share(factor <= MISSED_BY for factor in every),
        "advice on finished variants": _share(bool(adviser.says(case)) for case in finished),
        "advice on negative examples": _share(adviser.in_vain(case) for case in negative),
    }


def _figures(group: str, cases: Sequence[Case], labelled: int) -> str:
    ours, trivial = figures(OURS, cases), figures(TRIVIAL, cases)
    pairs, finished = sum(bool(case.label.right) for case in cases), sum(case.label.finished for case in cases)
    negative = sum(bool(case.label.negative_example) for case in cases)
    kinds = f"{pairs} pairs, {finished} finished, {negative} negative examples, {sum(map(OURS.misses, cases))} misses"
    first, last = GROUPS[group]
    return "\n".join(
        [
            f"## {group.capitalize()}, {first} to {last}: {len(cases)} of {labelled} labelled variants recorded",
            "",
            f"{kinds}.",
            "",
            f"| | {OURS.name} | {TRIVIAL.name} |",
            "| --- | ---: | ---: |",
            *(f"| {what} | {ours[what]} | {trivial[what]} |" for what in ours),
            "",
        ]
    )


def _share(hits: Iterator[bool]) -> str:
    each = list(hits)
    return share([sum(each), len(each)])


def _middle(factors: Sequence[float], of: Callable[[Sequence[float]], float]) -> str:
    return f"{of(factors):.2f} of {len(factors)}" if factors else "-"


def _misses(cases: Sequence[Case], missing: Sequence[Step]) -> Iterator[str]:
    """The variants where the advice is not right, near and within 1.25, or uncalled for."""
    yield "| program | variant | expected | got | where | measured | off by |"
    yield "| --- | --- | --- | --- | --- | ---: | ---: |"
    for case in filter(OURS.misses, cases):
        advised = ", ".join(f"{advice.change} {advice.gain:.2f}" for advice in case.ours[:3]) or "nothing"
        negative = f", not {case.label.negative_example}" if case.label.negative_example else ""
        expected = "/".join(case.label.right) or f"nothing{negative}"
        where = case.ours[0].where if case.label.right and case.ours else "-"
        known = bool(case.label.right) and isfinite(case.label.measured)
        numbers = [f"{case.label.measured:.2f}", f"{OURS.factor(case):.2f}"] if known else ["-", "-"]
        yield f"| {' | '.join([*case.step, expected, advised, where, *numbers])} |"
    yield ""
    if missing:
        yield f"Not recorded: {', '.join(' '.join(step) for step in missing)}.\n"


if __name__ == "__main__":
    typer.run(main)
