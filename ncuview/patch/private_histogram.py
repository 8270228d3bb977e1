"""Make the patch that gives each block a private copy of a small array that atomics update, and merges it at the end.

``private_histogram`` takes a ``Kernel`` -> ``Change``; it raises ``Refused`` unless the number of bins is known and all
threads of a block reach the barriers. An index that may lie outside the private copy keeps its atomic in global memory.
The merge updates only bins that the block changed, so no other place is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.atomics import ElementType, Update, atomic_updates, identity, is_pure, type_of
from ncuview.patch.constants import check_known_names, constant
from ncuview.patch.global_index import uncast
from ncuview.patch.indices import depends, varying
from ncuview.patch.launch_facts import check_distinct
from ncuview.patch.launches import Launch, argument_kinds, front_matter, launches_in_source, value_at_sizes
from ncuview.patch.merged_blocks import MergedBlocks, merge_blocks
from ncuview.patch.patch import Change, Refused, Replacement, replaced
from ncuview.patch.program import Kernel, Program, above, bare, child, line_of, meaningful, operator, within
from ncuview.patch.rewriting import closing, fresh, lines, margin, newline, opening, unit
from ncuview.patch.thread_rank import thread_rank

if TYPE_CHECKING:
    from tree_sitter import Node

MERGED = 32
"""Blocks of the original kernel that share one private copy, so that zeroing and merging it costs little."""
_LARGEST = 32 * 1024
"""Bytes of a private copy that leave shared memory for several blocks on each multiprocessor."""


def private_histogram(kernel: Kernel, lines_: Sequence[int]) -> Change:
    """Count in shared memory, and add each block's counts to the array at its end.

    Args:
        kernel: The kernel.
        lines_: Unused: all updates of the array change together.

    Raises:
        Refused: An obligation is not proven.
    """
    del lines_
    check_known_names(kernel)
    updates = [each for each in atomic_updates(kernel) if each.index is not None and _scatters(kernel, each)]
    arrays = sorted({each.array for each in updates})
    if len(arrays) != 1:
        why = "no atomics at an index that comes from data" if not arrays else "atomics on several arrays"
        raise Refused(f"{kernel.name} has {why}")
    (array,) = arrays
    every = [each for each in atomic_updates(kernel) if each.array == array]
    if any(each.index is None or not is_pure(kernel, each.index) for each in every):
        raise Refused(f"an index into {array} cannot be evaluated twice")
    _check_no_shared(kernel)
    others = [name for name, each in kernel.parameters.items() if each.stars > 0 and name != array]
    check_distinct(kernel, [array], others)
    element = type_of(kernel, array)
    bins = _bins(kernel, array, every)
    if bins * element.size > _LARGEST:
        raise Refused(f"{bins} bins of {array} do not fit into the shared memory of several blocks")
    merged = _merged(kernel)
    private, bin_ = fresh(kernel.program, "bins", "private_bins"), fresh(kernel.program, "bin", "own_bin")
    return Change(
        f"Give each block its own copy of the {bins} bins of {array}",
        merged.assumes if merged is not None else "",
        tuple(_written(kernel, array, element, bins, every, merged, (private, bin_))),
        reorders=f"the sums in {array}" if element.kind == "floating" else "",
    )


def _scatters(kernel: Kernel, update: Update) -> bool:
    """Whether the index differs between the threads of a block."""
    index = update.index
    return index is not None and any(
        depends(kernel, index, f"threadIdx.{letter}", varying(kernel, f"threadIdx.{letter}")) for letter in "xyz"
    )


def _check_no_shared(kernel: Kernel) -> None:
    for node in within(kernel.body):
        if not node.children and kernel.program.text(node) in {"__shared__", "__syncthreads"}:
            raise Refused(f"line {line_of(node)}: {kernel.name} uses shared memory already")


def _bins(kernel: Kernel, array: str, updates: Sequence[Update]) -> int:
    """The number of bins: what the indices allow, else the array's size in front matter or in the host's code."""
    limits = [_limit(kernel, each.index) for each in updates if each.index is not None]
    known = [limit for limit in limits if limit is not None]
    if len(known) == len(updates):
        return max(known)
    text, kind = front_matter(kernel), argument_kinds(kernel).get(array)
    if text is not None and kind is not None:
        return prod(value_at_sizes(text, extent) for extent in kind.shape)
    sizes = {_allocated(kernel, launch, array) for launch in launches_in_source(kernel)} - {None}
    if len(sizes) != 1:
        raise Refused(f"the number of bins of {array} is not known: neither its index nor the host's code bounds it")
    return int(sizes.pop() or 0)


def _allocated(kernel: Kernel, launch: Launch, array: str) -> int | None:
    """The elements that the host's code gives to a launch's argument: ``cudaMalloc(&a, 256 * sizeof(int))``.

    A wrong number costs speed only: indices beyond it stay in global memory.
    """
    program = kernel.program
    function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
    place = list(kernel.parameters).index(array)
    if function is None or place >= len(launch.arguments) or launch.arguments[place].type != "identifier":
        return None
    name = program.text(launch.arguments[place])
    declared = program.declared_in(function).get(name, ())
    calls = [each.value for each in declared if each.value is not None and each.value.type == "call_expression"]
    calls += [
        node
        for node in within(function)
        if node.type == "call_expression"
        and program.text(child(node, "function")) in _ALLOCATES
        and any(program.text(each) == name for each in within(child(node, "arguments")))
    ]
    sizes = {size for call in calls if (size := _elements(kernel, call)) is not None}
    return sizes.pop() if len(sizes) == 1 else None


_ALLOCATES = {"cudaMalloc", "cudaMallocManaged", "cudaMemset", "cudaMemsetAsync"}


def _elements(kernel: Kernel, call: Node) -> int | None:
    """The constant among a call's arguments, or the factor beside ``sizeof``."""
    for argument in meaningful(child(call, "arguments")):
        sides = [argument]
        if argument.type == "binary_expression" and operator(argument) == "*":
            sides = [child(argument, "left"), child(argument, "right")]
        sized = any(side.type == "sizeof_expression" for side in sides)
        alone = "cuda" not in kernel.program.text(child(call, "function"))
        numbers = [number for side in sides if (number := constant(kernel.program, side)) is not None]
        if (sized or alone) and len(numbers) == 1 and numbers[0] > 1:
            return numbers[0]
    return None


