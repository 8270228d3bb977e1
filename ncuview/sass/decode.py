"""Decode the text of one SASS instruction: ``decode`` -> ``Instruction``, by the opcode table in ``isa``.

The result names opcode, operands, registers defined and used, guard, memory access and jump target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ncuview.sass import isa
from ncuview.sass.instruction import Guard, Instruction, Memory

_TEXT = re.compile(
    r"\s*(?:@(?P<negated>!?)(?P<guard>U?P(?:\d|T))\s+)?(?P<opcode>[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?:\s(?P<rest>.*))?$"
)
_COMMENT = re.compile(r"\(\*.*?\*\)|/\*.*?\*/")
_REGISTER = re.compile(r"[-+~|!]*(?P<file>U?[RP])(?P<number>\d{1,3}|[ZT])(?P<suffix>[.|]\S*)?(?:\s|$)", re.ASCII)
_BRACKETS = re.compile(r"(?P<kind>\w*)\[(?P<inside>[^\]]*)\]")
_TERM = re.compile(r"\b(?P<file>U?R)(?P<number>\d{1,3})\b(?P<suffix>[.\w]*)|(?P<offset>-?0x[0-9a-f]+)", re.ASCII)
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+$")
_PREDICATE_FILES = {"PR": "P", "UPR": "UP"}
"""How P2R and R2P name all predicates; the last operand is a mask of them."""
_PREDICATES = 7
_DESCRIBED_BY_PAIRS = frozenset({"desc", "cx"})
_JUMPS = frozenset({"BRA", "CALL", "JMP"})


class _Shape(NamedTuple):
    """What the opcode alone determines; a width of 0 depends on the operands."""

    row: isa.Operation
    modifiers: tuple[str, ...]
    definitions: tuple[int, ...]
    sources: tuple[int, ...]
    wide: bool


class _Address(NamedTuple):
    """The content of the brackets of one operand."""

    base: tuple[str, ...]
    uniform: tuple[str, ...]
    offset: int


@lru_cache(maxsize=1 << 16)
def decode(text: str) -> Instruction:
    """Decode an instruction.

    A text that is not an instruction gives an empty opcode without definitions and uses. An opcode that the table does
    not cover defines and uses each of its registers and predicates.
    """
    found = _TEXT.match(_clean(text))
    if not found:
        return Instruction("", "", (), None, frozenset(), frozenset(), None, None)
    negated, named, opcode, rest = found.groups()
    operands = tuple([part.strip() for part in (rest or "").replace(".reuse", "").split(",")])
    shape, form = _shape_of(opcode), isa.Form(opcode, operands)
    definitions, first = _definitions(shape, form)
    uses: set[str] = set()
    addresses: list[_Address] = []
    for position, operand in enumerate(operands[first:]):
        width = _source_width(shape, form, position)
        if "[" in operand:
            # LDGSTS names its target in shared memory first; .E describes the other address.
            wide = shape.wide and (position > 0 or shape.row.access != "copy")
            address = _address(operand, width, wide=wide)
            uses.update(address.base, address.uniform)
            addresses.append(address)
        elif operand in _PREDICATE_FILES:
            uses.update(_masked_predicates(operand, operands))
        else:
            uses.update(_registers(operand, width))
    if not shape.row.known:
        definitions |= uses
    return Instruction(
        opcode,
        opcode.partition(".")[0],
        operands,
        Guard(named, negated=bool(negated)) if named and named[-1] != "T" else None,
        frozenset(definitions),
        frozenset(uses),
        _memory(shape, addresses) if addresses else None,
        _target(opcode, operands),
    )


def _clean(text: str) -> str:
    """An instruction without nvdisasm's comments and the semicolon."""
    if "*" in text:
        text = _COMMENT.sub("", text)
    return text.partition(";")[0].rstrip()


@lru_cache(maxsize=1 << 12)
def _shape_of(opcode: str) -> _Shape:
    row, form = isa.operation(opcode), isa.Form(opcode, ())
    widths = [each.width for each in row.definitions], row.sources
    definitions, sources = (
        tuple(0 if each in isa.DEPEND_ON_OPERANDS else isa.width(each, form) for each in letters) for letters in widths
    )
    return _Shape(row, form.modifiers, definitions, sources, "E" in form.modifiers)


