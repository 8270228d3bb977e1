"""Parse a CUDA source by tree-sitter into a ``Program``, and find a ``Kernel`` in it with its declarations and uses.

``Program.read`` takes text, ``Program.kernel`` a name; functions such as ``within`` and ``child`` read tree nodes.

The source is parsed without its preprocessor: code that a macro hides is unknown, and every result here allows for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ncuview.patch.patch import Refused
from ncuview.patch.python_source import CudaString, PythonSource

if TYPE_CHECKING:
    from tree_sitter import Node

LARGEST_SOURCE = 1_000_000
"""Bytes; hand-written sources have a tenth of it at most."""
_DEEPEST = 150
_PARSE_S = 5.0
_UNGRAMMATICAL = re.compile(
    rb"^[ \t]*#[ \t]*pragma\b[^\n]*|\b__align__[ \t]*\([ \t]*\w+[ \t]*\)",
    re.MULTILINE,
)
_INDEXED = {
    "function_definition",
    "template_instantiation",
    "declaration",
    "parameter_declaration",
    "identifier",
    "field_identifier",
    "type_identifier",
    "preproc_def",
    "preproc_function_def",
    "preproc_call",
    "preproc_arg",
    "ERROR",
}
_BY_VALUE = re.compile(
    r"^(?:__ldg|__ldcs|__ldca|__ldcg|__ldcv|min|max|abs|a?(?:sin|cos|tan)[hf]*|(?:exp|log)\d*[mp]?\d?f?|r?sqrtf?|cbrtf?"
    r"|powf?|fabsf?|f(?:min|max|ma|mod)f?|floorf?|ceilf?|roundf?|truncf?|rintf?|erfc?f?|atan2f?|hypotf?|saturate"
    r"|__(?:sin|cos|tan|exp|exp10|log|log2|log10|pow)f|__fdividef|__f(?:add|mul|ma)_r[nzud]|__frcp_rn|__f?sqrt_rn"
    r"|__popc|__clz|__ffs|__brev|__mul24|__umul24|__float2int_r[nzud]|__int2float_r[nzud]|__float_as_u?int"
    r"|__u?int_as_float|__half2float|__float2half(?:2?_r[nzud])?|__half22float2|__floats2half2_rn|__bfloat162float|__float2bfloat16"
    r"|make_(?:float|u?int|u?char|u?short|double)[234]|__popcll|isnan|isinf|printf|assert|dim3"
    r"|float|double|int|unsigned|bool|size_t|u?int\d+_t|static_cast<\w[\w ]*>)$"
)
"""Functions of CUDA that take all arguments by value and do not depend on the thread."""


def within(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(each.children))


def above(node: Node) -> Iterator[Node]:
    """The node's parents, the nearest first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def bare(node: Node) -> Node:
    """The expression inside any parentheses."""
    while node.type == "parenthesized_expression":
        inner = meaningful(node)
        if len(inner) != 1:
            return node
        node = inner[0]
    return node


