"""Forecast the cost of an ncu run from its metrics: bounds on the number of passes and on the seconds.

``passes_of`` counts passes from measured sets of metrics, ``forecast`` adds the times; neither runs ncu.
``smaller_plans`` derives smaller lists of metrics, to retry with where profiling ends the program.

Four collectors never share a pass: hardware counters, warp samples, counters of instructions, and instrumented code.
How many passes hardware counters take depends on the chip. ``passes.toml`` holds measured sets, and two facts bound the
rest: a part of a set takes no more passes than the set, two sets together no more than their sum.
``benchmarks/passes.py`` measures further sets, which narrows the bounds.

ncu saves and restores the memory that a kernel can reach around every pass, except where all metrics fit into one.
This, the instrumented code, and the longer time of each launch can each end a program; each smaller plan leaves one
more out.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

from ncuview.base.log import masked_words

Collector = Literal["hardware", "samples", "lines", "instrumented"]
COLLECTORS: tuple[Collector, ...] = ("hardware", "samples", "lines", "instrumented")

ATTRIBUTES = ("launch__", "device__")
"""Metrics that every launch has without being requested."""
_SAMPLES, _INSTRUMENTED = "smsp__pcsamp_", "smsp__sass_"

_GB = 1e9


@dataclass(frozen=True)
class Bounds:
    """A number between two bounds."""

    low: float
    high: float

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.low + other.low, self.high + other.high)

    def times(self, count: float) -> Bounds:
        """Both bounds multiplied."""
        return Bounds(self.low * count, self.high * count)


START_S = Bounds(1.5, 2.3)
"""ncu's own time: on an H200 with ncu 2025.3.1, one kernel in three passes takes 2.3 s, of which the program takes
0.5."""
PASS_S = Bounds(0.003, 0.03)
"""To set up a pass and read its counters; 0.03 is what 38 passes of one kernel leave after memory was saved. The low
bound is assumed, for small kernels."""
SAVED_BYTES_PER_S = Bounds(10 * _GB, 25 * _GB)
"""How fast memory is saved and restored: 10 GB/s measured on two matrices of 268 MB; 25 is what the ten passes of
``--set basic`` leave."""
ANY_PROGRAM_BYTES = Bounds(0.0, 1 * _GB)
"""The device memory of an unknown program."""


@dataclass(frozen=True)
class Measured:
    """A set of metrics and the passes that it took.

    Attributes:
        metrics: All of one collector.
        passes: How often ncu ran the kernel.
        where: The GPU and the ncu that it was measured with.
    """

    metrics: frozenset[str]
    passes: int
    where: str


@dataclass(frozen=True)
class Passes:
    """How often ncu runs each launch.

    Attributes:
        low: The lower bound.
        high: The upper bound.
        of: The bounds of each collector that is used.
        assumed: Metrics that were never measured; each of their counters is assumed to cost up to one pass.
    """

    low: int
    high: int
    of: Mapping[Collector, tuple[int, int]]
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Forecast:
    """The command line and the predicted cost of a run of ncu.

    Attributes:
        command: The command line, quoted for a shell.
        metrics: How many metrics are requested.
        passes: How often each launch runs.
        start_s: ncu's own time, in seconds, in addition to the program's.
        launch_s: Seconds for each launch, without what a long kernel takes in instrumented passes.
        launches: How many launches are profiled; None where the program decides.
        where: The GPUs and the ncu that all this was measured with.
    """

    command: str
    metrics: int
    passes: Passes
    start_s: Bounds
    launch_s: Bounds
    launches: int | None
    where: tuple[str, ...]

    def __str__(self) -> str:
        start, each, low, high = self.start_s, self.launch_s, self.passes.low, self.passes.high
        passes = f"{low} to {high} passes" if low < high else f"{low} pass{'es' if low > 1 else ''}"
        return (
            f"{self.command}\n\n"
            f"{self.metrics} metric{'s' if self.metrics > 1 else ''}, {passes} per launch\n"
            f"{start.low:.1f} to {start.high:.1f} s for ncu, and {each.low:.3f} to {each.high:.2f} s per launch, in"
            " addition to the program itself\n"
            f"measured on {', '.join(self.where)}; more with over 1 GB of device memory, or kernels of milliseconds\n"
        )

    @property
    def seconds(self) -> Bounds | None:
        """All launches together with ncu's own time; None where their number is not known."""
        return None if self.launches is None else self.start_s + self.launch_s.times(self.launches)


def collector_of(metric: str) -> Collector | None:
    """The collector of a metric; None for attributes of launch and device, which cost nothing."""
    if metric.startswith(ATTRIBUTES):
        return None
    if metric.startswith(_SAMPLES):
        return "samples"
    if metric.startswith(_INSTRUMENTED):
        return "instrumented"
    # Names of instruction counters have no unit prefix: inst_executed, memory_l1_wavefronts_shared.
    return "hardware" if "__" in metric.partition(".")[0] else "lines"


def passes_of(metrics: Iterable[str], table: Sequence[Measured] | None = None) -> Passes:
    """How many passes these metrics take, from measured sets; ``table`` replaces the shipped measurements."""
    known = measurements() if table is None else table
    asked = frozenset(metrics)
    of: dict[Collector, tuple[int, int]] = {}
    assumed: list[str] = []
    for collector in COLLECTORS:
        own = frozenset(metric for metric in asked if collector_of(metric) == collector)
        if own:
            high, never_measured = _most(own, known)
            of[collector] = (_least(own, known), high)
            assumed += sorted(never_measured)
    low, high = (sum(bounds[side] for bounds in of.values()) for side in (0, 1))
    return Passes(low, high, of, tuple(assumed))


