"""Compute from profiles of the calibration kernels (``KERNELS``) what a GPU attains: ``calibrate`` -> ``Calibration``.

A ``Calibration`` holds low, best and high share of peak for each unit, and figures such as launch time and copy rate.

No unit reaches 1.0, so a prediction that assumes 1.0 predicts too much. Of each unit:

best   what the saturating kernels reached
low    the least that kernels limited by this unit reach, or a usual share of ``best``
high   ``best`` and the spread between runs; 1 where another unit was busier, so that more would have been possible
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from ncuview.base.errors import NothingProfiled, UsageError
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.units import UNITS
from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.speedup.attainable import MOST, Gpu, bounds_of, shipped
from ncuview.speedup.model import BOTTLENECK_SHARE, use_of, written_share

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

SPREAD = 0.035
"""How far two runs differ, as a share: on an H200 dramRead 0.891 and 0.916, l2Read 0.647 and 0.67."""
USUAL_LOW = 0.91
"""``low`` as a share of ``best``, where no kernel shows it: 0.90 to 0.92 for the pipes and l2_out of an H200."""
LEAST_SATURATED = 0.5
"""Below this share of its peak a kernel does not saturate its unit. On an H200 each reaches 0.65 at least."""


@dataclass(frozen=True)
class _Kernels:
    """The catalogue's kernels that show what a unit attains.

    Attributes:
        saturating: The kernels that reach the most.
        limited: Kernels that the unit limits too, and that reach less.
    """

    saturating: tuple[str, ...]
    limited: tuple[str, ...] = ()


_SHOWN_BY: Mapping[str, _Kernels] = {
    "dram": _Kernels(("dramRead", "reduce_v5_2"), ("transposeGranularity",)),
    "l2_in": _Kernels(("transformNaiveRow", "l2Scatter"), ("l2Scatter",)),
    "l2_out": _Kernels(("l2Read",)),
    "l1_data": _Kernels(("sharedWavefronts",), ("transposeCoalesced",)),
    "lsu": _Kernels(("sharedRequests",)),
    "issue": _Kernels(("fmaPipe",)),
    "l2_atomic": _Kernels(("histogram_global",), ("count_warp",)),
    "constant": _Kernels(("applyGenerated_divergent",), ("ApplySignal_divergent",)),
    "imad": _Kernels(("pinnedCopies",)),
    "alu": _Kernels(("aluPipe",)),
    "fma": _Kernels(("fmaPipe",)),
    "fp64_tensor": _Kernels(("fp64Pipe",)),
    "xu": _Kernels(("xuPipe",)),
}
_EMPTY, _HALF_WRITTEN, _MOST_BLOCKS, _COPIES = "emptyKernel", "copySharedMem", "transposeGranularity", "pinnedCopies"
_SMALLEST = ("reduce_v5_2", "reduce_shuffle")
"""The smallest launches that read memory: those with n = 32768, ..."""
_FEW_BLOCKS = 16
"""... which have at most this many blocks."""
_MANY_BLOCKS = 1 << 20
"""Blocks of _MOST_BLOCKS with the smallest tile."""
_NOT_SHOWN = ("bytes_in_flight", "float_atomic_use", "start_ns", "graph_gap_ns", "l2_bytes", "shared_bytes")

KERNELS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(name for shown_by in _SHOWN_BY.values() for name in (*shown_by.saturating, *shown_by.limited)),
            *(_EMPTY, _HALF_WRITTEN, "transposeGranularity[tile=8,rows=8]"),
            *(f"{name}[n=32768]" for name in _SMALLEST),
        )
    )
)
"""The kernels of the catalogue to profile."""


@dataclass(frozen=True)
class _Seen:
    """What calibration reads of a launch.

    Attributes:
        kernel: Its name.
        use: Unit -> share of its peak, 0..1, of those that were measured.
        duration_ns: How long it took.
        blocks: Blocks launched.
        written: Bytes written as a share of all bytes of device memory; NaN where not counted.
        copied_per_ns: Bytes that the host copied per ns; NaN where it timed no copies.
    """

    kernel: str
    use: Mapping[str, float]
    duration_ns: float
    blocks: float
    written: float
    copied_per_ns: float

    @property
    def busiest(self) -> str:
        """The unit with the largest share of its peak."""
        return max(self.use, key=self.use.__getitem__)

    def limited_by(self, unit: str, bests: Mapping[str, Attained], more: float = 0.0) -> bool:
        """Whether a unit is the bottleneck; ``more`` is the share of peak that writing costs it."""
        close = {each: use / bests[each].best for each, use in self.use.items()}
        if unit not in close:
            return False
        close[unit] += more / bests[unit].best
        return close[unit] >= max(BOTTLENECK_SHARE, *close.values())


def calibrate(profiles: Sequence[Profile]) -> Calibration:
    """What good kernels attain on the GPU that these profiles are from.

    Args:
        profiles: Launches of ``KERNELS``, with the host's times of copies where there are any; other launches are
            ignored. What the launches do not show is taken from the shipped table.

    Raises:
        UsageError: The profiles are from several GPUs.
        NothingProfiled: No launch is one of ``KERNELS``, or the reports do not name the GPU.
    """
    seen = [launch for profile in profiles for launch in _launches(Analysis(profile))]
    device = _device(profiles)
    before = shipped(device)
    bests = {unit: _best(unit, seen, before) for unit in UNITS}
    write_cost = _write_cost(seen, bests, before)
    shares = {unit: _with_low(unit, best, seen, bests, write_cost.value) for unit, best in bests.items()}
    if all(share.assumed for share in shares.values()):
        raise NothingProfiled(
            f"no launch shows what {device} attains",
            hint=f"Calibrate from reports of the kernels {', '.join(KERNELS)}, with all metrics of `ncuview rules`.",
        )
    unseen = {name: Figure(before[name], "", "no kernel of the catalogue measures it alone") for name in _NOT_SHOWN}
    figures = {**_times(seen, before), **_rates(seen, bests, before), "dram_write_cost": write_cost, **unseen}
    return Calibration(device, _when(profiles), shares, {name: f for name, f in figures.items() if isfinite(f.value)})


def _device(profiles: Sequence[Profile]) -> str:
    devices = list(dict.fromkeys(name for profile in profiles for name in profile.launches["device"].tolist()))
    if len(devices) > 1:
        raise UsageError(f"the reports are from several GPUs: {', '.join(devices)}", hint="Calibrate one at a time.")
    if not devices or not devices[0]:
        raise NothingProfiled("the reports do not name their GPU")
    return str(devices[0])


def _when(profiles: Sequence[Profile]) -> str:
    """When the newest report was made, and with which ncu."""
    reports = [report for profile in profiles for report in profile.reports]
    dates = [report.created for report in reports if report.created]
    versions = dict.fromkeys(f"ncu {report.ncu_version}" for report in reports if report.ncu_version)
    return ", ".join([*([f"{max(dates):%Y-%m-%d}"] if dates else []), *versions])


def _launches(analysis: Analysis) -> Iterable[_Seen]:
    profile = analysis.profile
    uses = {unit: use_of(analysis, what) for unit, what in UNITS.items()}
    blocks, written = analysis.value("grid_size"), written_share(analysis)
    copying = analysis.value("host_to_device_time") + analysis.value("host_to_host_time")
    with np.errstate(all="ignore"):
        copied = analysis.value("host_copied_bytes") / copying
    for at, (kernel, duration) in enumerate(
        zip(profile.launches["kernel"].tolist(), profile.launches["duration_ns"].tolist(), strict=True)
    ):
        use = {unit: float(use[at]) for unit, use in uses.items() if isfinite(use[at])}
        yield _Seen(kernel, use, duration, float(blocks[at]), float(written[at]), float(copied[at]))


def _of(seen: Iterable[_Seen], *kernels: str) -> list[_Seen]:
    return [launch for launch in seen if launch.kernel in kernels]


def _best(unit: str, seen: Sequence[_Seen], before: Gpu) -> Attained:
    """The most that the saturating kernels reached, with the bounds that follow from it alone."""
    known = bounds_of(before, unit)
    assumed = Attained(known["low"], known["best"], known["high"], "")
    shown_by = _SHOWN_BY.get(unit)
    if not shown_by:
        return replace(assumed, assumed="no kernel of the catalogue saturates it")
    launches = [launch for launch in _of(seen, *shown_by.saturating) if unit in launch.use]
    if not launches:
        return replace(assumed, assumed=f"no launch of {' or '.join(shown_by.saturating)}")
    top = max(launches, key=lambda launch: launch.use[unit])
    reached = min(MOST, top.use[unit])
    if reached < LEAST_SATURATED:
        return replace(assumed, assumed=f"{top.kernel} reaches only {reached:.2f}")
    best, most = (reached, reached * (1 + SPREAD)) if top.busiest == unit else (max(reached, known["best"]), 1.0)
    return _rounded(USUAL_LOW * reached, best, max(best, min(1.0, most)), top.kernel)


def _rounded(low: float, best: float, high: float, kernel: str) -> Attained:
    return Attained(round(low, 3), round(best, 3), round(high, 3), kernel)


def _with_low(
    unit: str, share: Attained, seen: Sequence[_Seen], bests: Mapping[str, Attained], write_cost: float
) -> Attained:
    """The share with the least that kernels reach which are limited by this unit, where any is."""
    if share.assumed:
        return share
    spared = write_cost if unit == "dram" else 0.0
    limited = [
        launch.use[unit] + spared * launch.written
        for launch in _of(seen, *_SHOWN_BY[unit].limited)
        if launch.limited_by(unit, bests, spared * launch.written)
    ]
    return _rounded(min(*limited, share.best), share.best, share.high, share.kernel) if limited else share


def _write_cost(seen: Sequence[_Seen], bests: Mapping[str, Attained], before: Gpu) -> Figure:
    """How much less of the memory's peak is attained when all bytes are written, from a kernel that writes half."""
    best = bests["dram"]
    costs = [
        max(0.0, best.best - launch.use["dram"]) / launch.written
        for launch in _of(seen, _HALF_WRITTEN)
        if launch.written > 0 and launch.limited_by("dram", bests)
    ]
    if best.assumed or not costs:
        return Figure(before["dram_write_cost"], "", f"no launch of {_HALF_WRITTEN} that device memory limits")
    return Figure(round(min(costs), 3), _HALF_WRITTEN)


