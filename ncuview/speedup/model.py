"""The what-if model: predict each launch's speedup from what a change leaves of its unit demands and latency.

``load_of(analysis)`` gives the use of all units, ``predict`` the speedup and the bottleneck after the change,
``bottlenecks_now`` today's bottleneck.

Times are shares of the launch's present duration. Each unit r is used to a share ``u_r`` of its peak, and a good kernel
attains ``a_r`` of that peak, so the unit alone needs ``u_r / a_r``. The largest of these is the *floor*. What no unit
explains is *latency*, which overlaps with the work of the units instead of adding to it::

    1 = floor**2 + latency**2                        before the change
    after = sqrt(floor_after**2 + latency_after**2)
    speedup = 1 / after

A rule says what its change leaves of the work of the units, what it adds, and which share of the latency it hides.
Latencies of each warp that today's bottleneck hides count once it is gone. Since the floor is over all units,
advice for a unit that is not the bottleneck predicts 1.0, and the prediction for the bottleneck already contains the
next one. The quadratic sum is measured, not assumed: see validation/predicted-and-measured.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.units import BLOCKS, DRAM_BYTES, UNITS, Unit
from ncuview.reader.validity import MOST_OF_PEAK
from ncuview.sass.code import of_class
from ncuview.speedup.attainable import bounds_of, figure_columns, of_gpu
from ncuview.speedup.effects import ADDED, by_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis
    from ncuview.sass.opcode_classes import Class

    Column = NDArray[np.float64]
    Demands = Mapping[str, Column]
    Gains = NDArray[np.float64]
    """Predicted speedups: the rows are ``low``, ``best`` and ``high``, with one entry per launch."""

BOTTLENECK_SHARE = 0.8
"""A unit that reaches this share of the attainable is the bottleneck; below it, latency is. The finished kernels of the
catalogue reach 0.88 to 1.0, the ones that wait for memory with idle units at most 0.78."""

CERTAINTY = {"low": 0.75, "best": 1.0, "high": 1.3}
"""At each bound, the part of the latency claimed by a rule that goes away. It was set on the transposes, where 21 of 22
measured steps then lay between low and high; UNEXPLAINED covers what other kernels showed since."""

UNEXPLAINED = 0.5
"""How far a gain lies from the prediction for reasons that are not in the model, as a share of the prediction's
logarithm: 2.0x becomes 1.4x to 2.8x."""
MORE_THAN_THE_WASTE = 1.16
"""Upwards a factor beside it: a change often removes more than the waste that was found. With both numbers 488 of 602
first changes that programs of validation/accuracy.md made as advised gained between low and high, 81 %, and 24 of 28 on
an H100; of 971 right first predictions, some of which are measured by another change as good, 77 %."""
MOST_UNEXPLAINED = 5.0
"""The largest such factor: of 21 predictions of 10x or more for those programs, it covers 20."""

UNEXPLAINED_WITHOUT_CODE = 0.8
"""UNEXPLAINED for findings without machine code, which rest on assumptions. Fitted on the odd labelled programs with
their code removed, it covers 312 of 359 right predictions there and 307 of 367 of the even ones; 0.6 covers three
quarters of both (python -m validation.without_code)."""

_START_NS, _TRIP_NS = 300.0, 400.0
"""The time to start and end a warp, and that of a load beyond L1. On an H200, waves of warps that load once take 960 to
1040 ns; 96 loads that wait for one another in L2 take 19.1 us, 62 from device memory 41.5 us."""
_DURATION = "gpu__time_duration.sum"
_UNIT_NAMES = (*UNITS, BLOCKS, "launch")
_TRAFFIC = frozenset({"l2_sectors", "dram_bytes"})
_FEWER_WAITS = frozenset({"instructions", "memory_instructions", "atomics", "blocks"})
"""A change that lowers the traffic, lowers none of these and adds no work leaves warps waiting as often as before."""
_LEAST_LEFT = 1e-6
"""The smallest share of the time that a change can leave; the largest prediction of the catalogue leaves 4e-4."""


@dataclass(frozen=True)
class Load:
    """How each launch uses the GPU.

    Attributes:
        use: Unit -> share of its peak, 0..1, one per launch. ``blocks`` is the start of blocks, which a GPU does one
            after the other; ``launch`` is what the emptiest launch and one trip to memory cost.
        attainable: Bound -> unit -> the share of peak that a good kernel reaches.
        own_waits: The share of each launch's time that its waves of warps would take with all units idle; 0 where
            it is unknown. Every warp starts, and goes to L2 or device memory for each group of loads that L1 does not
            hold.
    """

    use: Demands
    attainable: Mapping[str, Demands]
    own_waits: Column

    def of_launch(self, launch: int) -> Load:
        """One launch of these."""
        one = slice(launch, launch + 1)
        bounds = {bound: _at(shares, one) for bound, shares in self.attainable.items()}
        return Load(_at(self.use, one), bounds, self.own_waits[one])

    def missing(self, launch: int) -> tuple[str, ...]:
        """The metrics that any prediction needs and this launch does not have."""
        missing = [what.metric for unit, what in UNITS.items() if what.needed and np.isnan(self.use[unit][launch])]
        if np.isnan(self.attainable["best"]["dram"][launch]) and not np.isnan(self.use["dram"][launch]):
            missing += DRAM_BYTES
        if np.isnan(self.use["launch"][launch]):
            missing.append(_DURATION)
        return tuple(missing)

    def closeness(self, bound: str = "best") -> Column:
        """Units x launches: how close each unit is to what is attainable; NaN where it was not measured."""
        return np.array([self.use[unit] / self.attainable[bound][unit] for unit in _UNIT_NAMES])

    def floor(self, bound: str = "best") -> Column:
        """The share of each launch's time that its busiest unit needs."""
        floor: Column = np.fmax.reduce(self.closeness(bound), axis=0)
        return floor

    def latency(self, bound: str = "best") -> Column:
        """The share of each launch's time that no unit explains; it overlaps with the floor."""
        return np.sqrt(np.maximum(0.0, 1.0 - self.floor(bound) ** 2))


