"""Weights of a ``Code``: instructions that fast forms of precise functions (sinf, expf, division ...) would save.

``precise_instructions`` counts all, ``precise_special`` the special-function ones, ``denormal_scaling`` scaling code.

nvcc scales denormal numbers around the special-function unit unless ``-ftz=true`` is set. Each function is known by one
instruction with a constant that nothing else needs, as nvcc 12 and 13 write it for Hopper; the savings were counted
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import Weights, positions_of, weights_at
from ncuview.sass.instruction import Instruction
from ncuview.sass.loop_invariance import is_invariant
from ncuview.sass.operands import register


class _Function(NamedTuple):
    """How a function is recognised, and what its fast form saves.

    Attributes:
        opcode: The beginning of the opcode that has the constant.
        saves: Instructions of the usual path that the fast form does not need, on Hopper.
        special: Of these, the ones of the special-function pipe.
    """

    opcode: str
    saves: float
    special: float = 0.0


_BY_CONSTANT: Mapping[str, _Function] = {
    "0.63661974668502807617": _Function("FMUL", 9),  # sinf, cosf, tanf: 2 / pi, once for sine and cosine
    "-0.0013887860113754868507": _Function("FFMA", 13),  # sinf, cosf: the polynomial of one of them
    "0.0083327032625675201416": _Function("FFMA", 8),  # sincosf: that of the other
    "12582913": _Function("FFMA.RM", 3),  # expf
    "1.1920928955078125e-07": _Function("FFMA", 16),  # logf
    "0x727fffff": _Function("ISETP.GT.U32", 7),  # sqrtf
    "0x1ffffff": _Function("ISETP.GT.U32", 9),  # 1 / x
    "152": _Function("FSETP", 24),  # powf
    "9.010913848876953125": _Function("FSETP", 15, special=1),  # tanhf
}
_DIVISION = _Function("FCHK", 7, special=1)
_DIVISION_BY_THE_SAME = _Function("FCHK", 10, special=2)
"""A division whose divisor does not change in its loop becomes one multiplication by its reciprocal."""
_DENORMALS = frozenset({"-126", "1.175494350822287508e-38"})
"""The exponent and the number where denormal numbers begin."""
_OF_SCALING = 3.0
"""The comparison, and a multiplication before and after the special-function unit."""


def precise_instructions(code: Code) -> Weights:
    """Instructions that precise functions take beyond their fast forms, at one instruction of each call."""
    weights = np.zeros(len(code))
    weights[list(_functions(code))] = [each.saves for each in _functions(code).values()]
    return weights


def precise_special(code: Code) -> Weights:
    """As ``precise_instructions``, of the special-function pipe alone."""
    weights = np.zeros(len(code))
    weights[list(_functions(code))] = [each.special for each in _functions(code).values()]
    return weights


def denormal_scaling(code: Code) -> Weights:
    """Instructions that scale denormal numbers around the special-function unit, at the first of each call."""
    tests = positions_of(code, _is_comparison)
    numbers = [at for at in tests if not _DENORMALS.isdisjoint(code.instructions[at].operands)]
    return weights_at(code, numbers, _OF_SCALING)


def _is_comparison(each: Instruction) -> bool:
    return each.opcode == "FSETP.GEU.AND"


@analysis
def _functions(code: Code) -> Mapping[int, _Function]:
    """The function that an instruction stands for, for each that does."""
    divisions = {position: _division(code, position) for position in positions_of(code, _is_check)}
    return divisions | {
        position: function
        for position in positions_of(code, _may_bear_constant)
        if (function := _by_constant(code.instructions[position]))
    }


def _is_check(each: Instruction) -> bool:
    return each.base_opcode == "FCHK"


def _may_bear_constant(each: Instruction) -> bool:
    return any(_bears(each, function) for function in _BY_CONSTANT.values())


def _bears(each: Instruction, function: _Function) -> bool:
    return f"{each.opcode}.".startswith(f"{function.opcode}.")


def _by_constant(each: Instruction) -> _Function | None:
    named = (_BY_CONSTANT.get(operand) for operand in each.operands)
    return next((function for function in named if function and _bears(each, function)), None)


def _division(code: Code, position: int) -> _Function:
    loop, divisor = innermost_loop(code, position), register(code.instructions[position].operands[-1])
    is_the_same = loop is not None and is_invariant(code, loop, position, divisor)
    return _DIVISION_BY_THE_SAME if is_the_same else _DIVISION
