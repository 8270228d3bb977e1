"""Compute whether the values that each instruction of a ``Code`` uses come from loaded data, arguments or constants.

``provenance`` returns them; weights mark ``guarded_branches``, ``data_dependent_branches`` and ``index_arithmetic``.

Where loaded data decide how a loop continues, no other assignment of threads makes lanes agree. What does not depend on
loaded data (indices, addresses, tests of bounds), several results of one thread can share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from ncuview.sass.cfg import called, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, by_opcode, positions_of, weights_at
from ncuview.sass.dataflow import propagate, reads, with_functions
from ncuview.sass.instruction import Instruction, loaded_from

LOADED, ARGUMENT, CONSTANT, CONVERTED = (1 << bit for bit in range(4))
"""Where a value comes from; sets of them are integers. Constant bank 0 holds the arguments and the launch's
dimensions, other banks constants; a value is converted once it was of another type, integer or floating-point."""

_BANK = re.compile(r"\bc\[(?P<bank>0x[0-9a-f]+)\]")
_LITERAL = re.compile(r"-?(?:0x[0-9a-f]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)$")
_CONVERSIONS = frozenset({"I2F", "I2FP", "F2I", "F2F", "F2FP", "I2I", "FRND"})
_DECIDES = frozenset({"BRA", "EXIT", "BREAK"})
_NO_INDEX = re.compile(r"(?:F(?!LO)|H|D(?!EPBAR)|MUFU|LD(?!C)|ST|RED|ATOM|TEX|TLD|SULD|SUST|BAR|EXIT|NOP)")
"""Arithmetic on data, accesses to memory, and what each thread does once; LDC loads arguments."""


class Provenance(NamedTuple):
    """Where the values that an instruction uses come from.

    Attributes:
        operands: Of its operands, and its own constants and arguments.
        guard: Of its guard.
    """

    operands: int
    guard: int


@analysis
def provenance(code: Code) -> tuple[Provenance, ...]:
    """Find where the values that each instruction uses come from.

    A value stored in local memory keeps its origin when it is loaded again, since it may have been spilled.
    """
    own = [_brought(each) for each in code.instructions]
    brought, functions = with_functions(code, own), called(code)

    def transfer(position: int, operands: Mapping[str, int]) -> int:
        is_loaded = brought[position] & LOADED and position not in functions
        return LOADED if is_loaded else reduce(or_, operands.values(), brought[position])

    found = propagate(code, transfer, join=or_, least=0).operands
    constants = ARGUMENT | CONSTANT
    return tuple(
        Provenance(
            reduce(or_, (origin for name, origin in values.items() if reads(each, name)), one),
            values[each.guard.predicate] if each.guard else 0,
        )
        for each, values, one in zip(code.instructions, found, (one & constants for one in own), strict=True)
    )


def _brought(each: Instruction) -> int:
    """Where an instruction's results come from, apart from its registers."""
    if each.base_opcode == "CALL" or loaded_from(each) not in {None, "constant", "local"}:
        return LOADED  # replaced by what the function's instructions bring, where it is known
    found = CONVERTED if each.base_opcode in _CONVERSIONS else 0
    for operand in each.operands:
        if bank := _BANK.search(operand):
            found |= ARGUMENT if int(bank["bank"], 16) == 0 else CONSTANT
        elif _LITERAL.match(operand) and each.target is None:
            found |= CONSTANT
    return found


def guarded_branches(code: Code) -> Weights:
    """1 at each branch, exit and break that only threads with a predicate take."""
    return weights_at(code, _guarded(code))


def _guarded(code: Code) -> list[int]:
    return [position for position in positions_of(code, _decides) if code.instructions[position].guard]


def _decides(each: Instruction) -> bool:
    return each.base_opcode in _DECIDES


def data_dependent_branches(code: Code) -> Weights:
    """1 at each of them in a loop whose predicate comes from loaded data."""
    in_loop = [position for position in _guarded(code) if innermost_loop(code, position)]
    return weights_at(code, [position for position in in_loop if provenance(code)[position].guard & LOADED])


def index_arithmetic(code: Code) -> Weights:
    """1 at each instruction that no loaded data reach, but arithmetic of floats: indices, addresses, tests."""
    weights = by_opcode(code, lambda opcode: not _NO_INDEX.match(opcode))
    weights[
        [position for position, found in enumerate(provenance(code)) if (found.operands | found.guard) & LOADED]
    ] = 0
    return weights
