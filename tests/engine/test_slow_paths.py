"""What fast forms hide of the waiting (precise-function): loads that slow paths keep apart travel together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rules
from ncuview.records.diagnosis import Finding
from tests.builders import STALL, Instruction, Launch, load, make_profile

RULES = tuple(rule for rule in load_rules() if rule.text.code == "INST003")
BYTES = 16
"""Of an instruction."""
WAITS = {STALL.format("long_scoreboard"): 1.0e7}
"""Beside 1,000 samples of each other reason."""


def root(value: int, start: int) -> tuple[Instruction, ...]:
    """A precise root at a position of the code, whose call of the slow path no thread reaches."""
    usual, end = hex(BYTES * (start + 5)), hex(BYTES * (start + 7))
    return (
        Instruction(f"BSSY B0, {end}"),
        Instruction(f"ISETP.GT.U32.AND P0, PT, R{value}, 0x727fffff, PT"),
        Instruction(f"@!P0 BRA {usual}"),
        Instruction("MOV R7, R6", metrics={"inst_executed": 0.0}),
        Instruction(f"BRA {hex(BYTES * (start + 6))}", metrics={"inst_executed": 0.0}),
        Instruction(f"FMUL.FTZ R20, R{value}, R5"),
        Instruction("BSYNC B0"),
    )


def one_after_the_other(roots: int) -> tuple[Instruction, ...]:
    """Loads, each followed by the root of its number."""
    code: list[Instruction] = []
    for value in range(10, 10 + roots):
        code += (load(value), *root(value, len(code) + 1))
    return tuple(code)


def hidden(instructions: Sequence[Instruction], hits: float = 0.0) -> float:
    metrics = {**WAITS, "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct": hits}
    launch = Launch(metrics=metrics, instructions=(*instructions, Instruction("EXIT")))
    [outcome] = diagnose(make_profile(launch), RULES).launches[0].outcomes
    assert isinstance(outcome, Finding), outcome
    return next(effect.value for effect in outcome.effects if effect.name == "latency_hidden")


@pytest.mark.parametrize(("roots", "gone"), [(1, 0.0), (2, 0.5), (4, 0.75), (8, 0.75)])
def test_waits_go_with_the_loads_that_roots_keep_apart_up_to_the_bytes_that_memory_needs(
    roots: int, gone: float
) -> None:
    assert hidden(one_after_the_other(roots)) == pytest.approx(gone, abs=0.01)


def test_where_l1_holds_the_loads_every_wait_less_counts() -> None:
    assert hidden(one_after_the_other(8), hits=90.0) == pytest.approx(1 - 1 / 8, abs=0.01)


def test_no_wait_goes_where_all_loads_come_before_the_first_root() -> None:
    code = [load(10), load(11)]
    for value in (10, 11):
        code += root(value, len(code))
    assert hidden(code) == pytest.approx(0.0, abs=0.01)
