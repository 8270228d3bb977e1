"""The JSON document ``ncuview.diagnosis/2``: launches with findings and outcomes, priorities, checks of a gate.

``DiagnosisDocument`` is the top level, which ``ncuview analyze --format json`` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ncuview.records.diagnosis import (
    About,
    Awaited,
    Citation,
    Evidence,
    Fix,
    Gain,
    Grade,
    HotInstruction,
    Origin,
    OwnerKind,
    Saved,
    Share,
    SourceLine,
    Verdict,
)
from ncuview.records.documents import (
    Amount,
    Count,
    OptimizationWord,
    Place,
    Positive,
    Report,
    RuleCode,
    RuleName,
    Triple,
)
from ncuview.records.gate import CheckResult, Level
from ncuview.records.profile import Device, Failure, HostTimes
from ncuview.records.program import Change, ChangeAt
from ncuview.records.schema import LEFT_OUT, Limits


@dataclass(frozen=True)
class Metric:
    """A metric under the name of the textbooks, computed for this launch."""

    value: float
    """Its value, in ``unit``."""
    unit: str
    """The unit, such as byte, byte/s, sector, %, or ``ratio 0-1``."""
    from_: str
    """The expression over Nsight Compute's metrics that gave the value."""


@dataclass(frozen=True)
class Advice:
    """What to change, why, where, what it will gain, and how to check that it did."""

    rank: Positive
    """1 is what to do next."""
    rule: RuleCode
    """The rule's code, such as SMEM001. Never reused for another rule."""
    name: RuleName
    """The rule's name, such as shared-bank-conflict."""
    optimization: OptimizationWord
    """What to do, one word of a closed list."""
    message: str
    """The evidence as a sentence."""
    predicted_speedup: Gain
    """How many times as fast the launch becomes."""
    grade: Grade
    """What it is based on. ``certain``: code and counters. ``likely``: counters. ``measured``: a trial ran."""
    draft: bool
    """Whether the rule is a draft, whose claims are not verified yet."""
    bottleneck_after: str
    """What will limit the launch once the advice is taken: a unit, ``latency`` or ``launch``."""
    assumes: str
    """What the prediction assumes."""
    open_condition: str
    """What must hold and neither code nor counters show, as a clause after "if"; empty where nothing is open."""
    check: str
    """What a new profile must show when the change has worked."""
    evidence: tuple[Evidence, ...]
    """The numbers that the finding is based on."""
    where: tuple[SourceLine, ...]
    """The source lines with the most of the waste, the worst first; empty when no line of it is known."""
    instructions: tuple[HotInstruction, ...]
    """The machine instructions without a known source line that have the most waste, the worst first; empty when all
    lines are known, or the report has no instructions."""
    lines_wanted: str
    """How to get source lines for ``instructions``; empty when there are none."""
    about: About
    """``lines``: the finding is about lines of the kernel. ``launch``: about its grid, block and resources. ``copies``:
    about the host's copies around it. Without ``lines``, ``where`` and ``instructions`` are empty."""
    waits_for: tuple[Awaited, ...]
    """The instructions that most of the rule's stalled samples wait for; shares are of these samples. Empty where the
    rule reads no stall reason, or no instruction can be named."""
    cite: Annotated[tuple[Citation, ...], Limits(fewest=1)]
    """The documents that teach the optimisation."""
    fix: Fix
    """The change, shown on two real kernels that ncuview ships."""


@dataclass(frozen=True)
class ForwardLine:
    """The line of the user's program that called the forward operator of an autograd node."""

    file: str
    """The user's source file."""
    line: Annotated[int, Limits(minimum=1)]
    """The line that was running."""
    function: str
    """The user's function."""


@dataclass(frozen=True)
class Call:
    """The line of the user's program that led to a launch."""

    file: str
    """The user's source file, or the program of a native caller; empty for a backward pass on its own thread."""
    line: Annotated[int, Limits(minimum=0)]
    """The line that was running, from 1; 0 where it is unknown."""
    function: str
    """The user's function; empty where it is unknown."""
    operator: str
    """The framework's operator or the library's function, such as ``softmax``; empty where it is unknown."""
    backward: str
    """The autograd node of a backward pass; empty outside of one."""
    library: str
    """The innermost library function below the user's line that does more than pass on to an operator; or empty."""
    forward: ForwardLine | None
    """The line whose gradient a backward pass computes; null outside of one, and where it is unknown."""


@dataclass(frozen=True)
class Step:
    """One change of a sequence."""

    rule: RuleCode
    """The rule's code, such as SMEM001."""
    name: RuleName
    """The rule's name, such as shared-bank-conflict."""
    optimization: OptimizationWord
    """What to do, one word of a closed list."""
    title: str
    """The change in a few words."""
    gain: Annotated[float, Limits(above=0)]
    """How many times as fast it makes the launch that the steps before it leave."""


