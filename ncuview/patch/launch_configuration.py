"""Make the patches of a kernel's launch configuration: the threads of a block, and ``__launch_bounds__``.

``block_size`` takes a ``Kernel``, returns a ``Change``, and raises ``Refused`` if the code depends on the block size.
The thread's global index is the one use of the block size that is allowed.
``launch_bounds`` lets the compiler use more registers per thread: no minimum of blocks, or the launches' block size as
maximum. ``resized`` and ``bounded`` make the changes to any number, as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant, file_constant, integer
from ncuview.patch.launch_facts import fixed_block
from ncuview.patch.launches import (
    Launch,
    argument_kinds,
    block_of,
    front_matter,
    initial_value,
    is_product,
    launch_strings,
    launches,
    launches_in_source,
    value_at_sizes,
)
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import (
    Kernel,
    Program,
    above,
    bare,
    child,
    function_declarator,
    line_of,
    meaningful,
    operator,
    within,
)
from ncuview.patch.thread_number import bound_of_threads, check_numbered, covers_by_loop

if TYPE_CHECKING:
    from tree_sitter import Node

    from ncuview.catalogue.kernel_file import KernelText

THREADS = 256
"""A size that fills a multiprocessor on every GPU, and can be launched with any number of registers per thread."""


def block_size(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Change the block of every launch to 256 threads, and the grid with it.

    Args:
        kernel: The kernel.
        lines: Unused: a launch has one block size.

    Raises:
        Refused: Kernel or host use the size for more than the global index and the grid.
    """
    del lines
    bound = bound_of_threads(kernel)
    found = launches(kernel)
    made = [each for launch in found for each in _resized(kernel, launch, found, bound, THREADS)]
    bounds = _larger_bounds(kernel, THREADS)
    return Change(f"Launch blocks of {THREADS} threads", "", tuple(dict.fromkeys([*made, *bounds])))


def resized(kernel: Kernel, threads: int) -> Change:
    """Change the block of every launch, in front matter too, and the grid with it.

    Args:
        kernel: The kernel.
        threads: The threads per block.

    Raises:
        Refused: Kernel or host use the size for more than the global index and the grid, or it is the present one.
    """
    number = check_numbered(kernel)
    text, found = front_matter(kernel), launches_in_source(kernel)
    before = prod(block_of(kernel))
    if before == threads:
        raise Refused(f"blocks have {threads} threads already")
    made = [each for launch in found for each in _resized(kernel, launch, found, bound_of_threads(kernel), threads)]
    made += _resized_text(kernel, text, number, threads) if text is not None else []
    title = f"Launch blocks of {threads} threads instead of {before}"
    return Change(title, "", tuple(dict.fromkeys([*made, *_larger_bounds(kernel, threads)])))


_DIVIDED = re.compile(r"(ceil\()?(.+?)\s*/\s*(\w+)(\))?")


def _resized_text(kernel: Kernel, text: KernelText, number: str, threads: int) -> list[Replacement]:
    """Replace the block in front matter, and the same number or name where it divides the grid.

    An exact quotient gives the same number of threads. A rounded one gives others, which must do nothing, or any
    grid must do.
    """
    data, block, grid = kernel.program.data, text.launch.block, text.launch.grid
    if text.transfers is not None:
        raise Refused(f"the host launches {kernel.name} for pieces of the data")
    if any(value_at_sizes(text, each) != 1 for each in block[1:]):
        raise Refused(f"blocks of {kernel.name} have more than one axis")
    of_block, of_grid = launch_strings(data, "block")[0], launch_strings(data, "grid")[0]
    made = [Replacement(of_block.start, of_block.stop, str(threads))]
    parts = _DIVIDED.fullmatch(grid[0])
    if parts is None or parts[3] != block[0].strip() or bool(parts[1]) != bool(parts[4]) or not is_product(parts[2]):
        bound_of_threads(kernel)
        if not covers_by_loop(kernel):
            raise Refused(f"the grid {grid[0]!r} of the front matter is not divided by the block {block[0]!r}")
        return made
    if parts[1]:
        bound = argument_kinds(kernel)[bound_of_threads(kernel)]
        if not covers_by_loop(kernel) and bound.value != parts[2].strip():
            raise Refused(f"the grid {grid[0]!r} of the front matter does not end at {number}'s bound")
    elif value_at_sizes(text, parts[2]) % threads:
        raise Refused(f"{parts[2].strip()} of the front matter is not divisible by {threads}")
    written = f"{parts[1] or ''}{parts[2]} / {threads}{parts[4] or ''}"
    return [*made, Replacement(of_grid.start, of_grid.stop, written)]


