"""Make the patch in which each thread computes several results of a product, with operands from tiles in registers.

``register_tiles`` takes a ``Kernel`` -> ``Change`` of kernel and launches, or raises ``Refused``. One block serves
several of the original's blocks along both axes: each thread has the results of its place in each of them, and loads an
operand once for a row or column of them. Threads of a block of one row are laid out in several rows, so that both axes
have results. The order of each sum stays, so that the results are byte-identical.

What must be proven beyond what ``staged_loads`` proves: blocks that a division with rounding adds do nothing, and the
loop's body depends on the thread through its operands and its sums alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.coverage import check_covered
from ncuview.patch.global_index import guarded
from ncuview.patch.guards import in_and
from ncuview.patch.index_algebra import ASSUMED, Polynomial, holds
from ncuview.patch.launch_facts import launch_facts
from ncuview.patch.launches import grid_divided, grid_of
from ncuview.patch.other_thread import OtherThread, fresh, instead, level_of
from ncuview.patch.pad_tile import BYTES
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Declared, Kernel, above, child, line_of, meaningful, within
from ncuview.patch.staged_loads import (
    AXES,
    Stage,
    body_lines,
    check_steps,
    condition_for,
    first_stage,
    in_steps,
    start_of,
    tiles_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_RESULTS = ((8, 8), (4, 4), (2, 4), (1, 8), (1, 4), (1, 2))
_THREADS_OF_8X8 = 256
"""The largest block whose threads have enough registers for 64 sums and their operands."""
_FEWEST_BLOCKS = 128
"""Blocks that a grid keeps where it is known: one for each multiprocessor of large GPUs."""


def register_tiles(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Compute several results per thread, from operands in shared memory and registers.

    Args:
        kernel: The kernel.
        lines: The lines with the loop; empty for the complete kernel.

    Raises:
        Refused: No loop sums products of common elements, or an obligation of the proof is not met.
    """
    stage = register_stage(kernel, lines)
    refusal = Refused("")
    for results in _RESULTS:
        try:
            return registers_of(stage, results)
        except Refused as refused:
            refusal = refused
    raise refusal


def register_stage(kernel: Kernel, lines: Sequence[int]) -> Stage:
    """The loop of a product with an operand along each axis; raises Refused."""
    stage = first_stage(kernel, lines, lambda _load, _extent: True, blocks=True)
    if {load.axis for load in stage.loads} != set(AXES):
        raise Refused("no loop loads one operand along each axis of threads")
    return stage


def registers_of(stage: Stage, results: tuple[int, int]) -> Change:
    """The change of a product's loop, with so many results per thread along x and y; raises Refused."""
    if prod(results) > 16 and prod(stage.extent) > _THREADS_OF_8X8:
        raise Refused(f"blocks of {prod(stage.extent)} threads have no registers for {prod(results)} results each")
    laid_out = _laid_out(stage, results)
    bounds, launched = _fewer_blocks(laid_out)
    change = _rewritten(replace(laid_out, bounds=bounds))
    title = f"Compute {results[1]} x {results[0]} results per thread"
    return Change(title, ASSUMED, (*change, *launched))


def _laid_out(stage: Stage, results: tuple[int, int]) -> Stage:
    """The stage with so many results per thread along x and y.

    The threads of a block of one row would have all their results along x in blocks far apart, for which tiles grow and
    loads are shared by few. They are laid out in as many rows as they have results along x, and the block's row stays.
    """
    width, height = stage.extent
    across, down = results
    if height > 1:
        return replace(stage, merged=results)
    if width % across:
        raise Refused(f"blocks of {width} threads are not laid out in {across} rows")
    return replace(stage, merged=(1, across * down), rows=across)


