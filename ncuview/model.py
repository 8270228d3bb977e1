"""What passes between the stages: frozen dataclasses and nothing else of ours.

``collect`` leaves a report file, ``report`` turns it into a ``Profile``, ``diagnose`` turns that into a
``Diagnosis``, and ``render`` shows it. Each can be made by hand in a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

Origin = Literal["live", "recorded", "report"]
Verdict = Literal["advice", "near-peak", "unclear", "not-judged", "not-yours"]
"""``advice``: there is a change to make. ``near-peak``: stop here. ``not-judged``: most rules could not look, so that
nothing is known. ``not-yours``: a kernel of a vendor's library, whose code the reader cannot change. ``unclear``: none
of these."""
Extent = tuple[int, int, int]
NOWHERE: Extent = (0, 0, 0)
"""Grid and block of what is about no launch."""
Configuration = tuple[str, Extent, Extent]
"""A kernel's demangled name, or its bare name for all kernels of that name together, its grid and its block."""


@dataclass(frozen=True)
class Failure:
    """Why there is no answer, or not the whole one."""

    id: str
    """Its stable name, as ``NcuviewError.id``: ``NCU-PERM``, ``ReportDamaged``."""
    message: str
    hint: str
    """What the user can do next; may be empty."""
    exit_code: int
    """What the run ends with, unless something worse happened too."""


@dataclass(frozen=True)
class ReportInfo:
    """Where the launches of one report come from."""

    path: str
    """The file, as the user named it."""
    ncu_version: str
    """The Nsight Compute that wrote it, such as ``2025.3.1``; empty when the report does not say."""
    created: datetime | None
    """When it was written (UTC); None when the report does not say."""
    damage: str = ""
    """What of it could not be read, as in "launches 0 to 6 of 9 were read; block 3 is damaged at byte 1,234 of 5,678";
    empty when all of it was. A run with a damaged report never ends with exit code 0."""
    may_be_whole: bool = False
    """Whether all that was not read may be for want of this machine's memory or time, and the report be whole."""


@dataclass(frozen=True, repr=False, eq=False)
class Profile:
    """All launches of one or more reports, as DataFrames in base units (ns, byte, sector, %).

    ``launches`` has one row per launch, indexed 0..n-1 over all reports: ``report`` (string), ``index`` (int64,
    0-based in its report), ``kernel``, ``demangled`` (string), ``grid_x`` ... ``block_z`` (int64), ``device``
    (string), ``compute_capability`` (string, ``9.0``; empty when unknown), ``duration_ns`` (float64).

    ``metrics`` has the same index and a float64 column for each metric under Nsight Compute's own name; NaN where a
    launch does not have it. ``units`` gives the unit of each column.

    ``instructions`` has one row per machine instruction of each launch: ``launch`` (int64, into ``launches``),
    ``address`` (int64, bytes from the kernel's start), ``sass``, ``file`` (string), ``line`` (int64, 0 when unknown),
    and a float64 column for each metric that ncu attributes to instructions.

    ``sources`` maps (report, file) to the source text that ncu imported, or that was read here because it did not;
    ``source_remarks`` says of such a file what its reader must know, or why there is no text.

    ``call_sites`` maps a launch to the addresses of inlined instructions, and those to the line of the kernel's own
    code that they were inlined at; the instructions themselves name the line of the inlined function. A launch whose
    machine code does not tell is missing.
    """

    reports: tuple[ReportInfo, ...]
    launches: pd.DataFrame
    metrics: pd.DataFrame
    units: Mapping[str, str]
    instructions: pd.DataFrame
    sources: Mapping[tuple[str, str], str]
    source_remarks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    call_sites: Mapping[int, Mapping[int, CallSite]] = field(default_factory=dict)
    failure: Failure | None = None
    """Why launches are missing, what of a report could not be read, or why it is not kept; None when all is well."""

    def __repr__(self) -> str:
        kernels, metrics = self.launches["demangled"].nunique(), len(self.metrics.columns)
        return f"Profile of {len(self.launches)} launches of {kernels} kernels with {metrics} metrics"

    @cached_property
    def lines(self) -> pd.DataFrame:
        """``instructions`` summed by source line: ``launch``, ``file``, ``line`` and the metric columns."""
        known = self.instructions[self.instructions["line"] > 0]
        return known.drop(columns=["address", "sass"]).groupby(["launch", "file", "line"], as_index=False).sum()


@dataclass(frozen=True)
class Gain:
    """A factor by which a launch gets faster: the best guess, and bounds that should hold."""

    low: float
    best: float
    high: float


@dataclass(frozen=True)
class Evidence:
    """One number that a judgement rests on."""

    name: str
    value: float
    unit: str
    metrics: tuple[str, ...]
    """The metrics that it was computed from, under Nsight Compute's names."""


@dataclass(frozen=True)
class CallSite:
    """The line of a kernel's own code that calls a function which was inlined there."""

    file: str
    line: int
    code: str = ""
    """The line's text without indentation; empty when the source is not there."""


