"""Tables of the opcodes whose results come from memory, with the address space (``LOADS``), and of lane exchanges.

``loaded_from(instruction)`` returns the space that its results come from; None where they do not come from memory.
"""

from __future__ import annotations

from ncuview.sass.instruction import Instruction, Space

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


def loaded_from(each: Instruction) -> Space | None:
    """The address space that an instruction's results come from; None where they do not come from memory."""
    return LOADS.get(each.base_opcode)
