"""Make the ablation without barriers: ``no_barrier`` takes a ``Kernel`` -> ``Ablation``.

Each barrier becomes an empty statement that the compiler moves no access to memory across, so that loads of shared
memory stay loads and stay in their loops.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncuview.patch.arithmetic import own_functions
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, child, line_of, meaningful, on_lines, within
from ncuview.trial.ablations.ablation import Ablation

if TYPE_CHECKING:
    from tree_sitter import Node

_BARRIER = re.compile(r"__syncthreads\s*\(\s*\)")
_ORDERED = 'asm volatile("" ::: "memory")'


def no_barrier(kernel: Kernel, lines: Sequence[int]) -> Ablation:
    """Remove the barriers of a block on these lines, or all where there are none on them.

    Args:
        kernel: The kernel; the device functions that only it calls count as its own.
        lines: The lines of a finding.

    Raises:
        Refused: The kernel has no ``__syncthreads()``.
    """
    program = kernel.program
    found = [
        node
        for function in own_functions(kernel)
        for node in within(child(function, "body"))
        if node.type == "call_expression" and _BARRIER.fullmatch(program.text(node))
    ]
    chosen = [node for node in found if on_lines(node, lines)] or found
    if not chosen:
        raise Refused(f"{kernel.name} has no __syncthreads() that the source shows")
    where = " and ".join(dict.fromkeys(str(line_of(node)) for node in chosen))
    return Ablation(
        Change(
            f"Remove the barrier{'s' * (len(chosen) > 1)} on line {where}: accesses and their order in a thread stay",
            "",
            tuple(Replacement(node.start_byte, node.end_byte, _ORDERED) for node in chosen),
        ),
        not _selects_by_shared(kernel),
    )


def _selects_by_shared(kernel: Kernel) -> bool:
    """Whether an index may come from shared memory, which holds anything while threads no longer wait."""
    program = kernel.program
    tainted = {name for name, each in kernel.declared.items() if any("__shared__" in d.qualifiers for d in each)}
    flows: list[tuple[str, Node]] = [
        (name, declared.value)
        for name, all_declared in kernel.declared.items()
        for declared in all_declared
        if declared.value is not None
    ]
    for node in kernel.of_type("assignment_expression"):
        target = child(node, "left")
        while target.type in {"subscript_expression", "field_expression", "pointer_expression"}:
            target = child(target, "argument")
        flows.append((program.text(target), child(node, "right")))
    grown = True
    while grown:
        new = {name for name, value in flows if name not in tainted and _names(kernel, value) & tainted}
        tainted |= new
        grown = bool(new)
    if any(_names(kernel, index) & tainted for index in _indices(kernel)):
        return True
    return any(name != "__syncthreads" and program.functions.get(name) for name, _ in kernel.calls())


def _indices(kernel: Kernel) -> list[Node]:
    return [index for node in kernel.of_type("subscript_expression") for index in meaningful(child(node, "indices"))]


def _names(kernel: Kernel, node: Node) -> set[str]:
    return {kernel.program.text(each) for each in within(node) if each.type == "identifier"}
