"""Make the patch that loads rows, one for each thread, through a tile in shared memory, with lanes along the rows.

``tile_rows`` takes a ``Kernel`` -> ``Change``, or raises ``Refused``. It serves each counting loop in which
neighbouring threads walk along different rows: the block loads a piece of all its rows at once, and each thread goes on
with its own. Body, types and order of the loop stay, so that the results are byte-identical.
"""

from __future__ import annotations

from collections.abc import Sequence

from ncuview.patch.index_algebra import ASSUMED
from ncuview.patch.patch import Change
from ncuview.patch.program import Kernel
from ncuview.patch.staged_loads import AXES, Load, Stage, first_stage, staged


def tile_rows(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Load the rows on these lines through a tile in shared memory.

    Args:
        kernel: The kernel.
        lines: The lines with the loop; empty for the complete kernel.

    Raises:
        Refused: No loop walks along rows, or an obligation of the proof is not met.
    """
    return rows_of(rows_stage(kernel, lines))


def rows_stage(kernel: Kernel, lines: Sequence[int]) -> Stage:
    """The loop over rows; raises Refused."""
    return first_stage(kernel, lines, _row_of_thread)


def rows_of(stage: Stage) -> Change:
    """The change of a loop over rows; raises Refused."""
    names = " and ".join(dict.fromkeys(load.access.array for load in stage.loads))
    return Change(f"Load the rows of {names} through a tile in shared memory", ASSUMED, tuple(staged(stage)))


def _row_of_thread(load: Load, extent: tuple[int, int]) -> bool:
    """Whether neighbouring threads are in different rows, and an iteration is one element farther in each."""
    index = load.access.index
    stride = index.coefficient(AXES[0]).number if index is not None else 1
    return load.along_counter and load.axis == AXES[0] and extent[0] > 1 and (stride is None or abs(stride) > 1)