def meaningful(node: Node) -> list[Node]:
    """The named children, without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def child(node: Node, name: str) -> Node:
    """The child of this field, without parentheses.

    Raises:
        Refused: It is missing, which the grammar excludes except in damaged code.
    """
    found = node.child_by_field_name(name)
    if found is None:
        raise Refused(f"line {line_of(node)} is written in a way that is not understood")
    return bare(found)


def operator(node: Node) -> str:
    """The operator of a unary, binary, update or assignment expression."""
    found = node.child_by_field_name("operator")
    return found.type if found else ""


def line_of(node: Node) -> int:
    """The line that the node begins on, from 1."""
    return node.start_point.row + 1


def on_lines(node: Node, lines: Sequence[int]) -> bool:
    """Whether the node has a part on one of these lines."""
    return any(line_of(node) <= line <= node.end_point.row + 1 for line in lines)


def parse(text: bytes) -> Node:
    """The root of the syntax tree of CUDA C++.

    Pragmas and __align__ are blank in it, because the grammar does not allow them everywhere; no edit depends on them.

    Raises:
        Refused: The text is too large, too deep or too broken to be parsed in a short time.
    """
    # These libraries load for tens of milliseconds, and only edits need them.
    import tree_sitter
    import tree_sitter_cuda

    if len(text) > LARGEST_SOURCE:
        raise Refused(f"the source has {len(text):,} bytes, more than a hand-written source")
    if b"\0" in text:
        raise Refused("the source holds a NUL byte, so it is not the text that was compiled")
    plain = _UNGRAMMATICAL.sub(lambda found: b" " * len(found[0]), text)
    deadline = time.monotonic() + _PARSE_S
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    try:
        tree = parser.parse(
            lambda offset, _: plain[offset : offset + 65536],
            progress_callback=lambda _offset, _error: time.monotonic() > deadline,
        )
    except ValueError:
        raise Refused("the source cannot be parsed within a few seconds") from None
    return tree.root_node


@dataclass(frozen=True)
class Declared:
    """One declaration of a name.

    Attributes:
        node: The declaration.
        declarator: The part with the name.
        type: Its type, without qualifiers: ``float``.
        qualifiers: ``const``, ``__shared__``, ``static`` ...
        stars: The number of its ``*``; -1 for a reference.
        sizes: The sizes in brackets; None where one is left out.
        value: Its initial value.
    """

    node: Node
    declarator: Node
    type: str
    qualifiers: frozenset[str]
    stars: int
    sizes: tuple[Node | None, ...]
    value: Node | None


@dataclass(frozen=True)
class Program:
    """A source and its tree; of a Python file, that of the string with a kernel, at its place in the file."""

    data: bytes
    root: Node
    path: str
    python: PythonSource | None = None
    string: CudaString | None = None
    """The string that is parsed; None before a kernel of the Python file is chosen."""

    @classmethod
    def read(cls, source: str, path: str) -> Program:
        """Parse a source.

        Raises:
            Refused: It cannot be read.
        """
        try:
            data = source.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise Refused("the source is not text") from None
        if path.endswith(".py"):
            return cls(data, parse(b""), path, PythonSource(data))
        return cls(data, parse(data), path)

    @cached_property
    def index(self) -> Mapping[str, Sequence[Node]]:
        """The nodes of the kinds that are searched in the complete file.

        Raises:
            Refused: Code is nested more deeply than in hand-written sources.
        """
        found: dict[str, list[Node]] = {kind: [] for kind in _INDEXED}
        cursor = self.root.walk()
        while True:
            node = cursor.node
            if node is not None and node.type in found:
                found[node.type].append(node)
            if cursor.depth > _DEEPEST:
                raise Refused("the source is nested too deeply to be understood")
            if cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return found

    def text(self, node: Node) -> str:
        """The node's text."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Node]]:
        found: dict[str, list[Node]] = {}
        for kind in ("identifier", "type_identifier"):  # `dim3 block(X);` may be read as a function of type X
            for node in self.index[kind]:
                found.setdefault(self.text(node), []).append(node)
        return found

    def named(self, name: str) -> Sequence[Node]:
        """Every identifier of this name, without fields, outside the bodies of macros."""
        return self._named.get(name, ())

    def in_macros(self, name: str) -> bool:
        """Whether the body of a macro or a condition of the preprocessor mentions the name."""
        return any(name in words for words in self._macro_words)

    @cached_property
    def _macro_words(self) -> Sequence[frozenset[str]]:
        return [frozenset(re.findall(r"\w+", self.text(node))) for node in self.index["preproc_arg"]]

    @cached_property
    def functions(self) -> Mapping[str, Sequence[Node]]:
        """Every function's definitions by its plain name."""
        found: dict[str, list[Node]] = {}
        for node in self.index["function_definition"]:
            if name := self._function_name(node):
                found.setdefault(name, []).append(node)
        return found

    def _function_name(self, node: Node) -> str:
        declarator = function_declarator(node)
        named = declarator and declarator.child_by_field_name("declarator")
        return self.text(named).rpartition("::")[2] if named else ""

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name.

        Raises:
            Refused: It is missing, defined several times, or has parts that cannot be parsed.
        """
        plain = re.sub(r"^.*::", "", re.split(r"[<(]", name.strip())[0].strip().rpartition(" ")[2])
        if self.python is not None and self.string is None:
            string = self.python.string_of(plain)
            text = self.python.cuda(string)
            return Program(text, parse(text), self.path, self.python, string).kernel(plain)
        found = [
            node
            for node in self.functions.get(plain, ())
            if any(part.type == "__global__" or self.text(part) == "__global__" for part in node.children)
        ]
        if not found:
            raise Refused(f"this file does not define the kernel {plain}, or a macro hides its head")
        if len(found) > 1:
            lines = ", ".join(str(line_of(node)) for node in found)
            raise Refused(f"{plain} is defined more than once (lines {lines})")
        (definition,) = found
        if definition.has_error:
            raise Refused(f"{plain} holds code that cannot be parsed without its preprocessor")
        if any(part.type == "ERROR" for part in above(definition)):
            raise Refused(f"the code around {plain} cannot be parsed without its preprocessor")
        return Kernel(self, plain, definition)

    def declared_in(self, node: Node) -> Mapping[str, Sequence[Declared]]:
        """All declarations inside a node, by name: variables and parameters."""
        found: dict[str, list[Declared]] = {}
        for each in within(node):
            if each.type in {"declaration", "parameter_declaration", "optional_parameter_declaration"}:
                for name, declared in self.declarations(each):
                    found.setdefault(name, []).append(declared)
        return found

    def visible(self, function: Node, use: Node) -> Sequence[Declared]:
        """The declarations in a function that a use of a name may mean: those of the innermost block around it."""
        found: dict[int, list[Declared]] = {}
        for each in self.declared_in(function).get(self.text(use), ()):
            scope = next((outer for outer in above(each.node) if outer.type in _SCOPES or outer == function), function)
            if scope.start_byte <= use.start_byte < scope.end_byte and each.node.start_byte <= use.start_byte:
                found.setdefault(scope.start_byte, []).append(each)
        return found[max(found)] if found else ()

    def declarations(self, node: Node) -> Iterator[tuple[str, Declared]]:
        """The names that one declaration declares."""
        qualifiers = frozenset(
            self.text(part) for part in node.children if part.type in {"type_qualifier", "storage_class_specifier"}
        )
        kind = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            stars, sizes, value, inner = 0, [], node.child_by_field_name("default_value"), declarator
            while inner.type != "identifier":
                if inner.type == "init_declarator":
                    value = inner.child_by_field_name("value")
                elif inner.type == "pointer_declarator":
                    stars += 1
                elif inner.type == "array_declarator":
                    sizes.append(inner.child_by_field_name("size"))
                elif inner.type == "reference_declarator":
                    stars = -1
                following = inner.child_by_field_name("declarator") or (
                    meaningful(inner)[-1] if inner.type == "reference_declarator" and meaningful(inner) else None
                )
                if following is None or inner.type == "function_declarator":
                    break
                inner = following
            if inner.type == "identifier":
                yield (
                    self.text(inner),
                    Declared(
                        node,
                        declarator,
                        self.text(kind) if kind else "",
                        qualifiers,
                        stars,
                        tuple(reversed(sizes)),
                        value,
                    ),
                )

    def changed_in(self, node: Node) -> frozenset[str]:
        """The names that a node's code may change after their declaration: assigned, or passed by reference."""
        changed: set[str] = set()
        for each in within(node):
            if each.type == "assignment_expression":
                changed |= self._target(child(each, "left"))
            elif each.type == "update_expression" or (each.type == "pointer_expression" and operator(each) == "&"):
                changed |= self._target(child(each, "argument"))
            elif each.type == "call_expression" and not self.passes_values(each):
                changed |= {
                    name
                    for argument in meaningful(child(each, "arguments"))
                    for name in self._target(argument, only_names=True)
                }
            elif each.type in {"gnu_asm_expression", "lambda_capture_specifier"} or each.type == "reference_declarator":
                scope = each.parent if each.type == "reference_declarator" else each
                changed |= {self.text(part) for part in within(scope or each) if part.type == "identifier"}
        return frozenset(changed)

    def may_change(self, function: Node, name: str) -> bool:
        """Whether a function's code may change a name after its declaration, also by passing it on."""
        declared = self.declared_in(function).get(name, ())
        constant = bool(declared) and all(each.qualifiers & {"const", "constexpr"} for each in declared)
        return name in self.changed_in(function) and not (constant and all(each.stars == 0 for each in declared))

    def passes_values(self, call: Node) -> bool:
        """Whether a call leaves its arguments as they are, if they are no addresses that are written as such."""
        launch = any(part.type == "kernel_call_syntax" for part in call.children)
        name = self.text(child(call, "function"))
        return (
            launch
            or takes_values(name)
            or bool(_OF_CUDA_BY_VALUE.match(name))
            or self._own_by_value(re.sub(r"<.*", "", name, flags=re.DOTALL).strip())
        )

    def _own_by_value(self, name: str) -> bool:
        """Whether a function of this file, in all its definitions, takes no argument by reference."""
        heads = [function_declarator(each) for each in self.functions.get(name, ())]
        lists = [head.child_by_field_name("parameters") for head in heads if head is not None]
        return bool(lists) and not any(
            node.type in _REFERENCES for parameters in lists if parameters is not None for node in within(parameters)
        )

    def _target(self, node: Node, *, only_names: bool = False) -> set[str]:
        node = bare(node)
        while not only_names and node.type in {"subscript_expression", "field_expression", "pointer_expression"}:
            node = child(node, "argument")
        return {self.text(node)} if node.type == "identifier" else set()


