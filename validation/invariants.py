"""What the invariants of the diagnosis hold back, bound or put under a condition, and whether the labels agree.

    python -m validation.invariants validation/invariants.md

The invariants themselves are tests over all recorded launches (tests/invariants.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis
from validation.cases import ADVICE, NOTHING, diagnosed
from validation.labelled import REPORTS, labels_of, sources

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


def _judged(diagnose: Callable[[Path], Diagnosis] = diagnosed) -> Iterator[tuple[str, str]]:
    """For each finding that an invariant concerns what happens to it, and what the label says."""
    for program in sources():
        launches = diagnose(REPORTS / f"{program}.ncu-repz").launches
        times = {launch.kernel: launch.duration_ns for launch in launches}
        for label, launch in zip(labels_of(program), launches, strict=True):
            for what, finding in _concerned(launch):
                yield what, _label(label, finding, times)


def _concerned(launch: LaunchDiagnosis) -> Iterator[tuple[str, Finding]]:
    for finding in launch.other_cures:
        yield f"another cure of the same cause: {finding.rule.code}", finding
    for place, finding in enumerate(launch.findings):
        if finding.open_condition:
            yield f"under a condition, {'first' if not place else 'later'}: {finding.rule.code}", finding


def _label(label: dict[str, Any], finding: Finding, times: dict[str, float]) -> str:
    gain = times[label["kernel"]] / times[label["after"]] if label.get("after") else 1.0
    word = label.get("right") or label.get("negative_example")
    if word and gain >= ADVICE:
        return "right" if finding.optimization in {word, *label.get("accepted", [])} else "another change is right"
    if word == finding.optimization and gain < NOTHING:
        return "negative example"
    return "finished" if label.get("near_peak") else "not labelled"


if __name__ == "__main__":
    typer.run(main)
