"""The table of hardware units that can be a launch's bottleneck, each with the metric of its use in % of peak.

``UNITS`` is the table, ``BOTTLENECKS`` the words under which units are reported, ``units_of`` the units of a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncuview.sass import opcode_classes
from ncuview.sass.opcode_classes import Class

_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"


@dataclass(frozen=True)
class Unit:
    """A hardware unit that can be the bottleneck.

    Attributes:
        bottleneck: The word under which it is reported as the bottleneck; the parts of the L2 cache share one.
        metric: Its use in % of peak over the elapsed time, under Nsight Compute's name; empty where no metric gives it.
        quantity: In that case the quantity that gives the use as a share; it may be unknown.
        says: Its name in texts.
        works_for: The class of instructions that use it; None if all kernels use it. For a launch without such
            instructions its use is 0.
    """

    bottleneck: str
    metric: str
    says: str
    quantity: str = ""
    works_for: Class | None = None

    @property
    def needed(self) -> bool:
        """Whether no gain can be predicted while its use is unknown."""
        return bool(self.metric)


def _unit(bottleneck: str, says: str, counter: str, works_for: Class | None = None) -> Unit:
    return Unit(bottleneck, counter + _ELAPSED, says, works_for=works_for)


UNITS: Mapping[str, Unit] = {
    "dram": _unit("dram", "device memory", "dram__cycles_active"),
    "l2_tags": _unit("l2", "L2 tag look-ups", "lts__t_tag_requests"),
    "l2_sectors": _unit("l2", "L2 sectors looked up", "lts__t_sectors"),
    "l2_data": _unit("l2", "L2 data banks", "lts__d_sectors"),
    "l2_in": _unit("l2", "crossbar into the L2 cache", "lts__xbar2lts_cycles_active"),
    "l2_out": _unit("l2", "crossbar out of the L2 cache", "lts__lts2xbar_cycles_active"),
    "l1_data": _unit("l1_data", "data stage of L1 and shared memory", "l1tex__data_pipe_lsu_wavefronts"),
    "lsu": _unit("lsu", "load/store unit", "l1tex__lsuin_requests"),
    "issue": _unit("issue", "instruction issue slots", "sm__inst_issued"),
    # Of the others, these forms of the counters cost no pass of their own on an H200. The address divergence unit
    # (adu) would cost one; where it is a bottleneck, the constant cache is one too.
    "l2_atomic": Unit(
        "l2_atomic",
        "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed",
        "atomic unit of the busiest L2 slice",
        works_for=opcode_classes.is_global_atomic,
    ),
    "constant": _unit("constant", "constant cache", "idc__request_cycles_active"),
    "tex": _unit("tex", "texture filter", "l1tex__f_wavefronts", works_for=opcode_classes.is_texture_access),
    "imad": Unit("imad", "", "integer multiplier, half of the FMA pipe", quantity="imad_use"),
    "alu": _unit("alu", "integer and logic pipe", "sm__inst_executed_pipe_alu"),
    "fma": _unit("fma", "FP32 and integer multiply pipe", "sm__inst_executed_pipe_fma"),
    "fp64_tensor": _unit(
        "fp64_tensor",
        "pipes that tensor and FP64 instructions share",
        "sm__pipe_shared_cycles_active_realtime",
        works_for=opcode_classes.is_double_or_matrix,
    ),
    "xu": _unit(
        "xu",
        "special functions and conversions",
        "sm__inst_executed_pipe_xu_realtime",
        works_for=opcode_classes.is_special_function,
    ),
}

DRAM_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")
OF_MOST_BOTTLENECKS = ("gpu__time_duration.sum", UNITS["dram"].metric, UNITS["issue"].metric)
"""What a prediction needs where a report without machine code counts only some of the units."""
OF_THE_MODEL = ("gpu__time_duration.sum", *DRAM_BYTES, "lts__t_sectors.sum")
"""The metrics that every prediction needs besides the use of the units."""

BOTTLENECKS: tuple[str, ...] = tuple(dict.fromkeys(unit.bottleneck for unit in UNITS.values()))
"""The words under which units are reported; ``latency``, ``launch`` and ``blocks`` are not units."""


BLOCKS = "blocks"
"""The start of blocks, which the GPU does one after the other, at a known rate and without a counter."""


def units_of(name: str) -> tuple[str, ...]:
    """The units of a word: a unit's own name, or a bottleneck such as ``l2``, which has several units."""
    if name in UNITS or name == BLOCKS:
        return (name,)
    return tuple(unit for unit, what in UNITS.items() if what.bottleneck == name)
