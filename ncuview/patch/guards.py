"""The way from a kernel's body to a statement: the guards and loops around it, and which threads reach it.

``Way.to`` takes a ``Kernel`` and a node, and refuses whatever else stands around it.
``check_simple`` refuses kernels whose threads cooperate or whose code is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.accesses import is_constant
from ncuview.patch.constants import check_known_names
from ncuview.patch.other_thread import OtherThread, before, deeper, fresh
from ncuview.patch.patch import Refused, Replacement
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
    takes_values,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_HIDDEN = {
    *("lambda_expression", "gnu_asm_expression", "goto_statement", "labeled_statement", "try_statement"),
    *("preproc_if", "preproc_ifdef", "preproc_call", "preproc_def", "preproc_function_def", "preproc_include"),
}
_AXIS = re.compile(r"^(threadIdx|blockIdx|blockDim|gridDim)\.[xyz]$")
_READS_OR_WRITES = {"subscript_expression", "pointer_expression", "update_expression", "assignment_expression"}


@dataclass(frozen=True)
class Guard:
    """An ``if`` that decides whether threads reach a statement.

    Attributes:
        node: The if statement.
        condition: What it tests.
        leaves: Whether it is an early exit: the statement is reached where the condition does not hold.
    """

    node: Node
    condition: Node
    leaves: bool


@dataclass(frozen=True)
class Way:
    """What stands around a statement of a kernel.

    Attributes:
        statement: The statement.
        guards: The guards, outermost first.
        loops: The ``for`` loops, outermost first.
        outermost: The statement of the kernel's body that holds it.
    """

    statement: Node
    guards: Sequence[Guard]
    loops: Sequence[Node]
    outermost: Node

    @classmethod
    def to(cls, kernel: Kernel, statement: Node) -> Way:
        """The way to a statement.

        Raises:
            Refused: It is in the branch of an ``else``, in another loop than ``for``, or code before it may leave.
        """
        guards: list[Guard] = []
        loops: list[Node] = []
        inner = statement
        for place in above(statement):
            if place.type == "compound_statement":
                guards = [*_exits(kernel, place, inner), *guards]
            elif place.type == "if_statement":
                if _inside(inner, place.child_by_field_name("alternative")):
                    raise Refused(f"line {line_of(statement)} is in the branch of an else")
                guards.insert(0, Guard(place, _condition(place), leaves=False))
            elif place.type == "for_statement":
                check_completes(place)
                loops.insert(0, place)
            elif place.type != "else_clause":
                raise Refused(f"line {line_of(statement)} is inside another statement than if and for")
            if place == kernel.body:
                break
            inner = place
        return cls(statement, guards, loops, inner)


def _inside(node: Node, place: Node | None) -> bool:
    return place is not None and place.start_byte <= node.start_byte and node.end_byte <= place.end_byte


def _condition(node: Node) -> Node:
    parts = meaningful(child(node, "condition"))
    if len(parts) != 1:
        raise Refused(f"line {line_of(node)} declares a variable in its condition")
    _check_pure(parts[0])
    return parts[0]


def _check_pure(node: Node) -> None:
    for each in within(node):
        if each.type in _READS_OR_WRITES or each.type == "call_expression":
            raise Refused(f"the condition on line {line_of(node)} depends on memory or a call")


def _exits(kernel: Kernel, block: Node, inner: Node) -> list[Guard]:
    """The early exits of a block before a statement in it."""
    found = []
    for statement in meaningful(block):
        if statement.start_byte >= inner.start_byte:
            break
        leaving = [node for node in within(statement) if node.type in _JUMPS]
        if not leaving:
            continue
        exits = statement.type == "if_statement" and statement.child_by_field_name("alternative") is None
        body = child(statement, "consequence") if exits else statement
        only = meaningful(body) if body.type == "compound_statement" else [body]
        if [each.type for each in only] != ["return_statement"] or block != kernel.body:
            raise Refused(f"line {line_of(leaving[0])} may leave the code before line {line_of(inner)}")
        found.append(Guard(statement, _condition(statement), leaves=True))
    return found


_JUMPS = {"return_statement", "break_statement", "continue_statement"}


def check_completes(loop: Node) -> None:
    """Require a loop that only its condition ends.

    Raises:
        Refused: Something in it may leave it, or an iteration.
    """
    for node in within(loop):
        if node.type in _JUMPS:
            raise Refused(f"line {line_of(node)} may leave the loop on line {line_of(loop)}")


def check_simple(kernel: Kernel) -> None:
    """Require a kernel whose threads do not cooperate, and whose code is completely visible.

    Raises:
        Refused: It has shared memory, barriers, atomic functions, calls, assembly, or code of the preprocessor.
    """
    check_known_names(kernel)
    program = kernel.program
    for node in kernel.nodes:
        if node.type in _HIDDEN:
            raise Refused(f"line {line_of(node)} hides code in a way that is not understood")
        if node.type in {"type_qualifier", "storage_class_specifier"} and program.text(node) == "__shared__":
            raise Refused(f"line {line_of(node)} uses shared memory already")
        index = node.type == "identifier" and program.text(node) in {"threadIdx", "blockIdx", "blockDim", "gridDim"}
        if index and (node.parent is None or not _AXIS.match(program.text(node.parent))):
            raise Refused(f"line {line_of(node)} uses {program.text(node)} in a way that is not understood")
    for name, node in kernel.calls():
        if re.match(r"__sync|__shfl|__ballot|atomic[A-Z]", name):
            raise Refused(f"line {line_of(node)} calls {name}: threads cooperate already")
        if not takes_values(name) and not is_pure(kernel.program, name):
            raise Refused(f"line {line_of(node)} calls {name}, whose effects are not known")


def is_pure(program: Program, name: str, depth: int = 0) -> bool:
    """Whether a function of this file computes from its arguments' values alone, and changes nothing else."""
    definitions = program.functions.get(name, ())
    head = function_declarator(definitions[0]) if len(definitions) == 1 else None
    if head is None or definitions[0].has_error or program.in_macros(name) or depth > _DEEPEST:
        return False
    parts = list(within(definitions[0]))
    if any(each.type in _HIDDEN | _IMPURE or program.text(each) in _SHARED for each in parts):
        return False
    local = program.declared_in(definitions[0])
    if program.changed_in(child(definitions[0], "body")) - local.keys():
        return False
    read = {program.text(child(each, "argument")) for each in parts if each.type == "subscript_expression"}
    if not all(each in local or is_constant(program, each) for each in read):
        return False
    called = {program.text(child(each, "function")) for each in parts if each.type == "call_expression"}
    return all(takes_values(each) or is_pure(program, each, depth + 1) for each in called)


