"""Match the lines of ncu's log against the catalogue of known failures (``ncu_failures.toml``): id, reason and fix.

``remarks`` selects ncu's own lines from a log, ``first_match`` finds their ``Failure``; a ``Note`` is only shown.
``without_values`` is the error for requested metrics that a ``Profile`` misses: ncu leaves out those that it does not
know, and exits with 0.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ncuview.base import errors
from ncuview.base.errors import NcuviewError
from ncuview.profiling.ncu_output import plain_lines

if TYPE_CHECKING:
    from ncuview.records.profile import Profile


_METRICS_TO_NAME = 5
_FILE = Path(__file__).with_name("ncu_failures.toml")

Kind = Literal["cause", "symptom", "ours", "note"]


@dataclass(frozen=True)
class Failure:
    """One way in which ncu fails; the head of ``ncu_failures.toml`` describes the fields."""

    id: str
    kind: Kind
    what: str
    why: str
    fix: str
    error: str = ""
    texts: tuple[str, ...] = ()
    partial: bool = False

    def as_error(self, message: str = "", hint: str = "") -> NcuviewError:
        """The error that ends a run, by default with the catalogue's message and hint."""
        kind: type[NcuviewError] = getattr(errors, self.error)
        return kind(message or self.what, hint=hint or self.fix, id=self.id)


@dataclass(frozen=True)
class Note:
    """A remark to show with a result; not a failure."""

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
    """The catalogue's entry as a remark."""
    found = failure(id_)
    return Note(found.id, found.what.format(**values), found.fix)


_REMARK = re.compile(r"==(?:ERROR|WARNING)== .*|==PROF== Received signal.*")
_OUT_OF_MEMORY = re.compile(r"^Unhandled C\+\+ exception.*")
SAVES_TO_THE_HOST = "==WARNING== Backing up device memory in system memory"
_PROGRAM_RAN = re.compile(r"==PROF==|==ERROR== The application returned|No kernels were profiled")


def remarks(log: str, *, started: bool = False) -> list[str]:
    """The lines of a log that are ncu's own errors and warnings, not the program's output.

    ncu marks its lines, except for errors before it starts the program; later an unmarked line is the program's.

    Args:
        log: All output of ncu and the program.
        started: The program is known to have been started, even if ncu's output does not show it.
    """
    lines = plain_lines(log)
    if not started and not any(_PROGRAM_RAN.search(line) for line in lines):
        return lines
    # ncu's own memory ran out while it saved the GPU's: it cannot mark its last line then.
    saves = any(SAVES_TO_THE_HOST in line for line in lines)
    patterns = [_REMARK, _OUT_OF_MEMORY] if saves else [_REMARK]
    return [found[0] for line in lines for pattern in patterns if (found := pattern.search(line))]


def errors_among(lines: Iterable[str]) -> list[str]:
    """The remarks that are errors: they make a run with a report and exit code 0 a failure."""
    return [line for line in lines if line.startswith("==ERROR==")]


def first_match(kinds: Sequence[Kind], lines: Sequence[str]) -> Found | None:
    """The first failure of these kinds that any line matches; all of the first kind come before the next."""
    for kind in kinds:
        for each in catalogue():
            if each.kind == kind and each.texts:
                for line in lines:
                    if match := re.search("|".join(each.texts), line):
                        return each, match
    return None


def without_values(metrics: Iterable[str], profile: Profile) -> NcuviewError | None:
    """The error that names requested metrics without a value in some launch; None where each has one in every launch.

    Args:
        metrics: Those that ncu was to collect.
        profile: The launches of the reports.
    """
    of_each = {name: profile.metrics[name].notna().sum() if name in profile.metrics else 0 for name in metrics}
    missing = [name for name, values in of_each.items() if values < len(profile.launches)]
    if not missing:
        return None
    named = ", ".join(missing[:_METRICS_TO_NAME])
    more = f" and {len(missing) - _METRICS_TO_NAME:,} more" if len(missing) > _METRICS_TO_NAME else ""
    nowhere = sum(not of_each[name] for name in missing)
    return failure("NCU-METRIC").as_error(
        f"ncu left out requested metrics: {named}{more} "
        f"({nowhere} of {len(missing)} in all launches); rules that need them are skipped"
    )
