"""Prove from a Python file how a kernel in one of its strings is launched: ``python_launch`` takes a ``Kernel``.

CuPy: ``RawKernel(source, "k")``, or ``RawModule(code=source).get_function("k")``, and ``k(grid, block, arguments)``.
PyCUDA: ``SourceModule(source).get_function("k")``, and ``k(*arguments, block=..., grid=...)``.
Other ways are refused, and so are several launches.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel
from ncuview.patch.python_source import PythonSource, argument, last_name
from ncuview.records.profile import Extent

_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
}
_INTEGERS = frozenset({"int", "int32", "uint32", "int64", "uint64"})
_LARGEST = 1 << 40
_DEEPEST = 16
_ALLOCATES = frozenset(
    {"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "arange", "linspace"}
    | {"rand", "randn", "random", "randint", "standard_normal", "uniform", "array", "copy"}
    | {"mem_alloc", "to_gpu", "to_device"}
)
"""Functions that return new memory, of CuPy, NumPy and PyCUDA."""
_KEEPS = frozenset({"astype", "reshape", "ravel"})
"""Methods whose result overlaps nothing but the array that they are of."""
_OF_A_MODULE = frozenset({"get_global", "get_texref"})


@dataclass(frozen=True)
class PythonLaunch:
    """The only launch of a kernel in a Python file."""

    python: PythonSource
    line: int
    grid: ast.expr
    block: ast.expr
    arguments: Sequence[ast.expr]

    def extent(self, what: str) -> Extent:
        """The grid or block, where it is constant.

        Raises:
            Refused: It is not.
        """
        node = self.grid if what == "grid" else self.block
        sizes = [constant(self.python, each) for each in _elements(self.python, node) or ()]
        x, y, z = [*sizes, 1, 1, None][:3]
        if x is None or y is None or z is None or min(x, y, z) < 1 or not sizes:
            raise Refused(f"the {what} of the launch on line {self.line} is not a constant of this file")
        return x, y, z

    @property
    def grid_places(self) -> list[tuple[int, int]]:
        """The bytes of each extent of the grid that is written in the call."""
        return [self.python.span(each) for each in self.grid.elts] if isinstance(self.grid, ast.Tuple) else []

    def divided(self, axis: int, by: int, *, exact: bool) -> Replacement:
        """One axis of the grid divided, rounded up unless it is exact.

        Raises:
            Refused: It is not written in the call, or not divisible.
        """
        if not isinstance(self.grid, ast.Tuple):
            raise Refused(f"the grid of the launch on line {self.line} is not written in its call")
        if axis >= len(self.grid.elts):
            raise Refused(f"the grid of the launch on line {self.line} has no axis {'xyz'[axis]}")
        node = self.grid.elts[axis]
        value, (start, end), text = constant(self.python, node), self.python.span(node), self.python.text(node)
        if exact and (value is None or value % by):
            raise Refused(f"the grid of the launch on line {self.line} is not a multiple of {by}")
        if isinstance(node, ast.Constant) and value is not None:
            return Replacement(start, end, str(-(-value // by)))
        tight = isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        if exact:
            return Replacement(start, end, f"{text} // {by}" if tight else f"({text}) // {by}")
        if tight or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mult)):
            return Replacement(start, end, f"({text} + {by - 1}) // {by}")
        return Replacement(start, end, f"(({text}) + {by - 1}) // {by}")

    def distinct(self, places: Sequence[int]) -> bool:
        """Whether the arguments at these places are arrays that the file allocates apart from each other.

        Raises:
            Refused: One is passed twice.
        """
        names = [each.id if isinstance(each, ast.Name) else "" for each in (self.arguments[at] for at in places)]
        if twice := next((name for name in names if name and names.count(name) > 1), ""):
            raise Refused(f"the launch on line {self.line} passes {twice} twice, so the pointers may overlap")
        values = [self.python.value_of(name) for name in names]
        return all(value is not None and _is_new(self.python, value) for value in values)

    def reaches(self, axis: int, bound: int | None, place: int) -> bool:
        """Whether the threads along an axis are as many as a bound.

        Args:
            axis: 0 for x, 1 for y, 2 for z.
            bound: The bound, if the CUDA source fixes it.
            place: Else the argument that is the bound.
        """
        threads = self.extent("block")[axis]
        grid = _elements(self.python, self.grid) or ()
        end = bound if bound is not None else constant(self.python, self.arguments[place])
        if axis >= len(grid):
            return end is not None and end <= threads
        blocks = constant(self.python, grid[axis])
        if end is not None or blocks is not None:
            return end is not None and blocks is not None and blocks * threads >= end
        return self._is_quotient(grid[axis], threads, self.arguments[place])

    def _is_quotient(self, node: ast.expr, by: int, of: ast.expr) -> bool:
        """Whether an expression is ``(of + by - 1) // by``, of a variable that has one value."""
        of = of.args[0] if isinstance(of, ast.Call) and last_name(of.func) in _INTEGERS and of.args else of
        if not _is_variable(of):
            return False
        if isinstance(node, ast.Name) or not isinstance(self.grid, ast.Tuple):
            if not self.python.is_settled(ast.unparse(of)):
                return False  # the grid is computed before the launch, where the variable may have another value
            node = (self.python.value_of(node.id) or node) if isinstance(node, ast.Name) else node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
            return False
        name, more = _sum(self.python, node.left)
        return name == ast.unparse(of) and more == by - 1 and constant(self.python, node.right) == by


