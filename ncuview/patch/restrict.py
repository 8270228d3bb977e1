"""Make the patch that adds ``const`` and ``__restrict__`` to the pointer parameters that a kernel only reads.

``restrict`` takes a ``Kernel`` -> ``Change``; it raises ``Refused`` unless the source proves that they are only read.
It also refuses where a launch passes one array twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant
from ncuview.patch.launches import launches, prototypes
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import (
    Declared,
    Kernel,
    above,
    child,
    function_declarator,
    line_of,
    meaningful,
    operator,
    takes_values,
    within,
)
from ncuview.patch.python_launch import python_launch

if TYPE_CHECKING:
    from tree_sitter import Node

_READING_CALLS = {"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldcv", "__ldlu"}
_CASTS = {"reinterpret_cast", "const_cast", "static_cast"}
_READS = {
    *("binary_expression", "unary_expression", "cast_expression", "conditional_expression", "comma_expression"),
    *("subscript_argument_list", "initializer_list", "condition_clause", "return_statement"),
    *("for_statement", "while_statement", "switch_statement"),
}
"""Nodes around a value that do not change it."""
_INTEGERS = re.compile(r"^(?:const\s+)?(?:unsigned|signed|char|short|int|long|size_t|u?int\d+_t|ptrdiff_t|bool)\b")


def restrict(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Declare to the compiler that stores do not change the arrays that the kernel reads.

    Args:
        kernel: The kernel.
        lines: Unused: parameters belong to the complete kernel.

    Raises:
        Refused: No pointer is only read, all are marked, or a launch passes one array twice.
    """
    del lines
    heads = [kernel.definition, *prototypes(kernel)]
    pointers = {name: each for name, each in kernel.parameters.items() if each.stars == 1}
    if not pointers:
        raise Refused(f"{kernel.name} takes no plain pointers")
    reads = [name for name in pointers if _only_read(kernel, name)]
    unmarked = [name for name in reads if not is_restrict(kernel, pointers[name])]
    if not reads:
        raise Refused(f"{kernel.name} has no pointer that the source shows to be only read")
    if not unmarked:
        raise Refused("the pointers that are only read have __restrict__ already")
    seen = check_arguments_differ(kernel, list(pointers))
    replacements = [
        replacement
        for head in heads
        for name in unmarked
        for replacement in _marked(kernel, _parameter(kernel, head, list(kernel.parameters).index(name)))
    ]
    names = " and ".join(unmarked)
    hidden = "" if seen else ", also at launches outside this file"
    return Change(
        f"Mark {names} with const and __restrict__",
        f"no array that {kernel.name} writes overlaps {' or '.join(unmarked)}{hidden}",
        tuple(dict.fromkeys(replacements)),
    )


def _only_read(kernel: Kernel, name: str) -> bool:
    program, uses = kernel.program, kernel.uses(name)
    hidden = program.in_macros(name) or len(kernel.declared[name]) != 1
    if hidden or "volatile" in kernel.declared[name][0].qualifiers:
        return False
    if "const" in kernel.declared[name][0].qualifiers:
        return not any(_loses_const(kernel, outer) for node in uses for outer in above(node))
    return all(_address_only_reads(kernel, node) for node in uses)


def _loses_const(kernel: Kernel, node: Node) -> bool:
    """Whether this is a cast to a pointer that allows writing."""
    text = ""
    if node.type == "cast_expression":
        text = kernel.program.text(child(node, "type"))
    elif (
        node.type == "call_expression"
        and (name := kernel.program.text(child(node, "function"))).partition("<")[0] in _CASTS
    ):
        text = name.partition("<")[2]
    return "*" in text and not re.search(r"\bconst\b", text)


def _address_only_reads(kernel: Kernel, node: Node) -> bool:
    """Whether a pointer, or an address computed from it at this node, is only used to read."""
    outer = node.parent
    if outer is None:
        return False
    match outer.type:
        case "parenthesized_expression" | "update_expression":
            return _address_only_reads(kernel, outer)
        case "binary_expression":
            return operator(outer) not in {"+", "-"} or _address_only_reads(kernel, outer)
        case "subscript_argument_list":
            return False
        case "subscript_expression" | "field_expression":
            return _value_is_only_read(kernel, outer)
        case "pointer_expression":
            return operator(outer) == "*" and _value_is_only_read(kernel, outer)
        case "assignment_expression":  # the pointer itself changes
            moves = child(outer, "left") == node and operator(outer) in {"+=", "-="}
            return moves and _is_statement(outer)
        case "init_declarator":
            return _makes_const_pointer(kernel, outer)
        case "argument_list":
            return _called(kernel, outer) in _READING_CALLS
        case "expression_statement":
            return True
        case "for_statement":
            return node.type == "update_expression"
        case _:
            return False


def _value_is_only_read(kernel: Kernel, node: Node) -> bool:
    """Whether an element is read here, and neither written nor passed on by its address."""
    outer = node.parent
    if outer is None:
        return False
    match outer.type:
        case "field_expression" | "parenthesized_expression":
            return _value_is_only_read(kernel, outer)
        case "assignment_expression":
            return child(outer, "right") == node
        case "pointer_expression":
            call = outer.parent
            return operator(outer) == "&" and call is not None and _called(kernel, call) in _READING_CALLS
        case "argument_list":
            return takes_values(_called(kernel, outer))
        case "init_declarator":
            return not any(part.type == "reference_declarator" for part in within(outer))
        case _:
            return outer.type in _READS


