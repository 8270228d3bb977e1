"""How the numbers of rules rest on the recorded launches: which conditions decide, and what other values would change.

    python -m validation.rule_numbers collect VALUES.pickle
    python -m validation.rule_numbers summary VALUES.pickle
    python -m validation.rule_numbers show VALUES.pickle SMEM001 ...

``collect`` computes every quantity of every launch of the catalogue and of the labelled programs once (some minutes).
``show`` judges a rule anew on them (a second): for each condition, the launches that it alone keeps from being a
finding; for each number of the rule, the values between which no outcome changes, what the nearest launches are
labelled, and how the median factor between predicted and measured gain depends on it.
"""

from __future__ import annotations

import ast
import hashlib
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from ncuview.base.expression import compile_expression
from ncuview.base.paths import shipped
from ncuview.engine.evaluate import FINDING, judge_values
from ncuview.engine.outcome import kernel_gains
from ncuview.engine.plan import choose_rules
from ncuview.engine.rule_file import Rule, load_rules
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import QUANTITIES
from ncuview.reader.reader import read
from ncuview.speedup.attainable import figure_columns
from ncuview.speedup.model import Load, load_of
from validation.labelled import HERE, labels_of, sources

Column = NDArray[np.float64]
FACTORS = (0.25, 0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.4, 2.0, 4.0)
OBVIOUS = {0.0, 1.0, 2.0, 32.0, 100.0}
"""Literals that need no source: nothing, all, a pair, a warp or a sector's bytes, a percentage."""
WORTH = 1.10
_SAME = "nothing changes"
app = typer.Typer(help="What the numbers of rules decide on the recorded launches.", add_completion=False)
Codes = Annotated[list[str] | None, typer.Argument(help="Codes of rules, their beginnings, or names. Default: all.")]


@dataclass(frozen=True)
class Launches:
    """All recorded launches, as columns.

    Attributes:
        names: Report and kernel of each.
        gpu: Figure -> its GPU's.
        values: Quantity or metric -> its values.
        load: How each uses its GPU.
        right: Words that are right advice; none where it is not labelled or nothing gains.
        gain: What the labelled word brought; NaN where it is not known.
    """

    names: list[str]
    gpu: Mapping[str, Column]
    values: Mapping[str, Column]
    load: Load
    right: list[tuple[str, ...]]
    gain: Column


@app.command()
def collect(target: Path) -> None:
    """Compute every quantity of every recorded launch, and keep them in a file."""
    parts = list(_parts())
    joined = {name: np.concatenate([part.values[name] for part in parts]) for name in (*NAMES, *QUANTITIES)}
    load = Load(
        {unit: np.concatenate([part.load.use[unit] for part in parts]) for unit in parts[0].load.use},
        {
            bound: {unit: np.concatenate([part.load.attainable[bound][unit] for part in parts]) for unit in shares}
            for bound, shares in parts[0].load.attainable.items()
        },
        np.concatenate([part.load.own_waits for part in parts]),
    )
    gain = np.concatenate([part.gain for part in parts])
    names = [name for part in parts for name in part.names]
    gpu = {name: np.concatenate([part.gpu[name] for part in parts]) for name in parts[0].gpu}
    right = [words for part in parts for words in part.right]
    target.write_bytes(pickle.dumps(Launches(names, gpu, joined, load, right, gain)))


class _Values(dict[str, Column]):
    """The collected values, and those of quantities that are made of them and came later."""

    def __missing__(self, name: str) -> Column:
        quantity = QUANTITIES[name]
        with np.errstate(all="ignore"):
            value = quantity.compute(cast("Analysis", self))
        self[name] = np.where(np.isfinite(value), value, np.nan)
        return self[name]

    def value(self, name: str) -> Column:
        """As of an analysis."""
        return self[name]


