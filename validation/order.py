"""Can the order of findings and the width of predicted intervals be learned from the labelled launches?

    python -m validation.order FINDINGS

FINDINGS is a JSON file of what the rules find on every labelled launch. Where it is missing, it is written, which takes
some minutes; fitting takes seconds. The tables are printed.

An order permutes the advice of a launch and nothing else: what is rejected stays rejected, drafts stay last. So no
order gives advice to a launch that has none, or takes all advice from one. Everything is fitted without the programs
that it is judged on: programs in view by cross-validation, those of the latest set by what was fitted on all others.

The programs in view flatter today's order: rules were corrected until it was right there. Only a set that no rule was
written with in view compares orders fairly, so findings of earlier rules on the sets that were unseen then weigh more.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from validation.labelled_findings import Found, Launch, folds, in_view_and_latest, kept, pairs
from validation.widths import of_intervals

Array = NDArray[np.float64]

REPEATS = 20
"""Random assignments of programs to folds."""
PRIOR = 10.0
"""The hit rate of a rule counts so many pairs at the rate of all rules beside its own."""
RIDGE = 1.0
"""The penalty on squared weights; features are of the size 1."""

Score = Callable[[Launch, Found], float]
"""The larger, the earlier."""
Fit = Callable[[Sequence[Launch]], Score]
"""From launches with labels to an order."""


def main(findings: Annotated[Path, typer.Argument(metavar="FINDINGS", dir_okay=False)]) -> None:
    """Compare today's order and intervals with learned ones."""
    launches = kept(findings)
    print("\n".join([*of_bounds(launches), "", *of_orders(launches), "", *of_intervals(launches)]))


def of_bounds(launches: Sequence[Launch]) -> Iterator[str]:
    """A table of where the right advice of pairs is: what an ideal order could reach."""
    yield "| where the right advice is | programs in view | latest |"
    yield "| --- | ---: | ---: |"
    both = [Counter(map(_where, pairs(part))) for part in in_view_and_latest(launches)]
    for place in dict.fromkeys(each for counts in both for each, _ in counts.most_common()):
        yield f"| {place} | {both[0][place]} | {both[1][place]} |"
    yield f"| all pairs | {both[0].total()} | {both[1].total()} |"


def _where(launch: Launch) -> str:
    """Where the right advice of a pair is among the findings."""
    hits = [each for each in launch.findings if each.optimization in launch.right]
    places = [place for place, each in enumerate(launch.advice) if each in hits]
    if places:
        return ("first advice", "second advice", "third advice", "later advice")[min(places[0], 3)]
    if not hits:
        return "not found" if launch.findings else "nothing is found"
    return f"rejected: {hits[0].rejected.partition(',')[0].partition(':')[0].partition(' as ')[0]}"


# Orders


def predicted_gain(_: Sequence[Launch]) -> Score:
    """Today's order: ties keep their places, since the findings come in that order."""
    return lambda _, found: found.best


def ideal(_: Sequence[Launch]) -> Score:
    """What knows the label."""
    return lambda launch, found: float(found.optimization in launch.right)


def hit_rate(train: Sequence[Launch]) -> Score:
    """The smoothed share of pairs on which the rule's advice was right."""
    rates = Rates(train)
    return lambda _, found: rates.of(found.rule)


def gain_times_rate(train: Sequence[Launch]) -> Score:
    """The logarithm of the gain that may be expected: nothing where the advice is wrong."""
    rates = Rates(train)
    return lambda _, found: math.log(found.best) * rates.of(found.rule)


def preferred_rule(train: Sequence[Launch]) -> Score:
    """Bradley and Terry's model: of two rules on one launch, which is right."""
    return _pairwise(train, _Rules(train))


def preferred_rule_and_gain(train: Sequence[Launch]) -> Score:
    """The same with the logarithm of the predicted gain."""
    rules = _Rules(train)
    return _pairwise(train, lambda launch, found: np.append(rules(launch, found), math.log(found.best)))


def logistic(train: Sequence[Launch]) -> Score:
    """Logistic regression of whether advice is right on four features."""
    rates = Rates(train)

    def features(found: Found, program: str = "") -> Array:
        rate = rates.of(found.rule, without=program)
        logit = math.log(rate / (1 - rate))
        return np.array([1.0, math.log(found.best), logit, found.relieves, float(found.located)])

    rows = [(launch, found) for launch in pairs(train) for found in launch.advice]
    inputs = np.array([features(found, launch.program) for launch, found in rows])
    weights = _weights(inputs, np.array([float(found.optimization in launch.right) for launch, found in rows]))
    return lambda _, found: float(features(found) @ weights)


