"""Columns of a code: what is asked once for each kind of instruction is what each instruction says by itself."""

from __future__ import annotations

from ncuview.sass.columns import by_opcode, count_of, of_class, positions_of
from ncuview.sass.opcode_classes import Class, is_global_load
from tests.sass.counting import code
from tests.sass.test_opcode_classes import MEMBERS, STRANGERS

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
