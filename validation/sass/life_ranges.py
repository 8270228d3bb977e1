"""Definitions and uses of each instruction of a cubin, as the life ranges of ``nvdisasm -lrm narrow`` mark them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PREFIXES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
_INSTRUCTION = re.compile(r"\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>.*?)\s*;\s*// \|(?P<table>.*)\|$")
_RULE = re.compile(r"// \+-[-+]*\+$")
_TABLE = re.compile(r"// \|(?P<table>.*)\|$")
_DEFINED, _USED = "^x", "vx"


@dataclass(frozen=True)
class Marked:
    """An instruction and what its row of the table marks.

    Attributes:
        address: In bytes from the function's start.
        text: As disassembled, without the semicolon; jump targets are labels.
        definitions: Registers and predicates that it defines.
        uses: Those that it uses, its guard's predicate among them.
        live: All that the row marks in any way.
    """

    address: int
    text: str
    definitions: frozenset[str]
    uses: frozenset[str]
    live: frozenset[str]


def listing_of(nvdisasm: Path, cubin: Path) -> str:
    """What nvdisasm prints of a cubin's code, with life ranges.

    Raises:
        CalledProcessError: nvdisasm rejects the file.
    """
    command = [str(nvdisasm), "--print-code", "--life-range-mode", "narrow", str(cubin)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def marked_functions(listing: str) -> Iterator[list[Marked]]:
    """The instructions of each function of a listing, in order."""
    columns: list[str] = []
    header: list[str] = []
    rules = 0
    instructions: list[Marked] = []
    for line in listing.splitlines():
        if _RULE.search(line):
            rules += 1
            if rules == 1:
                if instructions:
                    yield instructions
                header, instructions = [], []
            elif rules == 2:
                columns = _columns(header)
            else:  # the rule below a function; its legend follows the last one
                rules = 0
        elif rules == 1 and (row := _TABLE.search(line)):
            header.append(row["table"])
        elif rules == 2 and (found := _INSTRUCTION.match(line)):
            instructions.append(_marked(found, columns))
    if instructions:
        yield instructions


def _columns(header: list[str]) -> list[str]:
    """The register of each character of a row; empty where there is none.

    The first row of a header names the register files between bars; the rows of digits below give the numbers, one
    digit per row.
    """
    files = [name for part in header[0].split("|") for name in [_PREFIXES[part.strip()]] * len(part) + [""]][:-1]
    digits = ["".join(column).strip() for column in zip(*header[1:], strict=True)]
    return [file + str(int(number)) if number.isdigit() else "" for file, number in zip(files, digits, strict=True)]


def _marked(found: re.Match[str], columns: list[str]) -> Marked:
    marks = [(name, mark) for name, mark in zip(columns, found["table"], strict=True) if name and mark != " "]
    return Marked(
        address=int(found["address"], 16),
        text=found["text"],
        definitions=frozenset(name for name, mark in marks if mark in _DEFINED),
        uses=frozenset(name for name, mark in marks if mark in _USED),
        live=frozenset(name for name, _ in marks),
    )
