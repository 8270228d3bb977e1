"""Prove that one block may do the work of several, and write the loop over them into a kernel.

``merge_blocks`` takes a ``Kernel`` -> ``MergedBlocks``: the loop over blocks that replaces ``blockIdx``, the grid
divided by their number, and what has been assumed. It raises ``Refused`` with the obligation that is not proven.

CUDA promises no order of blocks, so a block may do the work of several one after the other, if no block waits for
another, every block stays the same (shared memory behind a barrier, ``return`` ends one of them), and the blocks that
a division with rounding adds do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ncuview.patch.constants import check_known_names
from ncuview.patch.coverage import check_covered
from ncuview.patch.global_index import guarded
from ncuview.patch.launches import grid_divided, grid_of
from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import (
    Kernel,
    above,
    bare,
    child,
    function_declarator,
    line_of,
    meaningful,
    operator,
    takes_values,
    within,
)
from ncuview.patch.rewriting import closing, fresh, indented, lines, margin, opening, unit
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from tree_sitter import Node

_WAITS = re.compile(r"__threadfence\w*|__nanosleep|this_grid|cooperative_groups|cg|cuda|clock(?:64)?|__prof_trigger")
"""Names of code in which one block may wait for another, or in which the order of blocks shows."""
_LOOPS = {"for_statement", "while_statement", "do_statement", "for_range_loop"}
_OPAQUE = {"lambda_expression", "gnu_asm_expression", "goto_statement", "labeled_statement"}
FEWEST_BLOCKS = 512
"""Blocks that a grid keeps where it is known: several per multiprocessor of every GPU."""


@dataclass(frozen=True)
class MergedBlocks:
    """The loop over the blocks of the original kernel that one block now does.

    Attributes:
        by: Their number.
        replacements: In the kernel's body and in its launches; the loop's head and foot are not among them.
        head: The loop's head, to be inserted at the body's ``opening``.
        foot: The loop's foot, to be inserted at the body's ``closing``.
        assumes: What the source does not prove; empty where it proves everything.
    """

    by: int
    replacements: tuple[Replacement, ...]
    head: str
    foot: str
    assumes: str


def merge_blocks(kernel: Kernel, most: int) -> MergedBlocks:
    """Let each block do the work of up to ``most`` blocks of one axis of the grid.

    Raises:
        Refused: An obligation is not proven.
    """
    check_known_names(kernel)
    _check_blocks_are_alone(kernel)
    check_parameters_stay(kernel)
    axis, by, exact, assumes = _choice(kernel, most)
    program, letter = kernel.program, "xyz"[axis]
    part, block = fresh(program, "part", "share", "turn"), fresh(program, "block", f"block_{letter}", "merged_block")
    step, inner = unit(kernel), margin(program, _first(kernel))
    start, end = opening(program, kernel.body), closing(program, kernel.body)
    barrier = ""
    if _shares(kernel):
        _check_all_reach_the_end(kernel)
        barrier = lines(program, inner + step, "__syncthreads();")
    head = f"for (int {part} = 0; {part} < {by}; {part}++) {{\n"
    head += f"{step}const unsigned {block} = {by} * blockIdx.{letter} + {part};"
    if not barrier and not kernel.of_type(*_LOOPS):
        head = f"#pragma unroll\n{head}"
    return MergedBlocks(
        by,
        (
            *indented(program, start, end, step),
            *(Replacement(each.start_byte, each.end_byte, block) for each in _block_index(kernel, axis)),
            *_continued(kernel),
            *grid_divided(kernel, axis, by, exact=exact),
        ),
        lines(program, inner, head),
        barrier + lines(program, inner, "}"),
        assumes,
    )


def reached(kernel: Kernel) -> list[Node]:
    """The bodies of the kernel and of all functions of this file that it may call."""
    program, found, names = kernel.program, [kernel.body], set[str]()
    for body in found:
        for node in within(body):
            name = program.text(node) if node.type in {"identifier", "field_identifier"} else ""
            if name in program.functions and name not in names and name not in kernel.declared:
                names.add(name)
                found += [child(each, "body") for each in program.functions[name]]
    return found


def _first(kernel: Kernel) -> Node:
    return next(each for each in kernel.body.named_children if each.type not in {"comment", "preproc_call"})


def _check_blocks_are_alone(kernel: Kernel) -> None:
    """Require that no block waits for another, and that functions do not use the block's index."""
    program = kernel.program
    for word in ("blockIdx", "gridDim", "return", "__syncthreads", "volatile"):
        if program.in_macros(word):
            raise Refused(f"a macro mentions {word}")
    for body in reached(kernel):
        for node in within(body):
            text = program.text(node) if not node.children else ""
            if node.type in _OPAQUE or text == "volatile" or (node.type == "identifier" and _WAITS.fullmatch(text)):
                raise Refused(f"line {line_of(node)} may depend on what other blocks do at the same time")
            if node.type == "storage_class_specifier" and program.text(node) == "static":
                raise Refused(f"line {line_of(node)} keeps a value from one block to the next")
            if body != kernel.body and text in {"blockIdx", "gridDim"}:
                raise Refused(f"line {line_of(node)} uses {text} in a function that {kernel.name} calls")
            if node.type == "call_expression" and not _is_known(kernel, node):
                called = program.text(child(node, "function"))
                raise Refused(f"line {line_of(node)} calls {called}, which this file does not define")


