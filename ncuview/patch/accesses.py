"""Find a kernel's accesses to global memory, with their arrays and indices.

``accesses`` takes a ``Kernel`` and its ``Algebra`` -> ``Access``es. A pointer of the kernel's own, such as
``const float *row = in + y * n``, counts as the parameter that it comes from, and its offset as a part of the index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.index_algebra import Algebra, Polynomial
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, Program, above, bare, child, line_of, meaningful, operator

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 8


@dataclass(frozen=True)
class Access:
    """An element of a global array that is read or stored.

    Attributes:
        node: The subscript expression.
        array: The pointer parameter.
        index: Its index; None where it is no polynomial.
        stores: Whether it is the target of an assignment.
    """

    node: Node
    array: str
    index: Polynomial | None
    stores: bool


def accesses(kernel: Kernel, algebra: Algebra) -> list[Access]:
    """Every access to global memory in the body, in the order of the text.

    Raises:
        Refused: An address is taken or dereferenced, or an array is neither a parameter nor the kernel's own.
    """
    made = [
        each.value
        for all_declared in kernel.declared.values()
        for each in all_declared
        if each.value is not None and each.stars == 1 and operator(each.value) == "&"
    ]
    for node in kernel.of_type("pointer_expression"):
        if node not in made:
            raise Refused(f"line {line_of(node)} uses a pointer in a way that is not understood")
    for name, node in kernel.calls():
        if name.startswith("__ld"):
            raise Refused(f"line {line_of(node)} loads by {name}")
    found = []
    for node in kernel.of_type("subscript_expression"):
        if _is_own(kernel, node):
            continue
        outer = node.parent
        if outer is not None and outer.type == "pointer_expression" and outer in made:
            continue  # the offset of a pointer
        indices = meaningful(child(node, "indices"))
        array, offset = _base(kernel, algebra, child(node, "argument"))
        try:
            index = algebra.polynomial(indices[0]) if len(indices) == 1 else None
        except Refused:
            index = None
        whole = node
        while whole.parent is not None and whole.parent.type == "field_expression":
            whole = whole.parent
        outer = whole.parent
        target = outer is not None and outer.type == "assignment_expression" and child(outer, "left") == whole
        if outer is not None and (outer.type == "update_expression" or (target and whole != node)):
            raise Refused(f"line {line_of(node)} changes a part of an element")
        found.append(Access(node, array, None if index is None or offset is None else index + offset, target))
    return found


def _is_own(kernel: Kernel, node: Node) -> bool:
    """Whether a subscript selects from an array of the thread's own, or from constant memory."""
    while node.type == "subscript_expression":
        node = child(node, "argument")
    program, name = kernel.program, kernel.program.text(node)
    if node.type != "identifier" or name in kernel.parameters:
        return False
    declared = kernel.declared.get(name, ())
    if declared:
        return len(declared) == 1 and bool(declared[0].sizes)
    return is_constant(program, name)


def is_constant(program: Program, name: str) -> bool:
    """Whether a name is declared as ``__constant__`` memory, which no kernel writes."""
    return any(
        "__constant__" in each.qualifiers
        for declaration in program.index["declaration"]
        for found, each in program.declarations(declaration)
        if found == name
    )


def _base(kernel: Kernel, algebra: Algebra, node: Node, depth: int = 0) -> tuple[str, Polynomial | None]:
    """The parameter that a pointer comes from, and its offset; None where that is no polynomial."""
    node = bare(node)
    name = kernel.program.text(node)
    if name in kernel.parameters and kernel.parameters[name].stars == 1:
        return name, Polynomial({})
    value = kernel.value_of(name) if node.type == "identifier" else node
    if value is None or depth > _DEEPEST:
        raise Refused(f"line {line_of(node)} accesses {name}, which is no pointer parameter")
    if value.type == "identifier":
        return _base(kernel, algebra, value, depth + 1)
    if value.type == "binary_expression" and operator(value) == "+":
        base, added = child(value, "left"), child(value, "right")
    elif value.type == "pointer_expression" and child(value, "argument").type == "subscript_expression":
        element = child(value, "argument")
        base, added = child(element, "argument"), meaningful(child(element, "indices"))[0]
    else:
        raise Refused(f"line {line_of(node)} accesses {name}, which is no pointer parameter")
    array, offset = _base(kernel, algebra, base, depth + 1)
    try:
        return array, None if offset is None else offset + algebra.polynomial(added)
    except Refused:
        return array, None


def statement_of(access: Access) -> Node:
    """The statement that makes an access whenever it runs.

    Raises:
        Refused: The access is made under a condition.
    """
    for node in above(access.node):
        if node.type in {"conditional_expression", "if_statement", "for_statement"} or (
            node.type == "binary_expression" and operator(node) in {"&&", "||"}
        ):
            raise Refused(f"line {line_of(access.node)} makes the access under a condition")
        if node.type in {"expression_statement", "declaration"}:
            return node
    raise Refused(f"line {line_of(access.node)} makes the access outside a statement")
