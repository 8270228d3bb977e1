"""Make the patch that relaxes a kernel's ``__launch_bounds__``, so that the compiler may use more registers per thread.

``launch_bounds`` takes a ``Kernel`` -> ``Change``: no minimum of blocks, or the launches' block size as maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.launches import block_of
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, meaningful, within

if TYPE_CHECKING:
    from tree_sitter import Node


def launch_bounds(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Drop the minimum of blocks, which limits registers, or lower the maximum of threads to the launches' block size.

    Args:
        kernel: The kernel.
        lines: Unused: registers are allocated to the complete kernel.

    Raises:
        Refused: Nothing in the source limits registers, or the blocks of the launches are not known.
    """
    del lines
    bounds = _bounds(kernel)
    threads, *further = meaningful(bounds)
    if any(each.type == "comment" for each in within(bounds)):
        raise Refused("__launch_bounds__ contains a comment")
    if further:
        cut = Replacement(threads.end_byte, further[-1].end_byte, "")
        return Change("Let the compiler choose how many blocks fit", "", (cut,))
    promised = constant(kernel.program, threads)
    x, y, z = block_of(kernel)
    if promised is None or promised <= x * y * z:
        raise Refused(f"__launch_bounds__ already allows no more threads than the {x * y * z} of the launches")
    lower = Replacement(threads.start_byte, threads.end_byte, str(x * y * z))
    assumes = "no launch outside this file has larger blocks"
    return Change(f"Limit blocks to {x * y * z} threads", assumes, (lower,))


def _bounds(kernel: Kernel) -> Node:
    found = [node for node in kernel.definition.children if node.type == "launch_bounds"]
    if len(found) != 1 or not meaningful(found[0]):
        raise Refused(f"no __launch_bounds__ of {kernel.name} limits its registers")
    return found[0]
