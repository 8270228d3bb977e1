"""Accesses that one wider access could replace.

A thread that takes four consecutive numbers with four loads makes the lanes of its warp step over one another: each
load touches every sector of all four. Machine code shows it: accesses through the same registers at offsets that follow
one another without a gap.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from ncuview.sass.listing import GLOBAL_LOAD, GLOBAL_STORE, Code, Weights, access_bytes

_WIDEST = 16
"""Bytes of the widest access."""
_SECTOR = 32
_ABOUT = 0.2
"""How far the sectors that a warp touches, on average, are from those of lanes that step over one another."""
_ADDRESS = re.compile(r"\[(?P<register>R\d+)(?:\.64)?(?:\+(?P<sign>-?)0x(?P<offset>[0-9a-f]+))?\]")


def saved_by_wider(code: Code, executed: Weights, sectors: Weights) -> Weights:
    """For each global access, which part of it a wider access would save: 3/4 where one replaces four.

    Only where the lanes of a warp step over one another by just what each takes with several accesses; a thread that
    walks through a row of its own has its neighbours further away.

    Args:
        code: The kernel's instructions.
        executed: How often each was executed, by all warps.
        sectors: How many sectors each touched, together.
    """
    saved = np.zeros(len(code.texts))
    for pattern in (GLOBAL_LOAD, GLOBAL_STORE):
        for run, size in consecutive_accesses(code, pattern):
            stride, requests = len(run) * size, executed[run].sum()
            if not requests or not size < stride <= _SECTOR or stride & (stride - 1):
                continue
            if abs(sectors[run].sum() / requests - stride) <= _ABOUT * stride:
                saved[run] = 1 - max(1, stride // _WIDEST) / len(run)
    return saved


def consecutive_accesses(code: Code, pattern: re.Pattern[str]) -> Iterator[tuple[list[int], int]]:
    """Positions of accesses whose offsets from the same registers follow one another, and the bytes of each.

    A run may be a single access.
    """
    groups: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
    version: dict[str, int] = defaultdict(int)
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        address = _ADDRESS.search(each.operands)
        if pattern.match(text) and address:
            register = address["register"]
            offset = int(address["offset"] or "0", 16) * (-1 if address["sign"] else 1)
            groups[register, version[register], access_bytes(each.opcode)].setdefault(offset, position)
        for register in each.writes:
            version[register] += 1
    for (_, _, size), by_offset in groups.items():
        run: list[int] = []
        for offset in sorted(by_offset):
            if run and offset - size not in by_offset:
                yield run, size
                run = []
            run.append(by_offset[offset])
        if run:
            yield run, size
