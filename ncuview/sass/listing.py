"""What machine code says: which instructions do what, and how values flow between them.

Everything here is a function of a kernel's code alone and gives one number per instruction, so that a launch's
quantity is the sum of these numbers times how often each instruction was executed. Code is SASS as ncu prints it, for
GPUs from Volta on; the fingerprints of functions that nvcc expands are those of nvcc 13 for Hopper.
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
ATOMIC = re.compile(PREDICATE + r"(?:RED|REDG|ATOM|ATOMG)\b")
TEXTURE = re.compile(PREDICATE + r"(?:TEX|TLD|TXD|TMML|TXQ|SU(?:LD|ST|RED|ATOM))")
DOUBLE_OR_MATRIX = re.compile(PREDICATE + r"(?:D(?:ADD|MUL|FMA|SETP|MNMX)\b|[A-Z]*MMA)")
SPECIAL = re.compile(PREDICATE + r"U?(?:MUFU|I2F|F2I|F2F|I2I|FRND|POPC|FLO|BREV)")
OPERAND_LOAD = re.compile(PREDICATE + r"(?:LDS|LDG|LD)\b")
"""From shared and from global memory."""
SHARED_ACCESS = re.compile(PREDICATE + r"(?:LDS|STS|LDSM|STSM)\b")
"""Loads and stores; where atomics in shared memory meet is up to the data."""
_TINY = re.compile(PREDICATE + r"LDG?\.E(?:\.\w+)*\.[US](?:8|16)\b")
LOCAL = re.compile(PREDICATE + r"(?:LDL|STL)\b")
BARRIER = re.compile(PREDICATE + r"(?:BAR|B2R)\b")
WARP_SPECIALISED = re.compile(PREDICATE + r"(?:UTMA\w+|UBLK\w+|SYNCS|USETMAXREG|(?:H|I|Q|B)GMMA|UTC\w*MMA)\b")
"""Copies by TMA, mbarriers, setmaxnreg and WGMMA, as nvcc 12 and 13 write them for Hopper; tcgen05 of Blackwell."""

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
_ARGUMENT = re.compile(r"c\[0x0\]\[(0x[0-9a-f]+)\]")
_TAKES_POINTER = re.compile(r"U?LDC\.64|IMAD\.WIDE|LEA|U?MOV|IMAD\.MOV|U?IADD3")
_IN_BRACKETS = re.compile(r"\[(R\d+)(\.64)?")
_COMPUTED_CONSTANT = re.compile(r"c\[0x[0-9a-f]+\]\[UR\d+")
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


def loop_turns(code: Code) -> Weights:
    """1 at each backward jump, which runs once for each turn of its loop."""
    return _where([any(position == loop[-1] for loop in code.loops) for position in range(len(code.texts))])


# IMAD, and the moves, shifts and sums that nvcc writes as one, run in the half of the FMA pipe that multiplies
# integers: two a cycle and multiprocessor, the wide and high forms one. Against sm__pipe_fmaheavy_cycles_active, which
# costs a pass of its own, this is exact to a hundredth wherever integers and not floats are multiplied.
def integer_multiply_cycles(code: Code) -> Weights:
    """Cycles of the integer multiplier per executed instruction."""
    return _where(code.matching("IMAD"), 0.5) + _where(code.matching(r"IMAD\.(?:WIDE|HI)"), 0.5)


_DIVISION_STEPS, _RECIPROCAL_STEPS = 10.0, 7.0
_DIVISION_LEAVES = 2.0
"""A shift and a mask do the work where the divisor is a power of two."""


_SOON = 32
_BOTH_FIT = re.compile(r"LOP3\.LUT R\d+, U?R\d+, U?R\d+, RZ, 0xfc,")
_STEPS_OF_64_BITS = 12.0
"""To ask, and to form the rest of 64 bits from the quotient."""
_COMPARISONS = {"ISETP.GE.U32.AND": ("", 2, 3), "ISETP.GT.U32.AND": ("!", 3, 2)}
"""How the rest is compared with the divisor, unsigned and signed: what the subtraction's predicate begins with, and
which operands rest and divisor are."""


def _quotients(code: Code) -> Weights:
    """1 at each high product that estimates the quotient of an integer division by a run-time value.

    nvcc multiplies by a reciprocal and then compares the rest with the divisor and subtracts. The high product that
    refines the reciprocal is paired with its conversion, which counts -1. Divisions by constants multiply by an
    immediate number and need no comparison.
    """
    corrected = any(
        each.opcode in _COMPARISONS and _subtracted_after(code, position)
        for position, each in enumerate(code.instructions)
    )
    if not corrected:
        return np.zeros(len(code.texts))
    high = [each.opcode.startswith("IMAD.HI.U32") and "0x" not in each.operands for each in code.instructions]
    return _where(high) - _where(code.matching(r"I2F\.U?\d*\.?RP"))


def _subtracted_after(code: Code, position: int) -> bool:
    """Whether what was compared is subtracted soon after, where the rest is not smaller; divisions are interleaved."""
    compared = code.instructions[position]
    operands = [part.strip().removesuffix(".reuse") for part in compared.operands.split(",")]
    negation, rest, divisor = _COMPARISONS[compared.opcode]
    for text in code.texts[position + 1 : position + _SOON]:
        if text.startswith(f"@{negation}{operands[0]} ") and f"-{operands[divisor]}" in text and operands[rest] in text:
            return True
    return False


def division_instructions(code: Code) -> Weights:
    """Instructions that run-time integer divisions take, at the product that estimates each quotient."""
    starts = code.matching(r"I2F\.U?\d*\.?RP")
    steps = np.where(_of_64_bits(code), _RECIPROCAL_STEPS + _STEPS_OF_64_BITS, _RECIPROCAL_STEPS)
    taken: Weights = _DIVISION_STEPS * _quotients(code) + np.where(starts, steps, 0.0) * bool(_quotients(code).any())
    return taken


def _of_64_bits(code: Code) -> list[bool]:
    """Whether a division of 64-bit numbers starts here: nvcc asks first whether both fit into 32 bits."""
    asked = [bool(_BOTH_FIT.match(f"{each.opcode} {each.operands}")) for each in code.instructions]
    return [any(asked[max(0, position - _SOON) : position]) for position in range(len(asked))]


def division_leaves(code: Code) -> Weights:
    """Instructions that a division by a power of two takes instead."""
    return _DIVISION_LEAVES * _quotients(code)


_ESTIMATES_RECIPROCAL = "MUFU.RCP64H"


def repeated_divisions(code: Code) -> Weights:
    """1 at each division in double precision by a number whose reciprocal could have been kept.

    The divisor is a constant, an argument or the same in all turns of the loop, or has divided another number before.
    """
    weights = np.zeros(len(code.texts))
    divided: set[str] = set()
    for position, each in enumerate(code.instructions):
        if each.opcode == _ESTIMATES_RECIPROCAL:
            loop = code.innermost_loop(position)
            own = code.varies_in(loop) if loop else {register for register in each.reads if register.startswith("R")}
            weights[position] = not each.reads & own or bool(each.reads & divided)
            divided |= each.reads
        divided -= each.writes
    return weights


def special_functions(code: Code) -> Weights:
    """1 at each instruction of the pipe for special functions and conversions, FCHK, a division's check, too."""
    return _where(code.matching(r"(?:MUFU|F2F|F2I|I2F|FCHK|FRND|POPC|FLO|BREV)(?:\.|$)"))


