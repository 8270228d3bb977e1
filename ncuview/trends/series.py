"""Compute from diagnosed reports a ``History``: each kernel's time at each point, steps in it, imbalance of ranks.

One ``Series`` per GPU model; where ncu's version or settings changed, a ``Break`` separates points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import chain
from math import fsum, isfinite, nan
from statistics import median

from ncuview.comparison.compare import Pair, compare
from ncuview.comparison.launch_groups import works_of
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.failure import Failure
from ncuview.records.profile import Configuration, Device, Extent, ReportInfo
from ncuview.trends.members import in_order
from ncuview.trends.steps import Change, changes, noise_of_median

UNEVEN = 1.1
"""Ranks are called uneven where the slowest takes so many times the median. A judgement: GPUs of one model differ by
8 % (arXiv 2208.11035)."""


@dataclass(frozen=True)
class Reported:
    """A diagnosed report and its place in a series."""

    point: str
    rank: str
    diagnosis: Diagnosis
    """Of this report alone."""
    settings: Settings
    """What ncu was told; empty where the report does not say."""


@dataclass(frozen=True)
class Point:
    """A commit, date or build: all that was profiled there on one GPU."""

    name: str
    created: datetime | None
    """When the first of its reports was written; None where one of them does not say."""
    ncu: str
    """The first two parts of the version of ncu, which decide what its counters mean; empty when unknown."""
    settings: Settings
    ranks: tuple[str, ...]
    """Those that its reports name; empty where they name none."""
    reports: tuple[ReportInfo, ...]
    launches: int
    time_ns: float
    """Of all launches together, of known duration."""


@dataclass(frozen=True)
class Reading:
    """What was measured of one kernel and configuration at one point."""

    at: int
    """The place of the point in its series."""
    time_ns: float
    """The median over the launches of all ranks, with their copies where the host timed them; NaN when unknown."""
    launches: int
    launch: LaunchDiagnosis
    """The launch of median time, which speaks for all: its wall, its verdict and its first advice."""
    ranks: Mapping[str, float]
    """The median time of each rank in ns; empty where no ranks are named."""
    noise_ns: float
    """How far ``time_ns`` may be off by chance; NaN when unknown."""

    @property
    def imbalance(self) -> float | None:
        """The slowest rank's time over the median rank's; None without two ranks."""
        return max(self.ranks.values()) / median(self.ranks.values()) if len(self.ranks) > 1 else None

    @property
    def slowest(self) -> str:
        """The rank that takes longest; empty without ranks."""
        return max(self.ranks, key=lambda rank: self.ranks[rank], default="")


@dataclass(frozen=True)
class Step:
    """A change of a kernel's time beyond noise, and what moved with it."""

    at: int
    """The place of the first point that has it."""
    since: int
    """The place of the last point before it."""
    before_ns: float
    after_ns: float
    """The median over the points before and after it, as far as the next step."""
    noise_ns: float
    """By how much the time had to differ."""
    is_confirmed: bool
    """Whether the point after it shows it too."""
    pair: Pair
    """The launches of median time on both sides, with the counters that moved."""


@dataclass(frozen=True)
class KernelTrend:
    """One kernel with one grid and block, as far as its launches do the same, over a series."""

    kernel: str
    demangled: str
    grid: Extent
    block: Extent
    work: int
    """Which of the things that launches of this configuration do, from 1, in the order of the launches ..."""
    works: int
    """... and how many there are."""
    readings: tuple[Reading, ...]
    """At each point that has it, in the order of the series."""
    steps: tuple[Step, ...]

    @property
    def last(self) -> Reading:
        """The newest reading."""
        return self.readings[-1]

    @property
    def moved_ns(self) -> float:
        """By how much the newest step changed the time; 0 where there was none."""
        return self.steps[-1].after_ns - self.steps[-1].before_ns if self.steps else 0.0


@dataclass(frozen=True)
class Break:
    """Between two points the conditions changed, so that times on both sides are not compared."""

    at: int
    """The place of the first point under the new conditions."""
    words: str
    """``clock control base before, none after``."""


