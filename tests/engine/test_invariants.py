"""The invariants hold on every recorded launch of the catalogue; the nightly tests check the labelled programs."""

from __future__ import annotations

from dataclasses import replace

from ncuview.records.diagnosis import Gain
from tests.invariants import broken
from tests.profiles import RECORDED, recorded_diagnosis, recorded_profile


def test_the_invariants_hold_on_the_catalogue() -> None:
    families = [report.parent.name for report in RECORDED]
    assert [each for family in families for each in broken(recorded_profile(family), recorded_diagnosis(family))] == []


def test_a_prediction_below_what_remains_breaks_an_invariant() -> None:
    diagnosis = recorded_diagnosis("transpose")
    launch = next(each for each in diagnosis.launches if each.findings)
    first = replace(launch.findings[0], predicted_speedup=Gain(1.0, 1e6, 1e6))
    outcomes = tuple(first if each is launch.findings[0] else each for each in launch.outcomes)
    changed = tuple(replace(each, outcomes=outcomes) if each is launch else each for each in diagnosis.launches)
    found = broken(recorded_profile("transpose"), replace(diagnosis, launches=changed))
    assert len(found) == 2
    assert all(f"{launch.kernel}: {first.rule.code} predicts" in each for each in found)


def test_a_condition_is_stated_where_nothing_shows_independent_work() -> None:
    chase = next(each for each in recorded_diagnosis("calibration").launches if each.kernel == "dramLatency")
    assert chase.findings[0].rule.code == "GRID001"
    assert chase.findings[0].open_condition.startswith(
        "its loop, in which an iteration needs results of the one before"
    )
