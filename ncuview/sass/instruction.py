"""Dataclasses of one decoded SASS instruction: ``Instruction``, its ``Guard`` (predicate) and its ``Memory`` access.

They hold opcode, operands, registers defined and used, address space, bytes per thread and jump target.
``loaded_from`` gives the address space that an instruction's results come from, ``register`` the name in an operand's
text: ``R4`` of ``-|R4|``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Space = Literal["global", "shared", "local", "generic", "constant", "texture", "surface", "distributed", "tensor"]
_REGISTER_BYTES = 4
Access = Literal["load", "store", "atomic", "reduction", "copy", "prefetch"]
_REGISTER = re.compile(r"[-+~|!]*(?P<name>U?R\d+)(?:[.|]\S*)?$", re.ASCII)

LOADS: dict[str, Space] = {
    "LDG": "global",
    "LDGMC": "global",
    "ATOMG": "global",
    "LD": "generic",
    "ATOM": "generic",
    "LDS": "shared",
    "LDSM": "shared",
    "ATOMS": "shared",
    "LDL": "local",
    "LDC": "constant",
    "ULDC": "constant",
    "LDCU": "constant",
    "TEX": "texture",
    "TEXS": "texture",
    "TLD": "texture",
    "TLD4": "texture",
    "TLD4S": "texture",
    "TLDS": "texture",
    "TMML": "texture",
    "TXD": "texture",
    "TXQ": "texture",
    "SULD": "surface",
    "SUATOM": "surface",
    "LDTM": "tensor",
}
"""The base opcodes whose results come from memory, atomics with a result too; from Volta to Blackwell."""

LANE_EXCHANGES = frozenset({"SHFL", "MATCH", "REDUX", "CREDUX"})
"""The base opcodes whose results come from other lanes of the warp, without votes."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate under which an instruction is executed: ``@!P0``."""

    predicate: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory access of an instruction.

    Attributes:
        space: The address space; ``generic`` where the code does not say which.
        access: What it does there.
        bytes: What one thread moves; 0 where the instruction does not say.
        base: The registers of the address, low half first: ``("R2", "R3")``; empty for an absolute address.
        uniform: The uniform registers that are added to it, or that hold the address or its descriptor.
        offset: The immediate that is added, in bytes.
    """

    space: Space
    access: Access
    bytes: int
    base: tuple[str, ...]
    uniform: tuple[str, ...]
    offset: int

    @property
    def register_bytes(self) -> int:
        """Bytes that one thread moves, at least those of a register; thresholds of rules were measured with these."""
        return max(self.bytes, _REGISTER_BYTES)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of SASS.

    Attributes:
        opcode: With its modifiers: ``LDG.E.128.CONSTANT``.
        base_opcode: Without them: ``LDG``.
        operands: The text of each operand, without ``.reuse``.
        guard: None where all threads execute it.
        definitions: Registers and predicates that it writes: ``R4``, ``UR6``, ``P0``, ``UP1``. RZ, PT and the like
            never appear.
        uses: Those that it reads, of addresses too; its guard's predicate is not among them.
        memory: Its memory access; None where it has none.
        target: The address in bytes that it jumps to or calls, where the code says it.
    """

    opcode: str
    base_opcode: str
    operands: tuple[str, ...]
    guard: Guard | None
    definitions: frozenset[str]
    uses: frozenset[str]
    memory: Memory | None
    target: int | None


@lru_cache(maxsize=1 << 14)
def register(operand: str) -> str:
    """The register that an operand is, of a group the first: ``R4`` of ``-|R4|``; empty where it is none."""
    found = _REGISTER.match(operand)
    return found["name"] if found else ""


def loaded_from(each: Instruction) -> Space | None:
    """The address space that an instruction's results come from; None where they do not come from memory."""
    return LOADS.get(each.base_opcode)
