"""What loaded numbers decide, and what is known without them.

Where they decide the way of a loop, no other assignment of threads makes lanes agree. What no loaded number goes into,
indices, addresses and tests of bounds, the results of one thread can share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.sass.listing import Code, Instruction, Weights
from ncuview.sass.uses import use_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRINGS = ("LDG", "LD.", "LDS", "LDL", "ATOM", "TEX", "TLD", "SULD")
"""Instructions whose result is data. Constants and arguments, the same for all lanes, are none."""
_DECIDES = ("BRA", "EXIT", "BREAK")
_NO_INDEX = ("F", "H", "D", "MUFU", "LD", "ST", "RED", "ATOM", "TEX", "TLD", "SULD", "SUST", "BAR", "EXIT", "NOP")
"""Arithmetic on data, accesses, and what every thread does once. LDC and ULDC bring arguments."""
_MOST_PASSES = 4
"""Over the code: what a loop computes from data is known at its start in the next pass."""


def guarded_branches(code: Code) -> Weights:
    """1 at each branch that only lanes with a predicate take."""
    return np.array([bool(use_of(text).guard) and _decides(each) for text, each in _listing(code)], dtype=np.float64)


def data_branches(code: Code) -> Weights:
    """1 at each of them in a loop whose predicate comes from loaded numbers."""
    return np.array(
        [
            _decides(each) and use_of(text).guard in known and code.innermost_loop(position) is not None
            for position, (text, each, known) in enumerate(_from_data(code))
        ],
        dtype=np.float64,
    )


def index_arithmetic(code: Code) -> Weights:
    """1 at each instruction that no loaded number goes into, but arithmetic of floats: indices, addresses, tests."""
    return np.array(
        [_is_index(each) and not known & _needs(text) for text, each, known in _from_data(code)],
        dtype=np.float64,
    )


def _is_index(each: Instruction) -> bool:
    return each.opcode.startswith("LDC") or not each.opcode.startswith(_NO_INDEX)


def _from_data(code: Code) -> Iterator[tuple[str, Instruction, frozenset[str]]]:
    """Each instruction, with the registers and predicates before it that hold numbers that come from loaded ones.

    One set at a time: together they are megabytes for a large kernel.
    """
    known: frozenset[str] = frozenset()
    for _ in range(_MOST_PASSES - 1):
        before = known
        for text, each in _listing(code):
            known = _after(text, each, known)
        if known == before:
            break
    for text, each in _listing(code):
        yield text, each, known
        known = _after(text, each, known)


def _listing(code: Code) -> Iterator[tuple[str, Instruction]]:
    return zip(code.texts, code.instructions, strict=True)


def _decides(each: Instruction) -> bool:
    return each.opcode.startswith(_DECIDES)


def _after(text: str, each: Instruction, known: frozenset[str]) -> frozenset[str]:
    """What holds numbers that come from loaded ones, behind an instruction before which ``known`` does."""
    use = use_of(text)
    if each.opcode.startswith(_BRINGS) or known & _needs(text):
        return known | use.results
    return known if use.guard else known - use.results


def _needs(text: str) -> frozenset[str]:
    """What an instruction reads, its guard included."""
    use = use_of(text)
    return use.reads | {use.guard}
