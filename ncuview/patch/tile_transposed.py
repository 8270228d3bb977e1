"""Make the patch that passes a transposed access through a tile in shared memory, so that both sides are along lanes.

``tile_transposed`` takes a ``Kernel`` -> ``Change``, or raises ``Refused``.

The threads of a block exchange their roles for the access with large strides: each makes the access that another one
made, in an order in which neighbouring lanes use neighbouring elements, and the value goes through the tile. Indices
and guards are copied and evaluated as that other thread evaluated them, so the same elements are accessed with the same
values, for any size. What must be proven: no two accesses of a block store to one element (the exchange changes their
order), the arrays do not overlap, and every thread of the block reaches the barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.accesses import Access, accesses, statement_of
from ncuview.patch.guards import Way, check_simple, in_and, open_exits
from ncuview.patch.index_algebra import ASSUMED, Algebra, Counter, Polynomial, check_injective
from ncuview.patch.launch_facts import check_distinct, fixed_block, launch_facts
from ncuview.patch.other_thread import OtherThread, after, before, fresh, level_of
from ncuview.patch.pad_tile import BYTES
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, bare, child, line_of, on_lines, operator
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = 4
_LARGEST_TILE = 48 * 1024


@dataclass(frozen=True)
class _Tile:
    """The threads' places in a tile.

    Attributes:
        columns: Its columns: threads along x.
        rows: Its rows: threads along y, in each iteration of the loop.
        counter: The loop over rows of one thread, if there is one.
        height: Threads along y.
        stride: Rows from one value of the counter to the next number.
    """

    columns: int
    rows: int
    height: int
    counter: Counter | None
    stride: int = 1


def tile_transposed(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Pass the transposed access on these lines through a tile in shared memory.

    Args:
        kernel: The kernel.
        lines: The lines with the access; empty for the complete kernel.

    Raises:
        Refused: No access is transposed, or an obligation of the proof is not met.
    """
    check_simple(kernel)
    block = fixed_block(kernel)
    algebra = Algebra(kernel, block)
    found = accesses(kernel, algebra)
    along: list[Access] = []
    across: list[Access] = []
    for access in found:
        lane = access.index.coefficient("threadIdx.x").number if access.index else 0
        (across if lane is None or abs(lane) > 1 else along).append(access)
    if not across:
        raise Refused("neighbouring threads access neighbouring elements already, as far as indices are understood")
    if not along:
        raise Refused("no access is along the lanes, so there is nothing to transpose to")
    meant = [access for access in across if not lines or on_lines(access.node, lines)] or across
    ways = {statement_of(access): Way.to(kernel, statement_of(access)) for access in meant}
    if len(ways) != 1:
        raise Refused("transposed accesses stand in several statements")
    (way,) = ways.values()
    _check_once(kernel, way)
    tile = _tile(algebra, way, block)
    for access in meant:
        _check_transposed(access)
        _check_role(algebra, access, way, tile)
    stores = [access for access in meant if access.stores]
    if stores and len(meant) > 1:
        raise Refused("loads and stores are both transposed: exchange the indices instead")
    _check_overlap(kernel, found)
    if stores:
        _check_disjoint(kernel, algebra, stores[0], found, way)
        change = _stored_later(kernel, stores[0], way, tile)
    else:
        change = _loaded_before(kernel, meant, way, tile)
    names = " and ".join(dict.fromkeys(access.array for access in meant))
    title = f"Transpose {names} through a tile in shared memory"
    return Change(title, ASSUMED if stores or tile.counter else "", tuple(change))


def _check_once(kernel: Kernel, way: Way) -> None:
    if len(way.loops) > 1:
        raise Refused(f"line {line_of(way.statement)} stands in {len(way.loops)} loops")
    exits = {guard.node for guard in way.guards if guard.leaves}
    for node in kernel.of_type("return_statement"):
        if not any(parent in exits for parent in above(node)):
            raise Refused(f"line {line_of(node)} leaves the kernel, and later barriers need every thread")


