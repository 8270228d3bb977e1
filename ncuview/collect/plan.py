"""What ncu is asked for: exactly the metrics that the rules, the what-if model and the textbook metrics need.

Which metrics share a pass is the hardware's business; measured on an H200 with ncu 2025.3.1, everything here takes 6
passes: 3 for the use of the units and pipes and for occupancy, 1 for the warp samples, 1 for the counters of
instructions and 1 for what the instrumented code adds to them. benchmarks/profiling_cost.py prints the number.
"""

from __future__ import annotations

from collections.abc import Iterable

from ncuview.report.units import UNITS
from ncuview.ruleset.spec import Rule

# Collected with every launch, whatever is asked for.
_ATTRIBUTES = ("launch__", "device__")
# Measured by the host process, not by ncu.
_HOST = "host__"

_TEXTBOOK = (
    "gpu__time_duration.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "inst_executed",
    "lts__t_sector_hit_rate.pct",
    "sm__cycles_active.avg",
    "sm__inst_executed.avg.per_cycle_active",
    "smsp__inst_executed.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct",
    "smsp__sass_inst_executed_op_global_ld.sum",
    "smsp__sass_inst_executed_op_global_st.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
    "thread_inst_executed",
)
"""Metrics that only textbook metrics read; all of them ride in passes that the rules need anyway."""


def metrics_for(rules: Iterable[Rule]) -> list[str]:
    """The metrics to collect for these rules, sorted, under Nsight Compute's newest names."""
    names = {unit.metrics[0] for unit in UNITS.values() if unit.metrics} | set(_TEXTBOOK)
    for rule in rules:
        names |= rule.metric_names()
    return sorted(name for name in names if not name.startswith((*_ATTRIBUTES, _HOST)))


def belongs_in_recording(name: str, planned: frozenset[str]) -> bool:
    """Whether a recorded profile keeps a metric: what was asked for, and what the launch and the GPU are."""
    return name in planned or (name.startswith(_ATTRIBUTES) and not name.startswith("launch__occupancy_per_"))
