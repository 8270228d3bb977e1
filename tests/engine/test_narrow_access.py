"""What wider loads leave (narrow-global-access): the work on each element stays, what elements share shrinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import load_rules
from ncuview.records.diagnosis import Finding
from tests.builders import (
    ELAPSED_CYCLES,
    MULTIPROCESSORS,
    STALL,
    USE,
    WARPS,
    Instruction,
    Launch,
    load,
    make_profile,
)

RULES = tuple(rule for rule in load_rules() if rule.text.code == "GMEM007")
ELEMENTS = 8
WAITS = {STALL.format("long_scoreboard"): 27_000.0}
"""Beside 1,000 samples of each other reason."""
ADDRESS = (Instruction("S2R R0, SR_TID.X"), Instruction("IMAD.WIDE R2, R0, 0x4, R8"))
OF_BYTES = {
    "memory_l2_theoretical_sectors_global": WARPS,
    "memory_l2_theoretical_sectors_global_ideal": WARPS,
    "memory_l1_tag_requests_global": WARPS,
}
BYTE = Instruction("LDG.E.U8 R4, desc[UR4][R2.64]", metrics=OF_BYTES)
STORE = Instruction("STG.E.U8 desc[UR4][R2.64], R20", metrics=OF_BYTES)


def repeated(each: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """A thread that does this for one element after the other, and then stores."""
    return (*ADDRESS, *tuple(each) * ELEMENTS, STORE, Instruction("EXIT"))


def effects(instructions: Sequence[Instruction], metrics: Mapping[str, float] = WAITS) -> dict[str, float]:
    loads = {"smsp__sass_inst_executed_op_global_ld.sum": float(ELEMENTS * WARPS)}
    launch = Launch(metrics={**loads, **metrics}, instructions=instructions)
    [outcome] = diagnose(make_profile(launch), RULES).launches[0].outcomes
    assert isinstance(outcome, Finding), outcome
    return {effect.name: effect.value for effect in outcome.effects}


@pytest.mark.parametrize("operations", [1, 3, 30])
def test_the_arithmetic_on_each_loaded_element_stays(operations: int) -> None:
    code = repeated([load(4), *[Instruction("FMUL R20, R4, R4")] * operations])
    shared = len(ADDRESS) + ELEMENTS + 1
    left = effects(code)
    assert left["instructions"] == pytest.approx(1 - 0.75 * shared / len(code))
    assert left["arithmetic"] == pytest.approx(1 - 0.75 * len(ADDRESS) / (len(code) - ELEMENTS - 1))


def test_integer_arithmetic_on_loaded_elements_stays_and_that_of_addresses_shrinks() -> None:
    on_elements = repeated([load(4), Instruction("LOP3.LUT R20, R4, 0xff, RZ, 0xc0, !PT")])
    on_addresses = repeated([load(4), Instruction("FADD R20, R4, R4"), Instruction("IADD3 R2, R2, 0x80, RZ")])
    assert effects(on_elements)["instructions"] > 0.5
    assert effects(on_addresses)["instructions"] == pytest.approx(
        1 - 0.75 * (2 + 2 * ELEMENTS + 1) / (2 + 3 * ELEMENTS + 2)
    )


def test_wavefronts_of_shared_atomics_stay_where_bytes_are_loaded() -> None:
    wavefronts = 40 * WARPS
    code = repeated([BYTE, Instruction("ATOMS.ADD RZ, [R4], R5")])
    busy = 100 * wavefronts / (ELAPSED_CYCLES * MULTIPROCESSORS)
    left = effects(code, {**WAITS, USE["l1_data"]: busy, USE["lsu"]: busy / 2})
    assert left["l1_wavefronts"] == pytest.approx(1 - 0.75 * (ELEMENTS + 1) / 40)
    assert left["memory_instructions"] == pytest.approx(1 - 0.75 * (ELEMENTS + 1) / 20)


def test_waits_for_other_than_loads_go_with_the_instructions_that_cause_them() -> None:
    code = repeated([load(4), *[Instruction("MUFU.EX2 R20, R4")] * 20])
    found = [effects(code, {STALL.format("long_scoreboard"): samples}) for samples in (1.0e6, 1.2e4)]
    most, some = (each["latency_hidden"] for each in found)
    assert most == pytest.approx(1 - 4 / 16, abs=0.03)
    assert some < 0.6 * most
