"""Make the patch that pads the rows of a ``__shared__`` array by one word, which removes bank conflicts of columns.

``pad_tile`` takes a ``Kernel`` -> ``Change`` of declaration and indices, or raises ``Refused`` if a use is unknown.
It also refuses if static shared memory would exceed 48 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.constants import check_known_names, constant, integer
from ncuview.patch.indices import depends, varying
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Declared, Kernel, bare, child, line_of, meaningful, on_lines, operator

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = 4
_STATIC_LIMIT = 48 * 1024
BYTES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1,
    "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2,
    "float": 4, "int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "half2": 4, "__half2": 4,
    "double": 8, "long long": 8, "unsigned long long": 8, "int64_t": 8, "uint64_t": 8, "float2": 8, "int2": 8,
    "float4": 16, "int4": 16, "double2": 16,
}  # fmt: skip


@dataclass(frozen=True)
class _Use:
    """``tile[row][column]``, or ``tile[row * width + column]``.

    Attributes:
        node: The complete expression.
        row: The row's index.
        column: The column's index.
        width: The node with the length of a row; None where brackets separate row and column.
    """

    node: Node
    row: Sequence[Node]
    column: Sequence[Node]
    width: Node | None = None


def pad_tile(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Pad the rows of the tile whose columns these lines access by one word.

    Args:
        kernel: The kernel.
        lines: The lines with bank conflicts; empty for the complete kernel.

    Raises:
        Refused: No array can be padded with all its uses known.
    """
    tiles = [name for name, each in kernel.declared.items() if any("__shared__" in d.qualifiers for d in each)]
    meant = [name for name in tiles if any(not lines or on_lines(node, lines) for node in kernel.uses(name))]
    if not meant:
        raise Refused("these lines use no array that the kernel declares as __shared__")
    padded, replacements, refusals = [], [], []
    for name in meant:
        try:
            replacements += _padded(kernel, name, lines)
            padded.append(name)
        except Refused as refused:
            refusals.append(refused)
    if not padded:
        raise refusals[0]
    _check_size(kernel, padded)
    return Change(
        f"Pad {' and '.join(padded)} by one word per row",
        f"no index into {' or '.join(padded)} exceeds the end of a row to reach the next",
        tuple(replacements),
    )


