"""Write a counting loop in steps, where the block loads what a step reads to shared memory, between two barriers.

``staged`` takes a ``Stage`` (kernel, loop, the loads, each with the axis of threads that its index depends on) -> the
replacements. The loop's body is kept with its statements and its order; only the loads read the tile instead.

Each element of a tile is loaded as one thread of the block would have: the one in the element's row or column, at zero
along the other axis, under its guards. Guards must allow that thread wherever they allow one farther along that axis,
so that no element is missing, and none is loaded that the original did not load. The steps' bounds must be the same for
all threads of the block, so that all reach the barriers.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ncuview.patch.accesses import Access, accesses, statement_of
from ncuview.patch.guards import Way, check_completes, check_simple, conjuncts, in_and
from ncuview.patch.index_algebra import Algebra, Counter, Polynomial
from ncuview.patch.launch_facts import check_distinct, fixed_block
from ncuview.patch.other_thread import (
    OtherThread,
    after,
    before,
    deeper,
    fresh,
    indentation,
    instead,
    level_of,
)
from ncuview.patch.pad_tile import BYTES
from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel, above, child, line_of, meaningful, on_lines, within
from ncuview.patch.rewriting import newline

if TYPE_CHECKING:
    from tree_sitter import Node

_LARGEST = 48 * 1024
_FULL = 20 * 1024
"""Bytes of tiles that let several blocks share a multiprocessor."""
_WORD = 4
_CLASSES = {"half", "__half", "__nv_bfloat16", "half2", "__half2", "float2", "int2"}
"""Types of ``BYTES`` to which the number 0 does not convert beside a value of theirs."""
_IN_FLIGHT = 8
"""Loads of a thread that are issued before the first is waited for. Assumed: more take registers of other warps."""
DEPTHS = (32, 16, 8)
AXES = ("threadIdx.x", "threadIdx.y")


@dataclass(frozen=True)
class Load:
    """A load that goes through a tile.

    Attributes:
        access: The load.
        axis: The one axis of threads that its index depends on.
        along_counter: Whether elements that follow one another belong to iterations, not to threads.
    """

    access: Access
    axis: str
    along_counter: bool


@dataclass(frozen=True)
class Stage:
    """A loop whose loads go through tiles.

    Attributes:
        way: What stands around the loop.
        loads: The loads that go through tiles.
        accesses: All accesses of the kernel.
        extent: Width and height of the blocks.
        merged: How many of the original's blocks along x and y one block serves.
        rows: In how many rows the threads of a block of one row are laid out for their results; 1 as they are.
        bounds: Parameters that equal the original's threads along x and y, and that more blocks may exceed; or empty.
        steps: Iterations per step; 0 for as many as leave room for several blocks.
    """

    kernel: Kernel
    algebra: Algebra
    way: Way
    counter: Counter
    loads: Sequence[Load]
    accesses: Sequence[Access]
    extent: tuple[int, int]
    merged: tuple[int, int] = (1, 1)
    rows: int = 1
    bounds: tuple[str, str] = ("", "")
    steps: int = 0

    @cached_property
    def name(self) -> str:
        """The counter, as it is written."""
        return self.counter.name.partition(" ")[0]

    @cached_property
    def loop(self) -> Node:
        """The for statement."""
        return self.counter.node

    def size(self, load: Load) -> int:
        """Bytes of an element.

        Raises:
            Refused: They are not known.
        """
        kind = self.kernel.parameters[load.access.array].type
        if kind not in BYTES:
            raise Refused(f"the size of {kind} is not known")
        return BYTES[kind]

    def threads(self, load: Load) -> int:
        """The original's threads along the load's axis that one block serves."""
        return self.extent[AXES.index(load.axis)] * self.merged[AXES.index(load.axis)]

    @property
    def layout(self) -> tuple[int, int]:
        """Threads along x and y, as they are laid out for their results."""
        return self.extent[0] // self.rows, self.extent[1] * self.rows

    @property
    def results(self) -> tuple[int, int]:
        """Results of a thread along x and y."""
        return self.merged[0] * self.rows, self.merged[1] // self.rows

    def within(self, values: Mapping[str, str]) -> list[str]:
        """The conditions of blocks that the original had, for what replaces the indices of blocks."""
        return [
            f"{values[index]} * {size} < {bound}" if size > 1 else f"{values[index]} < {bound}"
            for index, size, bound in zip(("blockIdx.x", "blockIdx.y"), self.extent, self.bounds, strict=True)
            if bound
        ]

    def bytes_at(self, merged: tuple[str, str], depth: str) -> str:
        """The bytes of all tiles at most, as arithmetic over the blocks merged along x and y and the steps."""
        threads = [f"({size} * {by} + 1)" for size, by in zip(self.extent, merged, strict=True)]
        parts = (f"{threads[AXES.index(load.axis)]} * ({depth} + 1) * {self.size(load)}" for load in self.loads)
        return " + ".join(parts)

    @cached_property
    def depth(self) -> int:
        """Iterations per step: those that are asked for, else 32 where the tiles stay small, and fewer where not."""
        for depth in (self.steps,) if self.steps else DEPTHS:
            total = sum((self.threads(load) + 1) * (depth + 1) * self.size(load) for load in self.loads)
            if total <= _FULL or (depth in {self.steps, DEPTHS[-1]} and total <= _LARGEST):
                return depth
        raise Refused("the tiles would need more than 48 KiB of shared memory")


def first_stage(
    kernel: Kernel, lines: Sequence[int], wanted: Callable[[Load, tuple[int, int]], bool], *, blocks: bool = False
) -> Stage:
    """The first loop on these lines with loads that are wanted.

    Args:
        kernel: The kernel.
        lines: The lines; empty for the complete kernel.
        wanted: Whether a load, in blocks of this width and height, goes through a tile.
        blocks: Whether the axis of a load is that of its block, too.

    Raises:
        Refused: There is none, or an obligation is not met that concerns the complete kernel.
    """
    check_simple(kernel)
    width, height, planes = fixed_block(kernel)
    if planes > 1:
        raise Refused("blocks with several planes are not tiled")
    algebra = Algebra(kernel, (width, height, planes))
    found = accesses(kernel, algebra)
    refusal = Refused("no loop has loads that depend on its counter and on one axis of threads, shared or along rows")
    for loop in kernel.of_type("for_statement"):
        if lines and not on_lines(loop, lines):
            continue
        try:
            counter = algebra.counter(loop)
            way = Way.to(kernel, loop)
            check_completes(loop)
        except Refused as refused:
            refusal = refused
            continue
        loads = [load for load in _loads(kernel, counter, way, found, blocks=blocks) if wanted(load, (width, height))]
        if loads:
            _check_uniform(kernel, counter, way, found, loads)
            return Stage(kernel, algebra, way, counter, loads, found, (width, height))
    raise refusal


def _loads(kernel: Kernel, counter: Counter, way: Way, found: Sequence[Access], *, blocks: bool) -> list[Load]:
    """The loads in each iteration of a loop whose place depends on the counter and on one axis of threads.

    Of threads, or of threads and blocks, where one block will serve several.
    """

    def places(axis: str) -> dict[str, str]:
        return dict.fromkeys([axis, *([axis.replace("thread", "block")] if blocks else [])], "")

    name = counter.name.partition(" ")[0]
    loads = []
    for access in found:
        if access.stores or counter.node not in above(access.node):
            continue
        try:
            inner = Way.to(kernel, statement_of(access))
            axes = [axis for axis in AXES if OtherThread(kernel, places(axis), 0, {name}).depends(access.node)]
            counts = OtherThread(kernel, {name: name}, 0).depends(access.node)
            copied = OtherThread(kernel, {**dict.fromkeys(AXES, ""), name: name}, counter.node.start_byte)
            copied.declarations([access.node])
        except Refused:
            continue  # under a condition, or by a variable that changes or comes from memory
        if len(axes) == 1 and counts and inner.loops == [*way.loops, counter.node] and inner.guards == way.guards:
            index = access.index
            along = index is not None and index.plain and index.coefficient(counter.name).number == 1
            loads.append(Load(access, axes[0], along))
    return loads


def _check_uniform(kernel: Kernel, counter: Counter, way: Way, found: Sequence[Access], loads: Sequence[Load]) -> None:
    """Require one loop that counts by one, after which all threads go on, and arrays that nothing changes."""
    line = line_of(counter.node)
    if counter.step != 1:
        raise Refused(f"the loop on line {line} does not count by one")
    if way.loops:
        raise Refused(f"the loop on line {line} stands in another loop")
    exits = [guard.node for guard in way.guards if guard.leaves]
    for node in kernel.of_type("return_statement"):
        if not any(parent in exits for parent in above(node)):
            raise Refused(f"line {line_of(node)} leaves the kernel, and barriers need every thread")
    written = {access.array for access in found if access.stores}
    read = {load.access.array for load in loads}
    for array in sorted(written & read):
        raise Refused(f"{array} is both read and written")
    check_distinct(kernel, written, read)


def staged(stage: Stage) -> list[Replacement]:
    """The replacements in the kernel.

    Raises:
        Refused: An obligation of the proof is not met.
    """
    kernel = stage.kernel
    check_steps(stage)
    tiles = tiles_of(stage)
    (first,) = fresh(kernel, "first")
    inside, opened = _opened(stage)
    lines = in_steps(stage, tiles, first, _summed(stage, tiles, first, inside))
    return [*opened, instead(kernel, stage.loop, lines)]


def tiles_of(stage: Stage) -> dict[str, str]:
    """The tiles' names by the loads' texts."""
    arrays = {stage.kernel.program.text(load.access.node): load.access.array for load in stage.loads}
    return dict(zip(arrays, fresh(stage.kernel, *(f"{array}_tile" for array in arrays.values())), strict=True))


def in_steps(stage: Stage, tiles: dict[str, str], first: str, summed: Sequence[str]) -> list[str]:
    """The lines of tiles and of the loop over steps, each of which loads the tiles and then does ``summed``."""
    level = level_of(stage.kernel)
    distinct = {tiles[stage.kernel.program.text(load.access.node)]: load for load in stage.loads}
    step = [line for tile, load in distinct.items() for line in _filled(stage, load, tile, first)]
    step += ["__syncthreads();", *summed, "__syncthreads();"]
    kind, value = start_of(stage)
    head = f"for ({kind} {first} = {value}; {condition_for(stage, first)}; {first} += {stage.depth}) {{"
    declared = [_declared(stage, load, tile) for tile, load in distinct.items()]
    return [*declared, head, *(level + line for line in step), "}"]


def start_of(stage: Stage) -> tuple[str, str]:
    """The counter's type and first value."""
    program = stage.kernel.program
    ((_, declared),) = program.declarations(child(stage.loop, "initializer"))
    return declared.type, program.text(declared.value) if declared.value is not None else "0"