@dataclass(frozen=True)
class CodeLine:
    """A line of source code with its number, from 1; its indentation is spaces."""

    line: int
    text: str


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's code, with its share of the waste that a finding is about."""

    file: str
    line: int
    share: float
    code: str
    """The line's text without indentation; empty when the source is not there."""
    around: tuple[CodeLine, ...] = ()
    """The line itself and a few before and after it; empty when the source is not there."""
    inlined: bool = False
    """Whether the line is of another function than the kernel, inlined into it."""
    called_from: tuple[CallSite, ...] = ()
    """Where the kernel calls that function, by share of the waste; empty when the machine code does not tell."""
    remark: str = ""
    """Why there is no code to show, or why what is shown may not be what ran; empty when neither is so."""


@dataclass(frozen=True)
class HotInstruction:
    """A machine instruction of which no source line is known, with its share of the waste that a finding is about."""

    address: int
    """Bytes from the kernel's start."""
    sass: str
    share: float


@dataclass(frozen=True)
class Citation:
    """Where the optimisation is taught, and what is said there."""

    document: str
    section: str
    claim: str


@dataclass(frozen=True)
class Fix:
    """What to change, shown on two real kernels of the catalogue."""

    title: str
    before: str
    before_from: str
    after: str
    after_from: str


@dataclass(frozen=True)
class SourceEdit:
    """The advice as a change of the user's own source, or why there is none."""

    title: str = ""
    """What it does, as an order; empty when there is no change."""
    diff: str = ""
    """A unified diff against the file, which ``git apply`` takes."""
    assumes: str = ""
    """What must be true that the source does not show; empty where nothing is."""
    reason: str = ""
    """Why no change can be written mechanically."""


@dataclass(frozen=True)
class RuleId:
    """A rule's code and name: ``SMEM001``, ``shared-bank-conflict``."""

    code: str
    name: str


@dataclass(frozen=True)
class Finding:
    """The rule fired: there is waste, and this is what removing it would gain."""

    rule: RuleId
    optimization: str
    message: str
    predicted_speedup: Gain
    wall_after: str
    """The unit that limits the launch once the advice is taken."""
    check: str
    """What a new profile must show when the change has worked."""
    assumes: str
    evidence: tuple[Evidence, ...]
    where: tuple[SourceLine, ...]
    cite: tuple[Citation, ...]
    fix: Fix
    rejected: str = ""
    """Why the finding is not advice, in one line; empty when it is."""
    instructions: tuple[HotInstruction, ...] = ()
    """Where the waste is that no source line is known of."""
    lines_wanted: str = ""
    """How to get source lines for ``instructions``; empty when there are none."""
    edit: SourceEdit | None = None
    """The change of the user's own source; None where the source is not at hand or another advice comes first."""


@dataclass(frozen=True)
class Passed:
    """The rule looked and found nothing; ``message`` says how close it was."""

    rule: RuleId
    message: str


@dataclass(frozen=True)
class NotApplicable:
    """The launch has no subject for this rule: no shared memory, say."""

    rule: RuleId
    message: str


@dataclass(frozen=True)
class Skipped:
    """Metrics are missing; ``missing`` names them, ``message`` gives the command that collects them."""

    rule: RuleId
    message: str
    missing: tuple[str, ...]


SKIPPED_BECAUSE = "it cannot be judged: "
"""How the message of a rule begins that was skipped because it could not look."""


@dataclass(frozen=True)
class Broken:
    """The rule itself failed on this launch; the others went on."""

    rule: RuleId
    message: str


Outcome = Finding | Passed | NotApplicable | Skipped | Broken


def mostly_blind(outcomes: Sequence[Outcome]) -> bool:
    """Whether most rules could not look: numbers or machine code were missing, or the rules broke."""
    return 2 * sum(isinstance(outcome, Skipped | Broken) for outcome in outcomes) > len(outcomes)


@dataclass(frozen=True)
class TextbookMetric:
    """A metric under the name of the documents and of nvprof, computed for one launch."""

    value: float
    unit: str
    source: str
    """The expression over Nsight Compute's metrics that gave the value."""


@dataclass(frozen=True)
class Device:
    """The GPU of a launch."""

    name: str
    compute_capability: str


@dataclass(frozen=True)
class HostTimes:
    """What the host measured around a kernel, in ns: its copies, the kernel itself, and the whole."""

    to_device_ns: float
    kernel_ns: float
    to_host_ns: float
    whole_ns: float
    """From the first copy to the end of the last; less than the sum of the others where they overlap."""


