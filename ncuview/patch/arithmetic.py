"""Determine from the syntax tree whether an expression is computed as integer, float or double, or unknown (``Kind``).

``Arithmetic.kind`` takes a tree-sitter node of one function, and applies C++'s conversions to its parts.
``own_functions`` lists the functions that an arithmetic patch may edit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from ncuview.patch.constants import file_constant, integer
from ncuview.patch.program import (
    Declared,
    Kernel,
    Program,
    above,
    bare,
    child,
    function_declarator,
    meaningful,
    operator,
)

if TYPE_CHECKING:
    from tree_sitter import Node

DOUBLE = re.compile(r"^[-+]?(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?$")
"""A floating-point literal without suffix, after integers are excluded."""
_INTEGERS = re.compile(
    r"^(?:(?:un)?signed\s+)?(?:char|short|int|long|long\s+int|long\s+long(?:\s+int)?)$|^(?:un)?signed$|^size_t$|^bool$"
    r"|^u?int(?:8|16|32|64)_t$|^uint$|^ptrdiff_t$"
)
_VECTOR = re.compile(r"^(float|int|uint)[1234]$")
MATH = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "sinpi", "cospi"),
        *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "pow", "hypot"),
        *("fabs", "floor", "ceil", "round", "trunc", "rint", "nearbyint", "fmod", "fmax", "fmin", "fma", "erf", "erfc"),
    }
)
"""Functions that CUDA has for double, and for float with an f after the name."""
_OF_LARGER = {"min", "max", "abs"}
_FLOAT_RESULT = re.compile(
    r"^(?:__\w+f|__fdividef|__f(?:add|sub|mul|div|maf?|sqrt|rcp|rsqrt)\w*_r[nzud]|__int2float_\w+|__int_as_float)$"
)
_THREADS = {"threadIdx", "blockIdx", "blockDim", "gridDim"}


class Kind(Enum):
    """The type that an expression is computed in."""

    INTEGER = 0
    FLOAT = 1
    DOUBLE = 2
    UNKNOWN = 3


@dataclass(frozen=True)
class Arithmetic:
    """The kinds of expressions in one function.

    Attributes:
        program: The source.
        function: The function's definition.
        singles: Double literals and calls that count as float, because an edit makes them so.
    """

    program: Program
    function: Node
    singles: frozenset[int] = frozenset()

    @cached_property
    def declared(self) -> Mapping[str, Sequence[Declared]]:
        """The function's parameters and variables."""
        return self.program.declared_in(self.function)

    def kind(self, node: Node) -> Kind:
        """The kind of an expression."""
        node = bare(node)
        match node.type:
            case "number_literal":
                return self._of_literal(node)
            case "char_literal" | "true" | "false" | "sizeof_expression":
                return Kind.INTEGER
            case "identifier":
                return self._of_name(node)
            case "subscript_expression" | "pointer_expression" | "field_expression":
                return self._of_place(node)
            case "cast_expression":
                kind = child(node, "type")
                return Kind.UNKNOWN if kind.child_by_field_name("declarator") else of_type(self.program.text(kind))
            case "call_expression":
                return self._of_call(node)
            case _:
                return self._of_operation(node)

    def _of_operation(self, node: Node) -> Kind:
        if operator(node) in {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "!"}:
            return Kind.INTEGER
        match node.type:
            case "binary_expression":
                return _joined(self.kind(child(node, "left")), self.kind(child(node, "right")))
            case "conditional_expression":
                return _joined(self.kind(child(node, "consequence")), self.kind(child(node, "alternative")))
            case "unary_expression" | "update_expression":
                return self.kind(child(node, "argument"))
            case "assignment_expression":
                return self.kind(child(node, "left"))
            case _:
                return Kind.UNKNOWN

    def all_kinds(self, node: Node) -> set[Kind]:
        """The kinds of an expression and of every part that takes part in the computation."""
        node = bare(node)
        found = {self.kind(node)}
        parts: list[Node] = []
        if node.type in {"binary_expression", "assignment_expression"}:
            parts = [child(node, "left"), child(node, "right")]
        elif node.type == "conditional_expression":
            parts = [child(node, name) for name in ("condition", "consequence", "alternative")]
        elif node.type == "unary_expression":
            parts = [child(node, "argument")]
        elif node.type == "cast_expression":
            parts = [child(node, "value")]
        elif node.type == "call_expression":
            parts = meaningful(child(node, "arguments"))
        for part in parts:
            found |= self.all_kinds(part)
        return found

    def _of_literal(self, node: Node) -> Kind:
        text = self.program.text(node)
        if integer(text) is not None:
            return Kind.INTEGER
        if text[:2].lower() != "0x" and text[-1] in "fF":
            return Kind.FLOAT
        return Kind.FLOAT if node.start_byte in self.singles else Kind.DOUBLE

    def _of_name(self, node: Node) -> Kind:
        name = self.program.text(node)
        kinds = {of_type(each.type) if each.stars == 0 and not each.sizes else Kind.UNKNOWN for each in self._all(name)}
        if kinds:
            return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN
        found = file_constant(self.program, name)
        if found is None:
            return Kind.UNKNOWN
        if found.type == "preproc_def":
            value = found.child_by_field_name("value")
            text = self.program.text(value).strip(" \t\r()-") if value is not None else ""
            single = bool(re.fullmatch(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]", text))
            real = Kind.FLOAT if single else Kind.DOUBLE if DOUBLE.match(text) else Kind.UNKNOWN
            return real if integer(text) is None else Kind.INTEGER
        return next(
            of_type(each.type) if each.stars == 0 and not each.sizes else Kind.UNKNOWN
            for declared, each in self.program.declarations(found)
            if declared == name
        )

    def _all(self, name: str) -> Sequence[Declared]:
        return self.declared.get(name, ())

    def _of_place(self, node: Node) -> Kind:
        """The kind of an element of an array, of what a pointer refers to, or of a field of a vector."""
        field, depth = "", 0
        place = node
        while place.type in {"subscript_expression", "pointer_expression", "field_expression"}:
            if place.type == "field_expression":
                if field or depth:
                    return Kind.UNKNOWN
                field = self.program.text(child(place, "field"))
            elif place.type == "pointer_expression" and operator(place) != "*":
                return Kind.UNKNOWN
            else:
                depth += 1
            place = child(place, "argument")
            if place.type == "binary_expression" and operator(place) in {"+", "-"}:
                place = child(place, "left")  # *(p + i)
        if place.type == "update_expression":
            place = child(place, "argument")  # *p++
        name = self.program.text(place)
        if name in _THREADS and field:
            return Kind.INTEGER
        kinds = {self._element(each, depth, field) for each in self._all(name)} if place.type == "identifier" else set()
        return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN

    def _element(self, declared: Declared, depth: int, field: str) -> Kind:
        if max(declared.stars, 0) + len(declared.sizes) != depth:
            return Kind.UNKNOWN
        if not field:
            return of_type(declared.type)
        vector = _VECTOR.match(declared.type)
        if not vector or field not in {"x", "y", "z", "w"}:
            return Kind.UNKNOWN
        return Kind.FLOAT if vector[1] == "float" else Kind.INTEGER

    def _of_call(self, node: Node) -> Kind:
        function = child(node, "function")
        name = self.program.text(function)
        arguments = meaningful(child(node, "arguments"))
        kinds = [self.kind(each) for each in arguments]
        if function.type == "primitive_type":
            return of_type(name)
        if function.type == "template_function" and name.startswith("static_cast"):
            return of_type(name.partition("<")[2].rpartition(">")[0].strip())
        own = self.program.functions.get(name.rpartition("::")[2], ())
        if own:
            return self._of_function(own)
        if name.removeprefix("std::") in MATH:
            if Kind.UNKNOWN in kinds:
                return Kind.UNKNOWN
            single = set(kinds) == {Kind.FLOAT} or node.start_byte in self.singles
            return Kind.FLOAT if single and kinds else Kind.DOUBLE
        if name.removeprefix("std::") in _OF_LARGER and kinds:
            joined = kinds[0]
            for each in kinds[1:]:
                joined = _joined(joined, each)
            return joined
        if name in {f"{each}f" for each in MATH} or _FLOAT_RESULT.match(name):
            return Kind.FLOAT
        if name == "__ldg" and len(arguments) == 1:
            return self._of_loaded(arguments[0])
        return Kind.UNKNOWN

    def _of_loaded(self, node: Node) -> Kind:
        node = bare(node)
        if node.type == "pointer_expression" and operator(node) == "&":
            return self.kind(child(node, "argument"))
        if node.type == "binary_expression" and operator(node) == "+":
            node = child(node, "left")
        pointers = self._all(self.program.text(node))
        kinds = {of_type(each.type) if each.stars == 1 else Kind.UNKNOWN for each in pointers}
        return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN

    def _of_function(self, definitions: Sequence[Node]) -> Kind:
        results = {self.program.text(child(each, "type")) for each in definitions if each.child_by_field_name("type")}
        plain = all(each.child_by_field_name("declarator") == function_declarator(each) for each in definitions)
        return of_type(results.pop()) if len(results) == 1 and plain else Kind.UNKNOWN


def of_type(name: str) -> Kind:
    """The kind of a type, without its qualifiers."""
    words = " ".join(word for word in name.split() if word not in {"const", "volatile", "constexpr"})
    if _INTEGERS.match(words):
        return Kind.INTEGER
    return {"float": Kind.FLOAT, "double": Kind.DOUBLE}.get(words, Kind.UNKNOWN)


def _joined(one: Kind, other: Kind) -> Kind:
    """The kind that C++ converts both operands to."""
    return one if one.value >= other.value else other


def own_functions(kernel: Kernel) -> list[Node]:
    """The kernel, and the device functions of its file that no other function calls, directly or through each other."""
    program = kernel.program
    own: dict[str, Node] = {kernel.name: kernel.definition}
    grown = True
    while grown:
        grown = False
        for name, definitions in program.functions.items():
            if name in own or len(definitions) != 1 or definitions[0].has_error or program.in_macros(name):
                continue
            (definition,) = definitions
            head = function_declarator(definition)
            device = any(
                part.type == "__device__" or program.text(part) == "__device__" for part in definition.children
            )
            host = any(program.text(part) == "__host__" for part in definition.children)
            uses = [node for node in program.named(name) if head is None or node != child(head, "declarator")]
            users = {_function_around(node) for node in uses}
            if device and not host and uses and users <= {each.start_byte for each in own.values()}:
                own[name] = definition
                grown = True
    return list(own.values())


def _function_around(node: Node) -> int:
    return next((each.start_byte for each in above(node) if each.type == "function_definition"), -1)
