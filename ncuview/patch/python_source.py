"""Find a kernel's CUDA source in a string of a Python file: ``PythonSource`` gives it at its own bytes and lines.

``PythonSource.string_of`` takes a kernel's name -> ``CudaString``; ``cuda`` blanks all else in the file, so that places
in the CUDA source are places in the file. ``kernels_in`` lists the kernels of a file.

Only a string is taken that a library compiles as it stands in the file; any other is refused by name.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO

from ncuview.patch.patch import Edit, Refused, Replacement

COMPILERS = frozenset({"RawKernel", "RawModule", "SourceModule", "load_inline"})
"""Functions of CuPy, PyCUDA and PyTorch that compile a string as CUDA source."""
LIBRARIES = frozenset({"cupy", "numpy", "pycuda", "torch"})
_DEEPEST = 150
_LITERAL = re.compile(rb"[rRuU]?('''|\"\"\"|'|\")(?P<text>.*)\1", re.DOTALL)
_RAW = re.compile(rb"[rR]")
_NOT_LINE_ENDS = re.compile(rb"[^\r\n]")


@dataclass(frozen=True)
class CudaString:
    """A string literal whose text is the source of a kernel."""

    node: ast.Constant
    start: int
    """The first byte of its text in the file."""
    end: int
    compiled: ast.Call
    """The call that compiles it."""

    @property
    def compiler(self) -> str:
        """One of ``COMPILERS``."""
        return last_name(self.compiled.func)


class PythonSource:
    """A Python file, parsed."""

    def __init__(self, data: bytes) -> None:
        """Parse a file.

        Raises:
            Refused: It is no Python, or its bytes are not those that Python counts.
        """
        self.data = data
        try:
            encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
            data.decode("utf-8")
        except (SyntaxError, UnicodeDecodeError):
            encoding = ""
        if encoding not in {"utf-8", "utf-8-sig"}:
            raise Refused("the Python file is not UTF-8")
        if b"\r" in data.replace(b"\r\n", b""):
            raise Refused("the Python file has carriage returns inside lines")
        self.tree = _parsed(data)
        level, depth = list[ast.AST]([self.tree]), 0
        while level:
            level, depth = [inner for node in level for inner in ast.iter_child_nodes(node)], depth + 1
            if depth > _DEEPEST:
                raise Refused("the Python file is nested too deeply to be understood")
        self._mark = 3 if encoding == "utf-8-sig" else 0

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [self._mark, *(found.end() for found in re.finditer(rb"\n", self.data))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """The bytes of an expression in the file."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise Refused(f"line {node.lineno} is written in a way that is not understood")
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr) -> str:
        """An expression as it is written."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node above each."""
        return {inner: outer for outer in ast.walk(self.tree) for inner in ast.iter_child_nodes(outer)}

    @cached_property
    def _bound(self) -> Counter[str]:
        """How often the file binds each name, in any scope."""
        return Counter(name for node in ast.walk(self.tree) for name in _binds(node))

    @cached_property
    def libraries(self) -> frozenset[str]:
        """The names that stand for ``LIBRARIES`` or their parts, wherever they are read."""
        names = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {name for each in node.names if _is_library(each.name) for name in _binds(each)}
            elif isinstance(node, ast.ImportFrom) and _is_library(node.module or "") and not node.level:
                names |= {name for each in node.names for name in _binds(each)}
        return frozenset(name for name in names if self._bound[name] == 1)

    @cached_property
    def _values(self) -> Mapping[str, ast.expr]:
        return {
            target.id: node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign) and len(node.targets) == 1
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def value_of(self, name: str) -> ast.expr | None:
        """What a name stands for, if the file binds it once, by an assignment; None where it may be something else."""
        return self._values.get(name) if self._bound[name] == 1 and not self._bound["*"] else None

    def is_settled(self, name: str) -> bool:
        """Whether a name is bound once, and not again and again in a loop."""
        if self._bound[name] != 1 or self._bound["*"]:
            return False
        node = next(each for each in ast.walk(self.tree) if name in _binds(each))
        while not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            node = self.parents[node]
            if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.comprehension):
                return False
        return True

    def reads(self, name: str) -> Sequence[ast.Name]:
        """Where the file reads a name."""
        return self._reads.get(name, ())

    @cached_property
    def _reads(self) -> Mapping[str, Sequence[ast.Name]]:
        found: defaultdict[str, list[ast.Name]] = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found[node.id].append(node)
        return found

    def uses(self, value: ast.expr) -> list[ast.expr] | None:
        """Where a value is used: here, or where the only name that it is kept in is read; None if that may change."""
        outer = self.parents[value]
        if not isinstance(outer, ast.Assign):
            return [value]
        names = [each.id for each in outer.targets if isinstance(each, ast.Name)]
        if len(outer.targets) != 1 or not names or self.value_of(names[0]) is not value:
            return None
        return list(self.reads(names[0]))

    def string_of(self, kernel: str) -> CudaString:
        """The string that defines a kernel.

        Raises:
            Refused: There is none or more than one, or its text is not what is compiled.
        """
        found = [node for node, text in _strings(self.tree) if kernel in _defined(text)]
        if not found:
            raise Refused(f"no string of this file defines the kernel {kernel}")
        if len(found) > 1:
            raise Refused(f"more than one string of this file defines {kernel}")
        (node,) = found
        if isinstance(node, ast.JoinedStr):
            raise Refused(f"the string that defines {kernel} is an f-string")
        start, end = self._verbatim(node, kernel)
        return CudaString(node, start, end, self._compiled(node, kernel))

    def _verbatim(self, node: ast.Constant, kernel: str) -> tuple[int, int]:
        """The bytes of a literal's text, which is its value."""
        first, last = self.span(node)
        written = self.data[first:last]
        found = _LITERAL.fullmatch(written)
        if found is not None and _value(found["text"]) == node.value:
            return first + found.start("text"), first + found.end("text")
        if found is not None and not _RAW.match(written) and len(_literals(written)) == 1:
            raise Refused(f"the string that defines {kernel} has escapes: write it as a raw string, r'''...'''")
        raise Refused(f"the string that defines {kernel} is put together of several")

    def _compiled(self, node: ast.Constant, kernel: str) -> ast.Call:
        """The call that compiles a string, of all its uses the only ones; of several, that for this kernel."""
        uses = self.uses(node)
        if uses is None:
            outer = self.parents[node]
            named = next((each for each in getattr(outer, "targets", ()) if isinstance(each, ast.Name)), None)
            why = f"{named.id} is assigned more than once" if named else "it is not kept in one name"
            raise Refused(f"the string that defines {kernel} may be another: {why}")
        calls = [self._compiling(use, kernel) for use in uses]
        of_kernel = [call for call in calls if last_name(call.func) != "RawKernel" or _makes(call, kernel)]
        if not of_kernel:
            raise Refused(f"the string that defines {kernel} is not compiled in this file")
        if len(of_kernel) > 1:
            raise Refused(f"the string that defines {kernel} is compiled in {len(of_kernel)} places")
        return of_kernel[0]

    def _compiling(self, use: ast.expr, kernel: str) -> ast.Call:
        what, outer = f"the string that defines {kernel}", self.parents[use]
        if isinstance(outer, ast.List | ast.Tuple) and len(outer.elts) == 1:
            outer = self.parents[outer]
        if isinstance(outer, ast.BinOp | ast.List | ast.Tuple | ast.FormattedValue):
            raise Refused(f"{what} is put together of several")
        if isinstance(outer, ast.Attribute):
            raise Refused(f"{what} is changed by .{outer.attr}")
        if isinstance(outer, ast.keyword):
            outer = self.parents[outer]
        if not isinstance(outer, ast.Call):
            raise Refused(f"line {use.lineno} uses {what} in a way that is not understood")
        if last_name(outer.func) not in COMPILERS:
            raise Refused(f"{what} is passed to {last_name(outer.func)}")
        return outer

    def cuda(self, string: CudaString) -> bytes:
        """The file with all but a string's text blank: its bytes and lines are those of the file."""
        before, after = self.data[: string.start], self.data[string.end :]
        blank = (_NOT_LINE_ENDS.sub(b" ", part) for part in (before, after))
        return self.data[string.start : string.end].join(blank)

    def check(self, string: CudaString, replacements: Sequence[Replacement], grid: Sequence[tuple[int, int]]) -> None:
        """Require that a change lies in a string's text, or in the grid of its launch, and that Python reads it so.

        Raises:
            Refused: It does not, or the literal ends elsewhere then.
        """
        inside = [each for each in replacements if string.start <= each.start and each.end <= string.end]
        if any(each not in inside and (each.start, each.end) not in grid for each in replacements):
            raise Refused("the change has parts outside of the string")
        wanted = Edit("", "", self.cuda(string), tuple(inside)).edited.encode("utf-8", "surrogateescape")
        wanted = wanted[string.start : len(wanted) - (len(self.data) - string.end)]
        edited = Edit("", "", self.data, tuple(replacements)).edited.encode("utf-8", "surrogateescape")
        start = string.start + sum(
            len(each.text.encode("utf-8", "surrogateescape")) - (each.end - each.start)
            for each in replacements
            if each.end <= string.start and each not in inside
        )
        if not _holds(edited, start, wanted):
            raise Refused("the string of the Python file cannot hold the change")


