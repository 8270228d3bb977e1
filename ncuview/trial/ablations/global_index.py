"""Make the ablation with coalesced accesses: the lanes of a warp take neighbouring elements of what the warp reads.

``coalesced_index`` takes a ``Kernel`` -> ``Ablation``. It exchanges the roles of lane and iteration: the warp accesses
as many different elements as before, with the same loads in the same loops, each in another order. Where each lane has
a row, and one index runs along it, there are two forms:

- A row of known length: element i of lane l's row becomes element i * 32 + l of the 32 rows.
- Otherwise the lower bits of lane and index are exchanged: a square of 32 rows is read by rows instead of columns.

``aligned_index`` moves a warp's accesses to the sector boundary before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.indices import Stride, stride_of
from ncuview.patch.loops import Counted, counted
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, child, line_of, operator, within
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.element_types import fields_of
from ncuview.trial.ablations.lanes import (
    Access,
    Indices,
    Lanes,
    Term,
    X,
    always_executed,
    global_accesses,
    grouped,
    lanes_of,
    product,
    short_rows,
    terms,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SHORTEST_EXCHANGE = 8
"""Elements of 4 bytes that fill a sector."""


@dataclass(frozen=True)
class _Sum:
    """An index as a sum.

    Attributes:
        of_lane: The terms that differ between lanes.
        along: The terms that all lanes have in common and that step by single elements.
        others: The remaining terms.
    """

    of_lane: Sequence[Term]
    along: Sequence[Term]
    others: Sequence[Term]


def coalesced_index(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Let the lanes of each warp access neighbouring elements on these lines.

    Args:
        kernel: The kernel.
        lines: The lines with scattered accesses; empty for the complete kernel.

    Raises:
        Refused: No access there is scattered in a way that the source shows, or the waste of one would remain.
    """
    lanes, indices = lanes_of(kernel), Indices(kernel)
    if short_rows(lanes):
        raise Refused(f"rows of {lanes.width} threads are too short to fill a sector")
    made, arrays, bounded = list[Replacement](), list[str](), True
    for access in global_accesses(kernel, lines):
        found = _coalesced(indices, lanes, access)
        if found is not None:
            made.append(found[0])
            bounded = bounded and found[1]
            arrays.append(access.array)
    if not made:
        raise Refused("no access on these lines is scattered in a way that the source shows")
    names = " and ".join(dict.fromkeys(arrays))
    return Ablation(
        Change(
            f"Coalesce the accesses to {names}: the same loops, as many accesses and elements, lanes and iterations"
            " exchanged",
            "",
            _without_nested(made),
        ),
        bounded,
    )


