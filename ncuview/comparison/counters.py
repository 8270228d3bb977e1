"""Compute which counters and findings changed between two launches, and how much time each change explains.

``shifts`` compares textbook metrics, busy times and stalls; ``rule_shifts`` compares the outcomes of rules.
A counter drives the demand for some units of the GPU. What its change explains is the time that those units were busy
on the side where it was worse, in proportion to the change. A unit that is far from being the bottleneck hides behind
the others, as in the what-if model, so that its time counts by the square of its use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite, sqrt

from ncuview.metrics.units import UNITS
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, Outcome, RuleId, Skipped

WORTH_SAYING = 0.05
"""A change that explains less than this share of the longer time is left out. A judgement: runs differ by as much."""
_REPEATS = 0.01
"""Counters that repeat within this are named before all others."""
_NOISE = 3.0
"""A change must be so many times the spread between runs."""
_SAMPLED_POINTS = 13.0
"""Stall shares are sampled; against the hardware's counters they are up to so many points off."""
_AS_GOOD = 0.8
"""Of counters of one kind, the first listed is taken if it explains this share of what the best one does."""

_LATENCY = "latency"
_MEMORY = ("l1_data", "l2", "dram")
_ISSUE = ("issue", "alu", "fma", "imad")
_SHARED_ACCESSES = ("inst_executed_shared_loads", "inst_executed_shared_stores")
_ACCESSES = ("inst_executed_global_loads", "inst_executed_global_stores", *_SHARED_ACCESSES)
_SECTORS = ("gld_transactions", "gst_transactions")
_WAVEFRONTS = (
    "shared_load_transactions",
    "shared_store_transactions",
    "inst_executed_global_loads",
    "inst_executed_global_stores",
)
"""What takes turns at the data stage of L1. An access to global memory takes at least one."""
_BYTES = ("dram_read_bytes", "dram_write_bytes")
_CYCLES_SPREAD = 0.07


@dataclass(frozen=True)
class Shift:
    """One number on both sides, and the time that its change explains."""

    metric: str
    """The textbook metric, or the wall of which it is the busy time."""
    words: str
    before: float | None
    after: float | None
    """None where the launch has no subject for it, such as bank conflicts without shared memory."""
    unit: str
    saves_ns: float
    """Of the launch before; negative where the change costs time."""
    exact: bool
    """Whether the counter repeats within 1 % from run to run."""


@dataclass(frozen=True)
class RuleShift:
    """A rule whose finding came, went, or is worth something else now."""

    rule: RuleId
    before: str
    after: str
    """What the rule says of each side."""
    fires_before: bool
    fires_after: bool
    saves_ns: float
    """Of the launch before: what the waste cost then, less what it costs now, after the what-if model."""


@dataclass(frozen=True)
class _Counter:
    """A textbook metric that names a mechanism.

    Attributes:
        kind: Of counters of the same kind, one is named.
        drives: Walls whose demand grows with it, or ``latency``.
        amount: The counts that make the demand, where the metric is a ratio: it explains no more than they changed. A
            vector load has four times the sectors per request, and as many sectors.
        among: Counts that make the same demand; ``amount`` has its share of these.
        spread: Between runs on an H200: (max - min) / median, the worst of six runs of ten kernels.
        subject: Counts of what it is about; where all are 0 the launch has no subject, and it is as good as ``ideal``.
    """

    metric: str
    words: str
    kind: str
    drives: tuple[str, ...]
    amount: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    spread: float = 0.0
    less_is_worse: bool = False
    subject: tuple[str, ...] = ()
    ideal: float = 0.0


