"""Make the ablation with smaller elements: global memory holds float for double, and half for float.

``smaller_element`` takes a ``Kernel`` -> ``Ablation``. The same elements are accessed, at half of their addresses, and
computed with in the same precision; only the bytes that move are halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, child, operator
from ncuview.trial.ablations.ablation import Ablation
from ncuview.trial.ablations.element_types import plain
from ncuview.trial.ablations.lanes import global_accesses

if TYPE_CHECKING:
    from tree_sitter import Node

_SMALLER = {"double": "float", "float": "__half"}
_HEADER = "#include <cuda_fp16.h>\n#line 1\n"
"""Lines keep their numbers, so that the machine code of both is compared line by line."""


def smaller_element(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Halve the elements that these lines load from global memory and store there.

    Args:
        kernel: The kernel.
        lines: The lines whose bytes limit the kernel; empty for the complete kernel.

    Raises:
        Refused: No access there is to float or double by an index.
    """
    program, made, names, headers = kernel.program, list[Replacement](), list[str](), set[str]()
    for access in global_accesses(kernel, lines):
        pointer = program.text(child(access.node, "argument"))
        kind = plain(program, kernel.declared[pointer][0].type)
        outer = access.node.parent
        stored = outer is not None and outer.type == "assignment_expression" and child(outer, "left") == access.node
        if kind not in _SMALLER or outer is None or (stored and operator(outer) != "=") or _is_place(outer):
            continue
        small = _SMALLER[kind]
        element = child(access.node, "argument")
        made.append(Replacement(element.start_byte, element.end_byte, f"(({small} *){pointer})"))
        names.append(pointer)
        headers.update({_HEADER} if small == "__half" else ())
        value = child(outer, "right") if stored else access.node
        made += _converted(value, small if stored else kind)
    if not made:
        raise Refused("no access on these lines loads or stores an element of float or double by an index")
    made += [Replacement(0, 0, each) for each in headers]
    return Ablation(
        Change(
            f"Halve the elements of {' and '.join(dict.fromkeys(names))} in memory: the same accesses and arithmetic",
            "",
            tuple(sorted(made, key=lambda each: (each.start, each.end))),
        ),
        True,
    )


def _is_place(outer: Node) -> bool:
    """Whether more than the value is used: an address, or an element that is read and written."""
    return outer.type in {"pointer_expression", "update_expression", "field_expression", "reference_declarator"}


def _converted(value: Node, kind: str) -> list[Replacement]:
    return [
        Replacement(value.start_byte, value.start_byte, f"({kind})("),
        Replacement(value.end_byte, value.end_byte, ")"),
    ]
