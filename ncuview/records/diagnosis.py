"""``Diagnosis``: for each launch (``LaunchDiagnosis``) the bottleneck, the verdict and one outcome per rule.

Outcomes: ``Finding`` (evidence, lines, fix, gain), ``Passed``, ``NotApplicable``, ``Skipped`` and ``Broken``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from ncuview.base.figures import factor
from ncuview.records.profile import CallSite, Configuration, Device, Failure, HostTimes, ReportInfo
from ncuview.records.program import Call, ChangeAt, ProgramDiagnosis
from ncuview.records.schema import Limits
from ncuview.records.shown import Shown

Origin = Literal["live", "recorded", "report"]
Optimization = Literal[
    "coalescing",
    "shared_memory_tiling",
    "shared_memory_padding",
    "diagonal_mapping",
    "thread_coarsening",
    "unrolling",
    "warp_unrolling",
    "register_tiling",
    "vectorized_access",
    "divergence_removal",
    "launch_configuration",
    "warp_shuffle",
    "fewer_barriers",
    "atomic_privatization",
    "strength_reduction",
    "fast_math",
    "lower_precision",
    "constant_cache",
    "texture_cache",
    "read_only_cache",
    "async_copy",
    "data_layout",
    "transfer_reduction",
    "algorithmic",
]
"""The closed list of what a rule may advise."""
Grade = Literal["certain", "likely", "measured"]
"""What a finding is based on. ``certain``: code and counters. ``likely``: counters. ``measured``: a trial ran."""
Cause = Literal[
    "few bytes in flight",
    "a tree in each block",
    "atomics on the same addresses",
    "loads of constants",
    "another pass over the same data",
    "scattered loads",
]
"""What findings of several rules may have in common; only one of a launch's findings of a cause is advice."""
CAUSES_OF_LINES: frozenset[Cause] = frozenset(
    {"atomics on the same addresses", "another pass over the same data", "scattered loads"}
)
"""Causes that a kernel may have at several places: findings have it in common where they have a line in common."""
About = Literal["lines", "launch", "copies"]
"""What a finding is about. ``lines``: lines of the kernel. ``launch``: its grid, block and resources. ``copies``: the
host's copies around it."""
Verdict = Literal["advice", "near-peak", "unclear", "not-judged", "not-yours"]
"""``advice``: there is a change to make. ``near-peak``: the bottleneck is close to what it attains, and no gain that is
predicted is large enough to be certain. ``not-judged``: most rules could not be evaluated, or none looked at it.
``not-yours``: a kernel that a compiler, a framework or a vendor's library has written. ``unclear``: none of these."""
OwnerKind = Literal["yours", "generated", "framework", "vendor"]
"""Whose code a kernel is. ``yours``: the reader's, or nothing shows another owner. ``generated``: a compiler has
written it from the reader's code. ``framework``: part of a library that the reader calls or instantiates. ``vendor``:
part of a library whose source the reader does not have."""

WORTH_DOING = 1.10
"""A finding that predicts less is a note: run-to-run spread on an H200 reaches 5 %, and every change has a cost."""

WORTH_DOING_NEAR_PEAK = 1.15
"""The same for a launch whose busiest unit reaches what it attains in good kernels."""

FINISHED_SHARE = 0.9
"""From this attained share on, a launch without advice is finished: with the same work for its bottleneck, 1 / 0.9 =
1.11x is the most that is left, less than advice near the peak has to predict."""

FIXED_WORK = frozenset({"dram", "launch", "transfer"})
"""Bottlenecks whose work the data decide. Near the peak of another unit a kernel is busy with instructions of its own
choice, and another way to compute the same may need fewer: of 43 such launches of programs 229 to 292 without advice 21
had a change that gained 1.10x or more, near the peak of device memory 4 of 131."""

Share = Annotated[float, Limits(minimum=0, maximum=1.000001)]
"""0 to 1, plus rounding."""


OPEN_BELOW = 1e-6
"""The lower bound of a gain of which only the upper one is known; its inverse is the upper one where none is known."""


@dataclass(frozen=True)
class Gain:
    """A factor by which a launch gets faster: the best estimate, and bounds that should hold."""

    low: Annotated[float, Limits(above=0)]
    """The least that should be reached."""
    best: Annotated[float, Limits(above=0)]
    """The best estimate."""
    high: Annotated[float, Limits(above=0)]
    """The most that should be reached."""

    @property
    def bounds(self) -> str:
        """``1.94x to 2.29x``, or ``1.02x at most``."""
        if self.low > OPEN_BELOW:
            return f"{factor(self.low)} to {factor(self.high)}"
        return f"{factor(self.high)} at most" if self.high < 1 / OPEN_BELOW else "too few runs for an interval"