_COUNTERS = (
    _Counter(
        "gld_transactions_per_request",
        "sectors per load request",
        "loads",
        _MEMORY,
        amount=("gld_transactions",),
        among=_SECTORS,
        subject=("global_load_requests",),
    ),
    _Counter("gld_transactions", "sectors loaded", "loads", _MEMORY, among=_SECTORS),
    _Counter(
        "gst_transactions_per_request",
        "sectors per store request",
        "stores",
        _MEMORY,
        amount=("gst_transactions",),
        among=_SECTORS,
        spread=0.005,
        subject=("global_store_requests",),
    ),
    _Counter("gst_transactions", "sectors stored", "stores", _MEMORY, among=_SECTORS, spread=0.005),
    _Counter(
        "inst_executed_global_loads",
        "load instructions",
        "load instructions",
        ("lsu", "issue", _LATENCY),
        among=_ACCESSES,
    ),
    _Counter(
        "inst_executed_global_stores", "store instructions", "store instructions", ("lsu", "issue"), among=_ACCESSES
    ),
    _Counter(
        "shared_bank_conflict_ways",
        "bank conflicts",
        "shared",
        ("l1_data", "lsu"),
        amount=("shared_load_transactions", "shared_store_transactions"),
        subject=_SHARED_ACCESSES,
        ideal=1.0,
    ),
    _Counter("shared_load_transactions", "wavefronts of shared loads", "shared", ("l1_data", "lsu"), among=_WAVEFRONTS),
    _Counter(
        "shared_store_transactions", "wavefronts of shared stores", "shared", ("l1_data", "lsu"), among=_WAVEFRONTS
    ),
    _Counter("inst_executed_local_loads", "loads of local memory", "local", _MEMORY),
    _Counter("inst_executed_global_atomics", "atomics on global memory", "atomics", ("l2_atomic", "l2", _LATENCY)),
    _Counter("inst_executed_global_reductions", "reductions to global memory", "atomics", ("l2_atomic", "l2")),
    _Counter("warp_nonpred_execution_efficiency", "lanes at work", "instructions", _ISSUE, less_is_worse=True),
    _Counter("inst_executed", "instructions", "instructions", _ISSUE),
    _Counter("inst_fp_64", "double-precision operations", "double precision", ("fp64_tensor",)),
    _Counter("dram_read_bytes", "bytes read from device memory", "device memory", ("dram",), among=_BYTES),
    _Counter("theoretical_occupancy", "occupancy that fits", "occupancy", (_LATENCY,), less_is_worse=True),
    _Counter("achieved_occupancy", "occupancy", "occupancy", (_LATENCY,), spread=0.006, less_is_worse=True),
    _Counter(
        "dram_write_bytes", "bytes written to device memory", "device memory", ("dram",), among=_BYTES, spread=0.15
    ),
    _Counter("l2_slice_imbalance", "load of the busiest L2 slice", "L2 slices", ("l2",), spread=0.014),
)
"""Of those as good as each other the first is named. Spreads are measured, on an H200 with ncu 2025.3.1."""

_STALLS = {
    "stall_memory_dependency": "waits for data",
    "stall_memory_throttle": "waits for room to load or store",
    "stall_exec_dependency": "waits for results",
    "stall_pipe_busy": "waits for busy pipes",
    "stall_sync": "waits at barriers",
    "stall_texture": "waits for textures",
    "stall_inst_fetch": "waits for instructions",
}


def shifts(before: LaunchDiagnosis, after: LaunchDiagnosis) -> tuple[Shift, ...]:
    """What changed, counters that repeat first, and of those the ones that explain the most time."""
    if not _timed(before, after):
        return ()
    least = WORTH_SAYING * max(before.duration_ns, after.duration_ns)
    found = list(_one_of_each_kind(_counted(before, after), least))
    told = {wall for counter, _ in found for wall in counter.drives}
    rest = [*_busy_times(before, after, told), *_waits(before, after)]
    every = [shift for _, shift in found] + [shift for shift in rest if abs(shift.saves_ns) >= least]
    return tuple(sorted(every, key=lambda shift: (not shift.exact, -abs(shift.saves_ns))))


def rule_shifts(before: LaunchDiagnosis, after: LaunchDiagnosis) -> tuple[RuleShift, ...]:
    """Findings that came, went or changed, by the time that their waste costs; those that cost little are left out."""
    if not _timed(before, after):
        return ()
    least = WORTH_SAYING * max(before.whole_ns, after.whole_ns)
    sides = [{outcome.rule: outcome for outcome in launch.outcomes} for launch in (before, after)]
    moved = []
    for rule, was in sides[0].items():
        now = sides[1].get(rule)
        if now is None or isinstance(was, Skipped | Broken) or isinstance(now, Skipped | Broken):
            continue  # one side was not judged, which is no change
        saves = _cost(before, was) - _cost(after, now)
        # A waste that takes the same share of less time has not moved.
        if abs(saves) >= least and (gain(was) - gain(now)) * saves > 0:
            fires = (isinstance(was, Finding), isinstance(now, Finding))
            moved.append(RuleShift(rule, was.message, now.message, *fires, saves))
    return tuple(sorted(moved, key=lambda shift: -abs(shift.saves_ns)))


def _timed(*launches: LaunchDiagnosis) -> bool:
    return all(isfinite(launch.duration_ns) and launch.duration_ns > 0 for launch in launches)


def gain(outcome: Outcome | None) -> float:
    """What removing a finding's waste promises; 1.0 where there is no finding."""
    return outcome.predicted_speedup.best if isinstance(outcome, Finding) else 1.0


def _cost(launch: LaunchDiagnosis, outcome: Outcome) -> float:
    """The time in ns that a finding's waste costs."""
    return launch.whole_ns * (1 - 1 / gain(outcome))


