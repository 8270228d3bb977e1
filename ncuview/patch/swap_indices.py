"""Make the patch that exchanges threadIdx.x and threadIdx.y in square blocks, so that global accesses coalesce.

``swap_indices`` takes a ``Kernel`` -> ``Change`` of all uses, or of the copies from global into shared memory only.

In a square block the exchange only reassigns work: thread (a, b) does what thread (b, a) did. A copy may be changed
alone where barriers separate it from other uses of the tile, because it does not matter which thread copies which
element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import check_known_names
from ncuview.patch.indices import Stride, depends, stride_of, varying
from ncuview.patch.launches import block_of
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, on_lines, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

_X, _Y = "threadIdx.x", "threadIdx.y"
_FINE = {Stride.ZERO, Stride.ONE}


def swap_indices(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Let neighbouring lanes access neighbouring elements on these lines.

    Args:
        kernel: The kernel.
        lines: The lines with scattered accesses.

    Raises:
        Refused: The index has no known stride, the block is not square, or other accesses would become scattered.
    """
    check_known_names(kernel)
    accesses = _global_accesses(kernel)
    here = [node for node in accesses if on_lines(node, lines)]
    names = {axis: varying(kernel, axis) for axis in (_X, _Y)}
    scattered = [node for node in here if _stride(kernel, node, _X, names) is Stride.LARGER]
    if not scattered:
        raise Refused("no index on these lines multiplies threadIdx.x in a way that the source shows")
    if any(_stride(kernel, node, _Y, names) not in _FINE for node in scattered):
        raise Refused("threadIdx.y is not contiguous in memory there either, so exchanging them changes nothing")
    x, y, z = block_of(kernel)
    if x != y or z != 1:
        raise Refused(f"blocks are {x} by {y} threads; only in square blocks can the indices be exchanged")
    if x < 8:
        raise Refused(f"rows of {x} threads are too short to fill a sector")
    try:
        return _everywhere(kernel, accesses, names)
    except Refused:
        staged = [_statement(node) for node in scattered]
        if not any(_is_shared(kernel, name) for name in kernel.declared):
            raise
        return _in_copies(kernel, list(dict.fromkeys(staged)), scattered)


def _everywhere(kernel: Kernel, accesses: Sequence[Node], names: dict[str, frozenset[str]]) -> Change:
    """Exchange the two in the complete kernel."""
    for node in accesses:
        if _stride(kernel, node, _Y, names) not in _FINE:
            raise Refused(f"the access on line {line_of(node)} would be scattered instead: transpose it in a tile")
    if any(_is_shared(kernel, name) for name in kernel.declared):
        raise Refused("the order of accesses to the tile in shared memory would change")
    _check_no_warps(kernel, kernel.nodes)
    fields = [node for node in kernel.of_type("field_expression") if kernel.program.text(node) in {_X, _Y}]
    mentions = [node for node in kernel.of_type("identifier") if kernel.program.text(node) == "threadIdx"]
    if len(mentions) != len(fields):
        raise Refused("threadIdx is used in a way that is not understood")
    return Change("Exchange threadIdx.x and threadIdx.y", "", tuple(_exchanged(kernel, fields)))


def _in_copies(kernel: Kernel, statements: Sequence[Node], scattered: Sequence[Node]) -> Change:
    """Exchange the two in statements that copy into a tile."""
    replacements: list[Replacement] = []
    for statement in statements:
        _check_copy(kernel, statement)
        replacements += _exchanged(kernel, _thread_names(kernel, statement))
    lines = " and ".join(dict.fromkeys(str(line_of(node)) for node in scattered))
    return Change(f"Exchange threadIdx.x and threadIdx.y in the copy on line {lines}", "", tuple(replacements))


def _global_accesses(kernel: Kernel) -> list[Node]:
    """Accesses to elements of the kernel's pointer parameters, or of pointers computed from them."""
    program = kernel.program
    pointers = {name for name, each in kernel.declared.items() if any(declared.stars > 0 for declared in each)}
    found = [n for n in kernel.of_type("subscript_expression") if program.text(child(n, "argument")) in pointers]
    others = [
        node
        for node in kernel.of_type("pointer_expression")
        if any(program.text(each) in pointers for each in within(node) if each.type == "identifier")
        and not any(each.type == "subscript_expression" for each in within(node))
    ]
    if others:
        raise Refused(f"line {line_of(others[0])} reaches memory through a pointer instead of an index")
    return found


def _index(node: Node) -> Node:
    return meaningful(child(node, "indices"))[0]


def _stride(kernel: Kernel, node: Node, axis: str, names: dict[str, frozenset[str]]) -> Stride:
    if depends(kernel, child(node, "argument"), axis, names[axis]):
        return Stride.UNKNOWN
    return stride_of(kernel, _index(node), axis, names[axis])


def _is_shared(kernel: Kernel, name: str) -> bool:
    return any("__shared__" in declared.qualifiers for declared in kernel.declared.get(name, ()))


