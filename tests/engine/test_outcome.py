"""Why a rule cannot judge a launch: the message names every cause and the remedy."""

from __future__ import annotations

from math import nan

import pytest

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.metrics.units import DRAM_BYTES
from ncuview.records.diagnosis import Skipped
from tests.builders import USE, Launch, load, make_profile, shared_load

RULES = load_rules()
RULE = "register-limited-occupancy"
WRONG, EMPTY, ABSENT = (
    "launch__occupancy_limit_registers",
    "launch__registers_per_thread",
    "launch__occupancy_limit_warps",
)
REFUSED = f"the report gives an impossible value: {WRONG} is -1"


def skipped(launch: Launch) -> Skipped:
    """What the rule says of a launch that it cannot judge."""
    [outcome] = [each for each in diagnose(make_profile(launch), RULES).launches[0].outcomes if each.rule.name == RULE]
    assert isinstance(outcome, Skipped), outcome
    return outcome


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({WRONG: -1.0}, f"{REFUSED}. Profile again"),
        ({EMPTY: nan}, f"no value in the report. Collect with: ncu --metrics {EMPTY}"),
        ({ABSENT: None}, f"not collected. Collect with: ncu --metrics {ABSENT}"),
        ({WRONG: -1.0, ABSENT: None}, f"{REFUSED}; not collected: {ABSENT}. Collect with: ncu --metrics {{}}"),
        ({WRONG: -1.0, EMPTY: nan}, f"{REFUSED}; no value in the report: {EMPTY}. Collect with: ncu --metrics {{}}"),
        (
            {EMPTY: nan, ABSENT: None},
            f"no value in the report: {EMPTY}; not collected: {ABSENT}. Collect with: ncu --metrics {{}}",
        ),
        (
            {WRONG: -1.0, EMPTY: nan, ABSENT: None},
            f"{REFUSED}; no value in the report: {EMPTY}; not collected: {ABSENT}. Collect with: ncu --metrics {{}}",
        ),
    ],
)
def test_every_cause_names_the_metrics_that_it_is_the_cause_of(metrics: dict[str, float | None], said: str) -> None:
    outcome = skipped(Launch().with_metrics(metrics))
    assert set(outcome.missing) == metrics.keys()
    assert outcome.message == f"it cannot be judged: {said.format(','.join(outcome.missing))}"


def test_two_metrics_that_cannot_be_right_are_both_named() -> None:
    said = skipped(Launch().with_metrics({WRONG: -1.0, ABSENT: -2.0})).message
    assert f"{WRONG} is -1" in said
    assert f"{ABSENT} is -2" in said
    assert said.endswith(f"an impossible value: {WRONG} is -1, {ABSENT} is -2. Profile again")


def test_of_metrics_that_only_serve_together_the_one_that_is_there_is_not_said_to_be_unknown() -> None:
    wasteful = Launch({USE["l1_data"]: 90.0}, [load(), shared_load(ways=32.0), shared_load(ways=32.0)])
    launch = diagnose(make_profile(wasteful.with_metrics({DRAM_BYTES[0]: nan})), RULES).launches[0]
    said = [outcome.message for outcome in launch.outcomes if isinstance(outcome, Skipped)]
    both = ",".join(DRAM_BYTES)
    assert f"its gain cannot be predicted: no value in the report. Collect with: ncu --metrics {both}" in said