@dataclass(frozen=True)
class _Function:
    """A function of single precision that nvcc expands exactly: how to know it, and what its fast form saves.

    Attributes:
        opcode, constant: One instruction that nothing else needs.
        saves: Instructions of the usual path that the fast form does without, on a Hopper.
        special: Of these, the ones of the special-function pipe.
    """

    opcode: str
    constant: str
    saves: float
    special: float = 0.0


_PRECISE = (
    _Function("FMUL", "0.63661974668502807617", saves=9),  # sinf, cosf, tanf: 2 / pi, once for sine and cosine
    _Function("FFMA", "-0.0013887860113754868507", saves=13),  # sinf, cosf: the polynomial of one of them
    _Function("FFMA", "0.0083327032625675201", saves=8),  # sincosf: that of the other
    _Function("FFMA.RM", "12582913", saves=3),  # expf
    _Function("FCHK", "", saves=7, special=1),  # division
    _Function("FFMA", "1.1920928955078125e-07", saves=16),  # logf
    _Function("ISETP.GT.U32", "0x727fffff", saves=7),  # sqrtf
    _Function("ISETP.GT.U32", "0x1ffffff,", saves=9),  # 1 / x
    _Function("FSETP", ", 152", saves=24),  # powf
    _Function("FSETP", "9.010913848876953", saves=15, special=1),  # tanhf
)
_DIVISION_BY_THE_SAME = _Function("FCHK", "", saves=10, special=2)
"""A division whose divisor does not change in its loop becomes one multiplication by its reciprocal."""


