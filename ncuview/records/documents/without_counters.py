"""The JSON document ``ncuview.without_counters/2``: what is known of a kernel or program without GPU counters.

``WithoutCountersDocument`` is the top level: times by CUDA events, and facts from each kernel's machine code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ncuview.records.diagnosis import Share
from ncuview.records.documents import Count, Positive
from ncuview.records.documents.comparison import LadderDocument
from ncuview.records.profile import Device, Failure
from ncuview.records.schema import Limits


@dataclass(frozen=True)
class OwnLaunch:
    """A launch by ncuview itself."""

    kernel: str
    """The name of the kernel."""
    grid: tuple[Positive, Positive, Positive]
    """Blocks in x, y and z."""
    block: tuple[Positive, Positive, Positive]
    """Threads per block in x, y and z."""
    shared: Count
    """Bytes of dynamic shared memory per block."""
    sizes: Mapping[str, int]
    """The sizes that it is launched at."""
    waves: float | None
    """Blocks of the grid over those that the GPU holds at once; null where one of the two is unknown."""
    useful_rate: float | None
    """Useful work over the median time, in rate_unit; null where it was not timed or the kernel does not say what is
    useful."""
    rate_unit: Annotated[str, Limits(one_of=("GB/s", "GFLOP/s"))]
    """The unit of useful_rate."""


@dataclass(frozen=True)
class Times:
    """Times by CUDA events, each launch with cold caches."""

    device: Device
    """The GPU."""
    multiprocessors: Count
    """How many it has."""
    median_ns: float
    """Of the launches."""
    low_ns: float
    """The shortest."""
    high_ns: float
    """The longest."""
    times_ns: Annotated[tuple[float, ...], Limits(fewest=1)]
    """Each launch in order, without the first of all."""


@dataclass(frozen=True)
class Spilled:
    """Bytes per thread of spilled registers, each instruction once."""

    store_bytes: Count
    """Stored."""
    load_bytes: Count
    """Loaded."""


@dataclass(frozen=True)
class TheoreticalOccupancy:
    """How many blocks fit on a multiprocessor, and why not more."""

    blocks: Count
    """How many fit on a multiprocessor at once."""
    share: Share
    """Their warps as a share of those that fit at most."""
    limits: Mapping[str, Count]
    """How many blocks each resource allows."""
    limited_by: Annotated[tuple[str, ...], Limits(fewest=1)]
    """The resources that run out first."""


@dataclass(frozen=True)
class CodeLocation:
    """A line of source code."""

    file: str
    """As the line table names it."""
    line: Count
    """From 1."""
    code: str
    """The line's text; empty where the source is not there."""


@dataclass(frozen=True)
class Subject:
    """What a rule would judge, as the code shows it, without a verdict or a gain."""

    rule: str
    """The rule's code."""
    optimization: str
    """What it advises where it fires."""
    says: str
    """What the code shows."""
    in_loop: bool
    """Whether some of it is in a loop."""
    where: tuple[CodeLocation, ...]
    """The lines with the most of it."""
    name: str
    """The rule's name."""


@dataclass(frozen=True)
class KernelCode:
    """One kernel's machine code."""

    name: str
    """The C++ name where a demangler is installed; else the mangled name."""
    symbol: str
    """The mangled name."""
    capability: str
    """The compute capability that it was compiled for."""
    registers: Count
    """Per thread."""
    stack: Count
    """Bytes of local memory per thread: spilled registers, arrays, frames of calls."""
    spilled: Spilled | None
    """Bytes per thread of spilled registers; null where arrays in local memory hide them."""
    shared: Count
    """Bytes of static shared memory per block."""
    barriers: Count
    """How many it uses."""
    instructions: Count
    """In its code."""
    threads: Count
    """Per block, which occupancy is of: those of the launch; else those that fill a multiprocessor best."""
    occupancy: TheoreticalOccupancy | None
    """Theoretical; null where the GPU is not known."""
    subjects: tuple[Subject, ...]
    """What rules would judge; those in a loop first."""


@dataclass(frozen=True)
class MissingPart:
    """A part that is missing from the answer."""

    what: Annotated[str, Limits(one_of=("times", "machine code", "recorded ladder"))]
    """The part."""
    failure: Failure
    """Why."""


@dataclass(frozen=True)
class WithoutCountersDocument:
    """What `ncuview analyze --format json` prints where ncu may not read the GPU's counters, or is not started.

    There is no NaN and no infinity. No gain is predicted: only counters show what an instruction costs. Within version
    2 properties may be added; none is removed or changes its meaning.
    """

    schema: Literal["ncuview.without_counters/2"]
    """The name and version of this schema."""
    subject: str
    """The kernel, or the program."""
    error: Failure | None
    """Why ncu collected no counters, with the remedy as its hint; null where it was not asked to."""
    remark: str
    """Another remark to read first; empty when there is none."""
    launch: OwnLaunch | None
    """The launch that ncuview makes itself; null for a program."""
    times: Times | None
    """Times by CUDA events; null where nothing was timed."""
    kernels: tuple[KernelCode, ...]
    """Facts from each kernel's machine code."""
    untold: tuple[MissingPart, ...]
    """Parts that are missing from the answer."""
    recorded_ladder: LadderDocument | None
    """Of a catalogue kernel: its family as it was recorded, perhaps on another GPU."""
