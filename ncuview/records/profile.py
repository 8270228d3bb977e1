"""``Profile``: all launches of one or more ncu reports: launches, metrics and instructions as pandas DataFrames.

It also holds sources and call sites; ``ReportInfo``, ``Device`` and ``HostTimes`` describe reports, GPU and copies.
``Failure`` says why a profile or another answer is incomplete, to be stored in it; ``failure_of`` makes one from an
``NcuviewError``, with secrets masked. ``Calibration`` is what one GPU attained, as ``speedup.calibrate`` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from ncuview.base.errors import NcuviewError
from ncuview.base.log import masked
from ncuview.records.schema import Limits
from ncuview.records.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Failure:
    """Why an answer is missing or incomplete."""

    id: Annotated[str, Limits(shortest=1)]
    """Its stable name, as ``NcuviewError.id``: ``NCU-PERM``, ``ReportDamaged``."""
    message: str
    """What happened."""
    hint: str
    """What the user can do next; may be empty."""
    exit_code: Annotated[int, Limits(one_of=(2, 3, 4, 5, 6, 70))]
    """The exit code of the run, unless a worse failure happened too."""


def failure_of(error: NcuviewError) -> Failure:
    """An error as part of an answer."""
    return Failure(error.id, masked(str(error)), masked(error.hint), error.exit_code)


Extent = tuple[int, int, int]
NOWHERE: Extent = (0, 0, 0)
"""Grid and block of what is about no launch."""
Configuration = tuple[str, Extent, Extent]
"""A kernel's demangled name, or its bare name for all kernels of that name together, its grid and its block."""


@dataclass(frozen=True)
class ReportInfo:
    """Where the launches of one report come from."""

    path: str
    """The file, as the user named it."""
    ncu_version: str
    """The Nsight Compute that wrote it, such as ``2025.3.1``; empty when the report does not say."""
    created: datetime | None
    """When it was written (UTC); None when the report does not say."""
    damage: str = ""
    """What of it could not be read, as in "launches 0 to 6 of 9 were read; block 3 is damaged at byte 1,234 of 5,678";
    empty when all of it was. A run with a damaged report never ends with exit code 0."""
    may_be_intact: bool = False
    """Whether all that was not read may be for want of this machine's memory or time, while the report is complete."""
    refusal: Failure | None = None
    """Why nothing of it was read, although other reports were; None where launches of it were read."""


Workload = Literal["kernel", "Tile kernel", "range", "graph", "command list", "subgrid schedule"]
"""What ncu profiled as one launch. ``kernel``: one of the execution model SIMT."""


@dataclass(frozen=True, repr=False, eq=False)
class Profile(Shown):
    """All launches of one or more reports, as DataFrames in base units (ns, byte, sector, %).

    ``launches`` has one row per launch, indexed 0..n-1 over all reports: ``report`` (string), ``index`` (int64,
    0-based in its report), ``kernel``, ``demangled`` (string), ``grid_x`` ... ``block_z`` (int64), ``device``
    (string), ``workload`` (string, a ``Workload``), ``compute_capability`` (string, ``9.0``; empty when unknown),
    ``duration_ns`` (float64), ``process`` (int64, the process id; 0 when unknown), ``process_name`` (string, the file
    name of its program; empty when unknown).

    ``metrics`` has the same index and a float64 column for each metric under Nsight Compute's own name; NaN where a
    launch does not have it. ``units`` gives the unit of each column.

    ``instructions`` has one row per machine instruction of each launch: ``launch`` (int64, into ``launches``),
    ``address`` (int64, bytes from the kernel's start), ``sass``, ``file`` (string), ``line`` (int64, 0 when unknown),
    and a float64 column for each metric that ncu attributes to instructions.

    ``sources`` maps (report, file) to the source text that ncu imported, or that was read here because it did not;
    ``source_remarks`` says of such a file what its reader must know, or why there is no text.

    ``call_sites`` maps a launch to the addresses of inlined instructions, and those to the line of the kernel's own
    code that they were inlined at; the instructions themselves name the line of the inlined function. A launch whose
    machine code does not show it is missing.

    ``control_codes`` maps a launch to the addresses of its instructions, and those to the 21 bits that hold stall
    cycles and scoreboards. A launch whose machine code is not in its report is missing.
    """

    reports: tuple[ReportInfo, ...]
    launches: pd.DataFrame
    metrics: pd.DataFrame
    units: Mapping[str, str]
    instructions: pd.DataFrame
    sources: Mapping[tuple[str, str], str]
    source_remarks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    call_sites: Mapping[int, Mapping[int, CallSite]] = field(default_factory=dict)
    control_codes: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    call_stacks: Mapping[int, CallStack] = field(default_factory=dict)
    """Launch -> the calls that led to it; a launch whose stack ncu did not record is missing."""
    nvtx_ranges: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Launch -> the names of the NVTX ranges of the default domain in which its thread made it, the outermost first; a
    launch outside of all ranges is missing."""
    refused: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Launch -> metric -> the impossible value in the report. The frames hold NaN in its place."""
    failure: Failure | None = None
    """Why launches are missing, what of a report could not be read, or why it was not saved; None without failure."""

    def __repr__(self) -> str:
        kernels, metrics = self.launches["demangled"].nunique(), len(self.metrics.columns)
        return f"Profile of {len(self.launches)} launches of {kernels} kernels with {metrics} metrics"

    @cached_property
    def lines(self) -> pd.DataFrame:
        """``instructions`` summed by source line: ``launch``, ``file``, ``line`` and the metric columns."""
        known = self.instructions[self.instructions["line"] > 0]
        return known.drop(columns=["address", "sass"]).groupby(["launch", "file", "line"], as_index=False).sum()


