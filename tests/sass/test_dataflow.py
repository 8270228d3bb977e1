"""Definitions, uses, live registers and propagated values, on constructed programs and against all paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass.cfg import control_flow
from ncuview.sass.code import Code
from ncuview.sass.dataflow import LOCAL, Parts, def_use, effects, liveness, propagate, use_def
from tests.sass.program import program, where


def sources(code: Code, text: str, register: str) -> list[str]:
    """The instructions whose definition of a register reaches the only instruction that contains a text."""
    return [code.texts[at] for at in use_def(code)[where(code, text)][register]]


def test_a_definition_hides_the_one_before_it() -> None:
    code = program("MOV R4, 0x1\nMOV R4, 0x2\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["MOV R4, 0x2"]


def test_both_definitions_reach_where_paths_meet() -> None:
    code = program("""
        MOV R4, 0x0
        @P0 BRA {then}
        MOV R4, 0x1
        BRA {join}
        then:
        MOV R4, 0x2
        join:
        FADD R5, R4, R4
        EXIT
    """)
    assert sources(code, "FADD", "R4") == ["MOV R4, 0x1", "MOV R4, 0x2"]


def test_a_predicated_definition_leaves_the_one_before_it() -> None:
    code = program("MOV R4, 0x1\n@P0 MOV R4, 0x2\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["MOV R4, 0x1", "@P0 MOV R4, 0x2"]


def test_definitions_under_a_guard_and_its_opposite_hide_what_came_before() -> None:
    code = program("MOV R4, 0x0\n@P0 MOV R4, 0x1\n@!P0 MOV R4, 0x2\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["@P0 MOV R4, 0x1", "@!P0 MOV R4, 0x2"]


@pytest.mark.parametrize("between", ["ISETP.EQ.AND P0, PT, R9, RZ, PT", "@P1 ISETP.EQ.AND P0, PT, R9, RZ, PT"])
def test_they_do_not_where_the_predicate_changes_in_between(between: str) -> None:
    code = program(f"MOV R4, 0x0\n@P0 MOV R4, 0x1\n{between}\n@!P0 MOV R4, 0x2\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["MOV R4, 0x0", "@P0 MOV R4, 0x1", "@!P0 MOV R4, 0x2"]


def test_a_use_under_a_guard_sees_what_was_defined_under_the_same_one_only() -> None:
    code = program("MOV R4, 0x0\n@P0 MOV R4, 0x1\n@!P0 MOV R4, 0x2\n@P0 FADD R5, R4, R4\n@P1 FMUL R6, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["@P0 MOV R4, 0x1"]
    assert sources(code, "FMUL", "R4") == ["@P0 MOV R4, 0x1", "@!P0 MOV R4, 0x2"]


def test_the_guard_is_a_use_that_all_definitions_reach() -> None:
    code = program("ISETP.EQ.AND P0, PT, R9, RZ, PT\n@!P0 ISETP.EQ.AND P0, PT, R8, RZ, PT\n@P0 MOV R4, 0x1\nEXIT")
    assert use_def(code)[2]["P0"] == (0, 1)


def test_a_value_from_the_iteration_before() -> None:
    code = program("MOV R4, 0x1\ntop:\nFADD R4, R4, R4\n@P0 BRA {top}\nEXIT")
    assert use_def(code)[1]["R4"] == (0, 1)
    assert def_use(code)[1]["R4"] == (1,)


CALLS = """
    MOV R4, 0x1
    MOV R6, 0x6
    CALL.REL.NOINC {f}
    FADD R10, R4, R6
    MOV R4, 0x2
    MOV R7, 0x7
    CALL.REL.NOINC {f}
    FMUL R11, R4, R7
    EXIT
    f:
    @P0 BRA {out}
    MOV R7, R4
    out:
    FADD.FTZ R4, R4, R4
    RET.REL.NODEC R20 0x0
