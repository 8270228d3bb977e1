"""Pass a kernel the number of blocks of its grid along an axis, for launches in the source that divide it.

``passed_grid`` takes a ``Kernel``, an axis and the new parameter's name -> ``Replacement``s of the kernel's parameters
and of the arguments of all launches. It raises ``Refused`` where not every place of either is in the source.
"""

from __future__ import annotations

from ncuview.patch.launches import extent_parts, front_matter, launches_in_source, prototypes
from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel, child, function_declarator, line_of, takes_values, within


def passed_grid(kernel: Kernel, axis: int, name: str) -> tuple[Replacement, ...]:
    """Add the number of blocks along an axis as the last parameter, and to each launch.

    Raises:
        Refused: Front matter fixes the arguments, the kernel has prototypes, or a grid cannot be written twice.
    """
    program, found = kernel.program, launches_in_source(kernel)
    if front_matter(kernel) is not None or not found:
        raise Refused(f"the launch of {kernel.name} cannot pass the number of its blocks")
    if prototypes(kernel):
        raise Refused(f"{kernel.name} is declared in several places")
    head = function_declarator(kernel.definition)
    if head is None:
        raise Refused(f"{kernel.name} has no parameters that are understood")
    end = child(head, "parameters").end_byte - 1
    made = [Replacement(end, end, f"{', ' if kernel.parameters else ''}unsigned {name}")]
    for launch in found:
        line = line_of(launch.node)
        if len(launch.arguments) != len(kernel.parameters):
            raise Refused(f"the launch on line {line} does not give every argument")
        parts = extent_parts(program, launch.grid)
        if axis >= len(parts):
            raise Refused(f"the grid of the launch on line {line} has no axis {'xyz'[axis]}")
        part = parts[axis]
        inside = launch.grid.start_byte <= part.start_byte and part.end_byte <= launch.grid.end_byte
        whole = part == launch.grid or not inside
        if any(each.type in {"assignment_expression", "update_expression"} for each in within(part)) or any(
            not takes_values(program.text(child(each, "function"))) and not _reads_size(program.text(each))
            for each in within(part)
            if each.type == "call_expression"
        ):
            raise Refused(f"the grid of the launch on line {line} cannot be written twice")
        text = program.text(part)
        if whole and len(parts) > 1:
            text = f"{program.text(launch.grid)}.{'xyz'[axis]}"
        elif whole:
            text = program.text(launch.grid)
        at = child(launch.node, "arguments").end_byte - 1
        made.append(Replacement(at, at, f"{', ' if launch.arguments else ''}{text}"))
    return tuple(made)


def _reads_size(call: str) -> bool:
    """Whether a call only asks a container for its size."""
    return call.endswith(".size()")
