"""Compute which metrics and rule outcomes changed between two ``LaunchDiagnosis``, and the time each change explains.

``metric_changes`` compares textbook metrics, busy times and stalls; ``rule_changes`` compares the rules' outcomes.
Each metric drives the demand for some units of the GPU. Its change explains the time that those units were busy in the
slower launch, in proportion to the change. Units overlap as in the what-if model, so that the time of a unit counts by
the square of its use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite, sqrt

from ncuview.metrics.units import UNITS
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, Outcome, RuleId, Skipped

_MIN_EXPLAINED_SHARE = 0.05
"""A change that explains less than this share of the longer time is left out. Assumed: times of the same code differ by
up to 5 % (see ``prediction``)."""
_REPEATS = 0.01
"""Counters that repeat within this share are listed before all others."""
_NOISE = 3.0
"""A change must be at least this many times the spread between runs."""
_SAMPLED_POINTS = 13.0
"""Sampled stall shares differ from the hardware's counters by up to this many percentage points."""
_AS_GOOD = 0.8
"""Of counters of one kind, the first is reported that explains at least this share of what the best one explains."""

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
"""What uses wavefronts of the L1 data stage. An access to global memory uses at least one."""
_BYTES = ("dram_read_bytes", "dram_write_bytes")
_CYCLES_SPREAD = 0.07


@dataclass(frozen=True)
class MetricChange:
    """One metric before and after, and the time that its change explains."""

    metric: str
    """The textbook metric, or the unit whose busy time it is."""
    words: str
    before: float | None
    after: float | None
    """None where the launch has no subject for it, such as bank conflicts without shared memory."""
    unit: str
    saves_ns: float
    """Time saved, in ns of the launch before; negative where the change costs time."""
    exact: bool
    """Whether the counter repeats within 1 % from run to run."""


@dataclass(frozen=True)
class RuleChange:
    """A rule whose finding appeared, disappeared, or has another predicted gain."""

    rule: RuleId
    before: str
    after: str
    """The rule's message about each side."""
    fires_before: bool
    fires_after: bool
    saves_ns: float
    """Cost of the waste before minus its cost after, in ns, by the what-if model."""


@dataclass(frozen=True)
class _Counter:
    """A textbook metric that identifies a mechanism.

    Attributes:
        kind: Of counters of the same kind, one is reported.
        drives: Units whose demand grows with it, or ``latency``.
        amount: The counts that make the demand, where the metric is a ratio. The metric explains at most the change of
            these counts: a vector load has four times the sectors per request, and as many sectors.
        among: Counts that make the same demand; ``amount`` has its share of these.
        spread: Between runs on an H200: (max - min) / median, the worst of six runs of ten kernels.
        subject: Counts of the accesses that it describes; where all are 0 the launch has none, and ``ideal`` is used.
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
"""Of counters that explain equally much, the first is reported. Spreads: H200, ncu 2025.3.1."""

_STALLS = {
    "stall_memory_dependency": "waits for data",
    "stall_memory_throttle": "waits for a free slot to load or store",
    "stall_exec_dependency": "waits for results",
    "stall_pipe_busy": "waits for busy pipes",
    "stall_sync": "waits at barriers",
    "stall_texture": "waits for textures",
    "stall_inst_fetch": "waits for instructions",
}


def metric_changes(before: LaunchDiagnosis, after: LaunchDiagnosis) -> tuple[MetricChange, ...]:
    """Metrics that changed: counters that repeat first, and among those the ones that explain the most time first."""
    if not _timed(before, after):
        return ()
    least = _MIN_EXPLAINED_SHARE * max(before.duration_ns, after.duration_ns)
    found = list(_one_of_each_kind(_counted(before, after), least))
    explained = {unit for counter, _ in found for unit in counter.drives}
    rest = [*_busy_times(before, after, explained), *_waits(before, after)]
    every = [change for _, change in found] + [change for change in rest if abs(change.saves_ns) >= least]
    return tuple(sorted(every, key=lambda change: (not change.exact, -abs(change.saves_ns))))


def rule_changes(before: LaunchDiagnosis, after: LaunchDiagnosis) -> tuple[RuleChange, ...]:
    """Findings that appeared, disappeared or changed, by the cost of their waste; small costs are left out."""
    if not _timed(before, after):
        return ()
    least = _MIN_EXPLAINED_SHARE * max(before.whole_ns, after.whole_ns)
    sides = [{outcome.rule: outcome for outcome in launch.outcomes} for launch in (before, after)]
    changed = []
    for rule, was in sides[0].items():
        now = sides[1].get(rule)
        if now is None or isinstance(was, Skipped | Broken) or isinstance(now, Skipped | Broken):
            continue  # the rule did not judge one side
        saves = _cost(before, was) - _cost(after, now)
        # Waste that takes the same share of a shorter time has not changed.
        if abs(saves) >= least and (gain(was) - gain(now)) * saves > 0:
            fires = (isinstance(was, Finding), isinstance(now, Finding))
            changed.append(RuleChange(rule, was.message, now.message, *fires, saves))
    return tuple(sorted(changed, key=lambda change: -abs(change.saves_ns)))


def _timed(*launches: LaunchDiagnosis) -> bool:
    return all(isfinite(launch.duration_ns) and launch.duration_ns > 0 for launch in launches)


def gain(outcome: Outcome | None) -> float:
    """The predicted speedup of a finding; 1.0 where there is no finding."""
    return outcome.predicted_speedup.best if isinstance(outcome, Finding) else 1.0


def _cost(launch: LaunchDiagnosis, outcome: Outcome) -> float:
    """The time in ns that a finding's waste costs."""
    return launch.whole_ns * (1 - 1 / gain(outcome))


