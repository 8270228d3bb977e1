"""Make the patch that keeps tiles of a product's operands in shared memory, for a thread for each result.

``product_tiles`` takes a ``Kernel`` -> ``Change``, or raises ``Refused``. It serves each counting loop in which threads
of a block load the same elements, whose index depends on the counter and on one axis of threads: the rows of A and the
columns of B, in any layout. The order of the sum stays, so that the results are byte-identical: body and types are the
original's, and the compiler contracts the same multiplications and additions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ncuview.patch.index_algebra import ASSUMED
from ncuview.patch.patch import Change
from ncuview.patch.program import Kernel
from ncuview.patch.staged_loads import AXES, Load, Stage, first_stage, staged


def product_tiles(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Load what threads of a block have in common once, in tiles in shared memory.

    Args:
        kernel: The kernel.
        lines: The lines with the loop; empty for the complete kernel.

    Raises:
        Refused: No loop loads common elements, or an obligation of the proof is not met.
    """
    return product_of(product_stage(kernel, lines))


def product_stage(kernel: Kernel, lines: Sequence[int]) -> Stage:
    """The loop of a product; raises Refused."""
    return first_stage(kernel, lines, _in_common)


def product_of(stage: Stage) -> Change:
    """The change of a product's loop; raises Refused."""
    names = " and ".join(dict.fromkeys(load.access.array for load in stage.loads))
    return Change(f"Keep tiles of {names} in shared memory", ASSUMED, tuple(staged(stage)))


def _in_common(load: Load, extent: tuple[int, int]) -> bool:
    """Whether several threads of the block load the same element."""
    return extent[1 - AXES.index(load.axis)] > 1
