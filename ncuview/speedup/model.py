"""Predict each launch's speedup from a change of its unit demands and latency (what-if model); name its bottleneck.

``load_of`` computes the use of every unit from a profile, ``predict`` the speedup, ``walls_now`` the bottleneck.

Times are shares of the launch's present duration. Each unit r is used to a share ``u_r`` of its peak, and a good kernel
attains ``a_r`` of that peak, so the unit alone needs ``u_r / a_r``. The largest of these is the *floor*. What no unit
explains is *latency*, which overlaps with the work of the units instead of adding to it::

    1 = floor**2 + latency**2                        before the change
    after = sqrt(floor_after**2 + latency_after**2)
    speedup = 1 / after

A rule says what its change does to each: units lose demand (``scale``) or gain some (``adds``), latency loses a
share. What warps wait for by themselves and today's bottleneck hides shows once the bottleneck is gone, where a rule
says how much (``waits``). Since the floor is over all units, the prediction for a unit that is not the bottleneck is
1.0, and the prediction for the bottleneck already contains the next one. The quadratic sum is measured, not assumed:
see docs/promised-and-got.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.quantities import column, derived, has_none
from ncuview.metrics.units import BLOCKS, DRAM_BYTES, UNITS, Unit, members
from ncuview.reader.validity import MOST_OF_PEAK
from ncuview.speedup.attainable import bounds_of, of_gpu

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]
    Demands = Mapping[str, Column]

WALL_SHARE = 0.8
"""From this share of the attainable on, a unit is the wall; below, latency is. The finished kernels of the catalogue
reach 0.88 to 1.0, the ones that wait for memory with idle units at most 0.78."""

CERTAINTY = {"low": 0.75, "best": 1.0, "high": 1.3}
"""How much of the latency that a rule claims is taken to go away at each bound. It was set on the transposes, where 21
of 22 measured steps then lay between low and high; UNEXPLAINED covers what other kernels showed since."""

UNEXPLAINED = 0.6
"""How far, as a share of its logarithm, a gain lies from the promise for reasons that the model does not know: 2.0x
then becomes 1.3x to 3.0x. With it, the measured gain lies between low and high in 141 of 196 promises of right advice
for the programs of docs/accuracy.md; with 0.4 in 121, with 0.15 in less than half."""
MOST_UNEXPLAINED = 5.0
"""A factor beyond which no promise is stretched: of 21 promises of 10x or more for those programs, it covers 20."""

_DURATION = "gpu__time_duration.sum"
_UNIT_NAMES = (*UNITS, BLOCKS, "launch")
_LEAST_LEFT = 1e-6
"""No change takes away more than all but this share of the time; the largest promise of the catalogue leaves 4e-4."""


@dataclass(frozen=True)
class Load:
    """How each launch uses the GPU.

    Attributes:
        use: Unit -> share of its peak, 0..1, one per launch. ``blocks`` is the start of blocks, which a GPU does one
            after the other; ``launch`` is what the emptiest launch and one trip to memory cost.
        attainable: Bound -> unit -> the share of peak that a good kernel reaches.
    """

    use: Demands
    attainable: Mapping[str, Demands]

    def missing(self, launch: int) -> tuple[str, ...]:
        """The metrics without which nothing can be predicted and which this launch lacks."""
        lacking = [what.metric for unit, what in UNITS.items() if what.needed and np.isnan(self.use[unit][launch])]
        if np.isnan(self.attainable["best"]["dram"][launch]) and not np.isnan(self.use["dram"][launch]):
            lacking += DRAM_BYTES
        if np.isnan(self.use["launch"][launch]):
            lacking.append(_DURATION)
        return tuple(lacking)

    def closeness(self, bound: str = "best") -> Column:
        """Units x launches: how close each unit is to what is attainable; NaN where it was not measured."""
        return np.array([self.use[unit] / self.attainable[bound][unit] for unit in _UNIT_NAMES])

    def floor(self) -> Column:
        """The share of each launch's time that its busiest unit explains."""
        floor: Column = np.fmax.reduce(self.closeness(), axis=0)
        return floor

    def latency(self) -> Column:
        """The time in which no unit is busy enough to explain it, as it overlaps with the floor."""
        return np.sqrt(np.maximum(0.0, 1.0 - self.floor() ** 2))


@dataclass(frozen=True)
class Speedup:
    """The predicted factor for each launch, with bounds and the unit that limits it afterwards."""

    low: Column
    best: Column
    high: Column
    wall_after: list[str]


