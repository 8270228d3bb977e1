"""Write code into a kernel's source in the source's own style: line ends, indentation, and names that nothing else has.

``fresh`` gives a name, ``indented`` the replacements that move lines one level to the right, ``lines`` the text of
several lines. ``opening`` and ``closing`` are the places after a block's first brace and before its last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel, Program, line_of, within

if TYPE_CHECKING:
    from tree_sitter import Node


_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)


def fresh(program: Program, *wanted: str) -> str:
    """The first of these names that no word of the code is, else the last one with a number."""
    words = frozenset(re.findall(rb"\w+", _COMMENT.sub(b" ", program.data)))
    numbered = (f"{wanted[-1]}{number}" for number in range(2, 1000))
    return next(name for name in (*wanted, *numbered) if name.encode() not in words)


def newline(program: Program) -> str:
    """The source's line end."""
    return "\r\n" if b"\r\n" in program.data else "\n"


def margin(program: Program, node: Node) -> str:
    """The white space before a node's line.

    Raises:
        Refused: Something else stands before the node on its line.
    """
    start = program.data.rfind(b"\n", 0, node.start_byte) + 1
    text = program.data[start : node.start_byte].decode("utf-8", "surrogateescape")
    if text.strip(" \t"):
        raise Refused(f"line {line_of(node)} does not begin with its statement")
    return text


def line_start(program: Program, node: Node) -> int:
    """The byte where a node's line begins.

    Raises:
        Refused: Something else stands before the node on its line.
    """
    return node.start_byte - len(margin(program, node))


def line_end(program: Program, node: Node) -> int:
    """The byte after a node's last line.

    Raises:
        Refused: Code follows the node on its line.
    """
    end = program.data.find(b"\n", node.end_byte)
    rest = program.data[node.end_byte : end] if end >= 0 else b"x"
    if not re.fullmatch(rb"[ \t\r]*(?://[^\n]*)?", rest):
        raise Refused(f"code follows on line {node.end_point.row + 1}")
    return end + 1


def unit(kernel: Kernel) -> str:
    """One level of indentation: what the kernel's first statement has more than the kernel."""
    statements = [each for each in kernel.body.named_children if each.type not in {"comment", "preproc_call"}]
    program = kernel.program
    if not statements:
        raise Refused(f"{kernel.name} is empty")
    inner = margin(program, statements[0])
    start = program.data.rfind(b"\n", 0, kernel.body.end_byte - 1) + 1
    outer = re.match(rb"[ \t]*", program.data[start:])
    before = outer[0].decode() if outer else ""
    return inner[len(before) :] or "    "


def lines(program: Program, indent: str, text: str) -> str:
    """Lines with an indentation before each that is not empty, and the source's line ends."""
    end = newline(program)
    return "".join(f"{indent}{line}{end}" if line else end for line in text.splitlines())


def opening(program: Program, block: Node) -> int:
    """The byte where the line after a block's opening brace begins.

    Raises:
        Refused: Code follows the brace on its line.
    """
    end = program.data.find(b"\n", block.start_byte)
    rest = program.data[block.start_byte + 1 : end]
    if (
        end < 0
        or end >= block.end_byte
        or not re.fullmatch(rb"[ \t\r]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/)?[ \t\r]*", rest)
    ):
        raise Refused(f"line {line_of(block)} has code after its opening brace")
    return end + 1


def closing(program: Program, block: Node) -> int:
    """The byte where the line of a block's closing brace begins.

    Raises:
        Refused: Code stands before the brace on its line.
    """
    start = program.data.rfind(b"\n", 0, block.end_byte - 1) + 1
    if start <= block.start_byte or program.data[start : block.end_byte - 1].strip():
        raise Refused(f"line {block.end_point.row + 1} has code before its closing brace")
    return start


def indented(program: Program, start: int, end: int, by: str) -> Iterator[Replacement]:
    """Indent the lines of a range of bytes that begins and ends with lines, without those of the preprocessor."""
    raw = {
        row
        for node in within(program.root.descendant_for_byte_range(start, end) or program.root)
        if node.type in {"raw_string_literal", "string_literal", "preproc_def", "preproc_function_def"}
        for row in range(node.start_point.row + 1, node.end_point.row + 1)
    }
    at, row = start, program.data.count(b"\n", 0, start)
    while at < end:
        following = program.data.find(b"\n", at) + 1 or end
        text = program.data[at:following]
        continued = program.data[:at].endswith((b"\\\n", b"\\\r\n"))
        if text.strip() and not text.lstrip().startswith(b"#") and row not in raw and not continued:
            yield Replacement(at, at, by)
        at, row = following, row + 1


def merged(replacements: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """Without repetitions, in the order of the text; insertions at one place keep their order."""
    return tuple(sorted(dict.fromkeys(replacements), key=lambda each: (each.start, each.end)))
