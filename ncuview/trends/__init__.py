"""Compare diagnosed reports of the same kernels over commits, dates, ranks or GPUs: times, steps, imbalance of ranks.

``history_of`` makes a ``History`` with one ``Series`` per GPU model from ``DiagnosedReport`` objects, ``series_of`` a
series kernel by kernel, from more launches than fit into memory. A ``Break`` separates points where ncu's version or
settings changed, and a ``CallTrend`` adds up the launches of a user's line.
``series_files`` finds the files, and ``document`` reads diagnoses from JSON documents.
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
from ncuview.comparison.launch_groups import configuration_of, group_launches
from ncuview.programs.lines import by_line
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import Configuration, Device, Extent, Failure, ReportInfo
from ncuview.records.program import UNEVEN, Call
from ncuview.trends.series_files import number_aware_key
from ncuview.trends.steps import Change, changes, noise_of_median


@dataclass(frozen=True)
class DiagnosedReport:
    """A diagnosed report and its place in a series."""

    point: str
    rank: str
    diagnosis: Diagnosis
    """The diagnosis of this report alone."""
    settings: Settings
    """The settings of ncu; empty where the report does not name them."""


@dataclass(frozen=True)
class Point:
    """A commit, date or build, with everything that was profiled there on one GPU."""

    name: str
    created: datetime | None
    """When the first of its reports was written; None where one of them has no date."""
    ncu: str
    """The first two parts of ncu's version, which decide what its counters mean; empty when unknown."""
    settings: Settings
    ranks: tuple[str, ...]
    """The ranks of its reports; empty where they have none."""
    reports: tuple[ReportInfo, ...]
    launches: int
    time_ns: float
    """Total of all launches of known duration."""


@dataclass(frozen=True)
class Reading:
    """The measurements of one kernel and configuration at one point."""

    at: int
    """The place of the point in its series."""
    time_ns: float
    """The median over the launches of all ranks, with their copies where the host timed them; NaN when unknown."""
    launches: int
    launch: LaunchDiagnosis
    """The launch of median time; its bottleneck, verdict and first advice are shown."""
    ranks: Mapping[str, float]
    """The median time of each rank in ns; empty where there are no ranks."""
    noise_ns: float
    """How far ``time_ns`` may differ by noise; NaN when unknown."""

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
    """A change of a kernel's time beyond noise, and the counters that changed."""

    at: int
    """The place of the first point after the change."""
    since: int
    """The place of the last point before it."""
    before_ns: float
    after_ns: float
    """Median over the points before it and from it on, as far as the neighbouring steps."""
    noise_ns: float
    """The change of time that noise explains."""
    is_confirmed: bool
    """Whether the point after it shows it too."""
    pair: Pair
    """The launches of median time on both sides, with the counters that changed."""


@dataclass(frozen=True)
class KernelTrend:
    """One launch group of a kernel, grid and block over a series."""

    kernel: str
    demangled: str
    grid: Extent
    block: Extent
    group: int
    """The number of this launch group among those of the configuration, from 1, in the order of the launches."""
    groups: int
    """How many launch groups the configuration has."""
    readings: tuple[Reading, ...]
    """One for each point that has the kernel, in the order of the series."""
    steps: tuple[Step, ...]

    @property
    def last(self) -> Reading:
        """The newest reading."""
        return self.readings[-1]

    @property
    def last_step_ns(self) -> float:
        """The change of time at the newest step; 0 where there was none."""
        return self.steps[-1].after_ns - self.steps[-1].before_ns if self.steps else 0.0


@dataclass(frozen=True)
class CallTrend:
    """All launches that one line of the user's program leads to, over a series."""

    call: Call
    """The line with the operator of its longest launch."""
    launches: int
    kernels: int
    """How many different kernels they run, by demangled name."""
    time_ns: float
    """The sum of the kernels' durations."""
    share: float
    """Of the kernel time of all launches of the series, 0..1."""
    times_ns: tuple[float, ...]
    """``time_ns`` at each point of the series; 0 where the line launches nothing."""