def _without_nested(made: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """The replacements without those inside of others: an index may hold an access that is replaced itself."""
    return tuple(
        sorted(
            each
            for each in made
            if not any(other != each and other.start <= each.start and each.end <= other.end for other in made)
        )
    )


def _coalesced(indices: Indices, lanes: Lanes, access: Access) -> tuple[Replacement, bool] | None:
    """The replacement of one access, and whether it is in bounds; None where it is not scattered."""
    kernel, parts = indices.kernel, _parted(indices, access)
    strides = {stride_of(kernel, term.node, X, indices.names) for term in parts.of_lane}
    scalar, step, field, node = _element(kernel, access)
    if not parts.of_lane or (strides == {Stride.ONE} and step == 1):
        return None
    if any(term.minus for term in parts.of_lane):
        raise Refused(f"line {line_of(access.node)} has rows in descending order")
    row = _row(indices, parts, step)
    if row is not None and (inside := _within_row(indices, parts, row[1], field, step)) is not None:
        number, length = row
        inner, others = inside
        first = f"{grouped(indices.with_thread(number, lanes.first, access.node))} * {length}"
        # In 64 bits nvcc adds a constant to the address in each iteration, as in the original, and unrolls as far.
        index = f"{first}{_text(kernel, others, step)} + {lanes.width}ll * {grouped(inner)} + {lanes.lane}"
        pointer = access.start if step == 1 else f"(({scalar} *){access.start})"
        in_bounds = inner == "0" or always_executed(indices, access.node)
        return Replacement(node.start_byte, node.end_byte, f"{pointer}[{index}]"), in_bounds
    if step != 1:
        raise Refused(f"line {line_of(access.node)} reads structures whose index the source does not show")
    return Replacement(node.start_byte, node.end_byte, _exchanged(indices, lanes, access, parts)), False


def _parted(indices: Indices, access: Access) -> _Sum:
    kernel = indices.kernel
    of_lane, along, others = [], [], []
    for term in _summands(indices, access.terms, access.node):
        if indices.of_lane(term.node):
            start = _start(indices, term.node)
            of_lane.append(term if start is None else Term(start, term.minus))
            if start is not None:
                along.append(Term(term.node, term.minus, start))
        elif product(kernel, term.node) is not None:
            others.append(term)
        else:
            along.append(term)
    return _Sum(of_lane, along, others)


def _summands(indices: Indices, given: Sequence[Term], use: Node) -> Iterator[Term]:
    """The terms, with those of a name instead of it where it stands for a sum that differs between lanes."""
    kernel = indices.kernel
    for term in given:
        name = kernel.program.text(term.node)
        known = term.node.type == "identifier" and indices.of_lane(term.node)
        value = kernel.value_of(name) if known else None
        parts = [] if value is None else list(terms(kernel, value, minus=term.minus))
        if value is None or len(parts) < 2:
            yield term
            continue
        indices.check_steady(name, value, use)
        if any(each.type in {"subscript_expression", "call_expression"} for each in within(value)):
            yield term
        else:
            yield from _summands(indices, parts, use)


def _start(indices: Indices, node: Node) -> Node | None:
    """Where a counter of single steps begins that runs along each lane's own part of a row."""
    kernel = indices.kernel
    name = kernel.program.text(node)
    loops = _loops_of(kernel, name) if node.type == "identifier" else []
    starts = [
        declared.value
        for loop in loops
        for own, declared in kernel.program.declarations(child(loop.node, "initializer"))
        if own == name and declared.value is not None and loop.step == 1
    ]
    same = len({kernel.program.text(each) for each in starts}) == 1
    if not same or len(starts) != len(kernel.declared.get(name, ())) or product(kernel, starts[0]) is None:
        return None
    return starts[0]


def _text(kernel: Kernel, summands: Sequence[Term], step: int = 1) -> str:
    """Summands with the sign of each, in scalars: `` + (i) * 4 - (1) * 4``."""
    scale = "" if step == 1 else f" * {step}"
    parts = []
    for term in summands:
        text = grouped(kernel.program.text(term.node))
        if term.less is not None:
            text = f"({text} - {grouped(kernel.program.text(term.less))})"
        parts.append(f" {'-' if term.minus else '+'} {text}{scale}")
    return "".join(parts)


def _element(kernel: Kernel, access: Access) -> tuple[str, int, int, Node]:
    """The scalar type of an element, how many scalars it has, which one is meant, and the complete expression."""
    outer = access.node.parent
    declared = kernel.declared[access.array][0]
    fields = fields_of(kernel.program, declared.type)
    if outer is None or outer.type != "field_expression" or fields is None:
        return declared.type, 1, 0, access.node
    kind, names = fields
    name = kernel.program.text(child(outer, "field"))
    if name not in names:
        raise Refused(f"line {line_of(outer)} reads the field {name}, which the source does not show")
    read_only = "const " if "const" in declared.qualifiers else ""
    return f"{read_only}{kind}", len(names), list(names).index(name), outer


def _row(indices: Indices, parts: _Sum, step: int) -> tuple[Node, str] | None:
    """The lane's number in the index and the length of its row, where the index is one product of the two."""
    kernel = indices.kernel
    if len(parts.of_lane) != 1:
        return None
    (term,) = parts.of_lane
    if stride_of(kernel, term.node, X, indices.names) is Stride.ONE:
        return term.node, str(step)
    factors = product(kernel, term.node)
    for number, length in (factors, factors[::-1]) if factors else ():
        if indices.of_lane(length) or stride_of(kernel, number, X, indices.names) is not Stride.ONE:
            continue
        fixed = constant(kernel.program, length)
        if fixed is not None and fixed > 0:
            return number, str(fixed * step)
        if length.type == "identifier" and kernel.program.text(length) not in kernel.changed and step == 1:
            return number, kernel.program.text(length)
    return None


def _within_row(indices: Indices, parts: _Sum, length: str, field: int, step: int) -> tuple[str, Sequence[Term]] | None:
    """The element within a lane's row, as text, and the terms beside it; None where the source does not show them."""
    kernel = indices.kernel
    if not length.isdigit():
        own_start = any(term.less is not None for term in parts.along)
        rows = own_start or all(length in _words(kernel, term.node) for term in parts.others)
        if not parts.along and rows:
            return "0", parts.others
        if len(parts.along) != 1 or not rows or not _runs_below(kernel, parts.along[0], length):
            return None
        return _text(kernel, parts.along).removeprefix(" + "), parts.others
    bounded = [(term, limits) for term in [*parts.along, *parts.others] if (limits := _limits(indices, term))]
    beside = [term for term in parts.others if all(term is not each for each, _ in bounded)]
    low, high = (sum(limits[at] for _, limits in bounded) for at in (0, 1))
    if (
        len(bounded) + len(beside) < len(parts.along) + len(parts.others)
        or low < 0
        or high * step + field >= int(length)
    ):
        return None
    inner = _text(kernel, [term for term, _ in bounded], step).removeprefix(" + ")
    return (f"{inner} + {field}" if inner and field else inner or str(field)), beside


def _limits(indices: Indices, term: Term) -> tuple[int, int] | None:
    limits = None if term.less is not None else indices.limits(term.node)
    return (-limits[1], -limits[0]) if limits is not None and term.minus else limits


def _words(kernel: Kernel, node: Node) -> set[str]:
    """The names in a term, and in the products that its names stand for."""
    factors = product(kernel, node) or (node,)
    return {kernel.program.text(each) for factor in factors for each in within(factor)}


def _runs_below(kernel: Kernel, term: Term, bound: str) -> bool:
    """Whether a counter stays below the bound, counted from where it begins."""
    name = kernel.program.text(term.node)
    loops = _loops_of(kernel, name) if term.node.type == "identifier" and not term.minus else []
    if len(loops) != len(kernel.declared.get(name, ())):
        return False
    for loop in loops:
        condition = child(loop.node, "condition")
        last = child(condition, "right")
        if operator(condition) != "<" or loop.step is None or loop.step < 1:
            return False
        if term.less is None and (loop.first != 0 or kernel.program.text(last) != bound):
            return False
        end = kernel.value_of(kernel.program.text(last)) if last.type == "identifier" else last
        if term.less is not None and (end is None or bound not in _words(kernel, end)):
            return False
    return bool(loops)


def _loops_of(kernel: Kernel, name: str) -> list[Counted]:
    found = [counted(kernel, node) for node in kernel.of_type("for_statement")]
    return [loop for loop in found if loop is not None and loop.name == name]


def _exchanged(indices: Indices, lanes: Lanes, access: Access, parts: _Sum) -> str:
    """The access with the lower bits of the lane and of the index along its row exchanged."""
    kernel = indices.kernel
    if not parts.along:
        for term in parts.of_lane:  # loaded values are the better reason
            indices.with_thread(term.node, lanes.first, access.node)
        raise Refused(f"line {line_of(access.node)} has no index that runs along a row")
    text = _text(kernel, parts.along).removeprefix(" + ")
    width = _exchange_width(indices, lanes, parts)
    if width < _SHORTEST_EXCHANGE:
        raise Refused(f"line {line_of(access.node)} has only {width} neighbouring elements for each lane")
    thread = f"(({X} & ~{width - 1}u) + ((unsigned){grouped(text)} & {width - 1}u))"
    moved = [grouped(indices.with_thread(term.node, thread, access.node)) for term in parts.of_lane]
    others = _text(kernel, parts.others)
    return f"{access.start}[{' + '.join(moved)}{others} + ({grouped(text)} & ~{width - 1}) + ({X} & {width - 1}u)]"


def _exchange_width(indices: Indices, lanes: Lanes, parts: _Sum) -> int:
    """How many elements along a row are exchanged with lanes: as many as there are, and a power of two."""
    known = [limits for term in parts.along if (limits := _limits(indices, term))]
    if len(known) < len(parts.along) or all(low == high for low, high in known):
        return lanes.width
    count = sum(high for _, high in known) + 1
    return min(lanes.width, count & -count)


def aligned_index(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Let the accesses of each warp on these lines begin at a sector.

    Args:
        kernel: The kernel.
        lines: The lines with misaligned accesses; empty for the complete kernel.

    Raises:
        Refused: No access there has lanes side by side and an offset.
    """
    lanes, indices = lanes_of(kernel), Indices(kernel)
    made, arrays = [], []
    for access in global_accesses(kernel, lines):
        parts = _parted(indices, access)
        strides = [stride_of(kernel, term.node, X, indices.names) for term in parts.of_lane]
        if strides != [Stride.ONE] or not [*parts.along, *parts.others] or parts.of_lane[0].minus:
            continue
        (term,) = parts.of_lane
        common = _text(kernel, [*parts.along, *parts.others])
        first = f"{grouped(indices.with_thread(term.node, lanes.first, access.node))}{common}"
        text = f"{access.start}[(({first}) & ~{lanes.width - 1}) + {lanes.lane}]"
        made.append(Replacement(access.node.start_byte, access.node.end_byte, text))
        arrays.append(access.array)
    if not made:
        raise Refused("no access on these lines has lanes side by side and an offset that all lanes have in common")
    names = " and ".join(dict.fromkeys(arrays))
    title = f"Access {names} from the sector before: as many accesses, up to {lanes.width - 1} elements earlier"
    return Ablation(Change(title, "", _without_nested(made)), True)
