"""Named quantities that rules may ask for as ``derived:NAME``, where arithmetic over metrics cannot say it.

Each is a function from a Profile to one float64 per launch, NaN where it cannot be computed, and declares the metrics
that it needs so that they are collected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ncuview.report.units import UNITS

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ncuview.model import Profile

    Column = NDArray[np.float64]

STALL_REASONS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instructions",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
    "warpgroup_arrive",
)
"""Why a sampled warp did not issue, in Nsight Compute's words."""
_MEMORY_REASONS = ("long_scoreboard", "lg_throttle", "drain", "short_scoreboard", "mio_throttle")
_SAMPLES = "smsp__pcsamp_warps_issue_stalled_{}"
_SAMPLE_METRICS = tuple(_SAMPLES.format(reason) for reason in STALL_REASONS)
OF_SOME_CHIPS = frozenset({_SAMPLES.format("imc_miss"), _SAMPLES.format("warpgroup_arrive")})
"""Any GPU samples the other reasons; where one of those is missing it was not asked for, and shares would be wrong."""
_WARP = 32
_LOOP_INSTRUCTIONS = 3


@dataclass(frozen=True)
class Derived:
    """A derived quantity.

    Attributes:
        unit: Of its values.
        metrics: What it is computed from, under Nsight Compute's names.
        compute: One value per launch.
    """

    unit: str
    metrics: tuple[str, ...]
    compute: Callable[[Profile], Column]