@dataclass(frozen=True)
class StepSequence:
    """Changes that pay one after the other; their gains may be multiplied."""

    steps: Annotated[tuple[Step, ...], Limits(fewest=2)]
    """The changes, in the order in which to make them."""
    alone: Annotated[float, Limits(above=0)]
    """How many times as fast the last step makes the launch without the steps before it."""


@dataclass(frozen=True)
class _Outcome:
    rule: RuleCode
    """The rule's code, such as SMEM001."""
    name: RuleName
    """The rule's name, such as shared-bank-conflict."""


@dataclass(frozen=True)
class OutcomeFinding(_Outcome):
    """There is waste."""

    outcome: Literal["finding"]
    """Which kind of outcome it is."""
    message: str
    """The outcome as a sentence."""
    predicted_speedup: Gain
    """What removing the waste would gain."""
    grade: Grade
    """What it is based on, as in ``findings``."""
    rejected: str
    """Why the finding is not advice; empty when it is, and then it is in ``findings`` too."""


@dataclass(frozen=True)
class OutcomeSkipped(_Outcome):
    """The rule could not be evaluated: metrics are missing."""

    outcome: Literal["skipped"]
    """Which kind of outcome it is."""
    message: str
    """Why, with the command that collects what is missing."""
    missing: Annotated[tuple[Annotated[str, Limits(shortest=1)], ...], Limits(distinct=True)]
    """The metrics that were not collected, under Nsight Compute's names; empty when they were, and the launch was too
    short for a value."""


@dataclass(frozen=True)
class OutcomePassed(_Outcome):
    """The rule was evaluated and found no waste."""

    outcome: Literal["passed"]
    """Which kind of outcome it is."""
    message: str
    """The outcome as a sentence."""
    unmet: tuple[str, ...]
    """The conditions of the rule that do not hold, as its file writes them."""


@dataclass(frozen=True)
class OutcomeOther(_Outcome):
    """A rule that did not apply or that failed."""

    outcome: Literal["not_applicable", "broken"]
    """``not_applicable``: the launch has no subject for the rule. ``broken``: the rule failed; the others went on."""
    message: str
    """The outcome as a sentence."""


Outcome = OutcomeFinding | OutcomeSkipped | OutcomePassed | OutcomeOther


@dataclass(frozen=True)
class Launch:
    """One execution of a kernel, and its diagnosis."""

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
    duration_ns: Amount | None
    """Time on the GPU in nanoseconds (gpu__time_duration.sum); null when it was not collected."""
    device: Device
    """The GPU that it ran on."""
    source: Origin
    """Where the numbers are from: profiled here and now, shipped with ncuview, or a report that the user named."""
    bottleneck: str
    """What limits the launch now: one of ``units``, or ``latency`` (no unit is busy enough to explain the time), or
    ``launch`` (the launch itself costs as much as the work), or ``blocks`` (starting its blocks takes the time), or
    ``transfer`` (the host's copies take longer than the kernel), or ``unknown`` (a unit that could be it was not
    collected)."""
    units: Annotated[Mapping[str, Amount], Limits(keys="^[a-z0-9_]+$")]
    """Each unit's use as a share of its peak over the elapsed time, 0 to 1. A unit whose use was not collected is
    missing."""
    unit_names: Annotated[Mapping[str, str], Limits(keys="^[a-z0-9_]+$")]
    """The name of a unit where what the launch runs on it says more than its key: ``fp64_tensor`` is ``tensor pipes``,
    ``FP64 pipes``, or where nothing shows which, ``tensor or FP64 pipes``."""
    attained: Amount | None
    """The busiest unit's use as a share of what it attains in good kernels; at 1 nothing is left to gain. Null
    when no unit's use was collected."""
    verdict: Verdict
    """``advice``: ``findings`` has what to do. ``near-peak``: ``attained`` is 0.8 or more, and no predicted gain is
    large enough to be certain. ``not-judged``: most rules could not be evaluated, or none looked at it; ``not_judged``
    or ``outcomes`` say why.
    ``not-yours``: a kernel that a compiler, a framework or a vendor's library, named by ``owner``, has written.
    ``unclear``: none of these."""
    not_judged: str
    """Why no rule looked at the launch, as a clause: it is no SIMT kernel, or waits for peers; or empty."""
    waits_for_peers: bool
    """Whether it waits for other processes or GPUs. Under ncu, launches run one at a time, so that its time means
    nothing: shares leave it out."""
    time_share: Share | None
    """Its duration as a share of that of all launches; null where a duration is unknown, or it waits for peers."""
    changed_by: ChangeAt | None
    """The finding of ``program`` that shortens the launch, and the first line that it changes; null without one."""
    owner: str
    """The library or compiler that the kernel is from, such as ``cuBLAS`` or ``TorchInductor``; empty where it is
    yours."""
    owner_kind: OwnerKind
    """``yours``: your code, or nothing shows another owner. ``generated``: a compiler has written it from your code.
    ``framework``: part of a library that you call or instantiate. ``vendor``: part of a library whose source you do not
    have."""
    call: Call | None
    """The line of the user's program that led to the launch; null where no call stack was recorded."""
    host: HostTimes | None
    """What the host measured around the kernel, in ns, so that all gains are end-to-end; null where it did not."""
    textbook: tuple[str, ...]
    """Of a catalogue kernel: the documents' next step where it is not the first advice here, and why it is not."""
    waits_for: tuple[Awaited, ...]
    """The instructions that most of the launch's stalled samples wait for; shares are of all samples with a stall
    reason that names an instruction. Empty where the report has no samples or no machine code."""
    sequence: StepSequence | None
    """The first advice with the change that pays only together with it; null where the first advice stands alone."""
    metrics: Mapping[str, Metric]
    """Metrics of the textbooks and of nvprof by name, such as gld_efficiency. One that cannot be computed from what was
    collected is missing."""
    findings: tuple[Advice, ...]
    """The advice, best first; empty unless the verdict is advice. Gains of several findings must not be multiplied."""
    outcomes: tuple[Outcome, ...]
    """The outcome of each rule, one entry per rule; findings included, also those that are not advice."""

    CONDITIONS: ClassVar[Mapping[str, Any]] = {
        "if": {"properties": {"verdict": {"const": "advice"}}, "required": ["verdict"]},
        "then": {"properties": {"findings": {"minItems": 1}}},
        "else": {"properties": {"findings": {"maxItems": 0}}},
    }


