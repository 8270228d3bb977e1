"""Quantities of the host's copies around a kernel: whether the host timed them, their time and their share.

Each function takes and returns float64 columns with one entry per launch (see ``metrics.registry``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.registry import quantity
from ncuview.reader.host_times import HOST_TIMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.registry import Launches

    Column = NDArray[np.float64]


@quantity("1 if so")
def host_timed(launches: Launches) -> Column:
    """1 where the host timed the copies, 0 where it did not, unknown where only some of its times are known."""
    known = np.isfinite([launches.metric(name) for name in HOST_TIMES])
    partly = known.any(axis=0) | launches.was_refused(HOST_TIMES)
    complete = np.isfinite(launches.value("host_end_to_end_time"))
    return np.where(complete, 1.0, np.where(partly, np.nan, 0.0))


@quantity("ns")
def copy_time(host_to_device_time: Column, host_to_host_time: Column) -> Column:
    """Time of the copies to the device and back."""
    return host_to_device_time + host_to_host_time


@quantity("share")
def copy_share(copy_time: Column, host_end_to_end_time: Column) -> Column:
    """Time of the copies as a share of copies and kernel together."""
    return copy_time / host_end_to_end_time
