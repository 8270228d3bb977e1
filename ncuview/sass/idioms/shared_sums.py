"""Weights of a ``Code`` that mark sums of two shared-memory operands, and stores that keep a sum in shared memory.

``shared_pairs``: additions as of shortest paths. ``shared_updates``: stores of tree reductions and similar code.
"""

from __future__ import annotations

from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import Weights, positions_of, weights_at
from ncuview.sass.dataflow import def_use, use_def
from ncuview.sass.instruction import Instruction
from ncuview.sass.operands import register

_ADDS = frozenset({"FADD", "FADD2", "DADD", "IADD3", "FMNMX", "FMNMX3", "DMNMX", "VIMNMX", "VIMNMX3", "IMNMX"})
_NEAR = 12
"""The most instructions from the load to the store of an update: beyond, the number was used otherwise."""


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
    """1 at each store to shared memory that replaces what was just loaded from there: a sum that is kept in it."""
    loads, stores = frozenset(positions_of(code, _is_load)), positions_of(code, _is_store)
    return weights_at(
        code,
        [
            store
            for store in stores
            if any(at in loads and _same_address(code, at, store) for at in range(store - _NEAR + 1, store))
        ],
    )


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
