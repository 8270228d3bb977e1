"""Quantities of warp samples: for each reason to stall, its share of all samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.names import SAMPLES, STALL_REASONS
from ncuview.metrics.registry import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.registry import Launches

    Column = NDArray[np.float64]

OF_SOME_CHIPS = frozenset({SAMPLES["imc_miss"], SAMPLES["warpgroup_arrive"]})
"""Any GPU samples the other reasons; where one of those is missing it was not asked for, and shares would be wrong."""
SAMPLED = tuple(SAMPLES.values())
"""What every share of the samples is computed from."""


def _share_of(reason: str) -> Callable[[Launches], Column]:
    def share(launches: Launches) -> Column:
        samples = {metric: launches.metric(metric) for metric in SAMPLED}
        complete = np.isfinite([samples[metric] for metric in samples if metric not in OF_SOME_CHIPS]).all(axis=0)
        complete &= ~(launches.was_refused(OF_SOME_CHIPS) | _only_others_have(launches, OF_SOME_CHIPS))
        total = np.nansum(list(samples.values()), axis=0)
        # A launch shorter than the sampling interval has no samples, and so no shares.
        return np.where(complete & (total > 0), np.nan_to_num(samples[SAMPLES[reason]]) / total, np.nan)

    share.__name__ = f"stall_{reason}"
    share.__doc__ = (
        f"The share of warp samples with the stall reason {reason}: its samples divided by those of all reasons.\n\n"
        f"{SAMPLES[reason]} is divided by the sum over all {len(STALL_REASONS)} reasons. Unknown where a reason was "
        "not sampled, and for a launch without samples."
    )
    return share


def _only_others_have(launches: Launches, metrics: Iterable[str]) -> NDArray[np.bool_]:
    """Which launches have no value of one of these metrics that another launch on the same GPU has."""
    _, gpu = np.unique(launches.profile.launches["device"].to_numpy(np.str_), return_inverse=True)
    missing = np.zeros(len(gpu), dtype=bool)
    for metric in metrics:
        known = np.isfinite(launches.metric(metric))
        missing |= ~known & np.isin(gpu, gpu[known])
    return missing


for _reason in STALL_REASONS:
    quantity("share", reads=SAMPLED)(_share_of(_reason))


@quantity("share")
def stall_memory(
    stall_long_scoreboard: Column,
    stall_lg_throttle: Column,
    stall_drain: Column,
    stall_short_scoreboard: Column,
    stall_mio_throttle: Column,
) -> Column:
    """The share of warp samples that wait for memory of any kind."""
    return stall_long_scoreboard + stall_lg_throttle + stall_drain + stall_short_scoreboard + stall_mio_throttle


@quantity("share")
def stall_shared_memory(stall_short_scoreboard: Column, stall_mio_throttle: Column) -> Column:
    """The share of warp samples that wait for shared memory, or for other instructions of its queue."""
    return stall_short_scoreboard + stall_mio_throttle


@quantity("share")
def stall_global_memory(stall_long_scoreboard: Column, stall_lg_throttle: Column) -> Column:
    """The share of warp samples that wait for data of global memory, or for its queue."""
    return stall_long_scoreboard + stall_lg_throttle
