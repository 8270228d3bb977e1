"""Nsight Compute's metrics under the short names that rules and quantities use: one name for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ncuview.metrics.units import UNITS

_STALL = "smsp__pcsamp_warps_issue_stalled_{}"
STALL_REASONS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instructions",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
    "warpgroup_arrive",
)
"""Why a sampled warp did not issue, in Nsight Compute's words."""
SAMPLES: Mapping[str, str] = {reason: _STALL.format(reason) for reason in STALL_REASONS}
"""Stall reason -> the metric that counts its samples."""

NAMES: Mapping[str, str] = {
    "duration": "gpu__time_duration.sum",
    "compute_capability": "device__attribute_compute_capability_major",
    "max_threads_per_sm": "device__attribute_max_threads_per_multiprocessor",
    "sm_count": "launch__sm_count",
    "sm_cycles_elapsed": "sm__cycles_elapsed.max",
    "grid_size": "launch__grid_size",
    "grid_x": "launch__grid_dim_x",
    "grid_y": "launch__grid_dim_y",
    "grid_z": "launch__grid_dim_z",
    "block_size": "launch__block_size",
    "block_x": "launch__block_dim_x",
    "block_y": "launch__block_dim_y",
    "block_z": "launch__block_dim_z",
    "thread_count": "launch__thread_count",
    "waves_per_sm": "launch__waves_per_multiprocessor",
    "registers_per_thread": "launch__registers_per_thread",
    "shared_memory_per_block": "launch__shared_mem_per_block",
    "block_limit_barriers": "launch__occupancy_limit_blocks",
    "block_limit_registers": "launch__occupancy_limit_registers",
    "block_limit_shared_memory": "launch__occupancy_limit_shared_mem",
    "block_limit_warps": "launch__occupancy_limit_warps",
    "theoretical_occupancy_pct": "sm__maximum_warps_per_active_cycle_pct",
    "achieved_occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "inst_executed": "inst_executed",
    "thread_inst_executed": "thread_inst_executed",
    "inst_executed_by_smsp": "smsp__inst_executed.sum",
    "global_load_inst": "smsp__sass_inst_executed_op_global_ld.sum",
    "divergent_branch_targets": "smsp__sass_branch_targets_threads_divergent.sum",
    "l1_load_hit_pct": "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
    "global_sectors": "memory_l2_theoretical_sectors_global",
    "global_tag_requests": "memory_l1_tag_requests_global",
    "all_shared_wavefronts": "memory_l1_wavefronts_shared",
    "all_shared_wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_sectors_mean": "lts__t_sectors.avg",
    "l2_sectors_max": "lts__t_sectors.max",
    "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "host_copied_bytes": "host__copied_bytes",
    "host_copies": "host__copies",
    "host_pinned": "host__pinned",
    "host_streams": "host__streams",
    "host_kernel_time": "host__kernel_time",
    "host_to_device_time": "host__to_device_time",
    "host_to_host_time": "host__to_host_time",
    "host_end_to_end_time": "host__whole_time",
    **{f"{unit}_pct": what.metric for unit, what in UNITS.items() if what.metric},
}
"""Short name of a launch's metric -> Nsight Compute's name. Names that end in
``_pct`` are in % of the peak; times are in ns."""

OF_SAMPLES = "samples_"
OF_INSTRUCTIONS: Mapping[str, str] = {
    "executions": "inst_executed",
    "threads": "thread_inst_executed",
    "active_threads": "thread_inst_executed_true",
    "tag_requests": "memory_l1_tag_requests_global",
    "sectors": "memory_l2_theoretical_sectors_global",
    "sectors_ideal": "memory_l2_theoretical_sectors_global_ideal",
    "wavefronts": "memory_l1_wavefronts_shared",
    "wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    **{f"{OF_SAMPLES}{reason}": metric for reason, metric in SAMPLES.items()},
}
"""Short name of a metric of each instruction -> Nsight Compute's name. Sectors and tag requests are those of global
accesses, wavefronts those of shared memory; ``threads`` are on, ``active_threads`` are not predicated off either."""


def in_words(of_instructions: Iterable[str]) -> str:
    """These metrics of each instruction in a sentence; the reasons of samples are one word."""
    short = dict.fromkeys(f"{OF_SAMPLES}REASON" if name.startswith(OF_SAMPLES) else name for name in of_instructions)
    return ", ".join(short)