@dataclass(frozen=True)
class Break:
    """The conditions changed between two points, so that times on both sides are not compared."""

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
    """The largest last step first, then the longest newest time."""
    breaks: tuple[Break, ...]
    calls: tuple[CallTrend, ...]
    """The lines of the user's programs by time, the costliest first; empty where no report has call stacks."""

    @property
    def changed(self) -> tuple[KernelTrend, ...]:
        """The kernels whose time changed beyond noise."""
        return tuple(kernel for kernel in self.kernels if kernel.steps)

    @property
    def gone(self) -> tuple[KernelTrend, ...]:
        """The kernels that are missing at the newest point."""
        return tuple(kernel for kernel in self.kernels if kernel.last.at < len(self.points) - 1)

    @property
    def new(self) -> tuple[KernelTrend, ...]:
        """The kernels that are missing at the first point."""
        return tuple(kernel for kernel in self.kernels if kernel.readings[0].at > 0)

    @property
    def uneven(self) -> tuple[KernelTrend, ...]:
        """The kernels whose slowest rank takes much longer than the median one at the newest point, worst first."""
        found = [kernel for kernel in self.kernels if (kernel.last.imbalance or 1.0) >= UNEVEN]
        return tuple(sorted(found, key=lambda kernel: -(kernel.last.imbalance or 1.0)))


@dataclass(frozen=True)
class History:
    """Many reports as one answer: one series per GPU model; different models are not compared."""

    series: tuple[Series, ...]
    """The one with the most points first."""
    failures: tuple[Failure, ...] = ()
    """Why launches of some reports are missing, or all launches."""


def history_of(reported: Iterable[DiagnosedReport]) -> History:
    """Sort diagnosed reports by date, or by name where one has no date, and compare them."""
    by_device: defaultdict[Device, list[tuple[DiagnosedReport, LaunchDiagnosis]]] = defaultdict(list)
    failures = []
    for report in reported:
        if failure := report.diagnosis.failure:
            failures.append(replace(failure, message=f"{report.point}: {failure.message}"))
        for launch in report.diagnosis.launches:
            by_device[launch.device].append((report, launch))
    series = (_series(device, launches) for device, launches in by_device.items())
    return history_with(series, failures)


def history_with(series: Iterable[Series], failures: Iterable[Failure]) -> History:
    """The history of these series."""
    return History(tuple(sorted(series, key=lambda each: -len(each.points))), tuple(failures))


Placed = tuple[DiagnosedReport, LaunchDiagnosis]
"""A launch with its report."""


@dataclass(frozen=True)
class Called:
    """Launches of one kernel that one line of the user's program led to at a point."""

    point: str
    call: Call
    demangled: str
    launches: int
    duration_ns: float
    """The sum of their durations; a finite number."""


def _series(device: Device, launches: Sequence[Placed]) -> Series:
    at_point: defaultdict[str, list[Placed]] = defaultdict(list)
    of_each: defaultdict[Configuration, list[Placed]] = defaultdict(list)
    for report, launch in launches:
        at_point[report.point].append((report, launch))
        of_each[configuration_of(launch)].append((report, launch))
    points = [_point_of(name, found) for name, found in at_point.items()]
    called = [
        Called(report.point, launch.call, launch.demangled, 1, launch.duration_ns)
        for report, launch in launches
        if launch.call and isfinite(launch.duration_ns)
    ]
    total_ns = fsum(_known(launch.duration_ns) for _, launch in launches)
    return series_of(device, points, of_each.values(), called, total_ns)


def series_of(
    device: Device,
    points: Sequence[Point],
    configurations: Iterable[Sequence[Placed]],
    called: Iterable[Called],
    total_ns: float,
) -> Series:
    """Compare the points of a GPU.

    Args:
        device: The GPU.
        points: Its points, in any order.
        configurations: All launches of each kernel, grid and block. They are read once, and may be made one by one: of
            their launches the series keeps one for each kernel and point.
        called: The launches with a call.
        total_ns: The sum of all known durations.
    """
    dated = all(point.created for point in points)
    ordered = sorted(
        points,
        key=lambda point: (
            point.created.timestamp() if dated and point.created else 0.0,
            number_aware_key(point.name),
        ),
    )
    places = {point.name: at for at, point in enumerate(ordered)}
    breaks = tuple(_breaks(ordered))
    kernels = [
        _trend(group, number, len(groups), places, [each.at for each in breaks])
        for launches in configurations
        for groups in [_launch_groups(launches)]
        for number, group in enumerate(groups, start=1)
    ]
    kernels.sort(key=lambda kernel: (-abs(kernel.last_step_ns), -_known(kernel.last.time_ns)))
    return Series(device, tuple(ordered), tuple(kernels), breaks, tuple(_calls(called, places, total_ns)))