ORDERS: Mapping[str, Fit] = {
    "predicted gain (today)": predicted_gain,
    "hit rate of the rule": hit_rate,
    "log predicted gain times hit rate": gain_times_rate,
    "preference of rules": preferred_rule,
    "preference of rules, and gain": preferred_rule_and_gain,
    "logistic regression": logistic,
    "ideal": ideal,
}


class Rates:
    """How often each rule's advice is right on pairs, smoothed by a beta prior at the rate of all rules."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self._right: dict[str, Counter[str]] = defaultdict(Counter)  # rule -> program -> launches
        self._given: dict[str, Counter[str]] = defaultdict(Counter)
        for launch in pairs(launches):
            for found in launch.advice:
                self._given[found.rule][launch.program] += 1
                self._right[found.rule][launch.program] += found.optimization in launch.right
        given = sum(each.total() for each in self._given.values())
        self._all = sum(each.total() for each in self._right.values()) / given

    def of(self, rule: str, without: str = "") -> float:
        """The rate of a rule, perhaps without one program: a row must not see its own label."""
        right = self._right[rule].total() - self._right[rule][without]
        given = self._given[rule].total() - self._given[rule][without]
        return (right + PRIOR * self._all) / (given + PRIOR)


class _Rules:
    """One feature for each rule of the launches; a rule that they lack has none."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        codes = sorted({found.rule for launch in pairs(launches) for found in launch.advice})
        self._place = {code: place for place, code in enumerate(codes)}

    def __call__(self, _: Launch, found: Found) -> Array:
        row = np.zeros(len(self._place))
        if found.rule in self._place:
            row[self._place[found.rule]] = 1.0
        return row


def _pairwise(train: Sequence[Launch], features: Callable[[Launch, Found], Array]) -> Score:
    """The linear score under which right advice comes before wrong advice of the same launch."""
    differences = [
        features(launch, right) - features(launch, wrong)
        for launch in pairs(train)
        for right in launch.advice
        for wrong in launch.advice
        if right.optimization in launch.right and wrong.optimization not in launch.right
    ]
    weights = _weights(np.array(differences), np.ones(len(differences)))
    return lambda launch, found: float(features(launch, found) @ weights)


def _weights(inputs: Array, outputs: Array) -> Array:
    """Logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (outputs - chance) - RIDGE * weights
        bend = (inputs.T * (chance * (1 - chance))) @ inputs + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def first_advice(launch: Launch, score: Score) -> Found | None:
    """The first advice of a launch under an order; None where it has no advice."""
    ordered = sorted(launch.advice, key=lambda found: (found.draft, -score(launch, found)))
    return ordered[0] if ordered else None


def of_orders(launches: Sequence[Launch]) -> Iterator[str]:
    """A table of first advice under each order, for programs in view and for the latest."""
    in_view, latest = in_view_and_latest(launches)
    yield "| programs | order | first right | won, lost | right or a jump | negative example first |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for name, fit in ORDERS.items():
        yield _row("in view", name, [_crossed(in_view, fit, seed) for seed in range(REPEATS)])
    for name, fit in ORDERS.items():
        yield _row("latest", name, [_judged(in_view, latest, fit)])


def _row(programs: str, name: str, counts: Sequence[Counter[str]]) -> str:
    """The mean over the assignments of programs to folds, with the least and the most."""
    mean = {key: statistics.mean(each[key] for each in counts) for key in ("right", "won", "lost", "jump", "in vain")}
    least, most = min(each["right"] for each in counts), max(each["right"] for each in counts)
    right = f"{mean['right']:.4g}" + (f" ({least} to {most})" if least < most else "")
    compared = f"{mean['won']:.3g}, {mean['lost']:.3g}"
    jumps = f"{mean['right'] + mean['jump']:.4g}"
    return f"| {programs} | {name} | {right} | {compared} | {jumps} | {mean['in vain']:.3g} |"


def _crossed(launches: Sequence[Launch], fit: Fit, seed: int) -> Counter[str]:
    return sum((_judged(train, test, fit) for train, test in folds(launches, seed)), Counter[str]())


def _judged(train: Sequence[Launch], test: Sequence[Launch], fit: Fit) -> Counter[str]:
    score, today = fit(train), predicted_gain(train)
    return Counter(
        outcome
        for launch in test
        for outcome in _outcomes(launch, first_advice(launch, score), first_advice(launch, today))
    )


def _outcomes(launch: Launch, first: Found | None, today: Found | None) -> Iterator[str]:
    """What the first advice of a launch counts as, beside today's."""
    if first is None or today is None:
        return
    if first.optimization == launch.negative_example:
        yield "in vain"
    right, was = (each.optimization in launch.right for each in (first, today))
    if right:
        yield "right"
    elif launch.right and first.optimization in launch.later:
        yield "jump"
    if right != was:
        yield "won" if right else "lost"


if __name__ == "__main__":
    typer.run(main)
