"""Find the launches of a parsed source's ``Kernel``, in ``kernel<<<grid, block>>>(arguments)`` and in front matter.

``launches``, ``prototypes`` and ``block_of`` (the block of all launches) take a ``Kernel`` and raise ``Refused`` if
unsure. ``launches`` gives ``Launch``es of tree-sitter nodes, ``front_matter`` and ``argument_kinds`` what the TOML in
the first comment says, ``grid_divided`` the replacements that divide one axis of every grid. ``initial_value`` gives
the parts that a host variable such as ``dim3 block(32, 8)`` is initialised with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from ncuview.base.errors import NcuviewError
from ncuview.base.expression import compile_expression
from ncuview.patch.constants import constant, integer
from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel, Program, above, bare, child, line_of, meaningful, operator, within
from ncuview.patch.python_launch import python_launch
from ncuview.records.profile import Extent

if TYPE_CHECKING:
    from tree_sitter import Node

    from ncuview.catalogue.kernel_file import ArgumentKind, KernelText

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
    found = launches_in_source(kernel)
    if not found:
        raise Refused(f"no launch of {kernel.name} is in this file")
    return found


def block_of(kernel: Kernel) -> Extent:
    """The block that every launch of a kernel has; of front matter, at its sizes.

    Raises:
        Refused: Launches outside this file are possible, or the blocks differ or are not constant.
    """
    return _common(kernel, "blocks", lambda text: text.launch.block, lambda launch: launch.block)


def block_assumed(kernel: Kernel) -> str:
    """What a change that holds for this block only assumes; empty where the block is written as numbers.

    Raises:
        Refused: See ``block_of``.
    """
    text = front_matter(kernel)
    if text is None or all(integer(each) is not None for each in text.launch.block):
        return ""
    return f"blocks have {' by '.join(str(each) for each in block_of(kernel) if each > 1)} threads"


def grid_of(kernel: Kernel) -> Extent:
    """The grid that every launch of a kernel has; of front matter, at its sizes.

    Raises:
        Refused: Launches outside this file are possible, or the grids differ or are not constant.
    """
    return _common(kernel, "grids", lambda text: text.launch.grid, lambda launch: launch.grid)


def front_matter(kernel: Kernel) -> KernelText | None:
    """The front matter of the file, if it defines the launch of this kernel.

    Raises:
        Refused: It is wrong.
    """
    from ncuview.catalogue.kernel_file import front_matter_of

    program = kernel.program
    try:
        text = front_matter_of(program.data.decode("utf-8", "replace"), Path(program.path))
    except NcuviewError as error:
        raise Refused(f"the front matter is wrong: {error}") from None
    plain = text.name.partition("<")[0].rpartition("::")[2].strip() if text else ""
    return text if plain == kernel.name else None


def argument_kinds(kernel: Kernel) -> Mapping[str, ArgumentKind]:
    """What front matter says of each parameter, by the kernel's own names; empty without front matter.

    Raises:
        Refused: The front matter is wrong, or has other arguments than the kernel.
    """
    text = front_matter(kernel)
    if text is None:
        return {}
    kinds = [argument.parsed for argument in text.args]
    passed = [kind for kind in kinds if kind is None or kind.role not in {"constant", "texture"}]
    if len(passed) != len(kernel.parameters) or None in kinds:
        raise Refused(f"the arguments of the front matter are not the parameters of {kernel.name}")
    return {name: kind for name, kind in zip(kernel.parameters, passed, strict=True) if kind is not None}


def value_at_sizes(text: KernelText, expression: str) -> int:
    """The value of arithmetic over the sizes of front matter, at its own sizes.

    Raises:
        Refused: It is wrong, or no integer.
    """
    sizes = {name: float(size) for name, size in text.sizes.items()}
    try:
        value = float(compile_expression(expression, sizes).evaluate(sizes))  # type: ignore[arg-type]
    except NcuviewError as error:
        raise Refused(f"the front matter is wrong: {error}") from None
    if not value.is_integer():
        raise Refused(f"{expression!r} of the front matter is no integer")
    return int(value)


def grid_divided(kernel: Kernel, axis: int, by: int, *, exact: bool = False) -> tuple[Replacement, ...]:
    """Divide one axis of the grid of every launch, rounded up.

    Args:
        kernel: The kernel.
        axis: 0 for x, 1 for y, 2 for z.
        by: The divisor.
        exact: Whether to require that it divides the grid: of front matter at its sizes, and at others the launch is
            refused, because the grid is no integer.

    Raises:
        Refused: A grid is not in this file, is written in a way that is not understood, or is not divisible.
    """
    text, found, python = front_matter(kernel), launches_in_source(kernel), python_launch(kernel)
    if text is None and not found and python is None:
        raise Refused(f"no launch of {kernel.name} is in this file")
    if text is not None and text.transfers is not None:
        raise Refused(f"the host launches {kernel.name} for pieces of the data")
    divided = [_divided_node(kernel, launch, axis, by, exact) for launch in found]
    if text is not None:
        divided.append(_divided_text(kernel, text, axis, by, exact))
    if python is not None:
        divided.append(python.divided(axis, by, exact=exact))
    return tuple(dict.fromkeys(divided))


def initial_value(program: Program, node: Node) -> Sequence[Node] | None:
    """The parts of the initial value of a host variable that never changes: 32 and 8 of ``dim3 block(32, 8)``."""
    function = next((parent for parent in above(node) if parent.type == "function_definition"), None)
    if function is None or node.type != "identifier":
        return None
    name = program.text(node)
    declared = program.visible(function, node)
    if len(declared) == 1 and declared[0].value is not None:
        if program.may_change(function, name):
            return None
        value = bare(declared[0].value)
        return meaningful(value) if value.type.endswith("_list") else [value]
    return None if declared or name in program.changed_in(function) else _parsed_as_function(program, function, name)


def launches_in_source(kernel: Kernel) -> list[Launch]:
    """All launches of a kernel in the source; none where only front matter launches it.

    Raises:
        Refused: Launches outside this file are possible.
    """
    if PurePath(kernel.program.path).suffix in _HEADERS:
        raise Refused(f"{kernel.name} is defined in a header, so not all of its launches can be seen")
    prototypes(kernel)
    return [launch for node in _uses(kernel) if (launch := _launch_of(node)) is not None]


def _common(
    kernel: Kernel, what: str, written: Callable[[KernelText], Sequence[str]], node: Callable[[Launch], Node]
) -> Extent:
    """The one extent of all launches."""
    text, found, python = front_matter(kernel), launches_in_source(kernel), python_launch(kernel)
    extents = {_extent(kernel.program, launch, node(launch), what.removesuffix("s")) for launch in found}
    if text is not None:
        x, y, z = [*(value_at_sizes(text, each) for each in written(text)), 1, 1][:3]
        extents.add((x, y, z))
    if python is not None:
        extents.add(python.extent(what.removesuffix("s")))
    if not extents:
        raise Refused(f"no launch of {kernel.name} is in this file")
    if len(extents) > 1:
        raise Refused(f"{kernel.name} is launched with different {what}: {', '.join(map(str, sorted(extents)))}")
    return extents.pop()


def _divided_text(kernel: Kernel, text: KernelText, axis: int, by: int, exact: bool) -> Replacement:
    """The string of the grid in front matter, divided."""
    if axis >= len(text.launch.grid):
        raise Refused(f"the grid of {kernel.name} has no axis {'xyz'[axis]}")
    place, written = launch_strings(kernel.program.data, "grid")[axis], text.launch.grid[axis]
    if kernel.program.data[place.start : place.stop].decode("utf-8", "replace") != written:
        raise Refused("the front matter writes its grid in a way that is not understood")
    if exact and value_at_sizes(text, written) % by:
        raise Refused(f"the grid {written!r} of the front matter is not divisible by {by}")
    number = integer(written)
    quotient = re.fullmatch(r"(.+) / (\d+)", written)
    rounded = re.fullmatch(r"ceil\((.+) / (\d+)\)", written)
    if number is not None:
        return Replacement(place.start, place.stop, str(-(-number // by)))
    if rounded is not None and is_product(rounded[1]) and not exact:
        divided = f"{rounded[1]} / {int(rounded[2]) * by}"
    elif quotient is not None and is_product(quotient[1]):
        divided = f"{quotient[1]} / {int(quotient[2]) * by}"
    else:
        divided = f"{written} / {by}" if is_product(written) else f"({written}) / {by}"
    return Replacement(place.start, place.stop, divided if exact else f"ceil({divided})")


def is_product(expression: str) -> bool:
    """Whether a division may follow without parentheses: no sum or comparison stands outside parentheses."""
    while (shorter := re.sub(r"\([^()]*\)", "", expression)) != expression:
        expression = shorter
    return bool(re.fullmatch(r"[\w\s.*/]+", expression))


def launch_strings(data: bytes, key: Literal["grid", "block"]) -> list[range]:
    """The bytes of each string in ``grid = [...]`` of front matter, without quotes; or of ``block = [...]``.

    Raises:
        Refused: It is written in another way.
    """
    found = re.match(
        rb"/\*--- ncuview\r?\n(?:(?!---\*/).*\n)*?\[launch\][ \t]*\r?\n(?:(?![\[]|---\*/).*\n)*?"
        + key.encode()
        + rb'[ \t]*=[ \t]*(\[(?:[ \t]*"[^"\\\n]*"[ \t]*,?)+\])',
        data,
    )
    if found is None:
        raise Refused(f"the front matter writes its {key} in a way that is not understood")
    start = found.start(1)
    return [range(start + each.start(1), start + each.end(1)) for each in re.finditer(rb'"([^"]*)"', found[1])]


def _divided_node(kernel: Kernel, launch: Launch, axis: int, by: int, exact: bool) -> Replacement:
    """The grid of a launch in the source, divided where the launch stands."""
    program, line = kernel.program, line_of(launch.node)
    known = constant(program, launch.grid)
    parts = extent_parts(program, launch.grid)
    inside = [part for part in parts if launch.grid.start_byte <= part.start_byte < launch.grid.end_byte]
    if axis >= max(len(parts), 1):
        raise Refused(f"the grid of the launch on line {line} has no axis {'xyz'[axis]}")
    part = parts[axis]
    value = constant(program, part)
    if exact and (value is None or value % by):
        raise Refused(f"the grid of the launch on line {line} is not a multiple of {by}")
    if known is None and launch.grid.type == "identifier" and (not inside or part == launch.grid):
        return _divided_variable(kernel, launch, axis, by, len(parts))
    written = program.text(part)
    if integer(written) is not None:
        return Replacement(part.start_byte, part.end_byte, str(-(-int(value or 0) // by)))
    if value is None and any(_is_of_macro(program, each) for each in within(part)):
        raise Refused(f"the grid of the launch on line {line} is written by a macro")
    product = part.type in _TIGHT or (part.type == "binary_expression" and operator(part) in {"*", "/"})
    sum_of = product or (part.type == "binary_expression" and operator(part) in {"+", "-"})
    if exact:
        text = f"{written} / {by}" if product else f"({written}) / {by}"
    else:
        text = f"({written} + {by - 1}) / {by}" if sum_of else f"(({written}) + {by - 1}) / {by}"
    return Replacement(part.start_byte, part.end_byte, text)


_TIGHT = {"identifier", "call_expression", "field_expression", "parenthesized_expression"}


def _is_of_macro(program: Program, node: Node) -> bool:
    """Whether a name of the preprocessor stands here, whose meaning the source alone does not fix."""
    kinds = ("preproc_def", "preproc_function_def")
    names = {program.text(child(each, "name")) for kind in kinds for each in program.index[kind]}
    return node.type == "identifier" and program.text(node) in names and constant(program, node) is None


def _divided_variable(kernel: Kernel, launch: Launch, axis: int, by: int, axes: int) -> Replacement:
    """The grid is a variable: it stays, because other code may use it, and the launch divides it."""
    program, name = kernel.program, kernel.program.text(launch.grid)
    function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
    declared = program.declared_in(function).get(name, ()) if function is not None else ()
    as_number = len(declared) == 1 and declared[0].stars == 0 and bool(_INTEGERS.fullmatch(declared[0].type))
    as_extent = all(each.type == "dim3" for each in declared) and (declared or axes > 1)
    if as_number and axis == 0:
        text = f"({name} + {by - 1}) / {by}"
    elif as_extent:
        each = [f"{name}.{letter}" for letter in "xyz"]
        each[axis] = f"({each[axis]} + {by - 1}) / {by}"
        text = f"dim3({', '.join(each)})"
    else:
        raise Refused(f"the grid of the launch on line {line_of(launch.node)} is not declared in its function")
    return Replacement(launch.grid.start_byte, launch.grid.end_byte, text)


_INTEGERS = re.compile(r"(?:unsigned|signed|int|long|size_t|u?int\d+_t|auto|\s)+")


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


def _extent(program: Program, launch: Launch, node: Node, what: str) -> Extent:
    sizes = [constant(program, part) for part in extent_parts(program, node)]
    x, y, z = [*sizes, 1, 1][:3]
    if x is None or y is None or z is None or min(x, y, z) < 1:
        raise Refused(f"the {what} of the launch on line {line_of(launch.node)} is not a constant of this file")
    return x, y, z


def extent_parts(program: Program, node: Node) -> Sequence[Node]:
    """The nodes of x, y and z, as far as they are written, of a grid or block."""
    node = bare(node)
    if node.type == "call_expression" and program.text(child(node, "function")) == "dim3":
        return meaningful(child(node, "arguments"))
    if node.type == "compound_literal_expression" and program.text(child(node, "type")) == "dim3":
        return meaningful(child(node, "value"))
    if node.type == "identifier" and constant(program, node) is None:
        value = initial_value(program, node)
        if value is not None:
            single = value[0] if len(value) == 1 else None
            return extent_parts(program, single) if single is not None and single.type == "call_expression" else value
    return [node]


def _parsed_as_function(program: Program, function: Node, name: str) -> Sequence[Node] | None:
    """`dim3 block(BX, BY);` is parsed as the declaration of a function with parameters of types BX and BY."""
    for node in program.index["declaration"]:
        if not function.start_byte <= node.start_byte < function.end_byte:
            continue
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type != "function_declarator" or program.text(child(node, "type")) != "dim3":
                continue
            if program.text(child(declarator, "declarator")) != name:
                continue
            parts = [
                part
                for parameter in meaningful(child(declarator, "parameters"))
                for part in [parameter.child_by_field_name("type")]
                if part is not None
            ]
            return parts or None
    return None
