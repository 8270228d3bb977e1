"""The JSON documents that ncuview prints, as dataclasses: a field for each key, in the order of the keys.

``render`` fills them from the records; ``records.schema`` makes their JSON values and their JSON Schemas. Here are the
types that several documents share: counts, shares, extents, codes and names of rules, ``Report`` for a file that
launches were read from, ``Place`` for one launch; and the document ``ncuview.doctor/1``, the checks of a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, get_args

from ncuview.records.diagnosis import Optimization
from ncuview.records.schema import Limits

Count = Annotated[int, Limits(minimum=0)]
Positive = Annotated[int, Limits(minimum=1)]
Amount = Annotated[float, Limits(minimum=0)]
Triple = tuple[Count, Count, Count]
RuleCode = Annotated[str, Limits(pattern="^[A-Z]{2,6}[0-9]{3}$")]
RuleName = Annotated[str, Limits(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
OptimizationWord = Annotated[str, Limits(one_of=get_args(Optimization))]
NullableOptimization = Annotated[str | None, Limits(one_of=(*get_args(Optimization), None))]


@dataclass(frozen=True)
class Report:
    """A report file that launches were read from."""

    path: str
    """The file, as it was named on the command line; for a live profile, a temporary file that is gone."""
    ncu_version: str
    """The Nsight Compute that wrote it, such as 2025.3.1; empty when the report does not say."""
    created: datetime | None
    """When it was written, ISO 8601 with time zone (UTC); null when the report does not say."""
    damage: str
    """What of it could not be read; empty when all of it was."""


@dataclass(frozen=True)
class Place:
    """Which launch it is."""

    report: str
    """The report's path, one of reports[].path."""
    index: Count
    """The launch's place in its report, from 0."""


@dataclass(frozen=True)
class Seen:
    """One source of evidence."""

    where: str
    """A file, a variable or a command."""
    what: str
    """What it said."""


@dataclass(frozen=True)
class MachineCheck:
    """One check of the machine."""

    name: Annotated[str, Limits(pattern="^[a-z]+(-[a-z]+)*$")]
    """A stable name."""
    title: str
    """Its name in texts."""
    status: Literal["FAIL", "WARN", "UNKNOWN", "OK"]
    """WARN: it works, but not well or not always. FAIL: it does not work. UNKNOWN: the message says why."""
    message: Annotated[str, Limits(shortest=1)]
    """What was found out."""
    evidence: tuple[Seen, ...]
    """What the result is based on."""
    fix: str
    """What to do; empty where nothing is to be done."""
    ids: tuple[str, ...]
    """The failures that it predicts, such as NCU-PERM; of a live check, the failure that occurred."""

    CONDITIONS: ClassVar[Mapping[str, Any]] = {
        "if": {"properties": {"status": {"enum": ["WARN", "FAIL"]}}},
        "then": {"properties": {"fix": {"minLength": 1}, "evidence": {"minItems": 1}}},
    }


@dataclass(frozen=True)
class DoctorDocument:
    """What `ncuview doctor --format json` prints: 23 checks of a machine, and two more with --live."""

    schema: Literal["ncuview.doctor/1"]
    """The name and version of this schema."""
    ncuview: str
    """The version of ncuview."""
    summary: str
    """What works here, in one or two sentences."""
    failed: bool
    """Whether any check says FAIL that profiling a tiny kernel does not contradict; the exit code is then 5, else 0."""
    counts: Mapping[str, Count]
    """Status -> how many checks have it."""
    checks: Annotated[tuple[MachineCheck, ...], Limits(fewest=1)]
    """Every check, in a fixed order."""
    live: tuple[MachineCheck, ...]
    """What profiling a tiny kernel showed; empty without --live."""