@dataclass(frozen=True)
class Priority:
    """All launches of one kernel with one grid and block on one GPU."""

    rank: Positive
    """1 is the kernel to change first."""
    kernel: str
    """The function's name without parameters."""
    demangled: str
    """The function's complete C++ signature."""
    grid: Triple
    """Blocks of the launches in x, y, z."""
    block: Triple
    """Threads of a block in x, y, z."""
    device: Device
    """The GPU that they ran on."""
    launches: Count
    """How many there were, launches that were not profiled included."""
    profiled: Positive
    """How many of them were profiled."""
    time_ns: Amount
    """Their time together, in ns."""
    share: Share
    """Its share of the time of all groups, 0 to 1; 0 where it waits for peers, as its time means nothing."""
    shortest_ns: Amount | None
    """The shortest launch; null when no duration is known."""
    longest_ns: Amount | None
    """The longest launch; null when no duration is known."""
    optimization: str | None
    """The first advice of the launches that it saves most in, a word of findings[].optimization; null when no launch
    has advice."""
    rule: RuleCode | None
    """The code of the rule that gives it; null when no launch has advice."""
    agreed: Share
    """The share of the group's time in launches whose first advice is this one, 0 to 1."""
    predicted_speedup: Gain
    """How many times as fast the group becomes when each launch takes its own first advice."""
    saved_ns: Saved
    """The time that this takes away."""
    example: Place
    """The longest launch with the advice."""


@dataclass(frozen=True)
class Priorities:
    """All launches by the time that their first advice saves, and the bound for all of them together (Amdahl).

    Only the time of kernels counts, with their copies where the host timed them.
    """

    total_ns: Amount
    """Time of all launches together, in ns."""
    left_ns: Amount
    """What is left of it once every launch has taken its first advice."""
    saved_ns: Saved
    """What that takes away."""
    speedup: Gain
    """The total over what is left: the bound for all launches together."""
    untimed: Count
    """Launches without a known duration; they count as 0."""
    unprofiled: Count
    """Launches of configurations of which none was profiled; their time is not in the total."""
    groups: tuple[Priority, ...]
    """The groups, the one whose advice saves most first."""


@dataclass(frozen=True)
class Judged:
    """How many launches the rules could be evaluated on."""

    launches: Count
    """Launches in this document."""
    not_judged: Count
    """Launches on which most rules could not be evaluated; some of them may still have advice."""
    not_yours: Count
    """Launches of kernels of compilers, frameworks and vendors' libraries, which get no advice."""
    why: str
    """Both counts and the commonest cause, as a sentence; empty where both are 0."""


