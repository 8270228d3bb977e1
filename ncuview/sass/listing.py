"""What machine code says: which instructions do what, and how values flow between them.

Everything here is a function of a kernel's code alone and gives one number per instruction, so that a launch's
quantity is the sum of these numbers times how often each instruction was executed. Code is SASS as ncu prints it, for
GPUs from Volta on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ncuview.sass import code as decoded

PREDICATE = r"^(?:@!?U?P\d+\s+)?"
GLOBAL_LOAD = re.compile(PREDICATE + r"(?:LDG|LD)\.E(?P<modifiers>\S*)\s+R(?P<register>\d+)")
GLOBAL_STORE = re.compile(PREDICATE + r"(?:STG|ST)\b")

_TEXT = re.compile(PREDICATE + r"(?P<opcode>[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*(?P<operands>.*?)\s*;?$")
_REGISTER = re.compile(r"\b(U?R)(\d+)\b(\.64)?")
_JUMP = re.compile(r"\bBRA\S*\s+(?:\S+,\s*)*0x(?P<target>[0-9a-f]+)")
_WITHOUT_RESULT = re.compile(
    r"^(?:ST|REDG?\b|BRA|EXIT|BAR|BSSY|BSYNC|CALL|RET|MEMBAR|NOP|WARPSYNC|U?[IFDH]SETP|HSETP2|FCHK|LDGSTS)"
)
_PREDICATE_OPERAND = re.compile(r"^\s*!?U?P(?:T|\d+)\s*$")
_NO_TEXTURE_RESULT = re.compile(r"^\s*(?:!?U?P(?:T|\d+)|RZ)\s*$")
_WIDE = re.compile(r"\.(?:64|WIDE)(?:\.|$)")
_ACCESS_BITS = re.compile(r"\.[US]?(?P<bits>8|16|64|128)(?:\.|$)")
_WORD = 4
_QUAD = re.compile(r"\.128(?:\.|$)")
_SCALED = re.compile(r"IMAD\.WIDE(?:\.U32)? R\d+, R\d+, 0x(?P<bytes>[0-9a-f]+), R\d+")
_ARGUMENT = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")
_TAKES_POINTER = re.compile(r"U?LDC\.64|IMAD\.WIDE|LEA|U?MOV|IMAD\.MOV|U?IADD3")
_IN_BRACKETS = re.compile(r"\[(R\d+)(\.64)?")
_DOUBLE_RESULT = re.compile(r"^(?:D(?:ADD|MUL|FMA)|F2F\.F64|I2F\.F64|F2I\.[US]64|CS2R$)")

Weights = NDArray[np.float64]
"""One number per instruction."""


@dataclass(frozen=True)
class Instruction:
    """One instruction's parts.

    Attributes:
        opcode: With its modifiers: ``LDG.E.CONSTANT``.
        operands: The text after it.
        writes: Registers that it changes: ``R4``, ``UR6``.
        reads: Registers that it reads, those of addresses too.
    """

    opcode: str
    operands: str
    writes: frozenset[str]
    reads: frozenset[str]

    @property
    def reads_argument(self) -> bool:
        """Whether it only fetches an argument or another constant at a known place."""
        return self.opcode.startswith(("LDC", "ULDC")) and not self.reads


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Instruction:
    """Take an instruction apart; one that cannot be read does nothing."""
    match = _TEXT.match(text)
    if not match:
        return Instruction("", text, frozenset(), frozenset())
    opcode, operands = match["opcode"], match["operands"]
    names = [(kind + number, kind, int(number), bool(pair)) for kind, number, pair in _REGISTER.findall(operands)]
    # Some results come after a predicate: SHFL.IDX PT, R4, R5.
    # and of texture fetches after the RZ of what is not asked for.
    skipped = _NO_TEXTURE_RESULT if opcode.startswith("T") else _PREDICATE_OPERAND
    first = next((part for part in operands.split(",") if not skipped.match(part)), "")
    has_result = bool(names) and not _WITHOUT_RESULT.match(opcode) and names[0][0] in first
    writes: set[str] = set()
    if has_result:
        _, kind, number, _ = names[0]
        width = 4 if _QUAD.search(opcode) else 2 if _WIDE.search(opcode) or _DOUBLE_RESULT.match(opcode) else 1
        writes = {f"{kind}{number + offset}" for offset in range(width)}
    reads: set[str] = set()
    for _, kind, number, pair in names[has_result:]:
        reads |= {f"{kind}{number}", f"{kind}{number + 1}"} if pair else {f"{kind}{number}"}
    return Instruction(opcode, operands, frozenset(writes), frozenset(reads))


@dataclass(frozen=True, eq=False)
class Code:
    """A kernel's instructions in order, with their addresses in bytes from its start."""

    texts: tuple[str, ...]
    addresses: tuple[int, ...]

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The instructions, taken apart."""
        return [parse(text) for text in self.texts]

    @cached_property
    def places(self) -> dict[int, int]:
        """Address -> position."""
        return {address: position for position, address in enumerate(self.addresses)}

    @cached_property
    def loops(self) -> list[range]:
        """The positions from the target of each backward jump to the jump, innermost first."""
        found = []
        for position, (address, text) in enumerate(zip(self.addresses, self.texts, strict=True)):
            jump = _JUMP.search(text)
            # A jump to itself pads the end of a kernel.
            if jump and int(jump["target"], 16) < address and int(jump["target"], 16) in self.places:
                found.append(range(self.places[int(jump["target"], 16)], position + 1))
        return sorted(found, key=len)

    def matching(self, pattern: str | re.Pattern[str]) -> NDArray[np.bool_]:
        """Which opcodes match from their start."""
        compiled = re.compile(pattern)
        return np.array([bool(compiled.match(each.opcode)) for each in self.instructions], dtype=bool)

    def innermost_loop(self, position: int) -> range | None:
        """The smallest loop around an instruction."""
        return next((loop for loop in self.loops if position in loop), None)

    def varies_in(self, loop: range) -> frozenset[str]:
        """The registers that a loop changes; those that it fills with the same argument each time do not count."""
        changing = (self.instructions[position] for position in loop)
        return frozenset().union(*(each.writes for each in changing if not each.reads_argument))

    def address_of(self, position: int) -> frozenset[str]:
        """The registers of a memory access's address, without the descriptor's and those of what is stored."""
        found = _IN_BRACKETS.search(self.instructions[position].operands)
        if not found:
            return frozenset()
        number = int(found[1][1:])
        return frozenset({found[1], f"R{number + 1}"} if found[2] else {found[1]})


def access_bytes(modifiers: str) -> int:
    """How much an access of these modifiers, or of this opcode, moves for each thread."""
    match = _ACCESS_BITS.search(modifiers)
    return int(match["bits"]) // 8 if match else _WORD


def register_bytes(modifiers: str) -> int:
    """The same in whole registers, as the thresholds of the rules were measured."""
    return max(access_bytes(modifiers), _WORD)


def load_batches(code: Code) -> Iterator[tuple[int, int]]:
    """Groups of global loads that are in flight together: (position of the first, bytes per thread).

    A group ends at the first instruction that reads a register which one of its loads writes, since the thread waits
    there.
    """
    start, in_flight, waiting = 0, 0, frozenset[str]()
    for position, (text, instruction) in enumerate(zip(code.texts, code.instructions, strict=True)):
        if waiting & instruction.reads:
            yield start, in_flight
            in_flight, waiting = 0, frozenset()
        if load := GLOBAL_LOAD.match(text):
            start = position if not waiting else start
            in_flight += register_bytes(load["modifiers"])
            waiting |= instruction.writes
    if waiting:
        yield start, in_flight


def _where(mask: Sequence[bool] | NDArray[np.bool_], value: float = 1.0) -> Weights:
    return np.where(np.asarray(mask, dtype=bool), value, 0.0)


def converted_loads(code: Code) -> Weights:
    """1 at each conversion of a number as it was loaded from global memory: bytes, shorts and halves to floats."""
    weights = np.zeros(len(code.texts))
    loaded: set[str] = set()
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        weights[position] = f"{each.opcode}.".startswith(("I2F.", "F2F.")) and bool(loaded & each.reads)
        loaded = loaded | each.writes if GLOBAL_LOAD.match(text) else loaded - each.writes
    return weights


_COPIES = ("MOV", "UMOV", "IMAD.MOV", "IMAD.U32")
_ARGUMENT = re.compile(r"c\[0x0\]\[0x[0-9a-f]+\]")


def fixed_loads(code: Code) -> Weights:
    """1 at each global load whose address comes straight from the kernel's arguments: the same for all threads."""
    fixed: set[str] = set()
    weights = np.zeros(len(code.texts))
    for position, each in enumerate(code.instructions):
        if GLOBAL_LOAD.match(code.texts[position]):
            address = code.address_of(position)
            moving = any(address & code.varies_in(loop) for loop in code.loops if position in loop)
            weights[position] = bool(address) and address <= fixed and not moving
        # Before Hopper arguments are operands of the instructions that copy them.
        copied = each.opcode.startswith(_COPIES) and (bool(each.reads) or _ARGUMENT.search(each.operands) is not None)
        if each.reads_argument or (copied and each.reads <= fixed):
            fixed |= each.writes
        else:
            fixed -= each.writes
    return weights