def forecast(
    argv: Sequence[str],
    metrics: Sequence[str],
    *,
    launches: int | None = None,
    memory_bytes: int | None = None,
) -> Forecast:
    """Predict what a run will cost, without a GPU and without ncu.

    Args:
        argv: ncu's argument list, with the program.
        metrics: The requested metrics.
        launches: How many launches are profiled; None where the program decides.
        memory_bytes: The device memory that the program allocates; None where it is not known.
    """
    passes = passes_of(metrics)
    memory = ANY_PROGRAM_BYTES if memory_bytes is None else Bounds(memory_bytes, memory_bytes)
    used = [each.where for each in measurements() if each.metrics & frozenset(metrics)]
    return Forecast(
        command=shlex.join(masked_words(argv)),
        metrics=len(metrics),
        passes=passes,
        start_s=START_S,
        launch_s=launch_seconds(passes, memory),
        launches=launches,
        where=tuple(dict.fromkeys(used)),
    )


def launch_seconds(passes: Passes, memory: Bounds) -> Bounds:
    """Seconds for one launch with this many bytes of device memory."""
    low = passes.low * (PASS_S.low + memory.low / SAVED_BYTES_PER_S.high * (passes.low > 1))
    high = passes.high * (PASS_S.high + memory.high / SAVED_BYTES_PER_S.low * (passes.high > 1))
    return Bounds(low, high)


@cache
def measurements() -> tuple[Measured, ...]:
    """The sets of metrics whose passes were counted on a GPU, as ``passes.toml`` holds them."""
    text = resources.files("ncuview.profiling").joinpath("passes.toml").read_text(encoding="utf-8")
    return tuple(
        Measured(frozenset(entry["metrics"]), entry["passes"], entry["where"])
        for entry in tomllib.loads(text)["measured"]
    )


def _least(metrics: frozenset[str], table: Iterable[Measured]) -> int:
    """The lower bound: no set takes fewer passes than a part of it."""
    return max([1, *(each.passes for each in table if each.metrics <= metrics)])


def _most(metrics: frozenset[str], table: Sequence[Measured]) -> tuple[int, frozenset[str]]:
    """The upper bound: passes of measured sets that cover these metrics, a pass per counter for those not covered.

    A counter's sums, averages and shares are one counter, so that they count once.
    """
    covers = [_covered(metrics, first, table) for first in table if first.metrics & metrics]
    passes, left = min(covers, key=lambda cover: cover[0], default=(_counters(metrics), metrics))
    return min(passes, _counters(metrics)), left


def _covered(metrics: frozenset[str], first: Measured, table: Sequence[Measured]) -> tuple[int, frozenset[str]]:
    """The passes of measured sets that cover these metrics, beginning with one of them, and what is in none."""
    left, passes = metrics - first.metrics, first.passes
    while useful := [each for each in table if each.metrics & left]:
        best = min(useful, key=lambda each: (each.passes / _counters(each.metrics & left), each.passes))
        left, passes = left - best.metrics, passes + best.passes
    return passes + _counters(left), left


def _counters(metrics: Iterable[str]) -> int:
    return len({metric.partition(".")[0] for metric in metrics})


ONE_PASS = (
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors.avg",
    "lts__t_sectors.max",
    "lts__t_sectors.sum",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)
"""The hardware counters, of those that rules read, that rule out most rules: on the recorded profiles they and the
counters of instructions spare 82 of the 132 launches without advice a second run; all hardware counters, which take
three passes, spare 95."""


def sampling_metrics() -> list[str]:
    """The metrics that give each launch's share of the time and how near it is to its peak, sorted.

    They are chosen to fit one pass, so that ncu neither saves nor restores memory.
    """
    return sorted(ONE_PASS)


OF_PIPES = (
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
)


def program_metrics() -> list[str]:
    """What rules about programs read, and what gives each launch its units and verdict, sorted; one pass on an H200."""
    return sorted({*ONE_PASS, *OF_PIPES})


WORK = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sectors.sum",
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)
"""What shows that a launch did its work: bytes of device memory and L2, and how often threads executed each
instruction. One pass of hardware counters and one of counters of instructions, the fewest that have both."""


LAUNCH_S = 0.015
"""What ncu takes for a launch of which only time and Python calls are asked: 0.010 to 0.017 s on an H200 with ncu
2025.3.1, for programs of 700 to 1,300 launches."""
COUNTERS_S = 0.045
"""What a pass of hardware counters takes in addition to the time alone: on an H200 with ncu 2025.3.1, 735 launches of
PyTorch take 51 s with and 15 s without counters."""

TIME_ALONE = ("gpu__time_duration.sum",)
"""The smallest plan: one pass, nothing saved, nothing instrumented. A program that dies even then fails by itself."""


class SmallerPlan(NamedTuple):
    """Fewer metrics, and what is left out, in words."""

    metrics: tuple[str, ...]
    without: str


def smaller_plans(metrics: Sequence[str]) -> list[SmallerPlan]:
    """Plans that are part of this one, the largest first; the last is time alone.

    Args:
        metrics: What the plan that killed the program collects.
    """
    plans = [
        SmallerPlan(
            tuple(name for name in metrics if collector_of(name) != "instrumented"), "counters of instrumented code"
        ),
        SmallerPlan(_part(metrics, sampling_metrics()), "all that does not fit into one pass"),
        SmallerPlan(TIME_ALONE, "everything but the time of each launch"),
    ]
    smaller: dict[frozenset[str], SmallerPlan] = {}
    for plan in plans:
        smaller.setdefault(frozenset(plan.metrics), plan)
    return [plan for chosen, plan in smaller.items() if chosen and chosen != frozenset(metrics)]


def _part(metrics: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in allowed if name in metrics)
