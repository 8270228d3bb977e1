"""Phrases and sentences on a ``Series`` of reports, for the history pages: provenance, steps, ranks, rows of tables.

Each ``*_words`` or ``*_sentence`` function takes a ``Series`` or a part of it and returns text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import launch_words
from ncuview.records.diagnosis import main_cause
from ncuview.render.change_words import change_sentence
from ncuview.render.comparison import faster_words
from ncuview.render.program_words import call_words
from ncuview.render.words import bottleneck_words, step_words
from ncuview.trends import CallTrend, KernelTrend, Point, Reading, Series, Step

MEANING = (
    "The time of a kernel changed where its median left the level of the points before it by more than the noise, and"
    " the next point confirms it. A change at the newest point is shown before it is confirmed."
)

Ranking = Literal["kernel", "call"]
"""What a page ranks: kernels by the change of their time, or lines of the user's program by kernel time."""
KERNEL_COLUMNS = ("kernel", "first", "newest", "changed", "bottleneck", "next step")
NO_CALLS = "No report of this GPU has call stacks."
BY_CALL = "ncuview report --by call ranks the lines of the programs."

_DIFFERENT = "the reports seem to be of different programs"


def provenance_words(series: Series) -> str:
    """``NVIDIA H200: 12 points, a1b2 (2026-11-01) to f00d (2026-11-21), ncu 2025.3``."""
    count = len(series.points)
    ends = dict.fromkeys(map(point_words, (series.points[0], series.points[-1])))
    versions = ", ".join(dict.fromkeys(point.ncu or "?" for point in series.points))
    return f"{series.device.name}: {count} point{'s' * (count != 1)}, {' to '.join(ends)}, ncu {versions}"


def point_words(point: Point) -> str:
    """A point's name with its date, where it is known."""
    return f"{point.name} ({point.created:%Y-%m-%d})" if point.created else point.name


def summary_words(series: Series) -> str:
    """``2 of 168 kernels changed; 1 is new since the first point.``, or that one point has no comparison."""
    kernels = f"{len(series.kernels)} kernel{'s' * (len(series.kernels) != 1)}"
    if len(series.points) == 1:
        return f"{kernels} at one point: nothing to compare over time."
    if is_unrelated(series):
        return f"The {len(series.points)} points have no kernel in common: {_DIFFERENT}."
    counts = [(len(series.new), "new since the first point"), (len(series.gone), "gone at the newest")]
    others = "".join(f"; {count} {'is' if count == 1 else 'are'} {what}" for count, what in counts if count)
    compared, repeated = kernels, _repeated(series)
    if repeated < len(series.kernels):
        compared = f"{repeated} kernel{'s' * (repeated != 1)} at more than one point"
    changed = f"{len(series.changed) or 'None'} of {compared}"
    return f"{changed} changed{others}."


def is_unrelated(series: Series) -> bool:
    """Whether the points have no kernel in common; then all kernels are new and gone, and no page lists them."""
    return len(series.points) > 1 and not _repeated(series)


def _repeated(series: Series) -> int:
    return sum(len(kernel.readings) > 1 for kernel in series.kernels)


def judged_words(series: Series) -> str:
    """How many of the kernels were judged at their last point, and why the others were not."""
    last = [kernel.last.launch for kernel in series.kernels]
    blind = [launch for launch in last if launch.unexamined]
    foreign = sum(launch.owner_kind != "yours" for launch in last)
    judged, kernels = len(last) - len(blind) - foreign, f"{len(last)} kernel{'s' * (len(last) != 1)}"
    if judged == len(last):
        return f"Judged: all of {kernels}."
    why = f"; most rules could not judge {len(blind)}: {main_cause(blind[0])}" if blind else ""
    theirs = f"; {foreign} not yours to change" if foreign else ""
    return f"Judged: {judged} of {kernels}{why}{theirs}."


def break_words(series: Series) -> Iterator[str]:
    """The points where conditions changed, so that times on both sides are not compared."""
    for each in series.breaks:
        yield f"Not compared across {series.points[each.at].name}: {each.words}."


def configuration_words(kernel: KernelTrend) -> str:
    """``grid 256x256, block 32x8``, and the number of the launch group where there are several."""
    which = f", launch group {kernel.group} of {kernel.groups}" if kernel.groups > 1 else ""
    return f"{launch_words(kernel.grid, kernel.block)}{which}"


def step_sentence(step: Step, series: Series) -> str:
    """``at f00d: 1.50x slower, 100 us -> 150 us: sectors per store request 4 -> 32; time +50%``."""
    change = faster_words(step.before_ns / step.after_ns)
    times = f"{duration(step.before_ns)} -> {duration(step.after_ns)}"
    unconfirmed = "" if step.is_confirmed else " (not confirmed yet)"
    return f"at {series.points[step.at].name}: {change}, {times}{unconfirmed}: {change_sentence(step.pair)}"


def imbalance_words(reading: Reading) -> str:
    """``rank 3 takes 1.32x the median of 8 ranks: 150 us``; empty without ranks."""
    if reading.imbalance is None:
        return ""
    slowest = reading.slowest
    return (
        f"{slowest} takes {factor(reading.imbalance)} the median of {len(reading.ranks)} ranks:"
        f" {duration(reading.ranks[slowest])}"
    )


def change_words(kernel: KernelTrend) -> str:
    """The change of time at the newest step; empty where there is no step."""
    return faster_words(kernel.steps[-1].before_ns / kernel.steps[-1].after_ns) if kernel.steps else ""


def kernel_cells(kernel: KernelTrend) -> tuple[str, ...]:
    """A kernel's texts for ``KERNEL_COLUMNS``."""
    return (
        kernel.kernel,
        duration(kernel.readings[0].time_ns),
        duration(kernel.last.time_ns),
        change_words(kernel),
        bottleneck_words(kernel.last.launch),
        step_words(kernel.last.launch),
    )


def call_columns(series: Series) -> tuple[str, ...]:
    """The headings of the table of calls; with one point, that point's time is the only one."""
    return ("line", "share", "time", "launches", "kernels", *(("first", "newest") if len(series.points) > 1 else ()))


def call_cells(each: CallTrend) -> tuple[str, ...]:
    """A line's texts for ``call_columns``."""
    ends = (each.times_ns[0], each.times_ns[-1]) if len(each.times_ns) > 1 else ()
    numbers = (f"{each.share:.0%}", duration(each.time_ns), f"{each.launches:,}", f"{each.kernels:,}")
    return (call_words(each.call), *numbers, *(duration(time) if time else "" for time in ends))


def calls_sentence(series: Series) -> str:
    """``7 lines and 3 backward operators take 9.08 ms of kernels at 4 points, 96% of all.``."""
    lines = sum(bool(each.call.file) for each in series.calls)
    others = len(series.calls) - lines
    counts = [(lines, "line"), (others, "backward operator")]
    named = " and ".join(f"{count:,} {what}{'s'[: count != 1]}" for count, what in counts if count)
    points = f"{len(series.points):,} point{'s' * (len(series.points) != 1)}"
    time, share = (sum(getattr(each, what) for each in series.calls) for what in ("time_ns", "share"))
    take = "take" if len(series.calls) > 1 else "takes"
    return f"{named} {take} {duration(time)} of kernels at {points}, {share:.0%} of all."
