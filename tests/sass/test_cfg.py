"""Blocks, edges, dominators and loops, on constructed programs and against naive definitions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass.cfg import (
    control_flow,
    dominates,
    immediate_dominators,
    immediate_post_dominators,
    innermost_loop,
    loops,
)
from ncuview.sass.code import Code
from ncuview.sass.control_dependence import decided_by, decisions
from tests.sass.program import program, where


def edges(code: Code) -> list[tuple[int, ...]]:
    return list(control_flow(code).successors)


@pytest.mark.parametrize("listing", ["", "NOP", "EXIT", "BRA 0x0", "CALL.REL.NOINC 0x0", "RET.REL.NODEC R4 0x0"])
def test_the_smallest_programs(listing: str) -> None:
    code = program(listing)
    assert edges(code) == [()] * len(code)
    assert loops(code) == ()


def test_branches_fall_through_only_where_some_threads_may_not_take_them() -> None:
    code = program("""
        @P0 BRA {end}
        BRA P1, {end}
        BRA.DIV UR4, {end}
        BRA {end}
        NOP
        end:
        EXIT
    """)
    assert edges(code) == [(5, 1), (5, 2), (5, 3), (5,), (), ()]  # nothing leads to the fifth


def test_barriers_of_convergence_fall_through_wherever_they_point() -> None:
    code = program("""
        BSSY B0, {end}
        WARPSYNC.COLLECTIVE R4, {end}
        @P0 BREAK B0
        BSYNC B0
        NOP
        end:
        EXIT
    """)
    assert [list(block) for block in control_flow(code).blocks] == [[0, 1, 2, 3, 4, 5]]


def test_guarded_exit_ends_a_block_and_falls_through() -> None:
    assert edges(program("@P0 EXIT\nNOP\nEXIT")) == [(1,), ()]


def test_the_padding_at_the_end_is_no_loop_and_a_spinning_thread_is() -> None:
    padded = program("EXIT\npad:\nBRA {pad}\nNOP")
    assert loops(padded) == ()
    spinning = program("wait:\n@P0 BRA {wait}\nEXIT")
    assert [loop.header for loop in loops(spinning)] == [0]


def test_a_jump_to_a_computed_address_may_lead_to_all_blocks() -> None:
    code = program("""
        BRX R2 -0x10
        MOV R4, 0x1
        BRA {end}
        MOV R4, 0x2
        end:
        EXIT
    """)
    assert edges(code)[0] == (0, 1, 2, 3)


def test_calls_go_on_after_themselves_and_name_the_function() -> None:
    code = program("""
        CALL.REL.NOINC {function}
        NOP
        EXIT
        function:
        FADD R4, R4, R4
        RET.REL.NODEC R20 0x0
    """)
    flow = control_flow(code)
    assert edges(code) == [(1,), (), ()]
    assert flow.calls == {0: 2}
    assert flow.returns == {2}
    assert flow.entries == (0, 2)


@pytest.mark.parametrize(
    "call",
    ["CALL.ABS.NOINC R2", "CALL.REL.NOINC 0x5550", "CALL.REL.NOINC {never}"],
    ids=["computed", "elsewhere", "does not return"],
)
def test_calls_of_unknown_functions(call: str) -> None:
    flow = control_flow(program(f"{call}\nEXIT\nnever:\nEXIT\nother:\nRET.REL.NODEC R20 0x0"))
    assert flow.calls == {0: None}


NESTED = """
    MOV R0, RZ
    outer:
    MOV R1, RZ
    inner:
    IADD3 R1, R1, 0x1, RZ
    @P0 BRA {inner}
    IADD3 R0, R0, 0x1, RZ
    @P1 BRA {outer}
    EXIT
