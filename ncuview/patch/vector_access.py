"""Make the patch that lets a thread load and store several neighbouring elements at once, with a scalar tail.

``vector_access`` takes a ``Kernel`` -> ``Change``, for kernels whose threads read and write arrays at their global
index. Element i is written by one thread only, the same that computed it before or a neighbour; where the source does
not prove that the arrays are aligned, the kernel tests it. ``Refused`` is raised with the obligation not proven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncuview.patch.atomics import resolved_type
from ncuview.patch.constants import check_known_names
from ncuview.patch.coverage import check_covered
from ncuview.patch.global_index import Guard, guarded, is_global_index, uncast
from ncuview.patch.launch_facts import check_distinct
from ncuview.patch.launches import front_matter, grid_divided, launches_in_source
from ncuview.patch.merged_blocks import check_parameters_stay, reached
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, operator, within
from ncuview.patch.rewriting import fresh, indented, line_end, line_start, lines, margin, unit

if TYPE_CHECKING:
    from tree_sitter import Node

_VECTORS: Mapping[str, tuple[str, int]] = {
    "float": ("float", 4),
    "int": ("int", 4),
    "int32_t": ("int", 4),
    "unsigned": ("uint", 4),
    "unsigned int": ("uint", 4),
    "uint": ("uint", 4),
    "uint32_t": ("uint", 4),
    "double": ("double", 8),
    "long long": ("longlong", 8),
    "unsigned long long": ("ulonglong", 8),
    "unsigned char": ("uchar", 1),
    "uint8_t": ("uchar", 1),
    "char": ("char", 1),
    "signed char": ("char", 1),
    "int8_t": ("char", 1),
    "short": ("short", 2),
    "int16_t": ("short", 2),
    "unsigned short": ("ushort", 2),
    "uint16_t": ("ushort", 2),
}
"""The vector type's name without its number of elements, and an element's bytes."""
_OF_THREADS = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__shared__", "__syncthreads", "volatile"}
_OPAQUE = {"lambda_expression", "gnu_asm_expression", "goto_statement", "labeled_statement", "switch_statement"}
_LOOPS = {"for_statement", "while_statement", "do_statement", "for_range_loop"}


@dataclass(frozen=True)
class _Array:
    """An array that is accessed at the index.

    Attributes:
        name: The pointer parameter.
        type: Its elements' type, as it is written.
        vector: The vector type of several of its elements.
        size: An element's bytes.
        places: The nodes ``name[index]``.
        loaded: Whether elements are needed before the body runs.
        stored: Whether the body writes elements.
    """

    name: str
    type: str
    vector: str
    size: int
    places: Sequence[Node]
    loaded: bool
    stored: bool


@dataclass(frozen=True)
class _Map:
    """A kernel that computes each element of its global index alone.

    Attributes:
        index: The variable with the index.
        type: Its type.
        declared: The declaration of the index.
        value: Its initial value.
        body: The statements for one element.
        bound: The text of the bound.
        guard: The statement that stops threads at the bound.
    """

    index: str
    type: str
    declared: Node
    value: Node
    body: Sequence[Node]
    bound: str
    guard: Guard


def vector_access(kernel: Kernel, lines_: Sequence[int]) -> Change:
    """Load and store vectors of neighbouring elements.

    Args:
        kernel: The kernel.
        lines_: Unused: all accesses at the index change together, because the index does.

    Raises:
        Refused: An obligation is not proven.
    """
    del lines_
    check_known_names(kernel)
    check_parameters_stay(kernel)
    found = _map_of(kernel)
    _check_alone(kernel, found)
    arrays = _arrays(kernel, found)
    width = 2 if any(each.size == 8 for each in arrays) else 4
    written = [each.name for each in arrays if each.stored]
    if not written:
        raise Refused(f"{kernel.name} writes no array at its index")
    pointers = [name for name, each in kernel.parameters.items() if each.stars > 0 and name not in written]
    check_distinct(kernel, written, pointers)
    known = check_covered(kernel, 0, found.guard.bound)
    past = f"{found.bound} is smaller than the largest number of its type by the threads of several blocks"
    made = [*_written(kernel, found, arrays, width), *grid_divided(kernel, 0, width)]
    names = " and ".join(each.name for each in arrays)
    return Change(f"Access {names} in vectors of {width} elements", "" if known else past, tuple(made))


def _map_of(kernel: Kernel) -> _Map:
    guard = guarded(kernel, 0)
    program, statements = kernel.program, meaningful(kernel.body)
    if len(guard.indices) != 1:
        raise Refused(f"{kernel.name} keeps its index in several variables")
    (index,) = guard.indices
    (declared,) = kernel.declared[index]
    if declared.value is None or declared.node.parent != kernel.body or not is_global_index(kernel, declared.value, 0):
        raise Refused(f"{kernel.name} does not declare its index in its first statements")
    if len(declared.node.children_by_field_name("declarator")) != 1:
        raise Refused(f"line {line_of(declared.node)} declares several variables")
    if guard.leaving is not None:
        place, condition = guard.leaving, child(guard.leaving, "condition")
        body = statements[statements.index(place) + 1 :]
    else:
        place = statements[-1]
        if place.type != "if_statement" or place.child_by_field_name("alternative") is not None:
            raise Refused(f"{kernel.name} does more than what its bound guards")
        condition, inside = child(place, "condition"), child(place, "consequence")
        body = meaningful(inside) if inside.type == "compound_statement" else [inside]
    test = (
        next((bare(each) for each in meaningful(condition)), condition)
        if condition.type == "condition_clause"
        else condition
    )
    sides = [program.text(uncast(kernel, child(test, side))) for side in ("left", "right")]
    if operator(test) not in {"<", ">", "<=", ">="} or index not in sides:
        raise Refused(f"line {line_of(place)} tests more than the bound")
    before = statements[: statements.index(place)]
    if any(each.type != "declaration" for each in before) or not body:
        raise Refused(f"{kernel.name} does more than what its bound guards")
    others = [each for each in before if each != declared.node]
    if any(program.text(node) == index for each in others for node in within(each)):
        raise Refused(f"variables before the bound depend on {index}")
    carried = {name for each in others for name in program.declared_in(each)} & kernel.changed
    if carried:
        raise Refused(f"{' and '.join(sorted(carried))} changes from one element to the next")
    return _Map(index, declared.type, declared.node, declared.value, body, program.text(guard.bound), guard)


def _check_alone(kernel: Kernel, found: _Map) -> None:
    """Require that an element's value does not depend on which thread computes it."""
    program = kernel.program
    for body in reached(kernel):
        for node in within(body):
            text = program.text(node) if not node.children else ""
            own = found.value.start_byte <= node.start_byte < found.value.end_byte
            if text in _OF_THREADS and not own:
                raise Refused(f"line {line_of(node)} uses {text}, so elements depend on their thread")
            if node.type in _OPAQUE or (node.type == "storage_class_specifier" and program.text(node) == "static"):
                raise Refused(f"line {line_of(node)} is not understood")
            if node.type == "identifier" and re.match(r"__(?:shfl|sync|ballot|any|all|match|reduce|activemask)", text):
                raise Refused(f"line {line_of(node)} exchanges values between threads")
    for word in _OF_THREADS:
        if program.in_macros(word):
            raise Refused(f"a macro mentions {word}")


