"""A snapshot of diagnoses: one text line for each recorded launch, so that a commit shows in its diff what it changed.

    python -m tests.snapshot groups OLD NEW

groups the differences between two snapshots by cause. A snapshot starts with the codes of the rules, in order; each
line then holds, separated by `` | ``:

- report, position and kernel of the launch;
- verdict and bottleneck;
- the advice, best first, and the predicted speedups to three digits;
- one letter per rule, in the order of the codes: ``A`` advice, ``r`` rejected finding, ``.`` passed, ``-`` not
  applicable, ``s`` skipped, ``B`` broken;
- a hash of what the letters leave out: rejected predictions, bounds, the bottleneck afterwards, lines, sequences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncuview.records.diagnosis import Broken, Diagnosis, Finding, LaunchDiagnosis, NotApplicable, Outcome, Passed

_SEPARATOR = " | "
_HEAD = "rules"
NO_ADVICE = "none"
_LETTERS = {Passed: ".", NotApplicable: "-", Broken: "B"}


@dataclass(frozen=True)
class Line:
    """What a snapshot says of one launch."""

    launch: str
    verdict: str
    bottleneck: str
    advice: str
    outcomes: str
    """A letter per rule."""
    rest: str
    """A hash of everything else that a diagnosis decides."""

    def __str__(self) -> str:
        return _SEPARATOR.join((self.launch, self.verdict, self.bottleneck, self.advice, self.outcomes, self.rest))


@dataclass(frozen=True)
class Snapshot:
    """The codes of the rules, and one line per launch."""

    codes: tuple[str, ...]
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join([_SEPARATOR.join([_HEAD, " ".join(self.codes)]), *map(str, self.lines), ""])


def snapshot_of(diagnoses: Iterable[tuple[str, Diagnosis]], codes: Sequence[str]) -> Snapshot:
    """The snapshot of these diagnoses.

    Args:
        diagnoses: The name of a report, and what was said of its launches.
        codes: The codes of the rules that judged them.
    """
    ordered = tuple(sorted(codes))
    lines = [_line(name, launch, ordered) for name, diagnosis in diagnoses for launch in diagnosis.launches]
    return Snapshot(ordered, tuple(lines))


def parsed(text: str) -> Snapshot:
    """A snapshot from its text.

    Raises:
        ValueError: It is none.
    """
    head, *lines = text.splitlines()
    name, codes = head.split(_SEPARATOR)
    if name != _HEAD:
        raise ValueError(f"a snapshot starts with {_HEAD!r}, not {name!r}")
    read = (Line(*line.split(_SEPARATOR)) for line in lines)
    return Snapshot(tuple(codes.split()), tuple(read))


def _line(report: str, launch: LaunchDiagnosis, codes: Sequence[str]) -> Line:
    by_code = {outcome.rule.code: outcome for outcome in launch.outcomes}
    advice = (f"{each.rule.code} {each.predicted_speedup.best:.3g}" for each in launch.findings)
    letters = "".join(_letter(by_code[code]) for code in codes)
    decided = [_decided(by_code[code]) for code in codes]
    if launch.sequence:
        decided.append(tuple(f"{step.rule.code} {step.gain:.3g}" for step in launch.sequence.steps))
    rest = hashlib.sha256(repr(decided).encode()).hexdigest()[:8]
    name = f"{report} {launch.index} {launch.kernel}"
    return Line(name, launch.verdict, launch.bottleneck, ", ".join(advice) or NO_ADVICE, letters, rest)


def _letter(outcome: Outcome) -> str:
    if isinstance(outcome, Finding):
        return "r" if outcome.rejected else "A"
    return _LETTERS.get(type(outcome), "s")


def _decided(outcome: Outcome) -> tuple[str, ...]:
    """What an outcome decides besides its kind, without its texts."""
    if not isinstance(outcome, Finding):
        return ()
    gain = outcome.predicted_speedup
    numbers = (f"{each:.3g}" for each in (gain.low, gain.best, gain.high))
    lines = (f"{each.file}:{each.line} {each.share:.2f}" for each in outcome.where)
    addresses = (f"{each.address} {each.share:.2f}" for each in outcome.instructions)
    return (*numbers, outcome.bottleneck_after, *lines, *addresses)
