"""Compute roofline data per GPU from ``KernelRow``s (``rooflines``): peaks, and each kernel's FLOP/byte and FLOP/s.

``counted_operations`` counts the floating-point operations of each launch from the machine code of a ``Profile``.

Bytes are those of device memory; operations come from counters, machine code or the kernel's file. The peaks of device
memory and of the FP32 and FP64 units come from the counters of the launches; for memory, the share that good kernels
attain is shown too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.profile import Device
from ncuview.render.html_report.rows import KernelRow
from ncuview.sass.decode import decode
from ncuview.speedup.attainable import bounds_of, of_gpu

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

_FP32_LANES = {"7.0": 64, "7.2": 64, "7.5": 64, "8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128}
_FP32_LANES |= {"9.0": 128, "10.0": 128, "10.3": 128, "12.0": 128, "12.1": 128}
_FP64_LANES = {"7.0": 32, "7.2": 32, "7.5": 2, "8.0": 32, "8.6": 2, "8.9": 2, "9.0": 64, "10.0": 64, "12.0": 2}
"""Results of a multiprocessor per cycle, by compute capability: CUDA C++ Programming Guide, arithmetic instructions."""
_LONG_NS = 10_000.0
"""A shorter launch may end before clocks have settled."""

_SINGLE = {"FADD": 1, "FMUL": 1, "FFMA": 2, "FADD2": 2, "FMUL2": 2, "FFMA2": 4}
_DOUBLE = {"DADD": 1, "DMUL": 1, "DFMA": 2}
"""Operations of one thread by opcode; a packed instruction of Blackwell does two at once."""


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of one launch; a multiply-add counts as two."""

    single: float
    double: float
    source: str
    """The origin of the number: ``counters``, ``machine code`` or ``kernel file``."""


@dataclass(frozen=True)
class Roof:
    """The peaks of one GPU."""

    device: Device
    bytes_per_s: float
    """Peak of device memory."""
    attainable_bytes_per_s: float
    """The attainable rate for a kernel that only reads."""
    single_per_s: float | None
    """FP32 operations; None where the counters or the number of units are unknown."""
    double_per_s: float | None


@dataclass(frozen=True)
class Point:
    """One kernel under the roof."""

    row: KernelRow
    intensity: float
    """Operations per byte of device memory."""
    per_s: float
    operations: Operations
    bytes: float

    def share_of(self, roof: Roof) -> float:
        """The share of the roof at this intensity, 0..1; NaN where the peak of its units is unknown."""
        mostly_double = self.operations.double > self.operations.single
        peak = roof.double_per_s if mostly_double else roof.single_per_s
        if peak is None:
            return float("nan")
        return self.per_s / min(peak, roof.attainable_bytes_per_s * self.intensity)


@dataclass(frozen=True)
class Roofline:
    """The roof of one GPU, the kernels below it, and those that are left out, by the reason."""

    roof: Roof
    points: tuple[Point, ...]
    left_out: Mapping[str, tuple[KernelRow, ...]]


Counted = Mapping[tuple[str, int], Operations]
"""Report and index of a launch -> its operations."""


def rooflines(rows: Sequence[KernelRow], counted: Counted) -> list[Roofline]:
    """One for each GPU whose peak can be computed from its launches."""
    devices = dict.fromkeys(row.shown.device for row in rows)
    made = []
    for device in devices:
        of_device = [row for row in rows if row.shown.device == device]
        roof = _roof(device, [launch for row in of_device for launch in row.launches])
        if roof:
            made.append(_roofline(roof, of_device, counted))
    return made


