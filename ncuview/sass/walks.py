"""Loops of a kernel that walk through the same data one after the other.

A row that is read for its largest element, again for a sum and again for the result comes from memory three times
unless it stays in registers or in shared memory in between. Machine code shows it: loads (and stores) through the same
argument of the kernel, equally often, in loops that do not hold each other. One loop of the source may be several of
the machine code, unrolled and for the rest; its instructions have a source line in common.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ncuview.sass.listing import GLOBAL_LOAD, GLOBAL_STORE, Code, pointers, register_bytes

Mask = NDArray[np.bool_]
Place = tuple[str, int]
"""File and line of an instruction; line 0 when unknown."""

_AS_LONG = 0.8
"""A later walk is through the same row if it touches at least this share of what the longest does."""


@dataclass(frozen=True)
class _Walk:
    """Accesses through one argument in one loop of the source.

    Attributes:
        span: The code from the first to the last of the loops that it is made of.
        positions: Its loads and stores.
    """

    span: range
    positions: tuple[int, ...]


def loads_again(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> Mask:
    """Which global loads walk through what an earlier loop of the kernel has read or written.

    Args:
        code: The kernel's instructions.
        executed: How often each was executed, by all warps.
        places: The source line of each.
    """
    return _loads_of(code, (walk for walks in _passes(code, executed, places) for walk in walks[1:]))


def loads_that_could_join(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> Mask:
    """Of those, the ones that are not in the kernel's last loop that writes.

    That loop needs what the loops before it have found out; what they compute could be computed in one.
    """
    passes = _passes(code, executed, places)
    writing = [walk.span for walks in passes for walk in walks if _stores(code, walk)]
    last = max(writing, key=lambda span: span.start, default=range(0))
    joining = (walk for walks in passes for walk in walks[1:] if not _meet(walk.span, last))
    return _loads_of(code, joining)


def _loads_of(code: Code, walks: Iterator[_Walk]) -> Mask:
    mask = np.zeros(len(code.texts), dtype=bool)
    for walk in walks:
        mask[[at for at in walk.positions if GLOBAL_LOAD.match(code.texts[at])]] = True
    return mask


def _stores(code: Code, walk: _Walk) -> bool:
    return any(GLOBAL_STORE.match(code.texts[at]) for at in walk.positions)


def _passes(code: Code, executed: NDArray[np.float64], places: Sequence[Place]) -> list[list[_Walk]]:
    """For each argument, the walks through it that are about as long as the longest, in the order of the code."""
    accesses: dict[frozenset[str], dict[Place | range, list[int]]] = defaultdict(lambda: defaultdict(list))
    for position, through in pointers(code):
        loop = code.innermost_loop(position)
        place = places[position] if places[position][1] else loop
        if through and place:
            accesses[through][place].append(position)
    passes = []
    for by_place in accesses.values():
        walks = _merged(walk for positions in by_place.values() if (walk := _walk(code, positions)))
        amounts = [_amount(code, executed, walk) for walk in walks]
        passes.append([w for w, amount in zip(walks, amounts, strict=True) if amount >= _AS_LONG * max(amounts) > 0])
    return passes


def _amount(code: Code, executed: NDArray[np.float64], walk: _Walk) -> float:
    """The bytes that a walk reads or writes for each lane, whichever are more: it may write where it reads."""
    read = [executed[at] * _bytes(code, at) for at in walk.positions if GLOBAL_LOAD.match(code.texts[at])]
    written = [executed[at] * _bytes(code, at) for at in walk.positions if GLOBAL_STORE.match(code.texts[at])]
    return float(max(sum(read), sum(written)))


def _walk(code: Code, positions: list[int]) -> _Walk | None:
    """The walk that accesses of one source line make; None if no loop moves their address."""
    loops = [
        loop for at in positions if (loop := code.innermost_loop(at)) and code.address_of(at) & code.varies_in(loop)
    ]
    if not loops:
        return None
    first = min(*positions, *(loop.start for loop in loops))
    last = max(*(at + 1 for at in positions), *(loop.stop for loop in loops))
    return _Walk(range(first, last), tuple(positions))


def _merged(walks: Iterator[_Walk]) -> list[_Walk]:
    """Walks whose code overlaps are one: lines of one loop, or loops in one another."""
    merged: list[_Walk] = []
    for walk in sorted(walks, key=lambda walk: walk.span.start):
        if merged and _meet(merged[-1].span, walk.span):
            before = merged.pop()
            span = range(before.span.start, max(before.span.stop, walk.span.stop))
            merged.append(_Walk(span, before.positions + walk.positions))
        else:
            merged.append(walk)
    return merged


def _meet(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _bytes(code: Code, position: int) -> int:
    return register_bytes(code.instructions[position].opcode)