def _fewer_blocks(stage: Stage) -> tuple[tuple[str, str], tuple[Replacement, ...]]:
    """The bounds that blocks need which rounding adds, and the launches with their grids divided.

    Raises:
        Refused: A grid would be too small, or blocks that rounding adds are not proven to do nothing.
    """
    kernel, merged = stage.kernel, stage.merged
    try:
        grid: Sequence[int] | None = grid_of(kernel)
    except Refused:
        grid = None
    if grid is not None and prod(-(-grid[axis] // merged[axis]) for axis in (0, 1)) < _FEWEST_BLOCKS:
        raise Refused(f"{kernel.name} has too few blocks to merge them")
    bounds, made = ["", ""], list[Replacement]()
    for axis, by in enumerate(merged):
        if by > 1:
            exact = False
            try:
                check_covered(kernel, axis, guarded(kernel, axis).bound)
            except Refused:
                bounds[axis] = _threads(stage, axis)
                exact = not bounds[axis]
            made += grid_divided(kernel, axis, by, exact=exact)
    return (bounds[0], bounds[1]), tuple(_combined(made))


def _combined(divided: Sequence[Replacement]) -> list[Replacement]:
    """Replacements of one grid along both axes as one: ``dim3((grid.x + 3) / 4, (grid.y + 3) / 4, grid.z)``."""
    found: dict[tuple[int, int], Replacement] = {}
    for each in divided:
        earlier = found.setdefault((each.start, each.end), each)
        if earlier != each:
            one, other = (
                text.removeprefix("dim3(").removesuffix(")").split(", ") for text in (earlier.text, each.text)
            )
            if len(one) != 3 or len(other) != 3:
                raise Refused("both axes of the grid are written in one place")
            found[each.start, each.end] = replace(each, text=f"dim3({one[0]}, {other[1]}, {one[2]})")
    ordered = sorted(found.values())
    if any(later.start < earlier.end for earlier, later in pairwise(ordered)):
        raise Refused("both axes of the grid are written in one place")
    return ordered


def _threads(stage: Stage, axis: int) -> str:
    """A parameter that equals the number of threads along an axis in each launch; empty where none is proven to."""
    facts = launch_facts(stage.kernel)
    threads = Polynomial.of(f"gridDim.{'xy'[axis]}").times(stage.extent[axis])
    for name, declared in stage.kernel.parameters.items():
        difference = threads - Polynomial.of(name)
        if not declared.stars and holds(difference, facts) and holds(difference.times(-1), facts):
            return name
    return ""


def _rewritten(stage: Stage) -> list[Replacement]:
    """The replacements in the kernel."""
    kernel = stage.kernel
    check_steps(stage)
    for load in stage.loads:
        if BYTES.get(kernel.parameters[load.access.array].type, 16) > 8:
            raise Refused("operands are vectors")
    block = _block(stage)
    sums = _sums(stage, block)
    removed = _before_loop(stage, block, sums)
    tiles = tiles_of(stage)
    first, *loops = fresh(kernel, "first", "across", "down")
    across, down = (name if results > 1 else "0" for name, results in zip(loops, stage.results, strict=True))
    own, placed = _own(stage)
    arrays = dict(zip(sums, fresh(kernel, *(f"{name}_tile" for name in sums)), strict=True))
    width, height = stage.results
    declared = [f"{sums[name].type} {array}[{height}][{width}];" for name, array in arrays.items()]
    initial = [
        f"{array}[{down}][{across}] = {kernel.program.text(value)};"
        for name, array in arrays.items()
        for value in [sums[name].value]
        if value is not None
    ]
    start = _for_each(stage, across, down, initial) if initial else []
    places = _places(stage, own, (across, down))
    summed = _summed(stage, tiles, arrays, sums, first, (across, down), places)
    after = _after_loop(stage, block, arrays, sums, (across, down), places)
    lines = [*placed, *declared, *start, *in_steps(stage, tiles, first, summed), *after]
    later = [node for node in meaningful(block) if node.start_byte >= stage.loop.end_byte]
    gone = [Replacement(node.start_byte, node.end_byte, "") for node in later]
    return [*removed, instead(kernel, stage.loop, lines), *(_line_removed(kernel, each) for each in gone)]


def _own(stage: Stage) -> tuple[tuple[str, str], list[str]]:
    """The place of the thread along x and y, as the block's threads are laid out, and the line that declares it."""
    if stage.rows == 1:
        return AXES, []
    (column, row), width = fresh(stage.kernel, "own_column", "own_row"), stage.layout[0]
    line = f"const unsigned int {column} = {AXES[0]} % {width}, {row} = {AXES[0]} / {width};"
    return (column, row), [line]


def _places(stage: Stage, own: tuple[str, str], counters: tuple[str, str]) -> tuple[str, str]:
    """The place of a thread's result along x and y in the tiles."""
    column, row = (
        f"{place} + {counter} * {size}" if counter != "0" else place
        for place, counter, size in zip(own, counters, stage.layout, strict=True)
    )
    return column, row


def _block(stage: Stage) -> Node:
    """The block of statements with the loop, after which no others come."""
    body = stage.kernel.body
    parent = stage.loop.parent
    if parent is None or parent.type != "compound_statement":
        raise Refused(f"the loop on line {line_of(stage.loop)} stands alone under a condition")
    inner = parent
    for block in above(parent):
        if inner == body:
            break
        if block.type == "compound_statement" and meaningful(block)[-1].end_byte > inner.end_byte:
            raise Refused(f"line {line_of(meaningful(block)[-1])} follows the condition around the loop")
        if block.type == "if_statement" and block.child_by_field_name("alternative") is not None:
            raise Refused(f"the condition on line {line_of(block)} has an else")
        inner = block
    return parent


def _sums(stage: Stage, block: Node) -> dict[str, Declared]:
    """The variables that the loop changes; each is declared alone, right before the loop."""
    kernel = stage.kernel
    body = child(stage.loop, "body")
    inside = kernel.program.declared_in(body)
    found = {}
    for name in sorted(kernel.program.changed_in(body) - inside.keys()):
        declared = kernel.declared.get(name, ())
        if len(declared) != 1 or declared[0].node.parent != block or declared[0].sizes or declared[0].stars:
            raise Refused(f"{name} changes in the loop, and is not declared right before it")
        (one,) = declared
        if one.type == "auto":
            raise Refused(f"line {line_of(one.node)} does not name the type of {name}")
        if len(one.node.children_by_field_name("declarator")) != 1 or one.node.start_byte > stage.loop.start_byte:
            raise Refused(f"line {line_of(one.node)} declares {name} together with other variables")
        value = one.value
        if value is not None and not all(each.type in _CONSTANT for each in within(value)):
            raise Refused(f"line {line_of(one.node)} gives {name} an initial value that may differ between threads")
        found[name] = one
    if not found:
        raise Refused(f"the loop on line {line_of(stage.loop)} sums nothing")
    return found


_CONSTANT = {
    "number_literal",
    "parenthesized_expression",
    "cast_expression",
    "type_descriptor",
    "primitive_type",
    "(",
    ")",
}


def _before_loop(stage: Stage, block: Node, sums: dict[str, Declared]) -> list[Replacement]:
    """Guards and variables of one thread's place go, because they are declared again for each of its results."""
    kernel = stage.kernel
    guards = {guard.node: guard for guard in stage.way.guards}
    made = [
        Replacement(node.start_byte, child(node, "consequence").start_byte, "")
        for node, guard in guards.items()
        if not guard.leaves
    ]
    laid_out = [AXES[0]] if stage.rows > 1 else []
    placed = OtherThread(kernel, dict.fromkeys([*_merged(stage), *laid_out], ""), 0)
    blocks = [each for each in [block, *above(block)] if each.type == "compound_statement"]
    for statement in (each for place in blocks for each in meaningful(place)):
        if statement.start_byte >= stage.loop.start_byte or stage.loop in within(statement):
            continue
        if statement in guards:
            made.append(_line_removed(kernel, Replacement(statement.start_byte, statement.end_byte, "")))
            continue
        names = list(kernel.program.declarations(statement)) if statement.type == "declaration" else []
        if not names:
            raise Refused(f"line {line_of(statement)} acts before the loop")
        if any(each.node == statement for each in sums.values()):
            moved = True
        else:
            if any(node == access.node for access in stage.accesses for node in within(statement)):
                raise Refused(f"line {line_of(statement)} accesses memory before the loop")
            differs = [each.value is not None and placed.depends(each.value) for _, each in names]
            moved = all(differs)
            if any(differs) and not moved:
                raise Refused(f"line {line_of(statement)} declares the thread's place together with other variables")
        if moved:
            made.append(_line_removed(kernel, Replacement(statement.start_byte, statement.end_byte, "")))
    return made


def _merged(stage: Stage) -> list[str]:
    """The indices of blocks along the axes in which one block serves several."""
    return [f"blockIdx.{axis}" for axis, blocks in zip("xy", stage.merged, strict=True) if blocks > 1]


def _line_removed(kernel: Kernel, gone: Replacement) -> Replacement:
    """A removal that takes the rest of its lines with it, if nothing else is on them."""
    data = kernel.program.data
    start, end = data.rfind(b"\n", 0, gone.start) + 1, data.find(b"\n", gone.end)
    if data[start : gone.start].strip() or end < 0 or data[gone.end : end].strip():
        return gone
    return Replacement(start, end + 1, "")


def _for_each(stage: Stage, across: str, down: str, lines: Sequence[str]) -> list[str]:
    """The lines for each result of a thread."""
    made = list(lines)
    for counter, results in zip((across, down), stage.results, strict=True):
        if results > 1:
            head = f"for (unsigned int {counter} = 0; {counter} < {results}; {counter}++) {{"
            made = ["#pragma unroll", head, *(level_of(stage.kernel) + line for line in made), "}"]
    return made if prod(stage.results) > 1 else ["{", *made, "}"]


def _summed(
    stage: Stage,
    tiles: dict[str, str],
    arrays: dict[str, str],
    sums: dict[str, Declared],
    first: str,
    names: tuple[str, str],
    places: tuple[str, str],
) -> list[str]:
    """The lines with the original's body for each result, for a full step and for the last one."""
    kernel, level, name = stage.kernel, level_of(stage.kernel), stage.name
    program, body = kernel.program, child(stage.loop, "body")
    _check_body(stage, body)
    texts = list(tiles)
    registers = dict(zip(texts, fresh(kernel, *(f"{_array(stage, text)}_part" for text in texts)), strict=True))
    across, down = names
    loads, later = [], f"{name} - {first}"
    by_text = {program.text(load.access.node): load for load in stage.loads}
    for text, load in by_text.items():
        number = AXES.index(load.axis)
        kind, counter = kernel.parameters[load.access.array].type, names[number]
        place = f"[{later}][{places[number]}]" if number == 0 else f"[{places[number]}][{later}]"
        loads.append(f"{kind} {registers[text]}[{stage.results[number]}];")
        filled = f"{registers[text]}[{counter}] = {tiles[text]}{place};"
        if counter == "0":
            loads.append(filled)
        else:
            head = f"for (unsigned int {counter} = 0; {counter} < {stage.results[number]}; {counter}++)"
            loads += ["#pragma unroll", head, level + filled]
    reads = [
        (load.access.node, f"{registers[program.text(load.access.node)]}[{names[AXES.index(load.axis)]}]")
        for load in stage.loads
    ]
    own = [f"{sums[each].type} &{each} = {array}[{down}][{across}];" for each, array in arrays.items()]
    lines = [*loads, *_for_each(stage, across, down, [*own, *body_lines(stage, reads)])]
    kind = start_of(stage)[0]

    def loop(condition: str) -> list[str]:
        return [f"for ({kind} {name} = {first}; {condition}; {name}++) {{", *(level + line for line in lines), "}"]

    test = condition_for(stage, f"{first} + {stage.depth - 1}")
    full = ["#pragma unroll", *loop(f"{name} < {first} + {stage.depth}")]
    last = loop(condition_for(stage, name))
    return [f"if ({test}) {{", *(level + each for each in full), "} else {", *(level + each for each in last), "}"]


def _array(stage: Stage, text: str) -> str:
    return next(load.access.array for load in stage.loads if stage.kernel.program.text(load.access.node) == text)


def _check_body(stage: Stage, body: Node) -> None:
    """The body may depend on the thread by the operands' loads alone, and must not access memory otherwise."""
    staged = [load.access.node for load in stage.loads]
    for access in stage.accesses:
        if access.node not in staged and body in above(access.node):
            raise Refused(f"line {line_of(access.node)} accesses memory that is no operand")
    other = OtherThread(stage.kernel, dict.fromkeys([*AXES, "blockIdx.x", "blockIdx.y"], ""), 0, _local(stage, body))
    for node in within(body):
        inside = any(place.start_byte <= node.start_byte and node.end_byte <= place.end_byte for place in staged)
        if node.type in {"identifier", "field_expression"} and not inside and other.depends(node):
            raise Refused(f"line {line_of(node)} depends on the thread in the loop beyond its operands")


def _local(stage: Stage, body: Node) -> set[str]:
    """The names that a body declares or changes, and the counter."""
    program = stage.kernel.program
    return {stage.name, *program.declared_in(body), *program.changed_in(body)}


def _after_loop(
    stage: Stage,
    block: Node,
    arrays: dict[str, str],
    sums: dict[str, Declared],
    names: tuple[str, str],
    places: tuple[str, str],
) -> list[str]:
    """The lines with the statements after the loop for each result, under its guards."""
    kernel, level, (across, down) = stage.kernel, level_of(stage.kernel), names
    later = [node for node in meaningful(block) if node.start_byte >= stage.loop.end_byte]
    same = set(sums)
    for node in later:
        same |= _local(stage, node)
    if stage.rows > 1:
        values = {AXES[0]: f"({places[0]})", "blockIdx.y": f"(blockIdx.y * {stage.merged[1]} + {places[1]})"}
    else:
        values = {
            index: f"({index} * {stage.merged['xy'.index(index[-1])]} + {across if index[-1] == 'x' else down})"
            for index in _merged(stage)
        }
    other = OtherThread(kernel, values, stage.loop.start_byte, same)
    own = [f"{sums[each].type} &{each} = {array}[{down}][{across}];" for each, array in arrays.items()]
    tests = [
        f"!({other.text(guard.condition)})" if guard.leaves else in_and(other, guard) for guard in stage.way.guards
    ]
    tests += stage.within(values)
    statements = [*own, *(other.text(node) for node in later)]
    if tests:
        statements = [f"if ({' && '.join(tests)}) {{", *(level + line for line in statements), "}"]
    declared = other.declarations([*(guard.condition for guard in stage.way.guards), *later])
    return _for_each(stage, across, down, [*declared, *statements])