def _counted(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[tuple[_Counter, Shift]]:
    for counter in _COUNTERS:
        known = [launch.metrics[counter.metric] for launch in (before, after) if counter.metric in launch.metrics]
        was, now = (_value(launch, counter) for launch in (before, after))
        if not known or was is None or now is None:
            continue
        grown = _growth(was, now) * (-1 if counter.less_is_worse else 1)
        if counter.amount:
            grown = _less_of(grown, _growth(_sum(before, counter.amount), _sum(after, counter.amount)))
        if abs(grown) <= _NOISE * counter.spread:
            continue
        worse = after if grown > 0 else before
        shift = Shift(
            metric=counter.metric,
            words=counter.words,
            before=was if counter.metric in before.metrics else None,
            after=now if counter.metric in after.metrics else None,
            unit=known[0].unit,
            saves_ns=-grown * _busy(worse, counter.drives) * _part(worse, counter),
            exact=counter.spread <= _REPEATS,
        )
        yield counter, shift


def _growth(was: float, now: float) -> float:
    """How much more it is now, as a share of the larger one: -1 for what has gone, 1 for what has come."""
    most = max(was, now)
    return (now - was) / most if most > 0 and min(was, now) >= 0 else 0.0


def _less_of(one: float, other: float) -> float:
    """The smaller of two changes in the same direction; 0 where they go apart."""
    return min(one, other, key=abs) if one * other > 0 else 0.0


def _part(launch: LaunchDiagnosis, counter: _Counter) -> float:
    """The share of the demand that this counter makes, of all that make the same."""
    amount = _sum(launch, counter.amount or (counter.metric,))
    together = _sum(launch, counter.among)
    return min(1.0, amount / together) if together > 0 else 1.0


def _sum(launch: LaunchDiagnosis, metrics: Iterable[str]) -> float:
    return sum(launch.metrics[name].value for name in metrics if name in launch.metrics)


def _value(launch: LaunchDiagnosis, counter: _Counter) -> float | None:
    """What it reads, its ideal where the launch has no subject for it, None where that is unknown."""
    if counter.metric in launch.metrics:
        return launch.metrics[counter.metric].value
    known = [launch.metrics[name].value for name in counter.subject if name in launch.metrics]
    absent = bool(counter.subject) and len(known) == len(counter.subject) and not any(known)
    return counter.ideal if absent else None


def _one_of_each_kind(counted: Iterable[tuple[_Counter, Shift]], least: float) -> Iterator[tuple[_Counter, Shift]]:
    by_kind: dict[str, list[tuple[_Counter, Shift]]] = {}
    for counter, shift in counted:
        by_kind.setdefault(counter.kind, []).append((counter, shift))
    for members in by_kind.values():
        most = max(abs(shift.saves_ns) for _, shift in members)
        if most >= least:
            yield next(pair for pair in members if abs(pair[1].saves_ns) >= _AS_GOOD * most)


def _share(launch: LaunchDiagnosis, wall: str) -> float:
    """A unit's use as a share of its peak; of latency, the share of the time in which no unit explains it."""
    if wall != _LATENCY:
        return launch.units.get(wall, 0.0)
    return sqrt(max(0.0, 1 - launch.attained**2)) if isfinite(launch.attained) else 0.0


def _busy(launch: LaunchDiagnosis, walls: Iterable[str]) -> float:
    """The time in ns that the busiest of these walls accounts for, little where another unit is much busier."""
    return launch.duration_ns * max(_share(launch, wall) for wall in walls) ** 2


def _busy_times(before: LaunchDiagnosis, after: LaunchDiagnosis, told: set[str]) -> Iterator[Shift]:
    """The busy time of each wall of which no counter tells why it changed."""
    for wall in (wall for wall in before.units if wall in after.units and wall not in told):
        was, now = (_share(launch, wall) * launch.duration_ns for launch in (before, after))
        saves = _busy(before, [wall]) - _busy(after, [wall])
        # A unit may count for more only because the rest of the time has gone.
        if abs(was - now) > _NOISE * _CYCLES_SPREAD * max(was, now) and (was > now) == (saves > 0):
            words = UNITS[wall].says if wall in UNITS else "L2 cache"
            yield Shift(wall, f"{words} busy", was, now, "ns", saves, exact=False)


def _waits(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[Shift]:
    """What warps wait for, as far as waiting is what takes the time."""
    for metric, words in _STALLS.items():
        sides = [(launch, launch.metrics[metric].value) for launch in (before, after) if metric in launch.metrics]
        if len(sides) < len((before, after)):
            continue
        saves = [_busy(launch, [_LATENCY]) * share / 100 for launch, share in sides]
        (_, was), (_, now) = sides
        # A share may grow because the rest of the time has gone; that is no mechanism.
        if abs(was - now) > _SAMPLED_POINTS and (was > now) == (saves[0] > saves[1]):
            yield Shift(metric, words, was, now, "%", saves[0] - saves[1], exact=False)
