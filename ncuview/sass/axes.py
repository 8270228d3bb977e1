"""The axes of the grid that numbers come from: which of the indices of blocks and threads go into each instruction.

What none goes into is the same in every thread; what those of one axis do not go into is the same along it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, reduce
from itertools import starmap
from operator import or_
from typing import NamedTuple

from ncuview.sass.control_flow import called, falls_through, targets
from ncuview.sass.listing import Code, parse
from ncuview.sass.uses import Use, use_of

Axes = frozenset[str]
_Mask = int
"""Axes as bits, since a kernel has thousands of instructions: X is 1, Y 2 and Z 4."""
_Registers = dict[str, _Mask]

_INDEX = re.compile(r"SR_(?:CTAID|TID)\.(?P<axis>[XYZ])")
_LANE = re.compile(r"SR_(?:LANEID|WARPID|(?:EQ|LT|LE|GT|GE)MASK)")
"""Of a thread's place in its block, which counts as x."""
_OF_OTHERS = ("LDS", "LD.", "ATOM", "SHFL", "TEX", "TLD", "SULD")
"""What they bring may come from any thread."""
_LOCAL = "local"
"""All local memory, as if it were one register."""
_REGISTERS = [f"R{number}" for number in range(255)]
_BITS = {"X": 1, "Y": 2, "Z": 4}
_AXES = [frozenset(axis for axis, bit in _BITS.items() if mask & bit) for mask in range(8)]
_ANY: _Mask = 7
_MOST_PASSES = 8
"""Over the code: one for each loop around an instruction, and one more; in deeper nests it stays so."""


class Origin(NamedTuple):
    """Where an instruction's operands come from, and the predicate under which it is executed."""

    operands: Axes
    guard: Axes


@lru_cache(maxsize=1 << 12)
def axes_at(code: Code) -> tuple[Origin, ...]:
    """For each instruction the axes of the indices that go into it; what is loaded is as its address."""
    found = _Flow(code)
    known: list[tuple[_Mask, _Mask]] = []
    for _ in range(_MOST_PASSES):
        before, known = known, list(starmap(found.step, enumerate(code.texts)))
        if known == before:
            break
    return tuple(Origin(_AXES[operands], _AXES[guard]) for operands, guard in known)


class _Flow:
    """What registers hold, from instruction to instruction and along jumps."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._targets, self._falls_through, self._called = targets(code), falls_through(code), called(code)
        self._axes: _Registers = {}
        self._arriving: dict[int, _Registers] = {}
        """What they hold where jumps lead to, from all passes."""

    def step(self, position: int, text: str) -> tuple[_Mask, _Mask]:
        """Go past one instruction: what its operands come from, and its guard."""
        use = use_of(text)
        self._arrive(position)
        operands, guard = self._operands(text, use), self._axes.get(use.guard, 0)
        for result in use.results:
            self._axes[result] = operands | (guard | self._axes.get(result, 0) if use.guard else 0)
        self._leave(position)
        return operands, guard

    def _arrive(self, position: int) -> None:
        if position == 0 or (position in self._arriving and not self._falls_through[position - 1]):
            self._axes = {}
        if position in self._arriving:
            self._axes = _joined(self._axes, self._arriving[position])

    def _operands(self, text: str, use: Use) -> _Mask:
        operands, opcode = self._of(use.reads) | _given(text), parse(text).opcode
        if opcode.startswith("LDL"):
            operands |= self._axes.get(_LOCAL, 0)
        elif opcode.startswith("STL"):
            self._axes[_LOCAL] = operands | self._axes.get(_LOCAL, 0)
        return operands

    def _leave(self, position: int) -> None:
        if (target := self._targets[position]) is not None:
            self._arriving[target] = _joined(self._arriving.get(target, {}), self._axes)
        if function := self._called.get(position):
            own = reduce(or_, (_given(self._code.texts[at]) for at in function.positions), self._of(function.reads))
            self._axes |= dict.fromkeys(function.writes, own)
        elif self._code.instructions[position].opcode.startswith("CALL"):
            self._axes |= dict.fromkeys(_REGISTERS, _ANY)  # what a computed address calls may leave anything anywhere

    def _of(self, registers: Iterable[str]) -> _Mask:
        return reduce(or_, (self._axes.get(register, 0) for register in registers), 0)


def _joined(one: _Registers, other: _Registers) -> _Registers:
    return one | {name: one.get(name, 0) | mask for name, mask in other.items()}


@lru_cache(maxsize=1 << 16)
def _given(text: str) -> _Mask:
    """The axes that an instruction brings in by itself."""
    if parse(text).opcode.startswith(_OF_OTHERS):
        return _ANY
    index = _INDEX.search(text)
    if index:
        return _BITS[index["axis"]]
    return _BITS["X"] if _LANE.search(text) else 0