def condition_for(stage: Stage, value: str) -> str:
    """The loop's condition for a value of its counter."""
    other = OtherThread(stage.kernel, {stage.name: value}, stage.loop.start_byte)
    return other.text(child(stage.loop, "condition"))


def check_steps(stage: Stage) -> None:
    """Require the same steps of all threads of a block, and guards that allow the tiles' loads.

    Raises:
        Refused: They differ, or a guard may exclude the thread that loads an element.
    """
    _check_bounds(stage)
    for load in stage.loads:
        _check_guards(stage, load)


def _moved(stage: Stage, axis: str) -> list[str]:
    """The indices along an axis that differ between the original's threads that one block serves."""
    number = AXES.index(axis)
    blocks = [axis.replace("thread", "block")] if stage.merged[number] > 1 else []
    return [*([axis] if stage.extent[number] > 1 else []), *blocks]


def _check_bounds(stage: Stage) -> None:
    """All threads of a block must make the same steps."""
    moved = dict.fromkeys([*_moved(stage, AXES[0]), *_moved(stage, AXES[1])], "")
    other = OtherThread(stage.kernel, moved, stage.loop.start_byte)
    ((_, declared),) = stage.kernel.program.declarations(child(stage.loop, "initializer"))
    for node in (child(stage.loop, "condition"), declared.value):
        if node is None or other.depends(_without_counter(stage, node)):
            raise Refused(f"the bounds of the loop on line {line_of(stage.loop)} differ between threads of a block")


