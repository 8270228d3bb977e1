"""What the invariants of the diagnosis hold back, bound or put under a condition, and whether the labels agree.

    python -m validation.invariants validation/invariants.md

The invariants themselves are tests over all recorded launches (tests/invariants.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import typer

from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis
from validation.cases import Case, diagnosed, of_programs
from validation.labelled import REPORTS, sources

_KINDS = ("right", "another change is right", "negative example", "finished", "not labelled")
_HEAD = """\
# Invariants

Made by `python -m validation.invariants` from the labelled launches on an NVIDIA H200. The invariants are tests over
all recorded launches: `tests/engine/test_invariants.py` and `tests/nightly/test_labelled_invariants.py`.

- **One cause, one piece of advice.** Of findings of rules with the same `cause` on the same lines, the one with the
  largest prediction is advice; the others are listed as other cures. The first advice of no launch changes.
- **Independent work.** Advice that needs more of it shows it in the grid (twice as many threads as the GPU holds) or
  in a loop whose iterations are independent, or it states a condition.

*Right* means that the label names or accepts the change and that the change gained 1.10x or more.

| | """


def main(document: Path) -> None:
    """Write the document."""
    counts: dict[str, Counter[str]] = {}
    for name, kind in _judged():
        counts.setdefault(name, Counter())[kind] += 1
    rows = [f"| {name} | {' | '.join(str(found[kind]) for kind in _KINDS)} |" for name, found in sorted(counts.items())]
    text = f"{_HEAD}{' | '.join(_KINDS)} |\n|---|{'---:|' * len(_KINDS)}\n" + "\n".join(rows) + "\n"
    document.write_text(text, encoding="utf-8")
    print(text)


def _judged() -> Iterator[tuple[str, str]]:
    """For each finding that an invariant concerns what happens to it, and what the label says."""
    found: list[LaunchDiagnosis] = []

    def kept(report: Path) -> Diagnosis:
        diagnosis = diagnosed(report)
        found.extend(diagnosis.launches)
        return diagnosis

    cases = of_programs(REPORTS, sources(), kept)
    for case, launch in zip(cases, found, strict=True):
        for what, finding in _concerned(launch):
            yield what, _label(case, finding)


def _concerned(launch: LaunchDiagnosis) -> Iterator[tuple[str, Finding]]:
    for finding in launch.other_cures:
        yield f"another cure of the same cause: {finding.rule.code}", finding
    for place, finding in enumerate(launch.findings):
        if finding.open_condition:
            yield f"under a condition, {'first' if not place else 'later'}: {finding.rule.code}", finding


def _label(case: Case, finding: Finding) -> str:
    if case.right:
        return "right" if finding.optimization in case.right else "another change is right"
    if case.negative_example == finding.optimization:
        return "negative example"
    return "finished" if case.near_peak else "not labelled"


if __name__ == "__main__":
    typer.run(main)