def _at(demands: Demands, launches: slice) -> Demands:
    return {unit: column[launches] for unit, column in demands.items()}


def load_of(analysis: Analysis) -> Load:
    """How the launches under analysis use the units of their GPUs."""
    profile = analysis.profile
    known = {device: of_gpu(device) for device in set(analysis.devices)}
    gpus = [known[device] for device in analysis.devices]
    duration = profile.launches["duration_ns"].to_numpy(np.float64)
    use = {unit: use_of(analysis, what) for unit, what in UNITS.items()}
    started = analysis.value("grid_size") / figure_columns(analysis)["gpu.blocks_per_ns"]
    use[BLOCKS] = np.minimum(1.0, started / duration)
    loads = analysis.value("dram_bytes_read") + analysis.value("l2_sectors") > 0
    least = np.array([gpu["launch_ns"] for gpu in gpus]) + loads * np.array([gpu["memory_ns"] for gpu in gpus])
    use["launch"] = np.minimum(1.0, least / duration)
    written = written_share(analysis) * np.array([gpu["dram_write_cost"] for gpu in gpus])
    bounds = {}
    for bound in CERTAINTY:
        shares = {unit: np.array([bounds_of(gpu, unit)[bound] for gpu in gpus]) for unit in UNITS}
        shares["dram"] = shares["dram"] - written
        # A launch that exceeds the table shows that more is attainable. What is unknown stays unknown.
        bounds[bound] = {unit: np.maximum(share, use[unit]) for unit, share in shares.items()}
        bounds[bound] |= {BLOCKS: np.ones(len(gpus)), "launch": np.ones(len(gpus))}
    return Load(use, bounds, _own_waits(analysis))


