"""Find the batches of global loads that are in flight together before a thread waits for one of them.

``load_batches(code)`` returns a ``LoadBatch`` for each: position of the first load and bytes per thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import positions_of
from ncuview.sass.dataflow import effects
from ncuview.sass.opcode_classes import is_global_load


class LoadBatch(NamedTuple):
    """Global loads in flight together.

    Attributes:
        start: The position of the first.
        size: The bytes that all of them load for a thread; each load counts at least 4.
    """

    start: int
    size: int


@analysis
def load_batches(code: Code) -> Sequence[LoadBatch]:
    """Find the batches in the order of the code.

    A batch ends where an instruction uses or overwrites a register that one of its loads fills: the thread waits there.
    """
    batches: list[LoadBatch] = []
    waits_at = -1
    for position in positions_of(code, is_global_load):
        memory = code.instructions[position].memory
        size = memory.register_bytes if memory else 0
        if batches and position < waits_at:
            batches[-1] = LoadBatch(batches[-1].start, batches[-1].size + size)
            waits_at = min(waits_at, _waits_at(code, position))
        else:
            batches.append(LoadBatch(position, size))
            waits_at = _waits_at(code, position)
    return tuple(batches)


def _waits_at(code: Code, load: int) -> int:
    """The next instruction in the listing that touches a register of a load; the end of the code where none does."""
    filled, found = code.instructions[load].definitions, effects(code)
    touching = (at for at in range(load + 1, len(code)) if not filled.isdisjoint((*found[at].uses, *found[at].defines)))
    return next(touching, len(code))
