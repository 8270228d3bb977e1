"""Make the patch that inserts ``#pragma unroll`` before counting ``for`` loops of a finding's lines.

``unroll`` takes a ``Kernel`` -> ``Change``: the innermost loops, or those that index a local array, fully or in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.constants import integer
from ncuview.patch.loops import Counted, counted
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, child, line_of, on_lines, within

if TYPE_CHECKING:
    from tree_sitter import Node

_ALL_ITERATIONS = 64
"""A loop of more iterations, or of an unknown number, is unrolled in part, to fit the instruction cache."""
_PART, _OPEN_PART = 16, 4
_PRAGMA = re.compile(
    rb"^[ \t]*#[ \t]*pragma[ \t]+(?:unroll|nounroll)(?P<factor>[^\r\n/]*?)[ \t]*(?://[^\n]*)?\r?\n(?:[ \t]*(?://[^\n]*)?\r?\n)*\Z",
    re.MULTILINE,
)
"""The pragma of the statement that begins on the next line, with nothing but comments between."""


def unroll(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Unroll the innermost loops of these lines, and all loops that index a local array there, by pragmas.

    Args:
        kernel: The kernel.
        lines: The lines with loop overhead; empty for the complete kernel.

    Raises:
        Refused: A loop does not count, is unrolled already, or indexes a local array without a fixed iteration count.
    """
    over_arrays = list(dict.fromkeys(_over_local_arrays(kernel, lines)))
    nodes = over_arrays or list(dict.fromkeys(_innermost(kernel, lines)))
    if not nodes:
        raise Refused("these lines are in no for loop")
    loops, replacements, refusals = [], [], []
    for node in nodes:
        try:
            loop = _counting_loop(kernel, node, fixed=bool(over_arrays))
            made = _pragma(kernel, loop)
        except Refused as refused:
            if over_arrays:  # one loop that is not unrolled keeps the array in local memory
                raise
            refusals.append(refused)
            continue
        if made is not None:
            loops.append(loop)
            replacements.append(made)
    if not replacements:
        marked = f"the loop on line {line_of(nodes[0])} is marked for unrolling already"
        raise refusals[0] if refusals else Refused(marked)
    where = " and ".join(str(line) for line in sorted(line_of(loop.node) for loop in loops))
    return Change(f"Unroll the loop{'s' * (len(loops) > 1)} on line {where}", "", tuple(replacements))


def unrollable(kernel: Kernel) -> Iterator[tuple[int, Counted, int]]:
    """The innermost loops to which a factor can be given: their number, the loop, and its factor; 0 without one."""
    for number, node in enumerate(dict.fromkeys(_innermost(kernel, ()))):
        try:
            loop = _counting_loop(kernel, node, fixed=False)
            made = _with_factor(kernel, loop, "")
        except Refused:
            continue
        if "#pragma" in made.text:
            yield number, loop, 0
        elif (factor := integer(kernel.program.data[made.start : made.end].strip(b"() \t").decode())) is not None:
            yield number, loop, factor


def unrolled(kernel: Kernel, number: int, factor: int) -> Change:
    """Unroll an innermost loop by a factor; 1 forbids it.

    Args:
        kernel: The kernel.
        number: The loop's, as ``unrollable`` gives it.
        factor: How many iterations become one.

    Raises:
        Refused: It is no counting loop.
    """
    node = list(dict.fromkeys(_innermost(kernel, ())))[number]
    made = _with_factor(kernel, _counting_loop(kernel, node, fixed=False), f" {factor}")
    title = f"Unroll the loop on line {line_of(node)} by {factor}"
    return Change(title if factor > 1 else f"Do not unroll the loop on line {line_of(node)}", "", (made,))


def _innermost(kernel: Kernel, lines: Sequence[int]) -> Iterator[Node]:
    """For each line, the innermost loop with code on it; a line of a loop's head counts for that loop."""
    loops = kernel.of_type("for_statement")
    if not lines:
        yield from (loop for loop in loops if not _has_loop(child(loop, "body")))
    for line in sorted(set(lines)):
        around = [loop for loop in loops if on_lines(loop, [line])]
        if around:
            yield max(around, key=lambda each: each.start_byte)


def _has_loop(node: Node) -> bool:
    return any(each.type in {"for_statement", "while_statement", "do_statement"} for each in within(node))


def _over_local_arrays(kernel: Kernel, lines: Sequence[int]) -> Iterator[Node]:
    """The loops that index a local array: it moves to registers only when every index into it is known."""
    program = kernel.program
    arrays = {
        name
        for name, declared in kernel.declared.items()
        if any(each.sizes and "__shared__" not in each.qualifiers for each in declared)
        and any(on_lines(node, lines) for node in kernel.uses(name))
    }
    for name in sorted(arrays):
        for use in kernel.uses(name):
            place = use.parent
            while place is not None and place.type == "subscript_expression":
                words = {program.text(each) for each in within(child(place, "indices"))}
                for loop in above(place):
                    if loop.type == "for_statement" and (found := counted(kernel, loop)) and found.name in words:
                        yield loop
                place = place.parent


def _counting_loop(kernel: Kernel, node: Node, *, fixed: bool) -> Counted:
    line = line_of(node)
    loop = counted(kernel, node)
    if loop is None:
        raise Refused(f"the loop on line {line} does not count in equal steps to a constant bound")
    if loop.iterations is None and fixed:
        raise Refused(f"the number of iterations of the loop on line {line} is not constant in the source")
    if loop.iterations is not None and loop.iterations < 2:
        raise Refused(f"the loop on line {line} has no second iteration")
    if any(each.type.startswith("gnu_asm") for each in within(node)):
        raise Refused(f"the loop on line {line} holds inline assembly, which may have labels")
    return loop


def _pragma(kernel: Kernel, loop: Counted) -> Replacement | None:
    """The pragma to insert, or to change where it forbids unrolling; None where the loop is unrolled already."""
    part = _OPEN_PART if loop.iterations is None else 0 if loop.iterations <= _ALL_ITERATIONS else _PART
    made = _with_factor(kernel, loop, f" {part}" if part else "")
    old = kernel.program.data[made.start : made.end].strip(b"() \t")
    return made if "#pragma" in made.text or old == b"1" else None


def _with_factor(kernel: Kernel, loop: Counted, argument: str) -> Replacement:
    """The pragma with this argument, inserted, or in place of the argument of the one that is there."""
    program, start = kernel.program, loop.node.start_byte
    line = program.data.rfind(b"\n", 0, start) + 1
    margin = program.data[line:start].decode("utf-8", "surrogateescape")
    if margin.strip(" \t"):
        raise Refused(f"the loop on line {line_of(loop.node)} is not at the beginning of its line")
    if loop.node.parent is None or loop.node.parent.type not in {"compound_statement", "for_statement"}:
        raise Refused(f"the loop on line {line_of(loop.node)} is the body of another statement without braces")
    found = _PRAGMA.search(program.data[:line])
    if found is not None:
        return Replacement(found.start("factor"), found.end("factor"), argument)
    end = program.data.find(b"\n", start)
    newline = "\r\n" if end > 0 and program.data[end - 1 : end] == b"\r" else "\n"
    return Replacement(line, line, f"{margin}#pragma unroll{argument}{newline}")
