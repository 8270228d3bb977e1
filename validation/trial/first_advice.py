"""How often the first advice of labelled programs is right: of their report, and after the ablations of their trials.

    python3 -m validation.trial.first_advice        # two minutes; needs no GPU

The report is the recorded one of the H200. After the ablations the first advice is that of the first finding that was
not withdrawn, in the order in which the trial came to it. Kernels whose label has no right advice are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from validation.cases import Case, of_programs
from validation.labelled import REPORTS
from validation.page import share
from validation.trial.figures import HERE
from validation.trial.tables import rows_of


def main() -> None:
    """Print both shares, and the kernels whose first advice the ablations changed."""
    targets = {row["target"] for row in rows_of(HERE / "trials.tsv") if "/" in row["target"]}
    cases = of_programs(REPORTS, {target.partition("/")[0] for target in targets})
    labelled = {f"{case.family}/{case.kernel}": case for case in cases if case.right}
    labelled = {target: case for target, case in labelled.items() if target in targets}
    tried = rows_of(HERE / "attempts.tsv")
    first = {
        target: next((each.optimization for each in case.ours if each.given), "") for target, case in labelled.items()
    }
    after = {target: _first_left(target, tried) for target in labelled}
    print(f"report: {_right(first, labelled)}\nafter the ablations: {_right(after, labelled)}")
    for target in sorted(labelled):
        if first[target] != after[target]:
            right = ", ".join(labelled[target].right)
            print(f"{target}: {first[target] or 'none'} -> {after[target] or 'none'}; right: {right}")


def _first_left(target: str, tried: Sequence[Mapping[str, str]]) -> str:
    """The first optimization that a finding of the original asks for and no ablation withdrew; empty without any."""
    asked = (row for row in tried if row["target"] == target and row["step"] == "0" and row["rule"])
    return next((row["optimization"] for row in asked if row["decision"] != "withdrawn"), "")


def _right(advice: Mapping[str, str], labelled: Mapping[str, Case]) -> str:
    return share([sum(advice[target] in case.right for target, case in labelled.items()), len(labelled)])


if __name__ == "__main__":
    typer.run(main)