"""


def test_a_call_defines_what_its_function_does_and_keeps_what_that_leaves_alone() -> None:
    code = program(CALLS)
    first, second = (position for position, text in enumerate(code.texts) if text.startswith("CALL"))
    add, multiply = use_def(code)[where(code, "FADD R10")], use_def(code)[where(code, "FMUL")]
    assert add == {"R4": (first,), "R6": (where(code, "MOV R6"),)}
    assert multiply == {"R4": (second,), "R7": (where(code, "MOV R7, 0x7"), second)}


def test_a_call_uses_what_its_function_does_not_define_first() -> None:
    code = program(CALLS)
    call = effects(code)[2]
    assert (sorted(call.uses), call.defines, call.keeps) == (
        ["P0", "R20", "R21", "R4"],
        ("R4", "R7"),
        frozenset({"R7"}),
    )


def test_a_function_uses_what_each_call_gives() -> None:
    assert sources(program(CALLS), "FADD.FTZ", "R4") == ["MOV R4, 0x1", "MOV R4, 0x2"]


def test_a_function_reads_nothing_from_before_that_opposite_guards_define() -> None:
    code = program("""
        CALL.REL.NOINC {f}
        EXIT
        f:
        @P0 MOV R8, RZ
        @!P0 MOV R8, 0x40
        FADD R4, R8, R8
        RET.REL.NODEC R20 0x0
    """)
    assert set(effects(code)[0].uses) == {"R20", "R21", "P0"}
    assert not effects(code)[0].keeps


def test_a_guarded_call_keeps_what_was_there_too() -> None:
    code = program(CALLS.replace("CALL", "@P1 CALL", 1))
    assert sources(code, "FADD R10", "R4") == ["MOV R4, 0x1", "@P1 CALL.REL.NOINC 0x90"]


def test_a_function_that_calls_another() -> None:
    code = program("""
        MOV R4, 0x1
        CALL.REL.NOINC {outer}
        FADD R10, R4, R5
        EXIT
        outer:
        CALL.REL.NOINC {inner}
        MOV R5, R4
        RET.REL.NODEC R20 0x0
        inner:
        FMUL R4, R4, R4
        RET.REL.NODEC R22 0x0
    """)
    assert use_def(code)[where(code, "FADD")] == {"R4": (1,), "R5": (1,)}
    assert use_def(code)[where(code, "MOV R5")] == {"R4": (4,)}
    assert sources(code, "FMUL", "R4") == ["MOV R4, 0x1"]
    assert set(effects(code)[1].uses) == {"R4", "R20", "R21", "R22", "R23"}


def test_a_function_that_calls_itself_ends() -> None:
    code = program("""
        MOV R4, 0x1
        CALL.REL.NOINC {f}
        FADD R10, R4, R4
        EXIT
        f:
        @P0 BRA {out}
        FMUL R4, R4, R4
        CALL.REL.NOINC {f}
        out:
        RET.REL.NODEC R20 0x0
    """)
    assert use_def(code)[where(code, "FADD")] == {"R4": (0, 1)}


def test_a_call_of_an_unknown_function_uses_and_defines_everything() -> None:
    code = program("MOV R4, 0x1\nCALL.ABS.NOINC R2\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["CALL.ABS.NOINC R2"]
    assert sources(code, "CALL", "R4") == ["MOV R4, 0x1"]


def test_a_computed_jump_may_skip_definitions() -> None:
    code = program("MOV R4, 0x1\nBRX R2 -0x10\nNOP\nMOV R4, 0x2\nBRA {end}\nNOP\nend:\nFADD R5, R4, R4\nEXIT")
    assert sources(code, "FADD", "R4") == ["MOV R4, 0x1", "MOV R4, 0x2"]


STACK = "IADD3 R1, R1, -0x20, RZ\n"


def test_spilled_registers_are_found_by_their_offset() -> None:
    code = program(f"{STACK}STL [R1+0x8], R4\nSTL.64 [R1+0x10], R6\nLDL R5, [R1+0x8]\nLDL R9, [R1+0x14]\nEXIT")
    assert sources(code, "LDL R5", "local[8]") == ["STL [R1+0x8], R4"]
    assert sources(code, "LDL R9", "local[20]") == ["STL.64 [R1+0x10], R6"]


def test_a_store_to_an_unknown_place_may_be_what_any_load_loads() -> None:
    code = program(f"{STACK}STL [R1], R4\nSTL [R8], R5\nLDL R6, [R1]\nLDL R7, [R9]\nEXIT")
    assert sources(code, "LDL R6", "local[0]") == ["STL [R1], R4"]
    assert sources(code, "LDL R6", LOCAL) == ["STL [R8], R5"]
    assert sources(code, "LDL R7", "local[0]") == ["STL [R1], R4"]
    assert sources(code, "LDL R7", LOCAL) == ["STL [R8], R5"]


def test_a_store_of_a_byte_keeps_the_rest_of_its_word() -> None:
    code = program(f"{STACK}STL [R1], R4\nSTL.U8 [R1+0x1], R5\nLDL R6, [R1]\nEXIT")
    assert sources(code, "LDL", "local[0]") == ["STL.U8 [R1+0x1], R5"]
    assert sources(code, "STL.U8", "local[0]") == ["STL [R1], R4"]


def test_where_the_stack_pointer_moves_all_local_memory_is_one() -> None:
    code = program("STL [R1+0x8], R4\nIADD3 R1, R1, 0x8, RZ\nLDL R5, [R1]\nEXIT")
    assert sources(code, "LDL", LOCAL) == ["STL [R1+0x8], R4"]


def test_registers_are_live_from_definition_to_last_use() -> None:
    code = program("MOV R4, 0x1\nMOV R5, 0x2\nFADD R6, R4, R5\nSTG.E [R2], R6\nEXIT")
    assert [liveness(code).at(position) for position in range(len(code))] == [
        {"R2", "R3"},
        {"R2", "R3", "R4"},
        {"R2", "R3", "R4", "R5"},
        {"R2", "R3", "R6"},
        set(),
    ]


def test_registers_are_live_around_a_loop_and_across_predicated_definitions() -> None:
    code = program("MOV R4, 0x1\ntop:\n@P1 MOV R4, R5\n@P0 BRA {top}\nFADD R6, R4, R4\nEXIT")
    assert [liveness(code).at(position) for position in range(len(code))] == [
        {"R5", "P0", "P1"},
        {"R4", "R5", "P0", "P1"},
        {"R4", "R5", "P0", "P1"},
        {"R4"},
        set(),
    ]


def test_a_call_needs_what_its_function_needs_and_what_comes_after_needs_and_no_other_call() -> None:
    code = program(CALLS)
    live = liveness(code)
    assert live.at(2) == {"R4", "R6", "R20", "R21", "P0"}
    assert live.at(6) == {"R4", "R7", "R20", "R21", "P0"}
    assert live.at(where(code, "FADD.FTZ")) == {"R4", "R6", "R7", "R20", "R21", "P0"}


def test_an_analysis_is_a_transfer_function() -> None:
    code = program("""
        S2R R0, SR_TID.X
        LDC R2, c[0x0][0x210]
        top:
        IADD3 R2, R2, R0, RZ
        @P0 BRA {top}
        FADD R3, R2, R2
        EXIT
    """)
    brought = {where(code, "S2R"): 1, where(code, "LDC"): 2}
    found = propagate(code, lambda at, operands: reduce(or_, operands.values(), brought.get(at, 0)), join=or_, least=0)
    assert found.operands[where(code, "FADD")] == {"R2": 3}
    assert found.results[where(code, "FADD")] == 3


def test_results_may_differ_by_register() -> None:
    code = program("LDC.64 R2, c[0x0][0x210]\nFADD R4, R2, R2\nFADD R5, R3, R3\nEXIT")

    def transfer(position: int, operands: Mapping[str, int]) -> int | Parts[int]:
        return Parts({"R2": 1, "R3": 2}) if position == 0 else max(operands.values(), default=0)

    found = propagate(code, transfer, join=or_, least=0)
    assert [dict(found.operands[at]) for at in (1, 2)] == [{"R2": 1}, {"R3": 2}]


# Random programs without loops

LINES = ["MOV R4, R5", "MOV R5, R6", "@P0 MOV R4, R6", "FADD R6, R4, R5", "ISETP.EQ.AND P0, PT, R4, RZ, PT", "NOP"]


@st.composite
def acyclic_code(draw: st.DrawFn) -> Code:
    count = draw(st.integers(1, 6))
    listing = []
    for block in range(count):
        listing += [f"b{block}:", *draw(st.lists(st.sampled_from(LINES), max_size=3))]
        if block + 1 < count and draw(st.booleans()):
            guard = draw(st.sampled_from(["", "@P1 ", "@!P2 "]))
            listing.append(f"{guard}BRA {{b{draw(st.integers(block + 1, count - 1))}}}")
    return program("\n".join([*listing, "EXIT"]))


def paths(code: Code) -> Iterator[list[int]]:
    flow = control_flow(code)
    waiting = [[0]]
    while waiting:
        path = waiting.pop()
        successors = flow.successors[path[-1]]
        waiting += [[*path, to] for to in successors]
        if not successors:
            yield [position for block in path for position in flow.blocks[block]]


@given(acyclic_code())
def test_reaching_definitions_are_those_of_some_path(code: Code) -> None:
    """Of all ways to take predicates: each predicate holds or does not until it is defined anew."""
    found = effects(code)
    naive = [{name: set[int]() for name in effect.uses} for effect in found]
    on_paths = {position for path in paths(code) for position in path}
    for path in paths(code):
        versions = [position for position in path if "P0" in found[position].defines]
        for choice in range(2 ** (len(versions) + 1)):
            last: dict[str, int] = {}
            number = 0
            for position in path:
                effect = found[position]
                executed = effect.guard is None or effect.guard.predicate != "P0" or bool(choice >> number & 1)
                for name in effect.uses:
                    if name in last and (executed or name == "P0"):
                        naive[position][name].add(last[name])
                if executed:
                    last.update(dict.fromkeys(effect.defines, position))
                number += position in versions
    for position, uses in enumerate(use_def(code)):
        for name, definitions in uses.items():
            assert naive[position][name] <= set(definitions)
            if position in on_paths and not any("@P0" in text for text in code.texts):
                assert naive[position][name] == set(definitions)


@given(acyclic_code())
def test_a_register_is_live_where_some_path_uses_it_before_it_defines_it(code: Code) -> None:
    found, live = effects(code), liveness(code)
    naive = [set[str]() for _ in found]
    on_paths = set[int]()
    for path in paths(code):
        on_paths.update(path)
        needed: set[str] = set()
        for position in reversed(path):
            if found[position].guard is None:
                needed -= set(found[position].defines)
            needed |= set(found[position].uses)
            naive[position] |= needed
    assert all(naive[position] == live.at(position) for position in on_paths)


@given(acyclic_code())
def test_def_use_is_use_def_seen_from_the_other_end(code: Code) -> None:
    forwards = {
        (at, name, use) for at, defined in enumerate(def_use(code)) for name, uses in defined.items() for use in uses
    }
    backwards = {
        (at, name, use) for use, used in enumerate(use_def(code)) for name, found in used.items() for at in found
    }
    assert forwards == backwards
