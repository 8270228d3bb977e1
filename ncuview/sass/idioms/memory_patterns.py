"""Weights of a ``Code`` that mark patterns of memory accesses: spilled registers, sums in shared memory, swap loops.

``spill_accesses``: at fixed stack offsets; ``local_array_accesses``: at computed addresses. nvcc 12 and 13, all GPUs
from Volta on: R1 is the stack pointer, and a spilled register has a fixed place on the stack. Elements of arrays at
indices that the compiler knows look the same.
``swap_loops``: ATOMG.E.CAS or ATOM.E.CAS and a jump back, as these compilers write it for the same GPUs.
``shared_pairs``: additions as of shortest paths; ``shared_updates``: stores of tree reductions and similar code;
``summed_values``: what computes the numbers that these add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import or_

import numpy as np

from ncuview.sass.address import address_registers, iteration_stride
from ncuview.sass.cfg import Loop, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import def_use, propagate, use_def
from ncuview.sass.index_dependence import OF_THREADS, index_dependence
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.opcode_classes import is_global_atomic, is_global_load, is_local_access
from ncuview.sass.slices import backward_slice, forward_slice, is_invariant, value_slice

_STACK_POINTER = ("R1",)
_ADDS = frozenset({"FADD", "FADD2", "DADD", "IADD3", "FMNMX", "FMNMX3", "DMNMX", "VIMNMX", "VIMNMX3", "IMNMX"})
_NEAR = 12
"""The most instructions from the load to the store of an update: beyond, the number was used otherwise."""


def spill_accesses(code: Code) -> Weights:
    """1 at each access to local memory at a fixed place of the stack: a spilled register."""
    accesses = positions_of(code, is_local_access)
    return weights_at(code, [at for at in accesses if _is_at_fixed_place(code.instructions[at])])


def local_array_accesses(code: Code) -> Weights:
    """1 at each access to local memory at a computed address: an array whose index the compiler does not know."""
    accesses = positions_of(code, is_local_access)
    return weights_at(code, [at for at in accesses if not _is_at_fixed_place(code.instructions[at])])


def _is_at_fixed_place(each: Instruction) -> bool:
    return each.memory is not None and each.memory.base == _STACK_POINTER and not each.memory.uniform


@analysis
def swap_loops(code: Code) -> Weights:
    """1 at each compare-and-swap in global memory that a loop repeats until it succeeds, as for an addition.

    The stored value is computed from the old one. A swap of a fixed value, as when a table of keys is filled, does not
    count.
    """
    repeated = [position for position in positions_of(code, _is_swap) if innermost_loop(code, position) is not None]
    if not repeated:
        return weights_at(code, [])
    bit = {position: 1 << number for number, position in enumerate(repeated)}

    def found_by(position: int, operands: Mapping[str, int]) -> int:
        """The swaps whose result an instruction's result is computed from; predicates only choose between values."""
        found = bit.get(position, 0)
        for name, swaps in operands.items():
            found |= 0 if "P" in name else swaps
        return found

    operands = propagate(code, found_by, join=or_, least=0).operands
    stored = {position: register(code.instructions[position].operands[-1]) for position in repeated}
    return weights_at(code, [at for at in repeated if operands[at].get(stored[at], 0) & bit[at]])


def _is_swap(each: Instruction) -> bool:
    return is_global_atomic(each) and "CAS" in each.opcode.split(".")


@analysis
def shared_pairs(code: Code) -> Weights:
    """1 at each addition of two numbers from shared memory whose result is added or compared next, and not stored.

    Sums of distances and shortest paths combine each row with each column as a matrix product does, but without
    multiply-adds.
    """
    adding = positions_of(code, _adds) if positions_of(code, _is_load) else ()
    return weights_at(code, [at for at in adding if _adds_loaded(code, at) and _is_added_next(code, at)])


def _adds(each: Instruction) -> bool:
    return each.base_opcode in _ADDS


def _adds_loaded(code: Code, position: int) -> bool:
    numbers = {register(operand) for operand in code.instructions[position].operands[1:]} - {""}
    made = (use_def(code)[position].get(number, ()) for number in numbers)
    return len(numbers) > 1 and all(each and all(_is_load(code.instructions[at]) for at in each) for each in made)


