"""Recognise counting ``for`` loops in a kernel's syntax tree: counter, first value, step and number of iterations.

``counted`` takes a ``Kernel`` and a for statement's node, and returns ``Counted`` or None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.program import Kernel, bare, child, meaningful, operator, within

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class Counted:
    """``for (int i = first; i < bound; i += step)`` whose body does not change the counter.

    Attributes:
        node: The loop.
        name: The counter.
        first: Its first value; None where the source does not fix it.
        step: The increment per iteration, negative where it counts down; None where the source does not fix it.
        iterations: Their number without ``break``; None where the source does not fix it.
    """

    node: Node
    name: str
    first: int | None
    step: int | None
    iterations: int | None


def counted(kernel: Kernel, node: Node) -> Counted | None:
    """A for statement as a counting loop, or None where it is none."""
    program = kernel.program
    fields = [node.child_by_field_name(name) for name in ("initializer", "condition", "update", "body")]
    initializer, condition, update, body = fields
    if initializer is None or condition is None or update is None or body is None:
        return None
    start = _start(kernel, initializer)
    condition = bare(condition)
    if start is None or condition.type != "binary_expression" or operator(condition) not in _HOLDS:
        return None
    name, value = start
    moves, step = _step(kernel, bare(update), name)
    in_body = {program.text(each) for each in within(body) if each.type == "identifier"} & program.changed_in(body)
    if program.text(child(condition, "left")) != name or not moves or name in in_body:
        return None
    bound = child(condition, "right")
    moving = {program.text(each) for each in within(bound) if each.type == "identifier"} & program.changed_in(body)
    if moving or name in {program.text(each) for each in within(bound)}:
        return None
    first, last = constant(program, value), constant(program, bound)
    iterations = (
        None if first is None or last is None or step is None else _iterations(first, operator(condition), last, step)
    )
    return Counted(node, name, first, step, iterations)


def _start(kernel: Kernel, initializer: Node) -> tuple[str, Node] | None:
    if initializer.type == "declaration":
        found = [
            (name, declared.value)
            for name, declared in kernel.program.declarations(initializer)
            if declared.value is not None
        ]
        return found[0] if found else None
    node = meaningful(initializer)[0] if initializer.type == "expression_statement" else bare(initializer)
    if node.type == "assignment_expression" and operator(node) == "=":
        return kernel.program.text(child(node, "left")), child(node, "right")
    return None


def _step(kernel: Kernel, update: Node, name: str) -> tuple[bool, int | None]:
    """Whether the counter changes by the same amount in each iteration, and by which."""
    program = kernel.program
    if update.type == "update_expression" and program.text(child(update, "argument")) == name:
        return True, 1 if operator(update) == "++" else -1
    if update.type != "assignment_expression" or program.text(child(update, "left")) != name:
        return False, None
    right = child(update, "right")
    words = {program.text(each) for each in within(right) if each.type == "identifier"}
    steady = not words & kernel.changed and not any(each.type in _UNSTEADY for each in within(right))
    by = constant(program, right)
    if operator(update) not in {"+=", "-="} or by == 0 or not steady:
        return False, None
    return True, -by if by is not None and operator(update) == "-=" else by


_UNSTEADY = {"call_expression", "subscript_expression", "pointer_expression"}


def _iterations(first: int, comparison: str, last: int, step: int) -> int | None:
    if not _HOLDS[comparison](first, last):
        return 0
    distance = last - first + {"<=": 1, ">=": -1}.get(comparison, 0)
    if distance * step <= 0 or (comparison == "!=" and distance % step):
        return None  # the loop ends by overflow, or never
    return -(-distance // step)


_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "!=": lambda a, b: a != b,
}
