"""Rewrite an index of a kernel for another lane of its warp: ``with_thread`` returns its text, ``terms`` its summands.

``lanes_of`` says how the lanes of a warp lie along threadIdx.x; ``limits`` bounds an expression that the source bounds.
A name that depends on the lane is replaced by its value, as long as the source shows that this is the same number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.indices import depends, start_of_counter, varying
from ncuview.patch.launches import block_of
from ncuview.patch.loops import counted
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, operator, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

X = "threadIdx.x"
WARP = 32
_DEEPEST = 20
_SHORTEST_ROW = 8
"""Lanes of 4 bytes that fill a sector."""


@dataclass(frozen=True)
class Lanes:
    """The lanes of a warp along threadIdx.x.

    Attributes:
        width: How many neighbouring lanes differ in threadIdx.x only: 32, or the block's x extent where it is smaller.
    """

    width: int

    @property
    def lane(self) -> str:
        """A thread's place among these lanes, as an expression of C++."""
        return f"({X} & {self.width - 1}u)"

    @property
    def first(self) -> str:
        """The threadIdx.x of the first of these lanes."""
        return f"({X} & ~{self.width - 1}u)"


def lanes_of(kernel: Kernel) -> Lanes:
    """How the lanes of a warp lie; a kernel that never mentions threadIdx.y has blocks of one row.

    Raises:
        Refused: Blocks of several rows are of unknown shape, or a row is no power of two or multiple of 32 threads.
    """
    texts = {kernel.program.text(node) for node in kernel.of_type("field_expression")}
    if not texts & {"threadIdx.y", "threadIdx.z"}:
        return Lanes(WARP)
    x = block_of(kernel)[0]
    if x % WARP and x not in {8, 16}:
        raise Refused(f"rows of {x} threads are not rows of neighbouring lanes")
    return Lanes(min(x, WARP))


@dataclass(frozen=True)
class Indices:
    """The indices of one kernel, and what they depend on.

    Attributes:
        kernel: The kernel.
        neighbours: The lanes after the first of each row; ``limits`` is asked about the first ones only.
    """

    kernel: Kernel
    neighbours: int = 0

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that depend on threadIdx.x."""
        return varying(self.kernel, X)

    def of_lane(self, node: Node) -> bool:
        """Whether an expression differs between lanes."""
        return depends(self.kernel, node, X, self.names)

    def with_thread(self, node: Node, thread: str, use: Node | None = None, depth: int = 0) -> str:
        """The text of an expression for another threadIdx.x.

        Args:
            node: The expression.
            thread: What replaces threadIdx.x.
            use: Where the text will stand; at the expression itself if it is left out.
            depth: How many names have been resolved.

        Raises:
            Refused: It depends on the lane through loaded values, or through a name that changes.
        """
        program, use = self.kernel.program, use or node
        if depth > _DEEPEST:
            raise Refused(f"line {line_of(node)} is computed in too many steps")
        if not self.of_lane(node):
            return program.text(node)
        if node.type == "field_expression" and program.text(node) == X:
            return thread
        if node.type == "identifier":
            return self._name_with(node, thread, use, depth)
        if node.type in {"subscript_expression", "pointer_expression", "field_expression"}:
            raise Refused(f"line {line_of(use)} has an index that depends on loaded values")
        if node.type == "call_expression" and not takes_values(program.text(child(node, "function"))):
            raise Refused(f"line {line_of(use)} has an index that a function computes")
        parts, at = [], node.start_byte
        for each in node.children:
            parts += [self._between(at, each.start_byte), self.with_thread(each, thread, use, depth)]
            at = each.end_byte
        return "".join([*parts, self._between(at, node.end_byte)])

    def _between(self, start: int, end: int) -> str:
        return self.kernel.program.data[start:end].decode("utf-8", "surrogateescape")

    def _name_with(self, node: Node, thread: str, use: Node, depth: int) -> str:
        kernel, name = self.kernel, self.kernel.program.text(node)
        value = kernel.value_of(name)
        if value is not None:
            self.check_steady(name, value, use)
            kind = kernel.declared[name][0].type
            text = self.with_thread(value, thread, use, depth + 1)
            return grouped(text) if kind == "auto" else f"(({kind}){grouped(text)})"
        start = start_of_counter(kernel, name, X, self.names)
        if start is None:
            raise Refused(
                f"line {line_of(use)} has an index that depends on {name}, whose value the source does not show"
            )
        self.check_steady(name, start, use)
        own = kernel.program.text(start)
        moved = self.with_thread(start, thread, use, depth + 1)
        return f"({name} - {grouped(own)} + {grouped(moved)})"

    def check_steady(self, name: str, value: Node, use: Node) -> None:
        """Require that the parts of a name's value are at its use what they were at its declaration."""
        kernel = self.kernel
        (declared,) = kernel.declared[name]
        for part in within(value):
            other = kernel.program.text(part)
            if part.type != "identifier" or other not in kernel.changed:
                continue
            if kernel.parameters.get(other) and kernel.parameters[other].stars:
                continue  # its elements change, not the pointer: see value_of_pointer
            loops = [
                loop.node
                for node in kernel.of_type("for_statement")
                if (loop := counted(kernel, node)) is not None and loop.name == other
            ]
            if not any(_holds(loop, declared.node) and _holds(loop, use) for loop in loops):
                raise Refused(f"line {line_of(use)} has an index from {name}, and {other} in it changes")

    def limits(self, node: Node, depth: int = 0) -> tuple[int, int] | None:
        """The least and the greatest value of an integer expression, where the source shows them."""
        node, program = bare(node), self.kernel.program
        if depth > _DEEPEST:
            return None
        if (value := constant(program, node)) is not None:
            return value, value
        if node.type == "field_expression":
            return self._of_field(program.text(node))
        if node.type == "identifier":
            return self._of_name(program.text(node), depth)
        if node.type == "cast_expression":
            found = self.limits(child(node, "value"), depth + 1)
            return found if found and found[0] >= 0 and found[1] < 1 << 31 else None
        if node.type != "binary_expression":
            return None
        left, right = (self.limits(child(node, side), depth + 1) for side in ("left", "right"))
        return _combined(operator(node), left, right)

    def _of_field(self, text: str) -> tuple[int, int] | None:
        place = re.fullmatch(r"threadIdx\.([xyz])", text)
        try:
            last = block_of(self.kernel)["xyz".index(place[1])] - 1 if place else -1
        except Refused:
            return None
        last -= self.neighbours if text == X else 0
        return (0, last) if last >= 0 else None

    def _of_name(self, name: str, depth: int) -> tuple[int, int] | None:
        value = self.kernel.value_of(name)
        if value is not None:
            return self.limits(value, depth + 1)
        found = [
            loop
            for node in self.kernel.of_type("for_statement")
            if (loop := counted(self.kernel, node)) is not None and loop.name == name
        ]
        if len(found) != 1 or len(self.kernel.declared.get(name, ())) != 1:
            return None
        (loop,) = found
        if loop.first is None or loop.step is None or not loop.iterations:
            return None
        last = loop.first + (loop.iterations - 1) * loop.step
        return min(loop.first, last), max(loop.first, last)


