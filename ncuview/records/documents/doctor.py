"""The JSON document ``ncuview.doctor/1``: the checks of a machine, each with status, message, evidence and fix.

``DoctorDocument`` is the top level, which ``ncuview doctor --format json`` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ncuview.records.documents.diagnosis import Count
from ncuview.records.schema import Limits


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
    """Status -> how many checks have it."""
    checks: Annotated[tuple[MachineCheck, ...], Limits(fewest=1)]
    """Every check, in a fixed order."""
    live: tuple[MachineCheck, ...]
    """What profiling a tiny kernel showed; empty without --live."""
