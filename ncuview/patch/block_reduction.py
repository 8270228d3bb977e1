"""Make the patch that adds up in registers and warps what threads of a block add to one place.

``block_reduction`` takes a ``Kernel`` -> ``Change``: atomics of all threads on one place, or a tree in shared memory,
become sums of several elements in each thread, warp shuffles, and one word in shared memory for each warp. It raises
``Refused`` with the obligation that is not proven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.atomics import ElementType, Update, atomic_updates, identity, type_of
from ncuview.patch.constants import check_known_names, constant
from ncuview.patch.launch_facts import check_distinct
from ncuview.patch.launches import block_assumed, block_of
from ncuview.patch.merged_blocks import MergedBlocks, merge_blocks
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, child, line_of, within
from ncuview.patch.rewriting import closing, fresh, lines, margin, opening
from ncuview.patch.shared_tree import tree_of, without_tree
from ncuview.patch.thread_rank import thread_rank
from ncuview.patch.warp_sums import WARP, Operation, conditional, over_block

if TYPE_CHECKING:
    from tree_sitter import Node

MERGED = 16
"""Blocks of the original kernel that share one sum: enough loads in flight, and few atomics."""
_FUNCTIONS = {
    "atomicAdd": "+",
    "atomicOr": "|",
    "atomicXor": "^",
    "atomicAnd": "&",
    "atomicMax": "max",
    "atomicMin": "min",
}
"""How a thread combines two values, for each atomic function."""


def block_reduction(kernel: Kernel, lines_: Sequence[int]) -> Change:
    """Let each block add to the place once, instead of each thread.

    Args:
        kernel: The kernel.
        lines_: Unused: all updates of the place change together.

    Raises:
        Refused: An obligation is not proven.
    """
    del lines_
    check_known_names(kernel)
    if any(name.startswith("atomic") for name, _ in kernel.calls()) and not _has_shared(kernel):
        return _of_atomics(kernel)
    return without_tree(kernel, tree_of(kernel))


def _has_shared(kernel: Kernel) -> bool:
    return any("__shared__" in each.qualifiers for declared in kernel.declared.values() for each in declared)


def _of_atomics(kernel: Kernel) -> Change:
    updates = atomic_updates(kernel)
    if len({each.array for each in updates}) != 1:
        raise Refused(f"{kernel.name} has atomics on several arrays")
    place = _place(kernel, updates)
    array, element = updates[0].array, type_of(kernel, updates[0].array)
    others = [name for name, each in kernel.parameters.items() if each.stars > 0 and name != array]
    check_distinct(kernel, [array], others)
    threads = prod(block_of(kernel))
    if threads % WARP:
        raise Refused(f"blocks of {threads} threads do not consist of full warps")
    merged = _merged(kernel, place)
    if merged is None and all(_is_of_first_thread(kernel, each.statement) for each in updates):
        raise Refused(f"each block updates {array} once already")
    names = (
        ("sum", "total", "block_sum", "sum_of_threads")
        if updates[0].function == "atomicAdd"
        else ("result", "of_block")
    )
    total = fresh(kernel.program, *names)
    return Change(
        f"Add to {array} once for each block",
        " and ".join(filter(None, [block_assumed(kernel), merged.assumes if merged is not None else ""])),
        tuple(_written(kernel, updates, place, element, merged, total, threads)),
        reorders=f"the sum in {array}" if element.kind == "floating" else "",
    )


def _is_of_first_thread(kernel: Kernel, statement: Node) -> bool:
    """Whether a condition above a statement compares something with 0, as only the first thread of a block does."""
    conditions = [each for each in above(statement) if each.type == "if_statement"]
    return any(
        re.search(r"==\s*0\b|^\(\s*!", kernel.program.text(each.child_by_field_name("condition") or each))
        for each in conditions
    )


def _place(kernel: Kernel, updates: Sequence[Update]) -> str:
    """The one place that all updates address, as an expression that is valid at the kernel's end."""
    program = kernel.program
    texts = {re.sub(r"\s", "", program.text(each.index)) if each.index is not None else "0" for each in updates}
    if len(texts) != 1:
        raise Refused(f"{updates[0].array} is updated at several places")
    for update in updates:
        for node in within(update.index) if update.index is not None else ():
            text = program.text(node)
            if node.type == "identifier" and text != "blockIdx":
                steady = constant(program, node) is not None or (
                    text in kernel.parameters and text not in kernel.changed
                )
                if not steady:
                    raise Refused(f"line {line_of(update.call)} updates a place that depends on {text}")
            if node.type in {"subscript_expression", "pointer_expression", "call_expression"}:
                raise Refused(f"line {line_of(update.call)} updates a place that memory decides")
    index = updates[0].index
    return f"&{updates[0].array}[{program.text(index)}]" if index is not None else updates[0].array


def _merged(kernel: Kernel, place: str) -> MergedBlocks | None:
    """The loop over several blocks; None where a block covers much of the data already, or has a place of its own."""
    in_grid = any(kernel.program.text(node) == "gridDim" for node in kernel.of_type("identifier"))
    if not in_grid and "blockIdx" not in place:
        return merge_blocks(kernel, MERGED)
    for node in kernel.of_type("return_statement"):
        raise Refused(f"line {line_of(node)} returns before the barrier at the end")
    return None


def _written(
    kernel: Kernel,
    updates: Sequence[Update],
    place: str,
    element: ElementType,
    merged: MergedBlocks | None,
    total: str,
    threads: int,
) -> Iterator[Replacement]:
    program, function = kernel.program, updates[0].function
    nothing = identity(function, element)
    how = Operation(_FUNCTIONS[function], nothing)
    first = next(each for each in kernel.body.named_children if each.type not in {"comment", "preproc_call"})
    inner = margin(program, first)
    start, end = opening(program, kernel.body), closing(program, kernel.body)
    head = lines(program, inner, f"{element.text} {total} = {nothing};")
    yield Replacement(start, start, head + (merged.head if merged is not None else ""))
    for each in updates:
        value = program.text(each.value)
        converted = value if _has_type(kernel, each.value, element) else f"({element.text})({value})"
        text = how.combine(total, converted)
        yield Replacement(each.statement.start_byte, each.statement.end_byte, text)
    if merged is not None:
        yield from merged.replacements
    rank, _ = thread_rank(kernel)
    last = conditional(kernel, f"{total} != {nothing}", f"{function}({place}, {total});")
    foot = over_block(kernel, how, element, total, rank, threads, last)
    yield Replacement(end, end, (merged.foot if merged is not None else "") + lines(program, inner, foot))


def _has_type(kernel: Kernel, node: Node, element: ElementType) -> bool:
    """Whether a value is a variable or number whose conversion changes nothing."""
    if element.kind != "floating" and node.type in {"number_literal", "identifier", "subscript_expression"}:
        return True
    named = child(node, "argument") if node.type == "subscript_expression" else node
    declared = kernel.declared.get(kernel.program.text(named), ())
    return len(declared) == 1 and declared[0].type == element.text and named.type == "identifier"
