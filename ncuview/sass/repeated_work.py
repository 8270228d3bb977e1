"""Work that every thread does with the same numbers: no index of a block or a thread goes into it.

What all threads compute alike, weights, factors, angles, can be computed once, before the launch or once per block.
"""

from __future__ import annotations

import re

import numpy as np

from ncuview.sass.axes import axes_at
from ncuview.sass.listing import Code, Weights
from ncuview.sass.uses import use_of

_FLOATS = re.compile(r"F(?!LO)|MUFU|D(?:ADD|MUL|FMA|SETP)|I2F|F2F|F2I")
"""Arithmetic of floats and doubles, functions and conversions."""


def alike_instructions(code: Code) -> Weights:
    """1 at each instruction into which no index goes, and nothing that other threads brought."""
    return np.array([not origin.operands for origin in axes_at(code)], dtype=np.float64)


def alike_floats(code: Code) -> Weights:
    """1 at each of them that is arithmetic of floats."""
    return alike_instructions(code) * float_arithmetic(code)


def alike_results(code: Code) -> Weights:
    """1 at each of them whose result goes into other arithmetic of floats: a load, once it is in a table."""
    floats, alike = float_arithmetic(code), alike_instructions(code)
    of_threads = floats * (1 - alike)
    made = floats * alike
    return np.array([bool(one) and _is_taken(code, place, of_threads) for place, one in enumerate(made)], np.float64)


def _is_taken(code: Code, place: int, by: Weights) -> bool:
    """Whether one of these reads a result, as far as the code goes on in a line, before all of it is written anew."""
    left = use_of(code.texts[place]).results
    for position in range(place + 1, len(code.texts)):
        use = use_of(code.texts[position])
        if by[position] and left & use.reads:
            return True
        if not use.guard:
            left -= use.results
        if not left:
            return False
    return False


def float_arithmetic(code: Code) -> Weights:
    """1 at each arithmetic of floats or doubles, function and conversion."""
    return code.matching(_FLOATS).astype(np.float64)
