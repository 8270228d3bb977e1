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
from ncuview.sass.instruction import Instruction
from ncuview.sass.instruction_mix import Weights, count_of
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
    return np.array([each.saves if each else 0.0 for each in _functions(code)], dtype=np.float64)


def precise_special(code: Code) -> Weights:
    """As ``precise_instructions``, of the special-function pipe alone."""
    return np.array([each.special if each else 0.0 for each in _functions(code)], dtype=np.float64)


def denormal_scaling(code: Code) -> Weights:
    """Instructions that scale denormal numbers around the special-function unit, at the first of each call."""
    return _OF_SCALING * count_of(code, _is_test_for_denormals)


def _is_test_for_denormals(each: Instruction) -> bool:
    return each.opcode == "FSETP.GEU.AND" and not _DENORMALS.isdisjoint(each.operands)


@analysis
def _functions(code: Code) -> tuple[_Function | None, ...]:
    """The function that each instruction stands for."""
    return tuple(
        _division(code, position) if each.base_opcode == "FCHK" else _by_constant(each)
        for position, each in enumerate(code.instructions)
    )


def _by_constant(each: Instruction) -> _Function | None:
    for operand in each.operands:
        function = _BY_CONSTANT.get(operand)
        if function and f"{each.opcode}.".startswith(f"{function.opcode}."):
            return function
    return None


def _division(code: Code, position: int) -> _Function:
    loop, divisor = innermost_loop(code, position), register(code.instructions[position].operands[-1])
    is_the_same = loop is not None and is_invariant(code, loop, position, divisor)
    return _DIVISION_BY_THE_SAME if is_the_same else _DIVISION