def _point_of(name: str, launches: Sequence[Placed]) -> Point:
    reports = list({id(report): report for report, _ in launches}.values())
    return point_of(name, reports, len(launches), fsum(_known(launch.whole_ns) for _, launch in launches))


def point_of(name: str, reports: Sequence[DiagnosedReport], launches: int, time_ns: float) -> Point:
    """The point of these reports, which have so many launches of so much known time."""
    infos = tuple(info for report in reports for info in report.diagnosis.reports)
    dates = [info.created for info in infos]
    return Point(
        name=name,
        created=min((date for date in dates if date), default=None) if all(dates) else None,
        ncu=_same(".".join(info.ncu_version.split(".")[:2]) for info in infos),
        settings=Settings(
            *(_same(getattr(report.settings, field.name) for report in reports) for field in fields(Settings))
        ),
        ranks=tuple(sorted({report.rank for report in reports if report.rank}, key=number_aware_key)),
        reports=infos,
        launches=launches,
        time_ns=time_ns,
    )


def _same(words: Iterable[str]) -> str:
    """The word that all have; a list of words where they differ; empty where one is unknown."""
    distinct = set(words)
    return "" if "" in distinct else ", ".join(sorted(distinct))


def _breaks(points: Sequence[Point]) -> Iterator[Break]:
    """Where a condition differs from its last known value."""
    last: dict[str, str] = {}
    for at, point in enumerate(points):
        conditions = {"ncu": point.ncu} | {
            field.name.replace("_", " "): getattr(point.settings, field.name) for field in fields(Settings)
        }
        known = {what: word for what, word in conditions.items() if word}
        changed = [
            f"{what} {last[what]} before, {word} after" for what, word in known.items() if last.get(what, word) != word
        ]
        if changed:
            yield Break(at, "; ".join(changed))
        last |= known


def _launch_groups(launches: Sequence[Placed]) -> list[list[Placed]]:
    """The launch groups of one configuration.

    Groups of different reports match by their order. Where the reports have different numbers of groups, all launches
    of the configuration are one group.
    """
    by_report: defaultdict[int, list[Placed]] = defaultdict(list)
    for placed in launches:
        by_report[id(placed[0])].append(placed)
    of_reports: list[list[list[Placed]]] = []
    for members in by_report.values():
        report = members[0][0]
        (groups,) = group_launches(launch for _, launch in members).values()
        of_reports.append([[(report, launch) for launch in group.launches] for group in groups])
    numbers = {len(groups) for groups in of_reports}
    same = of_reports if len(numbers) == 1 else [[list(chain(*groups))] for groups in of_reports]
    return [list(chain(*parts)) for parts in zip(*same, strict=True)]


def _trend(
    launches: Sequence[Placed], group: int, groups: int, places: Mapping[str, int], breaks: Sequence[int]
) -> KernelTrend:
    first = launches[0][1]
    at_point: defaultdict[int, list[Placed]] = defaultdict(list)
    for report, launch in launches:
        at_point[places[report.point]].append((report, launch))
    readings = tuple(_reading(at, at_point[at]) for at in sorted(at_point))
    return KernelTrend(
        kernel=first.kernel,
        demangled=first.demangled,
        grid=first.grid,
        block=first.block,
        group=group,
        groups=groups,
        readings=readings,
        steps=tuple(step for part in _unbroken(readings, breaks) for step in _steps(part)),
    )


def _calls(called: Iterable[Called], places: Mapping[str, int], total_ns: float) -> Iterator[CallTrend]:
    for line in by_line(((places[each.point], each) for each in called), len(places)):
        yield CallTrend(
            call=line.call,
            launches=sum(each.launches for each in line.launches),
            kernels=len({each.demangled for each in line.launches}),
            time_ns=line.time_ns,
            share=line.time_ns / total_ns if total_ns else 0.0,
            times_ns=line.times_ns,
        )


def _reading(at: int, launches: Sequence[Placed]) -> Reading:
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
        ranks={rank: median(by_rank[rank]) for rank in sorted(by_rank, key=number_aware_key) if rank},
        noise_ns=noise_of_median(list(by_rank.values())) if known else nan,
    )


def _unbroken(readings: Sequence[Reading], breaks: Sequence[int]) -> Iterator[Sequence[Reading]]:
    """The readings between two breaks, which are comparable."""
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
    """The number to add and to sort by; 0 where it is unknown."""
    return number if isfinite(number) else 0.0
