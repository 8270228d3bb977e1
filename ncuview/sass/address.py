"""Compute from ``Code`` the byte strides of memory accesses between lanes (``lane_stride``) and loop iterations.

Further functions give bank conflicts, consecutive accesses that a wider one could replace, windows and structures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ncuview.sass.affine import Affine, add, affine_addresses, multiply, number, signed
from ncuview.sass.cfg import Loop, control_flow, dominates, forward_order, immediate_dominators, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import use_def
from ncuview.sass.index_dependence import OF_THREADS, TID_X, TID_Y, TID_Z, index_dependence
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import Class, is_global_atomic, is_global_load, is_global_store, is_operand_load

_TERM = re.compile(r"\b(?P<name>U?R\d+)(?:\.(?:64|U32))?(?:\.X(?P<factor>\d+))?")
_SCALED = re.compile(r"IMAD\.WIDE(?:\.U32)?$")
_ADDS = re.compile(r"(?:U?IADD3|U?IADD|U?VIADD|U?MOV|IMAD\.MOV(?:\.U32)?)$")
_NUMBER = re.compile(r"-?0x[0-9a-f]{1,16}$")
_PREDICATE_OR_ZERO = re.compile(r"(?:!?U?P(?:T|\d+)|U?RZ)$")
_LARGEST_STRUCTURE = 64
"""Bytes; a longer step from one index to the next is a row."""
_WORD = 4
"""Bytes of a register: the rules' thresholds were measured with smaller accesses counted as one."""
_BANKS = 32
_WIDEST = 16
"""Bytes of the widest access."""
_SECTOR = 32
_ABOUT = 0.2
"""The largest relative difference between the sectors that a warp touches and those of interleaved elements."""
_LEAST_RUN = 6
"""The fewest consecutive loads that count as a window; L1 serves stencils of three or five points."""
_WIDEST_ELEMENT = 8
"""Bytes; kernels that load 16 bytes at once share them already."""


def address_terms(each: Instruction) -> tuple[tuple[str, int], ...]:
    """The registers that are summed up in a memory access's address, low halves only, and the factor of each.

    A global access's descriptor is not part of the sum. Before Ampere, shared accesses scale a register: ``R0.X4``.
    """
    return _terms(next((operand for operand in reversed(each.operands) if "[" in operand), ""))


@lru_cache(maxsize=1 << 14)
def _terms(operand: str) -> tuple[tuple[str, int], ...]:
    brackets = operand.rpartition("[")[2]
    return tuple((term["name"], int(term["factor"] or 1)) for term in _TERM.finditer(brackets))


def address_registers(each: Instruction) -> frozenset[str]:
    """The registers of a memory access's address, both halves of pairs, without the descriptor's."""
    if not each.memory:
        return frozenset()
    return _in_pairs(address_terms(each)).intersection((*each.memory.base, *each.memory.uniform))


@lru_cache(maxsize=1 << 14)
def _in_pairs(terms: tuple[tuple[str, int], ...]) -> frozenset[str]:
    """Both halves of the pairs that registers of addresses may be the lower half of."""
    low = {name for name, _ in terms}
    high = {f"{name.rstrip('0123456789')}{int(name.lstrip('UR')) + 1}" for name in low}
    return frozenset(low | high)


def is_executed_uniformly(code: Code, position: int) -> bool:
    """Whether no thread index decides if an instruction is executed: all lanes of a warp execute it together."""
    found = index_dependence(code)[position]
    return not (found.guard | found.control) & OF_THREADS


def lane_stride(code: Code, position: int) -> int | None:
    """The bytes between the addresses that neighbouring lanes access; None where that is not known."""
    address = _address(code, position)
    return address.stride(TID_X) if address else None


def _address(code: Code, position: int) -> Affine | None:
    """The form of a memory access's address; None where a register of it is undefined."""
    each, forms = code.instructions[position], affine_addresses(code)[position]
    address = number(each.memory.offset if each.memory else 0)
    for name, factor in address_terms(each):
        if (form := forms.get(name)) is None:
            return None
        address = add(address, multiply(form, number(factor)))
    return address


def one_address_atomics(code: Code) -> Weights:
    """1 at each atomic in global memory whose address is the same in all threads of a block."""
    addresses = {at: _address(code, at) for at in positions_of(code, is_global_atomic)}
    return weights_at(code, [at for at, form in addresses.items() if form and _is_invariant(form)])


def _is_invariant(form: Affine) -> bool:
    return all(form.stride(index) == 0 for index in (TID_X, TID_Y, TID_Z))