_BYTES = re.compile(r"(?:const )?(?:unsigned char|uchar|uint8_t|u8)")


def _limit(kernel: Kernel, index: Node | None, depth: int = 0) -> int | None:
    """The number that an index is always below, and never below 0, by its type and operations; None where unknown."""
    if index is None or depth > 8:
        return None
    program, node = kernel.program, uncast(kernel, index)
    value = constant(program, node)
    if value is not None:
        return value + 1 if value >= 0 else None
    if node.type in {"identifier", "subscript_expression"}:
        return _limit_of_variable(kernel, node, depth)
    if node.type == "binary_expression":
        left, right = child(node, "left"), child(node, "right")
        if operator(node) == "&":
            masks = [mask for side in (left, right) if (mask := constant(program, side)) is not None and mask >= 0]
            return min(masks) + 1 if masks else None
        one, other = _limit(kernel, left, depth + 1), constant(program, right)
        if (
            operator(node) == "%"
            and other is not None
            and other > 0
            and (one is not None or _is_unsigned(kernel, left))
        ):
            return min(other, one or other)
        if operator(node) == ">>" and other is not None and other >= 0 and one is not None:
            return ((one - 1) >> other) + 1
        if operator(node) == "/" and other is not None and other > 0 and one is not None:
            return (one - 1) // other + 1
        if operator(node) == ">>" and other is not None and 0 <= other < 32 and _is_unsigned(kernel, left):
            return 1 << (32 - other)
    return None


def _limit_of_variable(kernel: Kernel, node: Node, depth: int) -> int | None:
    """The limit of a variable or element: by its type, by what front matter says, or by all that is assigned to it."""
    program = kernel.program
    named = node if node.type == "identifier" else child(node, "argument")
    name, declared = program.text(named), kernel.declared.get(program.text(named), ())
    if len(declared) != 1 or declared[0].stars + len(declared[0].sizes) != (node.type == "subscript_expression"):
        return None
    if _BYTES.fullmatch(declared[0].type):
        return 256
    kind = argument_kinds(kernel).get(name)
    if kind is not None and kind.role == "in" and kind.below.isdigit():
        return int(kind.below)
    if name in kernel.parameters:
        return None
    values = [declared[0].value] if declared[0].value is not None else []
    for use in kernel.uses(name):
        place = use.parent if node.type == "subscript_expression" else use
        outer = place.parent if place is not None else None
        if place is None or outer is None or (node.type == "subscript_expression" and place.type != node.type):
            return None
        if outer.type == "assignment_expression" and child(outer, "left") == place:
            if operator(outer) != "=":
                return None
            values.append(child(outer, "right"))
        elif outer.type in {"update_expression", "argument_list"} or (
            outer.type == "pointer_expression" and operator(outer) == "&"
        ):
            return None
    limits = [_limit(kernel, value, depth + 1) for value in values]
    return None if not limits or None in limits else max(limit for limit in limits if limit is not None)


