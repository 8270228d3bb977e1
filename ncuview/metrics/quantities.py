"""Compute from a profile the derived quantities that rules name as ``derived:NAME``, one float64 per launch.

``DERIVED`` lists them (stall shares, per-instruction sums, savings in machine code) with unit and needed metrics.

They are what arithmetic over metrics cannot say. Each is a function from a Profile to a column, NaN where it cannot be
computed, and declares the metrics that it needs so that they are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ncuview.metrics.instruction_table import Executed, executed_by_launch
from ncuview.metrics.units import UNITS
from ncuview.reader.host_times import HOST_TIMES
from ncuview.reader.validity import was_refused
from ncuview.sass import address, instruction_mix, opcode_classes
from ncuview.sass.address import structure_loads, window_loads
from ncuview.sass.code import Code
from ncuview.sass.idioms import compare_and_swap, division, precise_math, shared_sums, spills
from ncuview.sass.idioms.pow import power_doubles, power_instructions, power_special
from ncuview.sass.index_dependence import (
    float_arithmetic,
    loads_invariant_along,
    thread_invariant,
    thread_invariant_float_results,
    thread_invariant_floats,
)
from ncuview.sass.instruction_mix import Weights
from ncuview.sass.load_batches import load_batches
from ncuview.sass.load_indices import gathered_again, gathered_loads
from ncuview.sass.loaded_values import converted_loads, float_coordinates, kept_doubles
from ncuview.sass.loops import chased_loads, reloads, uniform_loads
from ncuview.sass.opcode_classes import Class
from ncuview.sass.provenance import data_dependent_branches, guarded_branches, index_arithmetic
from ncuview.sass.repeated_passes import Place, fusible_pass_loads, repeated_pass_loads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

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
SAMPLES = tuple(_SAMPLES.format(reason) for reason in STALL_REASONS)
"""The metrics that count samples of warps, of each reason."""
OF_SOME_CHIPS = frozenset({_SAMPLES.format("imc_miss"), _SAMPLES.format("warpgroup_arrive")})
"""Any GPU samples the other reasons; where one of those is missing it was not asked for, and shares would be wrong."""
_WARP = 32
_NEARLY = 1
"""Lanes by which the halves of warps differ, at the edges of what a kernel works on."""
_FULL = 0.98
"""From this share of its lanes on, a warp counts as whole: edge guards empty a few lanes of the last blocks."""
_ISSUE_SLOTS = 4
"""Instructions that a multiprocessor can issue per cycle, from Volta on."""
_HOPPER = 9


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


_known: WeakKeyDictionary[Profile, dict[str, Column]] = WeakKeyDictionary()


def derived(profile: Profile, name: str) -> Column:
    """A derived quantity for all launches; many rules ask for the same ones, which are computed once."""
    known = _known.setdefault(profile, {})
    if name not in known:
        with np.errstate(all="ignore"):  # what is divided by nothing is no number
            known[name] = DERIVED[name].compute(profile)
        known[name].flags.writeable = False
    return known[name]


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


def _only_others_have(profile: Profile, metrics: Iterable[str]) -> NDArray[np.bool_]:
    """Which launches lack one of these metrics that another launch on the same GPU has."""
    _, gpu = np.unique(profile.launches["device"].to_numpy(np.str_), return_inverse=True)
    lacking = np.zeros(len(gpu), dtype=bool)
    for metric in metrics:
        known = np.isfinite(column(profile, metric))
        lacking |= ~known & np.isin(gpu, gpu[known])
    return lacking


def _stall_share(reason: str) -> Callable[[Profile], Column]:
    """A reason's share of all warp samples: how much of the warps' time it takes."""

    def share(profile: Profile) -> Column:
        samples = {metric: column(profile, metric) for metric in SAMPLES}
        complete = np.isfinite([samples[metric] for metric in samples if metric not in OF_SOME_CHIPS]).all(axis=0)
        complete &= ~(was_refused(profile, OF_SOME_CHIPS) | _only_others_have(profile, OF_SOME_CHIPS))
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


def _load_turns(profile: Profile) -> Column:
    """How often a warp executes the global load that it executes most often."""
    most = _per_launch(("inst_executed",), _most_executed_load)(profile)
    return most / warps(profile)


def _most_executed_load(rows: Executed) -> float:
    loads = rows["inst_executed"][matches(rows.code, opcode_classes.is_global_load)]
    return float(loads.max()) if len(loads) else 0.0


def _fill(profile: Profile) -> Column:
    """Threads launched as a share of the threads that the whole GPU can hold at once."""
    room = column(profile, "launch__sm_count") * column(profile, "device__attribute_max_threads_per_multiprocessor")
    return column(profile, "launch__thread_count") / room


ACCESSES: Mapping[str, Class] = {
    "load": opcode_classes.is_operand_load,
    "global_load": opcode_classes.is_global_load,
    "global_store": opcode_classes.is_global_store,
    "atomic": opcode_classes.is_global_atomic,
    "local": opcode_classes.is_local_access,
}
"""What rules may restrict their lines to."""


def _per_launch(metrics: Sequence[str], compute: Callable[[Executed], float]) -> Callable[[Profile], Column]:
    """Apply ``compute`` to the instructions of each launch that has all of ``metrics`` for them."""

    def column_of(profile: Profile) -> Column:
        result = np.full(len(profile.launches), np.nan)
        for launch, rows in executed_by_launch(profile).items():
            if all(metric in rows and not np.isnan(rows[metric]).any() for metric in metrics):
                result[launch] = compute(rows)
        return result

    return column_of


def _total_over(metric: str, asked: Class) -> Derived:
    """The sum of a metric over the instructions of a class."""

    def total(rows: Executed) -> float:
        return float(rows[metric][matches(rows.code, asked)].sum())

    return Derived("", (metric,), _per_launch((metric,), total))


def _none_without(metric: str, derived: Derived) -> Derived:
    """0 on launches whose total of ``metric`` is 0: ncu then attributes it to no instruction."""

    def compute(profile: Profile) -> Column:
        return np.where(column(profile, metric) == 0, 0.0, derived.compute(profile))

    return Derived(derived.unit, tuple(dict.fromkeys((metric, *derived.metrics))), compute)


@lru_cache(maxsize=1 << 13)
def matches(code: Code, asked: Class) -> NDArray[np.bool_]:
    """Which instructions are of a class."""
    found = instruction_mix.of_class(code, asked)
    found.flags.writeable = False
    return found


def has_none(profile: Profile, asked: Class) -> NDArray[np.bool_]:
    """For each launch whether its code is known and none of its instructions is of a class."""
    found = np.zeros(len(profile.launches), dtype=bool)
    for launch, rows in executed_by_launch(profile).items():
        found[launch] = not matches(rows.code, asked).any()
    return found


def _bytes_in_flight(rows: Executed) -> float:
    """Bytes that a thread has asked global memory for when it starts to wait, averaged over its waits."""
    executed = rows["inst_executed"]
    batches = [(executed[start], size) for start, size in load_batches(rows.code)]
    count = sum(times for times, _ in batches)
    return float(sum(times * size for times, size in batches) / count) if count else 0.0


def _waits_of_warps(rows: Executed) -> float:
    """How often warps wait for global loads, all warps together."""
    executed = rows["inst_executed"]
    return float(sum(executed[start] for start, _ in load_batches(rows.code)))


def _own_waits(profile: Profile) -> Column:
    """The share of each launch's time that its waves of warps would take if no unit were busy.

    Every warp starts, and goes to L2 or device memory for each group of loads that L1 does not hold.
    """
    beyond_l1 = np.maximum(0.0, 1 - column(profile, _L1_HITS) / 100)
    waits = _per_launch(("inst_executed",), _waits_of_warps)(profile) / warps(profile) * beyond_l1
    of_a_wave = _START_NS + waits * _TRIP_NS
    return column(profile, "launch__waves_per_multiprocessor") * of_a_wave / column(profile, _DURATION)


def _saved_by_wider(metric: str) -> Derived:
    """What accesses that wider ones could replace have of a metric in excess."""

    def total(rows: Executed) -> float:
        executed, sectors, values = (rows[name] for name in ("inst_executed", _SECTORS, metric))
        return float(address.saved_by_wider(rows.code, executed, sectors) @ values)

    needed = tuple(dict.fromkeys((metric, "inst_executed", _SECTORS)))
    return Derived("", needed, _per_launch(needed, total))


def _over_loads(which: Callable[[Code, Column, Sequence[Place]], NDArray[np.bool_]], metric: str) -> Derived:
    """The sum of a metric over the loads that ``which`` selects."""

    def total(rows: Executed) -> float:
        places = list(zip(rows.files, rows.lines.tolist(), strict=True))
        again = which(rows.code, rows["inst_executed"], places)
        return float(rows[metric][again].sum())

    metrics = tuple(dict.fromkeys((metric, "inst_executed")))
    return Derived("", metrics, _per_launch(metrics, total))


def _load_lanes(profile: Profile) -> Column:
    """Working lanes of an average global load."""
    lanes, loads = (_total_over(name, opcode_classes.is_global_load).compute(profile) for name in _LANES_AND_TIMES)
    with np.errstate(all="ignore"):
        return np.where(loads == 0, float(_WARP), lanes / loads)


def _half_loads(rows: Executed) -> float:
    """Global loads of which half of the lanes work, as often as they were executed."""
    executed, lanes = rows["inst_executed"], rows["thread_inst_executed_true"]
    halves = np.abs(lanes - _WARP / 2 * executed) <= _NEARLY * executed
    return float(executed[halves & matches(rows.code, opcode_classes.is_global_load)].sum())


def _working_lanes(rows: Executed) -> float:
    """Lanes that an average executed instruction works for."""
    executed = rows["inst_executed"].sum()
    return float(rows["thread_inst_executed_true"].sum() / executed) if executed else float(_WARP)


@lru_cache(maxsize=1 << 12)
def _warp_specialised(profile: Profile) -> Column:
    """1 where the machine code copies by TMA, waits at mbarriers, moves registers between warps, or uses WGMMA; else 0.

    0 also where no machine code is known: most kernels do none of this.
    """
    specialised = np.zeros(len(profile.launches))
    for launch, rows in executed_by_launch(profile).items():
        specialised[launch] = float(matches(rows.code, opcode_classes.is_warp_specialised).any())
    return specialised


def _weights(of: Callable[[Code], Weights], code: Code) -> Weights:
    """Kernels are launched often: their code is looked at once."""
    return code.result_of(of)


def _executed(of: Callable[[Code], Weights], unit: str = "inst") -> Derived:
    """What each instruction weighs, times how often it was executed."""
    return _weighed(of, "inst_executed", unit)


def _weighed(of: Callable[[Code], Weights], metric: str, unit: str = "") -> Derived:
    """What each instruction weighs, times its metric."""

    def total(rows: Executed) -> float:
        return float(_weights(of, rows.code) @ rows[metric])

    return Derived(unit, (metric,), _per_launch((metric,), total))


def _worst_bank_conflict(rows: Executed) -> float:
    """Wavefronts per ideal wavefront of the shared-memory instruction with the most replays."""
    ideal = rows["memory_l1_wavefronts_shared_ideal"]
    actual = rows["memory_l1_wavefronts_shared"]
    used = (ideal > 0) & matches(rows.code, opcode_classes.is_shared_access)
    return float((actual[used] / ideal[used]).max()) if used.any() else 0.0


def _conflict_lanes(rows: Executed) -> float:
    """Working lanes of an average shared-memory access that is replayed."""
    replays = rows["memory_l1_wavefronts_shared"] - rows["memory_l1_wavefronts_shared_ideal"]
    executed, lanes = (rows[name] for name in ("inst_executed", "thread_inst_executed_true"))
    conflicting = replays > 0
    return float(lanes[conflicting].sum() / executed[conflicting].sum()) if conflicting.any() else 0.0


def _divergent_efficiency(rows: Executed) -> float:
    """Active lanes of the instructions that only part of a warp walks through, as a share of a warp."""
    executed = rows["inst_executed"]
    lanes = rows["thread_inst_executed"]
    divergent = lanes < _FULL * _WARP * executed
    return float(lanes[divergent].sum() / (_WARP * executed[divergent].sum())) if divergent.any() else 1.0


def _divergent_share(rows: Executed) -> float:
    """The share of the executed instructions that only part of a warp walks through."""
    executed = rows["inst_executed"]
    divergent = rows["thread_inst_executed"] < _FULL * _WARP * executed
    return float(executed[divergent].sum() / executed.sum()) if executed.sum() else 0.0


def _sm_cycles(profile: Profile) -> Column:
    """Cycles of all multiprocessors together, idle ones too."""
    return column(profile, "sm__cycles_elapsed.max") * column(profile, "launch__sm_count")


def _l1_wavefronts(profile: Profile) -> Column:
    """Wavefronts that the data stage of L1 handled: its use times its cycles, since it takes one per cycle."""
    return column(profile, UNITS["l1_data"].metric) / 100 * _sm_cycles(profile)


def _stall_memory(profile: Profile) -> Column:
    """The share of all warp samples that wait for memory in any of its forms."""
    shares: Column = np.sum([_stall_share(reason)(profile) for reason in _MEMORY_REASONS], axis=0)
    return shares


def _host_timed(profile: Profile) -> Column:
    """1 where the host timed its copies, 0 where it did not, NaN where only some of its times are known."""
    known = np.isfinite([column(profile, name) for name in HOST_TIMES])
    told = known.any(axis=0) | was_refused(profile, HOST_TIMES)
    return np.where(np.isfinite(column(profile, "host__whole_time")), 1.0, np.where(told, np.nan, 0.0))


def _imad_use(profile: Profile) -> Column:
    """The integer multiplier's use as a share of its peak, 0..1; known for Hopper only."""
    hopper = column(profile, "device__attribute_compute_capability_major") == _HOPPER
    cycles = derived(profile, "imad_cycles") / _sm_cycles(profile)
    return np.where(hopper, cycles, np.nan)


