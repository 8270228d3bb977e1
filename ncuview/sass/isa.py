"""Table of SASS opcodes, sm_70 to sm_120: the operands each defines and uses, their widths, memory access and pipe.

``operation`` gives an opcode's row, ``pipe`` its pipe on a GPU, ``width`` and ``access_bytes`` what modifiers decide.

It covers what nvcc 13 emits for sm_75 to sm_120, checked against nvdisasm by ``validation/sass/operands.py``, and what
older releases emit for sm_70. Opcodes that no checked code holds are listed in tests/sass/test_isa.py; their rows
follow NVIDIA's list of instructions and related opcodes. An opcode without a row is unknown: the decoder takes each of
its registers as both defined and used.

A row of the table reads ``opcodes | definitions | sources | pipe | access``:

- Opcodes are separated by blanks. ``IMAD.WIDE`` covers each ``IMAD`` that has this modifier among others;
  ``U64/S64`` stands for either. The first row that covers an opcode holds, so special forms stand first.
- Definitions come first among an instruction's operands: ``p`` is a predicate, ``d`` a register or uniform register.
  Where the operand at hand is of another kind, the next definition is tried, so ``d p p`` covers
  ``IADD3 R4, R5, R6, R7`` and ``IADD3 R4, P0, P1, R5, R6, R7``.
- Sources are the widths of the operands after the definitions; what is not listed is one register wide.
- A width is the number of consecutive registers: a figure, none for 1, or a letter that stands for what the modifiers
  say (``_WIDTHS``).
- The pipe has Nsight Compute's name; ``PIPE_CHANGES`` lists where architectures differ.
- The access is an address space and the kind of access, as in ``instruction.Memory``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from ncuview.sass.instruction import Access, Space

_TABLE = """
# Floating point, 32 bits
FADD FMUL FFMA FSWZADD                    | d       |             | fma
FADD2 FMUL2 FFMA2                         | d2      | 2 2 2       | fma
FMNMX FMNMX3 FSEL FSET                    | d       |             | alu
FSETP                                     | p p     |             | alu
FCHK                                      | p       |             | xu
MUFU                                      | d       |             | xu
FRND.F64                                  | d2      | 2           | xu
FRND                                      | d       |             | xu

# Floating point, 64 bits
DADD DMUL DFMA                            | d2      | 2 2 2       | fp64
DSETP                                     | p p     | 2 2         | fp64

# Floating point, 16 bits, two in a register
HADD2 HMUL2 HFMA2                         | d       |             | fp16
HMNMX2 HSET2 VHMNMX                       | d       |             | alu
HSETP2                                    | p p     |             | fp16

# Conversions: a result of 64 bits, a source of 64 bits, both
F2F.F64.F64                               | d2      | 2           | xu
F2F.F64.F32/F16/BF16                      | d2      |             | xu
F2F.F32/F16/BF16/TF32.F64                 | d       | 2           | xu
F2I.U64/S64.F64                           | d2      | 2           | xu
F2I.U64/S64                               | d2      |             | xu
F2I.F64                                   | d       | 2           | xu
I2F.F64.U64/S64                           | d2      | 2           | xu
I2F.F64                                   | d2      |             | xu
I2F.U64/S64                               | d       | 2           | xu
F2F F2I I2F I2I                           | d       |             | xu
F2FP F2IP I2IP I2FP                       | d       |             | alu

# Integers. The addend of wide and high products has 64 bits; the upper half of a high product is its result.
IMAD.WIDE                                 | d2 p    | 1 1 2       | fmaheavy
IMAD.HI                                   | d p     | 1 1 2       | fmaheavy
IMAD                                      | d p     |             | fmaheavy
IMUL.WIDE                                 | d2      |             | fmaheavy
IMUL                                      | d       |             | fmaheavy
IDP IDP4A                                 | d       |             | fmaheavy
IADD.64 IADD3.64                          | d2 p p  | 2 2 2       | alu
IADD3 IADD                                | d p p   |             | alu
LEA.64                                    | d2 p    | 2 2         | alu
LEA                                       | d p     |             | alu
LOP3 LOP                                  | p d     |             | alu
IMNMX.64/U64/S64 VIMNMX.64/U64/S64        | p p d2  | 2 2         | alu
IMNMX VIMNMX VIMNMX3 VIADD VIADDMNMX      | d p p   |             | alu
ISETP.64/U64/S64                          | p p     | 2 2         | alu
ISETP PSETP                               | p p     |             | alu
IABS ISCADD SHF SHL SHR SGXT BMSK         | d       |             | alu
ISET VABSDIFF VABSDIFF4                   | d       |             | alu
PRMT                                      | d       |             | alu
FLO.64/U64/S64 POPC.64 BREV.64            | d       | 2           | xu
FLO                                       | d p     |             | xu
POPC BREV                                 | d       |             | xu

