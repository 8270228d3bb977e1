"""Profiles made by hand: an H200's launch without findings, so that a test gives only what it is about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ncuview.metrics.names import STALL_REASONS
from ncuview.metrics.units import UNITS
from ncuview.reader.columns import LaunchColumns
from ncuview.reader.frames import profile_of
from ncuview.records.profile import Profile, ReportInfo

H200 = "NVIDIA H200"
FILE = "family/kernel.cu"
LOW_USE = 10.0
"""Of every unit, in % of its peak: nothing is the bottleneck."""

BLOCKS, THREADS_PER_BLOCK, MULTIPROCESSORS, THREADS_THAT_FIT = 8192, 256, 132, 2048
WARPS = BLOCKS * THREADS_PER_BLOCK // 32
ELAPSED_CYCLES = 200_000.0

USE = {unit: what.metric for unit, what in UNITS.items() if what.metric}
"""Unit -> the metric that gives its use."""
STALL = "smsp__pcsamp_warps_issue_stalled_{}"
SECTORS, SECTORS_IDEAL = "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"
SHARED, SHARED_IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
PER_INSTRUCTION = (
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
    "memory_l1_tag_requests_global",
    SECTORS,
    SECTORS_IDEAL,
    SHARED,
    SHARED_IDEAL,
)

METRICS: Mapping[str, float] = {
    **dict.fromkeys(USE.values(), LOW_USE),
    **{STALL.format(reason): 1000.0 for reason in STALL_REASONS},
    "gpu__time_duration.sum": 100_000.0,
    "sm__cycles_elapsed.max": ELAPSED_CYCLES,
    "smsp__inst_executed.sum": 1.0e7,
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct": 0.0,
    "launch__waves_per_multiprocessor": 8.0,
    "launch__occupancy_limit_registers": 8,
    "launch__occupancy_limit_shared_mem": 32,
    "launch__occupancy_limit_warps": 8,
    "launch__occupancy_limit_blocks": 32,
    "sm__warps_active.avg.pct_of_peak_sustained_active": 95.0,
    "sm__maximum_warps_per_active_cycle_pct": 100.0,
    "lts__t_sectors.sum": 4.0e6,
    "lts__t_sectors.max": 41_000.0,
    "lts__t_sectors.avg": 40_000.0,
    "dram__bytes_read.sum": 4.0e7,
    "dram__bytes_write.sum": 4.0e7,
    "smsp__sass_branch_targets_threads_divergent.sum": 0.0,
    "smsp__sass_inst_executed_op_global_ld.sum": 4.0 * WARPS,
    "launch__grid_size": BLOCKS,
    "launch__block_size": THREADS_PER_BLOCK,
    "launch__thread_count": BLOCKS * THREADS_PER_BLOCK,
    "launch__sm_count": MULTIPROCESSORS,
    "launch__registers_per_thread": 32,
    "launch__shared_mem_per_block": 5120,
    **{f"launch__{of}_dim_{axis}": 1 for of in ("grid", "block") for axis in "yz"},
    "launch__grid_dim_x": BLOCKS,
    "launch__block_dim_x": THREADS_PER_BLOCK,
    "device__attribute_max_threads_per_multiprocessor": THREADS_THAT_FIT,
    "device__attribute_compute_capability_major": 9,
    "device__attribute_compute_capability_minor": 0,
}


@dataclass(frozen=True)
class Instruction:
    """A machine instruction, executed once by each warp with all its lanes unless it says otherwise."""

    sass: str
    line: int = 0
    file: str = FILE
    metrics: Mapping[str, float] = field(default_factory=dict)


def load(register: int = 4, line: int = 1, sectors: float = 4.0 * WARPS) -> Instruction:
    """A coalesced load of one float per lane, or one that touches more sectors."""
    metrics = {SECTORS: sectors, SECTORS_IDEAL: 4.0 * WARPS, "memory_l1_tag_requests_global": WARPS}
    return Instruction(f"LDG.E R{register}, desc[UR4][R2.64]", line, metrics=metrics)


def store(line: int = 3, sectors: float = 4.0 * WARPS) -> Instruction:
    """A coalesced store of one float per lane, or one that touches more sectors."""
    metrics = {SECTORS: sectors, SECTORS_IDEAL: 4.0 * WARPS, "memory_l1_tag_requests_global": sectors / 4}
    return Instruction("STG.E desc[UR4][R2.64], R20", line, metrics=metrics)


def shared_load(line: int = 2, ways: float = 1.0) -> Instruction:
    """A load from shared memory that is replayed so many times."""
    return Instruction("LDS R20, [R21]", line, metrics={SHARED: ways * WARPS, SHARED_IDEAL: WARPS})


COPY = (
    *(load(register) for register in (4, 5, 6, 7)),
    *(
        Instruction(f"STS [R21], R{register}", 2, metrics={SHARED: WARPS, SHARED_IDEAL: WARPS})
        for register in (4, 5, 6, 7)
    ),
    Instruction("BAR.SYNC.DEFER_BLOCKING 0x0", 2),
    shared_load(),
    *(store() for _ in range(4)),
    Instruction("EXIT", 4),
)
"""A copy through shared memory with four loads in flight: nothing to complain about."""


@dataclass(frozen=True)
class Launch:
    """A launch; ``metrics`` replaces defaults; None takes one away, NaN makes it unknown, for its instructions too."""

    metrics: Mapping[str, float | None] = field(default_factory=dict)
    instructions: Sequence[Instruction] = COPY
    kernel: str = "kernel"
    device: str = H200
    sources: Mapping[str, str] = field(default_factory=dict)

    def with_metrics(self, metrics: Mapping[str, float | None]) -> Launch:
        """The same launch with these metrics on top."""
        return replace(self, metrics={**self.metrics, **metrics})

    def without(self, *names: str) -> Launch:
        """The same launch as if these metrics had not been collected."""
        return self.with_metrics(dict.fromkeys(names))

    def columns(self, index: int) -> LaunchColumns:
        """The launch as the reader's child process sends it."""
        table = self._instruction_metrics()
        sums = {name: sum(values) for name, values in table.items()}
        numbers = {**METRICS, **sums, **self.metrics}
        known = {name: float(value) for name, value in numbers.items() if value is not None}
        gone = {name for name, value in self.metrics.items() if value is None}
        present = [name for name in table if name not in gone]
        count = len(self.instructions)
        return LaunchColumns(
            index=[index],
            kernel=[self.kernel],
            demangled=[f"{self.kernel}(float *, const float *)"],
            device=[self.device],
            metrics=list(known),
            units=[""] * len(known),
            values=list(known.values()),
            counts=[count],
            carried=[range(len(present))],
            instruction_metrics=present,
            address=[16 * at for at in range(count)],
            sass=[instruction.sass for instruction in self.instructions],
            file=[instruction.file for instruction in self.instructions],
            line=[instruction.line for instruction in self.instructions],
            executed=range(count),
            instruction_values=[value for name in present for value in table[name]],
            sources=dict(self.sources),
        )

    def _instruction_metrics(self) -> dict[str, list[float]]:
        usual = {"inst_executed": WARPS, "thread_inst_executed": 32 * WARPS, "thread_inst_executed_true": 32 * WARPS}
        names = dict.fromkeys(
            (*PER_INSTRUCTION, *(name for instruction in self.instructions for name in instruction.metrics))
        )
        unknown = {name for name in names if math.isnan(self.metrics.get(name) or 0.0)}
        return {
            name: [
                math.nan if name in unknown else float(each.metrics.get(name, usual.get(name, 0.0)))
                for each in self.instructions
            ]
            for name in names
        }


def make_profile(*launches: Launch, report: str = "made.ncu-rep") -> Profile:
    """These launches as one report; one without peculiarities when none is given."""
    parts = [launch.columns(index) for index, launch in enumerate(launches or (Launch(),))]
    return profile_of([(ReportInfo(report, "2025.3.1", None), parts)])