def check_parameters_stay(kernel: Kernel) -> None:
    """Require that no parameter has another value when a thread's work begins again.

    Raises:
        Refused: One may change.
    """
    program = kernel.program
    for node in kernel.of_type("assignment_expression", "update_expression", "pointer_expression", "call_expression"):
        targets: list[Node] = []
        if node.type == "call_expression":
            targets = list(_by_reference(kernel, node))
        elif node.type != "pointer_expression" or operator(node) == "&":
            targets = [child(node, "left" if node.type == "assignment_expression" else "argument")]
        for target in targets:
            whole = target
            while whole.type == "field_expression" and operator(whole) == ".":
                whole = child(whole, "argument")
            name = program.text(whole)
            if whole.type == "identifier" and name in kernel.parameters:
                raise Refused(f"line {line_of(node)} may change the parameter {name}, which the next work needs")
    if any(each.type == "reference_declarator" for each in kernel.nodes) and any(
        program.text(child(each, "value")) in kernel.parameters
        for each in kernel.of_type("init_declarator")
        if any(part.type == "reference_declarator" for part in each.children)
    ):
        raise Refused(f"{kernel.name} has a reference to a parameter")


def _by_reference(kernel: Kernel, call: Node) -> Iterator[Node]:
    """The arguments that a function of this file may change."""
    program = kernel.program
    name = program.text(child(call, "function")).partition("<")[0].rpartition("::")[2].strip()
    for definition in program.functions.get(name, ()):
        head = function_declarator(definition)
        listed = meaningful(child(head, "parameters")) if head is not None else []
        for parameter, argument in zip(listed, meaningful(child(call, "arguments")), strict=False):
            if any(each.type in _REFERENCES for each in within(parameter)):
                yield bare(argument)


_REFERENCES = {"reference_declarator", "abstract_reference_declarator", "variadic_parameter_declaration"}


def _is_known(kernel: Kernel, call: Node) -> bool:
    """Whether a called function is CUDA's, or one of this file that ``reached`` has searched."""
    name = kernel.program.text(child(call, "function")).partition("<")[0].rpartition("::")[2].strip()
    name = name.rpartition(".")[2].rpartition("->")[2]
    return bool(
        takes_values(kernel.program.text(child(call, "function")))
        or name in kernel.program.functions
        or re.fullmatch(r"__[a-z]\w+|atomic[A-Z]\w*|make_\w+[1-4]|\w+_cast|sincos\w*|tex[123]D\w*", name)
        or child(call, "function").type in {"primitive_type", "type_identifier"}
    )


