"""The subjects of rules that machine code shows, on snippets and on the code of recorded profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview import load_rules
from ncuview.base.errors import RuleFileError
from ncuview.engine.rule_file import load_rule
from ncuview.engine.static_facts import CodeFact, code_facts
from ncuview.engine.static_subjects import SUBJECTS, spilled_bytes
from ncuview.metrics.instruction_table import executed_by_launch
from ncuview.sass.code import Code
from tests.profiles import recorded_profile

EXIT = "EXIT"


def code(*lines: str) -> Code:
    """Instructions of 16 bytes each, so that the line at position p is jumped to as 0x(10 p)."""
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


def facts(*lines: str, places: dict[int, int] | None = None) -> dict[str, CodeFact]:
    """Rule -> what the code shows; ``places`` gives instructions a source line."""
    known = places or {}
    found = code_facts(code(*lines), [("k.cu", known.get(at, 0)) for at in range(len(lines))], load_rules())
    assert len({fact.rule.text.name for fact in found}) == len(found)
    return {fact.rule.text.name: fact for fact in found}


def looped(*lines: str, filler: int = 16) -> tuple[str, ...]:
    """The lines in a loop that is too long to be a rolled one."""
    return (*lines, *["NOP"] * filler, "@P0 BRA 0x0", EXIT)


def recorded_facts(family: str, kernel: str) -> dict[str, CodeFact]:
    """Rule -> what the code of a recorded kernel shows."""
    profile = recorded_profile(family)
    launch = profile.launches.index[profile.launches["kernel"] == kernel][0]
    rows = executed_by_launch(profile)[launch]
    places = list(zip(rows.files, rows.lines.tolist(), strict=True))
    return {fact.rule.text.name: fact for fact in code_facts(rows.code, places, load_rules())}


@pytest.mark.parametrize(
    ("family", "kernel", "rule", "says"),
    [
        (
            "instructions",
            "registerSpill",
            "register-spill",
            "228 bytes of stores and 152 of loads per thread, in a loop",
        ),
        ("instructions", "localArray", "local-array", "3 accesses to arrays in local memory"),
        ("instructions", "doubleLiteral", "double-in-float-code", "conversions between single and double precision"),
        ("instructions", "divideByAnything", "integer-division", "by a number known at run time, in a loop"),
        ("instructions", "preciseSine", "precise-function", "instructions more than their fast forms take, in a loop"),
        ("instructions", "powersByFunction", "power-function", "340 instructions more than those take"),
        ("instructions", "loopRolled", "loop-overhead", "instructions per iteration, three of which count"),
        ("instructions", "mul24", "short-integer-masks", "masks of the low 24 bits"),
        ("instructions", "mayAlias", "reload-after-store", "from an address that the loop does not change"),
        ("access_patterns", "load_aos", "array-of-structures", "8 loads of one field of larger elements"),
        ("access_patterns", "load_aos_all_fields", "split-access", "of neighbouring fields, where"),
        ("access_patterns", "gather_fields", "gathered-fields", "through an index that an earlier load used"),
        ("atomics", "add_half", "swap-loop", "repeated until no other thread interferes, in a loop"),
        ("reduction", "reduce_v3", "shared-memory-exchange", "of sums in shared memory, without exchange"),
        ("transpose", "copyRow", "little-work-per-thread", "requests at most 4 bytes from global memory"),
        ("texture", "transformKernel_global", "scattered-image-load", "at coordinates that were computed in floating"),
        (
            "transpose",
            "transposeCoalesced",
            "shared-bank-conflict",
            "4 accesses to shared memory with up to 32-way bank",
        ),
        (
            "matmul",
            "MatrixMulKernel_uncoalesced",
            "shared-bank-conflict",
            "up to 4-way bank conflicts in blocks 32 threads",
        ),
        (
            "calibration",
            "l2Scatter",
            "uncoalesced-global-store",
            "5 stores by neighbouring threads that are 32 bytes apart or more",
        ),
    ],
)
def test_the_textbooks_bad_examples_show_their_rules_subject(family: str, kernel: str, rule: str, says: str) -> None:
    assert says in recorded_facts(family, kernel)[rule].says


@pytest.mark.parametrize(
    ("family", "kernel", "rule"),
    [
        ("instructions", "registersFit", "register-spill"),
        ("instructions", "localArray", "register-spill"),
        ("instructions", "localArrayUnrolled", "local-array"),
        ("instructions", "floatLiteral", "double-in-float-code"),
        ("instructions", "doubleLiteral", "loop-overhead"),
        ("instructions", "divideByPowerOfTwo", "integer-division"),
        ("instructions", "fastSine", "precise-function"),
        ("instructions", "powersByProducts", "power-function"),
        ("instructions", "loopUnrolled", "loop-overhead"),
        ("instructions", "mul32", "short-integer-masks"),
        ("instructions", "constRestrict", "reload-after-store"),
        ("access_patterns", "load_soa", "array-of-structures"),
        ("access_patterns", "load_aos_vector", "split-access"),
        ("transpose", "copySharedMem", "little-work-per-thread"),
        ("transpose", "transposeNoBankConflicts", "shared-bank-conflict"),
    ],
)
def test_the_fixed_examples_do_not_show_it(family: str, kernel: str, rule: str) -> None:
    assert rule not in recorded_facts(family, kernel)


def test_every_subject_is_one_of_a_rule() -> None:
    assert {rule.static.texts.subject for rule in load_rules() if rule.static} == SUBJECTS.keys()


def test_code_without_subjects_shows_nothing() -> None:
    assert code_facts(Code((), ()), [], load_rules()) == ()
    assert facts("MOV R0, R1", EXIT) == {}


@pytest.mark.parametrize(
    ("stores", "loads", "spilled"),
    [
        (["STL [R1], R2"], [], (4, 0)),
        (["STL.64 [R1+0x8], R2", "STL.128 [R1+0x10], R4"], ["LDL.128 R4, [R1+0x10]"], (24, 16)),
        (["STL.U8 [R1], R2", "STL.S16 [R1+0x2], R3"], ["@P0 LDL.U16 R4, [R1]"], (3, 2)),
        ([], [], (0, 0)),
    ],
)
def test_spilled_bytes_are_those_of_the_instructions(
    stores: list[str], loads: list[str], spilled: tuple[int, int]
) -> None:
    assert spilled_bytes(code(*stores, *loads, EXIT)) == spilled
    assert ("register-spill" in facts(*stores, *loads, EXIT)) is any(spilled)


def test_spilled_bytes_are_unknown_where_there_is_an_array_in_local_memory() -> None:
    lines = ("STL [R1+0x4], R2", "LDL R4, [R7]", EXIT)
    assert spilled_bytes(code(*lines)) is None
    assert facts(*lines).keys() == {"local-array"}
    assert facts(*lines)["local-array"].positions == (1,)


LANE = ("S2R R3, SR_TID.X", "LDC.64 R8, c[0x0][0x210]")


@pytest.mark.parametrize(
    ("lines", "rule", "says"),
    [
        (
            ("IMAD.WIDE R2, R3, 0x40, R8", "LDG.E R4, desc[UR4][R2.64]"),
            "uncoalesced-global-load",
            "1 load by neighbouring threads that are 64 bytes apart or more",
        ),
        (
            (
                "IMAD.WIDE R6, R3, 0x20, R8",
                "STG.E desc[UR4][R6.64], R4",
                "IMAD.WIDE R6, R3, -0x40, R8",
                "STG.E desc[UR4][R6.64], R4",
            ),
            "uncoalesced-global-store",
            "2 stores by neighbouring threads that are 32 bytes apart or more",
        ),
        (
            ("SHF.L.U32 R3, R3, 0x3, RZ", "STS [R3], R9"),
            "shared-bank-conflict",
            "1 access to shared memory with up to 2-way bank conflicts in blocks 32 threads wide",
        ),
    ],
)
def test_the_stride_by_thread_index_shows_uncoalesced_accesses_and_bank_conflicts(
    lines: tuple[str, ...], rule: str, says: str
) -> None:
    found = facts(*LANE, *lines, EXIT)[rule]
    assert (found.says, found.positions[-1]) == (says, len(lines) + 1)


@pytest.mark.parametrize(
    "lines",
    [
        ("IMAD.WIDE R2, R3, 0x4, R8", "LDG.E R4, desc[UR4][R2.64]"),
        ("IMAD R5, R3, R7, RZ", "IMAD.WIDE R2, R5, 0x40, R8", "LDG.E R4, desc[UR4][R2.64]"),
        ("SHF.L.U32 R3, R3, 0x2, RZ", "STS [R3], R9"),
        ("ISETP.GT.AND P0, PT, R3, 0x3, PT", "SHF.L.U32 R3, R3, 0x3, RZ", "@P0 STS [R3], R9"),
    ],
    ids=["adjacent", "an unknown stride", "a word per bank", "some lanes"],
)
def test_accesses_that_may_be_coalesced_are_no_subject(lines: tuple[str, ...]) -> None:
    rules = {"uncoalesced-global-load", "uncoalesced-global-store", "shared-bank-conflict"}
    assert not rules & facts(*LANE, *lines, EXIT).keys()


def test_double_arithmetic_between_conversions_is_counted() -> None:
    found = facts("F2F.F64.F32 R8, R7", "DFMA R8, R8, R10, R2", "F2F.F32.F64 R8, R8", EXIT)["double-in-float-code"]
    assert found.says == "2 conversions between single and double precision, and 1 of double arithmetic"
    assert found.positions == (0, 2)


def test_facts_in_a_loop_say_so_and_come_first() -> None:
    mask = "LOP3.LUT R2, R3, 0xffffff, RZ, 0xc0, !PT"
    found = code_facts(code(*looped(mask)[:-1], "LDL R4, [R7]", EXIT), [("", 0)] * 20, load_rules())
    assert [(fact.rule.text.name, fact.in_loop) for fact in found] == [
        ("short-integer-masks", True),
        ("local-array", False),
    ]
    assert found[0].says == "1 mask of the low 24 bits, as __mul24 compiles to, in a loop"


def test_a_short_loop_is_named_by_its_length() -> None:
    found = facts("IADD3 R0, R0, 0x1, RZ", "ISETP.LT.AND P0, PT, R0, R5, PT", "@P0 BRA 0x0", EXIT)["loop-overhead"]
    assert found.says == "a loop of 3 instructions per iteration, three of which count, compare and jump"
    assert found.in_loop
    assert found.positions == (2,)


@pytest.mark.parametrize("length", [15, 16])
def test_a_loop_counts_as_short_up_to_fifteen_instructions(length: int) -> None:
    found = facts(*["NOP"] * (length - 1), "@P0 BRA 0x0", EXIT)
    assert ("loop-overhead" in found) is (length == 15)


def test_only_the_innermost_loop_counts() -> None:
    found = facts("NOP", "NOP", "@P0 BRA 0x10", "NOP", "@P1 BRA 0x0", EXIT)["loop-overhead"]
    assert "a loop of 2 instructions" in found.says
    assert found.positions == (2,)


def test_the_remainder_of_an_unrolled_loop_is_no_subject() -> None:
    both = (*["NOP"] * 20, "@P0 BRA 0x0", "NOP", "@P1 BRA 0x150", EXIT)
    assert "loop-overhead" not in facts(*both, places={20: 7, 22: 7})
    assert "loop-overhead" in facts(*both, places={20: 7, 22: 9})
    assert "loop-overhead" in facts(*both)


def test_what_repeats_until_it_succeeds_is_no_loop_to_unroll() -> None:
    found = facts("ATOMG.E.CAS.STRONG.GPU PT, R7, [R2], R6, R7", "@P0 BRA 0x0", EXIT)
    assert "loop-overhead" not in found


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (("LDG.E R2, desc[UR4][R4.64]", "IADD3 R2, R2, R2, RZ", EXIT), "little-work-per-thread"),
        (looped("LDG.E R2, desc[UR4][R4.64]", "IADD3 R4, R4, 0x4, RZ", "IADD3 R9, R2, R9, RZ"), "serialized-loads"),
        (
            (*(text for n in (2, 4, 6, 8) for text in (f"LDG.E R{n}, desc[UR4][R20.64]", f"MOV R30, R{n}")), EXIT),
            "serialized-loads",
        ),
    ],
)
def test_few_bytes_in_flight_are_work_or_order_that_is_missing(lines: tuple[str, ...], rule: str) -> None:
    found = facts(*lines)
    assert "requests at most 4 bytes from global memory" in found[rule].says
    assert not {"little-work-per-thread", "serialized-loads"} - {rule} & found.keys()


@pytest.mark.parametrize(
    "lines",
    [
        ("LDG.E.128 R4, desc[UR4][R20.64]", "FADD R4, R4, R5", EXIT),
        ("LDG.E.64 R4, desc[UR4][R20.64]", "LDG.E.64 R6, desc[UR4][R22.64]", "FADD R4, R4, R6", EXIT),
        looped("LDG.E.64 R2, desc[UR4][R2.64]"),
        ("STG.E desc[UR4][R2.64], R5", EXIT),
    ],
)
def test_wide_or_many_loads_and_linked_lists_are_no_subject(lines: tuple[str, ...]) -> None:
    assert not {"little-work-per-thread", "serialized-loads"} & facts(*lines).keys()


def test_sums_in_shared_memory_are_a_subject_without_shuffles() -> None:
    update = ("LDS R2, [R4]", "FADD R2, R2, R3", "STS [R4], R2")
    assert facts(*update, EXIT)["shared-memory-exchange"].says.startswith("1 update of sums in shared memory")
    assert "shared-memory-exchange" not in facts(*update, "SHFL.DOWN PT, R2, R3, 0x1, 0x1f", EXIT)


def test_a_subject_that_there_is_not_is_refused_with_the_closest(tmp_path: Path) -> None:
    [rule] = [each for each in load_rules() if each.text.name == "uniform-global-load"]
    file = tmp_path / rule.path.name
    file.write_text(rule.path.read_text().replace('subject = "uniform_loads"', 'subject = "uniform_load"'))
    with pytest.raises(RuleFileError, match=r"static\.subject: no subject 'uniform_load' .*uniform_loads"):
        load_rule(file)