# Moves, selections, predicates. P2R and R2P name seven predicates by one operand, PR, and a mask.
MOV.64 SEL.64                             | d2      | 2 2         | alu
MOV MOV32I SEL                            | d       |             | alu
PLOP3                                     | p p     |             | alu
P2R                                       | d       |             | alu
R2P                                       | p       |             | alu
UR2UP                                     | p       |             | uniform
LEPC                                      | d2      |             | cbu
CS2R.32                                   | d       |             | alu
CS2R                                      | d2      |             | alu
S2R                                       | d       |             | adu
B2R                                       | d p     |             | adu
VOTE                                      | d p     |             | alu
SHFL                                      | p d     |             | lsu
MATCH.U64                                 | p d     | 2           | adu
MATCH                                     | p d     |             | adu
REDUX CREDUX                              | d       |             | alu
QSPC                                      | p d     |             | lsu
ELECT                                     | p d     |             | uniform

# Uniform data path
UIMAD.WIDE                                | d2 p    | 1 1 2       | uniform
UIMAD.HI                                  | d p     | 1 1 2       | uniform
UIADD3.64                                 | d2 p p  | 2 2 2       | uniform
UIADD3 UIMAD                              | d p p   |             | uniform
ULEA.64                                   | d2 p    | 2 2         | uniform
ULEA                                      | d p     |             | uniform
ULOP3                                     | p d     |             | uniform
UISETP.64/U64/S64                         | p p     | 2 2         | uniform
UISETP UPLOP3 UPSETP UFSETP               | p p     |             | uniform
UMOV.64 USEL.64                           | d2      | 2 2         | uniform
UMOV USEL USHF USHL USHR UPRMT USGXT      | d       |             | uniform
UBMSK UBREV UPOPC UP2UR UIABS             | d       |             | uniform
UFADD UFMUL UFFMA UFMNMX UFSEL UFSET      | d       |             | uniform
UI2F UF2I UF2F UFRND UF2FP UI2FP          | d       |             | uniform
UI2IP UF2IP UIMNMX UVIMNMX UVIADD         | d       |             | uniform
UVIADDMNMX UVIMNMX3                       | d p     |             | uniform
UFLO                                      | d p     |             | uniform
VOTEU                                     | d p     |             | uniform
S2UR                                      | d       |             | uniform
CS2UR.64                                  | d2      |             | uniform
CS2UR                                     | d       |             | uniform
R2UR                                      | p d     |             | uniform

# Memory. A wide store reads as many registers as it stores.
LDC                                       | dw      |             | adu     | constant load
ULDC LDCU                                 | dw      |             | uniform | constant load
LDG.256                                   | d4 d4   |             | lsu     | global load
LDG LDGMC                                 | p dw    |             | lsu     | global load
LD                                        | p dw    |             | lsu     | generic load
LDS                                       | dw      |             | lsu     | shared load
LDL                                       | dw      |             | lsu     | local load
STG.256                                   | -       | 1 4 4       | lsu     | global store
STG                                       | -       | 1 w         | lsu     | global store
ST                                        | -       | 1 w         | lsu     | generic store
STS                                       | -       | 1 w         | lsu     | shared store
STL                                       | -       | 1 w         | lsu     | local store
STAS                                      | -       | 1 w         | lsu     | distributed store
LDSM                                      | dm      |             | lsu     | shared load
STSM                                      | -       | 1 m         | lsu     | shared store
MOVM                                      | d       |             | alu
LDGSTS                                    | -       |             | lsu     | global copy
ATOMG                                     | p dw    | 1 w w       | lsu     | global atomic
ATOM                                      | p dw    | 1 w w       | lsu     | generic atomic
ATOMS                                     | p dw    | 1 w w       | lsu     | shared atomic
REDG RED                                  | -       | 1 w         | lsu     | global reduction
REDAS                                     | -       | 1 w         | lsu     | distributed reduction
CCTL.PF1/PF2                              | -       |             | lsu     | global prefetch
CCTL CCTLL CCTLT                          | -       |             | lsu
LDGDEPBAR DEPBAR MEMBAR ERRBAR FENCE      | -       |             | lsu
CGAERRBAR                                 | -       |             | lsu
ARRIVES                                   | -       |             | lsu
SYNCS.64                                  | p d2    | 1 2 2       | lsu
SYNCS.ARRIVE                              | p d2    |             | lsu
SYNCS                                     | p d     |             | lsu