def kernels_in(data: bytes) -> list[str]:
    """The kernels that strings of a Python file define, and those of Triton; none where it cannot be read."""
    if b"__global__" not in data and b"triton" not in data:
        return []
    try:
        tree = PythonSource(data).tree
    except Refused:
        return []
    found = [name for _, text in _strings(tree) for name in _defined(text)]
    found += [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and is_triton(node)]
    return list(dict.fromkeys(found))


def is_triton(function: ast.FunctionDef) -> bool:
    """Whether a function is a kernel of Triton: decorated by ``triton.jit``, maybe among others."""
    return any(ast.unparse(each).partition("(")[0] == "triton.jit" for each in function.decorator_list)


def last_name(function: ast.expr) -> str:
    """The name of a called function, without what it belongs to."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return "a function without a name"


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """An argument of a call, by its place or its name; None where it is not given so."""
    if place < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
        return call.args[place]
    return next((each.value for each in call.keywords if each.arg == name), None)


def _parsed(data: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know, in the user's files
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("the Python file cannot be parsed") from None


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARIES


def _binds(node: ast.AST) -> Iterator[str]:
    """The names that a node gives a meaning; ``*`` where they are not known."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]


def _strings(tree: ast.Module) -> Iterator[tuple[ast.Constant | ast.JoinedStr, str]]:
    """The strings of a file with their values; what an f-string inserts is a 0 there."""
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node, "".join(str(each.value) if isinstance(each, ast.Constant) else "0" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node, node.value


def _defined(text: str) -> list[str]:
    """The kernels that a text defines."""
    if "__global__" not in text:
        return []
    from ncuview.catalogue.signature import definitions  # loads NumPy

    return [each.name for each in definitions(text)]


def _makes(call: ast.Call, kernel: str) -> bool:
    """Whether a ``RawKernel`` is this one of the kernels in its string."""
    match argument(call, 1, "name"):
        case ast.Constant(value=str(name)):
            return name == kernel
    raise Refused(f"line {call.lineno} compiles a kernel by a name that is no constant")


def _value(text: bytes) -> str:
    """The value of a literal without escapes: Python reads Windows line ends as line feeds."""
    return text.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")


def _literals(written: bytes) -> list[str]:
    """The string literals in the text of an expression."""
    try:
        tokens = list(tokenize.tokenize(BytesIO(written).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [each.string for each in tokens if each.type == tokenize.STRING]


def _holds(data: bytes, start: int, text: bytes) -> bool:
    """Whether a Python file has a literal with this text at this byte, as it is written."""
    try:
        source = PythonSource(data)
    except Refused:
        return False
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and node.value == _value(text):
            first, last = source.span(node)
            found = _LITERAL.fullmatch(data[first:last])
            if found is not None and (first + found.start("text"), found["text"]) == (start, text):
                return True
    return False
