"""The labelled programs: their sources, what their authors say of each launch, and the sets that they belong to."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer

HERE = Path(__file__).resolve().parent
REPORTS = HERE / "h200"
"""What measure.py and variants.py recorded on an NVIDIA H200."""
PROGRAMS = HERE / "programs"
ELSEWHERE = HERE / "h100"
"""What measure.py recorded on an NVIDIA H100."""


@dataclass(frozen=True)
class ProgramSet:
    """Programs that were written together, and evaluated for the first time together."""

    name: str
    programs: frozenset[str]


@cache
def sets() -> tuple[ProgramSet, ...]:
    """The sets of sets.toml, in its order."""
    tables = tomllib.loads((HERE / "sets.toml").read_text(encoding="utf-8"))["set"]
    return tuple(ProgramSet(table["name"], frozenset(_programs(table["programs"]))) for table in tables)


def _programs(ranges: Iterable[str]) -> Iterator[str]:
    for numbers in ranges:
        first, _, last = numbers.partition("-")
        yield from (f"p{number:03}" for number in range(int(first), int(last or first) + 1))


@cache
def sources() -> dict[str, Path]:
    """Program -> its source: ``p058`` -> ``programs/p058-grey-bilateral-filter.cu``."""
    return {source.name.partition("-")[0]: source for source in sorted(PROGRAMS.glob("p*.cu"))}


def known_programs(names: list[str] | None) -> list[str] | None:
    """The names of programs on a command line, each of which must exist."""
    for name in names or ():
        if name not in sources():
            raise typer.BadParameter(f"no program {name!r} in {PROGRAMS}")
    return names


def labels_of(program: str) -> list[dict[str, Any]]:
    """What its author says of each launch of a program, in their order."""
    text = sources()[program].with_suffix(".toml").read_text(encoding="utf-8")
    labels: list[dict[str, Any]] = tomllib.loads(text)["launch"]
    return labels
