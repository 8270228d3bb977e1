"""Weights of a ``Code`` that mark what a kernel does with loaded data, one float64 per instruction.

``converted_loads`` marks conversions, ``kept_doubles`` double precision, ``float_coordinates`` loads at rounded floats,
``look_ups`` accesses to shared memory at loaded places.

``coefficient_loads`` gives the positions of loads from library functions' own tables, which the others leave out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from ncuview.sass.address import address_registers
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import propagate, use_def
from ncuview.sass.index_dependence import OF_THREADS, index_dependence
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import (
    is_double_arithmetic,
    is_global_load,
    is_global_store,
    is_operand_load,
    is_shared_access,
)

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
    return _using_results(code, positions_of(code, _is_conversion), positions_of(code, is_global_load))


def _is_conversion(each: Instruction) -> bool:
    return each.base_opcode in _CONVERSIONS


@analysis
def coefficient_loads(code: Code) -> frozenset[int]:
    """The loads of library functions' own tables: read-only, at an address that comes from a global variable's."""
    named = (position for position, text in enumerate(code.texts) if _SYMBOLS in text)
    symbols = {at for at in named if any(_SYMBOLS in operand for operand in code.instructions[at].operands)}
    if not symbols:
        return frozenset()

    def transfer(position: int, operands: Mapping[str, bool]) -> bool:
        return position in symbols or _any_operand(code.instructions[position], operands)

    found = propagate(code, transfer, join=bool.__or__, least=False).results
    loads = positions_of(code, is_global_load)
    return frozenset(at for at in loads if found[at] is True and _READ_ONLY in code.instructions[at].opcode)


def float_coordinates(code: Code) -> Weights:
    """1 at each global load whose address comes from a floating-point number, as the coordinates of an image do.

    Library functions choose coefficients in the same way (sine by the quadrant of its argument); these do not count.
    """
    rounding, loads = frozenset(positions_of(code, _rounds)), frozenset(positions_of(code, is_global_load))
    if not rounding:
        return weights_at(code, [])

    def transfer(position: int, operands: Mapping[str, bool]) -> bool:
        if position in loads:
            return False
        return position in rounding or _any_operand(code.instructions[position], operands)

    found = propagate(code, transfer, join=bool.__or__, least=False).operands
    loaded = loads - coefficient_loads(code)
    return weights_at(code, [at for at in loaded if _any_operand(code.instructions[at], found[at])])


def look_ups(code: Code) -> Weights:
    """1 at each access to shared memory at a place that a thread has loaded for itself: of a table, or of a counter."""
    dependence = index_dependence(code)
    sources = frozenset(at for at in positions_of(code, is_operand_load) if dependence[at].operands & OF_THREADS)

    def transfer(position: int, operands: Mapping[str, bool]) -> bool:
        return position in sources or _any_operand(code.instructions[position], operands)

    found = propagate(code, transfer, join=bool.__or__, least=False).operands
    accesses = positions_of(code, is_shared_access)
    return weights_at(
        code, [at for at in accesses if any(found[at][name] for name in address_registers(code.instructions[at]))]
    )


def _rounds(each: Instruction) -> bool:
    return bool(_ROUNDS_TO_INTEGER.match(each.opcode))


def kept_doubles(code: Code) -> Weights:
    """1 at each operation in double precision on an unchanged loaded number, and at each store of an unchanged result.

    The coefficients that library functions load from their own tables do not count.
    """
    computed = positions_of(code, is_double_arithmetic)
    wide, stores = (
        [at for at in positions_of(code, asked) if _is_wide(code.instructions[at])]
        for asked in (is_global_load, is_global_store)
    )
    on_loaded = _using_results(code, computed, set(wide) - coefficient_loads(code))
    return np.maximum(on_loaded, _using_results(code, stores, computed))


def _is_wide(each: Instruction) -> bool:
    return each.memory is not None and each.memory.bytes >= _DOUBLE


def _any_operand(each: Instruction, operands: Mapping[str, bool]) -> bool:
    return any(operands[name] for name in each.uses)


def _using_results(code: Code, users: Collection[int], sources: Collection[int]) -> Weights:
    """1 at each of the users that uses the result of one of the sources, unchanged."""
    wanted, linked = frozenset(sources), use_def(code)
    used = ((at, [linked[at][name] for name in code.instructions[at].uses]) for at in users if wanted)
    return weights_at(code, [at for at, found in used if any(not wanted.isdisjoint(each) for each in found)])
