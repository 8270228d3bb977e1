"""What the labelled steps did to each unit, beside what the rule that advises them says.

    python -m validation.step_effects validation/h200 validation/step-effects.md

A rule predicts what its change leaves of each unit's demand and of the latency. The page shows what other authors'
changes left of them: a unit's share of peak times the duration, after the step divided by before. Rules whose numbers
rest on this say so.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from ncuview.api import load_rules
from ncuview.engine.evaluate import judge
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.units import BLOCKS, UNITS
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Finding
from ncuview.speedup.effects import by_unit
from ncuview.speedup.model import Load, load_of
from validation.cases import ADVICE
from validation.labelled import labels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUSY = 0.10
"""Units that are used less than this before the step are left out."""
FEWEST = 5
"""Steps from which on a rule, or a unit, has a row."""
LATENCY = "latency"

_HEAD = """# What steps did to the units

Made by `python -m validation.step_effects validation/h200 validation/step-effects.md` from the labelled programs'
steps that brought 1.10x or more and that a rule advised, on an NVIDIA H200. *Left* is a unit's use times the duration
after the step, divided by the same before it: quartiles over the steps, for units that were used to a tenth or more.
*The rule* is the median of what the rule's effects predict for it on the same launches. A step often changes more than
the advice says, or removes only a part of the problem, so a rule is not fitted to each row. A rule that rests on a
row says so.
"""


@dataclass(frozen=True)
class Effect:
    """What one step left of one unit's demand, and what the rule that advised it says."""

    rule: str
    unit: str
    left: float
    said: float


def main(reports: Path, target: Path) -> None:
    """Write the document."""
    rules = {rule.text.code: rule for rule in load_rules()}
    found = [effect for report in sorted(reports.glob("p*.ncu-repz")) for effect in _effects(report, rules)]
    by_rule: dict[str, list[Effect]] = defaultdict(list)
    for effect in found:
        by_rule[effect.rule].append(effect)
    steps = {code: sum(each.unit == LATENCY for each in effects) for code, effects in by_rule.items()}
    parts = [
        _table(rules[code], by_rule[code], steps[code])
        for code in sorted(by_rule, key=lambda code: (-steps[code], code))
        if steps[code] >= FEWEST
    ]
    target.write_text("\n".join([_HEAD, *parts]), encoding="utf-8")


def _effects(report: Path, rules: Mapping[str, Rule]) -> Iterator[Effect]:
    analysis = Analysis(read([report]))
    launches = diagnose(analysis.profile, list(rules.values()), "report").launches
    place = {launch.kernel: at for at, launch in enumerate(launches)}
    load = load_of(analysis)
    for label in labels_of(report.name.removesuffix(".ncu-repz")):
        before, after = place[label["kernel"]], place.get(label.get("after", ""), -1)
        if after < 0 or "right" not in label:
            continue
        took = launches[after].duration_ns / launches[before].duration_ns
        advice = _advice(launches[before].findings, label)
        if advice and took <= 1 / ADVICE:
            yield from _of_a_step(rules[advice], analysis, load, before, after, took)


def _advice(findings: Sequence[Finding], label: Mapping[str, Any]) -> str:
    """The rule whose advice is right; empty if there is none."""
    right = (label["right"], *label.get("accepted", []))
    return next((finding.rule.code for finding in findings if finding.optimization in right), "")


def _of_a_step(rule: Rule, analysis: Analysis, load: Load, before: int, after: int, took: float) -> Iterator[Effect]:
    values = judge(rule, analysis).values
    said: dict[str, float] = defaultdict(lambda: 1.0)
    for unit, expression in by_unit(rule.effects).items():
        said[unit] = _at(before, expression.evaluate(values))
    for unit, use in load.use.items():
        if use[before] >= BUSY and np.isfinite(use[after]):
            yield Effect(rule.text.code, unit, float(use[after] * took / use[before]), said[unit])
    latency = load.latency()
    left = latency[after] * took / max(latency[before], BUSY)
    yield Effect(rule.text.code, LATENCY, float(left), 1 - _at(before, rule.latency_hidden.evaluate(values)))


def _at(launch: int, value: float | NDArray[np.float64]) -> float:
    column = np.atleast_1d(value)
    return float(column[launch if len(column) > 1 else 0])


def _table(rule: Rule, effects: Sequence[Effect], steps: int) -> str:
    rows = [
        f"## {rule.text.code} {rule.text.name}: {steps} steps",
        "",
        "| unit | steps | left | the rule |",
        "| --- | ---: | --- | ---: |",
    ]
    for unit in (*UNITS, BLOCKS, LATENCY):
        left = [effect.left for effect in effects if effect.unit == unit]
        if len(left) >= FEWEST:
            low, middle, high = statistics.quantiles(left, n=4, method="inclusive")
            said = statistics.median(effect.said for effect in effects if effect.unit == unit)
            rows.append(f"| {unit} | {len(left)} | {low:.2f} **{middle:.2f}** {high:.2f} | {said:.2f} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    typer.run(main)