def _tile(algebra: Algebra, way: Way, block: Extent) -> _Tile:
    columns, height, depth = block
    if depth > 1:
        raise Refused("blocks with several planes are not tiled")
    counter = algebra.counter(way.loops[0]) if way.loops else None
    rows, stride = height, 1
    if counter is not None:
        past = counter.past.number
        if counter.first.number != 0 or past is None or past < 1 or counter.step not in {1, height}:
            raise Refused(f"the loop on line {line_of(counter.node)} does not step through rows by the block's height")
        rows, stride = -(-past // counter.step) * height, height // counter.step
    if rows < 2:
        raise Refused("a block has one row, so its threads have nothing to exchange")
    return _Tile(columns, rows, height, counter, stride)


def _check_transposed(access: Access) -> None:
    if access.index is None or access.index.coefficient("threadIdx.y").number != 1:
        raise Refused(f"line {line_of(access.node)} does not access neighbouring elements along threadIdx.y")


def _check_role(algebra: Algebra, access: Access, way: Way, tile: _Tile) -> None:
    """A thread's row and its loop's counter must matter only by their sum, which is the row in the tile.

    The counter counts rows, or the blocks of threads that one block serves.
    """
    if tile.counter is None:
        return
    polynomials = [access.index]
    for guard in way.guards:
        polynomials += [algebra.polynomial(side) for side in _sides(guard.condition)]
    row = Polynomial.of("threadIdx.y")
    later = Polynomial.of(tile.counter.name).times(tile.stride)
    moved = {"threadIdx.y": row + later, tile.counter.name: Polynomial({})}
    for each in polynomials:
        if each is None or not each.plain or each.replaced(moved) != each:
            raise Refused(f"line {line_of(way.statement)} does not depend on the sum of row and counter alone")


def _sides(condition: Node) -> list[Node]:
    """The numbers that a condition compares."""
    condition = bare(condition)
    if condition.type == "unary_expression":
        return _sides(child(condition, "argument"))
    if condition.type != "binary_expression":
        raise Refused(f"the condition on line {line_of(condition)} is no comparison")
    sides = [child(condition, "left"), child(condition, "right")]
    return sides if operator(condition) not in {"&&", "||"} else [*_sides(sides[0]), *_sides(sides[1])]


def _check_overlap(kernel: Kernel, found: Sequence[Access]) -> None:
    written = {access.array for access in found if access.stores}
    read = {access.array for access in found if not access.stores}
    for array in sorted(written & read):
        raise Refused(f"{array} is both read and written")
    check_distinct(kernel, written, read)


def _check_disjoint(kernel: Kernel, algebra: Algebra, store: Access, found: Sequence[Access], way: Way) -> None:
    """No two threads of a block, and no two iterations, may store to one element: their order changes."""
    for other in found:
        if other.array == store.array and other != store:
            raise Refused(f"line {line_of(other.node)} stores to {store.array} too")
    guards = [fact for guard in way.guards for fact in algebra.guard(guard.condition, negated=guard.leaves)]
    counters = [fact for loop in way.loops for fact in algebra.counter(loop).facts]
    fixed = [*kernel.parameters, *(f"{name}.{axis}" for name in ("gridDim", "blockIdx") for axis in "xyz")]
    if store.index is not None:
        check_injective(store.index, fixed, [*algebra.facts, *guards, *counters, *launch_facts(kernel)])


def _declared_tile(kernel: Kernel, array: str, name: str, tile: _Tile) -> str:
    """The declaration of the tile, with rows one word longer."""
    kind = kernel.parameters[array].type
    size = BYTES.get(kind)
    if size is None:
        raise Refused(f"the size of {kind} is not known")
    padding = max(1, _WORD // size)
    total = tile.rows * (tile.columns + padding) * size
    if total > _LARGEST_TILE:
        raise Refused(f"the tile would need {total:,} bytes of shared memory, above the limit of 49,152")
    return f"__shared__ {kind} {name}[{tile.rows}][{tile.columns} + {padding}];"


def _exchanged(
    kernel: Kernel, way: Way, tile: _Tile, at: int, accessed: Sequence[tuple[Node, str]], stores: bool
) -> list[str]:
    """The lines in which each thread makes the access of another one.

    Args:
        kernel: The kernel.
        way: Where the access stands.
        tile: The tile.
        at: The byte where the lines are inserted.
        accessed: Each access with its tile's name.
        stores: Whether they store.
    """
    row, column, step, flat = fresh(kernel, "row", "column", "step", "flat")
    level = level_of(kernel)
    values = {"threadIdx.x": column, "threadIdx.y": row}
    if tile.counter is not None:
        values[tile.counter.name.partition(" ")[0]] = tile.counter.zero
    other = OtherThread(kernel, values, at)
    past = tile.rows
    later = f" + {step}" if tile.counter is not None else ""
    if tile.rows == tile.columns:
        places = [f"const unsigned int {row} = threadIdx.x, {column} = threadIdx.y{later};"]
    else:
        thread = f"(threadIdx.y{later}) * {tile.columns}" if later else f"threadIdx.y * {tile.columns}"
        places = [
            f"const unsigned int {flat} = {thread} + threadIdx.x;",
            f"const unsigned int {row} = {flat} % {tile.rows}, {column} = {flat} / {tile.rows};",
        ]
    conditions = [guard.condition for guard in way.guards]
    lines = [*places, *other.declarations([*conditions, *(node for node, _ in accessed)])]
    tests = [f"!({other.text(guard.condition)})" if guard.leaves else in_and(other, guard) for guard in way.guards]
    moves = [
        f"{other.text(node)} = {name}[{row}][{column}];" if stores else f"{name}[{row}][{column}] = {other.text(node)};"
        for node, name in accessed
    ]
    if tests and len(tests) == 1 and tests[0].startswith("("):
        tests[0] = tests[0][1:-1]
    if not tests:
        lines += moves
    elif len(moves) == 1:
        lines += [f"if ({' && '.join(tests)})", level + moves[0]]
    else:
        lines += [f"if ({' && '.join(tests)}) {{", *(level + move for move in moves), "}"]
    head = f"for (unsigned int {step} = 0; {step} < {past}; {step} += {tile.height}) {{" if later else "{"
    return [head, *(level + line for line in lines), "}"]


def _stored_later(kernel: Kernel, store: Access, way: Way, tile: _Tile) -> list[Replacement]:
    """The value goes to the tile where it was stored, and from there to memory after a barrier."""
    assignment = store.node.parent
    if assignment is None or operator(assignment) != "=" or way.statement.type != "expression_statement":
        raise Refused(f"line {line_of(store.node)} does not only store a value")
    (name,) = fresh(kernel, "tile")
    declaration = _declared_tile(kernel, store.array, name, tile)
    exits = [guard for guard in way.guards if guard.leaves]
    inside, at = open_exits(kernel, exits, way.outermost)
    later = _exchanged(kernel, way, tile, at, [(store.node, name)], stores=True)
    return [
        before(kernel, exits[0].node if exits else way.outermost, [declaration]),
        *inside,
        Replacement(store.node.start_byte, store.node.end_byte, name + _mine(tile)),
        after(kernel, way.outermost, [*(["}"] if exits else []), "__syncthreads();", *later]),
    ]


def _loaded_before(kernel: Kernel, loads: Sequence[Access], way: Way, tile: _Tile) -> list[Replacement]:
    """The elements go to the tile before a barrier, and each thread takes its own from there."""
    first = min([guard.node for guard in way.guards] + [way.outermost], key=lambda node: node.start_byte)
    texts = {kernel.program.text(access.node): access for access in loads}
    names = dict(zip(texts, fresh(kernel, *["tile"] * len(texts)), strict=True))
    declarations = [_declared_tile(kernel, access.array, names[text], tile) for text, access in texts.items()]
    accessed = [(access.node, names[text]) for text, access in texts.items()]
    earlier = _exchanged(kernel, way, tile, first.start_byte, accessed, stores=False)
    taken = [(access.node, names[kernel.program.text(access.node)] + _mine(tile)) for access in loads]
    return [
        before(kernel, first, [*declarations, *earlier, "__syncthreads();", ""]),
        *(Replacement(node.start_byte, node.end_byte, text) for node, text in taken),
    ]


def _mine(tile: _Tile) -> str:
    """The place of the thread itself in the tile."""
    later = f" + {tile.counter.name.partition(' ')[0]}" if tile.counter is not None else ""
    return f"[threadIdx.y{later}{f' * {tile.stride}' if tile.stride > 1 else ''}][threadIdx.x]"