_OF_CUDA_BY_VALUE = re.compile(r"^(?:atomic[A-Z]\w*|__[a-z]\w*|tex[123]D\w*|sincos\w*|make_\w+[1-4])(?:<[\w\s]*>)?$")
"""Functions of CUDA whose arguments are values, or addresses that are written as such."""
_SCOPES = {"compound_statement", "for_statement", "if_statement", "while_statement", "lambda_expression"}
_REFERENCES = {"reference_declarator", "abstract_reference_declarator", "variadic_parameter_declaration"}


def function_declarator(node: Node) -> Node | None:
    """The part of a definition or prototype with name and parameters."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    return declarator


@dataclass(frozen=True)
class Kernel:
    """One kernel of a program."""

    program: Program
    name: str
    definition: Node
    _memory: dict[str, Node | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def body(self) -> Node:
        """The block in its braces.

        Raises:
            Refused: It has no body.
        """
        return child(self.definition, "body")

    @cached_property
    def nodes(self) -> Sequence[Node]:
        """All nodes of its body, in the order of the text."""
        return list(within(self.body))

    def of_type(self, *kinds: str) -> list[Node]:
        """The nodes of its body of these kinds."""
        return [node for node in self.nodes if node.type in kinds]

    @cached_property
    def declared(self) -> Mapping[str, Sequence[Declared]]:
        """Its parameters and variables, by name."""
        return self.program.declared_in(self.definition)

    @cached_property
    def parameters(self) -> Mapping[str, Declared]:
        """Its parameters, in order."""
        head = function_declarator(self.definition)
        listed = head.child_by_field_name("parameters") if head else None
        parameters = meaningful(listed) if listed else []
        return dict(pair for node in parameters for pair in self.program.declarations(node))

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names that may change after their declaration."""
        return self.program.changed_in(self.body)

    def uses(self, name: str) -> list[Node]:
        """The nodes where the body mentions a variable, outside its declarations."""
        places = {name_at(each) for each in self.declared.get(name, ())}
        return [
            node
            for node in self.of_type("identifier")
            if self.program.text(node) == name and node.start_byte not in places
        ]

    def value_of(self, name: str) -> Node | None:
        """The value of a variable: its initial value, where it has one declaration and never changes."""
        if name not in self._memory:
            declared = self.declared.get(name, ())
            known = len(declared) == 1 and not declared[0].sizes and not self.moves(name)
            value = declared[0].value if known else None
            # The values of `int x(5)` and `int x{5}` are lists.
            self._memory[name] = None if value is None or value.type.endswith("_list") else bare(value)
        return self._memory[name]

    def moves(self, name: str) -> bool:
        """Whether a variable may change after its declaration; of a pointer, not whether its elements may."""
        declared = self.declared.get(name, ())
        if len(declared) != 1 or declared[0].stars != 1 or declared[0].sizes:
            return name in self.changed
        outer = [node.parent for node in self.uses(name)]
        return any(
            each is None
            or each.type in {"update_expression", "reference_declarator"}
            or (each.type == "pointer_expression" and operator(each) == "&")
            or (each.type == "argument_list" and not (each.parent and self.program.passes_values(each.parent)))
            or (each.type == "assignment_expression" and self.program.text(child(each, "left")) == name)
            for each in outer
        )

    def calls(self) -> Iterator[tuple[str, Node]]:
        """Every call in the body with the name of the called function."""
        for node in self.of_type("call_expression"):
            yield self.program.text(child(node, "function")), node


def name_at(declared: Declared) -> int:
    """The byte of the name in its declarator."""
    inner = declared.declarator
    while inner.type != "identifier":
        following = inner.child_by_field_name("declarator")
        inner = following if following is not None else meaningful(inner)[-1]
    return inner.start_byte


def takes_values(name: str) -> bool:
    """Whether a function of CUDA takes all arguments by value and does not depend on the thread."""
    return bool(_BY_VALUE.match(name))
