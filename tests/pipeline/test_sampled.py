"""A program that is sampled: two runs, one launch of each configuration, and how often each was launched."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ncuview.api import load_rules
from ncuview.base.errors import Incomplete, NothingProfiled
from ncuview.engine.priority import priorities
from ncuview.engine.rank import diagnose
from ncuview.pipeline import sampled
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.options import NcuOptions
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import Failure, Profile
from tests.profiles import recorded_profile

Run = tuple[tuple[str, ...], str]
"""The metrics and the ``--kernel-id`` of a run of ncu."""


def some(profile: Profile, positions: Sequence[int]) -> Profile:
    """Only these launches."""
    places = {old: new for new, old in enumerate(positions)}
    instructions = profile.instructions[profile.instructions["launch"].isin(positions)]
    return replace(
        profile,
        launches=profile.launches.loc[list(positions)].reset_index(drop=True),
        metrics=profile.metrics.loc[list(positions)].reset_index(drop=True),
        instructions=instructions.assign(launch=instructions["launch"].map(places)).reset_index(drop=True),
    )


def picked(program: Sequence[int], kernel_id: str) -> list[int]:
    """What ncu 2025.3.1 profiles of a program's launches: numbers count per kernel."""
    name, number = re.fullmatch(r"::(.*):(\^.*\$)", kernel_id).groups()  # type: ignore[union-attr]
    counted: Counter[str] = Counter()
    found = []
    for position in program:
        kernel = str(recorded_profile("reduction").launches["kernel"].iloc[position])
        counted[kernel] += 1
        if re.search(name.removeprefix("regex:"), kernel) and re.fullmatch(number, str(counted[kernel])):
            found.append(position)
    return found


def diagnosed(
    monkeypatch: pytest.MonkeyPatch, program: Sequence[int], second_grid: int | None = None, damaged: int = 0
) -> tuple[Diagnosis, list[Run]]:
    """The diagnosis of a program that launches these recorded launches, in its second run perhaps with this grid.

    Launches are missing in the report of the run ``damaged``.
    """
    runs: list[Run] = []

    def profile_program(
        _: object, metrics: Sequence[str], options: NcuOptions, **limits: Any
    ) -> tuple[Profile, Profiled]:
        assert limits == {"timeout_s": math.inf, "no_progress_s": None, "progress": None}
        runs.append((tuple(metrics), options.kernel_id))
        number = len(runs)
        found = repeated(picked(program, options.kernel_id))
        if number == 2 and second_grid:
            found = replace(found, launches=found.launches.assign(grid_x=second_grid))
        collected = [
            name for name in found.metrics if name in metrics or str(name).startswith(("launch__", "device__"))
        ]
        lost = Failure("NCU-CORRUPT", "block 3 is damaged", "", 3) if number == damaged else None
        made = Profiled((Path(str(number)),), options, NcuRun(0, "", "", 1, ()))
        return replace(found, metrics=found.metrics[collected], failure=lost), made

    monkeypatch.setattr(sampled, "profile_program", profile_program)
    return sampled.examine_sample(["./app"], load_rules()).diagnosis, runs


def repeated(positions: Sequence[int]) -> Profile:
    """These launches, each as often as it is named."""
    one_by_one = [some(recorded_profile("reduction"), [position]) for position in positions]
    first = one_by_one[0]
    return replace(
        first,
        launches=pd.concat([each.launches for each in one_by_one], ignore_index=True),
        metrics=pd.concat([each.metrics for each in one_by_one], ignore_index=True),
        instructions=pd.concat(
            [each.instructions.assign(launch=at) for at, each in enumerate(one_by_one)], ignore_index=True
        ),
    )


def test_the_configurations_of_a_loop_are_diagnosed_once_and_count_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    result, runs = diagnosed(monkeypatch, [0, 1] * 100)
    complete = diagnose(some(recorded_profile("reduction"), [0, 1]), load_rules())
    assert [launch.kernel for launch in result.launches] == [launch.kernel for launch in complete.launches]
    assert [[found.rule for found in launch.findings[:1]] for launch in result.launches] == [
        [found.rule for found in launch.findings[:1]] for launch in complete.launches
    ]
    assert len(runs) == 2
    assert len(runs[0][0]) < len(runs[1][0])
    ranked = priorities(result)
    assert sum(group.launches for group in ranked.groups) == pytest.approx(200, rel=0.5)
    assert ranked.total_ns > 50 * sum(launch.duration_ns for launch in complete.launches)


def test_few_launches_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = diagnosed(monkeypatch, [0, 0, 0, 1])
    assert {group.kernel: group.launches for group in priorities(result).groups} == Counter(
        str(recorded_profile("reduction").launches["kernel"].iloc[at]) for at in (0, 0, 0, 1)
    )


def test_a_program_that_launches_something_else_the_second_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NothingProfiled, match="something else in its second run"):
        diagnosed(monkeypatch, [0, 0, 1], second_grid=7)


@pytest.mark.parametrize("run", [1, 2])
def test_a_run_without_some_of_its_launches_cannot_be_sampled_from(monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    with pytest.raises(Incomplete, match="block 3 is damaged"):
        diagnosed(monkeypatch, [0, 0, 1], damaged=run)
