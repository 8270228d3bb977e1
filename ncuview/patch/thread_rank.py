"""Number the threads of a block, for code that all of them share: ``thread_rank`` gives rank and number as C++."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.launches import Launch, extent_parts, front_matter, launches_in_source
from ncuview.patch.program import Kernel, above

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGERS = re.compile(r"(?:unsigned|signed|int|long|size_t|u?int\d+_t|\s)+")


def thread_rank(kernel: Kernel) -> tuple[str, str]:
    """The thread's rank in its block and the number of threads, as expressions: of x alone where blocks are rows.

    Raises:
        Refused: Launches outside this file are possible.
    """
    text, found = front_matter(kernel), launches_in_source(kernel)
    rows = text is None or all(extent == "1" for extent in text.launch.block[1:])
    if rows and all(_is_row(kernel, launch) for launch in found) and (found or text is not None):
        return "threadIdx.x", "blockDim.x"
    rank = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
    return rank, "blockDim.x * blockDim.y * blockDim.z"


def _is_row(kernel: Kernel, launch: Launch) -> bool:
    """Whether the blocks of a launch have one axis."""
    parts = extent_parts(kernel.program, launch.block)
    if len(parts) > 1:
        return all(constant(kernel.program, part) == 1 for part in parts[1:])
    return parts[0].start_byte != launch.block.start_byte or _is_number(kernel, launch, parts[0])


def _is_number(kernel: Kernel, launch: Launch, node: Node) -> bool:
    program = kernel.program
    if node.type in {"number_literal", "binary_expression"} or constant(program, node) is not None:
        return True
    function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
    declared = program.declared_in(function).get(program.text(node), ()) if function is not None else ()
    return bool(declared) and all(each.stars == 0 and _INTEGERS.fullmatch(each.type) for each in declared)
