"""Determine from a kernel's syntax tree how an array index changes between neighbouring threads along an axis.

``stride_of`` gives an index node's ``Stride``; ``varying`` lists the names that depend on the axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.program import Kernel, bare, child, operator, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40


class Stride(Enum):
    """The difference of an index between one thread and the next along an axis."""

    ZERO = 0
    ONE = 1
    LARGER = 2
    UNKNOWN = 3


def varying(kernel: Kernel, axis: str) -> frozenset[str]:
    """The names that may depend on ``threadIdx.x`` or another axis: variables, and pointers with ``[]`` for elements.

    A variable that a function, assembly or a reference may change counts as depending on every axis.
    """
    flows = list(_flows(kernel))
    found = {name for source, name in flows if _mentions(kernel, source, axis)}
    found |= _handed_out(kernel)
    words = [(_words(kernel, source), name) for source, name in flows]
    grown = True
    while grown:
        new = {name for used, name in words if name not in found and used & found}
        found |= new
        grown = bool(new)
    return frozenset(found)


def _handed_out(kernel: Kernel) -> set[str]:
    """The names that may change without a visible assignment."""
    found: set[str] = set()
    for node in kernel.of_type("call_expression", "gnu_asm_expression", "lambda_expression", "reference_declarator"):
        if node.type != "call_expression" or not takes_values(kernel.program.text(child(node, "function"))):
            found |= kernel.program.changed_in(node)
    return found


def _flows(kernel: Kernel) -> Iterator[tuple[Node, str]]:
    """Expressions, each with a name whose value or choice depends on it."""
    for name, all_declared in kernel.declared.items():
        for declared in all_declared:
            if declared.value is not None:
                yield declared.value, name
    for node in kernel.of_type("assignment_expression"):
        target, suffix = child(node, "left"), ""
        while target.type in {"subscript_expression", "field_expression", "pointer_expression"}:
            suffix = suffix if target.type == "field_expression" else "[]"
            target = child(target, "argument")
        yield child(node, "right"), kernel.program.text(target) + suffix
        if suffix:
            yield child(node, "left"), kernel.program.text(target) + suffix


def _words(kernel: Kernel, node: Node) -> frozenset[str]:
    """The names that an expression reads."""
    program = kernel.program
    found = set()
    for each in within(node):
        if each.type == "identifier":
            found.add(program.text(each))
        elif each.type in {"subscript_expression", "pointer_expression", "field_expression"}:
            found.add(program.text(child(each, "argument")) + "[]")
    return frozenset(found)


def depends(kernel: Kernel, node: Node, axis: str, names: frozenset[str]) -> bool:
    """Whether an expression depends on an axis, given the names that do."""
    return _mentions(kernel, node, axis) or bool(_words(kernel, node) & names)


def stride_of(kernel: Kernel, node: Node, axis: str, names: frozenset[str], depth: int = 0) -> Stride:
    """The stride of an index between one thread and the next along an axis such as ``threadIdx.x``.

    Args:
        kernel: The kernel with the index.
        node: The index.
        axis: The axis, as it is written.
        names: The result of ``varying`` for that axis.
        depth: How many names have been resolved.
    """
    node = bare(node)
    if not depends(kernel, node, axis, names):
        return Stride.ZERO
    step = partial(stride_of, kernel, axis=axis, names=names, depth=depth + 1)
    if depth > _DEEPEST:
        return Stride.UNKNOWN
    if node.type == "field_expression":
        return Stride.ONE if kernel.program.text(node) == axis else Stride.UNKNOWN
    if node.type == "identifier":
        return _stride_of_name(kernel, node, axis, names, depth)
    if node.type == "cast_expression":
        return step(child(node, "value"))
    if node.type == "binary_expression" and operator(node) in {"+", "-"}:
        left, right = step(child(node, "left")), step(child(node, "right"))
        if Stride.UNKNOWN in {left, right}:
            return Stride.UNKNOWN
        both = left is not Stride.ZERO and right is not Stride.ZERO
        return Stride.LARGER if both else max(left, right, key=lambda each: each.value)
    if node.type == "binary_expression" and operator(node) == "*":
        sides = child(node, "left"), child(node, "right")
        if any(constant(kernel.program, side) == 1 for side in sides):
            return max((step(side) for side in sides), key=lambda each: each.value)
        kinds = {step(side) for side in sides}
        return Stride.UNKNOWN if Stride.UNKNOWN in kinds else Stride.LARGER
    return Stride.UNKNOWN


def _stride_of_name(kernel: Kernel, node: Node, axis: str, names: frozenset[str], depth: int) -> Stride:
    name = kernel.program.text(node)
    value = kernel.value_of(name)
    if value is None:
        value = start_of_counter(kernel, name, axis, names)
    return Stride.UNKNOWN if value is None else stride_of(kernel, value, axis, names, depth + 1)


def start_of_counter(kernel: Kernel, name: str, axis: str, names: frozenset[str]) -> Node | None:
    """The initial value of a counter that all threads change by the same amount."""
    declared = kernel.declared.get(name, ())
    if len(declared) != 1 or declared[0].value is None or name in _handed_out(kernel):
        return None
    for node in kernel.of_type("assignment_expression"):
        if kernel.program.text(child(node, "left")) == name:
            even = operator(node) in {"+=", "-="} and not depends(kernel, child(node, "right"), axis, names)
            if not even:
                return None
    return declared[0].value


def _mentions(kernel: Kernel, node: Node, axis: str) -> bool:
    return any(each.type == "field_expression" and kernel.program.text(each) == axis for each in within(node))
