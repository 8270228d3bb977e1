"""Evaluate integer expressions of a CUDA source at parse time: literals, macros, constants and arithmetic over them.

``constant`` takes a ``Program`` and a tree-sitter node -> int, or None where it is not fixed.
``integer`` reads a literal; ``macro`` and ``file_constant`` find definitions.
``check_known_names`` refuses a kernel that uses a name without definition: it may be a macro with any meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ncuview.patch.patch import Refused
from ncuview.patch.program import (
    Kernel,
    Program,
    above,
    bare,
    child,
    line_of,
    meaningful,
    operator,
    parse,
    takes_values,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGER = re.compile(r"^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*$")
_CAST = re.compile(r"^static_cast<(?:unsigned|unsigned int|int|size_t)>$")
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if a * b >= 0 else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "<<": lambda a, b: a << b if 0 <= b < 32 else _overflow(),
    ">>": lambda a, b: a >> b if 0 <= b < 32 else _overflow(),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
}
_INT = range(-(2**31), 2**31)
_DEEPEST = 16


def _overflow() -> int:
    raise OverflowError


def constant(program: Program, node: Node, depth: int = 0) -> int | None:
    """The value of an integer expression, or None where the source alone does not fix it.

    Names are resolved as they are seen from the node: a constant of its function, else of the file, else a macro. A
    macro under a condition of the preprocessor has no known value, because an option of the compiler may replace it.
    """
    node = bare(node)
    if depth > _DEEPEST:
        return None
    if node.type == "number_literal":
        return integer(program.text(node))
    if node.type in {"identifier", "type_identifier"}:  # in `dim3 block(X);` X may be read as a type
        return _named_constant(program, node, depth + 1)
    if node.type == "call_expression" and _CAST.match(program.text(child(node, "function"))):
        (argument, *others) = meaningful(child(node, "arguments")) or [node]
        value = None if others or argument == node else constant(program, argument, depth + 1)
        return value if value is not None and value >= 0 else None
    if node.type == "unary_expression" and operator(node) in {"-", "+"}:
        value = constant(program, child(node, "argument"), depth)
        return None if value is None else -value if operator(node) == "-" else value
    if node.type == "binary_expression" and operator(node) in _OPERATIONS:
        left = constant(program, child(node, "left"), depth)
        right = constant(program, child(node, "right"), depth)
        if left is None or right is None:
            return None
        try:
            value = _OPERATIONS[operator(node)](left, right)
        except (ZeroDivisionError, OverflowError):
            return None
        return value if value in _INT else None
    return None


def integer(literal: str) -> int | None:
    """The value of an integer literal of C++, with the sign that the grammar may include."""
    digits = _INTEGER.match(literal.replace("'", ""))
    if not digits:
        return None
    text = digits[2]
    base = 16 if text[:2] in {"0x", "0X"} else 2 if text[:2] in {"0b", "0B"} else 8 if text[0] == "0" else 10
    try:
        return int(text, base) * (-1 if digits[1] == "-" else 1)
    except ValueError:
        return None


def macro(program: Program, name: str) -> Node | None:
    """The definition of an object-like macro, if it has exactly one under any compiler options."""
    found = [node for node in program.index["preproc_def"] if program.text(child(node, "name")) == name]
    functions = [node for node in program.index["preproc_function_def"] if program.text(child(node, "name")) == name]
    undefined = any(
        program.text(node).split()[:1] == ["#undef"] and name in program.text(node).split()
        for node in program.index["preproc_call"]
    )
    if len(found) != 1 or functions or undefined or _conditional(program, found[0]):
        return None
    return found[0]


def _conditional(program: Program, node: Node) -> bool:
    """Whether the line depends on a condition of the preprocessor other than an include guard."""
    for parent in above(node):
        if parent.type in {"preproc_if", "preproc_elif", "preproc_else"}:
            return True
        if parent.type in {"preproc_ifdef", "preproc_elifdef"}:
            guard = program.text(child(parent, "name"))
            inside = meaningful(parent)
            guards = (
                len(inside) > 1 and inside[1].type == "preproc_def" and guard == program.text(child(inside[1], "name"))
            )
            if not guards or inside[1] == node:
                return True
    return False


def file_constant(program: Program, name: str) -> Node | None:
    """The definition of a constant of the file: a macro, or a const or constexpr variable outside functions."""
    variables = _file_variables(program, name)
    as_macro = macro(program, name)
    if as_macro is not None:
        return None if variables else as_macro
    return variables[0] if len(variables) == 1 and not _conditional(program, variables[0]) else None


def _file_variables(program: Program, name: str) -> list[Node]:
    """Constants of this name outside functions, without variables that may change and without members."""
    found = []
    for node in program.index["declaration"]:
        for declared_name, declared in program.declarations(node):
            outside = all(
                parent.type in {"translation_unit", "namespace_definition", "declaration_list"} | _CONDITIONS
                for parent in above(node)
            )
            if declared_name == name and outside and declared.qualifiers & {"const", "constexpr"}:
                found.append(node)
    return found


_CONDITIONS = {"preproc_if", "preproc_elif", "preproc_else", "preproc_ifdef", "preproc_elifdef"}


def _named_constant(program: Program, node: Node, depth: int) -> int | None:
    name = program.text(node)
    function = next((parent for parent in above(node) if parent.type == "function_definition"), None)
    if function is not None:
        local = program.visible(function, node)
        if local:
            known = len(local) == 1 and not local[0].sizes and local[0].stars == 0
            if not known or local[0].value is None or program.may_change(function, name):
                return None
            return constant(program, local[0].value, depth)
    found = file_constant(program, name)
    if found is None:
        return None
    if found.type == "preproc_def":
        return _macro_value(program, found, depth)
    values = [declared.value for each, declared in program.declarations(found) if each == name]
    return constant(program, values[0], depth) if values[0] is not None else None


def _macro_value(program: Program, node: Node, depth: int) -> int | None:
    """The value of a macro's body, parsed as an expression, with its names resolved in the file."""
    body = node.child_by_field_name("value")
    if body is None:
        return None
    words = re.sub(r"//.*|/\*.*?\*/", " ", program.text(body)).strip()
    literal = integer(words.strip("() "))
    if literal is not None:
        return literal if re.fullmatch(r"[\w']+|\(\s*[\w']+\s*\)", words) else None
    names = set(re.findall(r"\b[A-Za-z_]\w*\b", words))
    if not re.fullmatch(r"\(.*\)", words) and not re.fullmatch(r"\w+", words):
        return None  # without parentheses its parts would bind to the operators beside the name
    values = {name: _of_file(program, name, depth + 1) for name in names}
    if depth > _DEEPEST or any(value is None for value in values.values()):
        return None
    plain = re.sub(r"\b[A-Za-z_]\w*\b", lambda match: f"({values[match[0]]})", words)
    return _arithmetic(plain)