def _arrays(kernel: Kernel, found: _Map) -> list[_Array]:
    program, arrays = kernel.program, []
    for name, declared in kernel.parameters.items():
        if declared.stars != 1:
            continue
        uses = kernel.uses(name)
        places = [each for use in uses if (each := _at_index(kernel, use, found.index)) is not None]
        written = [use for use in uses if _is_written(use)]
        if written and len(places) != len(uses):
            raise Refused(f"{name} is written, and accessed at another index than {found.index}")
        if not places:
            continue
        if "volatile" in declared.qualifiers or program.in_macros(name) or len(kernel.declared[name]) != 1:
            raise Refused(f"{name} is volatile, or another name of a macro or variable")
        if len(places) != len(uses) and any(_is_address(place) for place in places):
            raise Refused(f"the address of an element of {name} is used")
        if any(_is_address(place) for place in places):
            raise Refused(f"the address of an element of {name} is used")
        vector = _VECTORS.get(resolved_type(kernel, declared.type))
        if vector is None:
            raise Refused(f"{name} has elements of {declared.type}, of which there are no vectors")
        loaded = not _is_set_first(found, places)
        arrays.append(_Array(name, " ".join(declared.type.split()), *vector, places, loaded, bool(written)))
    if not arrays:
        raise Refused(f"{kernel.name} accesses no array at its index")
    return arrays