def _parts() -> Iterator[Launches]:
    reports = [*sorted(shipped("kernels").glob("*/h200.ncu-repz")), *sorted(HERE.glob("h*00/*.ncu-repz"))]
    for report in reports:
        analysis = Analysis(read([report]))
        launches = analysis.profile.launches
        kernels, times = launches["kernel"].tolist(), launches["duration_ns"].tolist()
        labels: list[dict[str, Any]] = [{} for _ in kernels]
        stem = report.name.removesuffix(".ncu-repz")
        if stem in sources():
            by_kernel = {label["kernel"]: label for label in labels_of(stem)}
            labels = [by_kernel.get(kernel, {}) for kernel in kernels]
        time_of = dict(zip(kernels, times, strict=True))
        gain = [
            time / time_of[label["after"]] if label.get("after") in time_of else np.nan
            for label, time in zip(labels, times, strict=True)
        ]
        right = [
            (label["right"], *label.get("accepted", [])) if "right" in label and not each < WORTH else ()
            for label, each in zip(labels, gain, strict=True)
        ]
        values = {name: analysis.value(name) for name in (*NAMES, *QUANTITIES)}
        names = [f"{report.parent.name}/{stem}/{kernel}" for kernel in kernels]
        yield Launches(names, figure_columns(analysis), values, load_of(analysis), right, np.array(gain))


@dataclass(frozen=True)
class Judged:
    """What a rule says of all launches: which it would advise, and the speedup that it predicts for findings."""

    finding: NDArray[np.bool_]
    advice: NDArray[np.bool_]
    predicted: Column


def judged(rule: Rule, all_of: Launches) -> Judged:
    """Judge every launch by a rule."""
    judgement = judge_values(rule, {name: all_of.values[name] for name in rule.inputs}, all_of.gpu)
    (_, gain, _), _ = kernel_gains(judgement, all_of.load)
    finding = np.array([outcome == FINDING for outcome in judgement.outcomes])
    return Judged(finding, finding & (gain >= WORTH), np.where(finding, gain, np.nan))


def show(rule: Rule, all_of: Launches) -> None:
    """Print what each condition and number of a rule decides."""
    now = judged(rule, all_of)
    print(f"== {rule.text.code} {rule.text.name} [{rule.text.optimization}]: {_said(rule, now, all_of)}")
    for place, text in enumerate(rule.when):
        others = [each for at, each in enumerate(rule.when) if at != place]
        without = judged(_with_conditions(rule, others), all_of)
        print(f"  without `{text}`: {_more(rule, now, without, all_of)}")
    for name in rule.parameters:
        _scan(
            name, rule.parameters[name], lambda value, name=name: _with_parameter(rule, name, value), rule, now, all_of
        )
    for where, literal, position in _literals(rule):
        _scan(
            f"literal {literal:g} in {where}", literal, partial(_with_literal, rule, where, position), rule, now, all_of
        )


def summary(rule: Rule, all_of: Launches) -> str:
    """One line: what a rule finds and advises, and a hash of its findings and of its predictions to two digits."""
    now = judged(rule, all_of)
    findings = hashlib.sha256(now.finding.tobytes()).hexdigest()[:6]
    rounded = " ".join(f"{each:.2g}" for each in now.predicted[now.finding])
    predictions = hashlib.sha256(rounded.encode()).hexdigest()[:6]
    return f"{rule.text.code} {_said(rule, now, all_of)}; findings {findings}, predictions {predictions}"


def _scan(name: str, value: float, changed: Any, rule: Rule, now: Judged, all_of: Launches) -> None:
    print(f"  {name} = {value:g}")
    for factor in FACTORS:
        other = judged(changed(value * factor), all_of)
        both = now.finding & other.finding
        moved = int((np.abs(np.log(other.predicted[both] / now.predicted[both])) > 0.02).sum())
        changes = _more(rule, now, other, all_of)
        line = f"      x{factor:<4} = {value * factor:<8.4g} {changes}"
        if changes != _SAME or moved:
            line += f"; {moved} predictions differ; {_factor(rule, other, all_of)}"
        print(line)


def _said(rule: Rule, found: Judged, all_of: Launches) -> str:
    kinds = _kinds(rule, found.advice, all_of)
    counts = f"{int(found.finding.sum())} findings, {int(found.advice.sum())} above {WORTH}"
    return f"{counts}: {kinds}; {_factor(rule, found, all_of)}"


def _more(rule: Rule, before: Judged, after: Judged, all_of: Launches) -> str:
    gone, come = before.advice & ~after.advice, after.advice & ~before.advice
    parts = []
    if come.any():
        parts.append(f"+{int(come.sum())} advice ({_kinds(rule, come, all_of)}: {_some(come, all_of)})")
    if gone.any():
        parts.append(f"-{int(gone.sum())} advice ({_kinds(rule, gone, all_of)}: {_some(gone, all_of)})")
    return ", ".join(parts) or _SAME