def _counted(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[tuple[_Counter, MetricChange]]:
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
        change = MetricChange(
            metric=counter.metric,
            words=counter.words,
            before=was if counter.metric in before.metrics else None,
            after=now if counter.metric in after.metrics else None,
            unit=known[0].unit,
            saves_ns=-grown * _busy(worse, counter.drives) * _part(worse, counter),
            exact=counter.spread <= _REPEATS,
        )
        yield counter, change


def _growth(was: float, now: float) -> float:
    """The change as a share of the larger value: -1 where it fell to 0, 1 where it rose from 0."""
    most = max(was, now)
    return (now - was) / most if most > 0 and min(was, now) >= 0 else 0.0


def _less_of(one: float, other: float) -> float:
    """The smaller of two changes in the same direction; 0 where they have opposite directions."""
    return min(one, other, key=abs) if one * other > 0 else 0.0


def _part(launch: LaunchDiagnosis, counter: _Counter) -> float:
    """This counter's share of all counts that make the same demand."""
    amount = _sum(launch, counter.amount or (counter.metric,))
    together = _sum(launch, counter.among)
    return min(1.0, amount / together) if together > 0 else 1.0


def _sum(launch: LaunchDiagnosis, metrics: Iterable[str]) -> float:
    return sum(launch.metrics[name].value for name in metrics if name in launch.metrics)


def _value(launch: LaunchDiagnosis, counter: _Counter) -> float | None:
    """The counter's value; ``ideal`` where the launch has no such accesses; None where that is unknown."""
    if counter.metric in launch.metrics:
        return launch.metrics[counter.metric].value
    known = [launch.metrics[name].value for name in counter.subject if name in launch.metrics]
    absent = bool(counter.subject) and len(known) == len(counter.subject) and not any(known)
    return counter.ideal if absent else None


def _one_of_each_kind(
    counted: Iterable[tuple[_Counter, MetricChange]], least: float
) -> Iterator[tuple[_Counter, MetricChange]]:
    by_kind: dict[str, list[tuple[_Counter, MetricChange]]] = {}
    for counter, change in counted:
        by_kind.setdefault(counter.kind, []).append((counter, change))
    for members in by_kind.values():
        most = max(abs(change.saves_ns) for _, change in members)
        if most >= least:
            yield next(pair for pair in members if abs(pair[1].saves_ns) >= _AS_GOOD * most)


def _share(launch: LaunchDiagnosis, unit: str) -> float:
    """A unit's use as a share of its peak; for latency, the share of the time that no unit explains."""
    if unit != _LATENCY:
        return launch.units.get(unit, 0.0)
    return sqrt(max(0.0, 1 - launch.attained**2)) if isfinite(launch.attained) else 0.0


def _busy(launch: LaunchDiagnosis, units: Iterable[str]) -> float:
    """The time in ns that the busiest of these units explains; little where another unit is much busier."""
    return launch.duration_ns * max(_share(launch, unit) for unit in units) ** 2


def _busy_times(before: LaunchDiagnosis, after: LaunchDiagnosis, explained: set[str]) -> Iterator[MetricChange]:
    """The busy time of each unit whose change no reported counter explains."""
    for unit in (unit for unit in before.units if unit in after.units and unit not in explained):
        was, now = (_share(launch, unit) * launch.duration_ns for launch in (before, after))
        saves = _busy(before, [unit]) - _busy(after, [unit])
        # A unit may explain a larger share only because the rest of the time became shorter.
        if abs(was - now) > _NOISE * _CYCLES_SPREAD * max(was, now) and (was > now) == (saves > 0):
            words = UNITS[unit].says if unit in UNITS else "L2 cache"
            yield MetricChange(unit, f"{words} busy", was, now, "ns", saves, exact=False)


def _waits(before: LaunchDiagnosis, after: LaunchDiagnosis) -> Iterator[MetricChange]:
    """Stall reasons whose share changed, weighted by the time that latency explains."""
    for metric, words in _STALLS.items():
        sides = [(launch, launch.metrics[metric].value) for launch in (before, after) if metric in launch.metrics]
        if len(sides) < len((before, after)):
            continue
        saves = [_busy(launch, [_LATENCY]) * share / 100 for launch, share in sides]
        (_, was), (_, now) = sides
        # A share may grow only because the rest of the time became shorter.
        if abs(was - now) > _SAMPLED_POINTS and (was > now) == (saves[0] > saves[1]):
            yield MetricChange(metric, words, was, now, "%", saves[0] - saves[1], exact=False)
