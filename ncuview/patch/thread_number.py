"""Prove that a kernel's threads are independent, each on the elements of its global index, and find the index's bound.

``bound_of_threads`` takes a ``Kernel`` and returns the parameter's name, or raises ``Refused``.
Such a kernel may be launched with any block size. ``check_numbered`` proves less: with the same number of threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import check_known_names
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, bare, child, line_of, meaningful, operator, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

_BEFORE = r"(?:blockIdx\.x\*blockDim\.x|blockDim\.x\*blockIdx\.x)"
_NUMBER = re.compile(rf"{_BEFORE}\+threadIdx\.x|threadIdx\.x\+{_BEFORE}")
_ALL_THREADS = {"gridDim.x*blockDim.x", "blockDim.x*gridDim.x"}
_OF_THREADS = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}


def bound_of_threads(kernel: Kernel) -> str:
    """The parameter that bounds a thread's global index: threads at or beyond it do nothing.

    Raises:
        Refused: Threads cooperate, depend on the block otherwise, or are not bounded by a parameter.
    """
    number, totals = check_numbered(kernel), _matching(kernel, _ALL_THREADS)
    loops = [node for node in kernel.of_type("for_statement") if _is_over(kernel, node, number)]
    guarded: Sequence[Node]
    if loops:
        bound, guarded = _bound_of_loop(kernel, loops, number, totals), loops
    elif totals:
        raise Refused(f"line {line_of(totals[0])} uses the total number of threads outside a loop over the data")
    elif (leaving := _early_exit(kernel, number)) is not None:
        bound, guarded = leaving, [kernel.body]
    else:
        bound, guarded = _bound_of_branches(kernel, number)
    if bound not in kernel.parameters or bound in kernel.changed:
        raise Refused(
            f"no parameter stops threads of {kernel.name} beyond the end of the data, and larger blocks may add some"
        )
    _check_nothing_else_acts(kernel, guarded)
    return bound


def check_numbered(kernel: Kernel) -> str:
    """The variable of the global index, by which alone threads differ: any blocks with as many threads do the same.

    Raises:
        Refused: Threads cooperate, or depend on the block otherwise.
    """
    check_known_names(kernel)
    _check_threads_are_alone(kernel)
    return _number(kernel)


def covers_by_loop(kernel: Kernel) -> bool:
    """Whether threads go on by the number of all threads, so that any grid covers the data."""
    return bool(_matching(kernel, _ALL_THREADS))


def _check_threads_are_alone(kernel: Kernel) -> None:
    program = kernel.program
    for node in kernel.nodes:
        shared = node.type == "type_qualifier" and program.text(node) == "__shared__"
        if shared or node.type in {"lambda_expression", "gnu_asm_expression", "preproc_call", "preproc_ifdef"}:
            raise Refused(f"line {line_of(node)} may depend on which threads share a block")
    for name, node in kernel.calls():
        if not takes_values(name) and not re.match(r"atomic[A-Z]", name):
            raise Refused(f"line {line_of(node)} calls {name}, which may depend on the block")


def _number(kernel: Kernel) -> str:
    """The one variable that holds the thread's global index."""
    named = [
        name
        for name, all_declared in kernel.declared.items()
        for declared in all_declared
        if declared.value is not None and _NUMBER.fullmatch(_dense(kernel, bare(declared.value)))
    ]
    sums = [node for node in kernel.of_type("binary_expression") if _NUMBER.fullmatch(_dense(kernel, node))]
    counted = [*sums, *_matching(kernel, _ALL_THREADS)]
    for node in kernel.of_type("identifier"):
        if kernel.program.text(node) in _OF_THREADS and not _inside(node, counted):
            raise Refused(f"line {line_of(node)} uses {kernel.program.text(node)} for more than the global index")
    if len(named) != 1 or len(sums) != 1 or len(kernel.declared[named[0]]) != 1:
        raise Refused(f"{kernel.name} does not keep its global index in one variable")
    return named[0]


def _matching(kernel: Kernel, texts: set[str]) -> list[Node]:
    return [node for node in kernel.of_type("binary_expression") if _dense(kernel, node) in texts]