def _holds(outer: Node, node: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


_MONOTONE: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _combined(sign: str, left: tuple[int, int] | None, right: tuple[int, int] | None) -> tuple[int, int] | None:
    """The limits of an operation; a remainder and a mask are limited even where the left side is not."""
    if right is None or (sign in "%/&" and right[0] <= 0):
        return None
    positive = left is not None and left[0] >= 0
    if sign == "%":
        return (0 if positive else 1 - right[1], right[1] - 1)
    if sign == "&":
        return 0, right[1]
    if left is None:
        return None
    if sign == "/" and positive:
        return left[0] // right[1], left[1] // right[0]
    if sign not in _MONOTONE:
        return None
    ends = [_MONOTONE[sign](one, other) for one in left for other in right]
    return min(ends), max(ends)


@dataclass(frozen=True)
class Term:
    """A summand of an index.

    Attributes:
        node: The summand.
        minus: Whether it is subtracted.
        less: What is subtracted from the summand itself: where its counting begins.
    """

    node: Node
    minus: bool = False
    less: Node | None = None


def terms(kernel: Kernel, node: Node, *, minus: bool = False, depth: int = 0) -> Iterator[Term]:
    """The summands of an expression."""
    node = bare(node)
    if node.type == "binary_expression" and operator(node) in {"+", "-"} and depth < _DEEPEST:
        yield from terms(kernel, child(node, "left"), minus=minus, depth=depth)
        yield from terms(kernel, child(node, "right"), minus=minus ^ (operator(node) == "-"), depth=depth)
        return
    yield Term(node, minus)


def product(kernel: Kernel, node: Node, depth: int = 0) -> tuple[Node, Node] | None:
    """The factors of a term that is a product, or a name for one."""
    node = bare(node)
    if node.type == "cast_expression":
        return product(kernel, child(node, "value"), depth)
    if node.type == "identifier" and depth < _DEEPEST:
        value = kernel.value_of(kernel.program.text(node))
        return product(kernel, value, depth + 1) if value is not None else None
    if node.type == "binary_expression" and operator(node) == "*":
        return child(node, "left"), child(node, "right")
    return None


@dataclass(frozen=True)
class Access:
    """An element of an array: ``pointer[index]`` as the source has it, and as a sum of terms from the array's start.

    Attributes:
        node: The complete expression.
        array: The name of the parameter that the pointer refers to.
        start: An expression for where that array begins.
        terms: The summands of the index into that.
    """

    node: Node
    array: str
    start: str
    terms: Sequence[Term]


def global_accesses(kernel: Kernel, lines: Sequence[int]) -> Iterator[Access]:
    """The elements of the kernel's pointer parameters on these lines, in the order of the text.

    Raises:
        Refused: A pointer moves, or comes from elsewhere.
    """
    shared = {name for name, each in kernel.declared.items() if any("__shared__" in d.qualifiers for d in each)}
    for node in kernel.of_type("subscript_expression"):
        pointer = child(node, "argument")
        name = kernel.program.text(pointer)
        declared = kernel.declared.get(name, ())
        if pointer.type != "identifier" or name in shared or not any(each.stars == 1 for each in declared):
            continue
        if lines and not any(line_of(node) <= line <= node.end_point.row + 1 for line in lines):
            continue
        indices = meaningful(child(node, "indices"))
        found = _rooted(kernel, name, node)
        if len(indices) == 1 and found is not None:
            array, start, before = found
            yield Access(node, array, start, [*before, *terms(kernel, indices[0])])


def _rooted(kernel: Kernel, name: str, use: Node, depth: int = 0) -> tuple[str, str, list[Term]] | None:
    """The parameter that a pointer is computed from, its start, and what is added; None where it is shared or local."""
    if depth > _DEEPEST or len(kernel.declared.get(name, ())) != 1:
        raise Refused(f"line {line_of(use)}: {name} is the name of several variables")
    (declared,) = kernel.declared[name]
    moves = _moves(kernel, name)
    if name in kernel.parameters and len(moves) == 1 and _moves_once(kernel, moves[0], use):
        by = child(moves[0], "right")
        return name, f"({name} - {grouped(kernel.program.text(by))})", list(terms(kernel, by))
    if moves:
        raise Refused(f"line {line_of(use)}: the pointer {name} moves")
    if name in kernel.parameters:
        return name, name, []
    if declared.value is None or declared.sizes:
        return None
    summands = list(terms(kernel, declared.value))
    first = summands[0].node
    if first.type == "pointer_expression" and operator(first) == "&":
        place = child(first, "argument")
        if place.type == "subscript_expression" and len(meaningful(child(place, "indices"))) == 1:
            inner = meaningful(child(place, "indices"))[0]
            summands[0:1] = [Term(child(place, "argument")), *terms(kernel, inner)]
            first = summands[0].node
    if first.type != "identifier" or summands[0].minus:
        raise Refused(f"line {line_of(use)}: the source does not show what {name} refers to")
    source = kernel.program.text(first)
    if not any(each.stars or each.sizes for each in kernel.declared.get(source, ())):
        raise Refused(f"line {line_of(use)}: the source does not show what {name} refers to")
    root = _rooted(kernel, source, use, depth + 1)
    if root is None or kernel.declared[source][0].type != declared.type:
        return None
    return root[0], root[1], [*root[2], *summands[1:]]


def _moves(kernel: Kernel, name: str) -> list[Node]:
    """Where a pointer itself changes after its declaration; what it refers to may."""
    program, found = kernel.program, []
    for node in kernel.of_type("assignment_expression", "update_expression", "pointer_expression"):
        if node.type == "pointer_expression" and operator(node) != "&":
            continue
        place = child(node, "left" if node.type == "assignment_expression" else "argument")
        if place.type == "identifier" and program.text(place) == name:
            found.append(node)
    return found


def _moves_once(kernel: Kernel, move: Node, use: Node) -> bool:
    """Whether a move is a sum that all threads execute once before the use: ``row += r * columns;``."""
    statement = move.parent
    if move.type != "assignment_expression" or operator(move) != "+=" or statement is None:
        return False
    return statement.parent == kernel.body and move.end_byte <= use.start_byte


def always_executed(indices: Indices, node: Node) -> bool:
    """Whether all lanes of a warp reach a node together: no branch and no earlier return depends on the lane."""
    kernel = indices.kernel
    if any(each.start_byte < node.start_byte for each in kernel.of_type("return_statement")):
        return False
    for outer in above(node):
        if outer == kernel.body:
            return True
        condition = outer.child_by_field_name("condition")
        if outer.type in {"conditional_expression", "switch_statement"}:
            return False
        if condition is not None and indices.of_lane(condition):
            return False
    return False


def grouped(text: str) -> str:
    """An expression that stands as one operand; a name stays without parentheses, which could be read as a cast."""
    return text if re.fullmatch(r"[\w.]+|\([^()]*\)", text) else f"({text})"


def short_rows(lanes: Lanes) -> bool:
    """Whether the lanes that can read neighbouring elements are too few to fill a sector."""
    return lanes.width < _SHORTEST_ROW