def _own_waits(analysis: Analysis) -> Column:
    beyond_l1 = np.maximum(0.0, 1 - analysis.value("l1_load_hit_pct") / 100)
    with np.errstate(all="ignore"):  # a launch without duration gives no number
        share = analysis.value("waves_per_sm") * _of_a_wave(analysis, beyond_l1) / analysis.value("duration")
    return np.where(np.isfinite(share), share, 0.0)


def waits_of_present_threads(analysis: Analysis) -> Column:
    """The time that warps, as many as now, wait if no load hits L1, as a share of each launch's time; NaN if unknown.

    Coalescing leaves this time in a kernel with a row for each thread: L1 serves most scattered loads, and none of the
    coalesced ones. Of 11 labelled steps that kept the threads, 9 gained at most the inverse of this share (k183a 3.1x,
    its inverse 3.5x; coalescing with more threads is predicted 10.3x); k97b and k190a gained more, by wider loads.
    """
    with np.errstate(all="ignore"):
        waves = np.maximum(1.0, analysis.value("waves_per_sm"))
        return waves * _of_a_wave(analysis, np.ones(len(analysis.devices))) / analysis.value("duration")


def _of_a_wave(analysis: Analysis, beyond_l1: Column) -> Column:
    """The ns that a wave of warps takes with all units idle, where this share of its loads goes beyond L1."""
    with np.errstate(all="ignore"):  # a launch without warps gives no number
        trips = analysis.value("waits_for_loads") / analysis.value("warps") * beyond_l1
        return _START_NS + trips * _TRIP_NS


def use_of(analysis: Analysis, what: Unit) -> Column:
    """A unit's use as a share of its peak, one per launch; NaN where it is unknown."""
    if what.quantity:
        use = analysis.value(what.quantity)
        return np.where(use < MOST_OF_PEAK / 100, use, np.nan)
    use = analysis.metric(what.metric) / 100
    if what.works_for and np.isnan(use).any():
        use[np.isnan(use) & _has_none(analysis, what.works_for)] = 0.0
    return use


def _has_none(analysis: Analysis, asked: Class) -> NDArray[np.bool_]:
    """For each launch whether its code is known and none of its instructions is of a class."""
    found = np.zeros(len(analysis.profile.launches), dtype=bool)
    for launch, rows in analysis.instructions.items():
        found[launch] = not of_class(rows.code, asked).any()
    return found


def written_share(analysis: Analysis) -> Column:
    """Bytes written as a share of all bytes of device memory; 0 where there are none, NaN where not counted."""
    read, written = (analysis.metric(metric) for metric in DRAM_BYTES)
    return written / np.maximum(read + written, 1.0)


def predict(
    load: Load,
    effects: Mapping[str, Column],
    added: Mapping[str, Column],
    latency_hidden: Column,
    time_left: Column | float = 0.0,
    unexplained: Column | float = UNEXPLAINED,
) -> tuple[Gains, list[str]]:
    """Predict what each launch gains from a change with these effects.

    A change that lowers only the traffic to L2 or device memory leaves the latencies that each warp waits for. Today's
    bottleneck hides them; after the change they count, as far as the launch does not become slower than it is.

    Args:
        load: The launches as they are.
        effects: Effect on the work of units -> the share that is left.
        added: Effect -> work that the change brings, per cycle of all multiprocessors.
        latency_hidden: The share of the latency that goes away.
        time_left: The share of the time that is left whatever the units need.
        unexplained: How far the gain may lie from the prediction, as a share of the prediction's logarithm.

    Returns:
        The speedups, and what limits each launch after the change. A speedup is NaN where any of these is not a number:
        an unknown demand must not count as a demand of 0.
    """
    after = _after(load, effects, added)
    known = np.ones(len(load.use["launch"]), dtype=bool)
    for change in (*effects.values(), *added.values()):
        known = known & np.isfinite(change)

    speedups, now = [], load.latency()
    for bound, certainty in CERTAINTY.items():
        hidden = np.minimum(1.0, latency_hidden * certainty)
        latency = np.maximum(now * (1 - hidden), np.minimum(after.own_waits, after.latency(bound)))
        time = np.maximum(np.sqrt(after.floor(bound) ** 2 + latency**2), _LEAST_LEFT)
        speedups.append(np.where(known, 1 / np.maximum(time, time_left), np.nan))
    low, best, high = speedups
    off = np.minimum(best**unexplained, MOST_UNEXPLAINED)
    gains = np.array([np.minimum(low, best / off), best, np.maximum(high, best * off * MORE_THAN_THE_WASTE)])
    # What units do that the change leaves as they are takes as long as it does at their full peak.
    unchanged = np.fmax.reduce([use for unit, use in load.use.items() if unit not in by_unit(effects)])
    gains[2] = np.maximum(best, np.fmin(gains[2], 1 / np.fmax(time_left, unchanged)))
    return gains, _bottlenecks(after.closeness(), now * (1 - latency_hidden))


