"""The hardware units whose use, as a share of their peak, decides what limits a launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"


@dataclass(frozen=True)
class Unit:
    """A unit that can be the wall.

    Attributes:
        wall: The word under which it is reported; the parts of the L2 cache share one.
        metrics: Its use in % of peak over the elapsed time, under Nsight Compute's names, the one we collect first.
        derived: Where no metric gives the use: the derived quantity that does, as a share.
        says: What it does, for people.
        core: Whether no gain can be predicted without it. A pipe that was not measured is left out of the model.
    """

    wall: str
    metrics: tuple[str, ...]
    says: str
    core: bool
    derived: str = ""


def _core(wall: str, metric: str, says: str) -> Unit:
    return Unit(wall, (metric + _ELAPSED,), says, core=True)


def _pipe(name: str, says: str, *metrics: str) -> Unit:
    return Unit(name, tuple(metric + _ELAPSED for metric in metrics), says, core=False)


UNITS: Mapping[str, Unit] = {
    "dram": _core("dram", "dram__cycles_active", "device memory"),
    "l2_tags": _core("l2", "lts__t_tag_requests", "L2 tag look-ups"),
    "l2_sectors": _core("l2", "lts__t_sectors", "L2 sectors looked up"),
    "l2_data": _core("l2", "lts__d_sectors", "L2 data banks"),
    "l2_in": _core("l2", "lts__xbar2lts_cycles_active", "crossbar into the L2 cache"),
    "l2_out": _core("l2", "lts__lts2xbar_cycles_active", "crossbar out of the L2 cache"),
    "l1_data": _core("l1_data", "l1tex__data_pipe_lsu_wavefronts", "data stage of L1 and shared memory"),
    "lsu": _core("lsu", "l1tex__lsuin_requests", "load/store unit"),
    "issue": _core("issue", "sm__inst_issued", "instruction issue slots"),
    # Of the others, these forms of the counters cost no pass of their own on an H200. The address divergence unit
    # (adu) would cost one; where it is a wall, the constant cache is one too.
    "l2_atomic": Unit(
        "l2_atomic",
        ("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed",),
        "atomic unit of the busiest L2 slice",
        core=False,
    ),
    "constant": _pipe("constant", "constant cache", "idc__request_cycles_active"),
    "tex": _pipe("tex", "texture filter", "l1tex__f_wavefronts"),
    "imad": Unit("imad", (), "integer multiplier, half of the FMA pipe", core=False, derived="imad_use"),
    "alu": _pipe("alu", "integer and logic pipe", "sm__inst_executed_pipe_alu", "sm__pipe_alu_cycles_active"),
    "fma": _pipe("fma", "FP32 and integer multiply pipe", "sm__inst_executed_pipe_fma", "sm__pipe_fma_cycles_active"),
    "fp64_tensor": _pipe(
        "fp64_tensor",
        "double-precision pipe and tensor cores, which share their dispatch",
        "sm__pipe_shared_cycles_active_realtime",
        "sm__pipe_shared_cycles_active",
    ),
    "xu": _pipe(
        "xu",
        "special functions and conversions",
        "sm__inst_executed_pipe_xu_realtime",
        "sm__inst_executed_pipe_xu",
    ),
}

WALLS: tuple[str, ...] = tuple(dict.fromkeys(unit.wall for unit in UNITS.values()))
"""The words for walls, without ``latency`` and ``launch``, which are what no unit explains."""


BLOCKS = "blocks"
"""The start of blocks, which the GPU does one after the other: no counter, but a known rate."""


def members(name: str) -> tuple[str, ...]:
    """The units that a rule means by ``name``: a unit itself, or all parts of a wall such as ``l2``."""
    if name in UNITS or name == BLOCKS:
        return (name,)
    return tuple(unit for unit, what in UNITS.items() if what.wall == name)