def _is_unsigned(kernel: Kernel, node: Node) -> bool:
    """Whether an expression is a variable or element of 32 bits without a sign."""
    program, node = kernel.program, bare(node)
    named = child(node, "argument") if node.type == "subscript_expression" else node
    declared = kernel.declared.get(program.text(named), ())
    plain = len(declared) == 1 and declared[0].stars + len(declared[0].sizes) == (node.type == "subscript_expression")
    return plain and bool(re.fullmatch(r"unsigned(?: int)?|uint|uint32_t|u32", " ".join(declared[0].type.split())))


def _merged(kernel: Kernel) -> MergedBlocks | None:
    """The loop over several blocks; None where a block covers much of the data already."""
    if any(kernel.program.text(node) == "gridDim" for node in kernel.of_type("identifier")):
        for node in kernel.of_type("return_statement"):
            raise Refused(f"line {line_of(node)} returns before the barrier at the end")
        return None
    return merge_blocks(kernel, MERGED)


def _written(
    kernel: Kernel,
    array: str,
    element: ElementType,
    bins: int,
    updates: Sequence[Update],
    merged: MergedBlocks | None,
    names: tuple[str, str],
) -> Iterator[Replacement]:
    program, (private, bin_) = kernel.program, names
    first = next(each for each in kernel.body.named_children if each.type not in {"comment", "preproc_call"})
    inner, step = margin(program, first), unit(kernel)
    start, end = opening(program, kernel.body), closing(program, kernel.body)
    rank, threads = thread_rank(kernel)
    nothing = identity(updates[0].function, element)
    loop = f"for (int {bin_} = {rank}; {bin_} < {bins}; {bin_} += {threads})"
    before = f"""__shared__ {element.text} {private}[{bins}];
{loop}
{step}{private}[{bin_}] = {nothing};
__syncthreads();
"""
    after = f"""__syncthreads();
{loop}
{step}if ({private}[{bin_}] != {nothing})
{step}{step}{updates[0].function}(&{array}[{bin_}], {private}[{bin_}]);
"""
    yield Replacement(start, start, lines(program, inner, before) + (merged.head if merged is not None else ""))
    of_merged = merged.replacements if merged is not None else ()
    moved = [made for each in updates for made in _moved(kernel, each, private, bins, of_merged)]
    yield from moved
    yield from (each for each in of_merged if not any(_is_in(each, made.start, made.end) for made in moved))
    yield Replacement(end, end, (merged.foot if merged is not None else "") + lines(program, inner, after))


def _moved(
    kernel: Kernel, update: Update, private: str, bins: int, merged: Sequence[Replacement]
) -> Iterator[Replacement]:
    """The update in shared memory, where the index is known to be inside; else with a condition.

    A condition repeats the statement, with what merged blocks change in it.
    """
    program, index = kernel.program, update.index
    if index is None:
        raise Refused(f"line {line_of(update.call)} updates the array without an index")
    address = meaningful(child(update.call, "arguments"))[0]
    target = next(node for node in within(address) if node.type == "identifier" and program.text(node) == update.array)
    limit = _limit(kernel, index)
    if limit is not None and limit <= bins:
        yield Replacement(target.start_byte, target.end_byte, private)
        return
    place = update.statement
    whole, own = _with(program, place, merged), Replacement(target.start_byte, target.end_byte, private)
    indent = margin(program, place) + (unit(kernel) if merged else "")
    step, end = unit(kernel), newline(program)
    condition = f"if ((unsigned long long)({_with(program, index, merged)}) < {bins})"
    parts = [condition, step + _with(program, place, [*merged, own]), "else", step + whole]
    yield Replacement(place.start_byte, place.end_byte, f"{end}{indent}".join(parts))


def _is_in(replacement: Replacement, start: int, end: int) -> bool:
    return start <= replacement.start and replacement.end <= end


def _with(program: Program, node: Node, replacements: Sequence[Replacement]) -> str:
    """The text of a node with the replacements inside it."""
    start, end = node.start_byte, node.end_byte
    inside = [each for each in replacements if _is_in(each, start, end)]
    return replaced(program.data[start:end], start, inside).decode("utf-8", "surrogateescape")
