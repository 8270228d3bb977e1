"""Find the launches ``kernel<<<grid, block>>>(arguments)`` and the prototypes of a parsed source's ``Kernel``.

``launches``, ``prototypes`` and ``block_of`` (their common block) take a ``Kernel`` and raise ``Refused`` if unsure.
``launches`` gives ``Launch``es of tree-sitter nodes; ``initial_value`` gives the parts that a host variable such as
``dim3 block(32, 8)`` is initialised with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, Program, above, bare, child, line_of, meaningful
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from tree_sitter import Node

_HEADERS = {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp"}


@dataclass(frozen=True)
class Launch:
    """One ``kernel<<<grid, block>>>(arguments)``."""

    node: Node
    grid: Node
    block: Node
    arguments: Sequence[Node]


def prototypes(kernel: Kernel) -> list[Node]:
    """The kernel's declarations without its definition, but with explicit instantiations.

    Raises:
        Refused: Its name is used in a way that is neither a declaration nor a launch.
    """
    found = []
    for node in _uses(kernel):
        declaration = _declaration_of(node)
        if declaration is not None:
            found.append(declaration)
        elif _launch_of(node) is None:
            raise Refused(
                f"line {line_of(node)} uses {kernel.name} in a way that is neither a launch nor a declaration"
            )
    return found


def launches(kernel: Kernel) -> list[Launch]:
    """All launches of a kernel.

    Raises:
        Refused: Launches outside this file are possible, or it contains none.
    """
    if PurePath(kernel.program.path).suffix in _HEADERS:
        raise Refused(f"{kernel.name} is defined in a header, so not all of its launches can be seen")
    prototypes(kernel)
    found = [launch for node in _uses(kernel) if (launch := _launch_of(node)) is not None]
    if not found:
        raise Refused(f"no launch of {kernel.name} is in this file")
    return found


def block_of(kernel: Kernel) -> Extent:
    """The block that every launch of a kernel has.

    Raises:
        Refused: Launches outside this file are possible, or the blocks differ or are not constant.
    """
    sizes = {_extent(kernel.program, launch) for launch in launches(kernel)}
    if len(sizes) > 1:
        raise Refused(f"{kernel.name} is launched with different blocks: {', '.join(map(str, sorted(sizes)))}")
    return sizes.pop()


def initial_value(program: Program, node: Node) -> Sequence[Node] | None:
    """The parts of the initial value of a host variable that never changes: 32 and 8 of ``dim3 block(32, 8)``."""
    function = next((parent for parent in above(node) if parent.type == "function_definition"), None)
    if function is None or node.type != "identifier":
        return None
    name = program.text(node)
    declared = program.declared_in(function).get(name, ())
    if len(declared) == 1 and declared[0].value is not None:
        if name in program.changed_in(function):
            return None
        value = bare(declared[0].value)
        return meaningful(value) if value.type.endswith("_list") else [value]
    return None if declared or name in program.changed_in(function) else _parsed_as_function(program, function, name)


def _uses(kernel: Kernel) -> list[Node]:
    program = kernel.program
    if program.in_macros(kernel.name):
        raise Refused(f"a macro mentions {kernel.name}, so not all of its launches can be seen")
    head = kernel.definition.child_by_field_name("declarator")
    return [
        node
        for node in program.named(kernel.name)
        if head is None or not head.start_byte <= node.start_byte < head.end_byte
    ]


def _declaration_of(node: Node) -> Node | None:
    for parent in above(node):
        if parent.type == "function_declarator":
            following = [each for each in above(parent) if each.type in {"declaration", "template_instantiation"}]
            named = parent.child_by_field_name("declarator")
            inside = named is not None and named.start_byte <= node.start_byte < named.end_byte
            return following[0] if following and inside else None
        if parent.type not in {"template_function", "qualified_identifier"}:
            return None
    return None


def _launch_of(node: Node) -> Launch | None:
    called = node
    parent = node.parent
    while parent is not None and parent.type in {"template_function", "qualified_identifier"}:
        called, parent = parent, parent.parent
    if parent is None or parent.type != "call_expression" or parent.child_by_field_name("function") != called:
        return None
    configuration = next((part for part in parent.children if part.type == "kernel_call_syntax"), None)
    if configuration is None or parent.has_error:
        return None
    parts = meaningful(configuration)
    if len(parts) < 2:
        return None
    return Launch(parent, bare(parts[0]), bare(parts[1]), meaningful(child(parent, "arguments")))


def _extent(program: Program, launch: Launch) -> Extent:
    sizes = [constant(program, part) for part in _parts(program, launch.block)]
    x, y, z = [*sizes, 1, 1][:3]
    if x is None or y is None or z is None or min(x, y, z) < 1:
        raise Refused(f"the block of the launch on line {line_of(launch.node)} is not a constant of this file")
    return x, y, z


def _parts(program: Program, node: Node) -> Sequence[Node]:
    node = bare(node)
    if node.type == "call_expression" and program.text(child(node, "function")) == "dim3":
        return meaningful(child(node, "arguments"))
    if node.type == "compound_literal_expression" and program.text(child(node, "type")) == "dim3":
        return meaningful(child(node, "value"))
    if node.type == "identifier" and constant(program, node) is None:
        value = initial_value(program, node)
        if value is not None:
            single = value[0] if len(value) == 1 else None
            return _parts(program, single) if single is not None and single.type == "call_expression" else value
    return [node]


def _parsed_as_function(program: Program, function: Node, name: str) -> Sequence[Node] | None:
    """`dim3 block(BX, BY);` is parsed as the declaration of a function with parameters of types BX and BY."""
    for node in program.index["declaration"]:
        inside = function.start_byte <= node.start_byte < function.end_byte
        declarator = node.child_by_field_name("declarator")
        if not inside or declarator is None or declarator.type != "function_declarator":
            continue
        if program.text(child(declarator, "declarator")) != name or program.text(child(node, "type")) != "dim3":
            continue
        parts = [
            part
            for parameter in meaningful(child(declarator, "parameters"))
            for part in [parameter.child_by_field_name("type")]
            if part is not None
        ]
        return parts or None
    return None