def _check_no_warps(kernel: Kernel, nodes: Iterable[Node]) -> None:
    for node in nodes:
        if node.type == "call_expression":
            name = kernel.program.text(child(node, "function"))
            if not takes_values(name) and name != "__syncthreads" and not re.match(r"atomic[A-Z]", name):
                raise Refused(f"line {line_of(node)} calls {name}, which may depend on which threads share a warp")
        if node.type in {"gnu_asm_expression", "lambda_expression"}:
            raise Refused(f"line {line_of(node)} may depend on which threads share a warp")
        if node.type == "identifier" and kernel.program.text(node) in {"warpSize", "this_grid", "this_thread_block"}:
            raise Refused(f"line {line_of(node)} depends on which threads share a warp")


def _statement(node: Node) -> Node:
    return next((each for each in above(node) if each.type.endswith(("statement", "declaration"))), node)


def _check_copy(kernel: Kernel, statement: Node) -> None:
    """The statement must be ``tile[..][..] = array[..];`` for all threads, between barriers from all other uses."""
    program, line = kernel.program, line_of(statement)
    refusal = Refused(
        f"line {line} does not only copy from global into shared memory, so every thread needs its own value"
    )
    body = meaningful(statement)
    copy = body[0] if statement.type == "expression_statement" and len(body) == 1 else statement
    if copy.type != "assignment_expression" or program.text(copy.child_by_field_name("operator") or copy) != "=":
        raise refusal
    target, value = child(copy, "left"), child(copy, "right")
    tile = target
    while tile.type == "subscript_expression":
        tile = child(tile, "argument")
    loads = value.type == "subscript_expression" and bare(child(value, "argument")).type == "identifier"
    if tile == target or not _is_shared(kernel, program.text(tile)) or not loads:
        raise refusal
    own = {program.text(node) for node in _thread_names(kernel, statement)}
    moving = varying(kernel, _X) | varying(kernel, _Y) | varying(kernel, "threadIdx.z")
    names = {program.text(node) for node in within(statement) if node.type == "identifier"} - {"threadIdx"}
    for name in names - own - {program.text(tile)}:
        if name in moving:
            raise Refused(f"line {line} also uses {name}, which differs between threads")
    if {program.text(node) for node in within(statement) if node.type == "call_expression"}:
        raise refusal
    _check_for_all_threads(kernel, statement, moving)
    _check_barriers(kernel, statement, program.text(tile))


def _check_for_all_threads(kernel: Kernel, statement: Node, moving: frozenset[str]) -> None:
    for outer in above(statement):
        if outer == kernel.body:
            return
        if outer.type == "compound_statement":
            continue
        condition = outer.child_by_field_name("condition")
        decides = outer.type not in {"for_statement", "while_statement", "if_statement"} or condition is None
        if decides or any(depends(kernel, condition, axis, moving) for axis in (_X, _Y) if condition is not None):
            raise Refused(f"line {line_of(statement)} does not run in all threads of a block")


def _check_barriers(kernel: Kernel, statement: Node, tile: str) -> None:
    """Require a barrier between a copy and any other use of its tile, before and after."""
    block = statement.parent
    if block is None or block.type != "compound_statement":
        raise Refused(f"line {line_of(statement)} is not in the same block of code as the barrier after it")
    steps = meaningful(block)
    if not all(block.start_byte <= node.start_byte < block.end_byte for node in kernel.uses(tile)):
        raise Refused(f"{tile} is used outside the block of code of line {line_of(statement)}")
    at = steps.index(statement)
    loops = block.parent is not None and block.parent.type in {"for_statement", "while_statement", "do_statement"}
    after = [*steps[at + 1 :], *(steps[:at] if loops else [])]
    before = [*reversed(steps[:at]), *(reversed(steps[at + 1 :]) if loops else [])]
    for order in (after, before):
        for step in order:
            if _is_barrier(kernel, step):
                break
            if any(kernel.program.text(node) == tile for node in within(step) if node.type == "identifier"):
                raise Refused(f"no barrier is between line {line_of(statement)} and the next use of {tile}")


def _is_barrier(kernel: Kernel, step: Node) -> bool:
    return bool(re.fullmatch(r"__syncthreads\s*\(\s*\)\s*;", kernel.program.text(step)))


def _thread_names(kernel: Kernel, statement: Node) -> list[Node]:
    """The nodes of threadIdx.x and threadIdx.y in a statement, also of variables that equal one of them."""
    return [node for node in within(statement) if _axis(kernel, node)]


def _axis(kernel: Kernel, node: Node) -> str:
    """``threadIdx.x`` or ``threadIdx.y``, if an expression is that, or a variable that equals it."""
    text = kernel.program.text(node)
    if node.type == "field_expression":
        return text if text in {_X, _Y} else ""
    return _stands_for(kernel, text) if node.type == "identifier" else ""


def _stands_for(kernel: Kernel, name: str) -> str:
    value = kernel.value_of(name)
    text = kernel.program.text(value) if value is not None else ""
    return text if text in {_X, _Y} else ""


def _exchanged(kernel: Kernel, nodes: Sequence[Node]) -> list[Replacement]:
    names = {axis: name for name in kernel.declared if (axis := _stands_for(kernel, name))}
    made = []
    for node in nodes:
        other = _Y if _axis(kernel, node) == _X else _X
        text = names.get(other, other) if node.type == "identifier" else other
        made.append(Replacement(node.start_byte, node.end_byte, text))
    return made