def _saved(code: Code, what: Callable[[_Function], float]) -> Weights:
    weights = np.zeros(len(code.texts))
    for position, each in enumerate(code.instructions):
        for function in _PRECISE:
            if f"{each.opcode}.".startswith(f"{function.opcode}.") and function.constant in each.operands:
                same = function.opcode == "FCHK" and _divisor_is_invariant(code, position)
                weights[position] = what(_DIVISION_BY_THE_SAME if same else function)
    return weights


def _divisor_is_invariant(code: Code, position: int) -> bool:
    loop = code.innermost_loop(position)
    registers = _REGISTER.findall(code.instructions[position].operands)
    return bool(loop and registers and "".join(registers[-1][:2]) not in code.varies_in(loop))


def precise_instructions(code: Code) -> Weights:
    """Instructions that precise functions take beyond their fast forms, at one instruction of each call."""
    return _saved(code, lambda function: function.saves)


def precise_special(code: Code) -> Weights:
    """As ``precise_instructions``, of the special-function pipe alone."""
    return _saved(code, lambda function: function.special)


_SCALES_DENORMALS = re.compile(r"FSETP\.GEU\.AND P\d, PT, \|?R\d+\|?, (?:-126|1\.175494)")
"""Whether an argument, or the result of an exponential, lies near the denormal numbers, as nvcc asks."""
_OF_SCALING = 3
"""The comparison, and a multiplication before and behind the special-function unit."""


def denormal_scaling(code: Code) -> Weights:
    """Instructions that scale denormal numbers around the special-function unit, at the first of each call."""
    scales = [bool(_SCALES_DENORMALS.match(f"{each.opcode} {each.operands}")) for each in code.instructions]
    return _where(scales, _OF_SCALING)


def converted_loads(code: Code) -> Weights:
    """1 at each conversion of a number as it was loaded from global memory: bytes, shorts and halves to floats."""
    weights = np.zeros(len(code.texts))
    loaded: set[str] = set()
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        weights[position] = f"{each.opcode}.".startswith(("I2F.", "F2F.")) and bool(loaded & each.reads)
        loaded = loaded | each.writes if GLOBAL_LOAD.match(text) else loaded - each.writes
    return weights


def double_conversions(code: Code) -> Weights:
    """1 at each conversion between single and double precision, and of whole numbers to double."""
    return _where(code.matching(r"(?:F2F\.(?:F64\.F32|F32\.F64)|I2F\.F64)"))


def double_arithmetic(code: Code) -> Weights:
    """1 at each instruction of double-precision arithmetic."""
    return _where(code.matching(r"D(?:ADD|MUL|FMA|SETP|MNMX)"))


def multiply_adds(code: Code) -> Weights:
    """Multiply-adds per lane: 1 for single and double precision, 2 for packed half precision.

    Additions with a smallest or largest, the products of shortest paths, count too.
    """
    return _where(code.matching(r"(?:FFMA|DFMA|VIADDMNMX)")) + _where(_packed_multiply_adds(code), 2.0)


_ADDS = ("FADD", "DADD", "IADD3", "FMNMX", "DMNMX", "VIMNMX", "IMNMX")


def shared_pairs(code: Code) -> Weights:
    """1 at each addition of two numbers from shared memory whose result is added or compared next, and not stored.

    Sums of distances and shortest paths meet each row with each column as a product of matrices does, without
    multiply-adds.
    """
    weights = np.zeros(len(code.texts))
    loaded: set[str] = set()
    waiting: dict[str, int] = {}
    for position, each in enumerate(code.instructions):
        adds = each.opcode.startswith(_ADDS)
        for register in each.reads & waiting.keys():
            weights[waiting.pop(register)] = float(adds)
        for register in each.writes:
            waiting.pop(register, None)
        if adds and len(each.reads) > 1 and each.reads <= loaded:
            waiting.update(dict.fromkeys(each.writes, position))
        loaded = loaded | each.writes if each.opcode.startswith("LDS") else loaded - each.writes
    return weights


def _packed_multiply_adds(code: Code) -> list[bool]:
    """HFMA2, without those of zero by zero, which move a constant."""
    return [each.opcode.startswith("HFMA2") and "-RZ, RZ" not in each.operands for each in code.instructions]


def masks_to_24_bits(code: Code) -> Weights:
    """1 at each mask of the low 24 bits, which is what ``__mul24`` costs on GPUs without a 24-bit multiplier."""
    return _where([e.opcode.startswith("LOP3") and "0xffffff," in e.operands for e in code.instructions])