@dataclass(frozen=True)
class Series:
    """All points of one GPU model, in order."""

    device: Device
    points: tuple[Point, ...]
    kernels: tuple[KernelTrend, ...]
    """Those whose time moved most first, then by their newest time."""
    breaks: tuple[Break, ...]

    @property
    def moved(self) -> tuple[KernelTrend, ...]:
        """The kernels whose time moved."""
        return tuple(kernel for kernel in self.kernels if kernel.steps)

    @property
    def gone(self) -> tuple[KernelTrend, ...]:
        """The kernels that the newest point no longer has."""
        return tuple(kernel for kernel in self.kernels if kernel.last.at < len(self.points) - 1)

    @property
    def new(self) -> tuple[KernelTrend, ...]:
        """The kernels that the first point does not have."""
        return tuple(kernel for kernel in self.kernels if kernel.readings[0].at > 0)

    @property
    def uneven(self) -> tuple[KernelTrend, ...]:
        """The kernels whose slowest rank takes much longer than the median one at the newest point, worst first."""
        found = [kernel for kernel in self.kernels if (kernel.last.imbalance or 1.0) >= UNEVEN]
        return tuple(sorted(found, key=lambda kernel: -(kernel.last.imbalance or 1.0)))


@dataclass(frozen=True)
class History:
    """Many reports as one answer: a series for each GPU model, which are never compared with each other."""

    series: tuple[Series, ...]
    """The one with the most points first."""
    failures: tuple[Failure, ...] = ()
    """Why launches of some reports are missing, or all of them."""


def history_of(reported: Iterable[Reported]) -> History:
    """Put diagnosed reports in order, by when they were written or by name where one does not say, and compare them."""
    by_device: defaultdict[Device, list[tuple[Reported, LaunchDiagnosis]]] = defaultdict(list)
    failures = []
    for report in reported:
        if failure := report.diagnosis.failure:
            failures.append(replace(failure, message=f"{report.point}: {failure.message}"))
        for launch in report.diagnosis.launches:
            by_device[launch.device].append((report, launch))
    series = (_series(device, launches) for device, launches in by_device.items())
    return History(tuple(sorted(series, key=lambda each: -len(each.points))), tuple(failures))


_Placed = tuple[Reported, LaunchDiagnosis]


def _series(device: Device, launches: Sequence[_Placed]) -> Series:
    at_point: defaultdict[str, list[_Placed]] = defaultdict(list)
    for report, launch in launches:
        at_point[report.point].append((report, launch))
    points = [_point(name, found) for name, found in at_point.items()]
    dated = all(point.created for point in points)
    points.sort(key=lambda point: (point.created.timestamp() if dated and point.created else 0.0, in_order(point.name)))
    places = {point.name: at for at, point in enumerate(points)}
    breaks = tuple(_breaks(points))
    kernels = [
        _trend(work, number, len(works), places, [each.at for each in breaks])
        for works in _works(launches)
        for number, work in enumerate(works, start=1)
    ]
    kernels.sort(key=lambda kernel: (-abs(kernel.moved_ns), -_known(kernel.last.time_ns)))
    return Series(device, tuple(points), tuple(kernels), breaks)


def _point(name: str, launches: Sequence[_Placed]) -> Point:
    reports = list({id(report): report for report, _ in launches}.values())
    infos = tuple(info for report in reports for info in report.diagnosis.reports)
    dates = [info.created for info in infos]
    return Point(
        name=name,
        created=min((date for date in dates if date), default=None) if all(dates) else None,
        ncu=_same(".".join(info.ncu_version.split(".")[:2]) for info in infos),
        settings=Settings(
            *(_same(getattr(report.settings, field.name) for report in reports) for field in fields(Settings))
        ),
        ranks=tuple(sorted({report.rank for report in reports if report.rank}, key=in_order)),
        reports=infos,
        launches=len(launches),
        time_ns=fsum(_known(launch.whole_ns) for _, launch in launches),
    )


def _same(words: Iterable[str]) -> str:
    """The word that all have, a list of words where they differ, empty where one is unknown."""
    told = set(words)
    return "" if "" in told else ", ".join(sorted(told))