def after_change(load: Load, effects: Mapping[str, Column], added: Mapping[str, Column], gain: Column | float) -> Load:
    """The launches after a change that makes them ``gain`` times as fast, as shares of their new durations."""
    after = _after(load, effects, added)
    use = {unit: share * gain for unit, share in after.use.items()}
    attainable = {
        bound: {unit: np.fmax(share, use[unit]) for unit, share in shares.items()}
        for bound, shares in after.attainable.items()
    }
    return Load(use, attainable, np.minimum(1.0, after.own_waits * gain))


def _after(load: Load, effects: Mapping[str, Column], added: Mapping[str, Column]) -> Load:
    """What a change leaves of the use of the units and of the waits, as shares of the present duration."""
    use = dict(load.use)
    for unit, share in by_unit(effects).items():
        use[unit] = use[unit] * share
    for name, work in added.items():
        for unit, rate in ADDED[name].items():
            use[unit] = use[unit] + work / rate
    return replace(load, use=use, own_waits=_own_waits_left(load, effects, added))


def _own_waits_left(load: Load, effects: Mapping[str, Column], added: Mapping[str, Column]) -> Column:
    """The latencies that warps wait for after a change that lowers traffic alone; 0 for other changes.

    These waits result from the present order of loads. A change that adds work, such as staging a tile, brings another
    order, for which they are unknown: with them, four transposes that store columns would be predicted 0.6 to
    0.8 of what a padded tile brought; without them, 0.9 to 1.05.
    """
    none = np.zeros_like(load.own_waits)
    if added or not _TRAFFIC & effects.keys():
        return none
    fewer = np.any([none, *(none + effects[name] < 1 for name in _FEWER_WAITS & effects.keys())], axis=0)
    return np.where(fewer, 0.0, load.own_waits)


def bottlenecks_now(load: Load) -> list[str]:
    """What limits each launch: a unit's word, ``launch`` or ``latency``; ``unknown`` where a unit was not measured.

    Latency is what no unit explains, so all units must be known for it.
    """
    words = _bottlenecks(load.closeness(), load.latency())
    return ["unknown" if word == "latency" and load.missing(launch) else word for launch, word in enumerate(words)]


def _bottlenecks(closeness: Column, latency: Column) -> list[str]:
    busiest = np.nanargmax(np.where(np.isnan(closeness), -1.0, closeness), axis=0)
    floor = np.fmax.reduce(closeness, axis=0)
    with np.errstate(invalid="ignore"):  # an idle launch of unknown time counts as latency
        share_of_floor = floor / np.sqrt(floor**2 + latency**2)
    names = [_UNIT_NAMES[unit] for unit in busiest]
    words = [UNITS[name].bottleneck if name in UNITS else name for name in names]
    return [word if share >= BOTTLENECK_SHARE else "latency" for word, share in zip(words, share_of_floor, strict=True)]