_IMPURE = {"pointer_declarator", "abstract_pointer_declarator", "reference_declarator", "pointer_expression", "this"}
_SHARED = {"__shared__", "static", "volatile", "threadIdx", "blockIdx"}
_DEEPEST = 4


def open_exits(kernel: Kernel, exits: Sequence[Guard], outermost: Node) -> tuple[list[Replacement], int]:
    """Let threads that leave early go on to what follows a statement, past the code between exit and its end.

    Args:
        kernel: The kernel.
        exits: Early exits of the body before the statement.
        outermost: The statement; the caller closes the brace after it.

    Returns:
        The replacements, and the byte from which variables are hidden by the brace.
    """
    if not exits:
        return [], outermost.end_byte
    names = fresh(kernel, *["inside"] * len(exits))
    made = [
        Replacement(
            guard.node.start_byte,
            guard.node.end_byte,
            f"const bool {name} = !({kernel.program.text(guard.condition)});",
        )
        for guard, name in zip(exits, names, strict=True)
    ]
    last = exits[-1].node
    following = next(each for each in meaningful(kernel.body) if each.start_byte >= last.end_byte)
    opening = before(kernel, following, [f"if ({' && '.join(names)}) {{"])
    return [*made, opening, *deeper(kernel, last.end_byte, outermost.end_byte)], last.end_byte


def conjuncts(node: Node, *, negated: bool = False) -> list[tuple[Node, bool]]:
    """The conditions that must all hold for a condition, each with whether it is negated."""
    node = bare(node)
    if node.type == "unary_expression" and operator(node) == "!":
        return conjuncts(child(node, "argument"), negated=not negated)
    if node.type == "binary_expression" and operator(node) == ("||" if negated else "&&"):
        sides = child(node, "left"), child(node, "right")
        return [each for side in sides for each in conjuncts(side, negated=negated)]
    return [(node, negated)]


def in_and(other: OtherThread, guard: Guard) -> str:
    """A guard's condition for another thread, as a part of a conjunction."""
    condition = bare(guard.condition)
    loose = condition.type == "conditional_expression" or operator(condition) == "||"
    text = other.text(condition)
    return f"({text})" if loose else text
