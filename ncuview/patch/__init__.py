"""Make the source change that a finding advises, where it is mechanical: an edit, or the reason why there is none.

``propose`` parses the user's CUDA source and calls the module for the finding's optimization; the edit gives a diff.

Nothing here writes a file. What a change needs is proven from the source, or the change is refused; what only the
author can know is said with the edit.
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

__all__ = ["Edit", "NoEdit", "propose"]

Maker = Callable[[Kernel, Sequence[int]], Change]

_OF_OPTIMIZATION: Mapping[str, Maker] = {
    "shared_memory_padding": pad_tile,
    "unrolling": unroll,
    "lower_precision": float_literals,
    "fast_math": fast_functions,
    "strength_reduction": constant_divisor,
    "coalescing": swap_indices,
}
_OF_RULE: Mapping[str, Maker] = {
    "GMEM008": restrict,
    "LMEM001": launch_bounds,
    "OCC001": block_size,
    "OCC003": block_size,
    "OCC004": block_size,
}
"""Rules whose optimization is a word for several changes."""
_BY_HAND: Mapping[str, str] = {
    "GMEM004": "where rows begin is decided by whoever allocates the array",
    "INST005": "that the operands fit into 24 bits without their masks cannot be seen in the source",
    "INST006": "it takes an option of the compiler, -ftz=true, and no change of the source",
    "INST007": "where the reciprocal is computed, and whether the last bit may differ, is for the author to say",
    "INST008": "which products or roots make the power, and whether the last bits may differ, is for the author to say",
    "INST009": "where the numbers are computed once, before the launch or by each block, is for the author to say",
    "OLD001": "today's GPUs need no change",
}


def propose(
    source: str, path: str, kernel: str, optimization: str, lines: Sequence[int], rule: str = ""
) -> Edit | NoEdit:
    """The change that a finding advises, made in the user's own source.

    Args:
        source: The file's text with its own line ends, as ``bytes.decode("utf-8", "surrogateescape")`` gives it.
        path: The file's name, which tells a header from a program.
        kernel: The kernel's name, as the profile has it.
        optimization: The finding's word, such as ``shared_memory_padding``.
        lines: The lines of the source that the finding is about, from 1.
        rule: The finding's rule, such as ``LMEM001``; some optimizations mean one change or another by it.

    Returns:
        The edit, or why there is none. Nothing is raised for any text.
    """
    if rule in _BY_HAND:
        return NoEdit(_BY_HAND[rule])
    make = _OF_RULE.get(rule) or _OF_OPTIMIZATION.get(optimization)
    if make is None:
        return NoEdit(f"{optimization} takes decisions that cannot be made mechanically")
    try:
        program = Program.read(source, path)
        change = make(program.kernel(kernel), lines)
    except Refused as refused:
        return NoEdit(str(refused))
    return Edit(change.title, change.assumes, program.data, change.replacements)
