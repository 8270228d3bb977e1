"""Find a tree in shared memory that combines one element of each thread, and replace it by warp shuffles.

``tree_of`` takes a ``Kernel`` -> ``Tree``, proven by executing the block's threads; ``without_tree`` makes the change:
where blocks can be divided among warps, a warp does a block's work, with several elements in each lane and no barrier;
else each warp leaves one word in shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.atomics import ElementType, element_type
from ncuview.patch.constants import constant
from ncuview.patch.launches import block_assumed, block_of, grid_divided, grid_of
from ncuview.patch.merged_blocks import FEWEST_BLOCKS, reached
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, Program, bare, child, line_of, meaningful, operator, takes_values, within
from ncuview.patch.rewriting import fresh, indented, line_end, line_start, lines, margin, opening, unit
from ncuview.patch.thread_execution import combined
from ncuview.patch.warp_sums import WARP, Operation, conditional, operation, over_block, over_lanes

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class Tree:
    """A tree in shared memory.

    Attributes:
        array: The shared array.
        declaration: Its declaration.
        before: The statements before the store, without the declaration.
        store: ``array[threadIdx.x] = value;``.
        value: What each thread stores.
        steps: The statements of the tree.
        use: The statement in which the first thread uses the result.
        element: The array's type.
        operation: How elements are combined.
        threads: The threads of a block.
    """

    array: str
    declaration: Node
    before: Sequence[Node]
    store: Node
    value: Node
    steps: Sequence[Node]
    use: Node
    element: ElementType
    operation: Operation
    threads: int


def tree_of(kernel: Kernel) -> Tree:
    """The tree that is all that a kernel does with shared memory.

    Raises:
        Refused: There is none, or it is not proven to combine the elements of all threads.
    """
    program = kernel.program
    arrays = [
        (name, each) for name, all_declared in kernel.declared.items() for each in all_declared
        if "__shared__" in each.qualifiers
    ]  # fmt: skip
    if len(arrays) != 1 or arrays[0][1].stars or len(arrays[0][1].sizes) != 1:
        raise Refused(f"{kernel.name} has no tree in one array in shared memory")
    ((array, declared),) = arrays
    if "volatile" in declared.qualifiers:
        raise Refused(f"{array} is volatile")
    if program.in_macros(array) or len(kernel.declared[array]) != 1:
        raise Refused(f"a macro mentions {array}")
    statements = meaningful(kernel.body)
    x, y, z = block_of(kernel)
    if (y, z) != (1, 1) or x % WARP or x > 1024:
        raise Refused(f"blocks of {x} by {y} by {z} threads do not consist of a row of full warps")
    stores = [place for place, each in enumerate(statements) if _stored(kernel, each, array) is not None]
    if not stores:
        raise Refused(f"no statement stores an element of each thread into {array}")
    at = stores[0]
    if any(_mentions(program, each, array) for each in statements[:at] if each != declared.node):
        raise Refused(f"{array} is used before each thread stores an element")
    use = next(
        (place for place in range(at + 1, len(statements)) if _first_thread(kernel, statements[place], array)), 0
    )
    if not use or any(_mentions(program, each, array) for each in statements[use + 1 :]):
        raise Refused(f"the first thread does not use {array}[0] once, at the end of the tree")
    if use + 1 != len(statements):
        raise Refused(f"line {line_of(statements[use + 1])} follows the tree")
    function = combined(kernel, statements[at + 1 : use], array, x)
    value = _stored(kernel, statements[at], array)
    if value is None:
        raise Refused(f"no statement stores an element of each thread into {array}")
    element = element_type(kernel, declared.type, array)
    return Tree(
        array,
        declared.node,
        [each for each in statements[:at] if each != declared.node],
        statements[at],
        value,
        statements[at + 1 : use],
        statements[use],
        element,
        operation(function, element),
        x,
    )


def without_tree(kernel: Kernel, tree: Tree) -> Change:
    """Replace a tree by warp shuffles, for a warp to each block where that is proven.

    Raises:
        Refused: A thread leaves before the barrier.
    """
    for node in kernel.of_type("return_statement"):
        raise Refused(f"line {line_of(node)} returns before the barrier")
    reorders = f"the combination of {tree.array}" if tree.element.kind == "floating" else ""
    try:
        made, title = list(_by_warps(kernel, tree)), "Combine each block's elements in one warp, without shared memory"
    except Refused:
        made, title = list(_by_blocks(kernel, tree)), f"Combine {tree.array} by warp shuffles"
    return Change(title, block_assumed(kernel), tuple(made), reorders=reorders)


def _mentions(program: Program, node: Node, name: str) -> bool:
    return any(each.type == "identifier" and program.text(each) == name for each in within(node))


def _is_thread(kernel: Kernel, node: Node) -> bool:
    """Whether an expression is ``threadIdx.x``, or a variable that equals it."""
    node = bare(node)
    if node.type == "identifier":
        value = kernel.value_of(kernel.program.text(node))
        return value is not None and kernel.program.text(value) == "threadIdx.x"
    return kernel.program.text(node) == "threadIdx.x"


def _stored(kernel: Kernel, statement: Node, array: str) -> Node | None:
    """The value of ``array[threadIdx.x] = value;``."""
    inner = meaningful(statement) if statement.type == "expression_statement" else []
    if len(inner) != 1 or inner[0].type != "assignment_expression" or operator(inner[0]) != "=":
        return None
    target, value = child(inner[0], "left"), child(inner[0], "right")
    if target.type != "subscript_expression" or kernel.program.text(child(target, "argument")) != array:
        return None
    indices = meaningful(child(target, "indices"))
    mine = len(indices) == 1 and _is_thread(kernel, indices[0])
    return value if mine and not _mentions(kernel.program, value, array) else None


def _first_thread(kernel: Kernel, statement: Node, array: str) -> bool:
    """Whether a statement is ``if (threadIdx.x == 0) ...``, and reads the array only in its first element."""
    program = kernel.program
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return False
    test = next((bare(each) for each in meaningful(child(statement, "condition"))), statement)
    if test.type == "unary_expression" and operator(test) == "!":
        first = _is_thread(kernel, child(test, "argument"))
    elif test.type == "binary_expression" and operator(test) == "==":
        sides = [child(test, "left"), child(test, "right")]
        first = any(_is_thread(kernel, a) and constant(program, b) == 0 for a, b in (sides, sides[::-1]))
    else:
        return False
    uses = [node for node in kernel.uses(array) if statement.start_byte <= node.start_byte < statement.end_byte]
    return first and bool(uses) and all(_is_read_of_first(kernel, node) for node in uses)


def _is_read_of_first(kernel: Kernel, node: Node) -> bool:
    place = node.parent
    if place is None or place.type != "subscript_expression":
        return False
    indices, outer = meaningful(child(place, "indices")), place.parent
    at_zero = len(indices) == 1 and constant(kernel.program, indices[0]) == 0
    written = outer is not None and (
        (outer.type == "assignment_expression" and child(outer, "left") == place)
        or outer.type in {"update_expression", "field_expression"}
        or (outer.type == "pointer_expression")
    )
    return at_zero and not written


def _by_blocks(kernel: Kernel, tree: Tree) -> Iterator[Replacement]:
    """Each warp leaves one word in shared memory."""
    program = kernel.program
    total = _name_of_result(program, tree)
    yield from _removed(program, tree.declaration)
    place = margin(program, tree.store)
    value = f"{tree.element.text} {total} = {program.text(tree.value)};"
    yield Replacement(tree.store.start_byte, tree.store.end_byte, value)
    last = _with_result(kernel, tree, total)
    code = over_block(kernel, tree.operation, tree.element, total, "threadIdx.x", tree.threads, last)
    start, end = line_start(program, tree.steps[0] if tree.steps else tree.use), line_end(program, tree.use)
    yield Replacement(start, end, lines(program, place, code))


def _by_warps(kernel: Kernel, tree: Tree) -> Iterator[Replacement]:
    """A warp does the work of a block, with several elements in each lane."""
    program, by = kernel.program, tree.threads // WARP
    if by < 2:
        raise Refused("a block is a warp already")
    if grid_of(kernel)[0] < by * FEWEST_BLOCKS:
        raise Refused(f"{kernel.name} has too few blocks to give each warp one")
    if any(extent != 1 for extent in grid_of(kernel)[1:]):
        raise Refused(f"the grid of {kernel.name} has several axes")
    _check_alone(kernel, tree)
    yield from grid_divided(kernel, 0, by, exact=True)
    block, thread = fresh(program, "block", "whole_block"), fresh(program, "thread", "member", "of_block")
    total = _name_of_result(program, tree)
    yield from _removed(program, tree.declaration)
    inner, step = margin(program, tree.store), unit(kernel)
    size = tree.threads
    head = (
        f"const unsigned {block} = {by} * blockIdx.x + threadIdx.x / {WARP};\n"
        f"{tree.element.text} {total} = {tree.operation.nothing};\n"
        f"#pragma unroll\nfor (unsigned {thread} = threadIdx.x % {WARP}; {thread} < {size}; {thread} += {WARP}) {{"
    )
    start = opening(program, kernel.body)
    yield Replacement(start, start, lines(program, inner, head))
    after = line_end(program, tree.store)
    skip = range(line_start(program, tree.declaration), line_end(program, tree.declaration))
    yield from (each for each in indented(program, start, after, step) if each.start not in skip)
    for node in within(kernel.body):
        text = program.text(node)
        own = node.type == "field_expression" and text in {"threadIdx.x", "blockIdx.x"}
        if own and node.end_byte <= tree.store.start_byte:
            yield Replacement(node.start_byte, node.end_byte, thread if text[0] == "t" else block)
    value = _renamed(kernel, tree.value, {"threadIdx.x": thread, "blockIdx.x": block})
    combine = tree.operation.combine(total, value)
    yield Replacement(tree.store.start_byte, tree.store.end_byte, combine)
    last = _renamed_text(_with_result(kernel, tree, total), {"blockIdx.x": block, "threadIdx.x": "0"})
    code = over_lanes(kernel, tree.operation, total)
    code += conditional(kernel, f"threadIdx.x % {WARP} == 0", last)
    end = line_end(program, tree.use)
    yield Replacement(after, end, lines(program, inner, "}") + lines(program, inner, code))


def _check_alone(kernel: Kernel, tree: Tree) -> None:
    """Require that what comes before the tree is each thread's own, and what the first thread does needs none of it."""
    program = kernel.program
    if tree.operation.nothing is None:
        raise Refused(f"{tree.operation.function} has no value that it does not change")
    named = {name for each in tree.before for name in program.declared_in(each)}
    for node in within(child(tree.use, "consequence")):
        if node.type == "identifier" and program.text(node) in named:
            raise Refused(f"line {line_of(node)} needs {program.text(node)} of the first thread")
    for each in (*tree.before, tree.store):
        for node in within(each):
            text = program.text(node)
            if node.type == "identifier" and text == "gridDim":
                raise Refused(f"line {line_of(node)} uses gridDim")
            if node.type == "call_expression" and not takes_values(program.text(child(node, "function"))):
                raise Refused(f"line {line_of(node)} calls a function that may depend on the thread")
            if node.type in {"assignment_expression", "update_expression"} and each != tree.store:
                target = child(node, "left" if node.type[0] == "a" else "argument")
                if target.type != "identifier" or program.text(target) in kernel.parameters:
                    raise Refused(f"line {line_of(node)} stores before the tree")
    if len(reached(kernel)) > 1:
        raise Refused(f"{kernel.name} calls functions of this file")


