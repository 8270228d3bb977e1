"""Where execution may go on behind each instruction, and what the functions that a kernel calls read and write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ncuview.sass.listing import Code
from ncuview.sass.uses import use_of

_TARGET = re.compile(r"\b(?:BRA|CALL)\b\S*\s+(?:\S+,\s*)*0x(?P<target>[0-9a-f]+)")
_ENDS = ("BRA", "EXIT", "RET")


class Function(NamedTuple):
    """What a function does to registers and predicates."""

    reads: frozenset[str]
    """Those that it does not write before."""
    writes: frozenset[str]
    positions: frozenset[int]
    """Its instructions, and those of the functions that it calls."""


def targets(code: Code) -> list[int | None]:
    """For each instruction the position that it jumps to or that it calls, if the code says it."""
    found = map(_TARGET.search, code.texts)
    return [code.places.get(int(each["target"], 16)) if each else None for each in found]


def falls_through(code: Code) -> list[bool]:
    """For each instruction whether the next one may follow it. Jumps to computed places may go there, too."""
    return [
        text.startswith("@") or not each.opcode.startswith(_ENDS)
        for text, each in zip(code.texts, code.instructions, strict=True)
    ]


def decided(code: Code) -> Iterator[tuple[int, range]]:
    """Each guarded branch, and what it decides about: what it skips, and goes to instead, or its loop."""
    jumps = [target if _is_branch(code, place) else None for place, target in enumerate(targets(code))]
    for position, target in enumerate(jumps):
        if target is None or not code.texts[position].startswith("@"):
            continue
        yield position, range(min(position, target), max(position, target))
        behind = jumps[target - 1] if target > position else None
        if behind is not None and not code.texts[target - 1].startswith("@"):
            yield position, range(target, behind)


def _is_branch(code: Code, position: int) -> bool:
    return code.instructions[position].opcode.startswith("BRA")


def calls(code: Code) -> dict[int, int]:
    """For each call the position of the first instruction of what it calls."""
    return {
        position: target
        for position, target in enumerate(targets(code))
        if target is not None and code.instructions[position].opcode.startswith("CALL")
    }


def body(code: Code, start: int) -> range:
    """A function from its first instruction to the first return behind it."""
    returns = (at for at in range(start, len(code.texts)) if code.instructions[at].opcode.startswith("RET"))
    return range(start, next(returns, len(code.texts) - 1) + 1)


def called(code: Code) -> dict[int, Function]:
    """For each call the function that it calls."""
    starts, known = calls(code), dict[int, Function]()
    return {position: _function(code, start, starts, known) for position, start in starts.items()}


def _function(code: Code, start: int, starts: dict[int, int], known: dict[int, Function]) -> Function:
    """The function that starts here, with those that it calls."""
    if start in known:
        return known[start]
    known[start] = Function(frozenset(), frozenset(), frozenset())  # what calls itself adds nothing by that
    reads, writes, positions = set[str](), set[str](), set(body(code, start))
    for position in body(code, start):
        use = use_of(code.texts[position])
        reads |= (use.reads | {use.guard}) - writes
        writes |= use.results
        if position in starts:
            inner = _function(code, starts[position], starts, known)
            reads |= inner.reads - writes
            writes |= inner.writes
            positions |= inner.positions
    known[start] = Function(frozenset(reads), frozenset(writes), frozenset(positions))
    return known[start]
