"""A diagnosis rests on counters and machine code, never on what a kernel, its file or its variables are called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.records.diagnosis import Finding, LaunchDiagnosis
from ncuview.records.profile import Profile
from tests.profiles import RECORDED, recorded_diagnosis, recorded_profile


def renamed(profile: Profile) -> Profile:
    """The profile with every kernel and file called something else, and without a line of source or report name."""
    launches = profile.launches.assign(
        kernel=[f"k{number}" for number in range(len(profile.launches))],
        demangled=[f"k{number}(void *)" for number in range(len(profile.launches))],
    )
    names = {file: f"{number}.cu" for number, file in enumerate(profile.instructions["file"].unique())}
    instructions = profile.instructions.assign(file=profile.instructions["file"].map(names).astype("string"))
    return replace(profile, launches=launches, instructions=instructions, sources={})


def said(launch: LaunchDiagnosis) -> object:
    """All that is said of a launch but names and quoted lines."""
    outcomes = [
        replace(
            outcome,
            where=tuple((line.line, line.share) for line in outcome.where),  # type: ignore[misc]
            waits_for=tuple((each.line, each.opcode, each.share) for each in outcome.waits_for),  # type: ignore[misc]
        )
        if isinstance(outcome, Finding)
        else outcome
        for outcome in launch.outcomes
    ]
    return (launch.bottleneck, launch.units, launch.verdict, launch.attained, outcomes)


@pytest.mark.parametrize("report", RECORDED, ids=[path.parent.name for path in RECORDED])
def test_nothing_changes_when_everything_is_called_something_else(report: Path) -> None:
    profile = recorded_profile(report.parent.name)
    rules = load_rules()
    before, after = recorded_diagnosis(report.parent.name), diagnose(renamed(profile), rules)
    assert [said(launch) for launch in after.launches] == [said(launch) for launch in before.launches]
    assert {launch.kernel for launch in after.launches}.isdisjoint(launch.kernel for launch in before.launches)
