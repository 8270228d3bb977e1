"""Find global loads whose address comes from a loaded value (gathers), and the kernel arguments of each address.

``gathered_loads`` and ``regathered_loads`` return weights of a ``Code``; ``pointer_arguments`` arguments by position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from ncuview.sass.address import address_registers
from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import Weights, positions_of
from ncuview.sass.dataflow import propagate
from ncuview.sass.instruction import Instruction
from ncuview.sass.loaded_values import coefficient_loads
from ncuview.sass.loops import within_iterations
from ncuview.sass.opcode_classes import is_global_load, is_global_store
from ncuview.sass.slices import address_slice

_MIXES_BITS = frozenset({"LOP3", "LOP", "SHF", "PRMT"})
"""The operations that hash functions consist of."""
_ARGUMENT = re.compile(r"c\[0x0\]\[(?P<place>0x[0-9a-f]+)\]")
_TAKES_POINTER = frozenset({"LDC", "ULDC", "LDCU", "IMAD", "LEA", "MOV", "UMOV", "IADD3", "UIADD3", "IADD", "UIADD"})
"""Opcodes that read a pointer argument for an address: LDC from Hopper on, arithmetic before."""
_FETCHES = frozenset({"LDC", "ULDC", "LDCU"})


class _Values(NamedTuple):
    """The loads whose values reach a register, as bits.

    Attributes:
        all: Each of them.
        mixed: Those whose bits were mixed on the way.
    """

    all: int
    mixed: int


_NOTHING = _Values(0, 0)


class _Indices(NamedTuple):
    """The loads whose values the address of a load comes from, as bits.

    Attributes:
        in_loop: Those of its own loop.
        hashed: Those from before the loop whose bits were mixed, as for a hash. A pointer or position that was loaded
            before a loop and advances in it is not an index.
    """

    in_loop: int
    hashed: int


def gathered_loads(code: Code) -> Weights:
    """1 at each global load whose address comes from another load's value: an index array, a table, a hash.

    Loads from library functions' own tables of coefficients do not count.
    """
    return np.array([bool(found.in_loop or found.hashed) for found in _indices(code)], dtype=np.float64)


def regathered_loads(code: Code) -> Weights:
    """1 at each gathered load whose index an earlier load used: another field of the same record."""
    again, served = np.zeros(len(code)), 0
    for position, found in enumerate(_indices(code)):
        again[position] = bool(found.in_loop) and not found.in_loop & ~served
        served |= found.in_loop
    return again


@analysis
def _indices(code: Code) -> Sequence[_Indices]:
    """The indices of each instruction that is a global load; none of others."""
    bits = {position: 1 << number for number, position in enumerate(positions_of(code, is_global_load))}

    def transfer(position: int, operands: Mapping[str, _Values]) -> _Values:
        if position in bits:
            return _Values(bits[position], 0)
        reaching = reduce(_joined, operands.values(), _NOTHING)
        mixes = code.instructions[position].base_opcode in _MIXES_BITS
        return _Values(reaching.all, reaching.mixed | (reaching.all if mixes else 0))

    found = propagate(code, transfer, join=_joined, least=_NOTHING, linked=within_iterations).operands
    of_loops: dict[object, int] = {}
    for position, bit in bits.items():
        loop = innermost_loop(code, position)
        of_loops[loop] = of_loops.get(loop, 0) | bit
    indices = [_Indices(0, 0)] * len(code)
    for position in bits.keys() - coefficient_loads(code):
        own = of_loops[innermost_loop(code, position)]
        of_address = (found[position][name] for name in address_registers(code.instructions[position]))
        reaching = reduce(_joined, of_address, _NOTHING)
        indices[position] = _Indices(reaching.all & own, reaching.mixed & ~own)
    return indices


def _joined(one: _Values, other: _Values) -> _Values:
    return _Values(one.all | other.all, one.mixed | other.mixed)


@analysis
def pointer_arguments(code: Code) -> Mapping[int, frozenset[str]]:
    """The arguments of the kernel that the address of each global load and store comes from: places in bank 0."""

    def transfer(position: int, operands: Mapping[str, frozenset[str]]) -> frozenset[str]:
        return none if position in loads else _own_arguments(code.instructions[position]).union(*operands.values())

    none, loads = frozenset[str](), frozenset(positions_of(code, is_global_load))
    found = propagate(code, transfer, join=or_, least=none, linked=address_slice).operands
    return {
        at: none.union(*(found[at][name] for name in address_registers(code.instructions[at])))
        for at in sorted(loads.union(positions_of(code, is_global_store)))
    }


def _own_arguments(each: Instruction) -> frozenset[str]:
    """The arguments among an instruction's operands that may be pointers."""
    narrow = each.base_opcode in _FETCHES and ".64" not in each.opcode
    if each.base_opcode not in _TAKES_POINTER or narrow:
        return frozenset()
    return frozenset(place for operand in each.operands for place in _ARGUMENT.findall(operand))
