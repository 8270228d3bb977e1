"""Write a kernel's expressions as another of its threads evaluates them: the text of a copy with indices replaced.

``OtherThread`` takes a ``Kernel`` and what replaces ``threadIdx.x``, counters and so on; ``declarations`` declares the
variables again that depend on it, in the same types, and ``text`` gives an expression.
``fresh`` gives names that the source does not use. ``before`` and ``after`` insert lines in the source's own layout.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Declared, Kernel, above, line_of, meaningful, takes_values, within
from ncuview.patch.rewriting import lines, newline

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 40
_SIMPLE = re.compile(r"[\w.]+")


class OtherThread:
    """The values of a kernel's variables in a thread with other indices."""

    def __init__(self, kernel: Kernel, values: Mapping[str, str], at: int, same: Collection[str] = ()) -> None:
        """For code that is inserted in the kernel's body.

        Args:
            kernel: The kernel.
            values: Names (or 0) by what they replace: an axis such as ``threadIdx.x``, or a loop's counter.
            at: The byte of the insertion: variables that are declared after it are declared again.
            same: Variables that have the same value for that thread: the counters of loops around the code.
        """
        for name in values:
            counters = (each.node.parent for each in kernel.declared.get(name, ()))
            if any(parent is None or parent.type != "for_statement" for parent in counters):
                raise Refused(f"{name} is the name of a counter and of another variable")
        self._kernel = kernel
        self._values = values
        self._at = at
        self._same = frozenset(same)

    def declarations(self, nodes: Iterable[Node]) -> list[str]:
        """Declarations of the variables that the expressions need and that differ for that thread, in order.

        Raises:
            Refused: Such a variable changes, or depends on memory.
        """
        found: dict[str, Declared] = {}
        waiting = [name for node in nodes for name in self._variables(node)]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            (declared, *others) = self._kernel.declared[name]
            if others:
                raise Refused(f"{name} is declared more than once")
            if declared.value is not None:
                waiting += self._variables(declared.value)
            if self._differs(name) or not self._visible(declared):
                found[name] = declared
        ordered = sorted(found.items(), key=lambda each: each[1].declarator.start_byte)
        return [self._declaration(name, declared) for name, declared in ordered]

    def text(self, node: Node) -> str:
        """An expression, with what the thread has in place of the original's indices."""
        program = self._kernel.program
        whole = program.text(node)
        if node.type in {"field_expression", "identifier"} and whole in self._values:
            return self._values[whole]
        if not node.children:
            return whole
        if node.type == "comment":
            return ""
        parts, at = [], node.start_byte
        for each in node.children:
            between = program.data[at : each.start_byte].decode("utf-8", "surrogateescape")
            parts += [re.sub(r"\s+", " ", between), self.text(each)]
            at = each.end_byte
        joined = "".join(parts)
        if node.type == "binary_expression":
            joined = re.sub(r"^(.*\S) \+ 0$", r"\1", joined)
        if node.type == "parenthesized_expression" and _SIMPLE.fullmatch(joined[1:-1]):
            joined = joined[1:-1]
        return joined

    def _variables(self, node: Node) -> list[str]:
        """The local variables that an expression reads."""
        kernel = self._kernel
        names = [kernel.program.text(each) for each in within(node) if each.type == "identifier"]
        for name in names:
            if name in kernel.parameters and kernel.moves(name):
                raise Refused(f"{name} changes, so its value in another thread is not known")
        return [
            each
            for each in names
            if each in kernel.declared and each not in kernel.parameters and each not in {*self._values, *self._same}
        ]

    def _differs(self, name: str, depth: int = 0) -> bool:
        """Whether a variable's value depends on what is replaced."""
        value = self._kernel.value_of(name)
        if value is None or depth > _DEEPEST:
            raise Refused(f"{name} changes, so its value in another thread is not known")
        return self.depends(value, depth + 1)

    def depends(self, node: Node, depth: int = 0) -> bool:
        """Whether an expression depends on what is replaced."""
        mentioned = any(
            each.type in {"field_expression", "identifier"} and self._kernel.program.text(each) in self._values
            for each in within(node)
        )
        return mentioned or any(self._differs(name, depth) for name in self._variables(node))

    def _visible(self, declared: Declared) -> bool:
        block = next(each for each in above(declared.node) if each.type in _SCOPES)
        return declared.declarator.end_byte <= self._at and block.start_byte <= self._at < block.end_byte

    def _declaration(self, name: str, declared: Declared) -> str:
        value = self._kernel.value_of(name)
        if value is None or declared.stars < 0 or "static" in declared.qualifiers:
            raise Refused(f"{name} changes, so its value in another thread is not known")
        for node in within(value):
            call = node.type == "call_expression" and not takes_values(self._kernel.program.text(node.children[0]))
            if call or node.type in {"subscript_expression", "pointer_expression", "update_expression"}:
                raise Refused(f"line {line_of(node)} computes {name} from memory or by a call")
        constant = " ".join(sorted(declared.qualifiers & {"const"}))
        if declared.stars:
            return f"{constant} {declared.type} {'*' * declared.stars}const {name} = {self.text(value)};".lstrip()
        return f"const {declared.type} {name} = {self.text(value)};"


