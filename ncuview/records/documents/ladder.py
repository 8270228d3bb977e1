"""The JSON document ``ncuview.ladder/2``: a family's kernels from naive to best, with launches, rates and steps.

``LadderDocument`` is the top level, which ``ncuview ladder --format json`` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ncuview.records.documents.common import Amount, Report
from ncuview.records.documents.diagnosis import GateResult, Launch
from ncuview.records.ladder import TextbookStep
from ncuview.records.schema import LEFT_OUT


@dataclass(frozen=True)
class LadderStep:
    """One step of a family's ladder."""

    kernel: str
    """Its name in the catalogue."""
    number: int
    """Its number, from naive to best."""
    useful_rate: Amount | None
    """Work that the problem needs, over the time, in ``rate_unit``; null when the time is unknown."""
    rate_unit: Literal["GB/s", "GFLOP/s"]
    """The unit of ``useful_rate``."""
    reported: str | None
    """The document's own figure and GPU; null where it gives none."""
    better: str | None
    """The kernel that applies the first advice; null on the last step."""
    better_sizes: Mapping[str, int]
    """The sizes at which ``better`` was measured."""
    measured_speedup: float | None
    """How much faster ``better`` does the same work; null when there is none."""
    textbook_steps: tuple[TextbookStep, ...]
    """What the documents do next to this kernel."""
    launch: Launch
    """The diagnosis of its launch."""


@dataclass(frozen=True)
class LadderDocument:
    """What `ncuview ladder --format json` prints: a family from naive to best.

    There is no NaN and no infinity; what was not measured is null or missing. Within version 2 properties may be added,
    never removed or given another meaning.
    """

    schema: Literal["ncuview.ladder/2"]
    """The name and version of this schema."""
    family: str
    """The name of the family."""
    remark: str
    """Why the profile is a recorded one, or what else to know; empty when there is nothing."""
    reports: tuple[Report, ...]
    """The report files."""
    steps: tuple[LadderStep, ...]
    """The kernels, the naive one first."""
    gate: Annotated[GateResult | None, LEFT_OUT] = None
    """What a budget and a baseline say of the launches; missing where there is neither."""
