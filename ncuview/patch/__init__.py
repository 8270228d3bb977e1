"""Make the source change that a finding advises, where it is mechanical: an edit, or the reason why there is none.

``propose`` takes the user's CUDA source as text and the change's name, and returns an ``Edit`` or a ``NoEdit``.

Nothing here writes a file. The conditions of a change are proven from the source, or the change is refused; conditions
that only the author can know are given with the edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ncuview.patch.block_size import block_size
from ncuview.patch.constant_divisor import constant_divisor
from ncuview.patch.fast_functions import fast_functions
from ncuview.patch.float_literals import float_literals
from ncuview.patch.launch_bounds import launch_bounds
from ncuview.patch.pad_tile import pad_tile
from ncuview.patch.patch import Change, Edit, NoEdit, Refused
from ncuview.patch.program import Kernel, Program
from ncuview.patch.restrict import restrict
from ncuview.patch.swap_indices import swap_indices
from ncuview.patch.unroll import unroll

__all__ = ["PATCHES", "Edit", "NoEdit", "propose"]

Maker = Callable[[Kernel, Sequence[int]], Change]

PATCHES: Mapping[str, Maker] = {
    maker.__name__: maker
    for maker in (
        block_size,
        constant_divisor,
        fast_functions,
        float_literals,
        launch_bounds,
        pad_tile,
        restrict,
        swap_indices,
        unroll,
    )
}
"""Mechanical changes by the names that rules give in ``patch``."""


def propose(source: str, path: str, kernel: str, patch: str, lines: Sequence[int]) -> Edit | NoEdit:
    """The change that a finding advises, made in the user's own source.

    Args:
        source: The file's text with its own line ends, as ``bytes.decode("utf-8", "surrogateescape")`` gives it.
        path: The file's name; its ending distinguishes a header from a program.
        kernel: The kernel's name, as the profile has it.
        patch: The name of one of ``PATCHES``.
        lines: The lines of the source that the finding is about, from 1.

    Returns:
        The edit, or why there is none. Nothing is raised for any text.
    """
    make = PATCHES[patch]
    try:
        program = Program.read(source, path)
        change = make(program.kernel(kernel), lines)
    except Refused as refused:
        return NoEdit(str(refused))
    return Edit(change.title, change.assumes, program.data, change.replacements)
