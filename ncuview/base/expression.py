"""Compile the arithmetic of rule and kernel files to a checked ``Expression``, evaluated on float64 NumPy columns.

``compile_expression`` takes text and allowed names; ``Expression.evaluate`` takes a column per name (NaN: unknown).
Numbers, names, arithmetic, comparisons, logic, min, max, abs and where are allowed; a column has an entry per launch.
Each entry is finite or NaN. A truth value is 1.0 or 0.0. A comparison with an unknown is unknown, so are a division by
zero and an overflow, and ``and``/``or`` follow Kleene's logic (``false and unknown`` is false). So a missing counter
never counts as a number, nor as a pass.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ncuview.base.errors import UnsafeExpression
from ncuview.base.suggestion import suggestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Step = Callable[[Mapping[str, Column]], Column]

MAX_LENGTH = 4096
MAX_DEPTH = 32
MAX_PARTS = 256
"""Numbers, names and operations; the longest shipped expression has 54."""
_LETTERS = re.compile(r"[\w\s.+\-*/<>=!(),]*+")
"""The characters of arithmetic; others are refused before Python's parser runs."""
_OF_NCU = "__"
"""The separator in every hardware metric's name, between unit and counter."""
_SHOWN = 80
"""Characters of an expression that a message repeats."""


@dataclass(frozen=True)
class Expression:
    """A checked expression.

    Attributes:
        text: As written in the file.
        names: The aliases or metric names that it reads.
    """

    text: str
    names: frozenset[str]
    _step: Step = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, Column]) -> Column:
        """Its value for each launch; ``values`` holds a column of one length for each of ``names``, or scalars."""
        with np.errstate(all="ignore"):
            return np.asarray(self._step(values), dtype=np.float64)


def compile_expression(text: str, names: Iterable[str] | None = None, *, dotted: bool = False) -> Expression:
    """Parse ``text`` and refuse everything but numbers, names, arithmetic, comparisons, logic and four functions.

    Args:
        text: The expression.
        names: The names it may use; None allows any.
        dotted: Whether names may be Nsight Compute's own, with dots (``sm__warps_active.avg``), besides ``names``.

    Raises:
        UnsafeExpression: It holds anything else, a name is unknown, or it is too large.
    """
    if len(text) > MAX_LENGTH:
        raise UnsafeExpression(f"expression of {len(text)} characters; at most {MAX_LENGTH} are allowed")
    end = _LETTERS.match(text).end()  # type: ignore[union-attr]  # matches nothing at least
    if end < len(text):
        raise UnsafeExpression(f"{text[end]!r} at column {end + 1} is not allowed in an expression: {_shown(text)}")
    compiler = _Compiler(text, None if names is None else frozenset(names), dotted)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a syntax warning of Python ("1or 2") is an error here
            step = compiler.step(ast.parse(text.strip(), mode="eval").body, 0)
    except (
        SyntaxError,
        SyntaxWarning,
        DeprecationWarning,
        ValueError,
        OverflowError,
        RecursionError,
        MemoryError,
    ) as error:
        raise UnsafeExpression(f"not an expression{_place(text, error)}: {_shown(text)}") from error
    return Expression(text, frozenset(compiler.used), step)


def _place(text: str, error: Exception) -> str:
    """`` at column 7`` of ``text``, where Python's parser names one on the first line."""
    if not isinstance(error, SyntaxError) or error.offset is None or error.lineno != 1:
        return ""
    column = error.offset + len(text) - len(text.lstrip())
    return f" at column {column}" if error.offset > 0 and column <= len(text.rstrip()) else " at its end"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _finite(column: Column) -> Column:
    return np.where(np.isfinite(column), column, np.nan)


def _known(step: Callable[..., Column]) -> Callable[..., Column]:
    """Wrap a comparison so that it is NaN wherever an operand is."""

    def compare(left: Column, right: Column) -> Column:
        unknown = np.isnan(left) | np.isnan(right)
        return np.where(unknown, np.nan, step(left, right))

    return compare


def _bounded(step: Callable[..., Column]) -> Callable[..., Column]:
    """Wrap an operation so that it is NaN where its result is not finite."""
    return lambda left, right: _finite(step(left, right))


def _both(left: Column, right: Column) -> Column:
    return np.where((left == 0) | (right == 0), 0.0, np.where(np.isnan(left) | np.isnan(right), np.nan, 1.0))


def _negated(value: Column) -> Column:
    return np.where(np.isnan(value), np.nan, np.asarray(value) == 0)


