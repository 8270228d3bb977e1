"""Weights that count kinds of instructions: from a ``Code``, one float64 per instruction (``Weights``).

Examples: ``multiply_adds``, ``integer_multiply_cycles``, ``shuffles``, ``loop_iterations``, ``loads_after_stores``.

A launch's quantity is the sum of these numbers times how often each instruction was executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from ncuview.sass import opcode_classes
from ncuview.sass.cfg import control_flow, loops, reverse_postorder
from ncuview.sass.code import Code, analysis
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import Class

Weights = NDArray[np.float64]
"""One number per instruction."""

_COMPUTED_CONSTANT = re.compile(r"\bc\[0x[0-9a-f]+\]\[UR\d")
_MULTIPLY_ADDS = {"FFMA": 1.0, "DFMA": 1.0, "VIADDMNMX": 1.0, "FFMA2": 2.0, "HFMA2": 2.0}
_WORD = 4
_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_TINY = 2
_24_BITS = "0xffffff"


def of_class(code: Code, asked: Class) -> NDArray[np.bool_]:
    """Which instructions are of a class."""
    return np.fromiter(map(asked, code.instructions), dtype=bool, count=len(code))


def count_of(code: Code, asked: Class) -> Weights:
    """1 at each instruction of a class."""
    return of_class(code, asked).astype(np.float64)


def weights_at(code: Code, positions: Iterable[int], weight: float = 1.0) -> Weights:
    """A weight at these positions, 0 elsewhere."""
    found = np.zeros(len(code))
    found[list(positions)] = weight
    return found


# IMAD, and the moves, shifts and sums that nvcc writes as one, run in the half of the FMA pipe that multiplies
# integers: two a cycle and multiprocessor, the wide and high forms one. Against sm__pipe_fmaheavy_cycles_active, which
# costs a pass of its own, this is exact to a hundredth wherever integers and not floats are multiplied.
def integer_multiply_cycles(code: Code) -> Weights:
    """Cycles of the integer multiplier per executed instruction."""
    return np.array([_multiplier_cycles(each) for each in code.instructions], dtype=np.float64)


def _multiplier_cycles(each: Instruction) -> float:
    if each.base_opcode != "IMAD":
        return 0.0
    return 1.0 if _modified(each, "WIDE", "HI") else 0.5


def special_functions(code: Code) -> Weights:
    """1 at each instruction of the XU pipe: special functions, conversions, and FCHK, the check of a division."""
    return count_of(code, opcode_classes.is_special_function)


def double_conversions(code: Code) -> Weights:
    """1 at each conversion between single and double precision, and of whole numbers to double."""
    return count_of(code, _converts_doubles)


def _converts_doubles(each: Instruction) -> bool:
    if each.base_opcode == "F2F":
        return _modified(each, "F64") and _modified(each, "F32")
    return each.base_opcode == "I2F" and _modified(each, "F64")


def double_arithmetic(code: Code) -> Weights:
    """1 at each instruction of double-precision arithmetic."""
    return count_of(code, opcode_classes.is_double_arithmetic)


def multiply_adds(code: Code) -> Weights:
    """Multiply-adds per lane: 1 for single and double precision, 2 for packed ones.

    Additions fused with a minimum or maximum (VIADDMNMX), as in shortest paths, count too.
    """
    return np.array([_products(each) for each in code.instructions], dtype=np.float64)


def _products(each: Instruction) -> float:
    # nvcc 12 and 13, Volta to Hopper, write moves of constants as HFMA2 with zero times zero.
    moves = each.base_opcode == "HFMA2" and each.operands[1:3] == ("-RZ", "RZ")
    return 0.0 if moves else _MULTIPLY_ADDS.get(each.base_opcode, 0.0)


def uniform_multiply_adds(code: Code) -> Weights:
    """The multiply-adds with an operand that is the same for all lanes: from constant memory, say."""
    return multiply_adds(code) * count_of(code, _has_uniform_operand)


def _has_uniform_operand(each: Instruction) -> bool:
    return any("c[" in operand or operand.lstrip("-|").startswith("UR") for operand in each.operands)


def masks_to_24_bits(code: Code) -> Weights:
    """1 at each mask of the low 24 bits, which is what ``__mul24`` costs on GPUs without a 24-bit multiplier."""
    return count_of(code, lambda each: each.base_opcode == "LOP3" and _24_BITS in each.operands)


def indexed_constants(code: Code) -> Weights:
    """1 at each load from constant memory whose address each lane computes for itself."""
    return count_of(code, lambda each: _loads_constant(each) and bool(each.memory and each.memory.base))


def uniform_constants(code: Code) -> Weights:
    """Words that each instruction reads from constant memory at a computed address that is the same for all lanes."""
    return np.array([_computed_words(each) for each in code.instructions], dtype=np.float64)


def _computed_words(each: Instruction) -> float:
    if not any("[UR" in operand and _COMPUTED_CONSTANT.search(operand) for operand in each.operands):
        return 0.0
    return max(1.0, each.memory.bytes / _WORD) if each.memory else 1.0


def _loads_constant(each: Instruction) -> bool:
    return each.memory is not None and each.memory.space == "constant"


def tensor_operations(code: Code) -> Weights:
    """1 at each matrix product of tensor cores whose operands are in registers."""
    return count_of(code, opcode_classes.is_matrix_product)


def shuffles(code: Code) -> Weights:
    """1 at each exchange between the lanes of a warp."""
    return count_of(code, opcode_classes.is_lane_exchange)


def narrow_loads(code: Code) -> Weights:
    """1 at each global load of one or two bytes per lane."""
    return count_of(
        code, lambda each: opcode_classes.is_global_load(each) and bool(each.memory and each.memory.bytes <= _TINY)
    )


def loop_iterations(code: Code) -> Weights:
    """1 at each jump back to where a loop is entered, which is executed once in each iteration.

    A jump to a computed address may lead anywhere; it is assumed to be that of a switch and does not count.
    """
    latches = {latch for loop in loops(code) for latch in loop.latches}
    return weights_at(code, [latch for latch in latches if _goes_to_known_place(code, latch)])


def _goes_to_known_place(code: Code, position: int) -> bool:
    each = code.instructions[position]
    return each.base_opcode not in _JUMPS or code.position_of(each.target) is not None


@analysis
def loads_after_stores(code: Code) -> Weights:
    """1 at each global load that a path from a global store leads to, without a jump back.

    Where pointers may alias, the load may not move before the store. Stores of an earlier iteration of a loop do not
    count: how often loops iterate is another quantity.
    """
    loads, stores = (of_class(code, each) for each in (opcode_classes.is_global_load, opcode_classes.is_global_store))
    if not stores.any() or not loads.any():
        return np.zeros(len(code))
    flow = control_flow(code)
    storing = {flow.block_of[position] for position in np.flatnonzero(stores)}
    after = np.zeros(len(code), dtype=bool)
    for block in storing:
        positions = slice(flow.blocks[block].start, flow.blocks[block].stop)
        after[positions] = np.logical_or.accumulate(stores[positions])
    for block in _forward_of(code, _with_calls_of(code, storing)):
        after[flow.blocks[block].start : flow.blocks[block].stop] = True
    return (loads & after).astype(np.float64)


def _with_calls_of(code: Code, blocks: AbstractSet[int]) -> AbstractSet[int]:
    """Blocks, and those that call a function which contains one of them or calls one that does."""
    flow = control_flow(code)
    calling = {
        call for call, entry in flow.calls.items() if entry is not None and not blocks.isdisjoint(flow.reachable(entry))
    }
    return blocks if calling <= blocks else _with_calls_of(code, blocks | calling)


def _forward_of(code: Code, blocks: Iterable[int]) -> set[int]:
    """The blocks that execution may reach from these without a jump back, in functions that are called there too."""
    flow = control_flow(code)
    number = {block: place for place, block in enumerate(reverse_postorder(code))}
    found, waiting = set[int](), list(blocks)
    while waiting:
        block = waiting.pop()
        ahead = {to for to in flow.successors[block] if number[to] > number[block]}
        entry = flow.calls.get(block)
        new = (ahead if entry is None else {*ahead, entry}) - found
        found |= new
        waiting.extend(new)
    return found


def _modified(each: Instruction, *modifiers: str) -> bool:
    """Whether an opcode bears one of these modifiers."""
    return not set(modifiers).isdisjoint(each.opcode.split("."))
