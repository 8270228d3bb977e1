"""Columns of a code, one entry per instruction: which are of a class, weights by opcode, weights at some positions.

Instructions of one kind, with the same opcode, are asked about once; each code has few kinds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ncuview.sass.code import Code, analysis
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import Class

Weights = NDArray[np.float64]
"""One number per instruction."""


@analysis
def _kinds(code: Code) -> Sequence[tuple[Instruction, list[int]]]:
    """The first instruction of each kind, and the positions of all of them.

    Those of one kind have the same opcode, and all or none of them access memory, and define anything.
    """
    found: dict[tuple[str, bool, bool], list[int]] = defaultdict(list)
    for position, each in enumerate(code.instructions):
        found[each.opcode, each.memory is None, not each.definitions].append(position)
    return [(code.instructions[positions[0]], positions) for positions in found.values()]


@analysis
def positions_of(code: Code, asked: Class) -> tuple[int, ...]:
    """The positions of the instructions of a class, in order. The kind of an instruction decides about its class."""
    return tuple(sorted(at for first, positions in _kinds(code) if asked(first) for at in positions))


@analysis
def of_class(code: Code, asked: Class) -> NDArray[np.bool_]:
    """Which instructions are of a class."""
    found = np.zeros(len(code), dtype=bool)
    found[list(positions_of(code, asked))] = True
    found.flags.writeable = False
    return found


def count_of(code: Code, asked: Class) -> Weights:
    """1 at each instruction of a class."""
    return of_class(code, asked).astype(np.float64)


def by_opcode(code: Code, weight: Callable[[str], float]) -> Weights:
    """A weight at each instruction, which its opcode with modifiers decides."""
    found = np.zeros(len(code))
    for first, positions in _kinds(code):
        if number := weight(first.opcode):
            found[positions] = number
    return found


def weights_at(code: Code, positions: Iterable[int], weight: float = 1.0) -> Weights:
    """A weight at these positions, 0 elsewhere."""
    found = np.zeros(len(code))
    found[list(positions)] = weight
    return found