def reloads(code: Code) -> Weights:
    """1 at each global load in a loop that stores, from an address that the loop does not change."""
    weights = np.zeros(len(code.texts))
    for position, text in enumerate(code.texts):
        loop = code.innermost_loop(position) if GLOBAL_LOAD.match(text) else None
        if loop and any(GLOBAL_STORE.match(code.texts[other]) for other in loop):
            address = code.address_of(position)
            weights[position] = bool(address) and not address & code.varies_in(loop)
    return weights


def uniform_loads(code: Code) -> Weights:
    """1 at each global load from the same address for all threads, which is not loaded because a store came between."""
    return fixed_loads(code) * (1 - reloads(code))


_LARGEST_STRUCTURE = 64
"""Bytes; a longer step from one index to the next is a row."""


def structure_loads(code: Code) -> Weights:
    """1 at each global load that takes part of an element: its index is multiplied by more bytes than it loads."""
    weights = np.zeros(len(code.texts))
    element: dict[str, int] = {}
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        if load := GLOBAL_LOAD.match(text):
            size = max((element.get(register, 0) for register in code.address_of(position)), default=0)
            weights[position] = register_bytes(load["modifiers"]) < size <= _LARGEST_STRUCTURE
        scaled = _SCALED.match(f"{each.opcode} {each.operands}")
        size = int(scaled["bytes"], 16) if scaled else 0
        element.update(dict.fromkeys(each.writes, size))
    return weights


