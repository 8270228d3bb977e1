"""Find what a kernel's global loads read, and which are in flight together: weights of a ``Code``, arguments, batches.

``uniform_loads``, ``reloads`` and ``chased_loads`` mark loads by their address: thread-invariant, reloaded in a loop
that stores, from a pointer chain. ``gathered_loads`` and ``regathered_loads`` mark those at a loaded index.
``pointer_arguments`` gives the kernel's arguments that each address comes from, ``load_batches`` the loads that are in
flight before a thread waits for one of them; ``has_fixed_address`` tests an access in a loop.
``within_iterations`` gives the definitions that reach each use without going around a loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import or_
from typing import NamedTuple

import numpy as np

from ncuview.sass.address import address_registers
from ncuview.sass.cfg import Loop, forward_order, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import Chains, def_use, effects, propagate, use_def
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.loaded_values import coefficient_loads
from ncuview.sass.opcode_classes import is_global_load, is_global_store
from ncuview.sass.slices import address_slice

_COPIES = ("MOV", "UMOV", "IMAD.MOV", "IMAD.U32")
_CONSTANT_LOADS = frozenset({"LDC", "ULDC", "LDCU"})
_CHAIN = 3
"""The fewest dependent loads that are a chain: an index and the element it points to are two, which do not count."""
_MIXES_BITS = frozenset({"LOP3", "LOP", "SHF", "PRMT"})
"""The operations that hash functions consist of."""
_ARGUMENT = re.compile(r"c\[0x0\]\[(?P<place>0x[0-9a-f]+)\]")
_TAKES_POINTER = _CONSTANT_LOADS | {"IMAD", "LEA", "MOV", "UMOV", "IADD3", "UIADD3", "IADD", "UIADD"}
"""Opcodes that read a pointer argument for an address: LDC from Hopper on, arithmetic before."""


def has_fixed_address(code: Code, loop: Loop, position: int) -> bool:
    """Whether the address of an access in a loop is the same in all iterations.

    Each of its registers is defined before the loop, or in it by fetching an argument or another constant.
    """
    registers = address_registers(code.instructions[position])
    defining = {at for name in registers for at in use_def(code)[position][name] if at in loop.body}
    return all(_fetches_constant(code.instructions[at]) for at in defining)


def _fetches_constant(each: Instruction) -> bool:
    """Whether an instruction only fetches an argument or another constant at a known place."""
    return each.base_opcode in _CONSTANT_LOADS and not each.uses


@analysis
def fixed_loads(code: Code) -> Weights:
    """1 at each global load whose address comes straight from the kernel's arguments: the same for all threads."""
    sources = use_def(code)
    return _global_loads(
        code, lambda position, address: all(_from_arguments(code, sources[position][name]) for name in address)
    )


def _from_arguments(code: Code, definitions: tuple[int, ...]) -> bool:
    """Whether all definitions are arguments, or copies of such."""
    found, waiting, linked = set[int](), list(definitions), use_def(code)
    while waiting:
        if (at := waiting.pop()) not in found:
            found.add(at)
            each, sources = code.instructions[at], linked[at]
            # Before Hopper arguments are operands of the instructions that copy them.
            copies = each.opcode.startswith(_COPIES) and (each.uses or any("c[0x0]" in text for text in each.operands))
            if not _fetches_constant(each) and not (copies and all(sources[name] for name in each.uses)):
                return False
            waiting.extend(definition for name in each.uses for definition in sources[name])
    return bool(found)


@analysis
def reloads(code: Code) -> Weights:
    """1 at each global load in a loop that stores, from an address that the loop does not change."""
    stores = positions_of(code, is_global_store)
    return _global_loads(
        code,
        lambda position, _: (
            (loop := innermost_loop(code, position)) is not None
            and not loop.body.isdisjoint(stores)
            and has_fixed_address(code, loop, position)
        ),
    )


def uniform_loads(code: Code) -> Weights:
    """1 at each global load from a thread-invariant address that is not a reload after a store."""
    return fixed_loads(code) * (1 - reloads(code))