def _padded(kernel: Kernel, name: str, lines: Sequence[int]) -> list[Replacement]:
    declared = kernel.declared[name]
    if any("extern" in each.qualifiers for each in declared):
        raise Refused(f"the size of {name} is given at the launch, not here")
    if any("__shared__" not in each.qualifiers or each.stars for each in declared):
        raise Refused(f"{name} is the name of several variables, or of pointers")
    if any(each.value is not None or None in each.sizes for each in declared):
        raise Refused(f"{name} is declared without a size in each dimension")
    if kernel.program.in_macros(name):
        raise Refused(f"a macro mentions {name}")
    dimensions = {len(each.sizes) for each in declared}
    if len(dimensions) != 1 or 0 in dimensions:
        raise Refused(f"{name} is not an array, or has several shapes")
    elements = {max(1, _WORD // BYTES.get(each.type, _WORD)) for each in declared}
    if len(elements) != 1:
        raise Refused(f"{name} is declared with types of different sizes")
    flat = dimensions == {1}
    if flat:
        check_known_names(kernel)
    uses = [_flat_use(kernel, node) if flat else _use(kernel, node, *dimensions) for node in kernel.uses(name)]
    _check_rows_differ(kernel, name, uses, lines)
    padding = elements.pop()
    return _in_index(kernel, name, uses, padding) if flat else _in_brackets(kernel, name, uses, padding)


def _use(kernel: Kernel, node: Node, dimensions: int) -> _Use:
    indices: list[Node] = []
    place = node
    while place.parent is not None and place.parent.type == "subscript_expression":
        if child(place.parent, "argument") != place:
            break
        place = place.parent
        subscripts = meaningful(child(place, "indices"))
        if len(subscripts) != 1:
            break
        indices.append(subscripts[0])
    _check_only_an_element(kernel, node, place, complete=len(indices) == dimensions)
    return _Use(place, indices[:-1], _terms(kernel, indices[-1]))


def _flat_use(kernel: Kernel, node: Node) -> _Use:
    place = node.parent
    subscripted = place is not None and place.type == "subscript_expression" and child(place, "argument") == node
    subscripts = meaningful(child(place, "indices")) if place is not None and subscripted else []
    _check_only_an_element(kernel, node, place or node, complete=len(subscripts) == 1)
    products: list[Node] = []
    column: list[Node] = []
    for term in _terms(kernel, subscripts[0]):
        (products if term.type == "binary_expression" and operator(term) == "*" else column).append(term)
    scaled = [sides for product in products if (sides := _row_and_width(kernel, product))]
    if len(products) != 1 or len(scaled) != 1:
        raise Refused(f"line {line_of(node)} does not index {kernel.program.text(node)} by row * constant + column")
    row, width = scaled[0]
    return _Use(place or node, [row], column, width)


def _check_only_an_element(kernel: Kernel, node: Node, place: Node, *, complete: bool) -> None:
    name, outer = kernel.program.text(node), place.parent
    while outer is not None and outer.type in {"parenthesized_expression", "field_expression"}:
        outer = outer.parent
    addressed = outer is not None and outer.type == "pointer_expression" and operator(outer) == "&"
    measured = outer is not None and outer.type == "sizeof_expression"
    if not complete or measured or (addressed and not _atomic(kernel, outer)):
        raise Refused(
            f"line {line_of(node)} takes the address of {name}, or of a row of it, so further accesses are unknown"
        )


def _atomic(kernel: Kernel, node: Node | None) -> bool:
    """Whether an address only selects the element that an atomic function changes."""
    call = node.parent.parent if node is not None and node.parent is not None else None
    is_call = call is not None and call.type == "call_expression"
    return bool(call and is_call and re.match(r"atomic[A-Z]\w*$", kernel.program.text(child(call, "function"))))


def _terms(kernel: Kernel, node: Node) -> list[Node]:
    """The parts of a sum."""
    node = bare(node)
    if node.type == "binary_expression" and operator(node) == "+":
        return [*_terms(kernel, child(node, "left")), *_terms(kernel, child(node, "right"))]
    return [node]


def _row_and_width(kernel: Kernel, product: Node) -> tuple[Node, Node] | None:
    left, right = child(product, "left"), child(product, "right")
    for row, width in ((left, right), (right, left)):
        if width.type in {"number_literal", "identifier"} and constant(kernel.program, width) is not None:
            return row, width
    return None


def _check_rows_differ(kernel: Kernel, name: str, uses: Sequence[_Use], lines: Sequence[int]) -> None:
    """Padding only helps where the lanes of a warp are in different rows."""
    names = varying(kernel, "threadIdx.x")
    here = [use for use in uses if not lines or on_lines(use.node, lines)]
    if not any(depends(kernel, row, "threadIdx.x", names) for use in here for row in use.row):
        raise Refused(f"the row index of {name} does not depend on threadIdx.x there, so padded rows change nothing")


def _check_not_padded(name: str, width: int | None, element: int) -> None:
    if width is not None and (width * element) % (2 * _WORD) and (width * element) % _WORD == 0:
        raise Refused(f"the rows of {name} are padded already: {width} elements are an odd number of words")


def _in_brackets(kernel: Kernel, name: str, uses: Sequence[_Use], padding: int) -> list[Replacement]:
    program = kernel.program
    for use in uses:
        fixed = all(constant(program, row) is not None for row in use.row)
        if fixed and any(constant(program, part) is None for part in use.column):
            raise Refused(f"line {line_of(use.node)} may exceed the end of a row of {name} on purpose")
    found = []
    for declared in kernel.declared[name]:
        size = declared.sizes[-1]
        if size is None:
            raise Refused(f"{name} is declared without a size in each dimension")
        element = BYTES.get(declared.type, _WORD)
        width = constant(program, size)
        _check_not_padded(name, width, element)
        if width is None and re.search(r"\+\s*\d+\s*$", program.text(size)):
            raise Refused(f"the rows of {name} are padded already")
        found += _plus(size, padding, bare(size))
    return found


def _plus(node: Node, padding: int, inner: Node) -> list[Replacement]:
    """``node + padding``, in parentheses where its operator has lower precedence than a sum."""
    loose = (
        inner == node
        and node.type not in {"number_literal", "identifier"}
        and not (node.type == "binary_expression" and operator(node) in {"+", "-", "*", "/", "%"})
    )
    opening = [Replacement(node.start_byte, node.start_byte, "(")] if loose else []
    return [*opening, Replacement(node.end_byte, node.end_byte, f"{')' if loose else ''} + {padding}")]


def _in_index(kernel: Kernel, name: str, uses: Sequence[_Use], padding: int) -> list[Replacement]:
    program = kernel.program
    texts = {program.text(use.width) for use in uses if use.width is not None}
    widths = {constant(program, use.width) for use in uses if use.width is not None}
    if len(widths) != 1 or len(texts) != 1:
        raise Refused(f"{name} is indexed by rows of different lengths: {', '.join(sorted(texts))}")
    width, text = widths.pop(), texts.pop()
    if width is None or width < 2:
        raise Refused(f"the length of a row of {name} is not known")
    replacements = []
    for declared in kernel.declared[name]:
        size = declared.sizes[0]
        total = constant(program, size) if size is not None else None
        if size is None or total is None or total % width:
            raise Refused(f"the size of {name} is not a multiple of its row length {width}")
        _check_not_padded(name, width, BYTES.get(declared.type, _WORD))
        for use in uses:
            _check_column(kernel, name, use, uses, width, total // width)
        replacements.append(_longer_size(kernel, size, text, width, total // width, padding))
    widths_used = [use.width for use in uses if use.width is not None]
    return replacements + [Replacement(each.start_byte, each.end_byte, f"({text} + {padding})") for each in widths_used]


def _longer_size(kernel: Kernel, size: Node, text: str, width: int, rows: int, padding: int) -> Replacement:
    program, inner = kernel.program, bare(size)
    if inner.type == "binary_expression" and operator(inner) == "*":
        for side in (child(inner, "right"), child(inner, "left")):
            if program.text(side) == text or (integer(program.text(side)) == width):
                return Replacement(side.start_byte, side.end_byte, f"({text} + {padding})")
    return Replacement(size.start_byte, size.end_byte, f"{rows} * ({text} + {padding})")


def _check_column(kernel: Kernel, name: str, use: _Use, uses: Sequence[_Use], width: int, rows: int) -> None:
    """A column's index must stay below the length of a row.

    It does if its greatest value is known to, and also if the same expression is the index of a row elsewhere: an index
    below the number of rows is below a row length that is not smaller.
    """
    highest = [_highest(kernel, term) for term in use.column]
    known = [value for value in highest if value is not None]
    if len(known) == len(highest) and sum(known) < width:
        return
    as_rows = [sorted(_meaning(kernel, term) for term in _terms(kernel, row)) for each in uses for row in each.row]
    if rows <= width and sorted(_meaning(kernel, term) for term in use.column) in as_rows:
        return
    raise Refused(f"line {line_of(use.node)} may index {name} beyond a row of {width}")


def _highest(kernel: Kernel, node: Node) -> int | None:
    """The greatest value of a term whose least value is zero, where the code shows it."""
    value = constant(kernel.program, node)
    if value is not None:
        return value if value >= 0 else None
    if node.type == "identifier":
        name = kernel.program.text(node)
        alias = kernel.value_of(name)
        if alias is not None:
            return _highest(kernel, alias)
        return _counter_limit(kernel, name)
    text = kernel.program.text(node)
    if text in {"threadIdx.x", "threadIdx.y", "threadIdx.z"}:
        from ncuview.patch.launches import block_of

        try:
            return block_of(kernel)["xyz".index(text[-1])] - 1
        except Refused:
            return None
    return None


def _counter_limit(kernel: Kernel, name: str) -> int | None:
    from ncuview.patch.loops import counted

    found = [loop for node in kernel.of_type("for_statement") if (loop := counted(kernel, node)) and loop.name == name]
    if len(found) != 1 or len(kernel.declared.get(name, ())) != 1:
        return None
    (loop,) = found
    first, count, step = loop.first, loop.iterations, loop.step
    if first is None or count is None or step is None or first < 0 or step < 0:
        return None
    return first + (count - 1) * step


def _meaning(kernel: Kernel, node: Node, depth: int = 0) -> str:
    """An expression with its names replaced by their values, as comparable text."""
    node = bare(node)
    if node.type == "identifier" and depth < 10:
        value = kernel.value_of(kernel.program.text(node))
        if value is not None:
            return _meaning(kernel, value, depth + 1)
    return re.sub(r"\s+", "", kernel.program.text(node))


def _check_size(kernel: Kernel, padded: Sequence[str]) -> None:
    """Static shared memory is limited to 48 KiB; unknown sizes count as 0, and the compiler reports an excess."""
    total = 0
    for name, all_declared in kernel.declared.items():
        for declared in all_declared:
            if "__shared__" in declared.qualifiers:
                total += _bytes(kernel, declared, padded=name in padded)
    if total > _STATIC_LIMIT:
        raise Refused(
            f"with padding the kernel would need {total:,} bytes of static shared memory, above the limit of 49,152"
        )


def _bytes(kernel: Kernel, declared: Declared, *, padded: bool) -> int:
    size = BYTES.get(declared.type, _WORD)
    sizes = [constant(kernel.program, each) or 1 if each is not None else 1 for each in declared.sizes]
    total = size
    for each in sizes:
        total *= each
    extra = total // sizes[-1] * max(1, _WORD // size) if padded and sizes else 0
    return total + extra
