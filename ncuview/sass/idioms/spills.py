"""Weights of a ``Code`` that mark local-memory accesses as spilled registers or as accesses to local arrays.

``spill_accesses``: at fixed stack offsets; ``local_array_accesses``: at computed addresses (nvcc 12, 13 from Volta).

nvcc 12 and 13, all GPUs from Volta on: R1 is the stack pointer, and a spilled register has a fixed place on the stack.
Elements of arrays at indices that the compiler knows look the same.
"""

from __future__ import annotations

from ncuview.sass.code import Code
from ncuview.sass.columns import Weights, positions_of, weights_at
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import is_local_access

_STACK_POINTER = ("R1",)


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