def _resized(
    kernel: Kernel, launch: Launch, found: Sequence[Launch], bound: str, threads: int
) -> Iterator[Replacement]:
    """Replace the block, and the same number in a grid that covers the bound."""
    program, line = kernel.program, line_of(launch.node)
    size = constant(program, launch.block)
    if size is None:
        raise Refused(f"the block of the launch on line {line} is not constant")
    if size == threads:
        raise Refused(f"the launch on line {line} has blocks of {threads} threads already")
    if len(launch.arguments) != len(kernel.parameters):
        raise Refused(f"the launch on line {line} does not give every argument")
    count = program.text(bare(launch.arguments[list(kernel.parameters).index(bound)]))
    in_grid = _sizes_in_grid(kernel, launch, found, count, size)
    if launch.block.type == "identifier":
        yield _definition(kernel, launch, found, size, threads)
    else:
        for place in [*in_grid, launch.block]:
            written = integer(program.text(place))
            if written is None:
                raise Refused(f"the launch on line {line} writes its block as an expression")
            yield Replacement(place.start_byte, place.end_byte, str(written + threads - size))


def _sizes_in_grid(kernel: Kernel, launch: Launch, found: Sequence[Launch], count: str, size: int) -> list[Node]:
    """The nodes in the grid ``(count + size - 1) / size`` that are the size, or the size less one, as a number."""
    program, grid = kernel.program, launch.grid
    if grid.type == "identifier":
        value = initial_value(program, grid)
        if value is None or len(value) != 1:
            raise Refused(f"the grid of the launch on line {line_of(launch.node)} is not computed in one place")
        _check_used_only(kernel, grid, [each.node for each in found])
        _check_stays(kernel, launch, count)
        grid = bare(value[0])
    name = program.text(launch.block)
    if grid.type == "binary_expression" and operator(grid) == "/" and program.text(child(grid, "right")) == name:
        dividend = child(grid, "left")
        dense = re.sub(r"[\s()]", "", program.text(dividend))
        data = re.sub(r"[\s()]", "", count)
        if dense in {f"{data}+{name}-1", f"{name}-1+{data}", f"{name}+{data}-1"}:
            at = "right" if dense.startswith(f"{data}+") else "left"
            return [child(grid, "right"), *_number_beside(program, dividend, at, size, name)]
        if dense == f"{data}+{size - 1}" and integer(name) is not None:
            return [child(grid, "right"), child(dividend, "right")]
    raise Refused(f"the grid of the launch on line {line_of(launch.node)} is not ({count} + {name} - 1) / {name}")


def _check_stays(kernel: Kernel, launch: Launch, count: str) -> None:
    """The count must not change between the computation of the grid and the launch."""
    function = next((each for each in above(launch.node) if each.type == "function_definition"), launch.node)
    names = set(re.findall(r"\w+", count)) & kernel.program.changed_in(function)
    changed = {name for name in names if file_constant(kernel.program, name) is None}
    if changed:
        raise Refused(f"{' and '.join(sorted(changed))} may change between the grid and the launch")


def _number_beside(program: Program, dividend: Node, side: str, size: int, name: str) -> list[Node]:
    """The node of the size in ``count + size - 1``, where it is written as a number."""
    if integer(name) is None:
        return []
    first = child(dividend, "left")
    place = child(first, side) if operator(dividend) == "-" and first.type == "binary_expression" else None
    if place is None or integer(program.text(place)) != size:
        raise Refused("the grid is rounded up in a way that is not understood")
    return [place]


def _definition(kernel: Kernel, launch: Launch, found: Sequence[Launch], size: int, threads: int) -> Replacement:
    """Replace the value of the constant that is the block, which only these launches may use."""
    program, name = kernel.program, kernel.program.text(launch.block)
    allowed = [each.node for each in found]
    allowed += [part for part in kernel.definition.children if part.type == "launch_bounds"]
    allowed += [
        value for each in found if each.grid.type == "identifier" for value in initial_value(program, each.grid) or ()
    ]
    _check_used_only(kernel, launch.block, allowed)
    place = _value_of(kernel, launch, name)
    text = program.text(place)
    number = re.match(r"\d+", text)
    if number is None or integer(re.split(r"\s|//|/\*", text)[0]) != size:
        raise Refused(f"{name} is not defined as a plain number")
    return Replacement(place.start_byte, place.start_byte + len(number[0]), str(threads))


def _value_of(kernel: Kernel, launch: Launch, name: str) -> Node:
    program = kernel.program
    function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
    local = program.declared_in(function).get(name, ()) if function is not None else ()
    values = [each.value for each in local]
    defined = None if local else file_constant(program, name)
    if defined is not None and defined.type == "preproc_def":
        return child(defined, "value")
    if defined is not None:
        values = [each.value for declared, each in program.declarations(defined) if declared == name]
    if len(values) != 1 or values[0] is None:
        raise Refused(f"{name} is not defined in one place of this file")
    return values[0]


