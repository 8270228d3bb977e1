"""Evaluate one ``Rule``'s expressions on all launches of an ``Analysis``: one of five outcomes for each launch.

``judge`` and ``judge_values`` return a ``Judgement``: outcomes, computed values, and the conditions not met.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.engine.rule_file import Rule
from ncuview.speedup.attainable import figure_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis

    Column = NDArray[np.float64]

FINDING, PASSED, NOT_APPLICABLE, SKIPPED, BROKEN = "finding", "passed", "not_applicable", "skipped", "broken"


@dataclass(frozen=True)
class Judgement:
    """One rule's outcomes on all launches.

    Attributes:
        rule: The rule.
        values: Inputs, figures of the GPU, parameters and ``let`` names, one value per launch.
        outcomes: One of the five outcomes per launch.
        broken_by: The ``let`` or ``when`` that is no number, for launches with outcome ``broken``; else empty.
    """

    rule: Rule
    values: Mapping[str, Column]
    outcomes: list[str]
    broken_by: list[str]

    @cached_property
    def numbers(self) -> Mapping[str, list[float]]:
        """``values`` as lists, for access launch by launch."""
        return {name: column.tolist() for name, column in self.values.items()}

    def without_number(self, launch: int) -> str:
        """What is no number on a launch with outcome ``broken``: a name in ``let``, ``applies``, or one condition."""
        part = self.broken_by[launch]
        if part != "when":
            return part
        count = len(self.outcomes)
        columns = {text: _as_column(each.evaluate(self.values), count) for text, each in self.rule.when.items()}
        wrong = [text for text, column in columns.items() if np.isnan(column[launch])]
        return f'when "{wrong[0]}"' if wrong else part

    def unmet(self, launch: int) -> tuple[str, ...]:
        """The conditions of ``when`` that do not hold on a launch, as written."""
        return self._unmet[launch]

    @cached_property
    def _unmet(self) -> list[tuple[str, ...]]:
        count, texts = len(self.outcomes), list(self.rule.when)
        holds = np.array([_as_column(each.evaluate(self.values), count) for each in self.rule.when.values()])
        failed = (holds == 0).T
        sets = {row.tobytes(): row for row in failed}  # launches fail in few ways, and share the texts
        shared = {key: tuple(texts[at] for at in np.flatnonzero(row)) for key, row in sets.items()}
        return [shared[row.tobytes()] for row in failed]


def judge(rule: Rule, analysis: Analysis) -> Judgement:
    """Evaluate a rule on the launches under analysis."""
    inputs = {name: analysis.value(name) for name in rule.inputs}
    return judge_values(rule, inputs, figure_columns(analysis))


def judge_values(rule: Rule, inputs: Mapping[str, Column], gpu: Mapping[str, Column]) -> Judgement:
    """Evaluate a rule on columns of its inputs.

    A launch that the rule does not apply to is not applicable even when other metrics are missing; a launch with a
    missing metric, or on a GPU of which a figure is unknown, is skipped; a value that is not a number although
    nothing is missing breaks the rule on that launch.

    Args:
        rule: The rule.
        inputs: Each of ``rule.inputs`` -> its value for each launch; NaN where it is missing.
        gpu: Each figure of the launches' GPUs, by its name in rules.
    """
    count = len(next(iter(gpu.values())))
    needed = {**inputs, **{name: gpu[name] for name in rule.gpu_figures}}
    values: dict[str, Column] = {**needed}
    values.update({name: np.full(count, value) for name, value in rule.parameters.items()})
    for name, expression in rule.let.items():
        values[name] = _as_column(expression.evaluate(values), count)
    applies = _as_column(rule.applies.evaluate(values), count)
    fires = _as_column(rule.fires.evaluate(values), count)

    missing = np.isnan(np.array([values[name] for name in needed])).any(axis=0)
    computed = {**{name: values[name] for name in rule.let}, "when": fires, "applies": applies}
    unknown = np.isnan(np.array(list(computed.values())))
    outcomes = np.select(
        [applies == 0, missing, unknown.any(axis=0), fires != 0], [NOT_APPLICABLE, SKIPPED, BROKEN, FINDING], PASSED
    ).tolist()
    names, first = list(computed), unknown.argmax(axis=0)
    broken_by = [names[at] if outcome == BROKEN else "" for at, outcome in zip(first, outcomes, strict=True)]
    return Judgement(rule, values, outcomes, broken_by)


def _as_column(values: Column, count: int) -> Column:
    """What an expression gives, which is finite or NaN, as one value per launch."""
    return values if values.shape == (count,) else np.broadcast_to(values, (count,))
