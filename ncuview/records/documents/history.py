"""The JSON document ``ncuview.history/2``: kernels' times over a series of reports, one series per GPU model.

``HistoryDocument`` is the top level; a series holds points, changes of conditions, readings and steps of each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from ncuview.records.diagnosis import Gain, Share, Verdict
from ncuview.records.documents import Amount, Count, Place, Positive, Triple
from ncuview.records.documents.diagnosis import Call
from ncuview.records.profile import Device, Failure
from ncuview.records.schema import Limits


@dataclass(frozen=True)
class Conditions:
    """ncu's settings; each empty when unknown."""

    clock_control: str
    """base: clocks were locked; none: they were not."""
    cache_control: str
    """all: caches were emptied before each pass."""
    replay_mode: str
    """kernel: each launch was repeated for each pass."""


@dataclass(frozen=True)
class HistoryPoint:
    """A commit, date or build: all that was profiled there."""

    name: str
    """What its folder or file is called."""
    created: datetime | None
    """When the first of its reports was written (UTC); null when one does not say."""
    ncu_version: str
    """The first two parts, such as 2025.3; empty when unknown."""
    settings: Conditions
    """ncu's settings."""
    ranks: tuple[str, ...]
    """Those that its reports name."""
    reports: tuple[str, ...]
    """Their paths."""
    launches: Positive
    """How many there are."""
    time_ns: Amount
    """Of all launches of known duration together."""


@dataclass(frozen=True)
class ConditionsChange:
    """Where conditions changed, so that times on both sides are not compared."""

    at: Count
    """The place in points[] of the first point under the new conditions."""
    words: str
    """What changed: clock control base before, none after."""


@dataclass(frozen=True)
class HistoryReading:
    """What was measured of one kernel and configuration at one point."""

    at: Count
    """The place of the point in points[], from 0."""
    time_ns: Amount | None
    """The median over the launches of all ranks, in ns; null when unknown."""
    launches: Positive
    """How many there are."""
    noise_ns: Amount | None
    """How far time_ns may be off by chance; null when unknown."""
    bottleneck: str
    """What limits the launch of median time."""
    verdict: Verdict
    """Of the launch of median time."""
    optimization: str | None
    """Its first advice; null without advice."""
    rule: str | None
    """The code of the rule that gives the advice."""
    predicted_speedup: Gain | None
    """What the first advice predicts; null without advice."""
    ranks: Mapping[str, float]
    """The median time of each rank in nanoseconds; empty where no ranks are named."""
    imbalance: Annotated[float | None, Limits(minimum=1)]
    """The slowest rank's time over the median rank's; null without two ranks."""
    example: Place
    """The launch of median time."""


@dataclass(frozen=True)
class HistoryStep:
    """A change of a kernel's time beyond noise."""

    at: Count
    """The place in points[] of the first point that has it."""
    since: Count
    """The place in points[] of the last point before it."""
    before_ns: Amount
    """The median over the points before it."""
    after_ns: Amount
    """The median over the points from it on."""
    noise_ns: Amount
    """By how much the time had to differ."""
    confirmed: bool
    """Whether the point after it shows it too."""
    sentence: str
    """What changed with it, in words."""


@dataclass(frozen=True)
class HistoryKernel:
    """One launch group: launches of one kernel with one grid and block that do the same work."""

    kernel: str
    """Its bare name."""
    demangled: str
    """Its name with types and parameters."""
    grid: Triple
    """Blocks in x, y and z."""
    block: Triple
    """Threads in x, y and z."""
    work: Positive
    """The number of the launch group among those of this grid and block, in the order of the launches."""
    works: Positive
    """How many launch groups there are."""
    readings: Annotated[tuple[HistoryReading, ...], Limits(fewest=1)]
    """At each point that has it, in order."""
    steps: tuple[HistoryStep, ...]
    """Where its time changed by more than noise, in order."""


@dataclass(frozen=True)
class HistoryCall:
    """All launches that one line of the user's program leads to, over the points of a series."""

    call: Call
    """The line with the operator of its longest launch."""
    launches: Positive
    """How many they are."""
    kernels: Positive
    """How many different kernels they run."""
    time_ns: Amount
    """The sum of the kernels' durations."""
    share: Share
    """Of the kernel time of all launches of the series, 0 to 1."""
    times_ns: tuple[Amount, ...]
    """The same sum at each of points[], in order; 0 where the line launches nothing."""


@dataclass(frozen=True)
class HistorySeries:
    """All points of one GPU model."""

    device: Device
    """The GPU."""
    points: tuple[HistoryPoint, ...]
    """In the order in which their reports were written, or by name where one does not say."""
    breaks: tuple[ConditionsChange, ...]
    """Where conditions changed, so that times on both sides are not compared."""
    kernels: tuple[HistoryKernel, ...]
    """Those whose time changed most first, then by their newest time."""
    calls: tuple[HistoryCall, ...]
    """The lines of the user's programs, the costliest first; empty where no report has call stacks."""


@dataclass(frozen=True)
class HistoryDocument:
    """What `ncuview report DIR --format json` prints: what each kernel took over many reports.

    There is no NaN and no infinity; what was not measured is null. Within version 2 properties may
    be added; none is removed or changes its meaning.
    """

    schema: Literal["ncuview.history/2"]
    """The name and version of this schema."""
    errors: tuple[Failure, ...]
    """Why launches of some reports are missing, or all of them; empty where nothing is missing."""
    series: tuple[HistorySeries, ...]
    """One for each GPU model, the one with the most points first. They are never compared with each other."""
