"""Quantities of executed instructions: counts by kind, cost of compiler idioms, active lanes, divergence.

Most take one launch's ``Code`` and its metrics per instruction and return one number (see ``metrics.registry``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.instruction_table import total, weighted
from ncuview.metrics.registry import instruction_quantity, quantity
from ncuview.sass import (
    index_dependence,
    instruction_mix,
    iteration_dependence,
    loaded_values,
    opcode_classes,
    provenance,
)
from ncuview.sass.code import of_class
from ncuview.sass.idioms import division, math_functions, memory_patterns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.registry import Launches
    from ncuview.sass.code import Code

    Column = NDArray[np.float64]

_WARP = 32
_OF_A_LEVEL = 11.0
"""Instructions of a warp per level of a tree in shared memory: nvcc 13 compiles reduce_v3's loop to 11."""
_UPDATES_OF_A_LEVEL = 1.3
"""Levels per update: the last levels of a tree, of one warp, may have no update of their own."""
_MOST_OF_A_TREE = 0.9
_FULL = 0.98
"""From this share of its threads on, a warp counts as full: guards at edges empty a few lanes of the last blocks."""


@instruction_quantity("inst")
def executed(code: Code, executions: Column) -> float:
    """Instructions executed by warps, summed over the instructions of the code."""
    return total(code, opcode_classes.is_any, executions)


@instruction_quantity("share")
def independent_share(code: Code, executions: Column) -> float:
    """The share of the executed instructions in loops whose iterations do not depend on one another."""
    return _share_at(iteration_dependence.independent_iterations(code), executions)


@instruction_quantity("share")
def serial_share(code: Code, executions: Column) -> float:
    """The share of the executed instructions in loops of which each iteration needs results of the one before."""
    return _share_at(iteration_dependence.serial_iterations(code), executions)


def _share_at(weights: Column, executions: Column) -> float:
    executed = executions.sum()
    return float((weights * executions).sum() / executed) if executed else 0.0


@instruction_quantity("inst")
def barriers(code: Code, executions: Column) -> float:
    """Barriers executed by warps."""
    return total(code, opcode_classes.is_barrier, executions)


@instruction_quantity("thread/inst")
def working_lanes(active_threads: Column, executions: Column) -> float:
    """Threads that are active in an average executed instruction."""
    return float(active_threads.sum() / executions.sum()) if executions.sum() else float(_WARP)


@instruction_quantity("share")
def divergent_efficiency(executions: Column, threads: Column) -> float:
    """Active threads of the instructions that only part of a warp executes, as a share of a warp."""
    divergent = threads < _FULL * _WARP * executions
    return float(threads[divergent].sum() / (_WARP * executions[divergent].sum())) if divergent.any() else 1.0


@instruction_quantity("share")
def divergent_share(executions: Column, threads: Column) -> float:
    """The share of the executed instructions that only part of a warp executes."""
    divergent = threads < _FULL * _WARP * executions
    return float(executions[divergent].sum() / executions.sum()) if executions.sum() else 0.0


@instruction_quantity("cycle")
def imad_cycles(code: Code, executions: Column) -> float:
    """Cycles of the integer multiplier."""
    return weighted(code, instruction_mix.integer_multiply_cycles, executions)


@instruction_quantity("inst")
def loop_iterations(code: Code, executions: Column) -> float:
    """Iterations of loops: executions of their backward branches."""
    return weighted(code, instruction_mix.loop_iterations, executions)


@instruction_quantity("inst")
def guarded_branches(code: Code, executions: Column) -> float:
    """Branches, exits and breaks under a predicate."""
    return weighted(code, provenance.guarded_branches, executions)


@instruction_quantity("inst")
def data_dependent_branches(code: Code, executions: Column) -> float:
    """Guarded branches in loops whose predicate comes from loaded data."""
    return weighted(code, provenance.data_dependent_branches, executions)


@instruction_quantity("inst")
def index_arithmetic(code: Code, executions: Column) -> float:
    """Instructions that compute indices, addresses and tests, and that do not depend on loaded data."""
    return weighted(code, provenance.index_arithmetic, executions)


