"""``Gate``: what a budget and a baseline decide about a diagnosis, as a tuple of ``Check`` objects.

A ``Check`` is one condition on one kernel and configuration, with result, measured value, limit and message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncuview.records.diagnosis import SourceLine
from ncuview.records.profile import Extent

Level = Literal["off", "warn", "error"]
CheckResult = Literal["passed", "failed", "inconclusive", "not judged"]


@dataclass(frozen=True)
class Check:
    """One condition of a budget or baseline, judged on one kernel and configuration.

    Grid and block are (0, 0, 0) where it is about no launch, for example a budget entry that fits no kernel.
    """

    kernel: str
    """The demangled name."""
    grid: Extent
    block: Extent
    subject: str
    """What is limited: a metric's name, ``duration_ns``, ``predicted``, or a rule's code and name."""
    condition: str
    """In words: ``at most 4 sectors``, ``as in the baseline, 4 sectors``."""
    result: CheckResult
    """``inconclusive`` where repeats spread too far to say, ``not judged`` where the number is missing."""
    level: Level
    """What a failure means."""
    measured: float | None
    """None where there is no number."""
    limit: float | None
    """None where the condition is not about a number."""
    unit: str
    message: str
    """The result as a sentence, with numbers and units."""
    origin: str
    """Where the condition stands: ``budget.toml:12, budget 3``, ``baseline main.json``."""
    where: tuple[SourceLine, ...] = ()
    """The lines responsible, where a finding or a metric's evidence names them."""
    limit_line: tuple[SourceLine, ...] = ()
    """The line of the budget file that sets the limit, with its absolute path; empty where it is unknown."""


@dataclass(frozen=True)
class Gate:
    """What a budget and a baseline say of a diagnosis."""

    checks: tuple[Check, ...]
    """In the order of the launches, then of the conditions."""
    fail_on: Level
    """Failures of this level or above close the gate; ``off``: none does."""
    remark: str = ""
    """A remark to read before the first check, such as why nothing was compared."""
    unrecorded: str = ""
    """Which conditions of measurement are unknown; empty where all are known. Pages show it; it is no annotation."""

    left_out: str = ""
    """What of budget and baseline was not checked because launches were left out by the user; no annotation either."""

    @property
    def notes(self) -> str:
        """All remarks as one text, without a full stop; empty where there are none."""
        return "; ".join(filter(None, [self.remark, self.left_out, self.unrecorded]))