@dataclass(frozen=True)
class Saved:
    """Time in ns that advice takes away; negative where it may cost time."""

    low: float
    """The least that should be saved."""
    best: float
    """The best estimate."""
    high: float
    """The most that should be saved."""


@dataclass(frozen=True)
class Evidence:
    """One number that an outcome is based on."""

    name: str
    """Its name in the rule."""
    value: float
    """Its value, in ``unit``."""
    unit: str
    """The unit; empty for a pure number."""
    metrics: tuple[str, ...]
    """The metrics that it was computed from, under Nsight Compute's names."""


@dataclass(frozen=True)
class CodeLine:
    """A line of source code with its number, from 1; its indentation is spaces."""

    line: Annotated[int, Limits(minimum=1)]
    """Its number, from 1."""
    text: str
    """Its text; very long lines are cut."""


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's code, with its share of the waste that a finding is about."""

    file: str
    """The source file, as the compiler recorded it."""
    line: Annotated[int, Limits(minimum=1)]
    """The line's number, from 1."""
    share: Share
    """Its share of the waste that the finding is about, 0 to 1; the rest is on other lines and instructions."""
    code: str
    """The line's text without indentation; empty when the source is not there."""
    around: tuple[CodeLine, ...] = ()
    """The line itself and a few before and after it; empty when the source is not there."""
    inlined: bool = False
    """Whether the line is of another function than the kernel, inlined into it."""
    called_from: tuple[CallSite, ...] = ()
    """Where the kernel calls that function, by share of the waste; empty when the machine code does not show it."""
    remark: str = ""
    """Why there is no code to show, or why the code shown may not be what ran; empty otherwise."""


@dataclass(frozen=True)
class HotInstruction:
    """A machine instruction without a known source line, with its share of the waste that a finding is about."""

    address: Annotated[int, Limits(minimum=0)]
    """Bytes from the kernel's start."""
    sass: str
    """The instruction, as ncu prints it; jump targets are bytes from the kernel's start."""
    share: Share
    """Its share of the waste that the finding is about, 0 to 1."""


@dataclass(frozen=True)
class Awaited:
    """A machine instruction that stalled instructions wait for, with the share of its line in the waiting."""

    reason: str
    """Nsight Compute's stall reason, such as ``long_scoreboard``."""
    opcode: str
    """What the instruction is, without modifiers: ``LDG``."""
    address: Annotated[int, Limits(minimum=0)]
    """Bytes from the kernel's start."""
    sass: str
    """The instruction, as ncu prints it."""
    file: str
    """The source file, as the compiler recorded it; empty where the line is unknown."""
    line: Annotated[int, Limits(minimum=0)]
    """The line's number, from 1; 0 where it is unknown."""
    code: str
    """The line's text without indentation; empty when the source is not there."""
    share: Share
    """The share of the warp samples that wait for it, and for the same opcode on its line, 0 to 1."""


@dataclass(frozen=True)
class Citation:
    """The document that teaches the optimisation, and what it says."""

    document: str
    """Its title."""
    section: str
    """The chapter or slide."""
    claim: str
    """What it says, in ncuview's words."""


@dataclass(frozen=True)
class Fix:
    """What to change, shown on two real kernels of the catalogue; a draft rule may have none."""

    SEVERAL_LINES: ClassVar = frozenset({"before", "after"})
    """Fields that hold code."""

    title: str
    """The change in a few words."""
    before: str = ""
    """Code before the change, lines ending in a line feed."""
    before_from: str = ""
    """The file and region that it is from, as FILE#REGION."""
    after: str = ""
    """Code after the change."""
    after_from: str = ""
    """The file and region that it is from, as FILE#REGION."""
    patch: str = ""
    """The mechanical edit of the user's source that makes the change; empty where there is none."""
    by_hand: str = ""
    """Why no program can make the change; empty where one can, or where the rule does not say."""
    recipe: str = ""
    """The change in two sentences, for pages on which its code would be too long; empty where its code is short."""


@dataclass(frozen=True)
class SourceEdit:
    """The advice as a change of the user's own source, or why there is none."""

    SEVERAL_LINES: ClassVar = frozenset({"diff"})
    """Fields that hold code."""

    title: str = ""
    """What it does, as an order; empty when there is no change."""
    diff: str = ""
    """A unified diff against the file, which ``git apply`` takes."""
    assumes: str = ""
    """What must be true although the source does not show it; empty without such a condition."""
    reason: str = ""
    """Why no change can be written mechanically."""


