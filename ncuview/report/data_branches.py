"""Branches in loops whose way is decided by loaded numbers: no other assignment of threads makes their lanes agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ncuview.report.sass import Code, Instruction, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator

_GUARD = re.compile(r"@!?(U?P\d)\s")
_PREDICATE = re.compile(r"\bU?P\d\b")
_BRINGS = ("LDG", "LD.", "LDS", "LDL", "ATOM", "TEX", "TLD", "SULD")
"""Instructions whose result is data. Constants and arguments, the same for all lanes, are none."""
_DECIDES = ("BRA", "EXIT", "BREAK")
_MOST_PASSES = 4
"""Over the code: what a loop computes from data is known at its start in the next pass."""


def guarded_branches(code: Code) -> Weights:
    """1 at each branch that only lanes with a predicate take."""
    return np.array([bool(_guard(text)) and _decides(each) for text, each in _listing(code)], dtype=np.float64)


def data_branches(code: Code) -> Weights:
    """1 at each of them in a loop whose predicate comes from loaded numbers."""
    in_loop = [code.innermost_loop(position) is not None for position in range(len(code.texts))]
    known: frozenset[str] = frozenset()
    for _ in range(_MOST_PASSES):
        before, weights = known, np.zeros(len(code.texts))
        for position, (text, each) in enumerate(_listing(code)):
            weights[position] = in_loop[position] and _decides(each) and _guard(text) in known
            known = _after(text, each, known)
        if known == before:
            break
    return weights


def _listing(code: Code) -> Iterator[tuple[str, Instruction]]:
    return zip(code.texts, code.instructions, strict=True)


def _guard(text: str) -> str:
    guard = _GUARD.match(text)
    return guard[1] if guard else ""


def _decides(each: Instruction) -> bool:
    return each.opcode.startswith(_DECIDES)


def _after(text: str, each: Instruction, known: frozenset[str]) -> frozenset[str]:
    """What holds numbers that come from loaded ones, behind an instruction before which ``known`` does."""
    operands = each.operands.split(",")
    sets = 2 if "SETP" in each.opcode or each.opcode.startswith("PLOP3") else 0  # its first operands are results
    results = each.writes.union(*map(_PREDICATE.findall, operands[:sets]))
    reads = each.reads.union([_guard(text)], *map(_PREDICATE.findall, operands[sets:]))
    if each.opcode.startswith(_BRINGS) or known & reads:
        return known | results
    return known if _guard(text) else known - results