def column(profile: Profile, metric: str) -> Column:
    """A metric's values for all launches, NaN where it is missing or infinite."""
    if metric not in profile.metrics.columns:
        return np.full(len(profile.launches), np.nan)
    values = profile.metrics[metric].to_numpy(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def first_known(profile: Profile, metrics: Sequence[str]) -> Column:
    """For each launch the value of the first of these metrics that it has, else NaN."""
    result = np.full(len(profile.launches), np.nan)
    for metric in metrics:
        result = np.where(np.isfinite(result), result, column(profile, metric))
    return result


def _stall_share(reason: str) -> Callable[[Profile], Column]:
    """A reason's share of all warp samples: how much of the warps' time it takes."""

    def share(profile: Profile) -> Column:
        samples = {metric: column(profile, metric) for metric in _SAMPLE_METRICS}
        complete = np.isfinite([samples[metric] for metric in samples if metric not in OF_SOME_CHIPS]).all(axis=0)
        total = np.nansum(list(samples.values()), axis=0)
        with np.errstate(all="ignore"):
            # A launch shorter than the sampling interval has no samples, and so no shares.
            return np.where(complete & (total > 0), np.nan_to_num(samples[_SAMPLES.format(reason)]) / total, np.nan)

    return share


def warps(profile: Profile) -> Column:
    """Warps launched; the last warp of a block counts whole."""
    block = column(profile, "launch__block_size")
    return np.ceil(block / _WARP) * column(profile, "launch__grid_size")


def _lanes_launched(profile: Profile) -> Column:
    """Threads per launched warp: below 32 when the block is no multiple of the warp."""
    return column(profile, "launch__thread_count") / warps(profile)


def _loads_per_warp(profile: Profile) -> Column:
    return column(profile, "smsp__sass_inst_executed_op_global_ld.sum") / warps(profile)


def _fill(profile: Profile) -> Column:
    """Threads launched as a share of the threads that the whole GPU can hold at once."""
    room = column(profile, "launch__sm_count") * column(profile, "device__attribute_max_threads_per_multiprocessor")
    return column(profile, "launch__thread_count") / room


_PREDICATE = r"^(?:@!?U?P\d+\s+)?"
_GLOBAL_LOAD = re.compile(_PREDICATE + r"(?:LDG|LD)\.E(?P<modifiers>\S*)\s+R(?P<register>\d+)")
_GLOBAL_STORE = re.compile(_PREDICATE + r"(?:STG|ST)\b")
_BARRIER = re.compile(_PREDICATE + r"(?:BAR|B2R)\b")
_REGISTER = re.compile(r"\bR(\d+)\b")
_JUMP = re.compile(r"\bBRA\S*\s+(?:\S+,\s*)*0x(?P<target>[0-9a-f]+)")

ACCESSES: Mapping[str, re.Pattern[str]] = {"global_load": _GLOBAL_LOAD, "global_store": _GLOBAL_STORE}
"""What rules may restrict their lines to."""


def _load_bytes(modifiers: str) -> int:
    return 16 if ".128" in modifiers else 8 if ".64" in modifiers else 4


def load_batches(sass: list[str]) -> Iterator[tuple[int, int]]:
    """Groups of global loads that are in flight together: (position of the first, bytes per thread).

    A group ends at the first instruction that reads a register which one of its loads writes, since the thread waits
    there.
    """
    start, in_flight, waiting = 0, 0, set[int]()
    for position, instruction in enumerate(sass):
        load = _GLOBAL_LOAD.match(instruction)
        read = {int(r) for r in _REGISTER.findall(instruction.split(",", 1)[-1] if load else instruction)}
        if waiting & read:
            yield start, in_flight
            in_flight, waiting = 0, set()
        if load:
            width = _load_bytes(load["modifiers"])
            start = position if not waiting else start
            in_flight += width
            first = int(load["register"])
            waiting |= set(range(first, first + width // 4))
    if waiting:
        yield start, in_flight


def _per_launch(metric: str, compute: Callable[[pd.DataFrame], float]) -> Callable[[Profile], Column]:
    """Apply ``compute`` to the instructions of each launch that has ``metric`` for them."""

    def column_of(profile: Profile) -> Column:
        result = np.full(len(profile.launches), np.nan)
        if metric in profile.instructions.columns:
            known = profile.instructions[profile.instructions[metric].notna()]
            for launch, rows in known.groupby("launch"):
                result[int(str(launch))] = compute(rows)
        return result

    return column_of


def _total_over(metric: str, pattern: re.Pattern[str]) -> Derived:
    """The sum of a metric over the instructions whose text matches."""

    def total(rows: pd.DataFrame) -> float:
        return float(rows[metric].to_numpy(np.float64)[_matches(rows, pattern)].sum())

    return Derived("", (metric,), _per_launch(metric, total))


def _matches(rows: pd.DataFrame, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    return np.array([bool(pattern.match(instruction)) for instruction in rows["sass"].tolist()], dtype=bool)


def _bytes_in_flight(rows: pd.DataFrame) -> float:
    """Bytes that a thread has asked global memory for when it starts to wait, averaged over its waits."""
    executed = rows["inst_executed"].to_numpy(np.float64)
    batches = [(executed[start], size) for start, size in load_batches(rows["sass"].tolist())]
    count = sum(times for times, _ in batches)
    return float(sum(times * size for times, size in batches) / count) if count else 0.0


def _worst_bank_conflict(rows: pd.DataFrame) -> float:
    """Wavefronts per ideal wavefront of the shared-memory instruction with the most replays."""
    ideal = rows["memory_l1_wavefronts_shared_ideal"].to_numpy(np.float64)
    actual = rows["memory_l1_wavefronts_shared"].to_numpy(np.float64)
    used = ideal > 0
    return float((actual[used] / ideal[used]).max()) if used.any() else 0.0


def _loop_overhead(rows: pd.DataFrame) -> float:
    """Share of the executed instructions that keep loops going: an increment, a comparison and a jump for each turn."""
    executed = rows["inst_executed"].to_numpy(np.float64)
    turns = 0.0
    for at, times, instruction in zip(rows["address"], executed, rows["sass"].tolist(), strict=True):
        jump = _JUMP.search(instruction)
        if jump and int(jump["target"], 16) <= at:
            turns += times
    total = executed.sum()
    return float(_LOOP_INSTRUCTIONS * turns / total) if total else 0.0


def _sm_cycles(profile: Profile) -> Column:
    """Cycles of all multiprocessors together, idle ones too."""
    return column(profile, "sm__cycles_elapsed.max") * column(profile, "launch__sm_count")


def _l1_wavefronts(profile: Profile) -> Column:
    """Wavefronts that the data stage of L1 handled: its use times its cycles, since it takes one per cycle."""
    return column(profile, UNITS["l1_data"].metrics[0]) / 100 * _sm_cycles(profile)


def _stall_memory(profile: Profile) -> Column:
    """The share of all warp samples that wait for memory in any of its forms."""
    shares: Column = np.sum([_stall_share(reason)(profile) for reason in _MEMORY_REASONS], axis=0)
    return shares


_SECTORS, _IDEAL = "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"
_CYCLES = ("sm__cycles_elapsed.max", "launch__sm_count")
_WARPS, _THREADS = ("launch__block_size", "launch__grid_size"), "launch__thread_count"
_ROOM = ("launch__sm_count", "device__attribute_max_threads_per_multiprocessor")

DERIVED: Mapping[str, Derived] = {
    **{f"stall_{reason}": Derived("share", _SAMPLE_METRICS, _stall_share(reason)) for reason in STALL_REASONS},
    "warps": Derived("warp", _WARPS, warps),
    "lanes_launched": Derived("thread/warp", (_THREADS, *_WARPS), _lanes_launched),
    "loads_per_warp": Derived("inst/warp", ("smsp__sass_inst_executed_op_global_ld.sum", *_WARPS), _loads_per_warp),
    "fill": Derived("share", (_THREADS, *_ROOM), _fill),
    "stall_memory": Derived("share", _SAMPLE_METRICS, _stall_memory),
    "sm_cycles": Derived("cycle", _CYCLES, _sm_cycles),
    "l1_wavefronts": Derived("wavefront", (*UNITS["l1_data"].metrics, *_CYCLES), _l1_wavefronts),
    "load_sectors": _total_over(_SECTORS, _GLOBAL_LOAD),
    "load_sectors_ideal": _total_over(_IDEAL, _GLOBAL_LOAD),
    "load_requests": _total_over("inst_executed", _GLOBAL_LOAD),
    "store_sectors": _total_over(_SECTORS, _GLOBAL_STORE),
    "store_sectors_ideal": _total_over(_IDEAL, _GLOBAL_STORE),
    "store_requests": _total_over("inst_executed", _GLOBAL_STORE),
    "barriers": _total_over("inst_executed", _BARRIER),
    "bytes_in_flight": Derived("byte/thread", ("inst_executed",), _per_launch("inst_executed", _bytes_in_flight)),
    "loop_overhead": Derived("share", ("inst_executed",), _per_launch("inst_executed", _loop_overhead)),
    "worst_bank_conflict": Derived(
        "way",
        ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"),
        _per_launch("memory_l1_wavefronts_shared", _worst_bank_conflict),
    ),
}
