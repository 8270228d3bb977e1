"""Text of an instruction -> ``Instruction``; each different text is decoded once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ncuview.sass import isa
from ncuview.sass.instruction import Guard, Instruction, Memory

_TEXT = re.compile(
    r"\s*(?:@(?P<negated>!?)(?P<guard>U?P(?:\d|T))\s+)?(?P<opcode>[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?:\s(?P<rest>.*))?$"
)
_COMMENT = re.compile(r"\(\*.*?\*\)|/\*.*?\*/")
_REGISTER = re.compile(r"[-+~|!]*(?P<file>U?[RP])(?P<number>\d+|[ZT])(?P<suffix>\S*)(?:\s|$)")
_BRACKETS = re.compile(r"(?P<kind>\w*)\[(?P<inside>[^\]]*)\]")
_TERM = re.compile(r"(?P<file>U?R)(?P<number>\d+)(?P<suffix>[.\w]*)|(?P<offset>-?0x[0-9a-f]+)")
_MASK = re.compile(r"0x[0-9a-f]+$")
_PREDICATE_FILES = {"PR": "P", "UPR": "UP"}
"""How P2R and R2P name all predicates; the last operand is a mask of them."""
_PREDICATES = 7
_DESCRIBED_BY_PAIRS = frozenset({"desc", "cx"})
_JUMPS = frozenset({"BRA", "CALL", "JMP"})


@lru_cache(maxsize=1 << 16)
def decode(text: str) -> Instruction:
    """Decode an instruction.

    A text that is no instruction has an empty opcode, and neither defines nor uses anything. An opcode that the table
    does not cover defines and uses each of its registers and predicates.
    """
    found = _TEXT.match(_clean(text))
    if not found:
        return Instruction("", (), None, frozenset(), frozenset(), None, None)
    opcode, named = found["opcode"], found["guard"]
    operands = tuple(part.strip() for part in (found["rest"] or "").replace(".reuse", "").split(","))
    row, form = isa.operation(opcode), isa.Form(opcode, tuple(opcode.split(".")[1:]), operands)
    definitions, first = _definitions(row, form)
    uses: set[str] = set()
    addresses: list[_Address] = []
    for position, operand in enumerate(operands[first:]):
        width = _source_width(row, form, position)
        if "[" in operand:
            address = _address(operand, width, wide=_is_wide(row, form, position))
            uses.update(address.base, address.uniform)
            addresses.append(address)
        else:
            uses.update(_registers(operand, width, form))
    if not row.known:
        definitions |= uses
    return Instruction(
        opcode=opcode,
        operands=operands,
        guard=Guard(named, negated=bool(found["negated"])) if named and not named.endswith("T") else None,
        definitions=frozenset(definitions),
        uses=frozenset(uses),
        memory=_memory(row, form, addresses),
        target=_target(form),
    )


def _clean(text: str) -> str:
    """An instruction without the comments of nvdisasm and what ends it."""
    if "*" in text:
        text = _COMMENT.sub("", text)
    return text.partition(";")[0].strip()


def _definitions(row: isa.Operation, form: isa.Form) -> tuple[set[str], int]:
    """What an instruction defines, and how many of its operands stand for that."""
    definitions: set[str] = set()
    position = 0
    for each in row.definitions:
        operand = form.operands[position] if position < len(form.operands) else ""
        if _kind(operand) == each.kind:
            definitions.update(_registers(operand, isa.width(each.width, form), form))
            position += 1
    return definitions, position


def _kind(operand: str) -> str:
    """``p`` for a predicate that may be defined, ``d`` for a register, else nothing."""
    if operand in _PREDICATE_FILES:
        return "p"
    found = _REGISTER.match(operand)
    if not found or operand[0] in "!-~|":
        return ""
    return "p" if found["file"].endswith("P") else "d"


def _registers(operand: str, width: int, form: isa.Form) -> Iterator[str]:
    """The registers or predicates that an operand without brackets stands for."""
    if operand in _PREDICATE_FILES:
        mask = int(form.operands[-1], 16) if _MASK.match(form.operands[-1]) else -1
        file = _PREDICATE_FILES[operand]
        yield from (f"{file}{number}" for number in range(_PREDICATES) if mask >> number & 1)
        return
    found = _REGISTER.match(operand)
    if not found or not found["number"].isdigit():
        return
    file, number = found["file"], int(found["number"])
    if file.endswith("P"):
        yield f"{file}{number}"
    else:
        wide = 2 if found["suffix"] == ".64" else 1
        yield from _group(file, number, max(width, wide))


def _group(file: str, number: int, width: int) -> Iterator[str]:
    return (f"{file}{each}" for each in range(number, number + width))


def _source_width(row: isa.Operation, form: isa.Form, position: int) -> int:
    if not row.known:
        return isa.width("w", form)
    return isa.width(row.sources[position], form) if position < len(row.sources) else 1


def _is_wide(row: isa.Operation, form: isa.Form, position: int) -> bool:
    """Whether an address has 64 bits: .E says so, but not of the place in shared memory that LDGSTS fills."""
    return "E" in form.modifiers and not (row.access == "copy" and position == 0)


class _Address:
    """What stands in the brackets of one operand."""

    __slots__ = ("base", "kind", "offset", "uniform")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.base: tuple[str, ...] = ()
        self.uniform: tuple[str, ...] = ()
        self.offset = 0


def _address(operand: str, width: int, *, wide: bool) -> _Address:
    """The address that an operand with brackets gives: ``desc[UR4][R2.64+0x10]``, ``c[0x0][R4+0x160]``, ``[R3+UR5]``."""
    brackets = list(_BRACKETS.finditer(operand))
    address = _Address(brackets[0]["kind"] if brackets else "")
    for place, each in enumerate(brackets):
        described = each["kind"] in _DESCRIBED_BY_PAIRS
        last = place == len(brackets) - 1
        expected = 2 if described else width
        for term in _TERM.finditer(each["inside"]):
            if term["offset"]:
                address.offset += int(term["offset"], 16) if last else 0
                continue
            full = wide and last and not term["suffix"].startswith(".U32") and not address.base
            group = tuple(_group(term["file"], int(term["number"]), max(expected, 2 if full or term["suffix"] == ".64" else 1)))
            if term["file"] == "R":
                address.base += group
            else:
                address.uniform += group
            expected = 1
    return address


def _memory(row: isa.Operation, form: isa.Form, addresses: list[_Address]) -> Memory | None:
    """The memory access; of a copy that names both sides, its source, which is the last."""
    if row.space is None or row.access is None or not addresses:
        return None
    address = addresses[-1]
    return Memory(
        space=row.space,
        access=row.access,
        bytes=isa.moved_bytes(row, form),
        base=address.base,
        uniform=tuple(dict.fromkeys(address.uniform)),
        offset=address.offset,
    )


def _target(form: isa.Form) -> int | None:
    """The address that an instruction jumps to or calls; None where a register or a label gives it."""
    if form.opcode.partition(".")[0] not in _JUMPS or not _MASK.match(form.operands[-1]):
        return None
    return int(form.operands[-1], 16)
