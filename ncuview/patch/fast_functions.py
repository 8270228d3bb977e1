"""Make the patch that replaces single-precision math calls and divisions by CUDA's fast intrinsics (``__sinf``).

``fast_functions`` takes a ``Kernel`` and lines, and returns a ``Change``, which states that results are less exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.arithmetic import Arithmetic, Kind, own_functions
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, bare, child, meaningful, on_lines, operator, within

if TYPE_CHECKING:
    from tree_sitter import Node

_FAST = {name: f"__{name}f" for name in ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow")}
FAST = {**_FAST, **{f"{name}f": fast for name, fast in _FAST.items()}}
"""Function -> its fast form, for float arguments."""


def fast_functions(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Replace precise functions and divisions of floats on these lines by their fast forms.

    Args:
        kernel: The kernel.
        lines: The lines where precise functions cost instructions; empty for the complete kernel.

    Raises:
        Refused: These lines have no call or division that the source shows to be single precision.
    """
    names: dict[str, str] = {}
    replacements: list[Replacement] = []
    for function in own_functions(kernel):
        arithmetic = Arithmetic(kernel.program, function)
        for node in within(child(function, "body")):
            if lines and not on_lines(node, lines):
                continue
            if node.type == "call_expression":
                replacements += _faster_call(kernel, arithmetic, node, names)
            elif node.type == "binary_expression" and operator(node) == "/":
                replacements += _faster_division(kernel, arithmetic, node, names)
    if not replacements:
        raise Refused("these lines have no precise function and no division that is known to be single precision")
    instead = ", ".join(f"{fast} instead of {name}" for name, fast in names.items())
    return Change(
        f"Use {' and '.join(dict.fromkeys(names.values()))}",
        f"results may change within rounding: {instead}, with about 22 correct bits for arguments that are neither huge"
        " nor tiny",
        tuple(replacements),
        approximates=True,
    )


def _faster_call(kernel: Kernel, arithmetic: Arithmetic, node: Node, names: dict[str, str]) -> Iterator[Replacement]:
    function = child(node, "function")
    name = kernel.program.text(function)
    arguments = [arithmetic.kind(each) for each in meaningful(child(node, "arguments"))]
    overloaded = not name.endswith("f")
    allowed = {Kind.FLOAT} if overloaded else {Kind.FLOAT, Kind.INTEGER}
    if name in FAST and arguments and set(arguments) <= allowed and not kernel.program.functions.get(name):
        names[name] = FAST[name]
        yield Replacement(function.start_byte, function.end_byte, FAST[name])


def _faster_division(
    kernel: Kernel, arithmetic: Arithmetic, node: Node, names: dict[str, str]
) -> Iterator[Replacement]:
    """Division by a literal stays: the compiler knows its reciprocal."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if left is None or right is None or sign is None or bare(right).type == "number_literal":
        return
    kinds = {arithmetic.kind(left), arithmetic.kind(right)}
    if kinds <= {Kind.FLOAT, Kind.INTEGER} and arithmetic.kind(right) is Kind.FLOAT:
        names["/"] = "__fdividef"
        data = kernel.program.data
        gap = data[left.end_byte : sign.start_byte].decode("utf-8", "surrogateescape")
        begin = left.end_byte if not gap.strip(" ") else sign.start_byte
        yield Replacement(left.start_byte, left.start_byte, "__fdividef(")
        yield Replacement(begin, sign.end_byte, ",")
        yield Replacement(right.end_byte, right.end_byte, ")")
