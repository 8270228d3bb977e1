"""Powers whose exponent is a small whole number, or one of its halves and quarters.

The function does not know its exponent: it takes the logarithm, multiplies and takes the exponential, each to more
digits than it returns. Products and roots do the same in a few instructions. Where the compiler knows the exponent it
stands in the code; one that was converted from a whole number is whole as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ncuview.sass.control_flow import body, calls
from ncuview.sass.listing import Code, Weights

_OF_SINGLE, _OF_DOUBLE = 50.0, 170.0
"""Instructions of a power beyond those of a product, counted in code of nvcc 13 for Hopper: powf takes 52 on its usual
way; pow 157 to 163 in a function that is called, and about 14 around the call for zeros and infinities."""
_DOUBLES = 84.0
"""Of them in double precision: 81 or 82 in the function and three around it; a product is one."""
_SPECIAL_OF_SINGLE, _SPECIAL_OF_DOUBLE = 3.0, 1.0
"""Of them on the special-function pipe: reciprocal, rounding and conversion; and a reciprocal."""
_LARGEST = 16.0
"""Exponents beyond take as many products as matter."""

_TESTS_RANGE = re.compile(r"FSETP\.GT\.AND P\d, PT, \|(?P<product>R\d+)\|, 152, PT")
"""In powf: whether the exponent times the logarithm is beyond what an exponential can give."""
_LOGARITHM_OF_POWER = "0x7d2cafe2"
"""Part of a constant that only pow's logarithm holds."""
_OPERAND = re.compile(r"-?\|?(?P<register>R\d+)\|?(?:\.reuse)?$")
_FROM_WHOLE = ("I2F", "I2FP")


def power_instructions(code: Code) -> Weights:
    """Instructions that such powers take beyond products, at one instruction of each call."""
    return _of_single(code) * _OF_SINGLE + _of_double(code) * _OF_DOUBLE


def power_special(code: Code) -> Weights:
    """As ``power_instructions``, of the special-function pipe alone."""
    return _of_single(code) * _SPECIAL_OF_SINGLE + _of_double(code) * _SPECIAL_OF_DOUBLE


def power_doubles(code: Code) -> Weights:
    """As ``power_instructions``, of those in double precision alone."""
    return _of_double(code) * _DOUBLES


def _of_single(code: Code) -> Weights:
    """1 where powf tests the product of exponent and logarithm, which one multiplication before has made."""
    weights = np.zeros(len(code.texts))
    for position, text in enumerate(code.texts):
        test = _TESTS_RANGE.search(text)
        made = _last_write(code, test["product"], position) if test else None
        if made is not None and code.instructions[made].opcode == "FMUL":
            weights[position] = _is_simple(code, made, code.instructions[made].operands.split(",")[1:])
    return weights


def _of_double(code: Code) -> Weights:
    """1 at each call of pow. Behind it the exponent is added to the base, for what is no number."""
    weights = np.zeros(len(code.texts))
    for position, start in calls(code).items():
        if any(_LOGARITHM_OF_POWER in code.texts[at] for at in body(code, start)):
            added = _first_sum(code, position + 1)
            weights[position] = added is not None and _is_simple(
                code, added, code.instructions[added].operands.split(",")[2:]
            )
    return weights


def _first_sum(code: Code, start: int) -> int | None:
    """The next addition of doubles that is no change of sign, up to the next call."""
    for position in range(start, len(code.texts)):
        each = code.instructions[position]
        if each.opcode.startswith(("CALL", "RET", "EXIT")):
            return None
        if each.opcode == "DADD" and "RZ" not in each.operands:
            return position
    return None


def _is_simple(code: Code, position: int, operands: Sequence[str]) -> bool:
    """Whether one of these operands is a literal that is a multiple of a quarter, or comes from a whole number."""
    for operand in operands:
        register = _OPERAND.match(operand.strip())
        if not register:
            return _is_short(operand)
        made = _last_write(code, register["register"], position)
        if made is not None and code.instructions[made].opcode.startswith(_FROM_WHOLE):
            return True
    return False


def _is_short(literal: str) -> bool:
    try:
        exponent = float(literal)
    except ValueError:
        return False
    return abs(exponent) <= _LARGEST and (4 * exponent).is_integer()


def _last_write(code: Code, register: str, before: int) -> int | None:
    return next((at for at in range(before - 1, -1, -1) if register in code.instructions[at].writes), None)
