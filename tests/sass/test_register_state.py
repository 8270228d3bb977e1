"""A loop over instructions that carries the state of registers stands in ``sass.dataflow`` and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ncuview
from tests.together import together

PACKAGE = Path(ncuview.__file__).parent
ANALYSES = ("sass", "metrics", "engine", "catalogue", "render")
OTHERS = sorted(
    path
    for package in ANALYSES
    for path in (PACKAGE / package).rglob("*.py")
    if path != PACKAGE / "sass" / "dataflow.py"
)
REGISTERS = {"definitions", "uses", "defines"}
"""Attributes of instructions that name registers."""
INSTRUCTIONS = {"instructions", "texts", "effects", "found"}
"""What a loop over instructions goes over, also by way of ``enumerate`` and ``zip``."""
CHANGES = {"add", "append", "clear", "discard", "extend", "pop", "remove", "setdefault", "update"}
"""Methods that change what they are called on."""


def loops_with_register_state(source: str) -> list[int]:
    """The lines of loops over instructions that look at registers and keep something from one for a later one.

    A name is kept where the loop changes it and reads it, and it is there before the loop. A search along the chains of
    ``dataflow``, from position to position, goes over no listing and may keep what it has seen.
    """
    loops = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For))
    return [loop.lineno for loop in loops if _is_over_instructions(loop) and _names_registers(loop) and _carried(loop)]


def _is_over_instructions(loop: ast.For) -> bool:
    names = {node.attr for node in ast.walk(loop.iter) if isinstance(node, ast.Attribute)}
    return bool(INSTRUCTIONS & (names | {node.id for node in ast.walk(loop.iter) if isinstance(node, ast.Name)}))


def _names_registers(loop: ast.For) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in REGISTERS for node in ast.walk(loop))


def _carried(loop: ast.For) -> set[str]:
    """Names that one iteration changes and another reads."""
    changed, only_written = _changed(loop), _stores(loop)
    own = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    read: dict[str, int] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read[node.id] = read.get(node.id, 0) + 1
    first = _assigned_before_read(loop)
    return {name for name in changed - own - first if read.get(name, 0) > only_written.get(name, 0)}


def _changed(loop: ast.For) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(loop):
        match node:
            case ast.Assign(targets=targets):
                found |= {name for target in targets for name in _bases(target)}
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found |= set(_bases(target))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in CHANGES:
                found.add(name)
            case ast.Delete(targets=targets):
                found |= {name for target in targets for name in _bases(target)}
            case _:
                pass
    return found


def _bases(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Attribute(value=value):
            yield from _bases(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _bases(part)
        case _:
            pass


def _stores(loop: ast.For) -> dict[str, int]:
    """How often a name is read only to store in it: ``weights[position] = ...``, ``found.append(...)``."""
    found: dict[str, int] = {}
    for node in ast.walk(loop):
        names: list[str] = []
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                names = [name]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add" | "update" | "extend"))
            ):
                names = [name]
            case _:
                pass
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found


def _assigned_before_read(loop: ast.For) -> set[str]:
    """Names that each iteration sets anew by a plain assignment at its top level before it reads them."""
    fresh: set[str] = set()
    seen: set[str] = set()
    for statement in loop.body:
        read = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            read = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
            seen |= read
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                names = (
                    [target] if isinstance(target, ast.Name) else target.elts if isinstance(target, ast.Tuple) else []
                )
                fresh |= {name.id for name in names if isinstance(name, ast.Name) and name.id not in seen}
        else:
            seen |= read
    return fresh


OLD_WALK = """
def fixed_loads(code):
    fixed = set()
    weights = []
    for position, each in enumerate(code.instructions):
        weights.append(bool(each.uses <= fixed))
        if each.opcode == "LDC":
            fixed |= each.definitions
        else:
            fixed -= each.definitions
    return weights
"""
IN_A_DICTIONARY = """
def depths(code):
    depth = {}
    for each in code.instructions:
        deepest = max((depth.get(name, 0) for name in each.uses), default=0)
        depth.update(dict.fromkeys(each.definitions, deepest + 1))
"""
NO_STATE = """
def weights(code):
    found = []
    for each in code.instructions:
        shared = each.uses & each.definitions
        found.append(bool(shared))
    return found
"""


def test_a_loop_with_state_is_found_and_others_are_not() -> None:
    assert loops_with_register_state(OLD_WALK) == [5]
    assert loops_with_register_state(IN_A_DICTIONARY) == [4]
    assert loops_with_register_state(NO_STATE) == []


@together("path", OTHERS)
def test_no_register_state_outside_data_flow(path: Path) -> None:
    assert loops_with_register_state(path.read_text(encoding="utf-8")) == []
