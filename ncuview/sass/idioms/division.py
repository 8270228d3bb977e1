"""Weights of a ``Code`` for divisions: instructions of integer divisions by run-time values, repeated double ones.

``division_instructions`` counts, ``division_leaves`` what a power of two takes; ``repeated_divisions`` marks doubles.

nvcc 12 and 13, Volta to Hopper. There is no instruction for integer division. The divisor becomes a float (I2F.U32.RP,
of signed numbers I2F.RP of its absolute value), MUFU.RCP estimates the reciprocal, F2I makes it a 32-bit
integer, and one high product refines it; a second high product of that with the dividend is the quotient, which two
comparisons correct. For 64 bits (I2F.U64.RP) it refines twice in longer arithmetic, in a function that is called where
the numbers do not fit into 32 bits. Divisions by constants multiply by an immediate number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from ncuview.sass.cfg import control_flow, immediate_dominators, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import last_touches, propagate, use_def
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.slices import is_invariant

_QUOTIENT_STEPS, _RECIPROCAL_STEPS = 10.0, 7.0
_STEPS_OF_64_BITS = 73.0
"""Of the function that divides 64-bit numbers, reciprocal and quotient."""
_STEPS_TO_CHOOSE = 12.0
"""To test whether 64-bit numbers fit into 32 bits, and to compute the 64-bit remainder from the quotient."""
_LEAVES = 2.0
"""A shift and a mask, where the divisor is a power of two."""

_FOLLOWS = frozenset({"MUFU", "VIADD", "IADD", "IADD3", "F2I", "MOV", "UMOV", "R2UR", "SEL", "LDL", "STL"})
"""Between the conversion of the divisor and the high products: the estimate's arithmetic, moves and spills."""
_MOVES = frozenset({"IMAD.MOV", "IMAD.MOV.U32", "IMAD.U32", "IMAD.IADD"})
_OR_OF_HIGH_WORDS = "0xfc"


class _Stage(IntEnum):
    """The stage of a reciprocal's computation."""

    ESTIMATE = 0
    REFINED = 1


_Reciprocals = frozenset[tuple[_Stage, int]]
"""Reciprocals that a value may be, with the position where each begins."""


@analysis
def _quotients(code: Code) -> Mapping[int, frozenset[int]]:
    """For each high product that is the quotient of a division of 32 bits where its reciprocal begins."""
    if not positions_of(code, _is_reciprocal):
        return {}

    def transfer(position: int, operands: Mapping[str, _Reciprocals]) -> _Reciprocals:
        each = code.instructions[position]
        if _is_reciprocal(each):
            return frozenset({(_Stage.ESTIMATE, position)})
        known = _Reciprocals().union(*operands.values())
        if _is_high_product(each):
            return frozenset((_Stage.REFINED, start) for stage, start in known if stage == _Stage.ESTIMATE)
        return known if each.base_opcode in _FOLLOWS or each.opcode in _MOVES else _Reciprocals()

    operands = propagate(code, transfer, join=_Reciprocals.union, least=_Reciprocals()).operands
    return {
        position: starts
        for position in positions_of(code, _is_high_product)
        if (starts := _refined(operands[position]))
    }


def _refined(operands: Mapping[str, _Reciprocals]) -> frozenset[int]:
    return frozenset(start for known in operands.values() for stage, start in known if stage == _Stage.REFINED)


def _is_reciprocal(each: Instruction) -> bool:
    """Whether the reciprocal of a divisor of 32 bits begins here."""
    return each.opcode in {"I2F.RP", "I2F.U32.RP"}


def _is_high_product(each: Instruction) -> bool:
    return each.opcode.startswith(("IMAD.HI.U32", "UIMAD.HI.U32"))


def _is_reciprocal_of_64_bits(each: Instruction) -> bool:
    """Whether that of a divisor of 64 bits does, in a function."""
    return each.opcode == "I2F.U64.RP"


def _is_double_reciprocal(each: Instruction) -> bool:
    return each.opcode == "MUFU.RCP64H"


def division_instructions(code: Code) -> Weights:
    """Instructions of run-time integer divisions, as weights at the quotient's product and at the reciprocal."""
    quotients = _quotients(code)
    taken = weights_at(code, quotients, _QUOTIENT_STEPS) + weights_at(
        code, positions_of(code, _is_reciprocal_of_64_bits), _STEPS_OF_64_BITS
    )
    for start in frozenset[int]().union(*quotients.values()):
        taken[start] = _RECIPROCAL_STEPS + (_STEPS_TO_CHOOSE if _is_short_way_of_64_bits(code, start) else 0.0)
    return taken


def division_leaves(code: Code) -> Weights:
    """Instructions that a division by a power of two takes instead."""
    return weights_at(code, [*_quotients(code), *positions_of(code, _is_reciprocal_of_64_bits)], _LEAVES)


def _is_short_way_of_64_bits(code: Code, start: int) -> bool:
    """Whether a 32-bit division is the short path of a 64-bit one: after a test that both high words are zero."""
    flow, before = control_flow(code), immediate_dominators(code)[control_flow(code).block_of[start]]
    if before is None:
        return False
    jump = flow.blocks[before][-1]
    guard = code.instructions[jump].guard
    tests = use_def(code)[jump].get(guard.predicate, ()) if guard else ()
    tested = (
        use_def(code)[test].get(register(operand), ()) for test in tests for operand in code.instructions[test].operands
    )
    return any(_OR_OF_HIGH_WORDS in code.instructions[at].operands for definitions in tested for at in definitions)


@analysis
def repeated_divisions(code: Code) -> Weights:
    """1 at each division in double precision by a number whose reciprocal could be reused.

    The divisor is a constant, an argument or loop-invariant, or another number has been divided by it before.
    """
    divisions = positions_of(code, _is_double_reciprocal)
    return weights_at(code, [position for position in divisions if _is_repeated(code, position, divisions)])


def _is_repeated(code: Code, position: int, divisions: Sequence[int]) -> bool:
    divisor, loop = register(code.instructions[position].operands[-1]), innermost_loop(code, position)
    is_the_same = is_invariant(code, loop, position, divisor) if loop else not divisor.startswith("R")
    return is_the_same or not _used_since_defined(code, position, divisor).isdisjoint(divisions)


def _used_since_defined(code: Code, position: int, name: str) -> set[int]:
    """The other instructions that have used the same value of a register before."""
    found, waiting = set[int](), [position]
    while waiting:
        before = last_touches(code)[waiting.pop()].get(name, ())
        uses = {at for at in before if name not in code.instructions[at].definitions} - found
        found |= uses
        waiting.extend(uses)
    return found - {position}
