"""Make the ablation without bank conflicts: the lanes of a warp access neighbouring elements of a __shared__ array.

``conflict_free_index`` takes a ``Kernel`` -> ``Ablation``. As many accesses are executed, and the index still changes
from one iteration to the next, so that no load can be moved out of its loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.indices import Stride, stride_of
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Declared, Kernel, child, line_of, meaningful, on_lines, operator
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.element_types import bytes_of
from ncuview.trial.ablations.lanes import WARP, Indices, Lanes, X, grouped, lanes_of

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = 4
_BANK_BYTES = 128
"""All banks together."""


@dataclass(frozen=True)
class _Place:
    """``tile[row][column]``, or fewer indices where the rest is a pointer.

    Attributes:
        node: The complete expression.
        indices: The index of each dimension, as far as they are given.
    """

    node: Node
    indices: Sequence[Node]


def conflict_free_index(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Let the lanes of each warp access neighbouring words of the shared arrays on these lines.

    Args:
        kernel: The kernel.
        lines: The lines with bank conflicts; empty for the complete kernel.

    Raises:
        Refused: No index there differs between lanes by more than one element, or a conflict would remain.
    """
    lanes = lanes_of(kernel)
    indices, first_lanes = Indices(kernel), Indices(kernel, lanes.width - 1)
    replacements, bounded, names = list[Replacement](), True, list[str]()
    for name, all_declared in kernel.declared.items():
        if not any("__shared__" in each.qualifiers for each in all_declared):
            continue
        for node in kernel.uses(name):
            if lines and not on_lines(node, lines):
                continue
            made = _rewritten(indices, first_lanes, lanes, name, _place(node))
            if made is not None:
                replacements += made[0]
                bounded = bounded and made[1]
                names.append(name)
    if not replacements:
        raise Refused("no index of a __shared__ array on these lines differs between lanes by more than one element")
    return Ablation(
        Change(
            f"Access {' and '.join(dict.fromkeys(names))} without bank conflicts: as often, and other elements",
            "",
            tuple(sorted(replacements, key=lambda each: (each.start, each.end))),
        ),
        bounded,
    )


def _place(node: Node) -> _Place:
    indices: list[Node] = []
    place = node
    while (
        place.parent is not None
        and place.parent.type == "subscript_expression"
        and child(place.parent, "argument") == place
        and len(meaningful(child(place.parent, "indices"))) == 1
    ):
        place = place.parent
        indices.append(meaningful(child(place, "indices"))[0])
    return _Place(place, indices)


def _rewritten(
    indices: Indices, first_lanes: Indices, lanes: Lanes, name: str, place: _Place
) -> tuple[Sequence[Replacement], bool] | None:
    """The replacements of one access, and whether it is inside the array; None where it has no conflict."""
    kernel = indices.kernel
    if len(kernel.declared[name]) != 1:
        raise Refused(f"{name} is the name of several variables")
    (declared,) = kernel.declared[name]
    given = place.indices
    if not given or len(given) > len(declared.sizes) or not any(indices.of_lane(each) for each in given):
        return None
    strides = [stride_of(kernel, each, X, indices.names) for each in given]
    complete = len(given) == len(declared.sizes)
    if complete and strides[-1] is Stride.ONE and all(each is Stride.ZERO for each in strides[:-1]):
        return None
    _check_element(kernel, name, declared, place)
    sizes = [None if each is None else constant(kernel.program, each) for each in declared.sizes]
    if complete and len(sizes) == 2 and strides == [Stride.ONE, Stride.ZERO] and sizes[0] and sizes[0] == sizes[1]:
        row, column = (kernel.program.text(each) for each in given)
        return _instead(place, f"{name}[{column}][{row}]"), True
    if lanes.width < WARP:
        raise Refused(f"a warp spans several rows of the block, and {name} is no square tile")
    try:
        return _from_first_lane(indices, first_lanes, lanes, name, place, sizes)
    except Refused:
        if not complete:
            raise
        return _own_bank(kernel, lanes, name, declared, place, sizes[-1])


def _check_element(kernel: Kernel, name: str, declared: Declared, place: _Place) -> None:
    """Require that the place is an element, or the address of one for a pointer of the array's own type."""
    if bytes_of(kernel.program, declared.type) is None:
        raise Refused(f"the size of an element of {name}, {declared.type}, is not known")
    outer = place.node.parent
    pointer = len(place.indices) < len(declared.sizes)
    if outer is not None and outer.type == "pointer_expression" and operator(outer) == "&":
        pointer, outer = True, outer.parent
    if not pointer:
        return
    while outer is not None and outer.type == "parenthesized_expression":
        outer = outer.parent
    if outer is None or outer.type not in {"init_declarator", "assignment_expression"}:
        raise Refused(f"line {line_of(place.node)} hands a pointer into {name} to other code or to another type")


def _instead(place: _Place, text: str) -> Sequence[Replacement]:
    return (Replacement(place.node.start_byte, place.node.end_byte, text),)


def _from_first_lane(
    indices: Indices, first_lanes: Indices, lanes: Lanes, name: str, place: _Place, sizes: Sequence[int | None]
) -> tuple[Sequence[Replacement], bool]:
    """The element of the warp's first lane, and from there one element further per lane."""
    complete = len(place.indices) == len(sizes)
    scales = [prod(size or 0 for size in sizes[at + 1 :]) for at in range(len(place.indices))]
    if 0 in scales:
        raise Refused(f"the length of a row of {name} is not known")
    parts, low, high = [], 0, lanes.width - 1
    known = True
    for each, scale in zip(place.indices, scales, strict=True):
        text = grouped(indices.with_thread(each, lanes.first))
        parts.append(text if scale == 1 else f"{text} * {scale}")
        limits = first_lanes.limits(each)
        known = known and limits is not None
        low, high = low + (limits or (0, 0))[0] * scale, high + (limits or (0, 0))[1] * scale
    total = prod(size or 0 for size in sizes)
    bounded = complete and known and low >= 0 and high < total
    index = f"{' + '.join(parts)} + {lanes.lane}"
    if complete and not bounded and total >= WARP and total & (total - 1) == 0:
        index, bounded = f"(unsigned)({index}) & {total - 1}u", True
    element = f"{name}{'[0]' * (len(sizes) - 1)}[{index}]"
    return _instead(place, element if complete else f"(&{element})"), bounded


def _own_bank(
    kernel: Kernel, lanes: Lanes, name: str, declared: Declared, place: _Place, row: int | None
) -> tuple[Sequence[Replacement], bool]:
    """An element in the lane's own bank, near the one that loaded values select.

    The index stays and is masked, because it may hold an access that gets replacements of its own.
    """
    size = bytes_of(kernel.program, declared.type) or _BANK_BYTES
    group = _BANK_BYTES // size
    if not row or row % group:
        raise Refused(f"the index of {name} depends on loaded values, and its rows do not fill all banks")
    outer, index = place.node.parent, place.indices[-1]
    if outer is not None and outer.type == "pointer_expression" and operator(outer) == "&":
        raise Refused(f"{name} is accessed through a pointer")
    step = max(1, _WORD // size)
    lane = lanes.lane if step == 1 else f"{lanes.lane} * {step}"
    if group < WARP:
        lane = f"({lane} & {group - 1}u)"
    return (
        Replacement(index.start_byte, index.start_byte, "((unsigned)("),
        Replacement(index.end_byte, index.end_byte, f") & ~{group - 1}u) + {lane}"),
    ), True
