"""Group a ``Diagnosis``'s launches by kernel, grid, block and GPU, and rank the groups by the time that advice saves.

``priorities`` returns the groups, and Amdahl's bound on the speedup when every launch takes its first advice.

The time is that of kernels, or of copies and kernel where the host timed them. Reports do not contain what the program
does between its launches, so the end-to-end gain of the program is smaller.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, inf, isfinite

from ncuview.base.errors import UsageError
from ncuview.records.diagnosis import Diagnosis, Finding, Gain, LaunchDiagnosis, Saved
from ncuview.records.profile import Configuration, Device, Extent


@dataclass(frozen=True)
class Priority:
    """All launches of one kernel with one grid and block on one GPU, and what their first advice saves together."""

    kernel: str
    demangled: str
    grid: Extent
    block: Extent
    device: Device
    launches: int
    """How many there were, launches that were not profiled included."""
    profiled: int
    time_ns: float
    """Of all launches together."""
    share: float
    """Of the time of all groups, 0..1; 0 for kernels that wait for peers, whose time means nothing."""
    shortest_ns: float
    longest_ns: float
    """Shortest and longest are of profiled launches; NaN where no duration is known."""
    advice: Finding | None
    """The first advice of the launches that it saves the most time in; None where no launch has advice."""
    agreed: float
    """The share of the group's time in launches whose first advice is this one, 0..1."""
    predicted_speedup: Gain
    """How much faster the group becomes when each launch takes its own first advice; 1.0 without advice."""
    saved: Saved
    example: LaunchDiagnosis
    """The longest launch with the advice."""


@dataclass(frozen=True)
class Priorities:
    """The groups, largest saving first, and the bound on the gain from all first advice together (Amdahl)."""

    groups: tuple[Priority, ...]
    total_ns: float
    saved: Saved
    untimed: int
    """Profiled launches whose duration is unknown; they count as 0."""
    unprofiled: int
    """Launches of configurations that were not profiled; their time is not in the total."""

    @property
    def left_ns(self) -> float:
        """The time that is left once every first advice is taken."""
        return self.total_ns - self.saved.best

    @property
    def speedup(self) -> Gain:
        """The bound for all launches together: the total over what is left of it."""
        return _factor(self.total_ns, self.saved)


def priorities(diagnosis: Diagnosis) -> Priorities:
    """Group the launches of a diagnosis, weighted by how many launches each represents, and rank the groups.

    Raises:
        UsageError: A count of ``launched`` is less than what was profiled of its configuration.
    """
    weights, unprofiled = _weights(diagnosis.launches, diagnosis.launched)
    groups: defaultdict[Hashable, list[tuple[LaunchDiagnosis, float]]] = defaultdict(list)
    for launch, weight in zip(diagnosis.launches, weights, strict=True):
        groups[launch.demangled, launch.kernel, launch.grid, launch.block, launch.device].append((launch, weight))
    counted = zip(diagnosis.launches, weights, strict=True)
    total = fsum(weight * _time(launch) for launch, weight in counted if not launch.waits_for_peers)
    ranked = sorted((_group(members, total) for members in groups.values()), key=_precedence)
    return Priorities(
        groups=tuple(ranked),
        total_ns=total,
        saved=_sum(group.saved for group in ranked),
        untimed=sum(not isfinite(launch.whole_ns) for launch in diagnosis.launches),
        unprofiled=unprofiled,
    )


def _weights(launches: Sequence[LaunchDiagnosis], counts: Mapping[Configuration, int]) -> tuple[list[float], int]:
    """How many launches each profiled one represents, and how many launches have no profiled one."""
    keys = [_counted_as(launch, counts) for launch in launches]
    profiled = Counter(key for key in keys if key is not None)
    for key, number in profiled.items():
        if counts[key] < number:
            raise UsageError(
                f"{key[0]} was profiled {number} times and cannot have been launched {counts[key]} times",
                hint="Count the launches in the same run, or in one with the same input.",
            )
    weights = [1.0 if key is None else counts[key] / profiled[key] for key in keys]
    return weights, sum(count for key, count in counts.items() if key not in profiled)


def _counted_as(launch: LaunchDiagnosis, counts: Mapping[Configuration, int]) -> Configuration | None:
    names = (launch.demangled, launch.kernel)
    return next((key for name in names if (key := (name, launch.grid, launch.block)) in counts), None)


def _group(members: Sequence[tuple[LaunchDiagnosis, float]], total: float) -> Priority:
    launches = [launch for launch, _ in members]
    first = launches[0]
    time = fsum(weight * _time(launch) for launch, weight in members)
    saved = _sum(_saved(launch, weight) for launch, weight in members)
    known = [launch.whole_ns for launch in launches if isfinite(launch.whole_ns)]
    word = _heaviest_advice(members)
    advised = [(launch, weight) for launch, weight in members if word and _first_word(launch) == word]
    example = max((launch for launch, _ in advised or members), key=_time)
    return Priority(
        kernel=first.kernel,
        demangled=first.demangled,
        grid=first.grid,
        block=first.block,
        device=first.device,
        launches=round(fsum(weight for _, weight in members)),
        profiled=len(members),
        time_ns=time,
        share=time / total if total and not first.waits_for_peers else 0.0,
        shortest_ns=min(known, default=float("nan")),
        longest_ns=max(known, default=float("nan")),
        advice=example.findings[0] if advised else None,
        agreed=fsum(weight * _time(launch) for launch, weight in advised) / time if time else 0.0,
        predicted_speedup=_factor(time, saved),
        saved=saved,
        example=example,
    )


def _time(launch: LaunchDiagnosis) -> float:
    """What a launch takes in ns, with its copies where the host timed them; 0 where that is unknown."""
    return launch.whole_ns if isfinite(launch.whole_ns) else 0.0


def _saved(launch: LaunchDiagnosis, weight: float) -> Saved:
    if not launch.findings:
        return Saved(0.0, 0.0, 0.0)
    gain, time = launch.findings[0].predicted_speedup, weight * _time(launch)
    return Saved(*(time * (1 - 1 / bound) for bound in (gain.low, gain.best, gain.high)))


def _sum(parts: Iterable[Saved]) -> Saved:
    bounds = [(part.low, part.best, part.high) for part in parts]
    return Saved(*(fsum(bound) for bound in zip(*bounds, strict=True))) if bounds else Saved(0.0, 0.0, 0.0)


def _first_word(launch: LaunchDiagnosis) -> str:
    return launch.findings[0].optimization if launch.findings else ""


def _heaviest_advice(members: Iterable[tuple[LaunchDiagnosis, float]]) -> str:
    """The optimization that comes first in the launches that it saves the most time in; empty without advice."""
    saved: defaultdict[str, float] = defaultdict(float)
    for launch, weight in members:
        if launch.findings:
            saved[_first_word(launch)] += _saved(launch, weight).best
    return max(saved, key=lambda word: saved[word], default="")


def _factor(time: float, saved: Saved) -> Gain:
    """The speedup that is left when so much of a time is saved; 1.0 where there is no time."""
    return Gain(*(_ratio(time, time - bound) for bound in (saved.low, saved.best, saved.high)))


def _ratio(time: float, left: float) -> float:
    if time <= 0:
        return 1.0
    return time / left if left > 0 else inf


def _precedence(group: Priority) -> tuple[float, float]:
    return (-group.saved.best, -group.time_ns)