@analysis
def chased_loads(code: Code) -> Weights:
    """1 at each global load of a chain: its address depends on loads before it, or on itself an iteration before."""
    loads = frozenset(positions_of(code, is_global_load))

    def loads_before(position: int, operands: Mapping[str, int]) -> int:
        depth = max(operands.values(), default=0)
        return min(_CHAIN, depth + (position in loads))

    depth = propagate(code, loads_before, join=max, least=0, linked=within_iterations).results
    return _global_loads(
        code, lambda position, address: depth[position] == _CHAIN or _leads_to_itself(code, position, address)
    )


@analysis
def within_iterations(code: Code) -> Chains:
    """The definitions that reach each use without going around a loop."""
    order = forward_order(code)
    return tuple(
        {name: tuple(at for at in definitions if order[at] < order[position]) for name, definitions in uses.items()}
        for position, uses in enumerate(address_slice(code))
    )


def _leads_to_itself(code: Code, load: int, address: frozenset[str]) -> bool:
    """Whether a load's address comes from what it loaded in an earlier iteration of its loop."""
    loop, sources = innermost_loop(code, load), address_slice(code)
    body = loop.body if loop else frozenset[int]()
    found = set[int]()
    waiting = [at for name in address for at in sources[load][name]]
    while waiting and load not in found:
        if (at := waiting.pop()) in body and at not in found:
            found.add(at)
            waiting.extend(definition for definitions in sources[at].values() for definition in definitions)
    return load in found


def _global_loads(code: Code, which: Callable[[int, frozenset[str]], bool]) -> Weights:
    """1 at each global load that ``which`` selects, by its position and the registers of its address."""
    addresses = ((at, address_registers(code.instructions[at])) for at in positions_of(code, is_global_load))
    return weights_at(code, [position for position, address in addresses if address and which(position, address)])


class _Values(NamedTuple):
    """The loads whose values reach a register, as bits.

    Attributes:
        all: Each of them.
        mixed: Those whose bits were mixed on the way.
    """

    all: int
    mixed: int


_NOTHING = _Values(0, 0)


class _Indices(NamedTuple):
    """The loads whose values the address of a load comes from, as bits.

    Attributes:
        in_loop: Those of its own loop.
        hashed: Those from before the loop whose bits were mixed, as for a hash. A pointer or position that was loaded
            before a loop and advances in it is not an index.
    """

    in_loop: int
    hashed: int


def gathered_loads(code: Code) -> Weights:
    """1 at each global load whose address comes from another load's value: an index array, a table, a hash.

    Loads from library functions' own tables of coefficients do not count.
    """
    return np.array([bool(found.in_loop or found.hashed) for found in _indices(code)], dtype=np.float64)


def regathered_loads(code: Code) -> Weights:
    """1 at each gathered load whose index an earlier load used: another field of the same record."""
    again, served = np.zeros(len(code)), 0
    for position, found in enumerate(_indices(code)):
        again[position] = bool(found.in_loop) and not found.in_loop & ~served
        served |= found.in_loop
    return again


@analysis
def _indices(code: Code) -> Sequence[_Indices]:
    """The indices of each instruction that is a global load; none of others."""
    bits = {position: 1 << number for number, position in enumerate(positions_of(code, is_global_load))}

    def transfer(position: int, operands: Mapping[str, _Values]) -> _Values:
        if position in bits:
            return _Values(bits[position], 0)
        reaching = reduce(_joined, operands.values(), _NOTHING)
        mixes = code.instructions[position].base_opcode in _MIXES_BITS
        return _Values(reaching.all, reaching.mixed | (reaching.all if mixes else 0))

    found = propagate(code, transfer, join=_joined, least=_NOTHING, linked=within_iterations).operands
    of_loops: dict[object, int] = {}
    for position, bit in bits.items():
        loop = innermost_loop(code, position)
        of_loops[loop] = of_loops.get(loop, 0) | bit
    indices = [_Indices(0, 0)] * len(code)
    for position in bits.keys() - coefficient_loads(code):
        own = of_loops[innermost_loop(code, position)]
        of_address = (found[position][name] for name in address_registers(code.instructions[position]))
        reaching = reduce(_joined, of_address, _NOTHING)
        indices[position] = _Indices(reaching.all & own, reaching.mixed & ~own)
    return indices