"""


def test_nested_loops() -> None:
    outer, inner = loops(program(NESTED))
    assert (outer.header, sorted(outer.body), outer.latches, outer.depth) == (1, [1, 2, 3, 4, 5], (5,), 1)
    assert (inner.header, sorted(inner.body), inner.latches, inner.depth) == (2, [2, 3], (3,), 2)
    assert inner.parent is outer
    assert outer.reducible
    assert inner.reducible


def test_innermost_loop() -> None:
    code = program(NESTED)
    headers = [loop.header if (loop := innermost_loop(code, at)) else None for at in range(len(code))]
    assert headers == [None, 1, 2, 2, 1, 1, None]


def test_a_loop_is_its_blocks_and_not_the_code_between_jump_and_target() -> None:
    code = program("""
        BRA {test}
        rare:
        FADD R5, R5, R5
        BRA {out}
        test:
        @P0 BRA {rare}
        @P1 BRA {test}
        out:
        EXIT
    """)
    (loop,) = loops(code)
    assert sorted(loop.body) == [3, 4]


def test_two_jumps_back_to_one_header_are_one_loop() -> None:
    (loop,) = loops(program("top:\nNOP\n@P0 BRA {top}\nNOP\n@P1 BRA {top}\nEXIT"))
    assert loop.latches == (1, 3)


def test_a_cycle_with_two_entries_is_an_irreducible_loop() -> None:
    code = program("""
        @P0 BRA {second}
        first:
        NOP
        second:
        NOP
        @P1 BRA {first}
        EXIT
    """)
    (loop,) = loops(code)
    assert (loop.header, sorted(loop.body), loop.reducible) == (1, [1, 2, 3], False)


def test_functions_have_entries_and_dominators_of_their_own() -> None:
    code = program("@P0 BRA {a}\nCALL.REL.NOINC {f}\na:\nEXIT\nf:\nNOP\n@P0 BRA {g}\nNOP\ng:\nRET.REL.NODEC R20 0x0")
    assert immediate_dominators(code) == (None, 0, 0, None, 3, 3)


DIAMOND = """
    ISETP.EQ.AND P0, PT, R0, RZ, PT
    @P0 BRA {then}
    MOV R4, 0x1
    BRA {join}
    then:
    MOV R4, 0x2
    join:
    FADD R5, R4, R4
    EXIT
