"""Find the atomic updates of a kernel's arrays: which function, which place, which value.

``atomic_updates`` takes a ``Kernel`` -> ``Update``s; it raises ``Refused`` where an update's old value is used, the
operation does not commute, or the array is used otherwise. ``type_of`` classifies an element's type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, above, bare, child, line_of, meaningful, operator, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

Class = Literal["signed", "unsigned", "floating"]

COMMUTING: Mapping[str, str] = {
    "atomicAdd": "0",
    "atomicOr": "0",
    "atomicXor": "0",
    "atomicMax": "",
    "atomicMin": "",
    "atomicAnd": "",
}
"""Atomic functions whose order does not matter, with the value that changes nothing; empty where the type decides."""
_TYPES: Mapping[str, tuple[Class, int]] = {
    "int": ("signed", 4),
    "int32_t": ("signed", 4),
    "unsigned": ("unsigned", 4),
    "unsigned int": ("unsigned", 4),
    "uint": ("unsigned", 4),
    "uint32_t": ("unsigned", 4),
    "unsigned long long": ("unsigned", 8),
    "unsigned long long int": ("unsigned", 8),
    "uint64_t": ("unsigned", 8),
    "float": ("floating", 4),
    "double": ("floating", 8),
}


@dataclass(frozen=True)
class Update:
    """One ``atomicAdd(&array[index], value);``.

    Attributes:
        call: The call.
        statement: The statement that it is.
        function: ``atomicAdd`` or another of ``COMMUTING``.
        array: The pointer parameter.
        index: The index into it; None for its first element.
        value: The operand.
    """

    call: Node
    statement: Node
    function: str
    array: str
    index: Node | None
    value: Node


@dataclass(frozen=True)
class ElementType:
    """The type of an array's elements: as it is written, its class, and its size in bytes."""

    text: str
    kind: Class
    size: int


def atomic_updates(kernel: Kernel) -> list[Update]:
    """All atomic updates of the kernel's pointer parameters.

    Raises:
        Refused: There is none, or one of them cannot be made in another order and place.
    """
    program, found = kernel.program, []
    for name, call in kernel.calls():
        if name.startswith("atomic"):
            found.append(_update(kernel, name, call))
    if not found:
        raise Refused(f"{kernel.name} has no atomics")
    for array in {each.array for each in found}:
        declared = kernel.parameters.get(array)
        if declared is None or declared.stars != 1 or len(kernel.declared[array]) != 1:
            raise Refused(f"{array} is no pointer parameter of {kernel.name}")
        if "volatile" in declared.qualifiers:
            raise Refused(f"{array} is volatile")
        if program.in_macros(array) or array in _reassigned(kernel):
            raise Refused(f"{array} may change")
        places = [child(each.call, "arguments") for each in found if each.array == array]
        for use in kernel.uses(array):
            if not any(_is_inside(use, meaningful(place)[0]) for place in places):
                raise Refused(f"line {line_of(use)} uses {array} in another way than by atomics")
    if len({each.function for each in found}) > 1 and len({each.array for each in found}) == 1:
        raise Refused(f"{found[0].array} is updated by different operations")
    return found


def type_of(kernel: Kernel, array: str) -> ElementType:
    """The type of an array's elements.

    Raises:
        Refused: It is no type of a number with atomics.
    """
    return element_type(kernel, kernel.parameters[array].type, array)


def element_type(kernel: Kernel, written: str, array: str) -> ElementType:
    """A type of elements by how it is written in the source.

    Raises:
        Refused: It is no type of a number with atomics.
    """
    text = " ".join(written.split())
    resolved = resolved_type(kernel, text)
    if resolved not in _TYPES:
        raise Refused(f"{array} has elements of {text}, which is not understood")
    return ElementType(text, *_TYPES[resolved])


def identity(function: str, element: ElementType) -> str:
    """The value that an operation does not change, as a literal.

    Raises:
        Refused: There is none for this type.
    """
    fixed = COMMUTING[function]
    if fixed:
        return fixed
    bits = 8 * element.size
    if element.kind == "floating" or (element.kind == "signed" and function == "atomicAnd"):
        raise Refused(f"{function} of {element.text} is not understood")
    largest = f"0x{(1 << bits) - 1:x}" + ("ull" if bits > 32 else "u")
    if element.kind == "unsigned":
        return "0" if function == "atomicMax" else largest
    return "(-2147483647 - 1)" if function == "atomicMax" else "2147483647"


def _update(kernel: Kernel, name: str, call: Node) -> Update:
    program, line = kernel.program, line_of(call)
    statement = call.parent
    if statement is None or statement.type != "expression_statement":
        raise Refused(f"line {line} uses the value that {name} returns")
    if name not in COMMUTING:
        raise Refused(f"line {line} calls {name}, whose order matters or is not understood")
    arguments = meaningful(child(call, "arguments"))
    if len(arguments) != 2:
        raise Refused(f"line {line} calls {name} in a way that is not understood")
    place, index = bare(arguments[0]), None
    if place.type == "pointer_expression" and operator(place) == "&":
        place = child(place, "argument")
        if place.type != "subscript_expression":
            raise Refused(f"line {line} updates a place that is not understood")
        indices = meaningful(child(place, "indices"))
        place, index = child(place, "argument"), bare(indices[0]) if len(indices) == 1 else None
    elif place.type == "binary_expression" and operator(place) == "+":
        place, index = child(place, "left"), child(place, "right")
    if place.type != "identifier":
        raise Refused(f"line {line} updates a place that is not understood")
    return Update(call, statement, name, program.text(place), index, arguments[1])


def _reassigned(kernel: Kernel) -> set[str]:
    """The names that are assigned themselves, not only their elements."""
    program, found = kernel.program, set()
    for node in kernel.of_type("assignment_expression", "update_expression", "pointer_expression"):
        if node.type == "pointer_expression" and operator(node) != "&":
            continue
        target = child(node, "left" if node.type == "assignment_expression" else "argument")
        if target.type == "identifier":
            found.add(program.text(target))
    return found


def resolved_type(kernel: Kernel, written: str) -> str:
    """The type that a name of this file stands for, with single spaces."""
    program, text = kernel.program, " ".join(written.split())
    named = [
        program.text(child(definition, "type"))
        for node in program.index["type_identifier"]
        if program.text(node) == text
        for definition in [next(above(node), None)]
        if definition is not None
        and definition.type in {"type_definition", "alias_declaration"}
        and node in {*definition.children_by_field_name("declarator"), *definition.children_by_field_name("name")}
    ]
    return " ".join(named[0].split()) if len(set(named)) == 1 else text


def _is_inside(node: Node, place: Node) -> bool:
    return place.start_byte <= node.start_byte and node.end_byte <= place.end_byte


def is_pure(kernel: Kernel, node: Node) -> bool:
    """Whether an expression may be evaluated twice: it changes nothing and calls no function that may."""
    return not any(
        each.type in {"assignment_expression", "update_expression", "lambda_expression", "gnu_asm_expression"}
        or (each.type == "call_expression" and not takes_values(kernel.program.text(child(each, "function"))))
        for each in within(node)
    )
