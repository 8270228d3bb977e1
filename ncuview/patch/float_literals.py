"""Make the patch that gives double literals the suffix ``f``, and math calls their float form, in float expressions.

``float_literals`` takes a ``Kernel`` -> ``Change``; it edits only expressions that are otherwise single precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.arithmetic import DOUBLE, MATH, Arithmetic, Kind, of_type, own_functions
from ncuview.patch.constants import integer
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, bare, child, line_of, meaningful, within

if TYPE_CHECKING:
    from tree_sitter import Node

_SMALLEST_NORMAL, _LARGEST = 2.0**-126, float(2**128 - 2**104)
_COMPUTES = {
    "binary_expression",
    "unary_expression",
    "conditional_expression",
    "parenthesized_expression",
    "cast_expression",
    "call_expression",
    "argument_list",
}


def float_literals(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Give the suffix f to literals, and the f form to functions, wherever all else is single precision.

    Literals that share an expression with a double, or with a value whose type the source does not show, stay.

    Args:
        kernel: The kernel.
        lines: The lines where the finding saw double precision; one of them must change.

    Raises:
        Refused: Nothing changes there.
    """
    literals: list[Node] = []
    functions: list[Node] = []
    unchanged: list[Node] = []
    for function in own_functions(kernel):
        for literal, expression in _doubles(kernel, function):
            names = _singled(kernel, function, expression)
            if names is None:
                unchanged.append(literal)
            else:
                literals += [literal] if literal.type == "number_literal" else []
                functions += names
    changed = [*literals, *functions]
    if not changed and unchanged:
        line = line_of(unchanged[0])
        raise Refused(f"line {line} computes with a double, or with a type that the source does not show")
    if not changed:
        raise Refused(
            f"{kernel.name} and functions that only it calls have no double literal and no double-precision function"
        )
    if lines and not any(_near(node, lines) for node in changed):
        raise Refused("no literal on these lines can be made single precision safely")
    suffixes = [_suffix(kernel, node) for node in literals]
    renamed = [Replacement(node.end_byte, node.end_byte, "f") for node in functions]
    return Change(
        "Compute in single precision: literals with the suffix f",
        "results may change within rounding: float instead of double, about 7 decimal digits instead of 16",
        tuple(dict.fromkeys([*suffixes, *renamed])),
        approximates=True,
    )


def _near(node: Node, lines: Sequence[int]) -> bool:
    """Whether the statement of a literal has a part on the lines."""
    statement = node
    while statement.parent is not None and not statement.type.endswith(("statement", "declaration")):
        statement = statement.parent
    return any(line_of(statement) <= line <= statement.end_point.row + 1 for line in lines)


def _doubles(kernel: Kernel, function: Node) -> Iterator[tuple[Node, Node]]:
    """Double literals, and calls that are double because of integers, each with its complete expression."""
    for node in within(child(function, "body")):
        literal = node.type == "number_literal" and _is_double(kernel.program.text(node))
        call = node.type == "call_expression" and kernel.program.text(child(node, "function")) in MATH
        if literal or call:
            expression = node
            while expression.parent is not None and expression.parent.type in _COMPUTES:
                if expression.parent.type == "argument_list" and not _is_math(kernel, expression.parent.parent):
                    break
                expression = expression.parent
            yield node, expression


def _is_double(text: str) -> bool:
    return integer(text) is None and bool(DOUBLE.match(text))


def _is_math(kernel: Kernel, call: Node | None) -> bool:
    """Whether the types of a call's arguments select its precision."""
    if call is None or call.type != "call_expression":
        return False
    function = child(call, "function")
    name = kernel.program.text(function).removeprefix("std::")
    known = name in MATH | {f"{each}f" for each in MATH} | {"min", "max", "abs"} or name.startswith("__f")
    return (known and not kernel.program.functions.get(name)) or function.type == "primitive_type"


def _singled(kernel: Kernel, function: Node, expression: Node) -> list[Node] | None:
    """The functions to rename so that an expression is single precision; None where that is not safe."""
    program = kernel.program
    literals = {
        node.start_byte
        for node in within(expression)
        if node.type == "number_literal" and _is_double(program.text(node)) and _fits(program.text(node))
    }
    plain = Arithmetic(program, function, frozenset(literals))
    names = [
        child(node, "function")
        for node in within(expression)
        if node.type == "call_expression"
        and program.text(child(node, "function")) in MATH
        and not program.functions.get(program.text(child(node, "function")))
        and (_integers(plain, node) or any(part.start_byte in literals for part in within(node)))
    ]
    single = Arithmetic(program, function, frozenset(literals | {node.start_byte for node in names}))
    kinds = single.all_kinds(expression)
    if kinds & {Kind.DOUBLE, Kind.UNKNOWN} or not _goes_to_single(kernel, function, expression):
        return None
    return names if literals or names else None


def _integers(arithmetic: Arithmetic, call: Node) -> bool:
    """Whether all arguments are integers, which select the double form of a function."""
    return any(arithmetic.kind(each) is Kind.INTEGER for each in meaningful(child(call, "arguments")))


def _fits(text: str) -> bool:
    """Whether a literal stays a normal number in single precision, or zero."""
    value = abs(float(text.replace("'", "")))
    return value == 0 or _SMALLEST_NORMAL <= value <= _LARGEST


def _goes_to_single(kernel: Kernel, function: Node, expression: Node) -> bool:
    """Whether the value of an expression is used as float or integer, or only compared."""
    program, outer = kernel.program, expression.parent
    arithmetic = Arithmetic(program, function)
    if outer is None:
        return False
    match outer.type:
        case "init_declarator":
            declaration = outer.parent
            named = (
                []
                if declaration is None
                else [d for _, d in program.declarations(declaration) if d.declarator == outer]
            )
            return bool(named) and all(d.stars == 0 and of_type(d.type) in {Kind.FLOAT, Kind.INTEGER} for d in named)
        case "assignment_expression":
            in_value = child(outer, "right") == bare(expression)
            return in_value and arithmetic.kind(child(outer, "left")) in {Kind.FLOAT, Kind.INTEGER}
        case "return_statement":
            kind = function.child_by_field_name("type")
            return kind is not None and of_type(program.text(kind)) is Kind.FLOAT
        case "condition_clause" | "for_statement" | "subscript_argument_list" | "expression_statement":
            return True
        case _:
            return False


def _suffix(kernel: Kernel, literal: Node) -> Replacement:
    text = kernel.program.text(literal)
    is_integer = not any(letter in text for letter in ".eE")
    return Replacement(literal.end_byte, literal.end_byte, ".0f" if is_integer else "f")