def _kinds(rule: Rule, chosen: NDArray[np.bool_], all_of: Launches) -> str:
    """How many of these launches this advice is right for, by their labels."""
    at = np.flatnonzero(chosen).tolist()
    right = sum(rule.text.optimization in all_of.right[launch] for launch in at)
    other = sum(bool(all_of.right[launch]) and rule.text.optimization not in all_of.right[launch] for launch in at)
    return f"{right} right, {other} where other advice is, {len(at) - right - other} unlabelled or finished"


def _some(chosen: NDArray[np.bool_], all_of: Launches) -> str:
    return " ".join(all_of.names[at].split("/", 1)[1] for at in np.flatnonzero(chosen).tolist()[:4])


def _factor(rule: Rule, found: Judged, all_of: Launches) -> str:
    """The median factor between predicted and measured, over launches whose label is this very advice."""
    at = [
        launch
        for launch in np.flatnonzero(found.finding & np.isfinite(all_of.gain)).tolist()
        if all_of.right[launch][:1] == (rule.text.optimization,)
    ]
    if not at:
        return "no measured step"
    off = np.log(found.predicted[at] / all_of.gain[at])
    bias, factor = np.exp(np.median(off)), np.exp(np.median(np.abs(off)))
    return f"{len(at)} steps, predicted/measured {bias:.2f}, median factor {factor:.3f}"


def _with_conditions(rule: Rule, conditions: Iterable[str]) -> Rule:
    text = " and ".join(f"({each})" for each in conditions) or "1"
    return replace(rule, fires=compile_expression(text, dotted=True))


def _with_parameter(rule: Rule, name: str, value: float) -> Rule:
    table, _, key = name.partition(".")
    field = {"threshold": "thresholds", "prediction": "prediction"}[table]
    parameters = dict(getattr(rule.text, field))
    parameters[key] = parameters[key].model_copy(update={"value": value})
    return replace(rule, text=rule.text.model_copy(update={field: parameters}))


def _expressions(rule: Rule) -> dict[str, str]:
    found = {f"values.{name}": each.text for name, each in rule.let.items()}
    found |= {"applies": rule.applies.text, "when": rule.fires.text}
    found |= {f"effects.{name}": each.text for name, each in rule.effects.items()}
    return found | {"latency_hidden": rule.latency_hidden.text, "time_left": rule.time_left.text}


def literals(text: str) -> list[ast.Constant]:
    """The numbers of an expression that need a source."""
    found = [node for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Constant)]
    return [node for node in found if float(node.value) not in OBVIOUS]  # type: ignore[arg-type]


def _literals(rule: Rule) -> Iterator[tuple[str, float, tuple[int, int]]]:
    for where, text in _expressions(rule).items():
        for node in literals(text):
            yield where, float(node.value), (node.col_offset, node.end_col_offset or 0)  # type: ignore[arg-type]


def _with_literal(rule: Rule, where: str, position: tuple[int, int], value: float) -> Rule:
    text = _expressions(rule)[where].strip()
    new = compile_expression(f"{text[: position[0]]}{value!r}{text[position[1] :]}", dotted=True)
    kind, _, name = where.partition(".")
    if kind == "values":
        return replace(rule, let={**rule.let, name: new})
    if kind == "effects":
        return replace(rule, effects={**rule.effects, name: new})
    changed: dict[str, Any] = {{"applies": "applies", "when": "fires"}.get(where, where): new}
    return replace(rule, **changed)


@app.command("summary")
def print_summary(values: Path, codes: Codes = None) -> None:
    """Print a paragraph for each rule: its findings, and predicted beside measured gains."""
    all_of = _collected(values)
    for rule in choose_rules(load_rules(), codes or ()):
        print(summary(rule, all_of))


@app.command("show")
def print_rules(values: Path, codes: Codes = None) -> None:
    """Print what each condition and each number of the rules decides."""
    all_of = _collected(values)
    for rule in choose_rules(load_rules(), codes or ()):
        show(rule, all_of)


def _collected(file: Path) -> Launches:
    """What ``collect`` wrote."""
    all_of: Launches = pickle.loads(file.read_bytes())
    return replace(all_of, values=_Values(all_of.values))


if __name__ == "__main__":
    app()