def _at_index(kernel: Kernel, use: Node, index: str) -> Node | None:
    """The access ``name[index]`` that a use of an array is."""
    place = use.parent
    if place is None or place.type != "subscript_expression" or child(place, "argument") != use:
        return None
    indices = meaningful(child(place, "indices"))
    return place if len(indices) == 1 and kernel.program.text(uncast(kernel, indices[0])) == index else None


def _is_written(use: Node) -> bool:
    """Whether an element that a pointer leads to is written here, or handed on."""
    place = use
    for outer in above(use):
        if outer.type in {"subscript_expression", "field_expression", "parenthesized_expression", "pointer_expression"}:
            if outer.type == "pointer_expression" and operator(outer) == "&":
                return True
            if outer.type == "subscript_expression" and child(outer, "argument") != bare(place):
                return False  # it is part of an index
            place = outer
            continue
        if outer.type == "assignment_expression":
            return child(outer, "left") == bare(place)
        if outer.type == "binary_expression" and place == use:
            place = outer
            continue
        return outer.type == "update_expression" or (
            outer.type in {"argument_list", "init_declarator"} and place == use
        )
    return False


def _is_address(place: Node) -> bool:
    outer = place.parent
    return outer is not None and outer.type == "pointer_expression" and operator(outer) == "&"


def _is_set_first(found: _Map, places: Sequence[Node]) -> bool:
    """Whether the body sets the element in every thread, before anything that may read it."""
    for statement in found.body:
        inside = [each for each in places if statement.start_byte <= each.start_byte < statement.end_byte]
        leaves = any(node.type in {"return_statement", "continue_statement"} for node in within(statement))
        if not inside and not leaves:
            continue
        assigned = meaningful(statement)[0] if statement.type == "expression_statement" else statement
        sets = assigned.type == "assignment_expression" and operator(assigned) == "="
        return sets and child(assigned, "left") in inside and len(inside) == 1
    return False


def _written(kernel: Kernel, found: _Map, arrays: Sequence[_Array], width: int) -> Iterator[Replacement]:
    program, step = kernel.program, unit(kernel)
    first, item = fresh(program, "first", "first_element"), fresh(program, "k", "item", "element")
    whole = fresh(program, "whole", "is_whole")
    parts = {each.name: fresh(program, f"{each.name}_part", f"{each.name}_elements") for each in arrays}
    kind = found.type
    yield Replacement(
        found.declared.start_byte,
        found.declared.end_byte,
        f"const {kind} {first} = {width} * ({program.text(found.value)});",
    )
    body_start, body_end = line_start(program, found.body[0]), line_end(program, found.body[-1])
    place = found.guard.leaving
    inner = margin(program, found.declared)
    deeper = inner + step if place is None else inner
    head = "".join(f"alignas({width * each.size}) {each.type} {parts[each.name]}[{width}];\n" for each in arrays)
    aligned = _is_aligned(kernel, [each.name for each in arrays])
    head += "" if aligned else _test_of_alignment(arrays, width, fresh(program, "aligned", "is_aligned"))
    also = "" if aligned else f" && {fresh(program, 'aligned', 'is_aligned')}"
    head += f"const bool {whole} = {found.bound} - {first} >= {width}{also};\n"
    loads = [each for each in arrays if each.loaded]
    if loads:
        head += _both(loads, parts, width, first, item, whole, found.bound, step, store=False)
    head += f"#pragma unroll\nfor (int {item} = 0; {item} < {width}; {item}++) {{\n"
    head += f"{step}const {kind} {found.index} = {first} + {item};\n"
    head += f"{step}if ({found.index} >= {found.bound})\n{step}{step}break;"
    foot = "}\n" + _both(
        [each for each in arrays if each.stored], parts, width, first, item, whole, found.bound, step, store=True
    )
    yield from _renamed_guard(kernel, found, first)
    outer = next((each for each in above(found.body[0]) if each.type == "if_statement"), None)
    if outer is not None and child(outer, "consequence").type != "compound_statement":
        after = child(outer, "condition").end_byte
        yield Replacement(after, after, " {")
        foot += "@"
    yield Replacement(body_start, body_start, lines(program, deeper, head))
    yield from indented(program, body_start, body_end, step)
    for each in arrays:
        for node in each.places:
            yield Replacement(node.start_byte, node.end_byte, f"{parts[each.name]}[{item}]")
    yield from _continued(kernel, found)
    code, brace, _ = foot.partition("@")
    yield Replacement(body_end, body_end, lines(program, deeper, code) + (lines(program, inner, "}") if brace else ""))