@dataclass(frozen=True)
class RuleId:
    """A rule's code and name: ``SMEM001``, ``shared-bank-conflict``."""

    code: str
    name: str


@dataclass(frozen=True)
class Effect:
    """What the change of a finding does to the launch, as its rule computes it."""

    name: str
    """Its name in the rule file."""
    value: float
    """The share that is left or, of ``latency_hidden``, that goes away; of ``added`` work the instructions or
    wavefronts of warps."""
    units: tuple[str, ...] = ()
    """The units whose work changes."""
    added: bool = False
    """Whether it is work that the change adds."""


@dataclass(frozen=True)
class Finding:
    """The rule fired: it found waste, and predicts the gain from removing it."""

    rule: RuleId
    optimization: str
    message: str
    predicted_speedup: Gain
    bottleneck_after: str
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
    """The instructions with waste for which no source line is known."""
    lines_wanted: str = ""
    """How to get source lines for ``instructions``; empty when there are none."""
    about: About = "lines"
    """What the finding is about: ``where`` and ``instructions`` are empty unless it is ``lines``."""
    grade: Grade = "certain"
    """What the finding is based on: ``certain``, code and counters; ``likely``, counters; ``measured``, a trial."""
    edit: SourceEdit | None = None
    """The change of the user's own source; None where the source is missing or another advice comes first."""
    conditions: tuple[str, ...] = ()
    """The conditions of the rule, which all hold, each with its values on this launch."""
    effects: tuple[Effect, ...] = ()
    """What the prediction assumes of the change."""
    draft: bool = False
    """Whether the rule is a draft, whose claims are not verified yet; it never comes first."""
    open_condition: str = ""
    """What must hold and the code does not show, as a clause: that there is independent work; empty where it does."""
    cause: Cause | None = None
    """What it may have in common with other findings; None where its rule stands alone."""
    same_cause_as: str = ""
    """The code of the rule whose finding is the advice about the same cause; empty where there is none."""
    waits_for: tuple[Awaited, ...] = ()
    """Where the rule reads stall reasons: what most of the samples with these reasons wait for, the most first."""


@dataclass(frozen=True)
class Step:
    """One change of a sequence."""

    rule: RuleId
    optimization: str
    title: str
    """The change in a few words."""
    gain: Annotated[float, Limits(above=0)]
    """How many times as fast it makes the launch that the steps before it leave."""


@dataclass(frozen=True)
class StepSequence:
    """Changes that pay one after the other, in the order in which to make them."""

    steps: tuple[Step, ...]
    alone: Annotated[float, Limits(above=0)]
    """How many times as fast the last step makes the launch without the steps before it."""


@dataclass(frozen=True)
class Passed:
    """The rule was evaluated and found no waste; ``message`` says how close it was."""

    rule: RuleId
    message: str
    unmet: tuple[str, ...] = ()
    """The conditions of the rule that do not hold, as its file writes them."""


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
"""How the message of a skipped rule begins."""
ONLY_CODE_SHOWS = f"{SKIPPED_BECAUSE}only machine code shows "
"""How that of a rule begins whose subject counters do not show, on a launch without machine code."""


@dataclass(frozen=True)
class Broken:
    """The rule itself failed on this launch; the others went on."""

    rule: RuleId
    message: str


Outcome = Finding | Passed | NotApplicable | Skipped | Broken


def mostly_blind(outcomes: Sequence[Outcome]) -> bool:
    """Whether most rules could not be evaluated: numbers or machine code were missing, or the rules broke."""
    return 2 * sum(isinstance(outcome, Skipped | Broken) for outcome in outcomes) > len(outcomes)


@dataclass(frozen=True)
class TextbookMetric:
    """A metric under the name of the documents and of nvprof, computed for one launch."""

    value: float
    unit: str
    source: str
    """The expression over Nsight Compute's metrics that gave the value."""


