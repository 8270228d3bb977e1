"""Two JSON documents that compare launches: ``ncuview.comparison/2`` (``ncuview diff``) and ``ncuview.ladder/2``.

``ComparisonDocument``: launches before and after, paired, with changed numbers, changed findings and the checked
prediction. ``LadderDocument``: a family's kernels from naive to best, with launches, rates and steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ncuview.records.diagnosis import Gain, Verdict
from ncuview.records.documents import Amount, Count, NullableOptimization, OptimizationWord, Report, RuleCode, Triple
from ncuview.records.documents.diagnosis import GateResult, Launch
from ncuview.records.ladder import TextbookStep
from ncuview.records.profile import Device, Failure
from ncuview.records.schema import LEFT_OUT, Limits


@dataclass(frozen=True)
class ComparedLaunch:
    """A launch and its diagnosis in short; `ncuview analyze` has the rest."""

    report: str
    """The report's path, one of reports[].path."""
    index: Count
    """The launch's place in its report, from 0."""
    kernel: str
    """The function's name without parameters."""
    demangled: str
    """The function's complete C++ signature."""
    grid: Triple
    """Blocks of the launch in x, y, z."""
    block: Triple
    """Threads of a block in x, y, z."""
    device: Device
    """The GPU that it ran on."""
    time_ns: Amount | None
    """Its duration in ns, with the host's copies where those were timed; null when it was not collected."""
    bottleneck: str
    """What limits the launch now, a word of launches[].bottleneck of a diagnosis."""
    verdict: Verdict
    """A word of launches[].verdict of a diagnosis."""
    first_advice: NullableOptimization
    """The optimization that was advised first; null when none was."""


@dataclass(frozen=True)
class MovedNumber:
    """A number on both sides, and the time that its change explains."""

    metric: str
    """The textbook metric, or the unit of which it is the busy time."""
    words: str
    """Its name in texts."""
    before: float | None
    """Its value before; null where the launch has no subject for it, such as bank conflicts without shared memory."""
    after: float | None
    """Its value after; null as before."""
    unit: str
    """The unit of both."""
    saves_ns: float
    """Time in ns that the change explains; negative where it costs time. Those of several numbers must not be added."""
    exact: bool
    """Whether the counter repeats within 1 % from run to run."""


@dataclass(frozen=True)
class MovedRule:
    """A rule whose finding appeared, disappeared, or has another predicted gain now."""

    rule: RuleCode
    """The rule's code, such as SMEM001."""
    before: str
    """The rule's outcome before."""
    after: str
    """The rule's outcome after."""
    fires_before: bool
    """Whether it was a finding before."""
    fires_after: bool
    """Whether it is a finding after."""
    saves_ns: float
    """Time in ns that the waste cost before, less what it costs after, by the what-if model."""
    name: str
    """The rule's name, such as shared-bank-conflict."""


@dataclass(frozen=True)
class Prediction:
    """The predicted and the measured speedup of the advice that was taken."""

    rule: RuleCode
    """The rule's code, such as SMEM001."""
    optimization: OptimizationWord
    """What was advised, a word of a closed list."""
    promised: Gain
    """The predicted speedup."""
    got: Annotated[float, Limits(above=0)]
    """The measured speedup."""
    verdict: Literal["kept", "more than promised", "not kept"]
    """``kept`` when what was measured lies in the predicted range."""
    evidence: Literal["gone", "smaller", "unknown"]
    """Whether the rule still finds the waste. ``smaller``: it now predicts less than the square root of its first
    prediction; ``unknown``: it could not judge the second launch."""
    now: str
    """The rule's outcome after; empty where it was not evaluated."""
    name: str
    """The rule's name, such as shared-bank-conflict."""


@dataclass(frozen=True)
class Partners:
    """A launch and its partner."""

    before: ComparedLaunch
    """The launch before."""
    after: ComparedLaunch
    """The launch after."""


@dataclass(frozen=True)
class ComparedPair:
    """Launches of one kernel and configuration, before and after."""

    sentence: str
    """What changed and explains the time, in one line."""
    changed: tuple[str, ...]
    """What is no longer the same of name, types, GPU, grid and block, before and after."""
    before_ns: Amount | None
    """Time of the launches before together, in ns; null when one is unknown."""
    after_ns: Amount | None
    """Time of the launches after together, in ns; null when one is unknown."""
    speedup: float | None
    """Time before over time after; null when one is unknown."""
    spread: Amount
    """The share by which such times differ from run to run."""
    unchanged: bool
    """Whether the times differ by no more than that."""
    moved: tuple[MovedNumber, ...]
    """The numbers that changed in the longest launch, counters that repeat first, and what explains most time first."""
    rules: tuple[MovedRule, ...]
    """Findings that appeared, disappeared or changed in the longest launch, the most time first."""
    promise: Prediction | None
    """Whether the prediction of the advice that was taken held; null when all advice before is still valid after, when
    there was none, or a time is unknown."""
    launches: Annotated[tuple[Partners, ...], Limits(fewest=1)]
    """The launches, each with its partner, in their order."""


@dataclass(frozen=True)
class ComparisonDocument:
    """What `ncuview diff --format json` prints: what changed from one profile to another.

    There is no NaN and no infinity; what was not measured is null. Within version 2 properties may
    be added; none is removed or changes its meaning.
    """

    schema: Literal["ncuview.comparison/2"]
    """The name and version of this schema."""
    error: Failure | None
    """Why some or all launches are missing; null when the answer is complete. It is written also where there is no
    answer at all."""
    before: tuple[Report, ...]
    """The reports that the others are compared with."""
    after: tuple[Report, ...]
    """The reports of what has changed."""
    differences: tuple[str, ...]
    """Why the two cannot really be compared: GPU, ncu or settings differ. Empty unless it was forced."""
    unknown: tuple[str, ...]
    """What could not be checked, since a report does not say it: GPU, ncu, clock control, cache control, replay
    mode."""
    pairs: tuple[ComparedPair, ...]
    """Launches that belong together, by kernel and configuration; those whose time changed most first."""
    only_before: tuple[ComparedLaunch, ...]
    """Launches before without a partner, in the order of the reports."""
    only_after: tuple[ComparedLaunch, ...]
    """Launches after without a partner."""
    gate: Annotated[GateResult | None, LEFT_OUT] = None
    """What a budget and a baseline say of the launches; missing where there is neither."""


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

    There is no NaN and no infinity; what was not measured is null or missing. Within version 2 properties may
    be added; none is removed or changes its meaning.
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