# Textures and surfaces: the second of two groups of components stands first, and the last operand names the components.
TEX TLD TXD TLD4 TMML                     | p dh dl | c e 2       | tex     | texture load
TXQ                                       | p dh dl | 1 2         | tex     | texture load
SULD                                      | p dw    | s           | tex     | surface load
SUST                                      | -       | s w         | tex     | surface store
SUATOM                                    | p dw    | s w w       | tex     | surface atomic
SURED                                     | -       | s w         | tex     | surface reduction
SUQUERY                                   | p d     |             | tex

# Tensor cores; widths come from the shape of the tile and the types of its elements.
HMMA IMMA BMMA DMMA QMMA OMMA             | dC      | A B C       | tensor
HGMMA IGMMA BGMMA QGMMA                   | dG      | 4 f G       | tensor
WARPGROUP WARPGROUPSET                    | -       |             | tensor

# Copies and matrix products that one thread starts: Hopper's TMA, Blackwell's tensor memory
UTMALDG                                   | -       | q 2         | tma     | global copy
UTMASTG                                   | -       | o 2         | tma     | global copy
UTMAREDG                                  | -       | o 2         | tma     | global reduction
UTMAPF                                    | -       | n 2         | tma     | global prefetch
UTMACCTL                                  | -       | 2           | tma
UTMACMDFLUSH                              | -       |             | tma
UBLKCP.S.G                                | -       | 2 2         | tma     | global copy
UBLKCP.G.S                                | -       | 2 1         | tma     | global copy
UBLKCP                                    | -       | 2 2         | tma     | distributed copy
UBLKRED                                   | -       | 2 1         | tma     | global reduction
UBLKPF                                    | -       | 2           | tma     | global prefetch
UTCHMMA UTCIMMA UTCQMMA                   | -       | a 2         | tensor  | tensor copy
UTCOMMA                                   | -       | a 2 1 1 1 2 | tensor  | tensor copy
UTCCP                                     | -       | 1 2         | tensor  | tensor copy
UTCATOMSWS                                | p d     |             | tensor
UTCBAR UTCSHIFT                           | -       |             | tensor
LDTM                                      | dt      |             | tensor  | tensor load
STTM                                      | -       | 1 t         | tensor  | tensor store

# Control
BRX JMX RET CALL BRXU JMXU                | -       | 2           | cbu
BRA JMP EXIT NOP YIELD KILL               | -       |             | cbu
BREAK BSSY BSYNC WARPSYNC                 | -       |             | cbu
ENDCOLLECTIVE BPT RTT PREEXIT ACQBULK     | -       |             | cbu
NANOSLEEP USETMAXREG ACQSHMINIT           | -       |             | cbu
UVIRTCOUNT                                | -       |             | cbu
BMOV                                      | d       |             | cbu
BAR UCGABAR_ARV UCGABAR_WAIT R2B          | -       |             | adu
PMTRIG                                    | -       |             | cbu
"""

PIPE_CHANGES: Mapping[str, Mapping[int, str]] = {
    "IMAD": {80: "fmaheavy", 0: "fma"},
    "IDP": {80: "fmaheavy", 0: "fma"},
    "HADD2": {86: "fma", 0: "fp16"},
    "HMUL2": {86: "fma", 0: "fp16"},
    "HFMA2": {86: "fma", 0: "fp16"},
    "HSETP2": {86: "alu", 0: "fp16"},
    "LDC": {90: "adu", 0: "lsu"},
}
"""Base opcode -> {compute capability from which it holds, as 86: pipe}, newest first."""

_NEWEST = 121


@dataclass(frozen=True, slots=True)
class Definition:
    """One operand that may be defined.

    Attributes:
        kind: ``p`` for a predicate, ``d`` for a register or uniform register.
        width: As in the table: a figure or a letter.
    """

    kind: str
    width: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table.

    Attributes:
        definitions: In the order of the operands.
        sources: The width of each operand after them, as far as one is listed.
        pipe: Where the newest architecture executes it; empty where that is unknown.
        space: The address space that it accesses; None where it accesses no memory.
        access: What it does there.
        known: Whether the table has a row for it.
    """

    definitions: tuple[Definition, ...]
    sources: tuple[str, ...]
    pipe: str
    space: Space | None = None
    access: Access | None = None
    known: bool = True