_CHAIN = 3
"""Loads that wait for one another: an index and what it points to are two, and no chain yet."""


def chased_loads(code: Code) -> Weights:
    """1 at each global load of a chain: its address depends on loads before it, above or in its loop's last turn."""
    weights = np.zeros(len(code.texts))
    depth: dict[str, int] = {}
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        behind = max((depth.get(register, 0) for register in each.reads), default=0)
        if GLOBAL_LOAD.match(text):
            behind += 1
            loop = code.innermost_loop(position)
            weights[position] = behind >= _CHAIN or (
                loop is not None and bool(_reached_around(code, position, loop) & code.address_of(position))
            )
        depth.update(dict.fromkeys(each.writes, behind))
    return weights


def gathered_loads(code: Code) -> Weights:
    """1 at each global load whose address comes from another load's value: an index array, a table, a hash."""
    return _where([bool(here or mixed) for here, mixed in _indices(code)])


def gathered_again(code: Code) -> Weights:
    """1 at each gathered load whose index has served a load before it: another field of the same record."""
    seen: set[int] = set()
    again = []
    for here, _ in _indices(code):
        again.append(bool(here) and here <= seen)
        seen |= here
    return _where(again)


_MIXES = re.compile(r"(?:LOP3|SHF|PRMT|LOP)\b")


def _indices(code: Code) -> list[tuple[frozenset[int], frozenset[int]]]:
    """For each instruction, if it is a global load, the loads before it whose values its address comes from.

    They come in two: those of its own loop, and those from before the loop whose bits were mixed, as for a hash. A
    pointer or position that was loaded before a loop and runs along in it is no index.
    """
    nothing = frozenset[int]()
    found = []
    origin: dict[str, frozenset[int]] = {}
    mixed: dict[str, frozenset[int]] = {}
    loops = [code.innermost_loop(position) for position in range(len(code.texts))]
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        is_load = GLOBAL_LOAD.match(text) is not None
        behind = nothing.union(*(origin.get(register, nothing) for register in each.reads))
        of_bits = nothing.union(*(mixed.get(register, nothing) for register in each.reads))
        of_bits |= behind if _MIXES.match(each.opcode) else nothing
        here = frozenset(root for root in behind if loops[root] == loops[position])
        found.append((here, of_bits - here) if is_load else (nothing, nothing))
        origin.update(dict.fromkeys(each.writes, frozenset([position]) if is_load else behind))
        mixed.update(dict.fromkeys(each.writes, nothing if is_load else of_bits))
    return found