def _executed_share(profile: Profile) -> Column:
    """Instructions executed per instruction issued: below 1 where the hardware had to issue some again."""
    issued = column(profile, UNITS["issue"].metric) / 100 * _ISSUE_SLOTS * _sm_cycles(profile)
    return np.minimum(1.0, column(profile, "smsp__inst_executed.sum") / issued)


_L1_HITS = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"
_DURATION = "gpu__time_duration.sum"
_START_NS, _TRIP_NS = 300.0, 400.0
"""To start and end a warp, and for a load beyond L1. On an H200, waves of warps that load once take 960 to 1040 ns; 96
loads that wait for one another in L2 take 19.1 us, 62 from device memory 41.5 us."""
_LANES_AND_TIMES = ("thread_inst_executed_true", "inst_executed")
_LINES = "memory_l1_tag_requests_global"
_SECTORS, _IDEAL = "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"
_CYCLES = ("sm__cycles_elapsed.max", "launch__sm_count")
_WARPS, _THREADS = ("launch__block_size", "launch__grid_size"), "launch__thread_count"
_ROOM = ("launch__sm_count", "device__attribute_max_threads_per_multiprocessor")
_SHARED = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
_CONFLICTS = (*_SHARED, "thread_inst_executed_true", "inst_executed")
_LANES = ("inst_executed", "thread_inst_executed")

