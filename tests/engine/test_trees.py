"""What rules say of trees in shared memory, and of the bank conflicts of idle lanes, on launches made for each case."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, NotApplicable
from tests.builders import SHARED, SHARED_IDEAL, STALL, USE, WARPS, Instruction, Launch, load, make_profile

INDEX = ("S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, R30", "LEA R5, R0, UR4, 0x2", "LEA R6, R0, UR5, 0x2")
LEVEL = "@!P0 LDS R7, [R5] | @!P0 LDS R8, [R6] | @!P0 FADD R9, R7, R8 | @!P0 STS [R5], R9 | BAR.SYNC.DEFER_BLOCKING 0x0"
LEVELS = 8.0
OTHERS = 60
"""Loads from another array of shared memory."""


def accesses_shared(sass: str, times: float = 1.0) -> Instruction:
    of_shared = {SHARED: times * WARPS, SHARED_IDEAL: times * WARPS} if "LDS" in sass or "STS" in sass else {}
    return Instruction(sass, metrics={"inst_executed": times * WARPS, **of_shared})


def tree(first: Sequence[Instruction], others: int = 0, issue_use: float = 10.0) -> LaunchDiagnosis:
    """The diagnosis of a tree of eight levels in a loop, whose sums begin with what ``first`` leaves in R4."""
    begin = len(INDEX) + len(first) + others + 1
    level = [accesses_shared(each, LEVELS) for each in (*LEVEL.split(" | "), "SHF.R.U32.HI R6, RZ, 0x1, R6")]
    instructions = [
        *map(accesses_shared, INDEX),
        *first,
        *(accesses_shared(f"LDS R20, [R21+{4 * at:#x}]") for at in range(others)),
        accesses_shared("STS [R5], R4"),
        *level,
        accesses_shared(f"@P1 BRA {16 * begin:#x}", LEVELS),
        accesses_shared("EXIT"),
    ]
    waits = {STALL.format("short_scoreboard"): 50_000.0, "smsp__sass_inst_executed_op_global_ld.sum": float(WARPS)}
    launch = Launch(instructions=instructions, metrics={**waits, USE["issue"]: issue_use})
    (found,) = diagnose(make_profile(launch), load_rules()).launches
    return found


def outcome(found: LaunchDiagnosis, code: str) -> object:
    return next(each for each in found.outcomes if each.rule.code == code)


def gain(found: LaunchDiagnosis, code: str) -> float:
    finding = outcome(found, code)
    assert isinstance(finding, Finding)
    return finding.predicted_speedup.best


def test_more_elements_while_loading_are_advised_where_threads_load_what_the_tree_adds_up() -> None:
    assert gain(tree([load(4)]), "WORK003") > 2
    for_another_array = [load(10), accesses_shared("STS [R22], R10"), accesses_shared("LDS R4, [R23]")]
    assert isinstance(outcome(tree(for_another_array), "WORK003"), NotApplicable)


def test_what_computes_a_trees_elements_is_work_that_stays() -> None:
    costly = [load(4), *(Instruction("FMUL R4, R4, R4") for _ in range(200))]
    assert gain(tree(costly, issue_use=90), "WORK003") < 2 < gain(tree([load(4)], issue_use=90), "WORK003")


def test_shuffles_do_not_remove_waits_for_other_arrays_in_shared_memory() -> None:
    alone, beside = tree([load(4)]), tree([load(4), *(Instruction("NOP") for _ in range(OTHERS))])
    with_others = tree([load(4)], OTHERS)
    assert gain(with_others, "SYNC003") < gain(beside, "SYNC003") <= gain(alone, "SYNC003")


@pytest.mark.parametrize(("ways", "advised"), [(16, "SMEM001"), (4, "SMEM002")])
def test_conflicts_of_idle_lanes_are_padded_where_all_others_meet_in_one_bank(ways: int, advised: str) -> None:
    metrics = {SHARED: 100.0 * ways * WARPS, SHARED_IDEAL: 100.0 * WARPS}
    lanes = {"inst_executed": 100.0 * WARPS, "thread_inst_executed_true": 1600.0 * WARPS}
    conflict = Instruction("@!P0 LDS R20, [R21]", metrics={**metrics, **lanes})
    (found,) = diagnose(make_profile(Launch(instructions=[load(), conflict])), load_rules()).launches
    findings = {each.rule.code for each in found.outcomes if isinstance(each, Finding)}
    assert findings & {"SMEM001", "SMEM002"} == {advised}
