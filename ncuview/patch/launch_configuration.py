"""Make the patches of a kernel's launch configuration: blocks of 256 threads, or relaxed ``__launch_bounds__``.

``block_size`` takes a ``Kernel``, returns a ``Change``, and raises ``Refused`` if the code depends on the block size.
The thread's global index is the one use of the block size that is allowed.
``launch_bounds`` lets the compiler use more registers per thread: no minimum of blocks, or the launches' block size as
maximum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant, file_constant, integer
from ncuview.patch.launches import Launch, block_of, initial_value, launches
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, Program, above, bare, child, line_of, meaningful, operator, within
from ncuview.patch.thread_number import bound_of_threads

if TYPE_CHECKING:
    from tree_sitter import Node

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
    resized = [each for launch in found for each in _resized(kernel, launch, found, bound)]
    return Change(f"Launch blocks of {THREADS} threads", "", tuple(dict.fromkeys([*resized, *_larger_bounds(kernel)])))


def _resized(kernel: Kernel, launch: Launch, found: Sequence[Launch], bound: str) -> Iterator[Replacement]:
    """Replace the block, and the same number in a grid that covers the bound."""
    program, line = kernel.program, line_of(launch.node)
    size = constant(program, launch.block)
    if size is None:
        raise Refused(f"the block of the launch on line {line} is not constant")
    if size == THREADS:
        raise Refused(f"the launch on line {line} has blocks of {THREADS} threads already")
    if len(launch.arguments) != len(kernel.parameters):
        raise Refused(f"the launch on line {line} does not give every argument")
    count = program.text(bare(launch.arguments[list(kernel.parameters).index(bound)]))
    in_grid = _sizes_in_grid(kernel, launch, found, count, size)
    if launch.block.type == "identifier":
        yield _definition(kernel, launch, found, size)
    else:
        for place in [*in_grid, launch.block]:
            written = integer(program.text(place))
            if written is None:
                raise Refused(f"the launch on line {line} writes its block as an expression")
            yield Replacement(place.start_byte, place.end_byte, str(written + THREADS - size))


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


def _definition(kernel: Kernel, launch: Launch, found: Sequence[Launch], size: int) -> Replacement:
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
    return Replacement(place.start_byte, place.start_byte + len(number[0]), str(THREADS))


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


def _larger_bounds(kernel: Kernel) -> Iterator[Replacement]:
    """``__launch_bounds__`` must allow the new blocks; the block's constant there changes with the block."""
    for bounds in (node for node in kernel.definition.children if node.type == "launch_bounds"):
        threads = meaningful(bounds)[0]
        value = constant(kernel.program, threads)
        if value is None or (value < THREADS and threads.type not in {"number_literal", "identifier"}):
            raise Refused("__launch_bounds__ is no plain number")
        own = any(kernel.program.text(threads) == kernel.program.text(each.block) for each in launches(kernel))
        if value < THREADS and threads.type == "identifier" and not own:
            raise Refused(f"__launch_bounds__ allows only {value} threads")
        if value < THREADS and threads.type == "number_literal":
            yield Replacement(threads.start_byte, threads.end_byte, str(THREADS))


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


def _bounds(kernel: Kernel) -> Node:
    found = [node for node in kernel.definition.children if node.type == "launch_bounds"]
    if len(found) != 1 or not meaningful(found[0]):
        raise Refused(f"no __launch_bounds__ of {kernel.name} limits its registers")
    return found[0]