def _check_used_only(kernel: Kernel, name: Node, allowed: Sequence[Node]) -> None:
    """A constant whose value changes may be used only to configure these launches."""
    program, text = kernel.program, kernel.program.text(name)
    if program.in_macros(text):
        raise Refused(f"a macro mentions {text}")
    for node in program.named(text):
        parent = node.parent
        declares = parent is not None and (
            parent.type == "preproc_def"
            or (parent.type in {"init_declarator", "declaration"} and parent.child_by_field_name("declarator") == node)
        )
        if not declares and not any(_configures(each, node) for each in allowed):
            raise Refused(f"line {line_of(node)} uses {text} too")


def _configures(place: Node, node: Node) -> bool:
    parts = [each for each in place.children if each.type == "kernel_call_syntax"] or [place]
    return any(part.start_byte <= node.start_byte < part.end_byte for part in parts)


def _larger_bounds(kernel: Kernel, allowed: int) -> Iterator[Replacement]:
    """``__launch_bounds__`` must allow the new blocks; the block's constant there changes with the block."""
    for bounds in (node for node in kernel.definition.children if node.type == "launch_bounds"):
        threads = meaningful(bounds)[0]
        value = constant(kernel.program, threads)
        if value is None or (value < allowed and threads.type not in {"number_literal", "identifier"}):
            raise Refused("__launch_bounds__ is no plain number")
        own = any(
            kernel.program.text(threads) == kernel.program.text(each.block) for each in launches_in_source(kernel)
        )
        if value < allowed and threads.type == "identifier" and not own:
            raise Refused(f"__launch_bounds__ allows only {value} threads")
        if value < allowed and threads.type == "number_literal":
            yield Replacement(threads.start_byte, threads.end_byte, str(allowed))


def launch_bounds(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Drop the minimum of blocks, which limits registers, or lower the maximum of threads to the launches' block size.

    Args:
        kernel: The kernel.
        lines: Unused: registers are allocated to the complete kernel.

    Raises:
        Refused: Nothing in the source limits registers, or the blocks of the launches are not known.
    """
    del lines
    bounds = _bounds(kernel)
    threads, *further = meaningful(bounds)
    if any(each.type == "comment" for each in within(bounds)):
        raise Refused("__launch_bounds__ contains a comment")
    if further:
        cut = Replacement(threads.end_byte, further[-1].end_byte, "")
        return Change("Let the compiler choose how many blocks fit", "", (cut,))
    declared = constant(kernel.program, threads)
    x, y, z = block_of(kernel)
    if declared is None or declared <= x * y * z:
        raise Refused(f"__launch_bounds__ already allows no more threads than the {x * y * z} of the launches")
    lower = Replacement(threads.start_byte, threads.end_byte, str(x * y * z))
    assumes = "no launch outside this file has larger blocks"
    return Change(f"Limit blocks to {x * y * z} threads", assumes, (lower,))


def bounded(kernel: Kernel, blocks: int) -> Change:
    """Let registers leave room for so many blocks on a multiprocessor, by ``__launch_bounds__``.

    Args:
        kernel: The kernel.
        blocks: The least number of blocks.

    Raises:
        Refused: The blocks of the launches are not known, or the bounds hold a comment.
    """
    threads = prod(fixed_block(kernel))
    title, assumes = f"Leave registers for {blocks} blocks", "no launch outside this file has larger blocks"
    written = f"__launch_bounds__({threads}, {blocks})"
    present = [node for node in kernel.definition.children if node.type == "launch_bounds"]
    if any(each.type == "comment" for node in present for each in within(node)):
        raise Refused("__launch_bounds__ contains a comment")
    if len(present) > 1:
        raise Refused(f"{kernel.name} has several __launch_bounds__")
    if present:
        return Change(title, assumes, (Replacement(present[0].start_byte, present[0].end_byte, written),))
    head = function_declarator(kernel.definition)
    if head is None:
        raise Refused(f"{kernel.name} is declared in a way that is not understood")
    return Change(title, assumes, (Replacement(head.start_byte, head.start_byte, f"{written} "),))


def minimum_of_blocks(kernel: Kernel) -> int:
    """The blocks that registers leave room for by ``__launch_bounds__``; 0 where none is written as a constant."""
    present = [meaningful(node) for node in kernel.definition.children if node.type == "launch_bounds"]
    second = present[0][1] if len(present) == 1 and len(present[0]) > 1 else None
    return (constant(kernel.program, second) or 0) if second is not None else 0


def _bounds(kernel: Kernel) -> Node:
    found = [node for node in kernel.definition.children if node.type == "launch_bounds"]
    if len(found) != 1 or not meaningful(found[0]):
        raise Refused(f"no __launch_bounds__ of {kernel.name} limits its registers")
    return found[0]
