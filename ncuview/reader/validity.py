"""Replace impossible values in a ``Profile`` (negative, infinite, over 200 % of peak) by NaN, and keep the originals.

``valid`` returns such a profile, with the originals in ``refused``; ``impossible`` tests one metric's values.

ncu writes NaN where it could not measure, and a damaged file any number. A value that is not finite, a negative count,
time or share, and a unit at twice its peak are no measurements. Other shares over 100 % are: passes differ, hit rates
reach 250 % in undamaged reports, and several lanes may use the same bytes of a sector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]
    Refused = dict[int, dict[str, float]]

MOST = 2.0**63
"""A number from here on is a negative one that was read as unsigned; no counter reaches it."""
MOST_OF_PEAK = 200.0
"""In %. The cycles of a short launch differ from pass to pass, so that a unit may seem to exceed its peak: 112 of
158,679 values in public reports are over 100 %, few of them of units. Twice the peak is no such difference."""
LEAST_NS = 1.0
"""No kernel takes less; empty ones take some hundred ns."""

_OF_PEAK = ".pct_of_peak_sustained_"
_DURATION = "gpu__time_duration.sum"
_TAKES_TIME = frozenset({_DURATION, "host__kernel_time", "host__whole_time"})
_PLACES = 5
"""The columns of ``Profile.instructions`` that are not metrics."""


def valid(profile: Profile) -> Profile:
    """The profile with NaN for every impossible number, and these in ``refused``; itself where there are none."""
    refused: Refused = {}
    each_launch = np.arange(len(profile.launches))
    launches = _checked(profile.launches, {"duration_ns": _DURATION}, each_launch, refused)
    metrics = _checked(profile.metrics, _themselves(profile.metrics.columns), each_launch, refused)
    of_launch = profile.instructions["launch"].to_numpy(np.int64)
    counted = _themselves(profile.instructions.columns[_PLACES:])
    instructions = _checked(profile.instructions, counted, of_launch, refused)
    if not refused:
        return profile
    return replace(profile, launches=launches, metrics=metrics, instructions=instructions, refused=refused)


def impossible(metric: str, values: Column) -> NDArray[np.bool_]:
    """Which values of a metric are impossible; NaN means unknown and is not impossible."""
    most = MOST_OF_PEAK if _OF_PEAK in metric else MOST
    wrong: NDArray[np.bool_] = (values < 0) | (values >= most)
    return wrong | (values < LEAST_NS) if metric in _TAKES_TIME else wrong


def _themselves(columns: Iterable[str]) -> dict[str, str]:
    return {column: column for column in columns}


def _checked(
    frame: pd.DataFrame, metrics: Mapping[str, str], of_launch: NDArray[np.int64], refused: Refused
) -> pd.DataFrame:
    """The frame with NaN for impossible values in these columns; the originals go to ``refused`` by metric."""
    changed = {}
    for column, metric in metrics.items():
        values = frame[column].to_numpy(np.float64)
        wrong = impossible(metric, values)
        if wrong.any():
            changed[column] = np.where(wrong, np.nan, values)
            launches, first = np.unique(of_launch[wrong], return_index=True)
            for launch, value in zip(launches.tolist(), values[wrong][first].tolist(), strict=True):
                refused.setdefault(launch, {}).setdefault(metric, value)
    return frame.assign(**changed) if changed else frame