def _called(kernel: Kernel, arguments: Node) -> str:
    """The name of the function that is called with a list of arguments."""
    call = arguments.parent
    return kernel.program.text(child(call, "function")) if call is not None and call.type == "call_expression" else ""


def _is_statement(node: Node) -> bool:
    return node.parent is not None and node.parent.type in {"expression_statement", "for_statement"}


def _makes_const_pointer(kernel: Kernel, init: Node) -> bool:
    declaration = init.parent
    if declaration is None or declaration.type != "declaration":
        return False
    made = [each for _, each in kernel.program.declarations(declaration) if each.declarator == init]
    plain = [each for each in made if each.stars == 1 and not each.sizes]
    leads = [part for part in declaration.children if kernel.program.text(part) == "const"]
    return bool(plain and leads)


def is_restrict(kernel: Kernel, declared: Declared) -> bool:
    """Whether a pointer is declared with ``__restrict__``."""
    words = {"__restrict__", "__restrict", "restrict"}
    return any(kernel.program.text(part) in words for part in within(declared.node))


def _parameter(kernel: Kernel, head: Node, position: int) -> Node:
    declarator = function_declarator(head)
    listed = meaningful(child(declarator, "parameters")) if declarator is not None else []
    if len(listed) != len(kernel.parameters):
        raise Refused(f"line {line_of(head)} declares {kernel.name} with other parameters")
    return listed[position]


def _marked(kernel: Kernel, parameter: Node) -> Iterator[Replacement]:
    """``const`` before the type and ``__restrict__`` after the star, each where it is missing."""
    program = kernel.program
    pointer = next((part for part in within(parameter) if part.type in _POINTERS), None)
    kind = parameter.child_by_field_name("type")
    if pointer is None or kind is None:
        raise Refused(f"line {line_of(parameter)} does not write its parameter as a pointer")
    if not any(program.text(part) == "const" for part in parameter.children):
        yield Replacement(kind.start_byte, kind.start_byte, "const ")
    words = [program.text(part) for part in pointer.children]
    if not {"__restrict__", "__restrict"} & set(words):
        star = next(part for part in pointer.children if part.type == "*")
        yield Replacement(star.end_byte, star.end_byte, _with_space(program.data, star.end_byte))


_POINTERS = {"pointer_declarator", "abstract_pointer_declarator"}


def _with_space(data: bytes, at: int) -> str:
    follows = data[at : at + 1]
    return "__restrict__" if follows in {b" ", b",", b")", b"\t", b"\n", b"\r"} else "__restrict__ "


def check_arguments_differ(kernel: Kernel, pointers: Sequence[str]) -> bool:
    """Whether this file has launches; none of them may pass one array for two of the pointers."""
    positions = [list(kernel.parameters).index(name) for name in pointers]
    try:
        python = python_launch(kernel)
        found = launches(kernel) if python is None else []
    except Refused:
        return False
    if python is not None:
        return python.distinct(positions)
    for launch in found:
        if len(launch.arguments) != len(kernel.parameters):
            raise Refused(f"the launch on line {line_of(launch.node)} does not give every argument")
        for one, other in combinations(positions, 2):
            shared = _names(kernel, launch.arguments[one]) & _names(kernel, launch.arguments[other])
            if shared:
                raise Refused(
                    f"the launch on line {line_of(launch.node)} passes {' and '.join(sorted(shared))} twice, "
                    "so the pointers may overlap"
                )
    return True


def _names(kernel: Kernel, node: Node) -> set[str]:
    """The variables of an argument that may be arrays, with those that they come from; integers are offsets."""
    program = kernel.program
    function = next((each for each in above(node) if each.type == "function_definition"), None)
    declared = program.declared_in(function) if function is not None else {}
    sources = _sources(kernel, function) if function is not None else {}
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for each in within(waiting.pop()):
            if each.type != "identifier" or (each.parent is not None and each.parent.type == "template_function"):
                continue
            name = program.text(each)
            number = name in declared and all(d.stars == 0 and _INTEGERS.match(d.type) for d in declared[name])
            if number or name in found or constant(program, each) is not None:
                continue
            found.add(name)
            waiting += sources.get(name, ())
    return found


def _sources(kernel: Kernel, function: Node) -> dict[str, list[Node]]:
    """Expressions that variables of a function come from: initial values, what is assigned, what is swapped.

    A call returns another array than its arguments, as functions do that allocate.
    """
    program = kernel.program
    pairs = [
        (name, each.value)
        for name, all_declared in program.declared_in(function).items()
        for each in all_declared
        if each.value is not None
    ]
    assigned = [node for node in within(function) if node.type == "assignment_expression"]
    pairs += [(program.text(child(node, "left")), child(node, "right")) for node in assigned]
    found: dict[str, list[Node]] = {}
    for name, value in pairs:
        if not any(part.type == "call_expression" for part in within(value)):
            found.setdefault(name, []).append(value)
    for node in within(function):
        if node.type == "call_expression" and program.text(child(node, "function")) in {"swap", "std::swap"}:
            arguments = meaningful(child(node, "arguments"))
            for each in arguments:
                found.setdefault(program.text(each), []).extend(arguments)
    return found
