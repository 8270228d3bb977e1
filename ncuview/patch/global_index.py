"""Find a kernel's global index along an axis of the grid, and the bound beyond which threads do nothing.

``guarded`` takes a ``Kernel`` and an axis -> ``Guard``; it raises ``Refused`` where no bound is proven.
``is_global_index`` recognises ``blockIdx * blockDim + threadIdx``, ``reads`` code that may access memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.launches import block_of
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, bare, child, line_of, meaningful, operator, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node


def reads(kernel: Kernel, node: Node) -> bool:
    """Whether an expression may access memory, or call a function that does."""
    if node.type == "field_expression":
        return operator(node) == "->"
    if node.type == "call_expression":
        return not takes_values(kernel.program.text(child(node, "function")))
    return node.type in {"subscript_expression", "pointer_expression"}


@dataclass(frozen=True)
class Guard:
    """The bound of a kernel's global index: threads at or beyond it do nothing.

    Attributes:
        indices: The variables that hold the index.
        bound: The node of the bound in a condition.
        places: The code that only threads below the bound run.
        leaving: The statement ``if (i >= n) return;``; None where ``places`` are bodies of ``if (i < n)``.
    """

    indices: frozenset[str]
    bound: Node
    places: tuple[Node, ...]
    leaving: Node | None


def guarded(kernel: Kernel, axis: int) -> Guard:
    """The bound of the global index along an axis, beyond which threads neither read nor write memory.

    Raises:
        Refused: There is none, or other code accesses memory.
    """
    found = _guard(kernel, axis)
    for node in kernel.nodes:
        inside = any(place.start_byte <= node.start_byte and node.end_byte <= place.end_byte for place in found.places)
        if not inside and reads(kernel, node):
            text = kernel.program.text(found.bound)
            raise Refused(f"line {line_of(node)} also accesses memory in threads beyond the bound {text}")
    return found


def _guard(kernel: Kernel, axis: int) -> Guard:
    indices, letter = global_indices(kernel, axis), "xyz"[axis]
    if not indices:
        raise Refused(f"no bound stops threads: {kernel.name} has no global index along {letter}")
    for statement in meaningful(kernel.body):
        if statement.type == "declaration":
            if any(reads(kernel, node) for node in within(statement)):
                break
            continue
        if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
            test = next((bare(each) for each in meaningful(child(statement, "condition"))), statement)
            if _leaves(child(statement, "consequence")) and (end := _at_least(kernel, test, indices)) is not None:
                return Guard(indices, end, (kernel.body,), statement)
        break
    bounds: dict[str, Node] = {}
    inside: list[Node] = []
    for node in kernel.of_type("if_statement"):
        test = next((bare(each) for each in meaningful(child(node, "condition"))), node)
        bound = _below(kernel, test, indices)
        if bound is not None:
            bounds[kernel.program.text(bound)] = bound
            inside += [child(node, "consequence"), child(node, "condition")]
    if len(bounds) != 1:
        raise Refused(f"no bound stops threads along {letter}")
    return Guard(indices, next(iter(bounds.values())), tuple(inside), None)


def global_indices(kernel: Kernel, axis: int) -> frozenset[str]:
    """The variables that hold ``blockIdx * blockDim + threadIdx`` of an axis and never change."""
    return frozenset(
        name
        for name in kernel.declared
        if (value := kernel.value_of(name)) is not None and is_global_index(kernel, value, axis)
    )


def is_global_index(kernel: Kernel, node: Node, axis: int) -> bool:
    """Whether an expression is ``blockIdx * blockDim + threadIdx`` of an axis; a number may stand for the size."""
    letter = "xyz"[axis]
    node = uncast(kernel, node)
    if node.type != "binary_expression" or operator(node) != "+":
        return False
    sides = [uncast(kernel, child(node, side)) for side in ("left", "right")]
    for thread, product in (sides, sides[::-1]):
        if _resolved(kernel, thread) != f"threadIdx.{letter}" or product.type != "binary_expression":
            continue
        factors = [uncast(kernel, child(product, side)) for side in ("left", "right")]
        for block, size in (factors, factors[::-1]):
            if operator(product) == "*" and _resolved(kernel, block) == f"blockIdx.{letter}":
                return _resolved(kernel, size) == f"blockDim.{letter}" or _is_block_size(kernel, size, axis)
    return False


def _is_block_size(kernel: Kernel, node: Node, axis: int) -> bool:
    """Whether a constant is the block's size in every launch."""
    value = constant(kernel.program, node)
    try:
        return value is not None and value == block_of(kernel)[axis]
    except Refused:
        return False


def _resolved(kernel: Kernel, node: Node) -> str:
    """The text of an expression, or of the value of the variable that it is."""
    node = uncast(kernel, node)
    value = kernel.value_of(kernel.program.text(node)) if node.type == "identifier" else None
    return kernel.program.text(node if value is None else uncast(kernel, value))


_WIDENS = re.compile(r"(?:const\s+)?(?:unsigned(?: int)?|int|(?:unsigned )?long(?: long)?|size_t|u?int(?:32|64)_t)")


def uncast(kernel: Kernel, node: Node) -> Node:
    """The value inside casts to integers of at least 32 bits."""
    node = bare(node)
    while True:
        if node.type == "cast_expression" and _WIDENS.fullmatch(kernel.program.text(child(node, "type"))):
            node = child(node, "value")
        elif node.type == "call_expression" and re.fullmatch(
            rf"static_cast<{_WIDENS.pattern}>|{_WIDENS.pattern}", kernel.program.text(child(node, "function"))
        ):
            arguments = meaningful(child(node, "arguments"))
            if len(arguments) != 1:
                return node
            node = bare(arguments[0])
        else:
            return node


def _leaves(consequence: Node) -> bool:
    inside = meaningful(consequence) if consequence.type == "compound_statement" else [consequence]
    return [each.type for each in inside] == ["return_statement"]


def _at_least(kernel: Kernel, test: Node, indices: frozenset[str]) -> Node | None:
    """``n`` of ``i >= n``, also among conditions of which one is enough."""
    test = bare(test)
    if test.type != "binary_expression":
        return None
    left, right = child(test, "left"), child(test, "right")
    if operator(test) == "||":
        first = _at_least(kernel, left, indices)
        return first or (
            None if any(reads(kernel, each) for each in within(left)) else _at_least(kernel, right, indices)
        )
    if operator(test) == ">=" and _is_index(kernel, left, indices):
        return right
    return left if operator(test) == "<=" and _is_index(kernel, right, indices) else None


def _below(kernel: Kernel, test: Node, indices: frozenset[str]) -> Node | None:
    """``n`` of ``i < n``, also among conditions that must all hold."""
    test = bare(test)
    if test.type != "binary_expression":
        return None
    left, right = child(test, "left"), child(test, "right")
    if operator(test) == "&&":
        second = None if any(reads(kernel, each) for each in within(left)) else _below(kernel, right, indices)
        return _below(kernel, left, indices) or second
    if operator(test) == "<" and _is_index(kernel, left, indices):
        return right
    return left if operator(test) == ">" and _is_index(kernel, right, indices) else None


def _is_index(kernel: Kernel, node: Node, indices: frozenset[str]) -> bool:
    return kernel.program.text(uncast(kernel, node)) in indices
