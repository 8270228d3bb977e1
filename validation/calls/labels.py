"""The programs whose calls are judged: their sources, their authors' labels, and what their steps took."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Mapping
from functools import cache
from math import nan
from pathlib import Path
from typing import Any, Literal, NamedTuple

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TIMES = HERE / "times.json"
GROUPS = {"in view": ("q001", "q034"), "opened on 2026-11-26": ("q201", "q226")}
"""The first and the last program of each set; a set that was held out says since when it is not."""
IN_VIEW = "in view"

Unit = Literal["kernel_ms", "wall_ms"]
"""What of a step is shorter after a change."""


class Place(NamedTuple):
    """A statement of a program, or one of its functions: its first and its last line."""

    first: int
    last: int

    def __contains__(self, line: object) -> bool:
        """Whether a line is one of it."""
        return isinstance(line, int) and self.first <= line <= self.last


@cache
def sources() -> dict[str, Path]:
    """Program -> its source: ``q003`` -> ``programs/q003_wide_mlp_train.py``."""
    return {source.name.partition("_")[0]: source for source in sorted(PROGRAMS.glob("q*.py"))}


def programs_of(group: str) -> list[str]:
    """The programs of a group."""
    first, last = GROUPS[group]
    return [program for program in sources() if first <= program <= last]


def labels_of(source: Path) -> dict[str, dict[str, Any]]:
    """Variant -> what the author says of it, in the author's order."""
    text = source.with_suffix(".toml").read_text(encoding="utf-8")
    return {label["name"]: label for label in tomllib.loads(text)["variant"]}


def texts_of(label: Mapping[str, Any]) -> list[str]:
    """The texts of the lines to change."""
    return [text for text in (label.get("call"), *label.get("calls", [])) if text]


def statements_with(text: str, source: str) -> list[Place]:
    """The statements of a program with this text in one of their lines, without the bodies of loops and functions."""
    lines = [number for number, line in enumerate(source.splitlines(), 1) if text in line]
    return [_innermost(_statements(source), line) for line in lines]


def functions_of(source: str) -> list[Place]:
    """The functions of a program."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return [Place(node.lineno, node.end_lineno or node.lineno) for node in found]


def calls_of_function_with(line: int, source: str) -> set[int]:
    """The lines that call the functions with a line, by name: a function that a compiler runs leaves no frame."""
    nodes = list(ast.walk(ast.parse(source)))
    defined = (node for node in nodes if isinstance(node, ast.FunctionDef))
    names = {node.name for node in defined if node.lineno <= line <= (node.end_lineno or node.lineno)}
    calls = (node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return {node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id in names}


def unit_of(label: Mapping[str, Any]) -> Unit:
    """What the labelled change makes shorter."""
    return "wall_ms" if label.get("saves") == "wall" else "kernel_ms"


def gain(source: Path, before: str, after: str, unit: Unit) -> float:
    """How many times faster a variant is than another; NaN where one was not measured."""
    return took_ms(source, before, unit) / took_ms(source, after, unit)


def took_ms(source: Path, variant: str, unit: Unit) -> float:
    """What a step of a variant took, in ms; NaN where it was not measured."""
    return float(times().get(source.stem, {}).get(variant, {}).get(unit, nan))


@cache
def times() -> dict[str, dict[str, Any]]:
    """Program -> variant -> what its step took."""
    found: dict[str, dict[str, Any]] = json.loads(TIMES.read_text(encoding="utf-8"))
    return found


@cache
def _statements(source: str) -> tuple[Place, ...]:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    return tuple(_head(node) for node in found)


def _head(node: ast.stmt) -> Place:
    """The lines of a statement before the body that it may have."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    return Place(node.lineno, max(node.lineno, last))


def _innermost(places: tuple[Place, ...], line: int) -> Place:
    around = [place for place in places if line in place]
    return min(around, key=lambda place: place.last - place.first, default=Place(line, line))