def _breaks(points: Sequence[Point]) -> Iterator[Break]:
    """Where a condition became another one than the last that was known."""
    last: dict[str, str] = {}
    for at, point in enumerate(points):
        told = {"ncu": point.ncu} | {
            field.name.replace("_", " "): getattr(point.settings, field.name) for field in fields(Settings)
        }
        known = {what: word for what, word in told.items() if word}
        changed = [
            f"{what} {last[what]} before, {word} after" for what, word in known.items() if last.get(what, word) != word
        ]
        if changed:
            yield Break(at, "; ".join(changed))
        last |= known


def _works(launches: Sequence[_Placed]) -> Iterator[list[list[_Placed]]]:
    """The launches of each configuration by what they do, as far as all reports have it do as many things.

    Works of different reports belong together by their order. Where their number differs, no order tells which is
    which, and all launches of the configuration are taken together.
    """
    by_report: defaultdict[int, list[_Placed]] = defaultdict(list)
    for placed in launches:
        by_report[id(placed[0])].append(placed)
    found: defaultdict[Configuration, list[list[list[_Placed]]]] = defaultdict(list)
    for members in by_report.values():
        report = members[0][0]
        for configuration, works in works_of(launch for _, launch in members).items():
            found[configuration].append([[(report, launch) for launch in work.launches] for work in works])
    for of_reports in found.values():
        numbers = {len(works) for works in of_reports}
        alike = of_reports if len(numbers) == 1 else [[list(chain(*works))] for works in of_reports]
        yield [list(chain(*parts)) for parts in zip(*alike, strict=True)]


def _trend(
    launches: Sequence[_Placed], work: int, works: int, places: Mapping[str, int], breaks: Sequence[int]
) -> KernelTrend:
    first = launches[0][1]
    at_point: defaultdict[int, list[_Placed]] = defaultdict(list)
    for report, launch in launches:
        at_point[places[report.point]].append((report, launch))
    readings = tuple(_reading(at, at_point[at]) for at in sorted(at_point))
    return KernelTrend(
        kernel=first.kernel,
        demangled=first.demangled,
        grid=first.grid,
        block=first.block,
        work=work,
        works=works,
        readings=readings,
        steps=tuple(step for part in _unbroken(readings, breaks) for step in _steps(part)),
    )


def _reading(at: int, launches: Sequence[_Placed]) -> Reading:
    by_rank: defaultdict[str, list[float]] = defaultdict(list)
    for report, launch in launches:
        if isfinite(launch.whole_ns):
            by_rank[report.rank].append(launch.whole_ns)
    known = sorted((launch for _, launch in launches if isfinite(launch.whole_ns)), key=lambda each: each.whole_ns)
    return Reading(
        at=at,
        time_ns=median(launch.whole_ns for launch in known) if known else nan,
        launches=len(launches),
        launch=known[(len(known) - 1) // 2] if known else launches[0][1],
        ranks={rank: median(by_rank[rank]) for rank in sorted(by_rank, key=in_order) if rank},
        noise_ns=noise_of_median(list(by_rank.values())) if known else nan,
    )


def _unbroken(readings: Sequence[Reading], breaks: Sequence[int]) -> Iterator[Sequence[Reading]]:
    """The readings between two breaks, which can be compared."""
    parts: defaultdict[int, list[Reading]] = defaultdict(list)
    for reading in readings:
        parts[sum(at <= reading.at for at in breaks)].append(reading)
    yield from parts.values()


def _steps(readings: Sequence[Reading]) -> Iterator[Step]:
    found = changes([reading.time_ns for reading in readings], [reading.noise_ns for reading in readings])
    for change in found:
        yield _step(change, readings)


def _step(change: Change, readings: Sequence[Reading]) -> Step:
    was, now = readings[change.before.points[-1]], readings[change.after.points[0]]
    sides = (Diagnosis((reading.launch,), ()) for reading in (was, now))
    return Step(
        at=now.at,
        since=was.at,
        before_ns=change.before.median,
        after_ns=change.after.median,
        noise_ns=change.noise_ns,
        is_confirmed=change.is_confirmed,
        pair=compare(*sides).pairs[0],
    )


def _known(number: float) -> float:
    """A number to add and to sort by, 0 where it is unknown."""
    return number if isfinite(number) else 0.0
