"""Weights of a ``Code`` that mark what a kernel does with data from global memory, one float64 per instruction.

``converted_loads`` marks conversions, ``kept_doubles`` double precision, ``float_coordinates`` loads at rounded floats.

``coefficient_loads`` gives the positions of loads from library functions' own tables, which the others leave out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from ncuview.sass.code import Code, analysis
from ncuview.sass.dataflow import propagate, use_def
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import is_double_arithmetic, is_global_load, is_global_store

Weights = NDArray[np.float64]
"""One number per instruction."""

_CONVERSIONS = frozenset({"I2F", "F2F"})
_ROUNDS_TO_INTEGER = re.compile(r"F2I\.(?!FTZ\.U32\.TRUNC\.NTZ)")
"""nvcc 13 divides integers by ``F2I.FTZ.U32.TRUNC.NTZ`` of a reciprocal, which is not a coordinate."""
_DOUBLE = 8
_SYMBOLS = "c[0x4]"
"""The constant bank that holds the addresses of global variables, tables of library functions among them."""
_READ_ONLY = "CONSTANT"
"""The modifier of loads of read-only data; loads of a program's own global variables do not have it."""


def converted_loads(code: Code) -> Weights:
    """1 at each conversion of a number as it was loaded from global memory: bytes, shorts and halves to floats."""
    conversions = {position for position, each in enumerate(code.instructions) if each.base_opcode in _CONVERSIONS}
    loads = {position for position, each in enumerate(code.instructions) if is_global_load(each)}
    return _using_results(code, conversions, loads)


@analysis
def coefficient_loads(code: Code) -> frozenset[int]:
    """The loads of library functions' own tables: read-only, at an address that comes from a global variable's."""

    def transfer(position: int, operands: Mapping[str, bool]) -> bool:
        each = code.instructions[position]
        return any(_SYMBOLS in operand for operand in each.operands) or _any_operand(each, operands)

    found = propagate(code, transfer, join=bool.__or__, least=False).results
    return frozenset(
        position
        for position, each in enumerate(code.instructions)
        if found[position] is True and is_global_load(each) and _READ_ONLY in each.opcode
    )


def float_coordinates(code: Code) -> Weights:
    """1 at each global load whose address comes from a floating-point number, as the coordinates of an image do.

    Library functions choose coefficients in the same way (sine by the quadrant of its argument); these do not count.
    """
    coefficients = coefficient_loads(code)

    def transfer(position: int, operands: Mapping[str, bool]) -> bool:
        each = code.instructions[position]
        if is_global_load(each):
            return False
        return bool(_ROUNDS_TO_INTEGER.match(each.opcode)) or _any_operand(each, operands)

    found = propagate(code, transfer, join=bool.__or__, least=False).operands
    return np.array(
        [
            is_global_load(each) and position not in coefficients and _any_operand(each, operands)
            for position, (each, operands) in enumerate(zip(code.instructions, found, strict=True))
        ],
        dtype=np.float64,
    )


def kept_doubles(code: Code) -> Weights:
    """1 at each operation in double precision on an unchanged loaded number, and at each store of an unchanged result.

    The coefficients that library functions load from their own tables do not count.
    """
    wide = {position for position, each in enumerate(code.instructions) if is_global_load(each) and _is_wide(each)}
    computed = {position for position, each in enumerate(code.instructions) if is_double_arithmetic(each)}
    on_loaded = _using_results(code, computed, wide - coefficient_loads(code))
    stores = {position for position, each in enumerate(code.instructions) if is_global_store(each) and _is_wide(each)}
    return np.maximum(on_loaded, _using_results(code, stores, computed))


def _is_wide(each: Instruction) -> bool:
    return each.memory is not None and each.memory.bytes >= _DOUBLE


def _any_operand(each: Instruction, operands: Mapping[str, bool]) -> bool:
    return any(operands[name] for name in each.uses)


def _using_results(code: Code, users: Collection[int], sources: Collection[int]) -> Weights:
    """1 at each of the users that uses the result of one of the sources, unchanged."""
    found = np.zeros(len(code))
    for position in users:
        reaching = use_def(code)[position]
        found[position] = any(at in sources for name in code.instructions[position].uses for at in reaching[name])
    return found
