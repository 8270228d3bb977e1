"""Weights that count kinds of instructions: from a ``Code``, one float64 per instruction (``Weights``).

Examples: ``multiply_adds``, ``integer_multiply_cycles``, ``shuffles``, ``loop_iterations``, ``loads_after_stores``.

A launch's quantity is the sum of these numbers times how often each instruction was executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import numpy as np

from ncuview.sass import opcode_classes
from ncuview.sass.cfg import control_flow, loops, reverse_postorder
from ncuview.sass.code import Code, Weights, analysis, by_opcode, count_of, of_class, positions_of, weights_at
from ncuview.sass.instruction import Instruction

_COMPUTED_CONSTANT = re.compile(r"\bc\[0x[0-9a-f]+\]\[UR\d")
_MULTIPLY_ADDS = {"FFMA": 1.0, "DFMA": 1.0, "VIADDMNMX": 1.0, "FFMA2": 2.0, "HFMA2": 2.0}
_OF_DOUBLES = {"F2F": {"F64", "F32"}, "I2F": {"F64"}}
"""Conversions, and the modifiers of those between double precision and another type."""
_WORD = 4
_JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_TINY = 2
_24_BITS = "0xffffff"


# IMAD, and the moves, shifts and sums that nvcc writes as one, run in the half of the FMA pipe that multiplies
# integers: two a cycle and multiprocessor, the wide and high forms one. Against sm__pipe_fmaheavy_cycles_active, which
# costs a pass of its own, this is exact to a hundredth wherever integers and not floats are multiplied.
def integer_multiply_cycles(code: Code) -> Weights:
    """Cycles of the integer multiplier per executed instruction."""
    return by_opcode(code, _multiplier_cycles)


def _multiplier_cycles(opcode: str) -> float:
    base, *modifiers = opcode.split(".")
    if base != "IMAD":
        return 0.0
    return 0.5 if {"WIDE", "HI"}.isdisjoint(modifiers) else 1.0


def special_functions(code: Code) -> Weights:
    """1 at each instruction of the XU pipe: special functions, conversions, and FCHK, the check of a division."""
    return count_of(code, opcode_classes.is_special_function)


def double_conversions(code: Code) -> Weights:
    """1 at each conversion between single and double precision, and of whole numbers to double."""
    return by_opcode(code, _converts_doubles)


def _converts_doubles(opcode: str) -> bool:
    base, *modifiers = opcode.split(".")
    return base in _OF_DOUBLES and _OF_DOUBLES[base].issubset(modifiers)


def double_arithmetic(code: Code) -> Weights:
    """1 at each instruction of double-precision arithmetic."""
    return count_of(code, opcode_classes.is_double_arithmetic)


def multiply_adds(code: Code) -> Weights:
    """Multiply-adds per lane: 1 for single and double precision, 2 for packed ones.

    Additions fused with a minimum or maximum (VIADDMNMX), as in shortest paths, count too.
    """
    products = by_opcode(code, _products)
    products[[at for at in positions_of(code, _is_packed_half) if _is_move(code.instructions[at])]] = 0.0
    return products


def _products(opcode: str) -> float:
    return _MULTIPLY_ADDS.get(opcode.partition(".")[0], 0.0)


def _is_packed_half(each: Instruction) -> bool:
    return each.base_opcode == "HFMA2"


def _is_move(each: Instruction) -> bool:
    """Nvcc 12 and 13, Volta to Hopper, write moves of constants as HFMA2 with zero times zero."""
    return each.operands[1:3] == ("-RZ", "RZ")


def uniform_multiply_adds(code: Code) -> Weights:
    """The multiply-adds with an operand that is the same for all lanes: from constant memory, say."""
    products = multiply_adds(code)
    products[[at for at in np.flatnonzero(products) if not _has_uniform_operand(code.instructions[at])]] = 0.0
    return products


def _has_uniform_operand(each: Instruction) -> bool:
    return any("c[" in operand or operand.lstrip("-|").startswith("UR") for operand in each.operands)


def masks_to_24_bits(code: Code) -> Weights:
    """1 at each mask of the low 24 bits, which is what ``__mul24`` costs on GPUs without a 24-bit multiplier."""
    masks = positions_of(code, _is_logic)
    return weights_at(code, [at for at in masks if _24_BITS in code.instructions[at].operands])


def _is_logic(each: Instruction) -> bool:
    return each.base_opcode == "LOP3"


def indexed_constants(code: Code) -> Weights:
    """1 at each load from constant memory whose address each lane computes for itself."""
    loads = ((at, code.instructions[at].memory) for at in positions_of(code, _loads_constant))
    return weights_at(code, [at for at, memory in loads if memory and memory.base])


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
    return count_of(code, _is_tiny_load)


def _is_tiny_load(each: Instruction) -> bool:
    return opcode_classes.is_global_load(each) and bool(each.memory and each.memory.bytes <= _TINY)


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