def _dense(kernel: Kernel, node: Node) -> str:
    """The text of a short expression without spaces and parentheses, which do not matter in sums of one product."""
    return re.sub(r"[\s()]", "", kernel.program.text(node)) if node.end_byte - node.start_byte < 200 else ""


def _bound_of_loop(kernel: Kernel, loops: Sequence[Node], number: str, totals: Sequence[Node]) -> str:
    """``n`` of ``for (int i = number; i < n; i += all threads)``."""
    (loop,) = loops
    condition, update = child(loop, "condition"), child(loop, "update")
    step = child(update, "right") if update.type == "assignment_expression" else update
    alias = kernel.value_of(kernel.program.text(step)) if step.type == "identifier" else step
    strides = operator(update) == "+=" and alias is not None and _dense(kernel, alias) in _ALL_THREADS
    changes = [
        node for node in within(child(loop, "body")) if node.type in {"assignment_expression", "update_expression"}
    ]
    moved = any(
        kernel.program.text(child(node, "left" if node.type[0] == "a" else "argument")) == number for node in changes
    )
    bound = _below(kernel, condition, number)
    if not strides or len(totals) != 1 or moved or bound is None:
        raise Refused(f"the loop on line {line_of(loop)} does not have the total number of threads as its stride")
    return bound


def _is_over(kernel: Kernel, node: Node, number: str) -> bool:
    initializer = node.child_by_field_name("initializer")
    if initializer is None or initializer.type != "declaration":
        return False
    return any(name == number for name, _ in kernel.program.declarations(initializer))


def _below(kernel: Kernel, node: Node, number: str) -> str | None:
    """``n`` of ``i < n``, also among conditions that must all hold."""
    node = bare(node)
    if node.type != "binary_expression":
        return None
    left, right = child(node, "left"), child(node, "right")
    if operator(node) == "&&":
        return _below(kernel, left, number) or _below(kernel, right, number)
    if operator(node) == "<" and kernel.program.text(left) == number:
        return kernel.program.text(right)
    return kernel.program.text(left) if operator(node) == ">" and kernel.program.text(right) == number else None


def _early_exit(kernel: Kernel, number: str) -> str | None:
    """``n`` of ``if (i >= n) return;`` where only declarations come before it."""
    program = kernel.program
    for statement in meaningful(kernel.body):
        if statement.type == "declaration":
            if any(node.type in {"subscript_expression", "pointer_expression"} for node in within(statement)):
                return None
            continue
        if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
            return None
        consequence = child(statement, "consequence")
        leaves = meaningful(consequence) if consequence.type == "compound_statement" else [consequence]
        test = next((bare(each) for each in meaningful(child(statement, "condition"))), statement)
        if [each.type for each in leaves] != ["return_statement"] or test.type != "binary_expression":
            return None
        left, right = program.text(child(test, "left")), program.text(child(test, "right"))
        if operator(test) == ">=" and left == number:
            return right
        return left if operator(test) == "<=" and right == number else None
    return None


def _bound_of_branches(kernel: Kernel, number: str) -> tuple[str, list[Node]]:
    """The bound of ``if (i < n)``, and the statements that depend on it."""
    bounds, inside = set(), []
    for node in kernel.of_type("if_statement"):
        condition = next(iter(meaningful(child(node, "condition"))), None)
        bound = _below(kernel, condition, number) if condition is not None else None
        if bound is not None:
            bounds.add(bound)
            inside += [child(node, "consequence"), child(node, "condition")]
    if len(bounds) != 1:
        raise Refused(f"{kernel.name} does not stop threads beyond the end of the data, and larger blocks may add some")
    return bounds.pop(), inside


def _check_nothing_else_acts(kernel: Kernel, guarded: Iterable[Node]) -> None:
    """Require that only threads below the bound read or write memory."""
    places = list(guarded)
    for node in kernel.of_type("subscript_expression", "pointer_expression", "call_expression"):
        if not _inside(node, places):
            raise Refused(f"line {line_of(node)} also accesses memory in threads beyond the end of the data")


def _inside(node: Node, places: Iterable[Node]) -> bool:
    return any(place.start_byte <= node.start_byte and node.end_byte <= place.end_byte for place in places)
