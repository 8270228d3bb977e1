"""Quantities of a launch's shape and time: warps, threads, waves, cycles, issue slots, occupancy limits.

Each function takes and returns float64 columns with one entry per launch (see ``metrics.registry``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.registry import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_WARP = 32
_ISSUE_SLOTS = 4
"""Instructions that a multiprocessor can issue per cycle, from Volta on."""
_HOPPER = 9


@quantity("warp")
def warps(block_size: Column, grid_size: Column) -> Column:
    """Warps launched; a partly filled warp at the end of a block counts as one."""
    return np.ceil(block_size / _WARP) * grid_size


@quantity("thread/warp")
def threads_per_warp(thread_count: Column, warps: Column) -> Column:
    """Threads per launched warp: below 32 where the block size is no multiple of the warp size."""
    return thread_count / warps


@quantity("share")
def gpu_fill(thread_count: Column, sm_count: Column, max_threads_per_sm: Column) -> Column:
    """Threads launched per thread that the GPU can hold at once."""
    return thread_count / (sm_count * max_threads_per_sm)


@quantity("cycle")
def sm_cycles(sm_cycles_elapsed: Column, sm_count: Column) -> Column:
    """Elapsed cycles summed over all multiprocessors, idle ones too."""
    return sm_cycles_elapsed * sm_count


@quantity("share")
def executed_per_issued(issue_pct: Column, inst_executed_by_smsp: Column, sm_cycles: Column) -> Column:
    """Instructions executed per instruction issued: below 1 where the hardware issued some again."""
    return np.minimum(1.0, inst_executed_by_smsp / (issue_pct / 100 * _ISSUE_SLOTS * sm_cycles))


@quantity("share")
def imad_use(imad_cycles: Column, sm_cycles: Column, compute_capability: Column) -> Column:
    """Use of the integer multiplier as a share of its peak, on Hopper; unknown on other GPUs."""
    return np.where(compute_capability == _HOPPER, imad_cycles / sm_cycles, np.nan)


@quantity("inst/warp")
def loads_per_warp(global_load_inst: Column, warps: Column) -> Column:
    """Global loads that an average warp executes."""
    return global_load_inst / warps


@quantity("1/warp")
def load_iterations(most_executed_load: Column, warps: Column) -> Column:
    """How often an average warp executes the global load that is executed most often."""
    return most_executed_load / warps


@quantity("block")
def block_limit_hardware(block_limit_warps: Column, block_limit_barriers: Column) -> Column:
    """Blocks that fit on a multiprocessor by its warps and its number of blocks, whatever a block uses."""
    return np.minimum(block_limit_warps, block_limit_barriers)


@quantity("share")
def unoccupied_share(theoretical_occupancy_pct: Column) -> Column:
    """The share of a multiprocessor's warp slots that the theoretical occupancy leaves empty."""
    return 1 - theoretical_occupancy_pct / 100


@quantity("%")
def issue_or_alu_pct(issue_pct: Column, alu_pct: Column) -> Column:
    """Use of the issue slots or of the ALU pipe, the larger, in % of its peak."""
    return np.maximum(issue_pct, alu_pct)
