"""The JSON document of the checks of a machine, ``ncuview.doctor/1``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ncuview.records.documents.common import Count
from ncuview.records.schema import Limits


@dataclass(frozen=True)
class Seen:
    """One thing that was looked at."""

    where: str
    """A file, a variable or a command."""
    what: str
    """What it said."""


@dataclass(frozen=True)
class MachineCheck:
    """One check of the machine."""

    name: Annotated[str, Limits(pattern="^[a-z]+(-[a-z]+)*$")]
    """Stable."""
    title: str
    """Its name for people."""
    status: Literal["FAIL", "WARN", "UNKNOWN", "OK"]
    """WARN: it works, but not well or not always. FAIL: it does not work. UNKNOWN: the message says why."""
    message: Annotated[str, Limits(shortest=1)]
    """What was found out."""
    evidence: tuple[Seen, ...]
    """What was looked at."""
    fix: str
    """What to do; empty where nothing is to be done."""
    ids: tuple[str, ...]
    """The failures that it foresees, such as NCU-PERM; of a live check, the failure that it met."""

    CONDITIONS: ClassVar[Mapping[str, Any]] = {
        "if": {"properties": {"status": {"enum": ["WARN", "FAIL"]}}},
        "then": {"properties": {"fix": {"minLength": 1}, "evidence": {"minItems": 1}}},
    }


@dataclass(frozen=True)
class DoctorDocument:
    """What `ncuview doctor --format json` prints: 22 checks of a machine, and two more with --live."""

    schema: Literal["ncuview.doctor/1"]
    """The name and version of this schema."""
    ncuview: str
    """The version of ncuview."""
    summary: str
    """What works here, in one or two sentences."""
    failed: bool
    """Whether any check says FAIL that profiling a tiny kernel does not contradict; the exit code is then 5, else 0."""
    counts: Mapping[str, Count]
    """How many checks say what."""
    checks: Annotated[tuple[MachineCheck, ...], Limits(fewest=1)]
    """Every check, in a fixed order."""
    live: tuple[MachineCheck, ...]
    """What profiling a tiny kernel showed; empty without --live."""
