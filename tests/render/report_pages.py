"""Pages of the HTML report that several tests share: constructed, of one recorded profile, and of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate

import pandas as pd

import ncuview
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Profile
from ncuview.render.html_report import html_report
from tests.profiles import RECORDED, recorded_ladder, recorded_profile
from tests.render.sample import column_read, diagnosis, ladder, launch_near_peak, launch_with_advice


def check(launch: LaunchDiagnosis, result: CheckResult, level: Level = "error") -> Check:
    """A check of a launch's bank conflicts."""
    return Check(
        kernel=launch.demangled,
        grid=launch.grid,
        block=launch.block,
        subject="shared_bank_conflict_ways",
        condition="at most 1",
        result=result,
        level=level,
        measured=32.0,
        limit=1.0,
        unit="",
        message=f"shared_bank_conflict_ways of {launch.kernel} is {result}",
        origin="budget.toml, budget 2",
        where=(column_read(),),
    )


def gate() -> Gate:
    """One check of each result."""
    checks = (
        check(launch_with_advice(), "failed"),
        check(launch_with_advice(), "inconclusive"),
        check(launch_near_peak(), "passed"),
        check(launch_near_peak(), "failed", "warn"),
    )
    return Gate(checks, "error", "No baseline was compared.")


@cache
def sample_page() -> str:
    """One kernel of each verdict, a gate and a ladder."""
    return html_report(diagnosis(), gate(), [ladder()])


@cache
def recorded(family: str) -> tuple[Profile, Diagnosis]:
    """The recorded profile of a family."""
    profile = recorded_profile(family)
    return profile, ncuview.diagnose(profile)


@cache
def recorded_page(family: str) -> str:
    """The page of a family's recorded profile, with every line."""
    profile, found = recorded(family)
    return html_report(found, profile=profile)


def joined(profiles: Sequence[Profile]) -> Profile:
    """One profile of the launches of several, as if their reports had been read together."""
    starts = accumulate((len(profile.launches) for profile in profiles), initial=0)
    rows = [
        profile.instructions.assign(launch=profile.instructions["launch"] + start)
        for profile, start in zip(profiles, starts, strict=False)
    ]
    return Profile(
        tuple(report for profile in profiles for report in profile.reports),
        pd.concat([profile.launches for profile in profiles], ignore_index=True),
        pd.concat([profile.metrics for profile in profiles], ignore_index=True),
        {name: unit for profile in profiles for name, unit in profile.units.items()},
        pd.concat(rows, ignore_index=True),
        {place: text for profile in profiles for place, text in profile.sources.items()},
    )


@cache
def catalogue() -> tuple[Profile, Diagnosis]:
    """All recorded profiles together."""
    profile = joined([recorded_profile(path.parent.name) for path in RECORDED])
    return profile, ncuview.diagnose(profile)


@cache
def catalogue_page() -> str:
    """All recorded profiles on one page, with the ladder of one family."""
    profile, found = catalogue()
    ladders: list[Ladder] = [recorded_ladder("transpose")]
    return html_report(found, ladders=ladders, profile=profile)


@cache
def very_many() -> Diagnosis:
    """The recorded kernels with 1,500 different grids."""
    _, found = catalogue()
    launches = []
    for place in range(1500):
        launch = found.launches[place % len(found.launches)]
        x, y, z = launch.grid
        launches.append(replace(launch, grid=(x + place, y, z)))
    return Diagnosis(tuple(launches), found.reports)


@cache
def page_of_very_many() -> str:
    """Their page, with every line of those that have details."""
    return html_report(very_many(), profile=catalogue()[0])