@instruction_quantity("inst")
def thread_invariant_instructions(code: Code, executions: Column) -> float:
    """Instructions that compute the same value in all threads."""
    return weighted(code, index_dependence.thread_invariant, executions)


@instruction_quantity("inst")
def thread_invariant_floats(code: Code, executions: Column) -> float:
    """Floating-point instructions that compute the same value in all threads."""
    return weighted(code, index_dependence.thread_invariant_floats, executions)


@instruction_quantity("inst")
def thread_invariant_results(code: Code, executions: Column) -> float:
    """Thread-invariant floating-point results that an instruction which differs between threads uses."""
    return weighted(code, index_dependence.thread_invariant_float_results, executions)


@instruction_quantity("inst")
def float_arithmetic(code: Code, executions: Column) -> float:
    """Floating-point instructions: arithmetic, functions, comparisons and conversions."""
    return weighted(code, index_dependence.float_arithmetic, executions)


@instruction_quantity("inst")
def special_functions(code: Code, executions: Column) -> float:
    """Special functions and conversions: what the XU pipe executes."""
    return weighted(code, instruction_mix.special_functions, executions)


@instruction_quantity("inst")
def precise_instructions(code: Code, executions: Column) -> float:
    """Instructions that precise functions take beyond their fast forms."""
    return weighted(code, math_functions.precise_instructions, executions)


@instruction_quantity("inst")
def precise_special(code: Code, executions: Column) -> float:
    """Instructions of the XU pipe that precise functions take beyond their fast forms."""
    return weighted(code, math_functions.precise_special, executions)


@instruction_quantity("inst")
def denormal_scaling(code: Code, executions: Column) -> float:
    """Instructions that scale denormal numbers around special functions."""
    return weighted(code, math_functions.denormal_scaling, executions)


@instruction_quantity("inst")
def power_instructions(code: Code, executions: Column) -> float:
    """Instructions that powers take beyond the products or roots that could replace them."""
    return weighted(code, math_functions.power_instructions, executions)


@instruction_quantity("inst")
def power_special(code: Code, executions: Column) -> float:
    """Instructions of the XU pipe that replaceable powers take."""
    return weighted(code, math_functions.power_special, executions)


@instruction_quantity("inst")
def power_doubles(code: Code, executions: Column) -> float:
    """Instructions in double precision that replaceable powers take."""
    return weighted(code, math_functions.power_doubles, executions)


@instruction_quantity("inst")
def division_instructions(code: Code, executions: Column) -> float:
    """Instructions that integer divisions by numbers known at run time take."""
    return weighted(code, division.division_instructions, executions)


@instruction_quantity("inst")
def division_replacements(code: Code, executions: Column) -> float:
    """Instructions that integer divisions by run-time values would take with a power of two as the divisor."""
    return weighted(code, division.division_leaves, executions)


@instruction_quantity("inst")
def repeated_divisions(code: Code, executions: Column) -> float:
    """Divisions in double precision by a number whose reciprocal could be reused."""
    return weighted(code, division.repeated_divisions, executions)


@instruction_quantity("inst")
def converted_loads(code: Code, executions: Column) -> float:
    """Type conversions of numbers that were loaded from global memory and not changed."""
    return weighted(code, loaded_values.converted_loads, executions)


@instruction_quantity("inst")
def kept_doubles(code: Code, executions: Column) -> float:
    """Operations in double precision on unchanged loaded numbers, and stores of their results."""
    return weighted(code, loaded_values.kept_doubles, executions)


@instruction_quantity("inst")
def double_conversions(code: Code, executions: Column) -> float:
    """Conversions between single and double precision."""
    return weighted(code, instruction_mix.double_conversions, executions)


@instruction_quantity("inst")
def double_arithmetic(code: Code, executions: Column) -> float:
    """Arithmetic and comparisons in double precision."""
    return weighted(code, instruction_mix.double_arithmetic, executions)


@instruction_quantity("inst")
def multiply_adds(code: Code, executions: Column) -> float:
    """Fused multiply-adds; packed ones count as two."""
    return weighted(code, instruction_mix.multiply_adds, executions)


