"""Decoded code, the memory of analyses, and columns: each class is asked once for each kind of instruction."""

from __future__ import annotations

from ncuview.sass.code import Code, analysis, by_opcode, count_of, of_class, positions_of
from ncuview.sass.opcode_classes import Class, is_global_load
from tests.sass.program import code, program
from tests.sass.test_opcode_classes import MEMBERS, STRANGERS


def test_an_analysis_is_computed_once_for_each_object() -> None:
    calls: list[Code] = []

    @analysis
    def length(code: Code) -> int:
        calls.append(code)
        return len(code)

    one, same_text = program("NOP\nEXIT"), program("NOP\nEXIT")
    assert [length(one), length(one), length(same_text)] == [2, 2, 2]
    assert calls == [one, same_text]
    assert one != same_text


def test_two_analyses_of_one_object_have_separate_results() -> None:
    @analysis
    def first(code: Code) -> str:
        return code.texts[0]

    @analysis
    def last(code: Code) -> str:
        return code.texts[-1]

    code = program("NOP\nEXIT")
    assert (first(code), last(code), first(code)) == ("NOP", "EXIT", "NOP")


def test_positions_of_addresses() -> None:
    code = Code(("NOP", "EXIT"), (32, 48))
    assert [code.position_of(address) for address in (32, 48, 40, None)] == [0, 1, None, None]


def test_opcodes_that_the_table_does_not_cover_are_counted() -> None:
    code = program("FROB.X R4, R5\nFADD R4, R5, R6\n@P0 FROB.X R4, R5\nEXIT")
    assert code.unknown_opcodes == {"FROB.X": 2}


CODE = code(*(text for _, text in (*MEMBERS, *STRANGERS)), "LDG.E R4, desc[UR4][R2.64]", "LDG.E RZ, desc[UR4][R2.64]")
CLASSES: set[Class] = {asked for asked, _ in (*MEMBERS, *STRANGERS)}


def test_each_instruction_is_of_the_classes_that_it_says() -> None:
    for asked in CLASSES:
        want = [asked(each) for each in CODE.instructions]
        assert of_class(CODE, asked).tolist() == want
        assert count_of(CODE, asked).tolist() == want
        assert list(positions_of(CODE, asked)) == [position for position, found in enumerate(want) if found]


def test_loads_of_one_opcode_with_a_result_and_without_are_two_kinds() -> None:
    assert of_class(CODE, is_global_load).tolist()[-2:] == [True, False]


def test_a_weight_by_opcode() -> None:
    assert by_opcode(CODE, len).tolist() == [len(each.opcode) for each in CODE.instructions]
