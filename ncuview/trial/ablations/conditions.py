"""Make the ablation without divergence: all lanes of a warp take the branch of one of them (``uniform_condition``).

Which lane decides differs from block to block and warp to warp, so that each lane's choice is taken as often as before:
the work stays, and no warp executes both sides. A condition on loaded values is decided by the first active lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, child, line_of, meaningful, on_lines, within
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.lanes import WARP, Indices, X, lanes_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DECIDING = f"(({X} & ~31u) + (({X} / 32u + blockIdx.x) & 31u))"
"""Another lane in each block, and in each warp of a block."""
_FIRST_ACTIVE = "__shfl_sync(__activemask(), (int)({condition}), __ffs(__activemask()) - 1)"


def uniform_condition(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Let all lanes of each warp take the same side of the branches on these lines.

    Args:
        kernel: The kernel.
        lines: The lines with divergent branches; empty for the complete kernel.

    Raises:
        Refused: No branch there depends on the lane, or it only keeps threads off the end of the data.
    """
    if lanes_of(kernel).width < WARP:
        raise Refused("a warp spans several rows of the block, so threadIdx.x alone does not name its lanes")
    indices = Indices(kernel)
    made, where, decided = [], [], []
    for node in kernel.of_type("if_statement", "while_statement", "for_statement", "conditional_expression"):
        condition = _condition(node)
        if condition is None or (lines and not _belongs(node, condition, lines)) or not indices.of_lane(condition):
            continue
        if node.type == "if_statement" and (_leaves(node) or _keeps_in_bounds(indices, condition)):
            continue
        if any(kernel.program.text(each) == "__syncthreads" for each in within(node) if each.type == "identifier"):
            raise Refused(f"the branch on line {line_of(node)} holds a barrier, which some warps would not reach")
        decided.append(node)
        made.append(Replacement(condition.start_byte, condition.end_byte, _uniform(indices, condition)))
        where.append(str(line_of(node)))
    if not made:
        raise Refused("no branch on these lines depends on the lane, but for leaving at the end of the data")
    title = f"Let each warp decide as one of its lanes on line {' and '.join(dict.fromkeys(where))}: the work stays"
    accesses = {"subscript_expression", "pointer_expression", "call_expression"}
    in_bounds = not any(each.type in accesses for node in decided for each in within(node))
    return Ablation(Change(title, "", tuple(made)), in_bounds)


def _condition(node: Node) -> Node | None:
    found = node.child_by_field_name("condition")
    if found is not None and found.type == "condition_clause":
        inner = meaningful(found)
        return inner[0] if len(inner) == 1 else None
    return found


def _belongs(node: Node, condition: Node, lines: Sequence[int]) -> bool:
    """Whether the lines hold the branch itself, or code that it decides about."""
    return on_lines(condition, lines) or (node.type == "if_statement" and on_lines(node, lines))


def _leaves(node: Node) -> bool:
    """Whether a branch only ends the thread: threads beyond the end of the data."""
    consequence = child(node, "consequence")
    steps = meaningful(consequence) if consequence.type == "compound_statement" else [consequence]
    return [each.type for each in steps] == ["return_statement"]


def _keeps_in_bounds(indices: Indices, condition: Node) -> bool:
    """Whether a condition compares the thread's number in the grid, as that for the end of the data does."""
    try:
        return "blockIdx" in indices.with_thread(condition, X)
    except Refused:
        return False


def _uniform(indices: Indices, condition: Node) -> str:
    try:
        return indices.with_thread(condition, _DECIDING)
    except Refused:
        program = indices.kernel.program
        if any(each.type in {"assignment_expression", "update_expression"} for each in within(condition)):
            raise Refused(f"line {line_of(condition)} changes a value in its condition") from None
        return _FIRST_ACTIVE.format(condition=program.text(condition))
