"""Evaluate the indices of a kernel for single threads, from its syntax tree: which elements the lanes of a warp access.

This knows nothing of how ablations are made: it computes what C++ would, name by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.program import Kernel, Program, bare, child, meaningful, operator

if TYPE_CHECKING:
    from tree_sitter import Node

Names = Mapping[str, int]
_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if a * b >= 0 else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "&": lambda a, b: a & b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "==": lambda a, b: int(a == b),
}


def kernel_of(source: str, name: str = "k") -> Kernel:
    """A kernel of a source."""
    return Program.read(source, "a.cu").kernel(name)


def accesses(kernel: Kernel, text: str) -> list[Node]:
    """The complete element accesses on the line that begins with a text."""
    lines = kernel.program.data.decode().split("\n")
    (line,) = [at for at, each in enumerate(lines) if each.strip().startswith(text)]
    found = [node for node in kernel.of_type("subscript_expression") if node.start_point.row == line]
    return [node for node in found if node.parent is None or node.parent.type != "subscript_expression"]


def value(kernel: Kernel, node: Node, names: Names) -> int:
    """An integer, or a pointer as the number of elements from the start of its array.

    Args:
        kernel: The kernel.
        node: The expression.
        names: The values of variables and of ``threadIdx.x`` and the like; pointers without a value are arrays.
    """
    node, text = bare(node), kernel.program.text(bare(node))
    if text in names:
        return names[text]
    match node.type:
        case "number_literal":
            return int(text.rstrip("uUlL"), 0)
        case "identifier":
            fixed = constant(kernel.program, node)
            return fixed if fixed is not None else _of_name(kernel, text, names)
        case "cast_expression":
            return value(kernel, child(node, "value"), names)
        case "unary_expression":
            inner = value(kernel, child(node, "argument"), names)
            return {"~": ~inner, "-": -inner, "+": inner}[operator(node)]
        case "pointer_expression" if operator(node) == "&":
            return value(kernel, child(node, "argument"), names)
        case "call_expression":  # unsigned(x)
            return value(kernel, meaningful(child(node, "arguments"))[0], names)
        case "binary_expression":
            left, right = (value(kernel, child(node, side), names) for side in ("left", "right"))
            return _OPERATIONS[operator(node)](left, right)
        case "subscript_expression":
            return _of_element(kernel, node, names)
    raise AssertionError(f"{node.type}: {text}")


def _of_name(kernel: Kernel, name: str, names: Names) -> int:
    (declared,) = kernel.declared[name]
    if declared.value is None:
        assert declared.stars or declared.sizes, f"{name} has no value"
        return 0
    return value(kernel, declared.value, names)


def _of_element(kernel: Kernel, node: Node, names: Names) -> int:
    indices: list[Node] = []
    place = node
    while place.type == "subscript_expression":
        indices.insert(0, meaningful(child(place, "indices"))[0])
        place = child(place, "argument")
    start = value(kernel, place, names)
    sizes = kernel.declared[kernel.program.text(place)][0].sizes if place.type == "identifier" else ()
    for at, index in enumerate(indices):
        scale = 1
        for size in sizes[at + 1 :]:
            assert size is not None
            scale *= value(kernel, size, names)
        start += value(kernel, index, names) * scale
    return start


def of_warp(kernel: Kernel, node: Node, names: Names, *, first: int = 0, width: int = 32) -> list[int]:
    """The elements that the 32 lanes of a warp access, in blocks of rows of ``width`` threads.

    Args:
        kernel: The kernel.
        node: The access.
        names: The values of variables; those of threadIdx are added.
        first: The threadIdx.x of the first lane.
        width: The threads of a row, if fewer than 32.
    """
    row = names.get("threadIdx.y", 0)
    return [
        value(kernel, node, {**names, "threadIdx.x": first + lane % width, "threadIdx.y": row + lane // width})
        for lane in range(32)
    ]


def sectors(elements: Sequence[int], size: int) -> int:
    """How many sectors of 32 bytes these elements of ``size`` bytes lie in."""
    return len({element * size // 32 for element in elements})


def conflicts(elements: Sequence[int], size: int) -> int:
    """The most different words that lanes served together access in one bank."""
    together = max(1, 128 // max(4, size))
    worst = 1
    for start in range(0, 32, together):
        lanes = elements[start : start + together]
        words = {element * size // 4 + part for element in lanes for part in range(max(1, size // 4))}
        worst = max(worst, *Counter(word % 32 for word in words).values())
    return worst