"""


def test_a_branch_decides_about_both_ways_up_to_where_they_meet() -> None:
    code = program(DIAMOND)
    assert [decided_by(code, at) for at in range(len(code))] == [(), (), (1,), (1,), (1,), (), ()]


def test_the_jump_back_decides_about_its_loop_itself_included() -> None:
    code = program(NESTED)
    assert [decided_by(code, at) for at in range(len(code))] == [(), (5,), (3, 5), (3, 5), (5,), (5,), ()]


def test_leaving_a_loop_early_decides_about_its_rest_and_all_later_iterations() -> None:
    code = program("NOP\ntop:\nFADD R4, R4, R4\n@P0 BRA {out}\nFADD R5, R5, R5\nBRA {top}\nout:\nEXIT")
    assert [decided_by(code, at) for at in range(len(code))] == [(), (2,), (2,), (2,), (2,), ()]


def test_guarded_exits_do_not_decide_about_threads_that_stay() -> None:
    code = program("@P0 EXIT\nFADD R4, R4, R4\nEXIT")
    assert decided_by(code, 1) == ()


def test_a_branch_that_decides_about_a_call_decides_about_the_function() -> None:
    code = program("""
        @P0 BRA {skip}
        CALL.REL.NOINC {f}
        skip:
        @P1 CALL.REL.NOINC {f}
        EXIT
        f:
        FADD R4, R4, R4
        @P2 RET.REL.NODEC R20 0x0
        FADD R5, R5, R5
        RET.REL.NODEC R20 0x0
    """)
    assert decided_by(code, where(code, "FADD R4")) == (0, 2)
    assert decided_by(code, where(code, "FADD R5")) == (0, 2, 5)


def test_an_endless_loop_has_post_dominators_too() -> None:
    code = program("@P0 BRA {b}\nNOP\nb:\nNOP\nBRA {b}")
    assert immediate_post_dominators(code)[0] == 2


# Random graphs

Jump = tuple[str, int]


@st.composite
def random_code(draw: st.DrawFn) -> Code:
    """Blocks of one instruction and one jump each, as many as ten."""
    count = draw(st.integers(1, 10))
    listing = []
    for block in range(count):
        end = draw(st.sampled_from(["BRA {}", "@P0 BRA {}", "@P0 BRA {}", "NOP", "EXIT", "@P0 EXIT"]))
        listing += [f"b{block}:", "NOP", end.format(f"{{b{draw(st.integers(0, count - 1))}}}")]
    return program("\n".join([*listing, "EXIT"]))


def reachable(successors: Sequence[Sequence[int]], start: int, without: int | None = None) -> set[int]:
    found, waiting = set[int](), [start] if start != without else []
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += [to for to in successors[block] if to != without]
    return found


@given(random_code())
def test_dominators_are_those_without_which_a_block_cannot_be_reached(code: Code) -> None:
    flow, idom = control_flow(code), immediate_dominators(code)
    from_entry = reachable(flow.successors, 0)
    for block in from_entry:
        naive = {other for other in from_entry if block not in reachable(flow.successors, 0, without=other)}
        assert naive == {other for other in from_entry if dominates(idom, other, block)}


@given(random_code())
def test_post_dominators_are_those_that_every_way_to_an_end_goes_through(code: Code) -> None:
    flow, meets = control_flow(code), immediate_post_dominators(code)
    ends = {block for block, successors in enumerate(flow.successors) if not successors}
    everything = range(len(flow.blocks))
    if any(ends.isdisjoint(reachable(flow.successors, block)) for block in everything):
        return  # an endless loop ends where the function says
    for block in everything:
        naive = {other for other in everything if ends.isdisjoint(reachable(flow.successors, block, without=other))}
        assert naive == {other for other in everything if dominates(meets, other, block)}


@given(random_code())
def test_loops_that_are_entered_at_their_header_are_the_natural_ones(code: Code) -> None:
    flow, idom = control_flow(code), immediate_dominators(code)
    if not all(loop.reducible for loop in loops(code)):
        return
    natural: dict[int, set[int]] = {}
    for tail, successors in enumerate(flow.successors):
        for header in successors:
            if dominates(idom, header, tail):
                into = reachable(flow.predecessors, tail, without=header) | {header}
                natural.setdefault(header, set()).update(into)
    found = {flow.block_of[loop.header]: {flow.block_of[position] for position in loop.body} for loop in loops(code)}
    assert found == natural


@given(random_code())
def test_every_block_on_a_cycle_lies_in_a_loop_and_no_other(code: Code) -> None:
    flow = control_flow(code)
    for block, positions in enumerate(flow.blocks):
        on_cycle = any(block in reachable(flow.successors, to) for to in flow.successors[block])
        assert (innermost_loop(code, positions[0]) is not None) == on_cycle


@given(random_code())
def test_a_branch_decides_about_what_lies_between_it_and_its_post_dominator(code: Code) -> None:
    flow, meets, found = control_flow(code), immediate_post_dominators(code), decisions(code)
    live = reachable(flow.successors, 0)
    for number, position in enumerate(found.positions):
        branch = flow.block_of[position]
        if branch not in live or len(flow.successors[branch]) < 2:
            continue
        leaving_once = [() if block == branch else to for block, to in enumerate(flow.successors)]
        sides = [reachable(leaving_once, to, without=meets[branch]) for to in flow.successors[branch]]
        for block in live:
            reached = [block in side for side in sides]
            assert bool(found.decided_by[block] >> number & 1) == any(reached)
            assert bool(found.on_one_side[block] >> number & 1) == (any(reached) and not all(reached))


def test_a_choice_is_made_where_both_ways_lead() -> None:
    """The branch back to ``top`` leads past the join of the branch in the loop; that one still chooses there."""
    code = program("""
        top:
        @P0 BRA {other}
        MOV R4, 0x1
        BRA {join}
        other:
        @P1 BRA {out}
        MOV R4, 0x2
        join:
        FADD R5, R4, R4
        BRA {top}
        out:
        EXIT
    """)
    found, flow = decisions(code), control_flow(code)
    definitions = [flow.block_of[where(code, text)] for text in ("MOV R4, 0x1", "MOV R4, 0x2")]
    assert found.named(found.selecting(definitions, flow.block_of[where(code, "FADD")])) == (0,)