@instruction_quantity("inst")
def uniform_multiply_adds(code: Code, executions: Column) -> float:
    """Fused multiply-adds with an operand from constant memory or a uniform register."""
    return weighted(code, instruction_mix.uniform_multiply_adds, executions)


@instruction_quantity("inst")
def shared_pairs(code: Code, executions: Column) -> float:
    """Additions of two numbers from shared memory whose result is added or compared next."""
    return weighted(code, memory_patterns.shared_pairs, executions)


@instruction_quantity("inst")
def shared_updates(code: Code, executions: Column) -> float:
    """Stores to shared memory that replace a value just loaded from there: sums in shared memory."""
    return weighted(code, memory_patterns.shared_updates, executions)


@instruction_quantity("inst")
def summed_values(code: Code, executions: Column) -> float:
    """Instructions that compute from global loads what a tree in shared memory adds up, loads included."""
    return weighted(code, memory_patterns.summed_values, executions)


@instruction_quantity("inst")
def summed_special(code: Code, executions: Column) -> float:
    """Special functions and conversions among the instructions that compute what a tree in shared memory adds up."""
    special = code.result_of(instruction_mix.special_functions)
    return float((code.result_of(memory_patterns.summed_values) * special) @ executions)


@instruction_quantity("inst")
def shuffles(code: Code, executions: Column) -> float:
    """Exchanges between the lanes of a warp."""
    return weighted(code, instruction_mix.shuffles, executions)


@instruction_quantity("inst")
def tensor_operations(code: Code, executions: Column) -> float:
    """Matrix products of tensor cores."""
    return weighted(code, instruction_mix.tensor_operations, executions)


@instruction_quantity("inst")
def masks_to_24_bits(code: Code, executions: Column) -> float:
    """Masks of the low 24 bits of integers, as __mul24 needs them."""
    return weighted(code, instruction_mix.masks_to_24_bits, executions)


@instruction_quantity("inst")
def spill_accesses(code: Code, executions: Column) -> float:
    """Accesses to local memory at a fixed place of the stack: spilled registers."""
    return weighted(code, memory_patterns.spill_accesses, executions)


@instruction_quantity("inst")
def local_array_accesses(code: Code, executions: Column) -> float:
    """Accesses to local memory at a computed address: arrays whose index the compiler does not know."""
    return weighted(code, memory_patterns.local_array_accesses, executions)


@instruction_quantity("inst")
def indexed_constants(code: Code, executions: Column) -> float:
    """Loads of constant memory at an index that differs between threads."""
    return weighted(code, instruction_mix.indexed_constants, executions)


@instruction_quantity("word")
def uniform_constants(code: Code, executions: Column) -> float:
    """Words of constant memory that are read at a computed address which is the same for the warp."""
    return weighted(code, instruction_mix.uniform_constants, executions)


@instruction_quantity("inst")
def swap_loops(code: Code, executions: Column) -> float:
    """Compare-and-swaps in global memory that a loop repeats until no other thread interferes."""
    return weighted(code, memory_patterns.swap_loops, executions)


@quantity("share")
def multiply_add_share(multiply_adds: Column, executed: Column) -> Column:
    """Fused multiply-adds per executed instruction; packed ones count as two."""
    return multiply_adds / executed


@quantity("share")
def tree_share(barriers: Column, shared_updates: Column, executed: Column) -> Column:
    """The share of the executed instructions that the levels of a tree in shared memory take, at most nine tenths."""
    levels = np.minimum(barriers, _UPDATES_OF_A_LEVEL * shared_updates)
    return np.minimum(_MOST_OF_A_TREE, _OF_A_LEVEL * levels / executed)


@quantity("1 if so")
def warp_specialised(launches: Launches) -> Column:
    """1 where the code copies by TMA, waits at mbarriers, moves registers between warps, or uses WGMMA; else 0.

    0 also where no machine code is known: most kernels do none of this.
    """
    specialised = np.zeros(len(launches.profile.launches))
    for launch, rows in launches.instructions.items():
        specialised[launch] = float(of_class(rows.code, opcode_classes.is_warp_specialised).any())
    return specialised
