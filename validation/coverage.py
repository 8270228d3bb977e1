"""Write validation/coverage.md: the outcome of each rule on each kernel of the catalogue, from the recorded profiles.

python -m validation.coverage validation/coverage.md
"""

from __future__ import annotations

from pathlib import Path

import typer

from ncuview.api import ladder, load_rules
from ncuview.catalogue.kernels import all_kernels
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Outcome, Passed, Skipped

_HEAD = """# Rules and kernels

Made by `python -m validation.coverage validation/coverage.md` from the recorded profiles. A number is the predicted
speedup of a finding; in brackets where the finding is not advised, because another unit is the bottleneck or the
speedup is below 1.10. `.`: passed. Empty: the rule does not apply to the kernel. `?`: skipped, because metrics are
missing. `!`: the rule failed.
"""


def main(target: Path) -> None:
    """Write the document: a table per family, and below them the kernels that each rule advises."""
    families = sorted({kernel.text.family for kernel in all_kernels()})
    steps = {family: ladder(family, live=False).steps for family in families}
    launches = {family: {step.kernel: step.diagnosis for step in steps[family]} for family in families}
    tables = [_table(family, of_family) for family, of_family in launches.items()]
    everything = {kernel: launch for of_family in launches.values() for kernel, launch in of_family.items()}
    parts = [_HEAD, *tables, _by_rule(everything)]
    target.write_text("\n".join(parts), encoding="utf-8")


def _table(family: str, launches: dict[str, LaunchDiagnosis]) -> str:
    codes = [outcome.rule.code for outcome in next(iter(launches.values())).outcomes]
    said = {
        code: [
            _cell(outcome) for launch in launches.values() for outcome in launch.outcomes if outcome.rule.code == code
        ]
        for code in codes
    }
    subjects = {code: cells for code, cells in said.items() if any(cells)}
    lines = [f"## {family}", "", "| kernel | " + " | ".join(subjects) + " |", "| --- |" + " ---: |" * len(subjects)]
    for row, kernel in enumerate(launches):
        lines.append(f"| {kernel} | " + " | ".join(cells[row] for cells in subjects.values()) + " |")
    return "\n".join([*lines, ""])


def _cell(outcome: Outcome) -> str:
    match outcome:
        case Finding(rejected=rejected):
            gain = f"{outcome.predicted_speedup.best:.2f}"
            return f"({gain})" if rejected else f"**{gain}**"
        case Passed():
            return "."
        case NotApplicable():
            return ""
        case Skipped():
            return "?"
        case Broken():
            return "!"


def _by_rule(launches: dict[str, LaunchDiagnosis]) -> str:
    lines = ["## Rules", "", "| rule | optimization | advises | finds, without advice |", "| --- | --- | --- | --- |"]
    for rule in load_rules():
        found = {
            kernel: outcome
            for kernel, launch in launches.items()
            for outcome in launch.outcomes
            if outcome.rule.code == rule.text.code and isinstance(outcome, Finding)
        }
        advised = ", ".join(kernel for kernel, outcome in found.items() if not outcome.rejected)
        others = ", ".join(kernel for kernel, outcome in found.items() if outcome.rejected)
        lines.append(f"| {rule.text.code} {rule.text.name} | {rule.text.optimization} | {advised} | {others} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    typer.run(main)
