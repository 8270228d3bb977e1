"""Learned orders permute advice and nothing else, and are judged on programs that they were not fitted on."""

from __future__ import annotations

import math

import pytest

from ncuview.speedup.model import MORE_THAN_THE_WASTE, UNEXPLAINED
from validation.labelled_findings import Found, Launch, folds
from validation.order import ORDERS, Fit, Rates, first_advice, gain_times_rate, predicted_gain, preferred_rule
from validation.widths import Intervals, Sample, as_today

pytestmark = pytest.mark.checkout


def found(rule: str, best: float, *, rejected: str = "", draft: bool = False) -> Found:
    return Found(rule, rule.lower(), best / 1.5, best, best * 1.5, rejected, draft, relieves=0.5, located=True)


def launch(program: str, right: str, *findings: Found) -> Launch:
    return Launch(
        kernel=f"{program}a",
        program=program,
        right=(right,) if right else (),
        gain=2.0,
        step=right,
        measured=2.0,
        finished=not right,
        negative_example="",
        later=(),
        findings=findings,
    )


B_IS_RIGHT = [launch(f"p{number:03}", "b", found("A", 3.0), found("B", 2.0)) for number in range(40)]


def test_no_program_is_fitted_and_judged() -> None:
    launches = [launch(f"p{number:03}", "a") for number in range(25) for _ in range(3)]
    judged = [each.program for train, test in folds(launches, seed=1) for each in test]
    assert sorted(judged) == sorted(each.program for each in launches)
    for train, test in folds(launches, seed=1):
        assert not {each.program for each in train} & {each.program for each in test}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_neither_gives_advice_nor_takes_it(name: str) -> None:
    score = ORDERS[name](B_IS_RIGHT)
    assert first_advice(launch("p900", "b", found("B", 2.0, rejected="near its peak")), score) is None
    rejected_too = launch("p900", "b", found("A", 1.5), found("B", 2.0, rejected="near its peak"))
    assert first_advice(rejected_too, score) == found("A", 1.5)


def test_a_draft_stays_last() -> None:
    with_draft = launch("p900", "b", found("A", 3.0), found("B", 2.0, draft=True))
    assert first_advice(with_draft, preferred_rule(B_IS_RIGHT)) == found("A", 3.0)


@pytest.mark.parametrize("fit", [preferred_rule, gain_times_rate])
def test_the_rule_that_was_right_comes_first(fit: Fit) -> None:
    unseen = launch("p900", "b", found("A", 3.0), found("B", 2.0))
    assert first_advice(unseen, predicted_gain(B_IS_RIGHT)) == found("A", 3.0)
    assert first_advice(unseen, fit(B_IS_RIGHT)) == found("B", 2.0)


def test_a_rate_can_leave_out_a_program() -> None:
    rates = Rates([launch("p001", "a", found("A", 2.0)), launch("p002", "b", found("A", 2.0))])
    assert rates.of("A") == pytest.approx(0.5)
    assert rates.of("A", without="p002") == pytest.approx((1 + 10 * 0.5) / 11)
    assert rates.of("unseen") == pytest.approx(0.5)


UNLIMITED = UNEXPLAINED * math.log(3.0) + math.log(MORE_THAN_THE_WASTE)
"""How far up the model's interval around 3x reaches where no unit limits it."""


def sample(off: float, *, high: float = UNLIMITED) -> Sample:
    return Sample("A", best=math.log(3.0), off=off, low=-UNLIMITED, high=high)


def test_the_factor_holds_four_of_five() -> None:
    train = [sample(-0.01 * place) for place in range(1, 100)]
    low, high = Intervals(train, as_today, by_rule=False)(sample(0.0))
    assert (-low, high) == pytest.approx((0.80, 0.80))


def test_what_a_unit_forbids_is_never_inside() -> None:
    limited = sample(0.5, high=0.2)
    below = [sample(-0.01 * place) for place in range(1, 80)]
    intervals = Intervals([*below, *[limited] * 20], as_today, by_rule=False)
    assert intervals(limited)[1] == pytest.approx(0.2)
    assert intervals(sample(0.0))[0] < Intervals(below, as_today, by_rule=False)(sample(0.0))[0]