DERIVED: Mapping[str, Derived] = {
    **{f"stall_{reason}": Derived("share", SAMPLES, _stall_share(reason)) for reason in STALL_REASONS},
    "warps": Derived("warp", _WARPS, warps),
    "lanes_launched": Derived("thread/warp", (_THREADS, *_WARPS), _lanes_launched),
    "loads_per_warp": Derived("inst/warp", ("smsp__sass_inst_executed_op_global_ld.sum", *_WARPS), _loads_per_warp),
    "load_turns": Derived("1/warp", ("inst_executed", *_WARPS), _load_turns),
    "host_timed": Derived("", (), _host_timed),
    "warp_specialised": Derived("1 when so", (), _warp_specialised),
    "fill": Derived("share", (_THREADS, *_ROOM), _fill),
    "stall_memory": Derived("share", SAMPLES, _stall_memory),
    "sm_cycles": Derived("cycle", _CYCLES, _sm_cycles),
    "l1_wavefronts": Derived("wavefront", (UNITS["l1_data"].metric, *_CYCLES), _l1_wavefronts),
    "executed_share": Derived("share", (UNITS["issue"].metric, "smsp__inst_executed.sum", *_CYCLES), _executed_share),
    "load_sectors": _total_over(_SECTORS, opcode_classes.is_global_load),
    "load_sectors_ideal": _total_over(_IDEAL, opcode_classes.is_global_load),
    "load_requests": _total_over("inst_executed", opcode_classes.is_global_load),
    "store_sectors": _total_over(_SECTORS, opcode_classes.is_global_store),
    "store_sectors_ideal": _total_over(_IDEAL, opcode_classes.is_global_store),
    "store_requests": _total_over("inst_executed", opcode_classes.is_global_store),
    "stored_lanes": _total_over("thread_inst_executed_true", opcode_classes.is_global_store),
    "atomics": _total_over("inst_executed", opcode_classes.is_global_atomic),
    "atomic_lanes": _total_over("thread_inst_executed_true", opcode_classes.is_global_atomic),
    "atomic_sectors": _total_over(_SECTORS, opcode_classes.is_global_atomic),
    "barriers": _total_over("inst_executed", opcode_classes.is_barrier),
    "executed": _total_over("inst_executed", opcode_classes.is_any),
    "bytes_in_flight": Derived("byte/thread", ("inst_executed",), _per_launch(("inst_executed",), _bytes_in_flight)),
    "own_waits": Derived(
        "share", ("inst_executed", _L1_HITS, _DURATION, "launch__waves_per_multiprocessor", *_WARPS), _own_waits
    ),
    "worst_bank_conflict": Derived("way", _SHARED, _per_launch(_SHARED, _worst_bank_conflict)),
    "conflict_lanes": Derived("lane/inst", _CONFLICTS, _per_launch(_CONFLICTS, _conflict_lanes)),
    "divergent_efficiency": Derived("share", _LANES, _per_launch(_LANES, _divergent_efficiency)),
    "divergent_share": Derived("share", _LANES, _per_launch(_LANES, _divergent_share)),
    "imad_cycles": _executed(instruction_mix.integer_multiply_cycles, "cycle"),
    "imad_use": Derived("share", ("inst_executed", "device__attribute_compute_capability_major", *_CYCLES), _imad_use),
    "loop_turns": _executed(instruction_mix.loop_iterations),
    "division_instructions": _executed(division.division_instructions),
    "division_leaves": _executed(division.division_leaves),
    "repeated_divisions": _executed(division.repeated_divisions),
    "power_instructions": _executed(power_instructions),
    "power_doubles": _executed(power_doubles),
    "power_special": _executed(power_special),
    "alike_instructions": _executed(thread_invariant),
    "alike_floats": _executed(thread_invariant_floats),
    "alike_results": _executed(thread_invariant_float_results),
    "float_arithmetic": _executed(float_arithmetic),
    "special_functions": _executed(instruction_mix.special_functions),
    "precise_instructions": _executed(precise_math.precise_instructions),
    "precise_special": _executed(precise_math.precise_special),
    "denormal_scaling": _executed(precise_math.denormal_scaling),
    "converted_loads": _executed(converted_loads),
    "double_conversions": _executed(instruction_mix.double_conversions),
    "double_arithmetic": _executed(instruction_mix.double_arithmetic),
    "multiply_adds": _executed(instruction_mix.multiply_adds),
    "shared_pairs": _executed(shared_sums.shared_pairs),
    "masks_to_24_bits": _executed(instruction_mix.masks_to_24_bits),
    "spill_accesses": _executed(spills.spill_accesses),
    "local_array_accesses": _executed(spills.local_array_accesses),
    "indexed_constants": _executed(instruction_mix.indexed_constants),
    "reloads": _executed(reloads),
    "uniform_loads": _executed(uniform_loads),
    "uniform_constants": _executed(instruction_mix.uniform_constants),
    "structure_loads": _executed(structure_loads),
    "gathered_loads": _executed(gathered_loads),
    "sectors_alike_in_x": _weighed(partial(loads_invariant_along, axis="x"), _SECTORS),
    "sectors_alike_in_y": _weighed(partial(loads_invariant_along, axis="y"), _SECTORS),
    "sectors_alike_in_z": _weighed(partial(loads_invariant_along, axis="z"), _SECTORS),
    "loads_again": _over_loads(repeated_pass_loads, "inst_executed"),
    "sectors_again": _over_loads(repeated_pass_loads, _SECTORS),
    "loads_that_could_join": _over_loads(fusible_pass_loads, "inst_executed"),
    "sectors_that_could_join": _over_loads(fusible_pass_loads, _SECTORS),
    "tensor_operations": _executed(instruction_mix.tensor_operations),
    "kept_doubles": _executed(kept_doubles),
    "uniform_multiply_adds": _executed(instruction_mix.uniform_multiply_adds),
    "split_accesses": _saved_by_wider("inst_executed"),
    "split_sectors": _saved_by_wider(_SECTORS),
    "split_lines": _saved_by_wider(_LINES),
    "gathered_again": _executed(gathered_again),
    "load_lines": _total_over(_LINES, opcode_classes.is_global_load),
    "store_lines": _total_over(_LINES, opcode_classes.is_global_store),
    "shared_wavefronts": _none_without(_SHARED[0], _total_over(_SHARED[0], opcode_classes.is_shared_access)),
    "shared_wavefronts_ideal": _none_without(_SHARED[0], _total_over(_SHARED[1], opcode_classes.is_shared_access)),
    "chased_loads": _executed(chased_loads),
    "shared_updates": _executed(shared_sums.shared_updates),
    "swap_loops": _executed(compare_and_swap.swap_loops),
    "shuffles": _executed(instruction_mix.shuffles),
    "tiny_loads": _executed(instruction_mix.tiny_loads),
    "loads_behind_stores": _executed(instruction_mix.loads_after_stores),
    "guarded_branches": _executed(guarded_branches),
    "data_branches": _executed(data_dependent_branches),
    "index_arithmetic": _executed(index_arithmetic),
    "load_lanes": Derived("thread/warp", _LANES_AND_TIMES, _load_lanes),
    "half_loads": Derived("inst", _LANES_AND_TIMES, _per_launch(_LANES_AND_TIMES, _half_loads)),
    "working_lanes": Derived("thread/inst", _LANES_AND_TIMES, _per_launch(_LANES_AND_TIMES, _working_lanes)),
    "float_coordinates": _executed(float_coordinates),
    "window_loads": _executed(window_loads),
    "operand_loads": _total_over("inst_executed", opcode_classes.is_operand_load),
}