UNKNOWN = Operation((), (), "", known=False)
"""The row of opcodes that the table does not cover."""


def opcodes() -> frozenset[str]:
    """The base opcodes that the table covers."""
    return frozenset(_ROWS)


def rows() -> Iterator[tuple[str, Operation]]:
    """The rows in order, once per opcode, which is written as in the table: ``F2I.U64/S64.F64``."""
    for base, rows_ in _ROWS.items():
        for asked, row in rows_:
            yield ".".join([base, *("/".join(sorted(each)) for each in asked)]), row


def is_known(opcode: str) -> bool:
    """Whether the table covers an opcode, with or without modifiers."""
    return operation(opcode).known


def pipe(opcode: str, capability: int = _NEWEST) -> str:
    """The pipe that executes an opcode on a compute capability such as 90; empty where that is unknown."""
    changes = PIPE_CHANGES.get(opcode.partition(".")[0], {})
    changed = next((name for since, name in changes.items() if capability >= since), None)
    return changed or operation(opcode).pipe


@lru_cache(maxsize=1 << 12)
def operation(opcode: str) -> Operation:
    """The row that covers an opcode; ``UNKNOWN`` where there is none."""
    base, *modifiers = opcode.split(".")
    return next((each for asked, each in _ROWS.get(base, ()) if _covers(asked, modifiers)), UNKNOWN)


def _covers(asked: tuple[frozenset[str], ...], modifiers: list[str]) -> bool:
    """Whether the modifiers hold those that a row asks for, in its order."""
    remaining = iter(modifiers)
    return all(any(each in alternatives for each in remaining) for alternatives in asked)


def _parsed_table() -> dict[str, list[tuple[tuple[frozenset[str], ...], Operation]]]:
    """Base opcode -> its rows in order, each with the modifiers that it asks for."""
    rows: dict[str, list[tuple[tuple[frozenset[str], ...], Operation]]] = {}
    for line in _TABLE.splitlines():
        if line and not line.startswith("#"):
            opcodes, definitions, sources, pipe_, *access = (column.strip() for column in line.split("|"))
            space, what = access[0].split() if access else (None, None)
            row = Operation(
                tuple(Definition(each[0], each[1:] or "1") for each in definitions.split() if each != "-"),
                tuple(sources.split()),
                pipe_,
                cast("Space | None", space),
                cast("Access | None", what),
            )
            for opcode in opcodes.split():
                base, *modifiers = opcode.split(".")
                rows.setdefault(base, []).append((tuple(frozenset(each.split("/")) for each in modifiers), row))
    return rows


_ROWS = _parsed_table()

_REGISTER_BITS = 32
_REGISTERS = 255
_WARP = 32
_WARPGROUP = 128
_ACCESS = re.compile(r"[USFB]?(?P<bits>8|16|32|64|96|128|256)(?:x(?P<count>\d))?$|(?:B?F16|[US]16)x(?P<halves>\d)$")
_TYPE_BITS = {
    "F64": 64, "F32": 32, "TF32": 32, "F16": 16, "BF16": 16, "E4M3": 8, "E5M2": 8, "E3M2": 8, "E2M3": 8, "E2M1": 4,
    "S8": 8, "U8": 8, "S4": 4, "U4": 4,
}  # fmt: skip


