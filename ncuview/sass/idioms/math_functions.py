"""Weights of a ``Code``: instructions of math functions that fast forms, products or roots could replace.

``precise_instructions`` counts what precise functions (sinf, expf, division ...) take beyond their fast forms,
``precise_special`` the special-function ones of these. nvcc scales denormal numbers around the special-function unit
unless ``-ftz=true`` is set: ``denormal_scaling``. Each function is known by one instruction with a constant that
nothing else needs, as nvcc 12 and 13 write it for Hopper; the savings were counted there.

``power_instructions`` counts pow and powf with exponents n/4, ``power_special`` those of the special-function pipe,
``power_doubles`` double ones. The function does not examine its exponent: it takes the logarithm, multiplies and takes
the exponential, each to more digits than it returns. Products and roots do the same in a few instructions. An exponent
that the compiler knows is a literal in the code; one that was converted from an integer is an integer too. nvcc 12 and
13 write powf in the kernel itself, pow as a function that is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ncuview.sass.cfg import control_flow, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import use_def
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.slices import is_invariant


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

_OF_SINGLE, _OF_DOUBLE = 50.0, 170.0
"""Instructions of a power beyond those of a product, counted in code of nvcc 13 for Hopper: powf takes 52 on its usual
path; pow 157 to 163 in a function that is called, and about 14 around the call for zeros and infinities."""
_DOUBLES = 84.0
"""Of them in double precision: 81 or 82 in the function and three around it; a product is one."""
_SPECIAL_OF_SINGLE, _SPECIAL_OF_DOUBLE = 3.0, 1.0
"""Of them on the special-function pipe: reciprocal, rounding and conversion; and a reciprocal."""
_LARGEST = 16.0
"""The largest exponent that counts; beyond it, products would cost too much."""

_LARGEST_OF_EXPONENTIAL = "152"
"""The bound that powf compares exponent times logarithm with, beyond which the exponential overflows."""
_LOGARITHM_OF_POWER = "0x7d2cafe2"
"""Part of a constant that only pow's logarithm contains."""
_FROM_WHOLE = frozenset({"I2F", "I2FP"})
_ENDS_SEARCH = frozenset({"CALL", "RET", "EXIT"})


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
    tests = positions_of(code, _compares_denormal)
    numbers = [at for at in tests if not _DENORMALS.isdisjoint(code.instructions[at].operands)]
    return weights_at(code, numbers, _OF_SCALING)


def _compares_denormal(each: Instruction) -> bool:
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


def power_instructions(code: Code) -> Weights:
    """Instructions of replaceable powers beyond those of products, at one instruction of each call."""
    return weights_at(code, _of_single(code), _OF_SINGLE) + weights_at(code, _of_double(code), _OF_DOUBLE)


def power_special(code: Code) -> Weights:
    """As ``power_instructions``, of the special-function pipe alone."""
    return weights_at(code, _of_single(code), _SPECIAL_OF_SINGLE) + weights_at(
        code, _of_double(code), _SPECIAL_OF_DOUBLE
    )


def power_doubles(code: Code) -> Weights:
    """As ``power_instructions``, of those in double precision alone."""
    return weights_at(code, _of_double(code), _DOUBLES)


@analysis
def _of_single(code: Code) -> tuple[int, ...]:
    """Where powf tests the product of exponent and logarithm."""
    return tuple(
        position
        for position in positions_of(code, _compares_product)
        if _is_test_of_range(each := code.instructions[position])
        and _is_product_simple(code, position, register(each.operands[2]))
    )


def _compares_product(each: Instruction) -> bool:
    return each.opcode == "FSETP.GT.AND"


def _is_test_of_range(each: Instruction) -> bool:
    return each.operands[2][:1] == "|" and each.operands[3] == _LARGEST_OF_EXPONENTIAL


def _is_product_simple(code: Code, test: int, product: str) -> bool:
    made = use_def(code)[test].get(product, ())
    products = [at for at in made if code.instructions[at].opcode == "FMUL"]
    return bool(products) and all(_is_simple(code, at, code.instructions[at].operands[1:]) for at in products)


@analysis
def _of_double(code: Code) -> tuple[int, ...]:
    """The calls of pow. After each, the code adds the exponent to the base, for NaN."""
    flow = control_flow(code)
    return tuple(
        flow.blocks[block][-1]
        for block, entry in flow.calls.items()
        if entry is not None and _is_pow(code, entry) and _is_exponent_simple(code, flow.successors[block])
    )


def _is_pow(code: Code, entry: int) -> bool:
    flow = control_flow(code)
    return any(
        _LOGARITHM_OF_POWER in code.instructions[at].operands
        for block in flow.reachable(entry)
        for at in flow.blocks[block]
    )


def _is_exponent_simple(code: Code, start: Iterable[int]) -> bool:
    """Whether the first addition of doubles on a path to the next call, changes of sign apart, has such an exponent."""
    flow = control_flow(code)
    sums, seen, waiting = list[int](), set[int](), list(start)
    while waiting:
        block = waiting.pop()
        if block in seen:
            continue
        seen.add(block)
        stop = next((at for at in flow.blocks[block] if _is_sum_or_end(code.instructions[at])), None)
        if stop is None:
            waiting.extend(flow.successors[block])
        elif code.instructions[stop].opcode == "DADD":
            sums.append(stop)
    return any(_is_simple(code, at, code.instructions[at].operands[2:]) for at in sums)


def _is_sum_or_end(each: Instruction) -> bool:
    is_sum = each.opcode == "DADD" and not any(operand.endswith("RZ") for operand in each.operands)
    return is_sum or each.base_opcode in _ENDS_SEARCH


def _is_simple(code: Code, position: int, operands: Sequence[str]) -> bool:
    """Whether one of these operands is a literal that is a multiple of 1/4, or was converted from an integer."""
    return any(_is_short(operand) or _is_whole(code, position, register(operand)) for operand in operands)


def _is_whole(code: Code, position: int, name: str) -> bool:
    made = use_def(code)[position].get(name, ())
    return bool(made) and all(code.instructions[at].base_opcode in _FROM_WHOLE for at in made)


def _is_short(literal: str) -> bool:
    try:
        exponent = float(literal)
    except ValueError:
        return False
    return abs(exponent) <= _LARGEST and (4 * exponent).is_integer()