def _times(seen: Sequence[_Seen], before: Gpu) -> dict[str, Figure]:
    """What the emptiest launch takes, and how much longer the smallest one takes that reads memory."""
    empty = [launch.duration_ns for launch in _of(seen, _EMPTY)]
    small = [launch for launch in _of(seen, *_SMALLEST) if launch.blocks <= _FEW_BLOCKS]
    if not empty:
        reason = f"no launch of {_EMPTY}"
        return {name: Figure(before[name], "", reason) for name in ("launch_ns", "memory_ns")}
    launch = Figure(_four_digits(min(empty)), _EMPTY)
    if not small:
        reason = f"no launch of {' or '.join(_SMALLEST)} with n = 32768"
        return {"launch_ns": launch, "memory_ns": Figure(before["memory_ns"], "", reason)}
    quickest = min(small, key=lambda launch: launch.duration_ns)
    memory = max(0.0, quickest.duration_ns - min(empty))
    return {"launch_ns": launch, "memory_ns": Figure(_four_digits(memory), quickest.kernel)}


def _rates(seen: Sequence[_Seen], bests: Mapping[str, Attained], before: Gpu) -> dict[str, Figure]:
    """How fast blocks start, from a kernel that no unit limits, and how fast the host copies."""
    copied = [launch.copied_per_ns for launch in _of(seen, _COPIES) if isfinite(launch.copied_per_ns)]
    started = [
        launch.blocks / launch.duration_ns
        for launch in _of(seen, _MOST_BLOCKS)
        if launch.blocks >= _MANY_BLOCKS and not any(launch.limited_by(unit, bests) for unit in launch.use)
    ]
    rates = {"blocks_per_ns": (started, _MOST_BLOCKS), "host_bytes_per_ns": (copied, _COPIES)}
    return {
        name: Figure(_four_digits(max(values)), kernel)
        if values
        else Figure(before.get(name, nan), "", f"no launch of {kernel} that shows it")
        for name, (values, kernel) in rates.items()
    }


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")