def _is_added_next(code: Code, position: int) -> bool:
    """Whether the first instruction that uses the result adds it; in a loop it may stand earlier in the code."""
    uses = sorted({use for uses in def_use(code)[position].values() for use in uses})
    following = [use for use in uses if use > position] or uses
    return bool(following) and _adds(code.instructions[following[0]])


@analysis
def shared_updates(code: Code) -> Weights:
    """1 at each store to shared memory that replaces what was just loaded from there: a sum that is kept in it.

    Sums of neighbours at the same distances in each step, as of a stencil, do not count: a tree's distance changes from
    level to level.
    """
    loads, stores = frozenset(positions_of(code, _is_load)), positions_of(code, _is_store)
    own = {
        store: [at for at in range(store - _NEAR + 1, store) if at in loads and _same_address(code, at, store)]
        for store in stores
    }
    together: dict[Loop | None, list[int]] = defaultdict(list)
    for store in (store for store in stores if own[store]):
        together[innermost_loop(code, store)].append(store)
    trees = (updates for loop, updates in together.items() if not _of_neighbours(code, loop, updates))
    return weights_at(code, [store for updates in trees for store in updates])


def _of_neighbours(code: Code, loop: Loop | None, updates: Sequence[int]) -> bool:
    """Whether all updates in a loop add numbers at the same distances from their own place, in all iterations."""
    loads, added = frozenset(positions_of(code, _is_load)), set[frozenset[object]]()
    for store in updates:
        others = [at for at in value_slice(code, store) & loads if not _same_address(code, at, store)]
        if loop is None or not others or not all(_keeps_distance(code, loop, at, store) for at in others):
            return False
        added.add(frozenset(_place(code, at) for at in (store, *others)))
    return len(added) == 1


def _place(code: Code, access: int) -> object:
    """A key that is equal for accesses to shared memory at the same address."""
    each = code.instructions[access]
    names = sorted(address_registers(each))
    return each.memory and each.memory.offset, *((name, use_def(code)[access][name]) for name in names)


def _keeps_distance(code: Code, loop: Loop, one: int, other: int) -> bool:
    """Whether the addresses of two accesses advance together in a loop, or stay."""
    if all(
        is_invariant(code, loop, at, name) for at in (one, other) for name in address_registers(code.instructions[at])
    ):
        return True
    by = iteration_stride(code, loop, one)
    return by is not None and by == iteration_stride(code, loop, other)


@analysis
def summed_values(code: Code) -> Weights:
    """1 at each instruction that computes from global loads what a tree in shared memory then adds up, loads included.

    A tree's first values are stored to the places of its sums, and no sum goes into them; where sums are kept at other
    places at each level, any store to shared memory may be of first values. Loads that differ between threads decide
    what is stored, or whether.
    """
    updates = frozenset(np.flatnonzero(shared_updates(code)).tolist())
    loads = [at for at in positions_of(code, is_global_load) if index_dependence(code)[at].operands & OF_THREADS]
    if not updates or not loads:
        return weights_at(code, [])
    kept = {at for at in positions_of(code, _is_load) if any(_same_address(code, at, update) for update in updates)}
    others = [at for at in positions_of(code, _is_store) if at not in updates]
    own = [at for at in others if any(_same_address(code, update, at) for update in updates)]
    loaded, found = forward_slice(code, loads), set[int]()
    for store in own or others:
        values = value_slice(code, store)
        from_loads = backward_slice(code, store, control=True) & loaded
        if from_loads and not values & kept:
            found |= values | from_loads - {store}
    return weights_at(code, found)


def _is_store(each: Instruction) -> bool:
    return each.base_opcode == "STS"


def _is_load(each: Instruction) -> bool:
    return each.base_opcode == "LDS"


def _same_address(code: Code, load: int, store: int) -> bool:
    """Whether a load and a store name the same address by registers that hold the same values at both."""
    one, other = code.instructions[load].memory, code.instructions[store].memory
    if not one or not other or (one.base, one.uniform, one.offset) != (other.base, other.uniform, other.offset):
        return False
    return all(use_def(code)[load][name] == use_def(code)[store][name] for name in (*one.base, *one.uniform))