class Form:
    """What a width may depend on.

    Attributes:
        opcode: With its modifiers.
        operands: The text of each operand.
    """

    __slots__ = ("opcode", "operands")

    def __init__(self, opcode: str, operands: tuple[str, ...]) -> None:
        self.opcode = opcode
        self.operands = operands

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The opcode's parts after the first."""
        return tuple(self.opcode.split(".")[1:])

    @property
    def kind(self) -> str:
        """The first letter of a matrix product's opcode, whatever prefix names the unit that executes it."""
        return self.opcode[0]


DEPEND_ON_OPERANDS = frozenset("cehlaf")
"""Widths that the opcode alone does not give."""


def width(letter: str, form: Form) -> int:
    """The number of registers that a width of the table stands for."""
    return int(letter) if letter.isdigit() else min(_WIDTHS[letter](form), _REGISTERS)


def access_bytes(modifiers: tuple[str, ...]) -> int:
    """What one thread moves in a memory access with these modifiers, in bytes."""
    return next((bits for bits in map(_access_bits, reversed(modifiers)) if bits), _REGISTER_BITS) // 8


@lru_cache(maxsize=1 << 10)
def _access_bits(modifier: str) -> int:
    found = _ACCESS.match(modifier)
    if not found:
        return 0
    return int(found["halves"]) * 16 if found["halves"] else int(found["bits"]) * int(found["count"] or 1)


@lru_cache(maxsize=1 << 12)
def moved_bytes(row: Operation, modifiers: tuple[str, ...]) -> int:
    """What one thread moves in a memory access, in bytes; 0 where a descriptor, a tile or a format says it."""
    if row.pipe in {"tma", "tensor", "tex"} or row.access == "prefetch":
        return 0
    if "m" in row.sources or any(each.width == "m" for each in row.definitions):
        return matrix_bytes(modifiers)
    return access_bytes(modifiers)


def matrix_bytes(modifiers: tuple[str, ...]) -> int:
    """What one thread moves in LDSM or STSM: a register per matrix of eight rows of 16 bytes."""
    return 4 * (int(modifiers[-1]) if modifiers and modifiers[-1] in {"2", "4"} else 1)