@dataclass(frozen=True)
class LaunchDiagnosis(Shown):
    """The diagnosis of one launch."""

    report: str
    index: int
    kernel: str
    demangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_ns: float
    device: Device
    origin: Origin
    bottleneck: str
    """The unit that limits the launch now."""
    units: Mapping[str, float]
    """Each unit's use as a share of its peak, 0..1."""
    attained: float
    """The busiest unit's use as a share of what it attains in good kernels, 0..1; at 1 nothing is left to gain."""
    verdict: Verdict
    metrics: Mapping[str, TextbookMetric]
    outcomes: tuple[Outcome, ...]
    """One per rule; findings first, by predicted gain."""
    host: HostTimes | None = None
    """Where the host timed its copies, all predicted gains are end-to-end: copies and kernel together."""
    owner: str = ""
    """The library or compiler that the kernel is from, such as ``cuBLAS`` or ``TorchInductor``; empty where it is
    the reader's."""
    owner_kind: OwnerKind = "yours"
    """Whose code the kernel is."""
    call: Call | None = None
    """The line of the user's program that led to the launch; None where no call stack was recorded."""
    textbook: tuple[str, ...] = ()
    """Of a catalogue kernel: the documents' next step where it is not the first advice here, and why it is not."""
    waits_for: tuple[Awaited, ...] = ()
    """What most of the samples wait for, of all stall reasons that name an instruction, the most first."""
    sequence: StepSequence | None = None
    """The first advice and the change that pays before or after it; None where the first advice stands alone."""
    selected: bool = False
    """Whether only selected rules were evaluated: rules that were left out may have advice."""
    unit_names: Mapping[str, str] = field(default_factory=dict)
    """The name of a unit on pages where what runs on it says more than its key: ``tensor pipes``."""
    not_judged: str = ""
    """Why no rule looked at the launch, as a clause; empty where rules did."""
    waits_for_peers: bool = False
    """Whether it waits for other processes or GPUs; its time is left out of all shares."""
    time_share: Share | None = None
    """Its duration as a share of that of all launches; None where a duration is unknown, or it waits for peers."""
    changed_by: ChangeAt | None = None
    """The finding of the program that shortens the launch; one about the time between launches does not."""

    @property
    def bottleneck_name(self) -> str:
        """The bottleneck as pages name it."""
        return self.unit_names.get(self.bottleneck, self.bottleneck)

    @property
    def is_near_floor(self) -> bool:
        """Whether it is near the peak of a bottleneck whose work another way to compute the same has as well."""
        return self.verdict == "near-peak" and self.bottleneck in FIXED_WORK

    @property
    def whole_ns(self) -> float:
        """The time that gains refer to: the kernel's duration, or that of copies and kernel where they were timed."""
        return self.host.whole_ns if self.host else self.duration_ns

    @property
    def unexamined(self) -> bool:
        """Whether no rule, or few of them, could be evaluated on a launch of the reader's own code."""
        return self.owner_kind == "yours" and (bool(self.not_judged) or mostly_blind(self.outcomes))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice, largest predicted gain first: findings that are worth doing."""
        return tuple(o for o in self.outcomes if isinstance(o, Finding) and not o.rejected)

    @property
    def other_cures(self) -> tuple[Finding, ...]:
        """Findings whose cause one of ``findings`` has too: other ways to the same gain, the largest first."""
        return tuple(o for o in self.outcomes if isinstance(o, Finding) and o.same_cause_as)


def main_cause(launch: LaunchDiagnosis) -> str:
    """The most frequent reason why rules could not judge a launch, without a full stop."""
    if launch.not_judged:
        return launch.not_judged
    causes = Counter(
        "metrics are missing" if outcome.missing else outcome.message.removeprefix(SKIPPED_BECAUSE)
        for outcome in launch.outcomes
        if isinstance(outcome, Skipped)
    )
    return causes.most_common(1)[0][0] if causes else "rules failed"


@dataclass(frozen=True)
class Diagnosis(Shown):
    """The answer: one entry per launch, in the order of the reports."""

    launches: tuple[LaunchDiagnosis, ...]
    reports: tuple[ReportInfo, ...]
    remark: str = ""
    """Why the profile is a recorded one, or another remark to read before the first launch."""
    launched: Mapping[Configuration, int] = field(default_factory=dict)
    """How often the program launched each configuration, where only some of its launches were profiled. What is not in
    it was launched as often as it was profiled."""
    failure: Failure | None = None
    """Why some or all launches are missing; None when the answer is complete. Every page and format shows it, each
    gate has a check that could not be judged, and the run does not end with exit code 0."""
    program: ProgramDiagnosis | None = None
    """The launches as a program: its calls by time, and what to change in it; None where no call is known."""

    def without_program(self) -> Diagnosis:
        """The same launches where they are no program: a sample, or those of chosen kernels, have no shares of one."""
        launches = tuple(replace(launch, time_share=None, changed_by=None) for launch in self.launches)
        return replace(self, launches=launches, program=None)
