"""Make the patch that lets each thread process several elements: each block does the work of several.

``elements_per_thread`` takes a ``Kernel`` -> ``Change``; it raises ``Refused`` with the obligation of
``merge_blocks`` that is not proven. Lanes keep their neighbours, so accesses stay coalesced, along either axis of a
two-dimensional grid.
"""

from __future__ import annotations

from collections.abc import Sequence

from ncuview.patch.merged_blocks import MergedBlocks, merge_blocks
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel
from ncuview.patch.rewriting import closing, opening

ELEMENTS = 4
"""Enough loads in flight to hide the latency of memory, and few registers."""


def elements_per_thread(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Let each block do the work of several blocks, and divide the grid.

    Args:
        kernel: The kernel.
        lines: Unused: a launch has one grid.

    Raises:
        Refused: Blocks depend on each other, or added ones would do something.
    """
    del lines
    merged = merge_blocks(kernel, ELEMENTS)
    return Change(f"Process {merged.by} elements per thread", merged.assumes, _looped(kernel, merged))


def in_elements(kernel: Kernel, by: int) -> Change:
    """Let each block do the work of exactly ``by`` blocks, and divide the grid.

    Raises:
        Refused: As ``elements_per_thread``, or the grid has too few blocks for as many.
    """
    merged = merge_blocks(kernel, by)
    if merged.by != by:
        raise Refused(f"the grid of {kernel.name} has too few blocks to merge {by}")
    return Change(f"Let each block do the work of {by}", merged.assumes, _looped(kernel, merged))


def _looped(kernel: Kernel, merged: MergedBlocks) -> tuple[Replacement, ...]:
    start, end = opening(kernel.program, kernel.body), closing(kernel.program, kernel.body)
    return (Replacement(start, start, merged.head), *merged.replacements, Replacement(end, end, merged.foot))