def _registers(bits: int, threads: int = _WARP) -> int:
    return max(1, -(-bits // (_REGISTER_BITS * threads)))


_SHAPE = re.compile(
    r"(?P<rows>\d{1,3})x(?P<columns>\d{1,3})x(?P<depth>\d{1,3})$|(?P<short_rows>16|8)8(?P<short_depth>\d{1,3})$"
)


def _shape(form: Form) -> tuple[int, int, int]:
    """Rows, columns and depth of a tile: ``16816``, ``64x128x16``, ``168256``."""
    found = next(filter(None, map(_SHAPE.match, form.modifiers)), None)
    if not found:
        return 0, 0, 0
    if found["depth"]:
        return int(found["rows"]), int(found["columns"]), int(found["depth"])
    return int(found["short_rows"]), 8, int(found["short_depth"])


_ELEMENT_BITS = {"H": 16, "I": 8, "B": 1, "D": 64, "Q": 8, "O": 4}
"""First letter of a matrix product's opcode -> bits of an element of A and B, where no type is given."""


def _element_bits(form: Form) -> tuple[int, int, int]:
    """Bits of an element of A, of B and of the result. HMMA gives the result's type first, IMMA that of A."""
    kind = form.kind
    types = [_TYPE_BITS[each] for each in form.modifiers if each in _TYPE_BITS]
    if kind in {"I", "B"}:
        result = 32
    elif kind == "D":
        result = 64
    else:
        result = types.pop(0) if types else 32
    a, b = (types + types[:1] * 2 or [_ELEMENT_BITS[kind]] * 2)[:2]
    return a, b, result


def _a_width(form: Form) -> int:
    rows, _, depth = _shape(form)
    return _registers(rows * depth * _element_bits(form)[0] // (2 if "SP" in form.modifiers else 1))


def _b_width(form: Form) -> int:
    _, columns, depth = _shape(form)
    return _registers(columns * depth * _element_bits(form)[1])


def _c_width(form: Form) -> int:
    rows, columns, _ = _shape(form)
    return _registers(rows * columns * _element_bits(form)[2])


def _group_width(form: Form) -> int:
    """The accumulators of a warpgroup's product, of which each of four warps holds a quarter."""
    rows, columns, _ = _shape(form)
    return _registers(rows * columns * _element_bits(form)[2], _WARPGROUP)


_EXTRA_COORDINATES = {"LL": 1, "LB": 1, "LC": 1, "DC": 1, "AOFFI": 1, "MS": 1, "PTP": 2}
"""A texture access's operands besides coordinates: level, bias, comparison value, offsets, sample."""
_DIMENSIONS = {"1D": 1, "1D_BUFFER": 1, "2D": 2, "3D": 3, "CUBE": 3, "4D": 4, "5D": 5}


def _coordinates(words: tuple[str, ...]) -> int:
    """How many coordinates address a texture or surface, the index of its layer among them."""
    for word in words:
        bare = word.removeprefix("ARRAY_").removesuffix("_ARRAY")
        if bare in _DIMENSIONS:
            return _DIMENSIONS[bare] + (bare != word)
    return 1


def _texture_sources(form: Form) -> tuple[int, int]:
    """The widths of a texture access's first and second operand: coordinates; level, comparison, offsets.

    The form .SCR, of GPUs before Hopper, spreads all of them evenly over both.
    """
    coordinates = _coordinates(form.operands)
    if form.opcode.startswith("TXD"):
        return coordinates, 2 * _coordinates(tuple(each.removeprefix("ARRAY_") for each in form.operands))
    more = sum(_EXTRA_COORDINATES.get(each, 0) for each in form.modifiers)
    if "SCR" in form.modifiers:
        return (coordinates + more + 1) // 2, max(1, (coordinates + more) // 2)
    return coordinates, more or 2  # without a second operand, the pair that names the texture stands in its place


def _components(form: Form) -> int:
    """How many components a texture access returns: all four where no mask is given."""
    last = form.operands[-1] if form.operands else ""
    return int(last, 16).bit_count() if re.fullmatch("0x[0-9a-f]", last) else 4


def _tensor_memory_width(form: Form) -> int:
    """Registers of LDTM and STTM: ``.x32`` columns, of as many rows and bits as the shape says."""
    count = next((int(each[1:]) for each in form.modifiers if re.fullmatch(r"x\d{1,3}", each)), 1)
    shape = next((each for each in form.modifiers if re.fullmatch(r"\d{1,3}dp\d{1,3}bit", each)), "32dp32bit")
    rows, bits = map(int, shape.removesuffix("bit").split("dp"))
    return _registers(count * rows * bits)


_WIDTHS: Mapping[str, Callable[[Form], int]] = {
    "w": lambda form: -(-access_bytes(form.modifiers) // 4),
    "m": lambda form: matrix_bytes(form.modifiers) // 4,
    "A": _a_width,
    "B": _b_width,
    "C": _c_width,
    "G": _group_width,
    "a": lambda form: 2 if "".join(form.operands[:1]).startswith("gdesc") else 1,
    "f": lambda form: 4 if "".join(form.operands[1:2]).startswith("R") else _group_width(form),
    "t": _tensor_memory_width,
    "c": lambda form: _texture_sources(form)[0],
    "e": lambda form: _texture_sources(form)[1],
    "s": lambda form: _coordinates(form.modifiers),
    "n": lambda form: _coordinates(form.modifiers),
    "o": lambda form: _coordinates(form.modifiers) + 1,
    "q": lambda form: _coordinates(form.modifiers) + 2,
    "l": lambda form: min(_components(form), 2),
    "h": lambda form: max(_components(form) - 2, 0),
}
"""Letters of the table.

Access (w), matrices of LDSM (m); tiles A, B, C of a matrix product; accumulators of a warpgroup (G), or the descriptor
of B where A is in registers (f); A of Blackwell's product (a); tensor memory (t); coordinates of a texture (c) and what
else it takes (e); coordinates of a surface (s); the first two components of a texture (l) and the others (h);
coordinates of a tile that TMA copies (n), after an address in shared memory (o), after that and a barrier (q).
"""
