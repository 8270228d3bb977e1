"""``Trial``: changes of one kernel that were made, checked and timed (``Attempt``), and what is kept of them.

``trial`` fills it; the predictions beside the measurements are those of the findings that asked for a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from ncuview.records.diagnosis import Gain, LaunchDiagnosis
from ncuview.records.profile import Device, Extent, Failure
from ncuview.records.schema import Limits
from ncuview.records.shown import Shown

Decision = Literal["kept", "no gain", "refuted", "unproven", "not written", "not built", "withdrawn", "not tried"]
"""``kept``: verified and faster. ``no gain``: the interval of the measured ratio includes the least gain or less, or
other values of the same parameters gain more.
``refuted``: a check failed. ``unproven``: a check could not be made. ``not written``: an obligation is not proven from
the source. ``not built``: the compiler refused it. ``withdrawn``: without the waste the kernel is not faster.
``not tried``: the budget ended, or the trial was interrupted."""


Stage = Literal["compile", "machine code", "counters", "times", "comparison", "runs", "sanitizer", "all"]
"""Where a trial spends its time. ``compile``: copies of sources and builds. ``machine code``: disassembly.
``counters``: runs under ncu, reading and judging them. Of a kernel file ``times`` and ``comparison``: the processes
that time versions and compare their results; of a program ``runs``, which do both. ``sanitizer``: compute-sanitizer.
``all``: from the first to the last."""

Bounds = Literal["at most", "at least", "nothing"]
"""What the gain of an ablation bounds. ``at most``: no cure of this waste gains more. ``at least``: the waste costs
that much or more, since the ablation does more than the original, or the cure brings more than the end of the waste.
``nothing``: the gain is not believed, or is too small to support the finding."""


@dataclass(frozen=True)
class Bound:
    """What an ablation measured: the kernel without one waste, whatever it computes."""

    title: str
    """What was removed."""
    gain: Gain
    """How many times as fast it is, with the 95 % interval."""
    bounds: Bounds
    """What that says of the finding."""
    not_believed: str
    """The guard that failed, as a clause, so that the figure says nothing; empty where none did."""
    more_work: str
    """What the ablation does in addition to the original, as a clause, so that it is slower than without the waste
    alone; else empty."""
    only_the_waste: str
    """What the cure brings in addition to the end of the waste, as a clause, so that it may gain more; else empty."""
    withdrawn: str
    """Why the finding is withdrawn, as a clause: without its waste the kernel is not faster; empty where it stays."""


@dataclass(frozen=True)
class Attempt:
    """One change that was tried, or why it was not."""

    title: str
    """The change, as an imperative; of one that was not written, the optimization in words."""
    optimization: str
    """What it does, one word of the closed list."""
    rule: str
    """The code of the rule whose finding asked for it; empty where none did."""
    step: Annotated[int, Limits(minimum=0)]
    """How many changes had been kept before."""
    decision: Decision
    """What became of it."""
    reason: str
    """Why it was not kept, as a clause; empty where it was."""
    predicted: Gain | None
    """What the finding predicts; None where none asked for it."""
    bound: Bound | None
    """What the ablation of the finding measured; None where there is none."""
    measured: Gain | None
    """How many times as fast it is as the source before it, with the 95 % interval; None where it was not timed."""
    assumes: str
    """What must be true although the source does not show it; empty without such a condition."""
    checks: tuple[str, ...]
    """The checks that it passed, as clauses."""
    diff: str
    """The change against the source before it, which ``git apply`` takes; empty where it was not written."""
    explained: str = ""
    """Of a kept value of a parameter, the counter that explains the gain, as a clause; else empty."""


@dataclass(frozen=True)
class Trial(Shown):
    """All changes that were tried on one kernel, and the source that is kept."""

    target: str
    """What was tried, as the user named it."""
    kernel: str
    device: Device
    grid: Extent
    block: Extent
    sizes: Mapping[str, int]
    """The sizes that the result holds for; empty of a program."""
    attempts: tuple[Attempt, ...]
    """In the order in which they were tried."""
    before_ns: float
    """The median time of the original."""
    gain: Gain | None
    """How many times as fast the kept source is as the original, with the 95 % interval; None where nothing is kept."""
    end_to_end: Gain | None
    """The same of the program's time from start to end; None where it is not a program, or nothing is kept."""
    patch: str
    """All kept changes against the original source, which ``git apply`` takes; empty where nothing is kept."""
    before: LaunchDiagnosis | None
    """The diagnosis of the original; None where counters could not be read."""
    after: LaunchDiagnosis | None
    """That of the kept source; None where nothing is kept, or counters could not be read."""
    stopped: str
    """Why not all changes were tried, as a clause; empty where nothing is left to try."""
    remark: str = ""
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    """How long each stage took; without those that had nothing to do."""
    failure: Failure | None = None
    """Why there is no complete answer; None where there is."""

    @property
    def kept(self) -> tuple[Attempt, ...]:
        """The changes that are kept, in order."""
        return tuple(each for each in self.attempts if each.decision == "kept")

    @property
    def finished(self) -> bool:
        """Whether every change was tried and none is kept: nothing that ncuview can write gains."""
        return not self.kept and not self.stopped and not self.failure
