"""``Ladder``: the kernels of a family from naive to best (``LadderStep``), with predicted and measured speedups.

``TextbookStep`` is what the documents do next to a kernel; ``pipeline.ladders`` fills all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import ReportInfo
from ncuview.records.shown import Shown


@dataclass(frozen=True)
class TextbookStep:
    """The next step of the documents after a kernel, and its measured speedup here."""

    kernel: str
    """The kernel that takes the step."""
    applies: str
    """The optimization that it applies."""
    measured_speedup: float
    """How much faster it does the same work."""
    not_first: str
    """Why it is not the first advice here; empty where it is."""


@dataclass(frozen=True)
class LadderStep:
    """One step of a family's ladder: a kernel with its diagnosis and the next, better kernel."""

    kernel: str
    number: int
    diagnosis: LaunchDiagnosis
    useful_rate: float
    """Work that the problem needs, over the time, in ``rate_unit``."""
    rate_unit: Literal["GB/s", "GFLOP/s"]
    reported: str
    """The document's own figure and GPU; empty where it gives none."""
    better: str
    """The kernel that applies the first advice; empty on the last step."""
    better_sizes: Mapping[str, int]
    """The sizes at which ``better`` was measured."""
    measured_speedup: float | None
    """How much faster ``better`` does the same work; None when there is none."""
    textbook_steps: tuple[TextbookStep, ...]
    """What the documents do next to this kernel."""


@dataclass(frozen=True)
class Ladder(Shown):
    """A family from naive to best, with the predicted and the measured speedup of each step."""

    family: str
    steps: tuple[LadderStep, ...]
    reports: tuple[ReportInfo, ...]
    remark: str = ""

    @property
    def diagnosis(self) -> Diagnosis:
        """The launches of the steps, for outputs without a form for ladders."""
        return Diagnosis(tuple(step.diagnosis for step in self.steps), self.reports, self.remark)