def _axes(kernel: Kernel) -> list[int]:
    """The axes of the grid that may be divided: y before x, because the lanes of a warp differ in x."""
    program = kernel.program
    parts = kernel.of_type("field_expression")
    fields = [node for node in parts if program.text(child(node, "argument")) == "blockIdx"]
    mentions = [node for node in kernel.of_type("identifier") if program.text(node) == "blockIdx"]
    used = {program.text(node)[-1] for node in fields}
    if not fields or len(fields) != len(mentions) or not used <= set("xyz"):
        raise Refused(f"{kernel.name} uses blockIdx in a way that is not understood, or not at all")
    free = [axis for axis in (1, 0) if "xyz"[axis] in used and not _mentioned(kernel, "gridDim", "xyz"[axis])]
    if not free:
        raise Refused(f"{kernel.name} uses gridDim, so its blocks depend on their number")
    return free


def _choice(kernel: Kernel, most: int) -> tuple[int, int, bool, str]:
    """The axis to divide, how many blocks to merge, whether they must divide the grid, and what is assumed."""
    refusals = []
    for axis in _axes(kernel):
        try:
            return axis, *_number(kernel, axis, most)
        except Refused as refused:
            refusals.append(refused)
    raise refusals[-1]


def _mentioned(kernel: Kernel, name: str, letter: str) -> bool:
    program = kernel.program
    mentions = [node for node in kernel.of_type("identifier") if program.text(node) == name]
    return any(node.parent is None or program.text(node.parent) in {name, f"{name}.{letter}"} for node in mentions)


def _block_index(kernel: Kernel, axis: int) -> list[Node]:
    wanted = f"blockIdx.{'xyz'[axis]}"
    return [node for node in kernel.of_type("field_expression") if kernel.program.text(node) == wanted]


def _number(kernel: Kernel, axis: int, most: int) -> tuple[int, bool, str]:
    """How many blocks to merge, whether they must divide the grid, and what is assumed."""
    try:
        grid: Extent | None = grid_of(kernel)
    except Refused:
        grid = None
    blocks = grid[axis] if grid is not None else None
    fitting = [
        by for by in (most, *_smaller(most)) if grid is None or (prod(grid) >= by * FEWEST_BLOCKS and grid[axis] >= by)
    ]
    if not fitting:
        raise Refused(f"{kernel.name} has too few blocks along {'xyz'[axis]} to merge several")
    try:
        bound = _bound(kernel, axis)
    except Refused:
        exact = [by for by in fitting if blocks is not None and blocks % by == 0]
        if not exact:
            raise
        return exact[0], True, ""
    return fitting[0], False, bound


def _smaller(most: int) -> Iterator[int]:
    while most > 2:
        most //= 2
        yield most


def _bound(kernel: Kernel, axis: int) -> str:
    """Prove that added blocks do nothing, and that the grid covers the bound; return what is assumed of the bound.

    Raises:
        Refused: Either is not proven.
    """
    guard = guarded(kernel, axis)
    known = check_covered(kernel, axis, guard.bound)
    name = kernel.program.text(guard.bound)
    return "" if known else f"{name} is smaller than the largest number of its type by the threads of several blocks"


def _shares(kernel: Kernel) -> bool:
    words = {"__shared__", "__syncthreads", "__syncwarp"}
    return any(
        not node.children and kernel.program.text(node) in words for body in reached(kernel) for node in within(body)
    )


def _check_all_reach_the_end(kernel: Kernel) -> None:
    for node in kernel.of_type("return_statement"):
        raise Refused(f"line {line_of(node)} returns before the barrier that the next block's work needs")


def _continued(kernel: Kernel) -> Iterator[Replacement]:
    """Let each ``return`` end one block's work, not all of them."""
    for node in kernel.of_type("return_statement"):
        outer = [each for each in above(node) if each.start_byte >= kernel.body.start_byte]
        if any(each.type in _LOOPS for each in outer if each != kernel.body):
            raise Refused(f"line {line_of(node)} returns from inside a loop")
        yield Replacement(node.start_byte, node.end_byte, "continue;")