def _without_counter(stage: Stage, node: Node) -> Node:
    """The bound, of a condition."""
    compares = node.type == "binary_expression" and stage.kernel.program.text(child(node, "left")) == stage.name
    return child(node, "right") if compares else node


def _check_guards(stage: Stage, load: Load) -> None:
    """A guard that lets a thread pass must let the one at zero along the other axis pass."""
    for axis in [each for number in (0, 1) if AXES[number] != load.axis for each in _moved(stage, AXES[number])]:
        other = OtherThread(stage.kernel, {axis: axis}, stage.loop.start_byte)
        for guard in stage.way.guards:
            for node, negated in conjuncts(guard.condition, negated=guard.leaves):
                if other.depends(node) and not _falls(stage.algebra.guard(node, negated=negated), axis):
                    raise Refused(f"the condition on line {line_of(node)} may exclude the thread at {axis} 0 alone")


def _falls(facts: Sequence[Polynomial], axis: str) -> bool:
    """Whether the facts of a condition can only become false along an axis."""
    factors = [fact.coefficient(axis).number for fact in facts]
    return bool(facts) and all(fact.plain for fact in facts) and all(each is not None and each <= 0 for each in factors)


def _declared(stage: Stage, load: Load, tile: str) -> str:
    """The tile: rows for threads along y, columns for threads along x, and one column more against bank conflicts."""
    threads, depth = stage.threads(load), stage.depth
    padding = max(1, _WORD // stage.size(load))
    rows, columns = (depth, threads) if load.axis == AXES[0] else (threads, depth)
    kind = stage.kernel.parameters[load.access.array].type
    return f"__shared__ {kind} {tile}[{rows}][{columns} + {padding}];"


def _filled(stage: Stage, load: Load, tile: str, first: str) -> list[str]:
    """The lines in which the block loads one tile."""
    kernel, level, name = stage.kernel, level_of(stage.kernel), stage.name
    threads, depth = stage.threads(load), stage.depth
    place, later, thread = fresh(kernel, "place", "later", "column" if load.axis == AXES[0] else "row")
    width, height = stage.extent
    values = {**dict.fromkeys(AXES, "0u"), load.axis: thread, name: name}
    for axis, size, blocks in zip(AXES, stage.extent, stage.merged, strict=True):
        if blocks > 1:
            index = axis.replace("thread", "block")
            values[index] = (
                f"({index} * {blocks} + {_quotient(thread, size)})" if axis == load.axis else f"({index} * {blocks})"
            )
            if axis == load.axis:
                values[axis] = f"({thread} % {size})" if size > 1 else "0u"
    other = OtherThread(kernel, values, stage.loop.start_byte)
    split, by = ((later, thread), depth) if load.along_counter else ((thread, later), threads)
    conditions = [guard.condition for guard in stage.way.guards]
    tests = [
        condition_for(stage, name),
        *(f"!({other.text(each.condition)})" if each.leaves else in_and(other, each) for each in stage.way.guards),
    ]
    tests += stage.within(values)
    where = f"[{later}][{thread}]" if load.axis == AXES[0] else f"[{thread}][{later}]"
    own = "threadIdx.x" if height == 1 else f"threadIdx.y * {width} + threadIdx.x"
    loaded = f"{' && '.join(tests)} ? {other.text(load.access.node)} : {_zero(stage, load)}"
    lines = [
        f"const unsigned int {split[0]} = {place} % {by}, {split[1]} = {place} / {by};",
        f"const {start_of(stage)[0]} {name} = {first} + {later};",
        *other.declarations([*conditions, load.access.node]),
        f"{tile}{where} = {loaded};",
    ]
    return [
        *_for_each_place(kernel, place, own, threads * depth, width * height),
        *(level + each for each in lines),
        "}",
    ]


def _for_each_place(kernel: Kernel, place: str, own: str, places: int, threads: int) -> list[str]:
    """The head of the loop over the places of a tile, which its threads share.

    Where all threads make the same number of steps, the loop shows that to the compiler, which then issues the loads of
    several steps before it waits for the first.
    """
    if places % threads:
        return [f"for (unsigned int {place} = {own}; {place} < {places}; {place} += {threads}) {{"]
    (step,) = fresh(kernel, "step")
    return [
        f"#pragma unroll{f' {_IN_FLIGHT}' if places > _IN_FLIGHT * threads else ''}",
        f"for (unsigned int {step} = 0; {step} < {places}; {step} += {threads}) {{",
        f"{level_of(kernel)}const unsigned int {place} = {step} + {own};",
    ]


def _zero(stage: Stage, load: Load) -> str:
    """What the tile holds where nothing is loaded.

    A condition around the store would make each load wait for the one before it.
    """
    kind = stage.kernel.parameters[load.access.array].type
    return f"{kind}()" if kind in _CLASSES else "0"


def _summed(stage: Stage, tiles: dict[str, str], first: str, inside: str) -> list[str]:
    """The lines with the original body, for a full step and for the last one."""
    kernel, name, level = stage.kernel, stage.name, level_of(stage.kernel)
    program, body = kernel.program, child(stage.loop, "body")
    reads = []
    for load in stage.loads:
        tile, later = tiles[program.text(load.access.node)], f"{name} - {first}"
        place = f"[{later}][threadIdx.x]" if load.axis == AXES[0] else f"[threadIdx.y][{later}]"
        reads.append((load.access.node, tile + place))
    statements = body_lines(stage, reads)
    braces = body.type == "compound_statement"
    kind = start_of(stage)[0]

    def loop(condition: str) -> list[str]:
        head = f"for ({kind} {name} = {first}; {condition}; {name}++)"
        return [f"{head} {{" if braces else head, *(level + line for line in statements), *(["}"] if braces else [])]

    full = loop(f"{name} < {first} + {stage.depth}")
    last = loop(condition_for(stage, name))
    test = condition_for(stage, f"{first} + {stage.depth - 1}")
    made = [f"if ({test}) {{", f"{level}#pragma unroll", *(level + line for line in full), "} else {"]
    made += [*(level + line for line in last), "}"]
    return [f"if ({inside}) {{", *(level + line for line in made), "}"] if inside else made


def _quotient(thread: str, size: int) -> str:
    return f"{thread} / {size}" if size > 1 else thread


def body_lines(stage: Stage, reads: Sequence[tuple[Node, str]]) -> list[str]:
    """The statements of the loop's body, with some of their parts replaced, without indentation and braces."""
    data, body = stage.kernel.program.data, child(stage.loop, "body")
    parts, at = [" " * body.start_point.column], body.start_byte
    for each, text in sorted(reads, key=lambda read: read[0].start_byte):
        parts += [data[at : each.start_byte].decode("utf-8", "surrogateescape"), text]
        at = each.end_byte
    text = "".join([*parts, data[at : body.end_byte].decode("utf-8", "surrogateescape")])
    if body.type == "compound_statement":
        text = re.sub(r"^\s*\{[ \t]*\r?\n?|\s*\}$", "", text)
    return [line.rstrip() for line in textwrap.dedent(text).splitlines() if line.strip()]


def _opened(stage: Stage) -> tuple[str, list[Replacement]]:
    """Guards become flags, so that all threads reach the loop; what follows it stays under them.

    Returns:
        The condition of the flags, empty without guards, and the replacements.
    """
    kernel, way = stage.kernel, stage.way
    program = kernel.program
    flags = dict(zip((guard.node for guard in way.guards), fresh(kernel, *["inside"] * len(way.guards)), strict=True))
    made = []
    for guard in way.guards:
        condition = program.text(guard.condition)
        if guard.leaves:
            text = f"const bool {flags[guard.node]} = !({condition});"
            made.append(Replacement(guard.node.start_byte, guard.node.end_byte, text))
        else:
            if guard.node.child_by_field_name("alternative") is not None:
                raise Refused(f"the condition on line {line_of(guard.node)} has an else")
            body = child(guard.node, "consequence")
            text = f"const bool {flags[guard.node]} = {condition};{newline(kernel.program)}"
            text += indentation(kernel, guard.node)
            made.append(Replacement(guard.node.start_byte, body.start_byte, text))
    inner = stage.loop
    for block in above(stage.loop):
        if block.type == "compound_statement":
            made += _around(stage, block, inner, flags)
        if block == kernel.body:
            break
        inner = block
    return " && ".join(flags.values()), made


def _around(stage: Stage, block: Node, inner: Node, flags: dict[Node, str]) -> list[Replacement]:
    """Checks for the statements before the loop in one block, and a condition around those after it."""
    kernel = stage.kernel
    around = [guard for guard in stage.way.guards if not guard.leaves and guard.node in above(block)]
    exits = [guard for guard in stage.way.guards if guard.leaves]
    made: list[Replacement] = []
    for statement in meaningful(block):
        if statement.start_byte >= inner.start_byte or statement in flags:
            continue
        names = [flags[guard.node] for guard in around]
        names += [flags[guard.node] for guard in exits if guard.node.end_byte <= statement.start_byte]
        if names and any(node == access.node for access in stage.accesses for node in within(statement)):
            if statement.type == "declaration":
                raise Refused(f"line {line_of(statement)} accesses memory before the loop, under a guard")
            made += _under(kernel, names, statement, statement)
    later = [statement for statement in meaningful(block) if statement.start_byte > inner.end_byte]
    names = [flags[guard.node] for guard in [*around, *exits]]
    return [*made, *(_under(kernel, names, later[0], later[-1]) if later and names else [])]


def _under(kernel: Kernel, names: Sequence[str], first: Node, last: Node) -> list[Replacement]:
    """A condition around statements."""
    start = kernel.program.data.rfind(b"\n", 0, first.start_byte)
    return [
        before(kernel, first, [f"if ({' && '.join(names)}) {{"]),
        *deeper(kernel, start, last.end_byte),
        after(kernel, last, ["}"]),
    ]