def _joined(one: _Values, other: _Values) -> _Values:
    return _Values(one.all | other.all, one.mixed | other.mixed)


@analysis
def pointer_arguments(code: Code) -> Mapping[int, frozenset[str]]:
    """The arguments of the kernel that the address of each global load and store comes from: places in bank 0."""

    def transfer(position: int, operands: Mapping[str, frozenset[str]]) -> frozenset[str]:
        if position in loads:
            return none
        own = halves[position] if position in halves else _own_arguments(code.instructions[position])
        return own.union(*operands.values())

    none, loads, halves = frozenset[str](), frozenset(positions_of(code, is_global_load)), _pointer_halves(code)
    found = propagate(code, transfer, join=or_, least=none, linked=address_slice).operands
    return {
        at: none.union(*(found[at][name] for name in address_registers(code.instructions[at])))
        for at in sorted(loads.union(positions_of(code, is_global_store)))
    }


def _pointer_halves(code: Code) -> Mapping[int, frozenset[str]]:
    """The loads of one half of an argument of 64 bits -> its place: nvcc 13 loads R8 and R9 by themselves.

    Integers that stand side by side may be loaded to such registers too: an instruction must use both as one operand.
    """
    loaded: dict[tuple[str, int], list[int]] = {}
    for position, each in enumerate(code.instructions):
        if each.base_opcode in _CONSTANT_LOADS and ".64" not in each.opcode:
            for place in _ARGUMENT.findall(each.operands[-1]):
                loaded.setdefault((register(each.operands[0]), int(place, 16)), []).append(position)
    found: dict[int, frozenset[str]] = {}
    for (low, place), positions in loaded.items():
        name, number = low.rstrip("0123456789"), int(re.sub(r"\D", "", low) or 0)
        high = f"{name}{number + 1}"
        for one, other in product(positions, loaded.get((high, place + 4), ())):
            if place % 8 == 0 and number % 2 == 0 and _used_as_one(code, one, other, high):
                found |= dict.fromkeys((one, other), frozenset({hex(place)}))
    return found


def _used_as_one(code: Code, low: int, high: int, name_of_high: str) -> bool:
    """Whether an instruction uses two definitions as the halves of one operand, which names only the low one."""
    users = (set[int]().union(*def_use(code)[half].values()) for half in (low, high))
    both = set.intersection(*users)
    return any(name_of_high not in map(register, code.instructions[user].operands) for user in both)


def _own_arguments(each: Instruction) -> frozenset[str]:
    """The arguments among an instruction's operands that may be pointers."""
    narrow = each.base_opcode in _CONSTANT_LOADS and ".64" not in each.opcode
    if each.base_opcode not in _TAKES_POINTER or narrow:
        return frozenset()
    return frozenset(place for operand in each.operands for place in _ARGUMENT.findall(operand))


class LoadBatch(NamedTuple):
    """Global loads in flight together.

    Attributes:
        start: The position of the first.
        size: The bytes that all of them load for a thread; each load counts at least 4.
    """

    start: int
    size: int


@analysis
def load_batches(code: Code) -> Sequence[LoadBatch]:
    """Find the batches in the order of the code.

    A batch ends where an instruction uses or overwrites a register that one of its loads fills: the thread waits there.
    """
    batches: list[LoadBatch] = []
    waits_at = -1
    for position in positions_of(code, is_global_load):
        memory = code.instructions[position].memory
        size = memory.register_bytes if memory else 0
        if batches and position < waits_at:
            batches[-1] = LoadBatch(batches[-1].start, batches[-1].size + size)
            waits_at = min(waits_at, _waits_at(code, position))
        else:
            batches.append(LoadBatch(position, size))
            waits_at = _waits_at(code, position)
    return tuple(batches)


def _waits_at(code: Code, load: int) -> int:
    """The next instruction in the listing that touches a register of a load; the end of the code where none does."""
    filled, found = code.instructions[load].definitions, effects(code)
    touching = (at for at in range(load + 1, len(code)) if not filled.isdisjoint((*found[at].uses, *found[at].defines)))
    return next(touching, len(code))
