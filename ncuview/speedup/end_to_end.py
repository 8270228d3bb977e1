"""Convert a kernel's predicted speedup to that of host copies and kernel together, where the host timed its copies.

``with_copies`` and ``of_host`` return ``Gains``; ``attained`` says how close to a perfect overlap a launch is.

A faster kernel shortens the end-to-end time only by the part of the kernel that does not overlap with copies (Amdahl);
a rule about copies says directly which share of the end-to-end time is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.speedup.attainable import of_gpu
from ncuview.speedup.model import CERTAINTY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis
    from ncuview.speedup.model import Gains

    Column = NDArray[np.float64]

_BOTH_WAYS = 1.3
"""How much longer copies take that run in both directions at once; overlappedCopies[streams=3] on an H200."""
TRANSFER = "transfer"
"""The word for the bottleneck of a launch whose copies take longer than its kernel."""


def of_host(left: Column) -> Gains:
    """What each launch gains from a change after which this share of the time of copies and kernel is left."""
    saved = np.outer(list(CERTAINTY.values()), np.clip(1 - left, 0.0, 1.0))
    gains: Gains = 1 / np.maximum(1e-3, 1 - np.minimum(1.0, saved))
    return gains


def with_copies(gains: Gains, analysis: Analysis) -> Gains:
    """The end-to-end gain from the gain of a kernel; unchanged where no copies were timed."""
    shown = _shown(analysis)
    with np.errstate(divide="ignore", over="ignore"):  # a gain of 0 is a kernel that never ends
        return np.where(np.isfinite(shown), 1 / (1 - shown + shown / gains), gains)


def _shown(analysis: Analysis) -> Column:
    """The share of the end-to-end time in which only the kernel runs; NaN where no copies were timed."""
    kernel, end_to_end = analysis.value("host_kernel_time"), analysis.value("host_end_to_end_time")
    longest_copy = np.maximum(analysis.value("host_to_device_time"), analysis.value("host_to_host_time"))
    overlapped = analysis.value("host_streams") > 1
    shown = np.where(overlapped, np.maximum(0.0, kernel - longest_copy), kernel) / end_to_end
    return np.minimum(1.0, shown)


def attained(analysis: Analysis) -> Column:
    """How close copies and kernel come to a perfect overlap at the speed of the bus, 0..1; NaN where not timed."""
    speeds = {device: of_gpu(device)["host_bytes_per_ns"] for device in set(analysis.devices)}
    each_way = analysis.value("host_copied_bytes") / 2 / np.array([speeds[device] for device in analysis.devices])
    longest = np.maximum(_BOTH_WAYS * each_way, analysis.value("host_kernel_time"))
    close: Column = np.minimum(1.0, longest / analysis.value("host_end_to_end_time"))
    return close


def copies_dominate(analysis: Analysis) -> list[bool]:
    """Whether the copies of each launch take longer than its kernel."""
    copies = analysis.value("host_to_device_time") + analysis.value("host_to_host_time")
    longer: list[bool] = (copies > analysis.value("host_kernel_time")).tolist()
    return longer
