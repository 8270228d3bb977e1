"""Predicates on one ``Instruction`` (``Class``): global load or store, atomic, texture access, barrier and others.

They return a bool, by the memory access, the base opcode or the pipe in the opcode table (``isa``).
"""

from __future__ import annotations

from collections.abc import Callable

from ncuview.sass import isa
from ncuview.sass.instruction import LANE_EXCHANGES, Instruction

Class = Callable[[Instruction], bool]
"""Whether an instruction is of a class."""

_GLOBAL = frozenset({"global", "generic"})
_BARRIERS = frozenset({"BAR", "B2R"})
_MATRIX_PRODUCTS = frozenset({"HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA"})
_WARPGROUP_PRODUCTS = frozenset({"HGMMA", "IGMMA", "BGMMA", "QGMMA"})
_BETWEEN_WARPS = frozenset({"SYNCS", "USETMAXREG"})


def is_global_load(each: Instruction) -> bool:
    """A load from global memory, or from a generic address, into registers."""
    return (
        each.memory is not None
        and each.memory.access == "load"
        and each.memory.space in _GLOBAL
        and bool(each.definitions)
    )


def is_global_store(each: Instruction) -> bool:
    """A store to global memory or to a generic address, by each thread for itself."""
    return each.memory is not None and each.memory.access == "store" and each.memory.space in _GLOBAL


def is_global_atomic(each: Instruction) -> bool:
    """An atomic or a reduction in global memory by each thread for itself; reductions by TMA do not count."""
    return (
        each.memory is not None
        and each.memory.access in {"atomic", "reduction"}
        and each.memory.space in _GLOBAL
        and _pipe(each) == "lsu"
    )


def is_shared_access(each: Instruction) -> bool:
    """A load from shared memory or a store to it, without atomics, whose conflicts depend on the data.

    ``@!PT LDS RZ, [RZ]``, which nvcc 12 and 13 emit next to LDGSTS and is never executed, does not count.
    """
    return (
        each.memory is not None
        and each.memory.space == "shared"
        and (each.memory.access == "store" or (each.memory.access == "load" and bool(each.definitions)))
    )


def is_operand_load(each: Instruction) -> bool:
    """A load by each thread for itself from global or shared memory; LDSM loads matrices for a warp."""
    return is_global_load(each) or (each.base_opcode == "LDS" and is_shared_access(each))


def is_local_access(each: Instruction) -> bool:
    """A load from local memory or a store to it."""
    return each.memory is not None and each.memory.space == "local"


def is_texture_access(each: Instruction) -> bool:
    """An access to a texture or a surface."""
    return _pipe(each) == "tex"


def is_barrier(each: Instruction) -> bool:
    """A barrier of a block, or the read of its result."""
    return each.base_opcode in _BARRIERS


def is_lane_exchange(each: Instruction) -> bool:
    """An exchange between the lanes of a warp; votes do not count."""
    return each.base_opcode in LANE_EXCHANGES


def is_special_function(each: Instruction) -> bool:
    """A special function or conversion, and the check of a division, FCHK: what the XU pipe executes."""
    return _pipe(each) == "xu"


def is_double_arithmetic(each: Instruction) -> bool:
    """Arithmetic or comparison in double precision."""
    return _pipe(each) == "fp64"


def is_double_or_matrix(each: Instruction) -> bool:
    """An instruction of the double-precision pipe or the tensor cores, which share their dispatch."""
    return _pipe(each) in {"fp64", "tensor"}


def is_double_precision(each: Instruction) -> bool:
    """Arithmetic, comparison or a matrix product in double precision."""
    return is_double_arithmetic(each) or each.base_opcode == "DMMA"


def is_low_precision_product(each: Instruction) -> bool:
    """A matrix product of tensor cores in less than double precision, by one warp or by a group of warps."""
    return _pipe(each) == "tensor" and each.base_opcode != "DMMA"


def is_matrix_product(each: Instruction) -> bool:
    """A matrix product of tensor cores by one warp, with its operands in registers."""
    return each.base_opcode in _MATRIX_PRODUCTS


def is_warp_specialised(each: Instruction) -> bool:
    """An instruction of warp-specialised kernels: TMA, mbarriers, setmaxnreg, WGMMA, and tcgen05 of Blackwell."""
    opcode = each.base_opcode
    return (
        _pipe(each) == "tma"
        or opcode in _BETWEEN_WARPS
        or opcode in _WARPGROUP_PRODUCTS
        or (opcode.startswith("UTC") and opcode.endswith("MMA"))
    )


def is_any(each: Instruction) -> bool:
    """Every instruction."""
    del each
    return True


def _pipe(each: Instruction) -> str:
    """The pipe on the newest architecture; those that this module asks for are the same on all."""
    return isa.operation(each.opcode).pipe
