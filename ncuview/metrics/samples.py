"""``with_samples``: warp samples of launches that have only those of cycles without an issued instruction.

ncu counts each stall reason twice: in all samples, and in those in which the scheduler issued nothing
(``..._not_issued``). From 2025.4 on, its default sets collect only the latter; ncuview asks for the former by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.names import SAMPLES

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

NOT_ISSUED = "_not_issued"
_ISSUING = ("selected", "not_selected")
"""Reasons of cycles in which the scheduler issues; without such cycles, nothing is sampled for them."""


def with_samples(profile: Profile) -> tuple[Profile, frozenset[int]]:
    """The profile with samples of cycles without an issued instruction where a launch has no others, and its launches.

    Both kinds are never mixed in a launch: shares are of the samples of one kind.
    """
    columns = profile.metrics.columns
    known = [metric for metric in SAMPLES.values() if metric + NOT_ISSUED in columns]
    if not known:
        return profile, frozenset()
    plain = [metric for metric in SAMPLES.values() if metric in columns]
    only = np.isnan(profile.metrics[plain].to_numpy(np.float64)).all(axis=1)
    only &= np.isfinite(profile.metrics[[metric + NOT_ISSUED for metric in known]].to_numpy(np.float64)).any(axis=1)
    if not only.any():
        return profile, frozenset()
    rows = only[profile.instructions["launch"].to_numpy(np.int64)]
    filled = replace(
        profile,
        metrics=profile.metrics.assign(**_filled(profile.metrics, only)),
        instructions=profile.instructions.assign(**_filled(profile.instructions, rows)),
    )
    return filled, frozenset(np.flatnonzero(only).tolist())


def _filled(frame: pd.DataFrame, rows: NDArray[np.bool_]) -> Mapping[str, NDArray[np.float64]]:
    """The columns of stall reasons with the samples without an issued instruction in these rows."""
    found = {}
    for reason, metric in SAMPLES.items():
        values = frame[metric].to_numpy(np.float64) if metric in frame else np.full(len(frame), np.nan)
        if metric + NOT_ISSUED in frame:
            found[metric] = np.where(rows, frame[metric + NOT_ISSUED].to_numpy(np.float64), values)
        elif reason in _ISSUING:
            found[metric] = np.where(rows, 0.0, values)
    return found
