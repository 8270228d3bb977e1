"""The list of hardware counters that ncu collects in one pass, for the cheap first run over a program's launches.

``sampling_metrics`` returns their names, sorted. With one pass, ncu neither saves nor restores memory.
"""

from __future__ import annotations

ONE_PASS = (
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors.avg",
    "lts__t_sectors.max",
    "lts__t_sectors.sum",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "lts__xbar2lts_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)
"""The hardware counters, of those that rules read, that rule out most rules: on the recorded profiles they and the
counters of instructions spare 82 of the 132 launches without advice a second run; all hardware counters, which take
three passes, spare 95."""


def sampling_metrics() -> list[str]:
    """The metrics that give each launch's share of the time and how near it is to its peak, sorted.

    They are chosen to fit one pass, so that ncu neither saves nor restores memory.
    """
    return sorted(ONE_PASS)
