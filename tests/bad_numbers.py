"""Recorded launches with impossible numbers, one in each copy of a launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, nan

import numpy as np
import pandas as pd

from ncuview.api import load_rules
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.units import OF_THE_MODEL, UNITS
from ncuview.reader.host_times import HOST_TIMES
from ncuview.records.profile import Profile

UNKNOWN = nan
WRONG = (inf, -1.0, float(2**64 - 5), 1e300)
"""What no counter, time or share can be; the third is a negative number that was read as if it had no sign."""
TOO_MUCH = (100.0 + 1e-9, 112.0, 257.3, 1e5)
"""Shares above 100 %. Undamaged reports have some; none may break a guarantee."""
TIME = "gpu__time_duration.sum"
LAUNCHES: Mapping[str, int] = {"reduction": 0, "atomics": 0, "transpose": 2, "transfers": 0}
"""Of each family the one that is copied: with advice of many kinds, with atomics, with copies that the host timed."""


@dataclass(frozen=True)
class Spot:
    """A number of one launch: of the launch, and of its instructions where these have it."""

    launch: int
    metric: str
    value: float


@cache
def judged_by() -> frozenset[str]:
    """All metrics that rules and predictions look at."""
    names = {name for rule in load_rules() for name in rule.metric_names()}
    derived = {metric for each in QUANTITIES.values() for metric in each.metrics}
    units = {unit.metric for unit in UNITS.values() if unit.metric}
    return frozenset({*names, *derived, *units, *OF_THE_MODEL, *HOST_TIMES})


def metric_names(profile: Profile) -> list[str]:
    """All metrics, of launches and of instructions."""
    return sorted({*profile.metrics.columns, *profile.instructions.columns[5:]})


def copies(profile: Profile, launches: Sequence[int]) -> Profile:
    """These launches, each as often as it is named; every copy is a kernel of its own, so that none is a repeat."""
    table = profile.launches.iloc[list(launches)].reset_index(drop=True)
    names = [f"copy{number}" for number in range(len(launches))]
    of_each = {launch: profile.instructions[profile.instructions["launch"] == launch] for launch in set(launches)}
    rows = [of_each[launch].assign(launch=number) for number, launch in enumerate(launches)]
    return replace(
        profile,
        launches=table.assign(index=range(len(launches)), kernel=names, demangled=names),
        metrics=profile.metrics.iloc[list(launches)].reset_index(drop=True),
        instructions=pd.concat(rows, ignore_index=True),
        call_sites={},
    )


def with_numbers(profile: Profile, spots: Iterable[Spot]) -> Profile:
    """The profile with other numbers; in the instructions, that of the middle one is replaced."""
    launches, metrics = profile.launches.copy(), profile.metrics.copy()
    instructions = profile.instructions.copy()
    starts = np.searchsorted(instructions["launch"].to_numpy(), np.arange(len(launches) + 1))
    for spot in spots:
        middle = int(starts[spot.launch : spot.launch + 2].sum()) // 2
        if spot.metric in metrics.columns:
            metrics.loc[spot.launch, spot.metric] = spot.value
        if spot.metric in instructions.columns[5:]:
            instructions.loc[middle, spot.metric] = spot.value
        if spot.metric == TIME:
            launches.loc[spot.launch, "duration_ns"] = spot.value
    return replace(profile, launches=launches, metrics=metrics, instructions=instructions)