def _definitions(shape: _Shape, form: isa.Form) -> tuple[set[str], int]:
    """What an instruction defines, and how many of its operands are definitions."""
    definitions: set[str] = set()
    position = 0
    for each, width in zip(shape.row.definitions, shape.definitions, strict=True):
        operand = form.operands[position] if position < len(form.operands) else ""
        if _kind(operand) == each.kind:
            if operand in _PREDICATE_FILES:
                definitions.update(_masked_predicates(operand, form.operands))
            # RZ in place of the upper components of a texture keeps its width of 0.
            elif width or (width := isa.width(each.width, form)):
                definitions.update(_registers(operand, width))
            position += 1
    return definitions, position


def _source_width(shape: _Shape, form: isa.Form, position: int) -> int:
    if position < len(shape.sources):
        return shape.sources[position] or isa.width(shape.row.sources[position], form)
    return 1 if shape.row.known else isa.width("w", form)


@lru_cache(maxsize=1 << 12)
def _kind(operand: str) -> str:
    """``p`` for a predicate that may be defined, ``d`` for a register, else nothing."""
    found = _REGISTER.match(operand)
    if operand in _PREDICATE_FILES or (found and found["file"].endswith("P")):
        return "" if operand[0] == "!" else "p"
    return "d" if found and operand[0] in "RU" else ""


@lru_cache(maxsize=1 << 14)
def _registers(operand: str, width: int) -> tuple[str, ...]:
    """The registers or the predicate that an operand without brackets stands for."""
    found = _REGISTER.match(operand)
    if not found or found["number"] in {"Z", "T"}:
        return ()
    file, number = found["file"], int(found["number"])
    if file.endswith("P"):
        return (f"{file}{number}",)
    return _group(file, number, max(width, 2) if found["suffix"] == ".64" else width)


def _masked_predicates(operand: str, operands: Sequence[str]) -> list[str]:
    """The predicates that PR stands for; the last operand is a mask of them."""
    mask = int(operands[-1], 16) if _HEXADECIMAL.match(operands[-1]) else -1
    return [f"{_PREDICATE_FILES[operand]}{number}" for number in range(_PREDICATES) if mask >> number & 1]


def _group(file: str, number: int, width: int) -> tuple[str, ...]:
    return tuple([f"{file}{each}" for each in range(number, number + width)])


@lru_cache(maxsize=1 << 14)
def _address(operand: str, width: int, *, wide: bool) -> _Address:
    """The address of an operand with brackets: ``desc[UR4][R2.64+0x10]``, ``c[0x0][R4+0x160]``, ``[R3+UR5]``.

    Its first register has the given width, and those of descriptors are pairs. A wide address is a pair, or 32 bits
    (.U32) that are added to a pair of uniform registers.
    """
    brackets = list(_BRACKETS.finditer(operand))
    base: tuple[str, ...] = ()
    uniform: tuple[str, ...] = ()
    offset = 0
    for place, each in enumerate(brackets):
        is_address = place == len(brackets) - 1
        expected = 2 if each["kind"] in _DESCRIBED_BY_PAIRS else width
        full = wide and is_address
        for term in _TERM.finditer(each["inside"]):
            if term["offset"]:
                offset += int(term["offset"], 16) if is_address else 0
                continue
            narrow = term["suffix"].startswith(".U32")
            pair = term["suffix"] == ".64" or (full and not narrow)
            group = _group(term["file"], int(term["number"]), max(expected, 2) if pair else expected)
            if term["file"] == "R":
                base += group
            else:
                uniform += group
            expected, full = 1, full and narrow
    return _Address(base, uniform, offset)


def _memory(shape: _Shape, addresses: list[_Address]) -> Memory | None:
    """The memory access. For a copy with two addresses it is the source, which comes last."""
    row = shape.row
    if row.space is None or row.access is None:
        return None
    address = addresses[-1]
    uniform = [name for each in addresses for name in each.uniform] if row.pipe == "tma" else address.uniform
    return Memory(
        row.space,
        row.access,
        isa.moved_bytes(row, shape.modifiers),
        address.base,
        tuple(dict.fromkeys(uniform)),
        address.offset,
    )


def _target(opcode: str, operands: tuple[str, ...]) -> int | None:
    """The address that an instruction jumps to or calls; None where a register or a label alone gives it.

    ncu prints some jumps as nvdisasm does, with the address after the label: "BRA `(.L_x_0) 0xe80".
    """
    named = operands[-1].rpartition(" ")[2]
    if opcode.partition(".")[0] in _JUMPS and _HEXADECIMAL.match(named):
        return int(named, 16)
    return None