def python_launch(kernel: Kernel) -> PythonLaunch | None:
    """The launch of a kernel by Python; None where its source is no string of a Python file, or launches it itself.

    Raises:
        Refused: It is not the only one, or is written in a way that is not understood.
    """
    python, string = kernel.program.python, kernel.program.string
    if python is None or string is None or string.compiler == "load_inline":
        return None
    made = string.compiled if string.compiler == "RawKernel" else _function_of(python, string.compiled, kernel.name)
    called = _used(python, made, f"the kernel {kernel.name}")
    calls = [outer for use in called if isinstance(outer := python.parents[use], ast.Call) and outer.func is use]
    if len(calls) != len(called):
        name = python.text(called[0])
        raise Refused(f"the file uses {name if len(name) < 40 else kernel.name} in a way that is no launch")
    if len(calls) != 1:
        raise Refused(f"{kernel.name} is launched in {len(calls)} places")
    (call,) = calls
    unpacked = any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords)
    of_cupy = string.compiler != "SourceModule"
    grid, block = (argument(call, 0, "grid"), argument(call, 1, "block")) if of_cupy else _by_name(call)
    passed = argument(call, 2, "args") if of_cupy else ast.Tuple(list(call.args))
    if unpacked or grid is None or block is None or not isinstance(passed, ast.Tuple | ast.List):
        raise Refused(f"the launch on line {call.lineno} is written in a way that is not understood")
    if len(passed.elts) != len(kernel.parameters) or any(isinstance(each, ast.Starred) for each in passed.elts):
        raise Refused(f"the launch on line {call.lineno} does not give every argument")
    return PythonLaunch(python, call.lineno, grid, block, passed.elts)


def check_in_python(kernel: Kernel, replacements: Sequence[Replacement]) -> None:
    """Require of a kernel in a Python file that a change lies in its string, or in the grid of its launch.

    Raises:
        Refused: It does not, or the string cannot hold it.
    """
    python, string = kernel.program.python, kernel.program.string
    if python is None or string is None:
        return
    inside = all(string.start <= each.start and each.end <= string.end for each in replacements)
    launch = None if inside else python_launch(kernel)
    python.check(string, replacements, launch.grid_places if launch else ())


def _by_name(call: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    given = {each.arg: each.value for each in call.keywords}
    return given.get("grid"), given.get("block")


def _used(python: PythonSource, value: ast.expr, what: str) -> list[ast.expr]:
    uses = python.uses(value)
    if uses is None:
        raise Refused(f"{what} is not kept in one name")
    return uses


def _function_of(python: PythonSource, module: ast.Call, kernel: str) -> ast.Call:
    """The call that takes a kernel out of a compiled module."""
    found = []
    for use in _used(python, module, "the compiled module"):
        outer = python.parents[use]
        call = python.parents[outer] if isinstance(outer, ast.Attribute) else None
        if not isinstance(outer, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not outer:
            raise Refused(f"line {use.lineno} uses the compiled module in a way that is not understood")
        if outer.attr in _OF_A_MODULE:
            continue
        name = argument(call, 0, "name")
        if outer.attr != "get_function" or not isinstance(name, ast.Constant):
            raise Refused(f"line {use.lineno} takes a kernel by a name that is no constant")
        if str(name.value).partition("<")[0].rpartition("::")[2] == kernel:
            found.append(call)
    if len(found) != 1:
        raise Refused(f"{kernel} is taken out of its module in {len(found)} places")
    return found[0]


def _elements(python: PythonSource, node: ast.expr) -> Sequence[ast.expr] | None:
    """The extents of a tuple, written here or where its only name is assigned."""
    named = python.value_of(node.id) if isinstance(node, ast.Name) else node
    return named.elts if isinstance(named, ast.Tuple) and len(named.elts) <= 3 else None


def constant(python: PythonSource, node: ast.expr, depth: int = 0) -> int | None:
    """The value of an integer expression, or None where the file alone does not fix it."""
    value: int | None = None
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            value = number
        case ast.Name(id=name) if (named := python.value_of(name)) is not None and depth < _DEEPEST:
            value = constant(python, named, depth + 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = constant(python, operand, depth)
            value = None if inner is None else -inner
        case ast.Call(args=[only], keywords=[]) if last_name(node.func) in _INTEGERS:
            value = constant(python, only, depth)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            one, other = constant(python, left, depth), constant(python, right, depth)
            shifts = isinstance(op, ast.LShift) and other is not None and not 0 <= other < 40
            divides = isinstance(op, ast.FloorDiv | ast.Mod) and other == 0
            if one is not None and other is not None and not shifts and not divides:
                value = _OPERATIONS[type(op)](one, other)
    return value if value is None or abs(value) <= _LARGEST else None


def _is_variable(node: ast.expr) -> bool:
    """Whether an expression is a name, or an attribute such as ``x.size``."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_variable(node.value))


def _sum(python: PythonSource, node: ast.expr) -> tuple[str, int]:
    """A variable and the constant that is added to it; without name where the expression is none."""
    if _is_variable(node):
        return ast.unparse(node), 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        name, sign = _sum(python, node.left), -1 if isinstance(node.op, ast.Sub) else 1
        more = constant(python, node.right)
        if more is not None:
            return name[0], name[1] + sign * more
    return "", 0


def _is_new(python: PythonSource, value: ast.expr) -> bool:
    """Whether an expression is an array in memory of its own."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, of = value.func.attr, value.func.value
    if any(each.arg in {"copy", "out"} for each in value.keywords):
        return False
    root = of
    while isinstance(root, ast.Attribute):
        root = root.value
    of_library = isinstance(root, ast.Name) and root.id in python.libraries
    return (name in _ALLOCATES and of_library) or (name in _KEEPS and _is_new(python, of))