@dataclass(frozen=True)
class LaunchDiagnosis:
    """What is to be said about one launch."""

    report: str
    index: int
    kernel: str
    demangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_ns: float
    device: Device
    origin: Origin
    wall: str
    """The unit that limits the launch now."""
    walls: Mapping[str, float]
    """Each unit's use as a share of its peak, 0..1."""
    attained: float
    """How much of what a good kernel attains the busiest unit reaches, 0..1; at 1 nothing is left to gain there."""
    verdict: Verdict
    metrics: Mapping[str, TextbookMetric]
    outcomes: tuple[Outcome, ...]
    """One per rule; findings first, by predicted gain."""
    host: HostTimes | None = None
    """Where the host timed its copies, all predicted gains are of the whole: copies and kernel."""
    owner: str = ""
    """The vendor's library that the kernel is part of, such as ``cuBLAS``, by its name; empty where it is of none."""
    textbook: tuple[str, ...] = ()
    """Of a catalogue kernel: what the documents do next although it is not the first advice here, and why not."""

    @property
    def whole_ns(self) -> float:
        """What gains are measured on: the kernel's duration, or that of copies and kernel where they were timed."""
        return self.host.whole_ns if self.host else self.duration_ns

    @property
    def unexamined(self) -> bool:
        """Whether most rules could not look at a launch of the reader's own code, for want of numbers or code."""
        return not self.owner and mostly_blind(self.outcomes)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice, best first: findings that promise enough to be worth doing."""
        return tuple(o for o in self.outcomes if isinstance(o, Finding) and not o.rejected)


@dataclass(frozen=True)
class Diagnosis:
    """The answer: one entry per launch, in the order of the reports."""

    launches: tuple[LaunchDiagnosis, ...]
    reports: tuple[ReportInfo, ...]
    remark: str = ""
    """Why the profile is a recorded one, or what else the reader must know before the first launch."""
    launched: Mapping[Configuration, int] = field(default_factory=dict)
    """How often the program launched each configuration, where only some of its launches were profiled. What is not in
    it was launched as often as it was profiled."""
    failure: Failure | None = None
    """Why launches are missing, or all of them; None when the answer is whole. Every page and format says it, each gate
    has a check that could not be judged, and the run does not end with exit code 0."""


Level = Literal["off", "warn", "error"]
CheckResult = Literal["passed", "failed", "inconclusive", "not judged"]


@dataclass(frozen=True)
class Check:
    """One condition of a budget or baseline, judged on one kernel and configuration.

    Grid and block are (0, 0, 0) where it is about no launch: nothing fits an entry of the budget, say.
    """

    kernel: str
    """The demangled name."""
    grid: Extent
    block: Extent
    subject: str
    """What is limited: a metric's name, ``duration_ns``, ``promised``, or a rule's code and name."""
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
    """The judgement as a sentence, with numbers and units."""
    origin: str
    """Where the condition stands: ``budget.toml, budget 3``, ``baseline main.json``."""
    where: tuple[SourceLine, ...] = ()
    """The lines that are to blame, where a finding or a metric's evidence names them."""


@dataclass(frozen=True)
class Gate:
    """What a budget and a baseline say of a diagnosis."""

    checks: tuple[Check, ...]
    """In the order of the launches, then of the conditions."""
    fail_on: Level
    """Failures of this level or above close the gate; ``off``: none does."""
    remark: str = ""
    """What the reader must know before the first check: why nothing was compared, say."""


@dataclass(frozen=True)
class TextbookStep:
    """What the documents do next to a kernel, and what it brought here."""

    kernel: str
    """The kernel that takes the step."""
    applies: str
    """The optimization that it applies."""
    measured_speedup: float
    not_first: str
    """Why it is not the first advice here, with ``measured_speedup`` in words; empty where it is."""


@dataclass(frozen=True)
class Rung:
    """A kernel's place on its family's ladder."""

    kernel: str
    rung: int
    diagnosis: LaunchDiagnosis
    useful_rate: float
    """Work that the problem needs, over the time, in ``rate_unit``."""
    rate_unit: Literal["GB/s", "GFLOP/s"]
    reported: str
    """The document's own figure and GPU; empty where it gives none."""
    better: str
    """The kernel that applies the first advice; empty on the last rung."""
    better_sizes: Mapping[str, int]
    """The sizes at which ``better`` was measured."""
    measured_speedup: float | None
    """How much faster ``better`` does the same work; None when there is none."""
    steps: tuple[TextbookStep, ...]
    """What the documents do next to this kernel."""


@dataclass(frozen=True)
class Ladder:
    """A family from naive to best, with what was promised and what was got at each step."""

    family: str
    rungs: tuple[Rung, ...]
    reports: tuple[ReportInfo, ...]
    remark: str = ""


@dataclass(frozen=True)
class Attained:
    """The share of its peak that a unit attains, 0..1, with bounds."""

    low: float
    best: float
    high: float
    kernel: str
    """The kernel that reached ``best``."""
    assumed: str = ""
    """Why it was not measured, so that what was known before is used; empty where it was."""


@dataclass(frozen=True)
class Figure:
    """Another property of a GPU that predictions need; its name says the unit."""

    value: float
    kernel: str
    assumed: str = ""


@dataclass(frozen=True)
class Calibration:
    """What good kernels attain on one GPU, as measured there."""

    device: str
    measured: str
    """When, and with which ncu."""
    shares: Mapping[str, Attained]
    """Unit -> the share of its peak."""
    figures: Mapping[str, Figure]
    """``launch_ns`` and the like; see ncuview/gpus. What nobody knows is left out."""