@lru_cache(maxsize=1 << 12)
def pointers(code: Code) -> tuple[tuple[int, frozenset[str]], ...]:
    """Each global load and store, with the 64-bit arguments of the kernel that its address comes from."""
    found: list[tuple[int, frozenset[str]]] = []
    behind: dict[str, frozenset[str]] = {}
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        if GLOBAL_LOAD.match(text) or GLOBAL_STORE.match(text):
            address = code.address_of(position)
            found.append((position, frozenset().union(*(behind.get(register, frozenset()) for register in address))))
            behind.update(dict.fromkeys(each.writes, frozenset()))
            continue
        reached = frozenset().union(*(behind.get(register, frozenset()) for register in each.reads))
        if _TAKES_POINTER.match(each.opcode):
            wide = "64" in each.opcode or not each.opcode.startswith(("LDC", "ULDC"))
            reached |= frozenset(_ARGUMENT.findall(each.operands)) if wide else frozenset()
        behind.update(dict.fromkeys(each.writes, reached))
    return tuple(found)


def _reached_around(code: Code, position: int, loop: range) -> set[str]:
    """The registers that an instruction's result has got into when its loop comes back to it."""
    reached = set(code.instructions[position].writes)
    for at in (*range(position + 1, loop.stop), *range(loop.start, position)):
        each = code.instructions[at]
        if reached & each.reads:
            reached |= each.writes
        else:
            reached -= each.writes
    return reached


def float_coordinates(code: Code) -> Weights:
    """1 at each global load whose address comes from a floating-point number, as the coordinates of an image do."""
    rounds = code.matching(r"F2I\.(?!FTZ\.U32\.TRUNC\.NTZ)")
    weights = np.zeros(len(code.texts))
    computed: set[str] = set()
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        comes_from = bool(computed & each.reads)
        if GLOBAL_LOAD.match(text):
            weights[position] = comes_from
            computed -= each.writes
        elif rounds[position] or comes_from:
            computed |= each.writes
        else:
            computed -= each.writes
    return weights


def kept_doubles(code: Code) -> Weights:
    """1 at each operation in double precision on a number as it was loaded, and at each store of a result as it is.

    The coefficients that library functions load from tables of their own are no numbers of the kernel.
    """
    weights = np.zeros(len(code.texts))
    loaded: set[str] = set()
    tables: set[str] = set()
    computed: set[str] = set()
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        computes, wide = each.opcode.startswith(_OF_DOUBLES), access_bytes(each.opcode) >= _DOUBLE
        stores = wide and GLOBAL_STORE.match(text) is not None
        weights[position] = bool((computes and loaded & each.reads) or (stores and computed & each.reads))
        of_table = bool(_SYMBOL in each.operands or tables & each.reads)
        coefficients = of_table and _READ_ONLY in each.opcode
        given = wide and GLOBAL_LOAD.match(text) is not None and not coefficients
        loaded = loaded | each.writes if given else loaded - each.writes
        tables = tables | each.writes if of_table else tables - each.writes
        computed = computed | each.writes if computes else computed - each.writes
    return weights


_OF_DOUBLES = ("DADD", "DMUL", "DFMA", "DSETP")
_DOUBLE = 8
_SYMBOL = "c[0x4]"
"""The constant bank that holds the addresses of global variables."""
_READ_ONLY = ".CONSTANT"
"""What loads of tables say that nobody writes to, and loads of a program's own global variables do not."""


@lru_cache(maxsize=1 << 12)
def listing_of(code: decoded.Code) -> Code:
    """The same code for the functions here, until all of them have moved to the new library."""
    return Code(code.texts, code.addresses)


def on_listing(of: Callable[[Code], Weights]) -> Callable[[decoded.Code], Weights]:
    """A function of a listing as one of decoded code."""
    return lambda code: of(listing_of(code))