@dataclass(frozen=True)
class GateCheck:
    """One condition of a budget or baseline, judged on one kernel and configuration."""

    kernel: str
    """The demangled name of the kernel, or the pattern of a condition that fits no kernel."""
    grid: Triple
    """Blocks of the launch in x, y, z; zeros where the check is about no launch."""
    block: Triple
    """Threads of a block in x, y, z."""
    subject: str
    """What is limited: a metric's name, ``duration_ns``, ``predicted``, or a rule's code and name."""
    condition: str
    """The condition in words."""
    result: CheckResult
    """``inconclusive``: repeats spread too far to say. ``not judged``: the number is missing."""
    level: Level
    """What a failure means."""
    closes: bool
    """Whether this check is a reason for the gate to be closed."""
    measured: float | None
    """What was measured, in ``unit``; null where there is no number."""
    limit: float | None
    """What it was compared with, in ``unit``; null where the condition is not about a number."""
    unit: str
    """The unit; empty for a pure number."""
    message: str
    """The result as a sentence."""
    origin: str
    """Where the condition stands: file and entry."""
    where: tuple[SourceLine, ...]
    """The source lines responsible; empty where none is known."""


@dataclass(frozen=True)
class GateResult:
    """What a budget and a baseline say of the launches."""

    closed: bool
    """Whether a failed check closes the gate."""
    nothing_checked: bool
    """Whether no check had a result, so that an open gate says nothing about the launches."""
    fail_on: Level
    """Failures of this level or above close the gate; ``off``: none does."""
    remark: str
    """A remark to read before the first check; empty when there is none."""
    checks: tuple[GateCheck, ...]
    """In the order of the launches, then of the conditions."""


@dataclass(frozen=True)
class CallTime:
    """The launches that one line of the user's program leads to."""

    call: Call
    """The line with the operator that takes most of its time."""
    launches: Annotated[int, Limits(minimum=1)]
    """How many they are."""
    time_ns: Amount
    """The sum of their durations."""
    share: Share
    """Of the kernel time of the program, 0 to 1."""
    times_ns: tuple[Amount, ...]
    """The same sum in each of ``processes``, in order; empty where the program has one process."""


@dataclass(frozen=True)
class Process:
    """A process of the program that launched kernels."""

    name: str
    """``rank 0`` or the file name of its report, ``data-loader worker 1``, ``main process``, ``process 1 of 2``; each
    process has another."""
    number: Count
    """The process id; 0 where it is unknown."""
    program: str
    """The file name of the program that it ran; empty where it is unknown."""
    report: str
    """The report that holds its launches."""
    launches: Positive
    """How many they are."""
    time_ns: Amount
    """The sum of their durations."""
    share: Share
    """Of the kernel time of the program, 0 to 1."""


@dataclass(frozen=True)
class ProgramFinding:
    """A change of the program at one or more calls."""

    rule: RuleCode
    """The rule's code, such as PROG004."""
    name: RuleName
    """The rule's name, such as attention-by-hand."""
    change: Change
    """What to change, one word of a closed list."""
    message: str
    """What the launches show."""
    advice: str
    """The change in the framework's terms."""
    link: str
    """The framework's documentation of the change."""
    predicted_speedup: Gain
    """The kernel time of the program divided by what is left of it; for ``launch_overhead`` the wall time."""
    saved_ns: Saved
    """The time that goes away."""
    calls: tuple[Call, ...]
    """The calls to change, the costliest first."""
    launches: tuple[int, ...]
    """The launches that get shorter or go away, as positions in ``launches``."""
    processes: tuple[str, ...]
    """The names of the processes that it is a change of, whose kernel time ``predicted_speedup`` refers to; empty where
    the program has one process."""


@dataclass(frozen=True)
class Program:
    """The launches as a program: what its lines cost, and what to change in it."""

    time_ns: Amount
    """The kernel time of all launches."""
    calls: tuple[CallTime, ...]
    """The lines of the user's program, the costliest first. Launches of a backward pass have no line."""
    findings: tuple[ProgramFinding, ...]
    """The changes, the one that saves most first; their savings may be added up."""
    processes: tuple[Process, ...]
    """Those that launched kernels, in the order of their first launches; empty where there is one."""


@dataclass(frozen=True)
class DiagnosisDocument:
    """What `ncuview analyze --format json` prints: what to change next in each launch.

    There is no NaN and no infinity; what was not measured is null or missing. Within version 2 properties may
    be added; none is removed or changes its meaning.
    """

    schema: Literal["ncuview.diagnosis/2"]
    """The name and version of this schema."""
    remark: str
    """Why the profile is a recorded one, or another remark to read first; empty when there is none."""
    error: Failure | None
    """Why some or all launches are missing; null when the answer is complete. It is written also where there is no
    answer at all."""
    reports: tuple[Report, ...]
    """The report files, in the order in which they were named."""
    judged: Judged
    """How many launches the rules could be evaluated on."""
    priorities: Priorities
    """Which kernel first: launches grouped by kernel and configuration."""
    program: Program | None
    """The launches by the lines of the user's program; null where no call stacks were recorded."""
    launches: tuple[Launch, ...]
    """One entry per launch, in the order of the reports."""
    gate: Annotated[GateResult | None, LEFT_OUT] = None
    """What a budget and a baseline say of the launches; missing where there is neither."""
