"""Match the lines of ncu's log against the catalogue of known failures (``ncu_failures.toml``): id, reason and fix.

``first_match`` finds the failure, ``remarks`` selects ncu's own lines from all output; a ``note`` is no failure.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ncuview.base import errors
from ncuview.base.errors import NcuviewError
from ncuview.profiling.ncu_output import plain_lines

_FILE = Path(__file__).with_name("ncu_failures.toml")

Kind = Literal["cause", "symptom", "ours", "note"]


@dataclass(frozen=True)
class Failure:
    """One way in which ncu fails; the head of ``ncu_failures.toml`` says what each field is."""

    id: str
    kind: Kind
    what: str
    why: str
    fix: str
    error: str = ""
    texts: tuple[str, ...] = ()
    partial: bool = False

    def as_error(self, message: str = "", hint: str = "") -> NcuviewError:
        """The error that it ends a run with, by default in its own words."""
        kind: type[NcuviewError] = getattr(errors, self.error)
        return kind(message or self.what, hint=hint or self.fix, id=self.id)


@dataclass(frozen=True)
class Note:
    """Something that whoever sees the result should know, and that is no failure."""

    id: str
    """As in the catalogue."""
    what: str
    fix: str


Found = tuple[Failure, re.Match[str]]


@cache
def catalogue() -> tuple[Failure, ...]:
    """All failures, specific ones before general ones."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))["failure"]
    return tuple(Failure(**{**table, "texts": tuple(table.get("texts", ()))}) for table in tables)


def failure(id_: str) -> Failure:
    """The failure of this name; of two, the first."""
    return next(each for each in catalogue() if each.id == id_)


def note(id_: str, **values: str) -> Note:
    """What the catalogue says of something, without making it a failure."""
    found = failure(id_)
    return Note(found.id, found.what.format(**values), found.fix)


_REMARK = re.compile(r"==(?:ERROR|WARNING)== .*|==PROF== Received signal.*")
_OUT_OF_MEMORY = re.compile(r"^Unhandled C\+\+ exception.*")
SAVES_TO_THE_HOST = "==WARNING== Backing up device memory in system memory"
_PROGRAM_RAN = re.compile(r"==PROF==|==ERROR== The application returned|No kernels were profiled")


def remarks(log: str, *, started: bool = False) -> list[str]:
    """The lines of a log that are ncu's own complaints, not the program's output.

    ncu marks its lines, except for errors before it starts the program; later an unmarked line is the program's.

    Args:
        log: All that ncu and the program said.
        started: The program is known to have been started, though ncu may not have come to say so.
    """
    lines = plain_lines(log)
    if not started and not any(_PROGRAM_RAN.search(line) for line in lines):
        return lines
    # Its own memory ran out while it saved the GPU's: ncu cannot mark its last words then.
    saves = any(SAVES_TO_THE_HOST in line for line in lines)
    patterns = [_REMARK, _OUT_OF_MEMORY] if saves else [_REMARK]
    return [found[0] for line in lines for pattern in patterns if (found := pattern.search(line))]


def errors_among(lines: Iterable[str]) -> list[str]:
    """The remarks that are errors: what spoils a run that left a report and exit code 0."""
    return [line for line in lines if line.startswith("==ERROR==")]


def first_match(kinds: Sequence[Kind], lines: Sequence[str]) -> Found | None:
    """The first failure of these kinds of which any line speaks; all of the first kind come before the next."""
    for kind in kinds:
        for each in catalogue():
            if each.kind == kind and each.texts:
                for line in lines:
                    if match := re.search("|".join(each.texts), line):
                        return each, match
    return None
