"""Types that several JSON documents share: counts, shares, extents, codes and names of rules, optimizations.

``Report`` is a report file that launches were read from, ``Place`` names one launch by report and index.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, get_args

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
