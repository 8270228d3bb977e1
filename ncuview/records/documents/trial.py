"""The JSON document ``ncuview.trial/1``: the changes of a kernel that ``ncuview try`` made, checked and timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ncuview.records.diagnosis import Gain
from ncuview.records.documents import Positive
from ncuview.records.documents.diagnosis import Launch
from ncuview.records.profile import Device, Failure
from ncuview.records.schema import Limits
from ncuview.records.trial import Attempt, Stage


@dataclass(frozen=True)
class TrialDocument:
    """What `ncuview try --format json` prints."""

    schema: Literal["ncuview.trial/1"]
    """The name and version of this schema."""
    ncuview: str
    """The version of ncuview."""
    target: Annotated[str, Limits(shortest=1)]
    """What was tried, as the user named it."""
    kernel: str
    """The name of the kernel."""
    device: Device
    """The GPU that the result holds for."""
    grid: tuple[Positive, Positive, Positive]
    """Blocks in x, y and z of the original launch."""
    block: tuple[Positive, Positive, Positive]
    """Threads per block in x, y and z of the original launch."""
    sizes: Mapping[str, int]
    """The sizes that the result holds for; empty of a program."""
    before_ns: Annotated[float, Limits(above=0)]
    """The median time of the original."""
    gain: Gain | None
    """How many times as fast the kept source is, with the 95 % interval; null where nothing is kept."""
    end_to_end: Gain | None
    """The same of the program from start to end; null where it is no program, or nothing is kept."""
    finished: bool
    """Whether every change was tried and none is kept."""
    stopped: str
    """Why not all changes were tried; empty where nothing is left to try."""
    remark: str
    """Further notes; empty where there are none."""
    error: Failure | None
    """Why the answer is incomplete; null where it is complete."""
    seconds: Mapping[Stage, float]
    """How long each stage took: `compile` (copies of sources and builds), `machine code` (disassembly), `counters`
    (runs under ncu, reading and judging), `sanitizer`, of a kernel file `times` and `comparison` (processes that time
    versions and compare results), of a program `runs`, which do both; and `all`, from the first to the last."""
    attempts: tuple[Attempt, ...]
    """Every change, in the order in which they were tried."""
    patch: str
    """All kept changes against the original source, for `git apply`; empty where nothing is kept."""
    before: Launch | None
    """The diagnosis of the original; null where counters could not be read."""
    after: Launch | None
    """That of the kept source; null where nothing is kept, or counters could not be read."""