def _renamed_guard(kernel: Kernel, found: _Map, first: str) -> Iterator[Replacement]:
    """The bound is tested for the first element of a vector."""
    guard = found.guard.leaving
    if guard is None:
        guard = next(each for each in above(found.body[0]) if each.type == "if_statement")
    for node in within(guard.child_by_field_name("condition") or guard):
        if node.type == "identifier" and kernel.program.text(node) == found.index:
            yield Replacement(node.start_byte, node.end_byte, first)


def _both(
    arrays: Sequence[_Array],
    parts: Mapping[str, str],
    width: int,
    first: str,
    item: str,
    whole: str,
    bound: str,
    step: str,
    *,
    store: bool,
) -> str:
    """Whole vectors at once, and the elements of the last one singly."""
    vectors, single = "", ""
    for each in arrays:
        part, vector = parts[each.name], f"{each.vector}{width}"
        if store:
            vectors += (
                f"{step}*reinterpret_cast<{vector} *>(&{each.name}[{first}]) = *reinterpret_cast<{vector} *>({part});\n"
            )
            single += f"{step}{step}{each.name}[{first} + {item}] = {part}[{item}];\n"
        else:
            vectors += f"{step}*reinterpret_cast<{vector} *>({part}) = "
            vectors += f"*reinterpret_cast<const {vector} *>(&{each.name}[{first}]);\n"
            single += f"{step}{step}{part}[{item}] = {each.name}[{first} + {item}];\n"
    loop = f"{step}for (int {item} = 0; {item} < {width} && {first} + {item} < {bound}; {item}++)"
    loop += f"\n{single}" if len(arrays) == 1 else f" {{\n{single}{step}}}\n"
    return f"if ({whole}) {{\n{vectors}}} else {{\n{loop}}}\n"


def _continued(kernel: Kernel, found: _Map) -> Iterator[Replacement]:
    """``return`` ends the work on one element."""
    inside = [node for each in found.body for node in within(each)]
    for node in inside:
        if node.type != "return_statement":
            continue
        outer = [each for each in above(node) if each.start_byte > kernel.body.start_byte]
        if any(each.type in _LOOPS for each in outer):
            raise Refused(f"line {line_of(node)} returns from inside a loop")
        yield Replacement(node.start_byte, node.end_byte, "continue;")


def _is_aligned(kernel: Kernel, names: Sequence[str]) -> bool:
    """Whether every launch passes arrays as they are allocated."""
    return all(_is_allocated(kernel, name) for name in names)


def _is_allocated(kernel: Kernel, name: str) -> bool:
    program, place = kernel.program, list(kernel.parameters).index(name)
    for launch in launches_in_source(kernel):
        function = next((each for each in above(launch.node) if each.type == "function_definition"), None)
        if function is None or place >= len(launch.arguments):
            return False
        argument = bare(launch.arguments[place])
        text = program.text(argument)
        calls = [
            node
            for node in within(function)
            if node.type == "call_expression"
            and program.text(child(node, "function")) in {"cudaMalloc", "cudaMallocManaged"}
        ]
        mentions = [node for node in within(function) if node.type == "identifier" and program.text(node) == text]
        moved = [
            node
            for node in mentions
            if node.parent is not None
            and (
                (node.parent.type == "assignment_expression" and child(node.parent, "left") == node)
                or node.parent.type == "update_expression"
            )
        ]
        allocated = any(
            re.fullmatch(
                rf"(?:\(void\s*\*\*\)\s*)?&{re.escape(text)}", program.text(meaningful(child(call, "arguments"))[0])
            )
            for call in calls
        )
        if argument.type != "identifier" or not allocated or moved:
            return False
    return front_matter(kernel) is not None or bool(launches_in_source(kernel))


def _test_of_alignment(arrays: Sequence[_Array], width: int, name: str) -> str:
    largest = width * max(each.size for each in arrays)
    addresses = " | ".join(f"reinterpret_cast<size_t>({each.name})" for each in arrays)
    return f"const bool {name} = ({addresses}) % {largest} == 0;\n"
