"""Values reported as thread-invariant are the same in all threads: small programs without loops are executed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import index_dependence
from tests.sass.program import program

START = """
    S2R R0, SR_TID.X
    MOV R1, 0x1
    MOV R4, 0x7
    MOV R5, 0x7
    MOV R6, 0x7
    ISETP.GE.AND P0, PT, R0, R1, PT
    ISETP.GE.AND P1, PT, R4, R5, PT
    ISETP.GE.AND P2, PT, R1, R5, PT
"""
LINES = [
    "MOV R4, 0x1",
    "MOV R4, 0x2",
    "MOV R5, R4",
    "MOV R5, R0",
    "MOV R4, R6",
    "IADD3 R6, R4, R5, RZ",
    "ISETP.GE.AND P0, PT, R0, R1, PT",
    "ISETP.GE.AND P1, PT, R4, R5, PT",
    "ISETP.GE.AND P2, PT, R5, 0x2, PT",
]
GUARDS = ["", "@P0 ", "@!P0 ", "@P1 ", "@!P2 "]


@st.composite
def branching_code(draw: st.DrawFn) -> Code:
    count = draw(st.integers(2, 8))
    listing = [START]
    for block in range(count):
        listing.append(f"b{block}:")
        lines = draw(st.lists(st.tuples(st.sampled_from(GUARDS), st.sampled_from(LINES)), min_size=1, max_size=2))
        listing += [guard + line for guard, line in lines]
        if block + 1 < count:
            listing.append(f"{draw(st.sampled_from(GUARDS))}BRA {{b{draw(st.integers(block + 1, count - 1))}}}")
    return program("\n".join([*listing, "IADD3 R6, R4, R5, R6", "EXIT"]))


def operands_of(code: Code, thread: int) -> dict[int, dict[str, int]]:
    """The values that each instruction reads that a thread executes."""
    held: dict[str, int] = {}
    read: dict[int, dict[str, int]] = {}
    position: int | None = 0
    while position is not None and position < len(code):
        each = code.instructions[position]
        following: int | None = position + 1
        if each.guard is None or bool(held[each.guard.predicate]) != each.guard.negated:
            read[position] = {name: held[name] for name in each.uses}
            values = [held[name] if name in held else int(name, 16) if "x" in name else 0 for name in each.operands[1:]]
            match each.base_opcode:
                case "S2R":
                    held["R0"] = thread
                case "MOV":
                    held[each.operands[0]] = values[0]
                case "IADD3":
                    held[each.operands[0]] = sum(values)
                case "ISETP":
                    held[each.operands[0]] = int(values[1] >= values[2])
                case "BRA":
                    following = code.position_of(each.target)
                case _:
                    assert each.opcode == "EXIT"
        position = following
    return read


@settings(max_examples=100)
@given(branching_code())
def test_operands_that_no_index_reaches_are_the_same_in_all_threads(code: Code) -> None:
    threads = [operands_of(code, thread) for thread in range(3)]
    for position, found in enumerate(index_dependence(code)):
        if not found.operands:
            values = [read[position] for read in threads if position in read]
            assert all(each == values[0] for each in values)
