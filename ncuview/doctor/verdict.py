"""Result types of doctor: ``Verdict`` (OK, WARN, FAIL or UNKNOWN, with evidence and fix) and ``Examination`` of all.

``ok``, ``warn``, ``fail`` and ``unknown`` make verdicts; ``Examination`` has ``failed`` and the summary as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ncuview.base.errors import ToolError

Status = Literal["OK", "WARN", "FAIL", "UNKNOWN"]
STATUSES: tuple[Status, ...] = ("FAIL", "WARN", "UNKNOWN", "OK")
"""Worst first."""

_REASONS = 3
_DECIDE = ("ncu", "cuda-driver", "gpu", "counter-permission")
"""Checks that must not be UNKNOWN if the summary is to say that programs can be profiled."""
_READER = "ncu-report"
"""The check that decides whether reports can be read; profiling needs all."""
_BEYOND_LIVE = ("ncu", "gpu", "folders")
"""Checks whose FAIL may stand although a tiny kernel was profiled and its report read: an ncu too old for options that
were not used, another GPU than the first, no room for a larger report."""


class NotKnown(ToolError):
    """A check's question cannot be answered here; the message says why."""


@dataclass(frozen=True)
class Evidence:
    """One observation."""

    where: str
    """A file, a variable or a command."""
    what: str
    """Its content or answer."""


@dataclass(frozen=True)
class Verdict:
    """The result of a check; the message is a clause without a full stop, the fix one or more sentences."""

    status: Status
    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: str = ""


@dataclass(frozen=True)
class Checked:
    """A check and its verdict."""

    name: str
    """Stable, for programs: ``counter-permission``."""
    title: str
    ids: tuple[str, ...]
    """The failures of the catalogue that it foresees, such as ``NCU-PERM``."""
    verdict: Verdict


@dataclass(frozen=True)
class Examination:
    """All checks in their order, those of ``--live`` last."""

    checks: tuple[Checked, ...]
    live: tuple[Checked, ...] = ()
    """Empty where nothing was profiled."""

    @property
    def all(self) -> tuple[Checked, ...]:
        """Every check that was made."""
        return self.checks + self.live

    @property
    def failed(self) -> bool:
        """Whether any check found something that must be fixed."""
        return bool(self._standing)

    @property
    def contradicted(self) -> tuple[Checked, ...]:
        """The checks with FAIL that a successful profile contradicts."""
        if not self._profiled:
            return ()
        return tuple(each for each in self.checks if each.verdict.status == "FAIL" and each.name not in _BEYOND_LIVE)

    def with_status(self, status: Status) -> tuple[Checked, ...]:
        """The checks with this verdict, in their order."""
        return tuple(each for each in self.all if each.verdict.status == status)

    @property
    def summary(self) -> str:
        """What works here, in one or two sentences."""
        return f"{self._reading()}{self._profiling()}"

    @property
    def _profiled(self) -> bool:
        """Whether a kernel was profiled here, and its report read."""
        return any(each.verdict.status == "OK" for each in self.live)

    @property
    def _standing(self) -> tuple[Checked, ...]:
        """The checks with FAIL that are not contradicted."""
        return tuple(each for each in self.with_status("FAIL") if each not in self.contradicted)

    def _reading(self) -> str:
        if self._profiled:
            return "Reports can be read. "
        reader = next((each.verdict for each in self.checks if each.name == _READER), None)
        if reader is None or reader.status == "UNKNOWN":
            return "Whether reports can be read is not known. "
        return f"Reports cannot be read: {reader.message}. " if reader.status == "FAIL" else "Reports can be read. "

    def _profiling(self) -> str:
        live_failed = any(each.verdict.status == "FAIL" for each in self.live)
        if self._profiled and not live_failed:
            return self._tried()
        if self._standing:
            return f"Programs cannot be profiled: {_reasons(self._standing)}."
        trial = _reasons(self.live) or "--live tries it"
        unknown = [each for each in self.checks if each.name in _DECIDE and each.verdict.status == "UNKNOWN"]
        if unknown:
            return f"Whether programs can be profiled is not known: {_reasons(unknown)}; {trial}."
        return f"Nothing was found that prevents profiling; {trial}."

    def _tried(self) -> str:
        names = ", ".join(each.title for each in self.contradicted)
        although = f", although these checks failed: {names}" if names else ""
        doubts = [*self._standing, *(each for each in self.live if each.verdict.status != "OK")]
        if doubts:
            return f"A tiny kernel was profiled{although}; programs may still fail: {_reasons(doubts)}."
        return f"Programs can be profiled: it was tried{although}."


def ok(message: str, *evidence: Evidence) -> Verdict:
    """Make the verdict OK: nothing to fix."""
    return Verdict("OK", message, evidence)


def warn(message: str, *evidence: Evidence, fix: str) -> Verdict:
    """Make the verdict WARN: profiling works, but not well, or not in every case."""
    return Verdict("WARN", message, evidence, fix)


def fail(message: str, *evidence: Evidence, fix: str) -> Verdict:
    """Make the verdict FAIL: profiling, or reading, will not work."""
    return Verdict("FAIL", message, evidence, fix)


def unknown(message: str, *evidence: Evidence, fix: str = "") -> Verdict:
    """Make the verdict UNKNOWN: the question could not be answered, and the message says why."""
    return Verdict("UNKNOWN", message, evidence, fix)


def _reasons(checks: Sequence[Checked]) -> str:
    messages = list(dict.fromkeys(each.verdict.message for each in checks))
    more = len(messages) - _REASONS
    return "; ".join([*messages[:_REASONS], *([f"and {more} more"] if more > 0 else [])])