def _with_result(kernel: Kernel, tree: Tree, total: str) -> str:
    """The first thread's statements, with the result instead of the array's first element."""
    consequence = child(tree.use, "consequence")
    parts = meaningful(consequence) if consequence.type == "compound_statement" else [consequence]
    texts = []
    for part in parts:
        text = _renamed(kernel, part, {}, tree.array, total)
        texts.append(re.sub(r"\r?\n[ \t]*", "\n", text) if len(parts) == 1 else text)
    return "\n".join(texts)


def _renamed(kernel: Kernel, node: Node, names: dict[str, str], array: str = "", total: str = "") -> str:
    """A node's text with other names, and with the result instead of the array's first element."""
    program, text, at = kernel.program, "", node.start_byte
    for each in within(node):
        written = program.text(each)
        new = names.get(written, "") if each.type == "field_expression" else ""
        if array and each.type == "subscript_expression" and program.text(child(each, "argument")) == array:
            new = total
        if new and each.start_byte >= at:
            text += program.data[at : each.start_byte].decode("utf-8", "surrogateescape") + new
            at = each.end_byte
    return text + program.data[at : node.end_byte].decode("utf-8", "surrogateescape")


def _renamed_text(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


_NAMES = {True: ("sum", "total", "block_sum", "sum_of_threads"), False: ("result", "combined", "of_threads")}


def _name_of_result(program: Program, tree: Tree) -> str:
    return fresh(program, *_NAMES[tree.operation.function == "+"])


def _removed(program: Program, node: Node) -> Iterator[Replacement]:
    """Remove a declaration with its line, and empty lines after it."""
    margin(program, node)
    if len(node.children_by_field_name("declarator")) != 1:
        raise Refused(f"line {line_of(node)} declares several variables")
    end = line_end(program, node)
    empty = re.match(rb"(?:[ \t]*\r?\n)*", program.data[end:])
    yield Replacement(line_start(program, node), end + (empty.end() if empty else 0), "")