def _of_file(program: Program, name: str, depth: int) -> int | None:
    found = macro(program, name)
    return _macro_value(program, found, depth) if found is not None and depth <= _DEEPEST else None


def _arithmetic(text: str) -> int | None:
    try:
        small = Program(text_bytes := f"int x = {text};".encode(), parse(text_bytes), "")
    except Refused:
        return None
    values = [declared.value for node in small.index["declaration"] for _, declared in small.declarations(node)]
    if small.root.has_error or len(values) != 1 or values[0] is None:
        return None
    return constant(small, values[0])


_OF_CUDA = re.compile(
    r"^(?:threadIdx|blockIdx|blockDim|gridDim|warpSize|__[a-z]\w+|atomic[A-Z]\w*|nullptr|make_\w+[1-4]|sincos(?:pi)?f?"
    r"|(?:FLT|DBL|U?INT|U?LONG|U?CHAR|U?SHRT)_(?:MAX|MIN|EPSILON)|U?INT\d+_(?:MAX|MIN)|INFINITY|NAN|HUGE_VALF?"
    r"|M_[A-Z0-9_]+|(?:static|reinterpret|const)_cast|std|tex[123]D\w*)$"
)
"""Names of CUDA and of C++: one with two underscores first is reserved, so no program's macro may have it."""
_LITERAL = re.compile(r"^[\s()]*[-+]?[\d.][\w.+-]*[\s()]*$")


def check_known_names(kernel: Kernel) -> None:
    """Refuse a kernel that uses a name which this file does not define.

    Raises:
        Refused: It uses such a name.
    """
    program = kernel.program
    template = next((each for each in above(kernel.definition) if each.type == "template_declaration"), None)
    parameters = template.child_by_field_name("parameters") if template is not None else None
    outside = _of_file_scope(program)
    of_template = {program.text(each) for each in within(parameters)} if parameters is not None else set()
    for node in kernel.of_type("identifier"):
        name = program.text(node)
        ours = name in kernel.declared or name in of_template or name in program.functions or name in outside
        if not ours and not _OF_CUDA.match(name) and not takes_values(name) and not _is_value(kernel, node):
            raise Refused(f"line {line_of(node)} uses {name}, which may be a macro: this file does not define it")


def _of_file_scope(program: Program) -> set[str]:
    """The variables and types that the file declares outside functions, so that their names are no other macros."""
    kinds = ("preproc_def", "preproc_function_def")
    macros = {program.text(child(node, "name")) for kind in kinds for node in program.index[kind]}
    found = set()
    for node in program.index["declaration"]:
        if not any(parent.type == "function_definition" for parent in above(node)):
            found |= {name for name, _ in program.declarations(node)}
    for node in program.index["type_identifier"]:
        parent = node.parent
        if parent is not None and parent.type in _NAMES_A_TYPE and program.text(node) not in found:
            names = [*parent.children_by_field_name("name"), *parent.children_by_field_name("declarator")]
            found |= {program.text(node) for named in names if named == node}
    return found - macros


_NAMES_A_TYPE = {"alias_declaration", "type_definition", "struct_specifier", "class_specifier", "enum_specifier"}


def _is_value(kernel: Kernel, node: Node) -> bool:
    program = kernel.program
    found = file_constant(program, program.text(node))
    if constant(program, node) is not None or (found is not None and found.type != "preproc_def"):
        return True
    return found is not None and bool(_LITERAL.match(program.text(child(found, "value"))))
