"""The statements, functions and calls of a program, Python or CUDA C++, by line -> ``Code``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ncuview.patch.program import parse

if TYPE_CHECKING:
    from tree_sitter import Node


class Place(NamedTuple):
    """A statement of a program, or one of its functions: its first and its last line."""

    first: int
    last: int

    def __contains__(self, line: object) -> bool:
        """Whether a line is one of it."""
        return isinstance(line, int) and self.first <= line <= self.last


class Named(NamedTuple):
    """A function that is defined or called, and where."""

    name: str
    place: Place


class Code(NamedTuple):
    """What the labels of a program are compared with."""

    lines: tuple[str, ...]
    statements: tuple[Place, ...]
    """Without the bodies of loops and functions."""
    functions: tuple[Named, ...]
    calls: tuple[Named, ...]
    """Those by a name alone."""

    def statements_with(self, text: str) -> list[Place]:
        """The innermost statements with this text in one of their lines."""
        return [self._innermost(number) for number, line in enumerate(self.lines, 1) if text in line]

    def calls_of_function_with(self, line: int) -> set[int]:
        """The lines that call the functions with a line: a function that a compiler runs leaves no frame."""
        names = {function.name for function in self.functions if line in function.place}
        return {call.place.first for call in self.calls if call.name in names}

    def _innermost(self, line: int) -> Place:
        around = [place for place in self.statements if line in place]
        return min(around, key=lambda place: place.last - place.first, default=Place(line, line))


@cache
def code_of(source: Path) -> Code:
    """The code of a program.

    Args:
        source: Its file, ``.py`` or ``.cu``.

    Raises:
        SyntaxError, Refused: It cannot be parsed.
    """
    text = source.read_text(encoding="utf-8")
    read = _of_cuda if source.suffix == ".cu" else _of_python
    return Code(tuple(text.splitlines()), *read(text))


def _of_python(text: str) -> tuple[tuple[Place, ...], tuple[Named, ...], tuple[Named, ...]]:
    nodes = list(ast.walk(ast.parse(text)))
    functions = [Named(node.name, _python_place(node)) for node in nodes if isinstance(node, ast.FunctionDef)]
    calls = [
        Named(node.func.id, _python_place(node))
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    statements = [_python_head(node) for node in nodes if isinstance(node, ast.stmt)]
    return tuple(statements), tuple(functions), tuple(calls)


def _python_place(node: ast.stmt | ast.expr) -> Place:
    return Place(node.lineno, node.end_lineno or node.lineno)


def _python_head(node: ast.stmt) -> Place:
    """The lines of a statement before the body that it may have."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return Place(node.lineno, max(node.lineno, last))


def _of_cuda(text: str) -> tuple[tuple[Place, ...], tuple[Named, ...], tuple[Named, ...]]:
    nodes = list(_below(parse(text.encode())))
    functions = [Named(_cuda_name(node), _cuda_place(node)) for node in nodes if node.type == "function_definition"]
    calls = [
        Named(_text(called), _cuda_place(node))
        for node in nodes
        if node.type == "call_expression"
        and (called := node.child_by_field_name("function"))
        and called.type == "identifier"
    ]
    statements = [_cuda_head(node) for node in nodes if _is_statement(node)]
    return tuple(statements), tuple(functions), tuple(calls)


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _below(child)


def _is_statement(node: Node) -> bool:
    ends = ("_statement", "declaration", "function_definition")
    return node.type.endswith(ends) and node.type not in {"compound_statement", "parameter_declaration"}


def _cuda_name(function: Node) -> str:
    """The bare name of a function, without its namespaces and classes."""
    declarator = function.child_by_field_name("declarator")
    while declarator and (inner := declarator.child_by_field_name("declarator")):
        declarator = inner
    return _text(declarator).rpartition("::")[2] if declarator else ""


def _cuda_place(node: Node) -> Place:
    return Place(node.start_point.row + 1, node.end_point.row + 1)


def _cuda_head(node: Node) -> Place:
    """The lines of a statement before the body that it may have."""
    first, last = _cuda_place(node)
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    return Place(first, max(first, body.start_point.row) if body else last)


def _text(node: Node) -> str:
    return (node.text or b"").decode()