def spill_accesses(code: Code) -> Weights:
    """1 at each access to local memory at a fixed place of the stack: a spilled register."""
    return _local(code, fixed=True)


def local_array_accesses(code: Code) -> Weights:
    """1 at each access to local memory at a computed address: an array whose index the compiler does not know."""
    return _local(code, fixed=False)


def _local(code: Code, *, fixed: bool) -> Weights:
    local = code.matching(r"(?:LDL|STL)(?:\.|$)")
    on_stack = np.array([bool(re.search(r"\[R1(?:\+|\])", each.operands)) for each in code.instructions], dtype=bool)
    return _where(local & (on_stack == fixed))


def indexed_constants(code: Code) -> Weights:
    """1 at each load from constant memory whose address each lane computes for itself."""
    return _where([e.opcode.startswith("LDC") and bool(re.search(r"\[R\d", e.operands)) for e in code.instructions])


def uniform_constants(code: Code) -> Weights:
    """Words that each instruction reads from constant memory at an address that the program computes for all lanes."""
    indexed = _where([bool(_COMPUTED_CONSTANT.search(each.operands)) for each in code.instructions])
    return indexed * (1 + _where(code.matching(r"U?LDC\.64")))


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


_SWAP = re.compile(r"ATOMG?\.\S*CAS\b")


def swap_loops(code: Code) -> Weights:
    """1 at each compare-and-swap in global memory that a loop repeats until nobody came between: an addition, say.

    What is stored comes from what was found there. A swap of a fixed value, as a table of keys is filled, is none.
    """
    weights = np.zeros(len(code.texts))
    for position, each in enumerate(code.instructions):
        loop = code.innermost_loop(position) if _SWAP.match(each.opcode) else None
        if loop is not None:
            stored = each.operands.rpartition(",")[2].strip()
            weights[position] = stored in _reached_around(code, position, loop)
    return weights


_NEAR = 12


def shared_updates(code: Code) -> Weights:
    """1 at each store to shared memory that replaces what was just loaded from there: a sum that is kept in it."""
    weights = np.zeros(len(code.texts))
    loaded: dict[str, int] = {}
    for position, each in enumerate(code.instructions):
        address = re.search(r"\[[^\]]+\]", each.operands)
        if not address or not each.opcode.startswith(("LDS", "STS")):
            moved = [known for known in loaded if any(re.search(rf"\b{register}\b", known) for register in each.writes)]
            for known in moved:
                del loaded[known]
            continue
        if each.opcode.startswith("LDS"):
            loaded[address[0]] = position
        elif each.opcode.startswith("STS"):
            weights[position] = position - loaded.get(address[0], -_NEAR) < _NEAR
    return weights


def shuffles(code: Code) -> Weights:
    """1 at each exchange between the lanes of a warp."""
    return _where(code.matching(r"(?:SHFL|REDUX|MATCH)"))


def loads_behind_stores(code: Code) -> Weights:
    """1 at each global load that comes after a global store: it may not go before it where pointers may alias."""
    weights = np.zeros(len(code.texts))
    stores = [position for position, text in enumerate(code.texts) if GLOBAL_STORE.match(text)]
    if stores:
        weights[stores[0] :] = [bool(GLOBAL_LOAD.match(text)) for text in code.texts[stores[0] :]]
    return weights


def tiny_loads(code: Code) -> Weights:
    """1 at each global load of one or two bytes per lane."""
    return _where([bool(_TINY.match(text)) for text in code.texts])


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


def tensor_operations(code: Code) -> Weights:
    """1 at each matrix product of tensor cores whose operands are in registers."""
    return _where(code.matching(r"[HIDBQ]MMA\b"))


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


def uniform_multiply_adds(code: Code) -> Weights:
    """1 at each multiply-add with an operand that is the same for all lanes: from constant memory, say."""
    uniform = _where([bool(_UNIFORM.search(each.operands)) for each in code.instructions])
    return uniform * multiply_adds(code)


_UNIFORM = re.compile(r"\bc\[|\bUR\d")


@lru_cache(maxsize=1 << 12)
def listing_of(code: decoded.Code) -> Code:
    """The same code for the functions here, until all of them have moved to the new library."""
    return Code(code.texts, code.addresses)


def on_listing(of: Callable[[Code], Weights]) -> Callable[[decoded.Code], Weights]:
    """A function of a listing as one of decoded code."""
    return lambda code: of(listing_of(code))
