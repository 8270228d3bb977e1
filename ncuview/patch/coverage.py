"""Prove that the grid of every launch reaches the bound of a kernel's global index along an axis.

``check_covered`` takes a ``Kernel``, an axis and the bound's node in the kernel; it raises ``Refused`` if unsure.
The grid must have at least as many threads as the bound: by numbers, or by the shape ``(n + size - 1) / size``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.launches import (
    Launch,
    argument_kinds,
    block_of,
    extent_parts,
    front_matter,
    initial_value,
    launches_in_source,
    value_at_sizes,
)
from ncuview.patch.patch import Refused
from ncuview.patch.program import (
    Kernel,
    Program,
    above,
    bare,
    child,
    function_declarator,
    line_of,
    meaningful,
    operator,
    within,
)
from ncuview.patch.python_launch import constant as constant_in_python
from ncuview.patch.python_launch import python_launch

if TYPE_CHECKING:
    from tree_sitter import Node


def check_covered(kernel: Kernel, axis: int, bound: Node) -> bool:
    """Prove that no launch ends before the bound; whether the bound's value is known.

    Raises:
        Refused: A grid may end before it.
    """
    program, name = kernel.program, kernel.program.text(bound)
    value = constant(program, bound)
    if value is None and (name not in kernel.parameters or name in kernel.changed):
        raise Refused(f"the bound {name} is no parameter and no constant")
    text, found, python = front_matter(kernel), launches_in_source(kernel), python_launch(kernel)
    place = list(kernel.parameters).index(name) if value is None else 0
    if python is not None:
        if not python.reaches(axis, value, place):
            raise Refused(f"the grid of the launch on line {python.line} is not shown to reach {name}")
        return value is not None or constant_in_python(python.python, python.arguments[place]) is not None
    if text is None and not found:
        raise Refused(f"no launch of {kernel.name} is in this file")
    if text is not None:
        end = value if value is not None else value_at_sizes(text, argument_kinds(kernel)[name].value)
        if value_at_sizes(text, text.launch.grid[axis]) * block_of(kernel)[axis] < end:
            raise Refused(f"the grid of the front matter ends before the bound {name}")
    for launch in found:
        if not _covers(kernel, launch, axis, bound):
            raise Refused(f"the grid of the launch on line {line_of(launch.node)} is not shown to reach {name}")
    passed = [launch.arguments[place] for launch in found]
    return value is not None or all(constant(program, argument) is not None for argument in passed)


def _covers(kernel: Kernel, launch: Launch, axis: int, bound: Node) -> bool:
    program = kernel.program
    grid, block = (extent_parts(program, node) for node in (launch.grid, launch.block))
    if axis >= len(grid) or axis >= len(block) or len(launch.arguments) > len(kernel.parameters):
        return False
    count = bound
    if constant(program, bound) is None:
        place = list(kernel.parameters).index(program.text(bound))
        if place >= len(launch.arguments):
            return False
        count = bare(launch.arguments[place])
    blocks, threads, end = (constant(program, node) for node in (grid[axis], block[axis], count))
    if blocks is not None and threads is not None and end is not None:
        return blocks * threads >= end
    size = block[axis]
    total = _value(program, grid[axis])
    if any(not _within(node, launch.node) for node in (total, size)) and _moves(kernel, launch, (total, size, count)):
        return False
    return _rounds_up(kernel, launch, total, count, size)


def _value(program: Program, node: Node) -> Node:
    """The initial value of a variable that never changes, else the node itself."""
    node = bare(node)
    value = initial_value(program, node) if node.type == "identifier" else None
    return bare(value[0]) if value is not None and len(value) == 1 else node


def _within(node: Node, place: Node) -> bool:
    return place.start_byte <= node.start_byte and node.end_byte <= place.end_byte


def _moves(kernel: Kernel, launch: Launch, nodes: Sequence[Node]) -> bool:
    """Whether a name in these expressions may change, or mean another variable, between one of them and the launch."""
    program = kernel.program
    function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
    names = {program.text(each) for node in nodes for each in within(node) if each.type == "identifier"}
    if function is None:
        return True
    declared = program.declared_in(function)
    return any(program.may_change(function, name) or len(declared.get(name, ())) > 1 for name in names)


def _rounds_up(kernel: Kernel, launch: Launch, grid: Node, count: Node, size: Node) -> bool:
    """Whether an expression is ``(count + size - 1) / size``, or larger."""
    program = kernel.program
    if grid.type == "call_expression":
        return _calls_division(kernel, launch, grid, count, size)
    if grid.type != "binary_expression":
        return False
    left, right = child(grid, "left"), child(grid, "right")
    if operator(grid) == "+" and (constant(program, right) or 0) >= 1 and left.type == "binary_expression":
        # (count - 1) / size + 1, or count / size + 1
        inner = child(left, "left")
        shortened = (
            inner.type == "binary_expression"
            and operator(inner) == "-"
            and constant(program, child(inner, "right")) == 1
            and _same(kernel, launch, child(inner, "left"), count)
        )
        divides = operator(left) == "/" and _same(kernel, launch, child(left, "right"), size)
        return divides and (shortened or _same(kernel, launch, inner, count))
    if operator(grid) != "/" or not _same(kernel, launch, right, size):
        return False
    terms = list(_terms(left, 1))
    counts = [(node, sign) for node, sign in terms if _same(kernel, launch, node, count)]
    others = [(node, sign) for node, sign in terms if (node, sign) not in counts[:1]]
    if not counts or counts[0][1] != 1:
        return False
    whole = [(node, sign) for node, sign in others if sign == 1 and _same(kernel, launch, node, size)]
    numbers = [constant(program, node) for node, sign in others if (node, sign) not in whole[:1]]
    if None in numbers:
        return False
    signs = [sign for node, sign in others if (node, sign) not in whole[:1]]
    added = sum(sign * int(number or 0) for number, sign in zip(numbers, signs, strict=True))
    threads = constant(program, size)
    return added >= -1 if whole else threads is not None and added >= threads - 1


def _terms(node: Node, sign: int) -> list[tuple[Node, int]]:
    """The terms of a sum with their signs."""
    node = bare(node)
    if node.type == "binary_expression" and operator(node) in {"+", "-"}:
        second = sign if operator(node) == "+" else -sign
        return [*_terms(child(node, "left"), sign), *_terms(child(node, "right"), second)]
    return [(node, sign)]


def _same(kernel: Kernel, launch: Launch, one: Node, other: Node) -> bool:
    """Whether two host expressions have one value: the same text of names, or the same number."""
    program = kernel.program
    first, second = constant(program, one), constant(program, other)
    if first is not None and second is not None:
        return first == second
    texts = [_dense(kernel, launch, each) for each in (one, other)]
    return texts[0] == texts[1] and not any(each.type == "call_expression" for each in within(one))


_CASTS = re.compile(r"\((?:unsigned|int|size_t|longlong|long|unsignedint)\)|\b(?:unsigned|int|size_t)(?=\()")


def _dense(kernel: Kernel, launch: Launch, node: Node) -> str:
    """The text without spaces, casts and outer parentheses, with ``block.x`` as the block's own size."""
    program = kernel.program
    text = _CASTS.sub("", re.sub(r"\s", "", program.text(node)))
    if launch.block.type == "identifier":
        name = program.text(launch.block)
        for letter, part in zip("xyz", extent_parts(program, launch.block), strict=False):
            text = re.sub(rf"\b{name}\.{letter}\b", re.sub(r"\s", "", program.text(part)), text)
    while text.startswith("(") and text.endswith(")") and "(" not in text[1:-1]:
        text = text[1:-1]
    return text


def _calls_division(kernel: Kernel, launch: Launch, call: Node, count: Node, size: Node) -> bool:
    """Whether a call is of a function of this file that returns ``(a + b - 1) / b`` of its two parameters."""
    program = kernel.program
    found = program.functions.get(program.text(child(call, "function")), ())
    arguments = meaningful(child(call, "arguments"))
    if len(found) != 1 or len(arguments) != 2:
        return False
    head = function_declarator(found[0])
    listed = (
        [name for node in meaningful(child(head, "parameters")) for name, _ in program.declarations(node)]
        if head
        else []
    )
    body = meaningful(child(found[0], "body"))
    if len(listed) != 2 or [each.type for each in body] != ["return_statement"]:
        return False
    text = re.sub(r"[\s()]", "", program.text(body[0]).removeprefix("return")).rstrip(";")
    one, other = listed
    if text not in {f"{one}+{other}-1/{other}", f"{one}-1+{other}/{other}", f"{one}-1/{other}+1"}:
        return False
    return _same(kernel, launch, arguments[0], count) and _same(kernel, launch, arguments[1], size)
