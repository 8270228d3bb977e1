"""Make the ablation without contention: each thread's atomics go to other addresses (``spread_atomics``).

They stay atomics on global memory, of the same type and number, on an array that the file gets in addition, at the
original's index plus the thread's number. That array has a known size, so that all of them are inside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, on_lines, operator
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.element_types import bytes_of
from ncuview.trial.ablations.lanes import X, grouped

if TYPE_CHECKING:
    from tree_sitter import Node

_ATOMIC = re.compile(r"atomic(?:Add|Sub|Min|Max|And|Or|Xor|Exch|CAS)$")
_ELEMENTS = 1 << 20
"""4 MiB of words: many times what the threads of all multiprocessors touch at one time, and a part of any L2."""
_ROW = 4099
"""A prime, so that rows of threads do not meet."""


def spread_atomics(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Let the atomics on these lines meet at no address.

    Args:
        kernel: The kernel.
        lines: The lines with contended atomics; empty for the complete kernel.

    Raises:
        Refused: No atomic there changes an element of global memory of a known type.
    """
    found = [node for name, node in kernel.calls() if _ATOMIC.match(name) and (not lines or on_lines(node, lines))]
    if not found:
        raise Refused("no atomic function is called on these lines of the kernel itself")
    thread = _number(kernel)
    arrays: dict[str, str] = {}
    made: list[Replacement] = []
    for node in found:
        target = meaningful(child(node, "arguments"))[0]
        array, index = _place(kernel, target)
        element = _element(kernel, array, node)
        spread = arrays.setdefault(element, _free_name(kernel, len(arrays)))
        place = f"&{spread}[(unsigned)({grouped(index)} + {thread}) & {_ELEMENTS - 1}u]"
        made.append(Replacement(target.start_byte, target.end_byte, place))
    declared = "".join(f"__device__ {kind} {name}[{_ELEMENTS}]; " for kind, name in arrays.items())
    start = _before(kernel)
    where = " and ".join(dict.fromkeys(str(line_of(node)) for node in found))
    title = f"Spread the atomics on line {where} over an array of their own: as many, still in global memory"
    return Ablation(Change(title, "", tuple(sorted([Replacement(start, start, declared), *made]))), True)


def _number(kernel: Kernel) -> str:
    """The thread's number, with rows where the kernel has some."""
    rows = {kernel.program.text(node) for node in kernel.of_type("field_expression")} & {"threadIdx.y", "blockIdx.y"}
    row = f" + (threadIdx.y + blockDim.y * blockIdx.y) * {_ROW}u" if rows else ""
    return f"({X} + blockDim.x * blockIdx.x{row})"


def _place(kernel: Kernel, target: Node) -> tuple[str, str]:
    """The array and the index that an atomic changes: ``&histogram[bin]``, ``sum`` or ``histogram + bin``."""
    program, target = kernel.program, bare(target)
    index = "0"
    if target.type == "pointer_expression" and operator(target) == "&":
        element = child(target, "argument")
        subscripts = meaningful(child(element, "indices")) if element.type == "subscript_expression" else []
        if len(subscripts) == 1:
            index, target = program.text(subscripts[0]), child(element, "argument")
    elif target.type == "binary_expression" and operator(target) == "+":
        index, target = program.text(child(target, "right")), child(target, "left")
    if target.type != "identifier":
        raise Refused(f"line {line_of(target)} changes a place that the source does not show as an element")
    return program.text(target), index


def _element(kernel: Kernel, array: str, node: Node) -> str:
    declared = kernel.declared.get(array, ())
    if any("__shared__" in each.qualifiers for each in declared):
        raise Refused(f"line {line_of(node)} has atomics on shared memory")
    if len(declared) != 1 or declared[0].stars != 1 or bytes_of(kernel.program, declared[0].type) not in {4, 8}:
        raise Refused(f"line {line_of(node)} has atomics on {array}, whose element type the source does not show")
    return declared[0].type


def _free_name(kernel: Kernel, number: int) -> str:
    name = f"spread_{number}"
    while re.search(rf"\b{name}\b".encode(), kernel.program.data):
        name += "_"
    return name


def _before(kernel: Kernel) -> int:
    """Where the kernel's definition begins, with its template's head and what qualifies it."""
    outer = [
        each for each in above(kernel.definition) if each.type in {"template_declaration", "linkage_specification"}
    ]
    return (outer[-1] if outer else kernel.definition).start_byte
