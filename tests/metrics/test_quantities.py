"""Quantities that arithmetic over metrics cannot express."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import STALL_REASONS
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.quantities.memory import merge_waits, one_address_waits
from ncuview.metrics.quantities.stalls import SAMPLED
from ncuview.metrics.units import UNITS
from ncuview.sass.code import Code
from ncuview.sass.global_loads import load_batches
from tests.builders import (
    SHARED,
    SHARED_IDEAL,
    STALL,
    WARPS,
    Instruction,
    Launch,
    load,
    make_profile,
    shared_load,
    store,
)
from tests.together import together


def value(name: str, launch: Launch) -> float:
    return float(Analysis(make_profile(launch)).value(name)[0])


def batches(sass: list[str]) -> list[tuple[int, int]]:
    return list(load_batches(Code(tuple(sass), tuple(range(0, 16 * len(sass), 16)))))


def executed(sass: str, times: float) -> Instruction:
    return Instruction(sass, metrics={"inst_executed": times})


def ldg(register: int, width: str = "", address: int = 2, predicate: str = "") -> str:
    return f"{predicate}LDG.E{width} R{register}, desc[UR4][R{address}.64]"


def test_each_iteration_of_a_copy_loop_waits_for_its_own_load() -> None:
    loop = [ldg(5), "STG.E desc[UR4][R6.64], R5"] * 4
    assert batches(loop) == [(0, 4), (2, 4), (4, 4), (6, 4)]


def test_four_loads_before_the_first_use_are_in_flight_together() -> None:
    loads = [ldg(register) for register in (4, 5, 6, 7)]
    assert batches([*loads, "STS [R21], R4"]) == [(0, 16)]


@pytest.mark.parametrize(
    ("width", "size"), [("", 4), (".CONSTANT", 4), (".64", 8), (".128", 16), (".128.CONSTANT", 16)]
)
def test_wide_loads_bring_their_width(width: str, size: int) -> None:
    assert batches([ldg(4, width), "FADD R9, R4, R4"]) == [(0, size)]


def test_any_register_of_a_wide_load_is_waited_for() -> None:
    assert batches([ldg(4, ".128"), "FADD R9, R7, R7", ldg(12)]) == [(0, 16), (2, 4)]


def test_a_register_beyond_a_wide_load_is_not_waited_for() -> None:
    assert batches([ldg(4, ".128"), "FADD R9, R8, R8", ldg(12)]) == [(0, 20)]


@pytest.mark.parametrize("predicate", ["@P0 ", "@!P1 ", "@UP0 ", "@!UP2 "])
def test_predicated_loads_count(predicate: str) -> None:
    assert batches([ldg(4, predicate=predicate), "FADD R9, R4, R4"]) == [(0, 4)]


def test_predicated_uses_are_waits() -> None:
    assert batches([ldg(4), "@P0 STG.E desc[UR4][R6.64], R4", ldg(8)]) == [(0, 4), (2, 4)]


def test_a_load_through_its_own_register_waits_for_no_other() -> None:
    assert batches([ldg(2, address=2), "FADD R9, R2, R2"]) == [(0, 4)]


def test_a_linked_list_has_one_load_in_flight() -> None:
    assert batches([ldg(2, address=2)] * 3) == [(0, 4), (1, 4), (2, 4)]


def test_generic_loads_count_and_other_memories_do_not() -> None:
    assert batches(["LD.E R4, [R2.64]", "LDS R5, [R3]", "LDC R6, c[0x0][0x8]", "LDL R7, [R1]"]) == [(0, 4)]


def test_a_load_without_a_use_still_counts() -> None:
    assert batches([ldg(4), "EXIT"]) == [(0, 4)]


def test_registers_are_compared_by_their_number() -> None:
    assert batches([ldg(4), "FADD R9, R44, R40", ldg(5)]) == [(0, 8)]


WIDTHS = {"": 4, ".64": 8, ".128": 16}
lines = st.lists(
    st.one_of(
        st.builds(ldg, st.integers(0, 40), st.sampled_from(sorted(WIDTHS)), st.integers(0, 40)),
        st.builds("FADD R{}, R{}, R{}".format, *[st.integers(0, 40)] * 3),
        st.builds("STG.E desc[UR4][R{}.64], R{}".format, *[st.integers(0, 40)] * 2),
        st.just("EXIT"),
    ),
    max_size=30,
)


@given(lines)
def test_all_batches_together_are_the_bytes_of_all_loads(sass: list[str]) -> None:
    widths = [WIDTHS[match[1]] for each in sass if (match := re.match(r"LDG\.E(\.64|\.128|) ", each))]
    found = batches(sass)
    assert sum(size for _, size in found) == sum(widths)
    assert all("LDG" in sass[start] for start, _ in found)


@given(lines)
def test_bytes_in_flight_never_exceed_the_sum_of_widths(sass: list[str]) -> None:
    in_flight = value("bytes_in_flight", Launch(instructions=[Instruction(each) for each in sass or ["EXIT"]]))
    assert 0 <= in_flight <= 16 * sum("LDG" in each for each in sass)


def test_batches_are_weighted_by_how_often_they_run() -> None:
    often = [executed(ldg(4), 300.0), executed("FADD R9, R4, R4", 300.0)]
    once = [executed(ldg(5, ".128"), 100.0), executed("FADD R9, R5, R5", 100.0)]
    assert value("bytes_in_flight", Launch(instructions=[*often, *once])) == pytest.approx((3 * 4 + 16) / 4)


def test_a_kernel_without_loads_has_nothing_in_flight() -> None:
    assert value("bytes_in_flight", Launch(instructions=[Instruction("EXIT")])) == 0


def test_bytes_in_flight_without_slow_paths_join_what_a_precise_root_keeps_apart() -> None:
    """Two loads, each followed by a root whose slow path, the call, is never executed."""
    code = [
        *(ldg(4), "BSSY B0, 0x70", "ISETP.GT.U32.AND P0, PT, R4, 0x727fffff, PT", "@!P0 BRA 0x50", "BRA 0x60"),
        *("FMUL.FTZ R6, R4, R5", "BSYNC B0"),
        *(ldg(8, address=10), "BSSY B0, 0xe0", "ISETP.GT.U32.AND P0, PT, R8, 0x727fffff, PT", "@!P0 BRA 0xc0"),
        *("BRA 0xd0", "FMUL.FTZ R6, R8, R5", "BSYNC B0", "EXIT"),
    ]
    launch = Launch(instructions=[Instruction(each) for each in code])
    assert value("bytes_in_flight", launch) == 4
    assert value("bytes_in_flight_without_slow_paths", launch) == 8


def loop(jump: str, iterations: float = 70.0) -> Launch:
    straight = [executed("MOV R1, c[0x0][0x28]", 10.0), executed("IADD3 R2, R2, 0x1, RZ", iterations)]
    return Launch(instructions=[*straight, executed(jump, iterations), executed("EXIT", 10.0)])


@pytest.mark.parametrize("jump", ["@P0 BRA 0x10", "BRA 0x10", "@!P0 BRA.U P1, 0x10", "@P0 BRA `(.L_x_1), 0x10"])
def test_a_backward_jump_is_one_iteration(jump: str) -> None:
    assert value("loop_iterations", loop(jump)) == 70


def test_a_jump_forward_is_no_iteration() -> None:
    assert value("loop_iterations", loop("@P0 BRA 0x30")) == 0


def test_a_kernel_without_instructions_has_unknown_iterations() -> None:
    assert math.isnan(value("loop_iterations", Launch(instructions=[])))


samples = st.lists(st.integers(0, 10**6), min_size=len(STALL_REASONS), max_size=len(STALL_REASONS))


@given(samples.filter(any))
def test_stall_shares_are_of_the_samples_of_all_reasons(counts: list[int]) -> None:
    named = {STALL.format(reason): float(count) for reason, count in zip(STALL_REASONS, counts, strict=True)}
    analysis = Analysis(make_profile(Launch(metrics=named)))
    for reason, count in zip(STALL_REASONS, counts, strict=True):
        if f"stall_{reason}" in QUANTITIES:
            assert float(analysis.value(f"stall_{reason}")[0]) == pytest.approx(count / sum(counts))


@pytest.mark.parametrize("missing", ["barrier", "long_scoreboard", "selected"])
def test_shares_over_a_choice_of_the_reasons_are_unknown(missing: str) -> None:
    launch = Launch().without(STALL.format(missing))
    shares = [name for name, quantity in QUANTITIES.items() if quantity.reads == SAMPLED]
    assert [name for name in shares if not math.isnan(value(name, launch))] == []
    assert math.isnan(value("stall_memory", launch))


def test_reasons_that_only_some_chips_have_may_be_missing() -> None:
    launch = Launch().without(STALL.format("imc_miss"), STALL.format("warpgroup_arrive"))
    assert value("stall_barrier", launch) == pytest.approx(1 / 17)
    assert value("stall_imc_miss", launch) == 0


def test_a_launch_without_samples_has_no_shares() -> None:
    launch = Launch(metrics={STALL.format(reason): 0.0 for reason in STALL_REASONS})
    assert math.isnan(value("stall_memory", launch))


def test_loads_and_stores_are_counted_separately() -> None:
    launch = Launch(instructions=[load(sectors=10.0), load(5, sectors=20.0), store(sectors=5.0), shared_load()])
    assert (value("load_sectors", launch), value("store_sectors", launch)) == (30.0, 5.0)
    assert (value("load_requests", launch), value("store_requests", launch)) == (2 * WARPS, WARPS)


def test_predicated_accesses_and_barriers_are_counted() -> None:
    sass = ["@P0 STG.E desc[UR4][R2.64], R9", "@!P3 LDG.E R4, desc[UR4][R2.64]", "@P1 BAR.SYNC 0x0", "STS [R1], R2"]
    launch = Launch(instructions=[executed(each, 5.0) for each in sass])
    assert [value(name, launch) for name in ("store_requests", "load_requests", "barriers")] == [5.0, 5.0, 5.0]


def test_replays_are_of_one_bank_where_each_active_thread_takes_a_wavefront() -> None:
    """Half of the lanes of a diagonal are idle, the others meet in one bank; 4-way conflicts spread over banks."""

    def conflict(lanes: float, ways: float) -> Instruction:
        metrics = {SHARED: ways * WARPS, SHARED_IDEAL: WARPS, "thread_inst_executed_true": lanes * WARPS}
        return Instruction("LDS R20, [R21]", 2, metrics=metrics)

    assert value("one_bank_share", Launch(instructions=[conflict(16, 16)])) == 1
    assert value("one_bank_share", Launch(instructions=[conflict(16, 4)])) == 0
    assert value("one_bank_share", Launch(instructions=[conflict(2, 2), conflict(32, 4)])) == 0.25
    assert value("one_bank_share", Launch(instructions=[conflict(1, 1)])) == 0


def test_the_worst_bank_conflict_is_that_of_one_instruction() -> None:
    assert value("worst_bank_conflict", Launch(instructions=[shared_load(), shared_load(ways=32)])) == 32
    assert value("worst_bank_conflict", Launch(instructions=[load()])) == 0


def test_fill_is_the_share_of_the_threads_that_fit() -> None:
    assert value("gpu_fill", Launch(metrics={"launch__thread_count": 132.0 * 1024})) == 0.5


def test_the_last_warp_of_a_block_counts_as_a_full_warp() -> None:
    odd = {"launch__block_size": 40.0, "launch__grid_size": 10.0, "launch__thread_count": 400.0}
    assert value("warps", Launch(metrics=odd)) == 20
    assert value("threads_per_warp", Launch(metrics=odd)) == 20


def test_the_most_executed_load_gives_the_iterations_of_a_warp() -> None:
    block = {"launch__block_size": 64.0, "launch__grid_size": 10.0}
    before, loop = executed(ldg(4), 20.0), executed(ldg(5), 160.0)
    assert value("load_iterations", Launch(metrics=block, instructions=[before, loop])) == 8
    assert value("load_iterations", Launch(metrics=block, instructions=[executed("EXIT", 20.0)])) == 0


def test_the_data_stage_of_l1_takes_one_wavefront_per_cycle_and_multiprocessor() -> None:
    assert value("l1_wavefronts", Launch()) == pytest.approx(0.1 * 200_000 * 132)


@together("name", sorted(QUANTITIES.keys() - {"host_timed", "warp_specialised"}))
def test_without_what_it_declares_a_quantity_is_unknown(name: str) -> None:
    assert math.isnan(value(name, Launch().without(*QUANTITIES[name].metrics)))


@together("name", QUANTITIES)
def test_what_it_declares_is_all_that_a_quantity_needs(name: str) -> None:
    everything = make_profile(Launch())
    needed = [metric for metric in QUANTITIES[name].metrics if metric in everything.metrics.columns]
    columns = everything.instructions.columns
    kept = [metric for metric in columns if metric in needed or metric in columns[:5]]
    reduced = type(everything)(
        (), everything.launches, everything.metrics[needed], {}, everything.instructions[kept], {}
    )
    np.testing.assert_array_equal(Analysis(reduced).value(name), Analysis(everything).value(name))


def test_an_infinite_metric_is_unknown() -> None:
    analysis = Analysis(make_profile(Launch(metrics={"a": math.inf, "b": 2.0})))
    assert math.isnan(analysis.metric("a")[0])
    assert analysis.metric("b").tolist() == [2.0]
    assert math.isnan(analysis.metric("c")[0])


def worked(sass: str, times: float, lanes: float) -> Instruction:
    return Instruction(sass, metrics={"inst_executed": times, "thread_inst_executed_true": times * lanes})


def test_loads_of_every_other_lane_are_counted() -> None:
    launch = Launch(instructions=[worked(ldg(4), 10, 16), worked(ldg(5), 20, 15.5), worked(ldg(6), 40, 32)])
    assert value("half_warp_loads", launch) == 30


def test_loads_of_fewer_or_more_lanes_and_other_instructions_are_no_halves() -> None:
    launch = Launch(instructions=[worked(ldg(4), 10, 8), worked(ldg(5), 20, 18), worked("FADD R1, R2, R3", 40, 16)])
    assert value("half_warp_loads", launch) == 0


def test_working_lanes_are_those_of_an_average_instruction() -> None:
    launch = Launch(instructions=[worked(ldg(4), 10, 8), worked("FADD R1, R2, R3", 30, 32)])
    assert value("working_lanes", launch) == 26


DRAM, BUSIEST, AVERAGE = UNITS["dram"].metric, "lts__t_sectors.max", "lts__t_sectors.avg"


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({BUSIEST: 130.0, AVERAGE: 100.0, DRAM: 95.0}, 1.3),  # measured
        ({BUSIEST: None, AVERAGE: None, DRAM: 80.0}, 1.25),  # the most that is possible
        ({BUSIEST: None, AVERAGE: None, DRAM: 60.0}, math.nan),  # a bound of 1.67 says nothing
        ({BUSIEST: None, AVERAGE: 100.0, DRAM: None}, math.nan),
    ],
)
def test_the_imbalance_of_slices_is_measured_or_bounded(metrics: dict[str, float | None], expected: float) -> None:
    found = value("slice_imbalance", Launch(instructions=[]).with_metrics(metrics))
    assert found == pytest.approx(expected, nan_ok=True)


def looked_up(ways: float) -> Launch:
    """A launch whose threads look up what they have loaded, with so many wavefronts per ideal one."""
    at_lane = (
        "S2R R0, SR_TID.X",
        "IMAD.WIDE R2, R0, 0x4, R4",
        "LDG.E R21, desc[UR4][R2.64]",
    )
    look_up = Instruction("LDS R20, [R21]", metrics={SHARED: ways * WARPS, SHARED_IDEAL: WARPS})
    return Launch(instructions=[*(executed(each, WARPS) for each in at_lane), look_up])


def test_replays_of_look_ups_are_those_of_random_banks_at_most() -> None:
    assert value("look_up_replays", looked_up(ways=3.0)) == 2 * WARPS
    assert value("look_up_replays", looked_up(ways=8.0)) == 0
    assert value("look_up_replays", Launch(instructions=[shared_load(ways=3.0)])) == 0


def test_waits_at_one_address_count_where_most_lanes_go_there() -> None:
    lanes, waits = np.array([32.0, 16.0, 1.0]), np.array([0.4, 0.4, 0.4])
    assert one_address_waits(lanes, np.ones(3), waits, waits / 4).tolist() == [0.5, 0.0, 0.0]


def test_the_waits_of_a_merge_are_those_after_the_last_update_and_before_the_first() -> None:
    lines = (
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "ATOMS.POPC.INC.32 RZ, [R10+URZ]",
        "LDS R7, [R0]",
        "REDG.E.ADD.STRONG.GPU desc[UR8][R2.64], R7",
    )
    barrier, none = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(4)
    scoreboard, throttle = np.array([0.0, 4.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0, 3.0])
    code = Code(lines, tuple(range(0, 64, 16)))
    assert merge_waits(code, barrier, none, throttle, none, none, scoreboard) == pytest.approx(0.6)