def bank_conflict(stride: int, size: int) -> int:
    """The degree of the bank conflict: different words of one bank that lanes served together access, in a full warp.

    Banks serve 32 lanes of up to 4 bytes at once, 16 of 8 and 8 of 16, from Maxwell on.

    Args:
        stride: The bytes from lane to lane.
        size: The bytes that each lane accesses.
    """
    lanes = range(_BANKS * _WORD // max(size, _WORD))
    words = {(lane * stride + byte) // _WORD for lane in lanes for byte in range(0, max(size, _WORD), _WORD)}
    return max(Counter(word % _BANKS for word in words).values())


def iteration_stride(code: Code, loop: Loop, position: int) -> int | None:
    """The bytes that an access's address advances by in an iteration; None where that is not one known number."""
    total = 0
    for name, factor in address_terms(code.instructions[position]):
        if (advance := _advance(code, loop, position, name)) is None:
            return None
        total += advance * factor
    return total


def _advance(code: Code, loop: Loop, position: int, register: str) -> int | None:
    """What an iteration adds to a register: the increments along its definitions in the loop, back to the first one."""
    total, found = 0, list[int]()
    while definitions := [at for at in use_def(code)[position][register] if at in loop.body]:
        position, *others = definitions
        if position in found[:1]:
            return total
        increment = _increment(code.instructions[position], register)
        if others or position in found or not increment or not _in_each_iteration(code, loop, position):
            return None
        found.append(position)
        register, step = increment
        total += step
    return 0  # what an iteration computes from values from before the loop is the same in all of them


def _increment(each: Instruction, register: str) -> tuple[str, int] | None:
    """The register and the number that an instruction adds up, copies with zero; None for other instructions."""
    if register not in each.operands[:1] or not _ADDS.match(each.opcode):
        return None
    terms = [operand for operand in each.operands[1:] if not _PREDICATE_OR_ZERO.match(operand)]
    numbers = [int(term, 16) for term in terms if _NUMBER.match(term)]
    registers = [term for term in terms if term in each.uses]
    if len(registers) != 1 or len(registers) + len(numbers) != len(terms):
        return None
    return registers[0], signed(sum(numbers))


def _in_each_iteration(code: Code, loop: Loop, position: int) -> bool:
    flow, idom = control_flow(code), immediate_dominators(code)
    return (
        code.instructions[position].guard is None
        and innermost_loop(code, position) is loop
        and all(dominates(idom, flow.block_of[position], flow.block_of[latch]) for latch in loop.latches)
    )


@analysis
def consecutive_accesses(code: Code, asked: Class) -> Sequence[tuple[list[int], int]]:
    """Positions of accesses whose offsets from the same base follow one another, and the bytes of each.

    A run may be a single access.
    """
    groups: dict[tuple[object, int], dict[int, int]] = defaultdict(dict)
    for position in positions_of(code, asked):
        if memory := code.instructions[position].memory:
            groups[_base(code, position), memory.bytes].setdefault(memory.offset, position)
    runs: list[tuple[list[int], int]] = []
    for (_, size), by_offset in groups.items():
        run: list[int] = []
        for offset in sorted(by_offset):
            if not run or offset - size not in by_offset:
                run = []
                runs.append((run, size))
            run.append(by_offset[offset])
    return runs


def _base(code: Code, position: int) -> object:
    """A key that is equal for accesses whose addresses differ only by their offsets.

    Each register of the address has the same definitions, and none of these lies between the accesses.
    """
    order, sources, found = forward_order(code), use_def(code)[position], []
    for name in sorted(address_registers(code.instructions[position])):
        definitions = sources[name]
        before = [at for at in definitions if order[at] < order[position]]
        found.append((name, definitions, max(before, key=order.__getitem__, default=None)))
    return tuple(found)


def saved_by_wider(code: Code, executed: Weights, sectors: Weights) -> Weights:
    """For each global access, the part of it that a wider access would save: 3/4 where one replaces four.

    It counts only where the distance between lanes equals the bytes that each lane accesses in several instructions:
    there each instruction touches every sector. Where each thread has its own row, lanes are further apart.

    Args:
        code: The kernel's code.
        executed: How often each instruction was executed, by all warps.
        sectors: How many sectors each touched, together.
    """
    saved = np.zeros(len(code))
    for asked in (is_global_load, is_global_store):
        for run, size in consecutive_accesses(code, asked):
            stride, requests = len(run) * size, executed[run].sum()
            if not requests or not size < stride <= _SECTOR or stride & (stride - 1):
                continue
            if abs(sectors[run].sum() / requests - stride) <= _ABOUT * stride:
                saved[run] = 1 - max(1, stride // _WIDEST) / len(run)
    return saved


def window_loads(code: Code) -> Weights:
    """1 at each load of consecutive elements that the next lane loads as well, shifted by one element.

    These are six consecutive loads or more, or the loads of a loop whose next iteration continues where the last ended.
    """
    weights = np.zeros(len(code))
    for run, size in consecutive_accesses(code, is_operand_load):
        if size <= _WIDEST_ELEMENT and lane_stride(code, run[0]) == size:
            weights[run] = len(run) >= _LEAST_RUN or _goes_on(code, run[0], len(run) * size)
    return weights


def _goes_on(code: Code, load: int, by: int) -> bool:
    loop = innermost_loop(code, load)
    return loop is not None and iteration_stride(code, loop, load) in {by, -by}


def structure_loads(code: Code) -> Weights:
    """1 at each global load that takes part of an element: its index is multiplied by more bytes than it loads."""
    loads = ((at, code.instructions[at].memory) for at in positions_of(code, is_global_load))
    return weights_at(
        code,
        [
            at
            for at, memory in loads
            if memory and memory.register_bytes < _element_bytes(code, at) <= _LARGEST_STRUCTURE
        ],
    )


def _element_bytes(code: Code, position: int) -> int:
    """What the index in an access's address is multiplied by, as nvcc 11 to 13 do: IMAD.WIDE R2, R5, 0x10, R8."""
    defining = {at for name, _ in address_terms(code.instructions[position]) for at in use_def(code)[position][name]}
    products = (code.instructions[at] for at in defining)
    return max(
        (
            int(each.operands[2], 16)
            for each in products
            if _SCALED.match(each.opcode) and _NUMBER.match(each.operands[2])
        ),
        default=0,
    )
