"""Find global loads that read again what an earlier loop of the kernel read or wrote: a mask over the instructions.

``repeated_pass_loads`` gives all such loads, ``fusible_pass_loads`` those outside the kernel's last loop that writes.

A row that is read for its largest element, again for a sum and again for the result comes from memory three times
unless it stays in registers or in shared memory in between. Machine code shows it: loads (and stores) through the same
argument of the kernel, equally often, in loops that do not contain each other. One loop of the source may become
several loops of machine code, an unrolled one and its remainder; their instructions share a source line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ncuview.sass.cfg import Loop, innermost_loop
from ncuview.sass.code import Code, analysis
from ncuview.sass.global_loads import has_fixed_address, pointer_arguments
from ncuview.sass.opcode_classes import Class, is_global_load, is_global_store

Mask = NDArray[np.bool_]
Place = tuple[str, int]
"""File and line of an instruction; line 0 when unknown."""

_AS_LONG = 0.8
"""A later pass is over the same row if it touches at least this share of the bytes of the longest pass."""


@dataclass(frozen=True)
class _Pass:
    """Accesses through one argument in one loop of the source.

    Attributes:
        span: The code from the first to the last of its loops.
        accesses: The positions of its loads and stores.
    """

    span: range
    accesses: tuple[int, ...]

    def meets(self, other: _Pass) -> bool:
        """Whether the instruction ranges of two passes overlap, as those of one loop or of nested loops do."""
        return self.span.start < other.span.stop and other.span.start < self.span.stop


def repeated_pass_loads(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> Mask:
    """Which global loads read what an earlier loop of the kernel has read or written.

    Args:
        code: The kernel's code.
        executed: How often each instruction was executed, by all warps.
        places: The source line of each.
    """
    return _loads_of(code, [each for passes in _passes(code, executed, places) for each in passes[1:]])


def fusible_pass_loads(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> Mask:
    """Of the repeated pass loads, those outside the kernel's last loop that writes.

    That loop needs the results of the loops before it; the earlier loops could be joined into one.
    """
    passes = _passes(code, executed, places)
    writing = [each for of_argument in passes for each in of_argument if _of(code, each, is_global_store)]
    last = max(writing, key=lambda each: each.span.start, default=_Pass(range(0), ()))
    return _loads_of(code, [each for of_argument in passes for each in of_argument[1:] if not each.meets(last)])


def _loads_of(code: Code, passes: Iterable[_Pass]) -> Mask:
    mask = np.zeros(len(code), dtype=bool)
    for each in passes:
        mask[_of(code, each, is_global_load)] = True
    return mask


def _of(code: Code, each: _Pass, asked: Class) -> list[int]:
    return [at for at in each.accesses if asked(code.instructions[at])]


def _passes(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> list[list[_Pass]]:
    """For each argument, the passes over it that are about as long as the longest, in the order of the code."""
    found = []
    for passes in _passes_of_any_length(code, tuple(places)):
        bytes_of = [_bytes(code, executed, each) for each in passes]
        longest = max(bytes_of, default=0)
        found.append([each for each, size in zip(passes, bytes_of, strict=True) if size >= _AS_LONG * longest > 0])
    return found


@analysis
def _passes_of_any_length(code: Code, places: tuple[Place, ...]) -> Sequence[Sequence[_Pass]]:
    """For each argument, the passes over it in the order of the code."""
    accesses: dict[frozenset[str], dict[Place | Loop, list[int]]] = defaultdict(lambda: defaultdict(list))
    for position, arguments in pointer_arguments(code).items():
        loop = innermost_loop(code, position)
        place = places[position] if places[position][1] else loop
        if arguments and place:
            accesses[arguments][place].append(position)
    return [
        _merged([each for positions in by_place.values() if (each := _pass(code, positions))])
        for by_place in accesses.values()
    ]


def _pass(code: Code, positions: Sequence[int]) -> _Pass | None:
    """The pass that consists of the accesses of one source line; None if no loop changes their address."""
    loops = [
        loop
        for at in positions
        if (loop := innermost_loop(code, at)) is not None and not has_fixed_address(code, loop, at)
    ]
    if not loops:
        return None
    covered = frozenset(positions).union(*(loop.body for loop in loops))
    return _Pass(range(min(covered), max(covered) + 1), tuple(positions))


def _merged(passes: Iterable[_Pass]) -> list[_Pass]:
    merged: list[_Pass] = []
    for each in sorted(passes, key=lambda each: each.span.start):
        if merged and merged[-1].meets(each):
            before = merged.pop()
            span = range(before.span.start, max(before.span.stop, each.span.stop))
            merged.append(_Pass(span, before.accesses + each.accesses))
        else:
            merged.append(each)
    return merged


def _bytes(code: Code, executed: NDArray[np.float64], each: _Pass) -> float:
    """The bytes that a pass reads or writes for each lane, whichever are more: it may write where it reads."""
    read, written = (
        sum(
            executed[at] * memory.register_bytes
            for at in _of(code, each, asked)
            if (memory := code.instructions[at].memory)
        )
        for asked in (is_global_load, is_global_store)
    )
    return float(max(read, written))
