"""The instructions that a stalled instruction waits for, from control codes and from registers alone."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.sass.code import Code
from ncuview.sass.waiting import awaited_samples, producers, scoreboards
from tests.sass.program import program, where

NO_SCOREBOARD = 7


def control(write: int = NO_SCOREBOARD, read: int = NO_SCOREBOARD, waits: tuple[int, ...] = ()) -> int:
    """Control codes as the machine code has them."""
    return write << 5 | read << 8 | sum(1 << each for each in waits) << 11


def found(code: Code, text: str, reason: str = "long_scoreboard") -> list[str]:
    """The texts of what an instruction waits for."""
    return [code.texts[at] for at in producers(code, where(code, text), reason)]


def test_control_codes_name_what_is_set_and_what_is_waited_for() -> None:
    """As for ``LDG`` and ``STS`` of a kernel that nvcc 13 compiled for sm_90."""
    assert scoreboards(control(write=2, waits=(0, 5))) == (2, None, (0, 5))
    assert scoreboards(control(read=0)) == (None, 0, ())


TWO_LOADS = """
    LDG.E R4, desc[UR4][R2.64]
    LDG.E R5, desc[UR4][R2.64+0x10]
    FADD R6, R4, 1
    FADD R7, R5, 1
"""


def test_the_load_whose_value_is_used_is_the_producer_and_not_the_last_one() -> None:
    """Both are pending; the addition needs the first."""
    assert found(program(TWO_LOADS), "R6") == ["LDG.E R4, desc[UR4][R2.64]"]


def test_a_scoreboard_that_two_loads_share_is_waited_for_because_of_the_value_used() -> None:
    """The second load sets the same scoreboard later."""
    plain = program(TWO_LOADS)
    code = Code(plain.texts, plain.addresses, (control(write=0), control(write=0), control(waits=(0,)), control()))
    assert found(code, "R6") == ["LDG.E R4, desc[UR4][R2.64]"]


def test_without_a_dependence_the_scoreboard_decides() -> None:
    """A branch waits for a load that only the code after it uses."""
    texts = ("LDG.E R4, desc[UR4][R2.64]", "MUFU.RCP R8, R9", "@P0 BRA 0x40", "FADD R6, R4, 1", "EXIT")
    controls = (control(write=0), control(write=1), control(waits=(0,)), control(), control())
    code = Code(texts, (0, 16, 32, 48, 64), controls)
    assert found(code, "BRA") == ["LDG.E R4, desc[UR4][R2.64]"]


def test_the_reason_decides_between_results_of_one_instruction() -> None:
    """An addition of a load from global memory and of one from shared memory."""
    code = program("LDG.E R4, desc[UR4][R2.64]\nLDS R5, [R8]\nFADD R6, R4, R5\nEXIT")
    assert found(code, "FADD") == ["LDG.E R4, desc[UR4][R2.64]"]
    assert found(code, "FADD", "short_scoreboard") == ["LDS R5, [R8]"]


def test_a_loop_waits_for_the_load_of_the_iteration_before() -> None:
    """The first iteration waits for the load before the loop; samples are shared by executions."""
    code = program("""
        LDG.E R4, desc[UR4][R2.64]
        again:
        FADD R6, R4, R6
        LDG.E R4, desc[UR4][R2.64+0x10]
        ISETP.NE.AND P0, PT, R9, R6, PT
        @P0 BRA {again}
        EXIT
    """)
    assert producers(code, 1, "long_scoreboard") == (0, 2)
    samples = np.array([0.0, 80.0, 0.0, 0.0, 0.0, 0.0])
    shares = awaited_samples(code, "long_scoreboard", samples, np.array([1.0, 4.0, 3.0, 4.0, 4.0, 1.0]))
    assert shares.tolist() == [20.0, 0.0, 60.0, 0.0, 0.0, 0.0]


def test_a_store_that_still_reads_its_operand_is_waited_for() -> None:
    """The addition overwrites what is being stored."""
    code = Code(
        ("STG.E desc[UR4][R2.64], R5", "MOV R8, R9", "IADD3 R5, R8, 0x1, RZ"),
        (0, 16, 32),
        (control(read=3), control(), control(waits=(3,))),
    )
    assert found(code, "IADD3") == ["STG.E desc[UR4][R2.64], R5"]


def test_what_has_been_waited_for_is_no_producer() -> None:
    """The second addition finds the value there."""
    code = program("LDG.E R4, desc[UR4][R2.64]\nFADD R6, R4, 1\nIADD3 R7, R9, 0x1, RZ\nEXIT")
    assert found(code, "IADD3") == []


@pytest.mark.parametrize(
    ("reason", "stalled", "producer"),
    [
        ("barrier", "LDS R5", "BAR.SYNC.DEFER_BLOCKING 0x0"),
        ("lg_throttle", "LDG.E R4, desc[UR4][R2.64+0x10]", "LDG.E R4, desc[UR4][R2.64]"),
        ("mio_throttle", "LDS R5", "STS [R8], R4"),
        ("drain", "BRA", "STG.E desc[UR4][R2.64], R5"),
        ("imc_miss", "ULDC UR6", "ULDC UR6, c[0x0][0x210]"),
    ],
)
def test_other_reasons_wait_for_the_last_of_their_kind(reason: str, stalled: str, producer: str) -> None:
    """Barriers, queues, stores before the end and constants; samples of the end are of the address after EXIT."""
    code = program("""
        ULDC UR6, c[0x0][0x210]
        LDG.E R4, desc[UR4][R2.64]
        LDG.E R4, desc[UR4][R2.64+0x10]
        STS [R8], R4
        BAR.SYNC.DEFER_BLOCKING 0x0
        LDS R5, [R8+0x4]
        STG.E desc[UR4][R2.64], R5
        EXIT
        end:
        BRA {end}
    """)
    assert found(code, stalled, reason) == [producer]


@pytest.mark.validation
@pytest.mark.parametrize("half", ["development", "held-out"])
def test_most_labelled_stalls_name_their_producer(half: str) -> None:
    """At least 95 %, with control codes and without; the last load before the stall is right in much fewer."""
    from validation.producers.score import stalls

    found = list(stalls(half))
    assert len(found) > 150
    for answers in ([each.answer() for each in found], [each.answer(text_only=True) for each in found]):
        assert sum(each.is_right(answer) for each, answer in zip(found, answers, strict=True)) >= 0.95 * len(found)
    assert sum(each.is_right(each.last_load()) for each in found) < 0.2 * len(found)


def test_a_queue_that_other_warps_fill_is_named_by_the_instruction_itself() -> None:
    """The first load of the code."""
    code = program("LDG.E R4, desc[UR4][R2.64]\nEXIT")
    assert producers(code, 0, "lg_throttle") == (0,)