def counted_operations(profile: Profile) -> Counted:
    """The operations of each launch, from its opcodes and the number of threads that executed them.

    Launches without counters per instruction are left out.
    """
    rows = profile.instructions
    if "thread_inst_executed_true" not in rows.columns or not len(rows):
        return {}
    import numpy as np  # not needed for a page without a profile

    launches = rows["launch"].to_numpy()
    threads = rows["thread_inst_executed_true"].to_numpy(np.float64)
    worth = {text: _worth(text) for text in rows["sass"].unique()}
    with np.errstate(all="ignore"):  # a launch whose sums are not finite is left out below
        done = np.array([worth[text] for text in rows["sass"]], dtype=np.float64).T * threads
    sums = [np.bincount(launches, weights=part, minlength=len(profile.launches)) for part in done]
    places = zip(profile.launches["report"], profile.launches["index"], strict=True)
    has_code = np.bincount(launches, minlength=len(profile.launches)) > 0
    return {
        (str(report), int(index)): Operations(float(single), float(double), "machine code")
        for (report, index), single, double, known in zip(places, *sums, has_code, strict=True)
        if known and isfinite(single) and isfinite(double)
    }


def _worth(text: str) -> tuple[int, int]:
    """FP32 and FP64 operations of one thread that executes this instruction."""
    opcode = decode(text).base_opcode
    return _SINGLE.get(opcode, 0), _DOUBLE.get(opcode, 0)


def _roof(device: Device, launches: Sequence[LaunchDiagnosis]) -> Roof | None:
    peaks = [
        throughput.value / launch.units["dram"]
        for launch in launches
        if launch.units.get("dram", 0.0) > 0 and (throughput := launch.metrics.get("dram_throughput"))
    ]
    if not peaks:
        return None
    memory = median(peaks)
    clocks = [
        cycles.value / (launch.duration_ns * 1e-9)
        for launch in launches
        if launch.duration_ns >= _LONG_NS and (cycles := launch.metrics.get("elapsed_cycles_sm"))
    ]

    def peak(lanes: Mapping[str, int]) -> float | None:
        known = lanes.get(device.compute_capability)
        return 2 * known * median(clocks) if known and clocks else None

    return Roof(
        device=device,
        bytes_per_s=memory,
        attainable_bytes_per_s=memory * bounds_of(of_gpu(device.name), "dram")["best"],
        single_per_s=peak(_FP32_LANES),
        double_per_s=peak(_FP64_LANES),
    )


def _roofline(roof: Roof, rows: Iterable[KernelRow], counted: Counted) -> Roofline:
    points: list[Point] = []
    left_out: dict[str, list[KernelRow]] = {}
    for row in rows:
        found = _point(row, counted)
        if isinstance(found, Point):
            points.append(found)
        else:
            left_out.setdefault(found, []).append(row)
    return Roofline(roof, tuple(points), {reason: tuple(of) for reason, of in left_out.items()})


def _point(row: KernelRow, counted: Counted) -> Point | str:
    """The kernel's point, or the reason why it cannot be shown."""
    launch = row.shown
    if not launch.duration_ns > 0:
        return "their duration is not known"
    counters = [launch.metrics.get(name) for name in ("dram_read_bytes", "dram_write_bytes")]
    transferred = sum(counter.value for counter in counters if counter)
    if None in counters:
        return "their bytes of device memory were not counted"
    if not transferred:
        return "they transferred nothing to or from device memory"
    operations = _operations(launch, counted)
    if operations is None:
        return "their floating-point operations were not counted"
    total = operations.single + operations.double
    if not total:
        return "they do no FP32 or FP64 arithmetic"
    return Point(row, total / transferred, total / (launch.duration_ns * 1e-9), operations, transferred)


def _operations(launch: LaunchDiagnosis, counted: Counted) -> Operations | None:
    """The operations from hardware counters; else from machine code; else the useful ones in the kernel's file."""
    single, double = (launch.metrics.get(f"flop_count_{precision}") for precision in ("sp", "dp"))
    if single and double:
        return Operations(single.value, double.value, "counters")
    if found := counted.get((launch.report, launch.index)):
        return found
    useful = launch.metrics.get("useful_flops")
    return Operations(useful.value * launch.duration_ns * 1e-9, 0.0, "kernel file") if useful else None