def _either(left: Column, right: Column) -> Column:
    return _negated(_both(_negated(left), _negated(right)))


def _where(condition: Column, then: Column, otherwise: Column) -> Column:
    return np.where(np.isnan(condition), np.nan, np.where(condition != 0, then, otherwise))


ARITHMETIC: Mapping[type[ast.operator], Callable[..., Column]] = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _bounded(np.divide),
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[..., Column]] = {
    ast.Lt: _known(operator.lt),
    ast.LtE: _known(operator.le),
    ast.Gt: _known(operator.gt),
    ast.GtE: _known(operator.ge),
    ast.Eq: _known(operator.eq),
    ast.NotEq: _known(operator.ne),
}
UNARY: Mapping[type[ast.unaryop], Callable[..., Column]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: _negated,
}
FUNCTIONS: Mapping[str, tuple[Callable[..., Column], range, str]] = {
    "min": (lambda *values: reduce(np.minimum, values), range(2, 9), "the smallest; unknown if any is"),
    "max": (lambda *values: reduce(np.maximum, values), range(2, 9), "the largest; unknown if any is"),
    "abs": (np.abs, range(1, 2), "without its sign"),
    "ceil": (np.ceil, range(1, 2), "the smallest integer that is not less"),
    "where": (_where, range(3, 4), "the second where the first holds, else the third; unknown if the first is"),
}
"""What computes a function, how many arguments it takes, and its value for the reference page."""


class _Compiler:
    """Converts a parsed expression to a function that computes it."""

    def __init__(self, text: str, allowed: frozenset[str] | None, dotted: bool) -> None:
        self._text = text
        self._allowed = allowed
        self._dotted = dotted
        self._parts = 0
        self.used: set[str] = set()

    def step(self, node: ast.expr, depth: int) -> Step:
        if depth > MAX_DEPTH:
            raise UnsafeExpression(f"nested more than {MAX_DEPTH} deep: {_shown(self._text)}")
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise UnsafeExpression(f"more than {MAX_PARTS} parts: {_shown(self._text)}")
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() | float() as number) if math.isfinite(number):
                constant = np.float64(number)
                return lambda _: constant  # type: ignore[return-value,unused-ignore]
            case ast.Name() | ast.Attribute():
                return self._name(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return self._apply(ARITHMETIC[type(op)], [left, right], depth)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
                return self._apply(UNARY[type(op)], [operand], depth)
            case ast.BoolOp(op=op, values=values):
                combine = _both if isinstance(op, ast.And) else _either
                return self._apply(lambda *parts: reduce(combine, parts), values, depth)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
                function, arity, _ = FUNCTIONS[name]
                if len(arguments) in arity:
                    return self._apply(function, arguments, depth)
        raise self._not_allowed(ast.unparse(node))

    def _not_allowed(self, part: str) -> UnsafeExpression:
        return UnsafeExpression(f"{_shown(part)} is not allowed in an expression: {_shown(self._text)}")

    def _apply(self, function: Callable[..., Column], operands: list[ast.expr], depth: int) -> Step:
        steps = [self.step(operand, depth + 1) for operand in operands]
        return lambda values: function(*(step(values) for step in steps))

    def _comparison(self, node: ast.Compare, depth: int) -> Step:
        terms = [self.step(term, depth + 1) for term in (node.left, *node.comparators)]
        compares = [COMPARISONS.get(type(op)) for op in node.ops]
        if None in compares:
            raise self._not_allowed(ast.unparse(node))

        def chain(values: Mapping[str, Column]) -> Column:
            columns = [term(values) for term in terms]
            return reduce(_both, (f(a, b) for f, a, b in zip(compares, columns, columns[1:], strict=False) if f))

        return chain

    def _name(self, node: ast.Name | ast.Attribute) -> Step:
        name = ast.unparse(node)
        known = self._allowed is not None and name in self._allowed  # such as gpu.blocks_per_ns
        dotted = self._dotted and all(part.isidentifier() for part in name.split("."))
        plain = isinstance(node, ast.Name) or known or dotted
        if not plain:
            raise self._not_allowed(name)
        of_ncu = self._dotted and _OF_NCU in name
        if self._allowed is not None and name not in self._allowed and not of_ncu:
            raise UnsafeExpression(
                f"unknown name {_shown(name)} in {_shown(self._text)}{suggestion(name, self._allowed)}"
            )
        self.used.add(name)
        return lambda values: _finite(values[name])