class Frame(NamedTuple):
    """One call of a stack: a function that was running on the host."""

    function: str
    """Its name; a native one is demangled. Empty where it is unknown."""
    file: str
    """The source file, or the path of the library or program of a native function."""
    line: int
    """The line that was running, from 1; 0 where it is unknown, as in all native functions of the frameworks."""
    source: str = ""
    """Of a native function the source file, where its line is known."""


@dataclass(frozen=True)
class CallStack:
    """The calls on the host that led to a launch, the innermost first."""

    python: tuple[Frame, ...] = ()
    """Python functions; empty where the launching thread ran none, such as that of a backward pass."""
    native: tuple[Frame, ...] = ()
    """C and C++ functions; empty where ncu recorded none."""


@dataclass(frozen=True)
class CallSite:
    """The line of a kernel's own code that calls a function which was inlined there."""

    file: str
    """The source file, as the compiler recorded it."""
    line: Annotated[int, Limits(minimum=1)]
    """The line's number, from 1."""
    code: str = ""
    """The line's text without indentation; empty when the source is not there."""


@dataclass(frozen=True)
class Device:
    """The GPU of a launch."""

    name: str
    """Such as NVIDIA H200; empty when the report does not say."""
    compute_capability: Annotated[str, Limits(pattern="^([0-9]+[.][0-9]+)?$")]
    """Such as 9.0; empty when unknown."""


@dataclass(frozen=True)
class HostTimes:
    """Times that the host measured around a kernel, in ns: its copies, the kernel, and the end-to-end time."""

    to_device_ns: Annotated[float, Limits(above=0)]
    """All copies to the device."""
    kernel_ns: Annotated[float, Limits(above=0)]
    """The kernel, without ncu."""
    to_host_ns: Annotated[float, Limits(above=0)]
    """All copies back."""
    whole_ns: Annotated[float, Limits(above=0)]
    """From the first copy to the end of the last; less than the sum of the others where they overlap."""


@dataclass(frozen=True)
class Attained:
    """The share of its peak that a unit attains, 0..1, with bounds."""

    low: float
    best: float
    high: float
    kernel: str
    """The kernel that reached ``best``."""
    assumed: str = ""
    """Why it was not measured, so that the value in the tables is used; empty where it was measured."""


@dataclass(frozen=True)
class Figure:
    """Another figure of a GPU that predictions need; its name contains the unit."""

    value: float
    kernel: str
    assumed: str = ""


@dataclass(frozen=True)
class Calibration:
    """What good kernels attain on one GPU, as measured there."""

    device: str
    measured: str
    """When, and with which ncu."""
    shares: Mapping[str, Attained]
    """Unit -> the share of its peak."""
    figures: Mapping[str, Figure]
    """``launch_ns`` and the like; see ncuview/gpus. Unknown ones are left out."""