def load_of(profile: Profile) -> Load:
    """How the launches of a profile use the units of their GPUs."""
    devices = profile.launches["device"].tolist()
    known = {device: of_gpu(device) for device in set(devices)}
    gpus = [known[device] for device in devices]
    duration = profile.launches["duration_ns"].to_numpy(np.float64)
    use = {unit: use_of(profile, what) for unit, what in UNITS.items()}
    started = column(profile, "launch__grid_size") / np.array([gpu.get("blocks_per_ns", np.nan) for gpu in gpus])
    use[BLOCKS] = np.minimum(1.0, started / duration)
    loads = column(profile, "dram__bytes_read.sum") + column(profile, "lts__t_sectors.sum") > 0
    least = np.array([gpu["launch_ns"] for gpu in gpus]) + loads * np.array([gpu["memory_ns"] for gpu in gpus])
    use["launch"] = np.minimum(1.0, least / duration)
    written = written_share(profile) * np.array([gpu["dram_write_cost"] for gpu in gpus])
    bounds = {}
    for bound in CERTAINTY:
        shares = {unit: np.array([bounds_of(gpu, unit)[bound] for gpu in gpus]) for unit in UNITS}
        shares["dram"] = shares["dram"] - written
        # A launch that beats the table has shown that more is attainable. What is unknown stays unknown.
        bounds[bound] = {unit: np.maximum(share, use[unit]) for unit, share in shares.items()}
        bounds[bound] |= {BLOCKS: np.ones(len(devices)), "launch": np.ones(len(devices))}
    return Load(use, bounds)


def use_of(profile: Profile, what: Unit) -> Column:
    """A unit's use as a share of its peak, one per launch; NaN where it is unknown."""
    if what.derived:
        use = derived(profile, what.derived)
        return np.where(use < MOST_OF_PEAK / 100, use, np.nan)
    use = column(profile, what.metric) / 100
    if what.works_for and np.isnan(use).any():
        use[np.isnan(use) & has_none(profile, what.works_for)] = 0.0
    return use


def written_share(profile: Profile) -> Column:
    """Bytes written as a share of all bytes of device memory; 0 where there are none, NaN where not counted."""
    read, written = (column(profile, metric) for metric in DRAM_BYTES)
    return written / np.maximum(read + written, 1.0)


def predict(
    load: Load,
    scale: Demands,
    adds: Demands,
    latency: Column,
    least: Column | float = 0.0,
    waits: Column | float = 0.0,
) -> Speedup:
    """What each launch gains from a change that does this to its units and its latency.

    Args:
        load: The launches as they are.
        scale: Unit or wall -> the share of its demand that is left.
        adds: Unit or wall -> new demand, as a share of the present duration at the unit's peak.
        latency: The share of the latency that goes away.
        least: The share of the time that is left whatever the units say.
        waits: The share of the time that warps wait for by themselves; what the wall of today hides of it shows once
            the wall is gone, as far as that does not make the launch slower than it is.

    Returns:
        NaN where any of these is no number: a demand that is unknown must not read as one that has gone.
    """
    demand = {unit: use.copy() for unit, use in load.use.items()}
    told = np.ones(len(load.use["launch"]), dtype=bool)
    for change in (*scale.values(), *adds.values()):
        told = told & np.isfinite(change)
    for name, share in scale.items():
        for unit in members(name):
            demand[unit] = demand[unit] * share
    for name, more in adds.items():
        for unit in members(name):
            demand[unit] = demand[unit] + more

    speedups, closeness = {}, {}
    for bound, certainty in CERTAINTY.items():
        shares = load.attainable[bound]
        closeness[bound] = np.array([demand[unit] / shares[unit] for unit in _UNIT_NAMES])
        floor = np.fmax.reduce(closeness[bound], axis=0)
        hidden = np.minimum(waits, np.sqrt(np.maximum(0.0, 1.0 - floor**2)))
        left = np.maximum(load.latency() * (1 - np.minimum(1.0, latency * certainty)), hidden)
        after = np.maximum(np.sqrt(floor**2 + left**2), _LEAST_LEFT)
        speedups[bound] = np.where(told, 1 / np.maximum(after, least), np.nan)
    best = speedups["best"]
    unexplained = np.minimum(best**UNEXPLAINED, MOST_UNEXPLAINED)
    return Speedup(
        low=np.minimum(speedups["low"], best / unexplained),
        best=best,
        high=np.maximum(speedups["high"], best * unexplained),
        wall_after=_walls(closeness["best"], load.latency() * (1 - latency)),
    )


def walls_now(load: Load) -> list[str]:
    """What limits each launch: a unit's wall, ``launch`` or ``latency``; ``unknown`` where a unit was not measured."""
    words = _walls(load.closeness(), load.latency())
    # Latency is what no unit explains, which takes all units to say.
    explained = [
        word not in {"latency", "launch", BLOCKS} or not load.missing(launch) for launch, word in enumerate(words)
    ]
    return [word if known else "unknown" for word, known in zip(words, explained, strict=True)]


def _walls(closeness: Column, latency: Column) -> list[str]:
    busiest = np.nanargmax(np.where(np.isnan(closeness), -1.0, closeness), axis=0)
    floor = np.fmax.reduce(closeness, axis=0)
    with np.errstate(invalid="ignore"):  # an idle launch of unknown time: latency, as far as anybody knows
        share_of_floor = floor / np.sqrt(floor**2 + latency**2)
    names = [_UNIT_NAMES[unit] for unit in busiest]
    words = [UNITS[name].wall if name in UNITS else name for name in names]
    return [word if share >= WALL_SHARE else "latency" for word, share in zip(words, share_of_floor, strict=True)]