_SCOPES = {"compound_statement", "for_statement", "if_statement", "while_statement", "parameter_list"}


def fresh(kernel: Kernel, *names: str) -> list[str]:
    """Names that the kernel and the macros of the file do not use: these, or with a number."""
    program = kernel.program
    words = set(re.findall(r"\w+", program.text(kernel.definition)))
    macros = {program.text(each).split()[1].partition("(")[0] for kind in _MACROS for each in program.index[kind]}
    found: list[str] = []
    for name in names:
        numbered = [name, *(f"{name}{number}" for number in range(2, 100))]
        used = words | macros | set(found)
        found.append(next(each for each in numbered if each not in used and not program.in_macros(each)))
    return found


_MACROS = ("preproc_def", "preproc_function_def")


def before(kernel: Kernel, node: Node, code: Sequence[str]) -> Replacement:
    """Lines before a statement of the body, and before pragmas that belong to it."""
    data = kernel.program.data
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    indent, end = indentation(kernel, node), newline(kernel.program)
    if data[start : node.start_byte].strip():
        text = end + _joined(kernel, code, indent) + indent
        return Replacement(node.start_byte, node.start_byte, text)
    start = _before_pragmas(kernel, start)
    return Replacement(start, start, _joined(kernel, code, indent))


def instead(kernel: Kernel, node: Node, code: Sequence[str]) -> Replacement:
    """Lines instead of a statement of the body and the pragmas before it."""
    data = kernel.program.data
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    indent, end = indentation(kernel, node), newline(kernel.program)
    alone = not data[start : node.start_byte].strip()
    text = _joined(kernel, code, indent).removesuffix(end)
    start = _before_pragmas(kernel, start) if alone else node.start_byte
    return Replacement(start, node.end_byte, text if alone else end + text)


def _before_pragmas(kernel: Kernel, start: int) -> int:
    """The beginning of the pragmas right before a line."""
    data = kernel.program.data
    while start > kernel.body.start_byte:
        earlier = data.rfind(b"\n", 0, start - 1) + 1
        if not re.match(rb"[ \t]*#[ \t]*pragma\b", data[earlier:start]):
            break
        start = earlier
    return start


def after(kernel: Kernel, node: Node, code: Sequence[str]) -> Replacement:
    """Lines after a statement of the body."""
    data = kernel.program.data
    indent, end = indentation(kernel, node), newline(kernel.program)
    following = data.find(b"\n", node.end_byte) + 1
    if following and re.fullmatch(rb"\s*(//.*)?\s*", data[node.end_byte : following]):
        return Replacement(following, following, _joined(kernel, code, indent))
    return Replacement(node.end_byte, node.end_byte, end + _joined(kernel, code, indent) + indent)


def deeper(kernel: Kernel, first: int, last: int) -> list[Replacement]:
    """One more level of indentation for the lines that begin in these bytes."""
    data, level = kernel.program.data, level_of(kernel)
    starts = [found.end() + first for found in re.finditer(rb"\n(?=[ \t]*[^\s#])", data[first:last])]
    return [Replacement(start, start, level) for start in starts]


def indentation(kernel: Kernel, node: Node) -> str:
    """The white space before a statement's line."""
    data = kernel.program.data
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    found = re.match(rb"[ \t]*", data[start:])
    return found[0].decode() if found else ""


def level_of(kernel: Kernel) -> str:
    """One level of indentation: that of the body's first statement, if it stands on a line of its own."""
    return indentation(kernel, meaningful(kernel.body)[0]).removeprefix(indentation(kernel, kernel.body)) or "    "


def _joined(kernel: Kernel, code: Sequence[str], indent: str) -> str:
    return lines(kernel.program, indent, "".join(f"{line}\n" for line in code))
