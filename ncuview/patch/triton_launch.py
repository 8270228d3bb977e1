"""Other constants in the launch of a Triton kernel: ``triton_changes`` takes a Python source and a kernel's name.

Warps and stages change how a kernel runs, not what it computes, except the order of sums. A block size changes the work
of each program, so that the grid must follow it, and every access must be masked. Anything else is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ncuview.patch.patch import Edit, NoEdit, Refused, Replacement
from ncuview.patch.python_source import PythonSource, argument, is_triton

_RANGES = {"num_warps": (1, 32), "num_stages": (1, 8)}
_BLOCKS = (16, 16384)
"""The block sizes that are tried."""
_TUNES = frozenset({"autotune", "heuristics"})
_ACCESSES = {"load": 1, "store": 2, "atomic_add": 2, "atomic_max": 2, "atomic_min": 2}
"""Accesses by pointers, and the place of their mask."""


def is_triton_kernel(source: str, path: str, kernel: str) -> bool:
    """Whether a file defines a kernel of Triton."""
    if not path.endswith(".py") or "triton" not in source:
        return False
    try:
        return any(True for _ in _definitions(PythonSource(source.encode("utf-8", "surrogateescape")), kernel))
    except (Refused, UnicodeEncodeError):
        return False


def triton_changes(source: str, kernel: str) -> Iterator[Edit | NoEdit]:
    """The changes of one constant each, in the only launch of a kernel, ``kernel[grid](..., BLOCK=1024, num_warps=4)``.

    Args:
        source: The Python file's text with its own line ends.
        kernel: The kernel's name.
    """
    try:
        python = PythonSource(source.encode("utf-8", "surrogateescape"))
        function = _function(python, kernel)
        launch = _launch(python, kernel)
    except Refused as refused:
        yield NoEdit(str(refused))
        return
    constants = [(each.arg, each.value, _integer(each.value)) for each in launch.keywords if each.arg]
    given = [(name, node, value) for name, node, value in constants if value is not None]
    blocks = {each.arg for each in [*function.args.args, *function.args.kwonlyargs] if _is_constexpr(each)}
    if not any(name in blocks or name in _RANGES for name, _, _ in given):
        yield NoEdit(f"the launch of {kernel} gives no num_warps, num_stages or block size as a number")
    for name, node, value in given:
        if name in _RANGES:
            least, most = _RANGES[name]
            others = (value + 1, value - 1) if name == "num_stages" else (2 * value, value // 2)
        elif name in blocks and value >= 2 and value & (value - 1) == 0:
            (least, most), others = _BLOCKS, (2 * value, value // 2)
            try:
                _check_grid_follows(python, launch, name)
                _check_masked(function)
            except Refused as refused:
                yield NoEdit(f"{name} cannot be another: {refused}")
                continue
        else:
            continue
        start, end = python.span(node)
        for other in others:
            if least <= other <= most:
                yield Edit(
                    f"Launch {kernel} with {name}={other}", "", python.data, (Replacement(start, end, str(other)),)
                )


def _definitions(python: PythonSource, kernel: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(python.tree):
        if isinstance(node, ast.FunctionDef) and node.name == kernel and is_triton(node):
            yield node


def _function(python: PythonSource, kernel: str) -> ast.FunctionDef:
    found = list(_definitions(python, kernel))
    if len(found) != 1 or not python.is_settled(kernel):
        raise Refused(f"{kernel} is defined more than once")
    if any(ast.unparse(each).partition("(")[0].rpartition(".")[2] in _TUNES for each in found[0].decorator_list):
        raise Refused(f"{kernel} is tuned by Triton itself")
    return found[0]


def _launch(python: PythonSource, kernel: str) -> ast.Call:
    """The only launch of a kernel; it is mentioned nowhere else."""
    calls = []
    for use in python.reads(kernel):
        outer = python.parents[use]
        call = python.parents[outer]
        launches = isinstance(outer, ast.Subscript) and outer.value is use and isinstance(call, ast.Call)
        if not launches or not isinstance(call, ast.Call) or call.func is not outer:
            raise Refused(f"line {use.lineno} uses {kernel} in a way that is no launch")
        calls.append(call)
    if len(calls) != 1:
        raise Refused(f"{kernel} is launched in {len(calls)} places of this file")
    (call,) = calls
    if any(each.arg is None for each in call.keywords):
        raise Refused(f"the launch on line {call.lineno} takes constants from elsewhere")
    return call


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
    return None


def _is_constexpr(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and ast.unparse(parameter.annotation).rpartition(".")[2] == "constexpr"


def _check_grid_follows(python: PythonSource, launch: ast.Call, name: str) -> None:
    """Require that the grid is ``lambda META: (triton.cdiv(n, META["BLOCK"]), ...)``, in which nothing else names it.

    Raises:
        Refused: It is not.
    """
    grid = launch.func.slice if isinstance(launch.func, ast.Subscript) else launch.func
    made = python.value_of(grid.id) if isinstance(grid, ast.Name) else grid
    if not isinstance(made, ast.Lambda) or len(made.args.args) != 1:
        raise Refused("the grid is no lambda of the constants of the launch")
    meta = made.args.args[0].arg
    parts = made.body.elts if isinstance(made.body, ast.Tuple) else []
    uses = [node for node in ast.walk(made.body) if isinstance(node, ast.Constant) and node.value == name]
    divided = [each for each in parts if _divides_by(python, each, meta, name)]
    if len(divided) != 1 or len(uses) != 1:
        raise Refused(f"the grid does not follow {name} by triton.cdiv")


def _divides_by(python: PythonSource, node: ast.expr, meta: str, name: str) -> bool:
    """Whether an extent of the grid is ``triton.cdiv(n, META["BLOCK"])``."""
    if not isinstance(node, ast.Call) or python.text(node.func) not in {"triton.cdiv", "cdiv"} or len(node.args) != 2:
        return False
    match node.args[1]:
        case ast.Subscript(value=ast.Name(id=of), slice=ast.Constant(value=key)):
            return of == meta and key == name
    return False


def _check_masked(function: ast.FunctionDef) -> None:
    """Require that every access of a kernel has a mask, so that none leaves its array.

    Raises:
        Refused: One has none, or is made by another function.
    """
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or node in function.decorator_list:
            continue
        name = ast.unparse(node.func)
        known = name.startswith(("tl.", "triton.language.")) or name in {"range", "min", "max"} or name.endswith(".to")
        if not known:
            raise Refused(f"line {node.lineno} calls {name}, whose accesses are not known")
        last = name.rpartition(".")[2]
        mask = argument(node, _ACCESSES[last], "mask") if last in _ACCESSES else None
        masked = mask is not None and not (isinstance(mask, ast.Constant) and mask.value is None)
        if (last in _ACCESSES or last.startswith(("atomic_", "make_"))) and not masked:
            raise Refused(f"the access on line {node.lineno} has no mask")
